"""What everyday calls cost, as ratios to the loop that one would write, in under two minutes.

Run with ``python -m benchmarks.everyday``. Each row is measured in one process, call and baseline
in turn; times are processor times, the smallest of several. The loop is (D.2), or gradient descent
on U, in NumPy for 1,200 steps: it records W at every step and finds what a prediction has: half and
0.8, peaks, suppression, turns of the loss, the end. Predictions are warm: what is compiled is
loaded. Signals are even in the logarithm from 4 to 1, W(0) is Gaussian of size 1e-4, eta a_max .04.
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
from scipy.integrate import solve_ivp

from benchmarks.atlas import some_points
from swingby.lab.sweeps.measurement import measure
from swingby.report import Grid
from swingby.report.picture_style import COLORS, PAGE, styled
from swingby.theory.task import SIMTask
from swingby.verify.compiled_ahead import compile_laws
from swingby.verify.predict import predict
from swingby.verify.predict_batch import predict_batch

ETA, STEPS = 0.01, 1200
#: Marks of an axis.
TICKS = {"concepts d": (2, 4, 8, 16, 32), "omega": (1e-3, 1e-100, 1e-200)}
COLUMNS = ["what", ">time", ">baseline", ">ratio", "baseline is"]
#: The first prediction of a new process, with its table.
FIRST = """
import swingby
task = swingby.SIMTask.from_signal([4, 2, 1])
print(swingby.predict(task, swingby.gaussian(task, "1e-6", rng=0), eta="0.01"))
"""


def instance(d: int) -> tuple[np.ndarray, np.ndarray]:
    """A signal (d,) and U(0) (d, d)."""
    U = np.random.default_rng(1).standard_normal((d, d)) * 1e-2 / np.sqrt(d)
    return np.geomspace(4.0, 1.0, d), U


@np.errstate(all="ignore")  # W may run away
def plain_loop(signal: np.ndarray, U: np.ndarray, dynamics: str) -> dict[str, np.ndarray]:
    """The map for 1,200 steps and all events of W, as one would write it down."""
    d, W = len(signal), U @ U.T
    path, both = np.empty((STEPS + 1, d, d)), signal[:, None] + signal
    path[0] = W
    for step in range(1, STEPS + 1):
        if dynamics == "gd":
            pull = (both * W) @ U
            U = U + ETA * (signal[:, None] * U - pull / 2)
            W = U @ U.T
        else:
            pull = (both * W) @ W
            W = W + ETA * (both * W - (pull + pull.T) / 2)
        path[step] = W
    return events_of(path, signal)


def events_of(path: np.ndarray, signal: np.ndarray) -> dict[str, np.ndarray]:
    """First passages, peaks, suppression, turns of the loss and the end of W at all steps."""
    d = len(signal)
    diagonal, size = path.diagonal(axis1=1, axis2=2), np.abs(path)
    peak = size.argmax(axis=0)
    height = np.take_along_axis(size, peak[None], axis=0)
    fallen = (size <= height / 2) & (np.arange(len(path))[:, None, None] > peak)
    loss = ((path @ np.sqrt(signal) - np.sqrt(signal)) ** 2).sum(axis=1) / 2
    away = np.abs(path - np.eye(d)).max(axis=(1, 2)) > 0.01
    return {
        "half": (diagonal >= 0.5).argmax(axis=0),
        "0.8": (diagonal >= 0.8).argmax(axis=0),
        "peak": peak,
        "height": height[0],
        "suppressed": fallen.argmax(axis=0),
        "turns": np.flatnonzero(np.diff(np.sign(np.diff(loss)))),
        "end": len(path) - away[::-1].argmax(),
    }


def pair(own: Callable[[], object], other: Callable[[], object], repeats: int) -> tuple[float, ...]:
    """Smallest processor times of two calls that take turns."""
    times = []
    for _ in range(repeats):
        started = time.process_time()
        own()
        middle = time.process_time()
        other()
        times.append((middle - started, time.process_time() - middle))
    return tuple(min(column) for column in zip(*times, strict=True))


def row(what: str, own: float, other: float, baseline: str) -> list[str]:
    """Milliseconds of a call and its baseline."""
    return [what, f"{1e3 * own:.2f} ms", f"{1e3 * other:.2f} ms", f"{own / other:.2f}", baseline]


def prediction_rows(d: int, dynamics: str) -> list[list[str]]:
    """One W(0): against a batch of it alone, and with its events against the loop."""
    signal, U = instance(d)
    task, start = SIMTask.from_signal(signal.tolist()), U @ U.T
    repeats = 7 if d < 32 else 3

    def law() -> object:
        return predict(task, start, eta=ETA, dynamics=dynamics).half_times

    def with_events() -> object:
        return predict(task, start, eta=ETA, dynamics=dynamics).events

    with_events()
    batch = pair(law, lambda: predict_batch(signal, start, ETA, dynamics), repeats)
    loop = pair(with_events, lambda: plain_loop(signal, U, dynamics), repeats)
    name = f"predict, {dynamics}, d = {d}"
    return [
        row(name, *batch, "predict_batch of one"),
        row(f"{name}, with all events", *loop, f"NumPy loop, {STEPS} steps, its events"),
    ]


def integrated_row(d: int) -> list[str]:
    """The flow: the law of it against SciPy's integrator to the tolerance of its bars."""
    signal, U = instance(d)
    task, start = SIMTask.from_signal(signal.tolist()), U @ U.T
    both = (signal[:, None] + signal) / 2

    def slope(_: float, w: np.ndarray) -> np.ndarray:
        W = w.reshape(d, d)
        pull = (both * W) @ W
        return (2 * both * W - (pull + pull.T)).ravel()

    def integrate() -> object:
        end = ETA * STEPS
        return solve_ivp(slope, (0, end), start.ravel(), "DOP853", rtol=1e-8, atol=1e-12)

    times = pair(lambda: predict(task, start, eta=ETA, dynamics="flow").half_times, integrate, 5)
    return row(f"predict, flow, d = {d}", *times, "solve_ivp, DOP853, rtol 1e-8")


def atlas_row(count: int) -> list[str]:
    """Points of the atlas that a core predicts, runs and labels in a second."""
    points = some_points(count)
    measure(points[:8])
    started = time.process_time()
    labels = [point.results or {} for point in measure(points)]
    seconds = time.process_time() - started
    decided = [point for point in labels if point["predicted"] != "undecided"]
    right = sum(point["predicted"] == point["observed"] for point in decided)
    what = f"atlas, {count} of its points: {len(decided)} decided, {right} of them right"
    return [what, f"{count / seconds:.0f} a second", "", "", "one core"]


def first_row() -> list[str]:
    """The first prediction of a new process."""
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", FIRST], check=True, capture_output=True)
        seconds.append(time.perf_counter() - started)
    return ["first prediction and its table, new process", f"{min(seconds):.2f} s", "", "", ""]


def growth() -> dict[str, list[tuple[float, float, float]]]:
    """Milliseconds of a prediction and of the loop to its last half-time, over d, omega, eta."""

    def measured(d: int, omega: float, eta: float) -> tuple[float, float]:
        signal, U = instance(d)
        task = SIMTask.from_signal(signal.tolist())
        start = U @ U.T * omega * d / np.trace(U @ U.T)

        def law() -> np.ndarray:
            return predict(task, start, eta=eta).half_times

        last, factor = int(law().max()), np.linalg.cholesky(start)
        both = signal[:, None] + signal

        def loop() -> None:
            U = factor
            for _ in range(last):
                W = U @ U.T
                U = U + eta * (signal[:, None] * U - ((both * W) @ U) / 2)

        own, other = pair(law, loop, 3)
        return 1e3 * own, 1e3 * other

    return {
        "concepts d": [(d, *measured(d, 1e-4, ETA)) for d in (2, 3, 4, 6, 8, 12, 16, 24, 32)],
        "omega": [(10.0**-k, *measured(3, 10.0**-k, ETA)) for k in (3, 10, 30, 100, 250)],
        "eta": [(eta, *measured(3, 1e-4, eta)) for eta in (0.1, 0.03, 0.01, 0.003, 0.001, 3e-4)],
    }


def number_text(number: float) -> str:
    """A mark of an axis: a whole number, or a power of ten."""
    return str(number) if number >= 1 else f"$10^{{{round(np.log10(number))}}}$"


def picture(path: Path) -> None:
    """Draw how cost grows."""
    from matplotlib.figure import Figure

    with styled():
        figure = Figure(figsize=(PAGE, 2.3), layout="constrained")
        for ax, (name, rows) in zip(
            figure.subplots(1, 3, sharey=True), growth().items(), strict=True
        ):
            x, own, other = zip(*rows, strict=True)
            ax.loglog(x, own, "o-", color=COLORS[0], markersize=3, label="predict")
            ax.loglog(x, other, "s--", color=COLORS[1], markersize=3, label="NumPy loop")
            ax.set_xlabel({"omega": r"$\omega$", "eta": r"$\eta$"}.get(name, name))
            ax.set_xlim(x[0] * (x[0] / x[-1]) ** 0.05, x[-1] * (x[-1] / x[0]) ** 0.05)
            if name in TICKS:
                ax.set_xticks(TICKS[name], map(number_text, TICKS[name]))
                ax.minorticks_off()
        figure.axes[0].set_ylabel("ms")
        figure.axes[0].legend()
        figure.savefig(path, dpi=110)


def table(points: int = 1000) -> Grid:
    """Measure everything."""
    rows = [first_row()]
    for dynamics in ("gd", "euler"):
        for d in (2, 4, 8, 16, 32):
            rows += prediction_rows(d, dynamics)
    rows += [integrated_row(d) for d in (2, 4, 8)]
    rows.append(atlas_row(points))
    return Grid(
        title="Everyday calls",
        columns=COLUMNS,
        rows=rows,
        below=[
            f"Python {platform.python_version()}, numpy {np.__version__}, {os.cpu_count()} cores, "
            f"{platform.machine()}, load {os.getloadavg()[0]:.1f}; processor times."
        ],
    )


def main() -> None:
    """Print the table, and write it as Markdown where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1000, help="points of the atlas")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--picture", type=Path, help="draw how cost grows, and print nothing")
    arguments = parser.parse_args()
    compile_laws()
    if arguments.picture:
        picture(arguments.picture)
        return
    grid = table(arguments.points)
    print(grid.to_text(width=130))
    if arguments.out:
        arguments.out.write_text(grid.to_markdown())


if __name__ == "__main__":
    main()
