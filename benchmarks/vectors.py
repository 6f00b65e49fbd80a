"""Diffusion in concept space: predicted against trained, many random settings a cell.

``python -m benchmarks.vectors [--count 200] [--seed 7] [--cells name ...]`` prints a table.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter

import numpy as np

from studies.vector_cells import CELLS, VectorCell, compare_cell
from swingby.lab.diffusion.vectors import VectorComparison
from swingby.theory.verdict import Verdict


def cell_row(cell: VectorCell, count: int, seed: int) -> str:
    start = time.process_time()
    parts = compare_cell(cell, count, seed)
    seconds = time.process_time() - start
    words = [
        "/".join(str(verdicts(parts, name)[one]) for one in Verdict)
        for name in ("half-time", "order", "plain", "descents")
    ]
    known = [row for part in parts for row in part.of("half-time") if row.error == row.error]
    relative = [
        abs(row.off) / float(row.predicted) * 100 for row in known if math.isfinite(row.off)
    ]
    of_bar = [abs(row.off) / row.error for row in known if math.isfinite(row.off)]
    scatter = " / ".join(f"{one:.2g}" for one in (np.median(relative), np.quantile(relative, 0.99)))
    cells = [cell.name, str(count), *words, scatter, f"{max(of_bar):.2f}", f"{seconds:.0f}"]
    return "| " + " | ".join(cells) + " |"


def verdicts(parts: list[VectorComparison], name: str) -> Counter:
    return Counter(row.verdict for part in parts for row in part.of(name))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--cells", nargs="*", default=[cell.name for cell in CELLS])
    given = parser.parse_args()
    print("| denoiser | settings | half-times | order | plain ratio | descents | off % | of the "
          "bar | s |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")  # fmt: skip
    for cell in CELLS:
        if cell.name in given.cells:
            print(cell_row(cell, given.count, given.seed), flush=True)
    print("\nholds / fails / undecided; errors median / p99")


if __name__ == "__main__":
    main()
