"""Diffusion in concept space: predicted against trained, many random settings a cell.

``python -m benchmarks.vectors [--count 200] [--seed 7] [--cells name ...]`` prints a table.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter

import numpy as np

from swingby import SIMTask
from swingby.diffusion.vectors import VectorComparison, VectorSetting, compare_vectors
from swingby.diffusion.vectors.moments import quadratic_form

#: Name, denoiser, what is read, smallest and largest omega, steps.
CELLS = (
    ("one layer", "linear", "condition", 1e-6, 0.3, 700),
    ("U U^T", "symmetric", "condition", 1e-6, 1e-2, 700),
    ("W2 W1", "two_layer", "condition", 1e-6, 1e-2, 700),
    ("one layer, both", "linear", "both", 1e-6, 1e-2, 900),
    ("W2 W1, both", "two_layer", "both", 1e-6, 1e-3, 3000),
)
#: Settings that are trained as one model.
TOGETHER = 50


def draw(cell: tuple, count: int, rng: np.random.Generator) -> list[VectorSetting]:
    _, kind, reads, low, high, steps = cell
    found = []
    for _ in range(count):
        mu = rng.permutation([1.0, rng.uniform(1.15, 2.0)]) * rng.uniform(0.5, 2)
        task = SIMTask(mu.tolist(), float(rng.uniform(0.01, 0.3) * mu.min()))
        top = float(task.signal.max())
        if reads == "condition":
            pace = {"eta": float(rng.uniform(0.05, 0.12)) / top}
        else:
            largest = float(np.linalg.eigvalsh(quadratic_form(np.array([top]))).max())
            pace = {"lr": float(rng.uniform(0.05, 0.15)) / largest}
        omega = math.exp(rng.uniform(math.log(low), math.log(high)))
        width = None if kind == "linear" else 6
        one = VectorSetting(task, kind, reads, width=width, omega=omega, batch=24, steps=steps,
                            seed=int(rng.integers(2**31)), **pace)  # fmt: skip
        found.append(one)
    return found


def cell_row(cell: tuple, count: int, seed: int) -> str:
    start = time.process_time()
    chosen = draw(cell, count, np.random.default_rng(seed))
    parts = [compare_vectors(chosen[k : k + TOGETHER]) for k in range(0, count, TOGETHER)]
    seconds = time.process_time() - start
    words = [
        "/".join(str(verdicts(parts, name)[one]) for one in
                 ("supported", "not supported", "undecided"))
        for name in ("half-time", "order", "plain", "descents")
    ]  # fmt: skip
    known = [row for part in parts for row in part.of("half-time") if row.error == row.error]
    relative = [
        abs(row.off) / float(row.predicted) * 100 for row in known if math.isfinite(row.off)
    ]
    of_bar = [abs(row.off) / row.error for row in known if math.isfinite(row.off)]
    scatter = " / ".join(f"{one:.2g}" for one in (np.median(relative), np.quantile(relative, 0.99)))
    cells = [cell[0], str(count), *words, scatter, f"{max(of_bar):.2f}", f"{seconds:.0f}"]
    return "| " + " | ".join(cells) + " |"


def verdicts(parts: list[VectorComparison], name: str) -> Counter:
    return Counter(row.verdict for part in parts for row in part.of(name))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--cells", nargs="*", default=[cell[0] for cell in CELLS])
    given = parser.parse_args()
    print("| denoiser | settings | half-times | order | plain ratio | descents | off % | of the "
          "bar | s |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")  # fmt: skip
    for cell in CELLS:
        if cell[0] in given.cells:
            print(cell_row(cell, given.count, given.seed), flush=True)
    print("\nsupported / not supported / undecided; errors median / p99")


if __name__ == "__main__":
    main()
