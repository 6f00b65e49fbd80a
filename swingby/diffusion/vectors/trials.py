"""Random settings of diffusion models of points, by kinds, and what becomes of predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from swingby.diffusion.vectors.compare import compare_vectors
from swingby.diffusion.vectors.comparison import VectorComparison
from swingby.diffusion.vectors.moments import quadratic_form
from swingby.diffusion.vectors.setting import VectorSetting
from swingby.theory.task import SIMTask


@dataclass(frozen=True)
class Cell:
    """A kind of denoiser, what is read of it, the range of omega, and steps."""

    name: str
    denoiser: str
    reads: str
    low: float
    high: float
    steps: int


CELLS = (
    Cell("one layer", "linear", "condition", 1e-6, 0.3, 700),
    Cell("U U^T", "symmetric", "condition", 1e-6, 1e-2, 700),
    Cell("W2 W1", "two_layer", "condition", 1e-6, 1e-2, 700),
    Cell("one layer, both", "linear", "both", 1e-6, 1e-2, 900),
    Cell("W2 W1, both", "two_layer", "both", 1e-6, 1e-3, 3000),
)
#: Settings that are trained as one model.
TOGETHER = 50


def draw(cell: Cell, count: int, rng: np.random.Generator) -> list[VectorSetting]:
    """Settings of two concepts, their signals and rates at random."""
    found = []
    for _ in range(count):
        mu = rng.permutation([1.0, rng.uniform(1.15, 2.0)]) * rng.uniform(0.5, 2)
        task = SIMTask(mu.tolist(), float(rng.uniform(0.01, 0.3) * mu.min()))
        top = float(task.signal.max())
        pace: dict[str, Any]
        if cell.reads == "condition":
            pace = {"eta": float(rng.uniform(0.05, 0.12)) / top}
        else:
            largest = float(np.linalg.eigvalsh(quadratic_form(np.array([top]))).max())
            pace = {"lr": float(rng.uniform(0.05, 0.15)) / largest}
        one = VectorSetting(
            task,
            cell.denoiser,
            cell.reads,
            width=None if cell.denoiser == "linear" else 6,
            omega=math.exp(rng.uniform(math.log(cell.low), math.log(cell.high))),
            batch=24,
            steps=cell.steps,
            seed=int(rng.integers(2**31)),
            **pace,
        )
        found.append(one)
    return found


def compare_cell(cell: Cell, count: int, seed: int) -> list[VectorComparison]:
    """Train that many settings of a cell, and compare."""
    chosen = draw(cell, count, np.random.default_rng(seed))
    return [compare_vectors(chosen[k : k + TOGETHER]) for k in range(0, count, TOGETHER)]
