"""Runs at every d up to 256 with a given number of steps, against a loop in NumPy, and OpenBLAS.

Run with ``python -m benchmarks.large_d``. The run finds all its events; the loop takes the same map
and finds half-times alone; OpenBLAS takes steps of euler in a loop in C, and finds half-times. One
thread each. Every ratio is the median over pairs of runs that follow one another.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

# BLAS reads its number of threads when it is loaded, and a library of a sort each brings its own.
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

import ctypes
import platform

import numpy as np

from benchmarks.engine_single import (
    ETA,
    address_of_dgemm,
    built,
    load_steps,
    pairs,
    pointers,
    same,
    start,
)
from swingby.report import Grid
from swingby.simulate.run import simulate
from swingby.theory.task import SIMTask

#: Steps of a run, by d.
STEPS = {2: 600, 4: 600, 8: 600, 16: 600, 32: 600, 64: 600, 128: 300, 256: 150}


def run_of(d: int, steps: int, dynamics: str) -> Callable[[], np.ndarray]:
    """A run of ours with all its events, as it is called; up to d = 8 its steps are compiled."""
    signal, W0 = start(d)
    task = SIMTask.from_signal(signal.tolist())
    if d <= 8:
        load_steps(d, dynamics)

    def run() -> np.ndarray:
        half_times = simulate(task, W0, ETA, steps, dynamics, record="none").half_times
        return np.where(np.isnan(half_times), -1, half_times)

    return run


def numpy_loop(d: int, steps: int, dynamics: str) -> Callable[[], np.ndarray]:
    """The same map in plain NumPy, and half-times."""
    signal, W0 = start(d)
    rates = ETA * signal
    sums, growth = rates[:, None] + rates, np.eye(d) + np.diag(rates)

    def run() -> np.ndarray:
        W, half = W0, np.full(d, -1)
        for n in range(1, steps + 1):
            G = sums * W
            if dynamics == "euler":
                Y = G @ W
                W = W + G - 0.5 * (Y + Y.T)
            else:
                M = growth - 0.5 * G
                W = M @ W @ M
            half[(half < 0) & (W.diagonal() >= 0.5)] = n
        return half

    return run


def blas_steps(d: int, steps: int, folder: Path) -> Callable[[], np.ndarray]:
    """Steps of euler in C, whose product is left to OpenBLAS, and half-times."""
    signal, W0 = start(d)
    reference, dgemm = built("blas", d, folder), ctypes.c_void_p(address_of_dgemm())
    G, Y = np.empty((d, d)), np.empty((d, d))

    def run() -> np.ndarray:
        W, half = W0.copy(), np.zeros(d, dtype=np.int64)
        first = pointers(W, signal, half, G, Y)
        size, count = ctypes.c_int(d), ctypes.c_long(steps)
        reference.run(dgemm, *first[:2], ctypes.c_double(ETA), first[2], size, count, *first[3:])
        return half

    return run


def row(
    d: int, dynamics: str, steps: int, reference: str, theirs: Callable[[], np.ndarray]
) -> list[str]:
    """Milliseconds of a run and of a reference, and what the run takes of the reference's time."""
    ours = run_of(d, steps, dynamics)
    same(ours(), theirs(), d)
    own, other, ratio = pairs(ours, theirs, 25 if d < 64 else 11)
    return [
        str(d),
        dynamics,
        str(steps),
        reference,
        f"{1e3 * own:.2f}",
        f"{1e3 * other:.2f}",
        f"{1 / ratio:.2f}",
    ]


def rows(sizes: list[int] | None = None) -> list[list[str]]:
    """A row for every d and map against NumPy, and from d = 64 on for euler against OpenBLAS."""
    measured = []
    for d in sizes or STEPS:
        for dynamics in ("euler", "gd"):
            loop = numpy_loop(d, STEPS[d], dynamics)
            measured.append(row(d, dynamics, STEPS[d], "NumPy loop", loop))
        if d >= 64:
            with tempfile.TemporaryDirectory() as name:
                steps = 2 * STEPS[d]
                theirs = blas_steps(d, steps, Path(name))
                measured.append(row(d, "euler", steps, "OpenBLAS steps", theirs))
    return measured


def table(sizes: list[int] | None = None) -> Grid:
    """Measure everything.

    Returns
    -------
    Grid
    """
    return Grid(
        title="Runs with a given number of steps",
        columns=[">d", "map", ">steps", "reference", ">simulate, ms", ">reference, ms", ">ratio"],
        rows=rows(sizes),
        below=[
            f"Python {platform.python_version()}, numpy {np.__version__}, {os.cpu_count()} cores, "
            f"{platform.machine()}; load {os.getloadavg()[0]:.1f}; best of several; ratio: time of "
            "the run over that of the reference, median over pairs. Above d = 8 the length of a "
            "run decides whether its steps are compiled."
        ],
    )


def main() -> None:
    """Print the table, and write it as Markdown where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", type=int, nargs="*", help="values of d, by default all")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    grid = table(arguments.sizes)
    print(grid.to_text(width=120))
    if arguments.out is not None:
        arguments.out.write_text(grid.to_markdown() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
