"""Diffusion models of points in random settings, a cell for each kind of denoiser."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from studies.plan import load_plan
from swingby.lab.diffusion.vectors import VectorComparison, VectorSetting, compare_vectors
from swingby.lab.diffusion.vectors.vector_setting import SCHEDULE
from swingby.theory.task import SIMTask


@dataclass(frozen=True)
class VectorCell:
    """A kind of denoiser, what it reads, the range of omega, and the steps of training."""

    name: str
    denoiser: str
    reads: str
    omega: tuple[float, float]
    steps: int


CELLS = tuple(
    VectorCell(**{**row, "omega": tuple(row["omega"])}) for row in load_plan("vectors")["cells"]
)
#: Settings that are trained as one model.
TOGETHER = 50


def draw(cell: VectorCell, count: int, rng: np.random.Generator) -> list[VectorSetting]:
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
            largest = float(np.linalg.eigvalsh(SCHEDULE.form(np.array([top]))).max())
            pace = {"lr": float(rng.uniform(0.05, 0.15)) / largest}
        width = None if cell.denoiser == "linear" else 6
        omega = math.exp(rng.uniform(*np.log(cell.omega)))
        found.append(
            VectorSetting(
                task, cell.denoiser, cell.reads, width=width, omega=omega, batch=24,
                steps=cell.steps, seed=int(rng.integers(2**31)), **pace,
            )
        )  # fmt: skip
    return found


def compare_cell(cell: VectorCell, count: int, seed: int) -> list[VectorComparison]:
    """Train that many settings of a cell, and compare."""
    chosen = draw(cell, count, np.random.default_rng(seed))
    return [compare_vectors(chosen[k : k + TOGETHER]) for k in range(0, count, TOGETHER)]
