"""How cost grows with steps, batch, d and cores, and what share of the machine is used.

Run with ``python -m benchmarks.growth``, or as a part of ``make bench``. An exponent is the slope
of log time against log size, by least squares. The limit of the machine is measured beside:
``benchmarks/reference/peak.c`` does nothing but products and sums in registers, and dgemm of
OpenBLAS multiplies matrices of 1024.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import platform
import subprocess
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from benchmarks.engine_single import REFERENCE, own_run
from swingby.report import Grid
from swingby.simulate.batch import simulate_batch
from swingby.simulate.lanes.tiles import LANES

ETA = 0.01
STEPS = 4000


def batch(d: int, count: int, steps: int, workers: int = 1) -> Callable[[], object]:
    """A batch of euler, step by step, from one W(0) and as many step sizes."""
    signal = np.linspace(2.0, 0.5, d)
    U = np.random.default_rng(0).standard_normal((d, 2 * d)) * 1e-2
    etas = np.linspace(ETA, 1.1 * ETA, count)
    return lambda: simulate_batch(
        signal, U @ U.T / (2 * d), etas, steps, skip=False, workers=workers
    )


def best(action: Callable[[], object], repeats: int = 7) -> float:
    """Seconds of one call, the smallest over repeats."""
    action()
    measured = []
    for _ in range(repeats):
        started = time.perf_counter()
        action()
        measured.append(time.perf_counter() - started)
    return min(measured)


def slope(sizes: list[int], seconds: list[float]) -> float:
    """Exponent of a power law."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def peak_of_a_core(folder: Path) -> float:
    """GFLOP a second in registers."""
    target = folder / "peak.so"
    flags = ["-O3", "-march=native", "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, str(REFERENCE / "peak.c"), "-o", str(target)], check=True)
    library = ctypes.CDLL(str(target))
    library.run.restype = ctypes.c_double
    count = 2_000_000
    return count * 16 * 8 * 2 / best(lambda: library.run(ctypes.c_long(count))) / 1e9


def peak_of_blas() -> float:
    """GFLOP a second of dgemm, with the threads that OpenBLAS was given."""
    A = np.random.default_rng(0).standard_normal((1024, 1024))
    return 2 * 1024**3 / best(lambda: A @ A, 5) / 1e9


def work(d: int) -> int:
    """Products and sums of one step of euler on symmetric matrices: G, Y = G W, the update."""
    entries = d * (d + 1) // 2
    return 2 * d * entries + 4 * entries


def steps_of(d: int) -> int:
    """Steps of a run that takes about a tenth of a second, beside which its start is nothing."""
    return min(100_000, max(400, 2_000_000_000 // d**3))


def exponents(sizes: list[int], seconds: list[float], what: str, unit: str) -> list[str]:
    """A row on how time grows with one size."""
    return [what, f"{sizes[0]} to {sizes[-1]} {unit}", f"{slope(sizes, seconds):.2f}"]


def growth() -> list[list[str]]:
    """How time grows."""
    steps = [10_000, 30_000, 100_000, 300_000]
    found = [
        exponents(steps, [best(own_run(3, n)) for n in steps], "steps, one run, d = 3", "steps")
    ]
    counts = [512, 2048, 8192, 32768]
    seconds = [best(batch(3, n, 1000)) for n in counts]
    found.append(exponents(counts, seconds, "batch, d = 3", "runs"))
    for sizes in ([2, 3, 4, 6, 8], [8, 16, 32, 64, 128, 256]):
        if sizes[-1] <= 8:
            seconds = [best(batch(d, 16 * LANES, STEPS)) for d in sizes]
            found.append(exponents(sizes, seconds, "d, batch", "concepts"))
        else:
            each = [steps_of(d) for d in sizes]
            seconds = [best(own_run(d, n), 3) / n for d, n in zip(sizes, each, strict=True)]
            found.append(exponents(sizes, seconds, "d, one run", "concepts"))
    for d in (3, 8):
        one, two = best(batch(d, 128 * LANES, STEPS)), best(batch(d, 128 * LANES, STEPS, 2))
        found.append([f"two threads, batch, d = {d}", "times one", f"{one / two:.2f}"])
    return found


def threads_of_the_machine(folder: Path) -> list[str]:
    """What two threads of the C loop in registers reach: the most that there is to have."""
    library = ctypes.CDLL(str(folder / "peak.so"))
    count = ctypes.c_long(4_000_000)

    def both() -> None:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(library.run, [count, count]))

    ratio = 2 * best(lambda: library.run(count)) / best(both)
    return ["two threads, C in registers", "times one", f"{ratio:.2f}"]


def memory() -> list[list[str]]:
    """What a batch holds at most, results included, beside its arguments."""
    found = []
    for count in (10_000, 100_000, 1_000_000):
        run = batch(3, count, 10)
        tracemalloc.start()
        run()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        found.append([f"memory, batch of {count:,}, d = 3", "bytes a run", f"{peak / count:.0f}"])
    return found


def shares(folder: Path) -> list[list[str]]:
    """GFLOP a second beside the peak of the machine."""
    peak, blas = peak_of_a_core(folder), peak_of_blas()
    found = [
        ["peak of a core, C in registers", "GFLOP a second", f"{peak:.1f}"],
        ["dgemm of 1024, OpenBLAS", "GFLOP a second", f"{blas:.1f}"],
    ]
    for d in (2, 3, 4, 8):
        rate = 16 * LANES * STEPS / best(batch(d, 16 * LANES, STEPS)) * work(d) / 1e9
        found.append([f"batch, euler, d = {d}", "GFLOP a second", f"{rate:.1f}, {rate / peak:.0%}"])
    for d in (8, 64, 256):
        steps = steps_of(d)
        rate = steps / best(own_run(d, steps), 3) * 2 * d**3 / 1e9
        found.append([f"one run, d = {d}", "GFLOP a second", f"{rate:.1f}, {rate / peak:.0%}"])
    return found


def table() -> Grid:
    """Measure everything.

    Returns
    -------
    Grid
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        machine = shares(folder)
        rows = [*growth(), threads_of_the_machine(folder), *memory(), *machine]
    return Grid(
        title="How cost grows",
        columns=["what", "over", ">exponent, ratio or rate"],
        rows=rows,
        below=[
            f"Python {platform.python_version()}, numpy {np.__version__}, {os.cpu_count()} cores, "
            f"{platform.machine()}; load {os.getloadavg()[0]:.1f}; best of several. A step counts "
            "2 d entries + 4 entries operations (d (d + 1)/2 entries) in a batch, 2 d^3 in one "
            "run, where d is large; percentages are of the peak of a core."
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
