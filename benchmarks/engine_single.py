"""Rows of :mod:`benchmarks.engine` for single runs: against C, against OpenBLAS, against PyTorch.

Every run finds all its events (levels, peaks, suppression, extrema of the loss, loss of positive
semidefiniteness); the references find half-times, or record W at every step. Steps are compiled
before the clock starts, but for the first call of a process, which has rows of its own.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from swingby.simulate.run import simulate
from swingby.simulate.state import make_problem
from swingby.simulate.steps import compiled_steps
from swingby.theory.task import SIMTask

REFERENCE = Path(__file__).with_name("reference")
ETA = 0.01
#: So small that W moves at every step of a run.
SLOW = ETA / 30
#: The first call of a process: seconds in it, a second time, and steps.
FIRST_CALL = """
import time
import numpy as np
from swingby.simulate.run import simulate
from swingby.theory.task import SIMTask
task, W0 = SIMTask.from_signal([2.0, 1.25, 0.5]), 1e-4 * (np.eye(3) + 0.3)
for _ in range(2):
    started = time.perf_counter()
    simulate(task, W0, 0.01, {steps}, record="none", skip=False)
    print(1e3 * (time.perf_counter() - started))
"""


def pairs(
    ours: Callable[[], object], theirs: Callable[[], object], repeats: int = 15
) -> tuple[float, float, float]:
    """Best seconds of both, and the median of the ratio theirs/ours over pairs of runs."""
    ours(), theirs()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        ours()
        middle = time.perf_counter()
        theirs()
        times.append((middle - started, time.perf_counter() - middle))
    ratio = statistics.median(other / own for own, other in times)
    return min(own for own, _ in times), min(other for _, other in times), ratio


def row(what: str, steps: tuple[int, int], measured: tuple[float, float, float]) -> list[str]:
    """Steps a second of both, and the ratio."""
    own, other, ratio = measured
    rates = (steps[0] / own, steps[1] / other, ratio * steps[0] / steps[1])
    shown = f"{rates[2]:.2f}" if rates[2] < 100 else f"{rates[2]:.0f}"
    return [what, f"{rates[0]:.2e}", f"{rates[1]:.2e}", shown]


def start(d: int) -> tuple[np.ndarray, np.ndarray]:
    """A signal, and a random W(0) of size 1e-4: nothing diverges, nothing is at rest soon."""
    U = np.random.default_rng(0).standard_normal((d, 2 * d)) * 1e-2
    return np.linspace(2.0, 0.5, d), U @ U.T / (2 * d)


def load_steps(d: int, dynamics: str) -> None:
    """Compile the steps of single runs, which they do by themselves where it pays."""
    problem = make_problem(start(d)[0], ETA, dynamics)
    compiled_steps(problem, ahead=1e12)


def own_run(
    d: int, steps: int, dynamics: str = "euler", eta: float = ETA
) -> Callable[[], np.ndarray]:
    """A run of ours, step by step."""
    signal, W0 = start(d)
    task = SIMTask.from_signal(signal.tolist())
    load_steps(d, dynamics)

    def run() -> np.ndarray:
        ran = simulate(task, W0, eta, steps, dynamics, record="none", skip=False)
        return np.where(np.isnan(ran.half_times), -1, ran.half_times)

    return run


def built(name: str, d: int, folder: Path) -> ctypes.CDLL:
    """A reference, compiled for one d."""
    target = folder / f"{name}{d}.so"
    flags = ["-O3", "-march=native", "-shared", "-fPIC", f"-DD={d}"]
    subprocess.run(["cc", *flags, str(REFERENCE / f"{name}.c"), "-o", str(target)], check=True)
    return ctypes.CDLL(str(target))


def pointers(*arrays: np.ndarray) -> list[ctypes.c_void_p]:
    """Where arrays lie."""
    return [array.ctypes.data_as(ctypes.c_void_p) for array in arrays]


def same(found: np.ndarray, expected: np.ndarray, d: int) -> None:
    """End the benchmark when the half-times are not the same."""
    if not np.array_equal(found, expected):
        raise SystemExit(f"the half-times of the reference at d = {d} are others")


def c_row(d: int, folder: Path, eta: float) -> list[str]:
    """One trajectory of euler against a plain loop in C."""
    # Above d = 8 shorter runs are not compiled.
    steps = 200_000 // d if d <= 8 else max(4000, 80_000_000 // d**3)
    (signal, W0), ours = start(d), own_run(d, steps, eta=eta)
    reference = built("single", d, folder)

    def theirs() -> np.ndarray:
        W, half = W0.copy(), np.zeros(d, dtype=np.int64)
        given = pointers(W, signal, half)
        reference.run(*given[:2], ctypes.c_double(eta), given[2], ctypes.c_long(steps))
        return half

    same(ours(), theirs(), d)
    what = "whole" if eta == ETA else "moving"
    return row(f"single, euler, d = {d}, {what}", (steps, steps), pairs(ours, theirs))


def first_call_rows() -> list[list[str]]:
    """The first call of a fresh process: nothing compiled yet, steps compiled before, once more."""
    rows = []
    for steps in (4000, 40_000, 4_000_000):
        with tempfile.TemporaryDirectory() as folder:
            given = [sys.executable, "-c", FIRST_CALL.format(steps=steps)]
            environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
            told = [
                subprocess.run(given, env=environment, check=True, capture_output=True, text=True)
                for _ in range(2)
            ]
        times = [f"{float(line):.0f} ms" for one in told for line in one.stdout.split()]
        what = f"first call, d = 3, {steps} steps: nothing compiled, again; compiled before, again"
        rows.append([what, ", ".join(times), "", ""])
    return rows


def gd_row(d: int) -> list[str]:
    """One trajectory of gd, beside one of euler."""
    steps = 200_000 // d
    euler, gd = own_run(d, steps), own_run(d, steps, "gd")
    return row(f"single, gd against euler, d = {d}", (steps, steps), pairs(gd, euler))


def address_of_dgemm() -> int:
    """Where the dgemm of scipy's OpenBLAS lies."""
    exported: dict[str, Any] = importlib.import_module("scipy.linalg.cython_blas").__pyx_capi__
    name, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(pointer(exported["dgemm"], name(exported["dgemm"])) or 0)


def blas_row(d: int, folder: Path) -> list[str]:
    """One trajectory of euler against a loop in C that leaves its product to OpenBLAS.

    OpenBLAS reads its number of threads when it is loaded, and scipy brings one of its own.
    """
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    steps = 4000 if d < 128 else 400
    (signal, W0), ours = start(d), own_run(d, steps)
    reference, dgemm = built("blas", d, folder), ctypes.c_void_p(address_of_dgemm())
    G, Y = np.empty((d, d)), np.empty((d, d))

    def theirs() -> np.ndarray:
        W, half = W0.copy(), np.zeros(d, dtype=np.int64)
        given = pointers(W, signal, half, G, Y)
        size, count = ctypes.c_int(d), ctypes.c_long(steps)
        reference.run(dgemm, *given[:2], ctypes.c_double(ETA), given[2], size, count, *given[3:])
        return half

    same(ours(), theirs(), d)
    measured = pairs(ours, theirs, 7 if d < 128 else 3)
    return row(f"single, euler, d = {d}, against OpenBLAS", (steps, steps), measured)


def torch_row(d: int) -> list[str]:
    """One trajectory of euler against a loop in PyTorch that records every step."""
    what = f"single, euler, d = {d}, against PyTorch"
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return [what, "skipped: torch is not installed", "", ""]
    torch.set_num_threads(1)
    steps, fewer = 200_000 // d, 2000
    (signal, W0), ours = start(d), own_run(d, steps)
    A = torch.diag(torch.tensor(signal))

    def theirs() -> np.ndarray:
        W = torch.tensor(W0)
        recorded = [W]
        for _ in range(fewer):
            square = W @ W
            bracket = A @ square + square @ A + 2 * (W @ A @ W)
            W = W + ETA * (A @ W + W @ A - 0.5 * bracket)
            recorded.append(W)
        return np.array(torch.stack(recorded))

    half = (np.diagonal(theirs(), axis1=1, axis2=2) >= 0.5).argmax(axis=0)
    same(ours(), half, d)
    return row(what, (steps, fewer), pairs(ours, theirs, 7))


def rows() -> list[list[str]]:
    """Measure all single runs."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = [c_row(d, folder, ETA) for d in (2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32)]
        found += [c_row(d, folder, SLOW) for d in (3, 8, 16)]
        found += [gd_row(d) for d in (3, 8)]
        found += [blas_row(d, folder) for d in (64, 256)]
    return [*found, torch_row(3), *first_call_rows()]
