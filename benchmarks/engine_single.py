"""Rows of :mod:`benchmarks.engine` for single runs: against C, against OpenBLAS, against PyTorch.

Every run finds all its events (levels, peaks, suppression, extrema of the loss, loss of positive
semidefiniteness); the references find half-times, or record W at every step.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from swingby.simulate.run import simulate
from swingby.theory.task import SIMTask

REFERENCE = Path(__file__).with_name("reference")
ETA = 0.01


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


def own_run(d: int, steps: int, dynamics: str = "euler") -> Callable[[], np.ndarray]:
    """A run of ours, step by step."""
    signal, W0 = start(d)
    task = SIMTask.from_signal(signal.tolist())

    def run() -> np.ndarray:
        ran = simulate(task, W0, ETA, steps, dynamics, record="none", skip=False)
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


def c_row(d: int, folder: Path) -> list[str]:
    """One trajectory of euler against a plain loop in C."""
    steps = 200_000 // d if d <= 8 else max(2000, 80_000_000 // d**3)
    (signal, W0), ours = start(d), own_run(d, steps)
    reference = built("single", d, folder)

    def theirs() -> np.ndarray:
        W, half = W0.copy(), np.zeros(d, dtype=np.int64)
        given = pointers(W, signal, half)
        reference.run(given[0], given[1], ctypes.c_double(ETA), given[2], ctypes.c_long(steps))
        return half

    same(ours(), theirs(), d)
    return row(f"single, euler, d = {d}", (steps, steps), pairs(ours, theirs))


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
        found = [c_row(d, folder) for d in (2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32)]
        found += [gd_row(d) for d in (3, 8)]
        found += [blas_row(d, folder) for d in (64, 256)]
    return [*found, torch_row(3)]
