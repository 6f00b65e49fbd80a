"""How close the engine is to the machine: the kernels against C and others, one core against two.

Run with ``python -m benchmarks.engine``, or as a part of ``make bench``. The references are in
``benchmarks/reference``, compiled here with ``cc -O3 -march=native``. Every ratio is taken from
pairs of runs that follow one another, and is the median of several: the machine may be busy.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import platform
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.engine_single import ETA, REFERENCE, load_steps, pairs
from benchmarks.engine_single import rows as single_rows
from swingby.report import Grid
from swingby.simulate.batch import simulate_batch
from swingby.simulate.lanes.tiles import LANES
from swingby.simulate.run import simulate
from swingby.simulate.trajectory import Run
from swingby.theory.task import SIMTask


def place(d: int, i: int, j: int) -> int:
    """Where the reference has entry (i, j), i <= j: rows of the upper triangle in turn."""
    return i * d - i * (i - 1) // 2 + j - i


#: Tiles in a batch that is shared by two threads: a tenth of a second of work.
CROWD = 320


def library(name: str, d: int, folder: Path) -> ctypes.CDLL:
    """A reference, compiled for one d."""
    target = folder / f"{name}{d}.so"
    flags = ["-O3", "-march=native", "-shared", "-fPIC", f"-DD={d}", f"-DLANES={LANES}"]
    source = str(REFERENCE / f"{name}.c")
    subprocess.run(["cc", *flags, source, "-o", str(target)], check=True)
    return ctypes.CDLL(str(target))


def starts(d: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """A signal, and random W(0) of size 1e-4: nothing diverges, nothing is at rest soon."""
    signal = np.linspace(2.0, 0.5, d)
    U = np.random.default_rng(0).standard_normal((count, d, 2 * d)) * 1e-2
    return signal, U @ U.swapaxes(1, 2) / (2 * d)


def batch_row(d: int, folder: Path) -> list[str]:
    """The batch on one core, against lanes written in C."""
    tiles, steps = max(16, 2048 // d**2), 4000
    signal, W0 = starts(d, tiles * LANES)
    reference = library("lanes", d, folder)
    rate = np.repeat(ETA * signal[:, None], LANES, axis=1).ravel()
    lanes = np.array([[W0[:, i, j] for j in range(d)] for i in range(d)])

    def theirs() -> np.ndarray:
        waits = []
        for tile in range(tiles):
            W = np.empty((d * (d + 1) // 2, LANES))
            for i in range(d):
                for j in range(i, d):
                    W[place(d, i, j)] = lanes[i, j, tile * LANES : (tile + 1) * LANES]
            below, waited = np.ones(d * LANES), np.zeros(d * LANES)
            given = [array.ctypes.data_as(ctypes.c_void_p) for array in (W, rate, below, waited)]
            reference.run(*given, ctypes.c_long(steps))
            waits.append(waited)
        return np.array(waits)

    def ours() -> np.ndarray:
        return simulate_batch(signal, W0, ETA, steps, "euler", skip=False).half_times

    found = ours().reshape(tiles, LANES, d)
    expected = theirs().reshape(tiles, d, LANES).swapaxes(1, 2) + 1
    if not np.array_equal(np.where(np.isnan(found), steps + 1, found), expected):
        raise SystemExit(f"the half-times of the C reference at d = {d} are others")
    own, c, ratio = pairs(ours, theirs)
    rate_of = tiles * LANES * steps
    return [f"batch, euler, d = {d}", f"{rate_of / own:.2e}", f"{rate_of / c:.2e}", f"{ratio:.2f}"]


def cores_row(d: int) -> list[str]:
    """The batch on two threads against one."""
    signal, W0 = starts(d, CROWD * LANES)

    def run(workers: int) -> Callable[[], object]:
        return lambda: simulate_batch(signal, W0, ETA, 8000, "euler", skip=False, workers=workers)

    two, one, ratio = pairs(run(2), run(1), 7)
    total = CROWD * LANES * 8000
    return [f"two threads, d = {d}", f"{total / two:.2e}", f"{total / one:.2e}", f"{ratio:.2f}"]


def omega_rows(d: int) -> list[list[str]]:
    """What runs cost against the size of W(0), all stages run through: one alone, and a batch."""
    signal, W0 = (np.array([2.0, 0.5]) if d == 2 else np.linspace(2.0, 0.5, d)), starts(d, 1)[1][0]
    task = SIMTask.from_signal(signal.tolist())
    exponents = (6, 100, 300)
    rows = []
    for dynamics in ("gd", "euler"):
        shape = W0 / np.abs(W0).max() if dynamics == "gd" else np.eye(d)
        shown = []
        load_steps(d, dynamics)
        for exponent in exponents:

            def run(start: np.ndarray = shape * 10.0**-exponent, rule: str = dynamics) -> Run:
                return simulate(task, start, ETA, 400_000, rule, record="none")

            shown.append((exponent, best(run, 25), run().executed_steps))
        text = ", ".join(f"1e-{k}: {1e6 * t:.0f} us, {n} steps" for k, t, n in shown)
        rows.append([f"one run, {dynamics}, d = {d}, by omega", text, "", ""])
    starting = starts(d, 16 * LANES)[1]
    seconds = {}
    for exponent in exponents:

        def many(start: np.ndarray = starting * 10.0 ** (4 - exponent)) -> object:
            return simulate_batch(signal, start, ETA, 400_000, "gd")

        seconds[exponent] = best(many)
    text = ", ".join(f"1e-{k}: {value / seconds[6]:.2f}" for k, value in seconds.items())
    rows.append([f"batch, gd, d = {d}, cost against omega = 1e-6", text, "", ""])
    return rows


def best(action: Callable[[], object], repeats: int = 7) -> float:
    """The shortest of several times, in seconds."""
    action()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return min(times)


def table() -> Grid:
    """Measure everything.

    Returns
    -------
    Grid
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [batch_row(d, folder) for d in (2, 3, 4, 8)]
        rows += [cores_row(d) for d in (3, 8)]
    rows += [*single_rows(), *omega_rows(2), *omega_rows(3)]
    return Grid(
        title="The engine",
        columns=["what", ">steps a second", ">reference", ">ratio"],
        rows=rows,
        below=[
            f"Python {platform.python_version()}, numpy {np.__version__}, {os.cpu_count()} cores, "
            f"{platform.machine()}; load {os.getloadavg()[0]:.1f}; trajectory-steps a second, best "
            "of several; reference: C, one thread, euler, OpenBLAS or PyTorch, as the row says; "
            "ratio: median over pairs of runs."
        ],
    )


def main() -> None:
    """Print the table, and write it as Markdown where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    grid = table()
    print(grid.to_text(width=120))
    if arguments.out is not None:
        arguments.out.write_text(grid.to_markdown() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
