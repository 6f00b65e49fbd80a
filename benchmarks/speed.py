"""How fast things are, with a baseline beside each, measured in one run.

Run with ``make bench``. Times are the best of several repeats: on a shared machine the smallest
is the one least disturbed.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.engine_single import load_steps
from swingby.report import Grid
from swingby.simulate.batch import simulate_batch
from swingby.simulate.run import simulate
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask
from swingby.verify.check import check
from swingby.verify.predict import predict

ETA = 0.01


def best(action: Callable[[], object], repeats: int = 5, times: int = 1) -> float:
    """Seconds of one call, the smallest over repeats."""
    measured = []
    for _ in range(repeats):
        started = time.perf_counter()
        for _ in range(times):
            action()
        measured.append((time.perf_counter() - started) / times)
    return min(measured)


def numpy_loop(A: np.ndarray, W: np.ndarray, eta: float, steps: int) -> np.ndarray:
    """(D.2) as one would write it down."""
    for _ in range(steps):
        W = W + eta * (A @ W + W @ A - (A @ W @ W + W @ W @ A + 2 * W @ A @ W) / 2)
    return W


def process(arguments: list[str]) -> float:
    """Seconds of a fresh process, the smallest over seven."""
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="")
    return best(
        lambda: subprocess.run(
            [sys.executable, *arguments], check=False, capture_output=True, env=environment
        ),
        repeats=7,
    )


def table() -> Grid:
    """Measure everything.

    Returns
    -------
    Grid
    """
    task4 = SIMTask.from_signal([4, 2, 1, 0.5])
    start4 = 1e-6 * (np.eye(4) + 0.5)
    task3 = SIMTask.from_signal([2, 1, 0.5])
    start3 = 1e-6 * (np.eye(3) + 0.3)
    steps = 1_000_000
    for dynamics in ("euler", "gd", "flow"):
        load_steps(3, dynamics)
    simulate_batch(task3.signal, start3[None], ETA, steps=10)
    rows = []
    empty = process(["-c", "pass"])
    for name, code in (("import swingby", "import swingby"), ("import numpy", "import numpy")):
        rows.append(
            [name, f"{1e3 * (process(['-c', code]) - empty):.0f} ms over an empty process", ""]
        )
    arguments = ["--signal", "4,1", "--omega", "1e-80", "--eta", "1e-4"]
    rows.append(
        [
            "swingby check (process)",
            f"{process(['-m', 'swingby', 'check', *arguments]):.2f} s",
            "",
        ]
    )
    one = best(lambda: predict(task4, start4, eta=ETA, dynamics="gd"), times=50)
    rows.append(["predict, d = 4, gd", f"{1e3 * one:.2f} ms", "half-times, error bars, traps"])
    one = best(lambda: predict(task4, start4, eta=ETA, dynamics="euler"), times=50)
    rows.append(["predict, d = 4, euler", f"{1e3 * one:.2f} ms", ""])
    one = best(lambda: predict(task4, start4, eta=ETA, dynamics="euler").events, times=10)
    rows.append(["  with all events", f"{1e3 * one:.2f} ms", "peaks, suppression, loss, end"])
    one = best(lambda: check(task4, omega="1e-80", eta="1e-4"), times=20)
    rows.append(["check, d = 4", f"{1e3 * one:.2f} ms", "decided in ball arithmetic"])
    A = np.diag(task3.signal)
    plain = best(lambda: numpy_loop(A, start3, ETA, 2_000)) / 2_000
    rows.append(["NumPy loop of (D.2), d = 3", f"{1e6 * plain:.2f} us a step", "baseline"])
    for dynamics in ("euler", "gd", "flow"):
        kernel = best(
            lambda dynamics=dynamics: simulate(
                task3, start3, ETA, steps=steps, dynamics=dynamics, record="none", skip=False
            )
        )
        per_step = kernel / steps
        rows.append(
            [
                f"simulate, d = 3, {dynamics}",
                f"{1e9 * per_step:.0f} ns a step",
                f"{plain / per_step:.0f} times the NumPy loop, all events found",
            ]
        )
    first, rest = None, []
    for omega in ("1e-6", "1e-100", "1e-300", "1e-3000"):
        scaled = Scaled(start3 * 1e6, omega)
        run = simulate(task3, scaled, ETA, dynamics="euler", record="none")
        seconds = best(
            lambda scaled=scaled: simulate(task3, scaled, ETA, dynamics="euler", record="none"),
            40,
        )
        first = first or seconds
        rest.append(f"omega = {omega}: {seconds / first:.2f} ({run.executed_steps} steps computed)")
    rows.append(["cost against omega = 1e-6", "; ".join(rest), ""])
    return Grid(
        title="Speed",
        columns=["what", "time", "note"],
        rows=rows,
        below=[
            f"Python {platform.python_version()}, numpy {np.__version__}, "
            f"{os.cpu_count()} cores, {platform.machine()}; best of several repeats."
        ],
    )


def main() -> None:
    """Print the table, and write it as Markdown where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    grid = table()
    print(grid.to_text(width=150))
    if arguments.out is not None:
        arguments.out.write_text(grid.to_markdown() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
