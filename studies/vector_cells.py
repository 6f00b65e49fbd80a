"""Diffusion models of points in random settings, a cell for each kind of denoiser."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from studies.plan import Plan, load_plan
from studies.study import (
    Numbers,
    Study,
    crossed,
    plain_numbers,
    plain_rows,
    recorded_rows,
    rows_of_shares,
)
from swingby.lab.diffusion.vectors import VectorComparison, VectorSetting, compare_vectors
from swingby.lab.diffusion.vectors.vector_setting import SCHEDULE
from swingby.lab.figures.evidence import Kind
from swingby.theory.share import share_of
from swingby.theory.task import SIMTask
from swingby.theory.verdict import Verdict, all_hold


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
    settings = []
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
        settings.append(
            VectorSetting(
                task, cell.denoiser, cell.reads, width=width, omega=omega, batch=24,
                steps=cell.steps, seed=int(rng.integers(2**31)), **pace,
            )
        )  # fmt: skip
    return settings


def compare_cell(cell: VectorCell, count: int, seed: int) -> list[VectorComparison]:
    """Train that many settings of a cell, and compare."""
    chosen = draw(cell, count, np.random.default_rng(seed))
    return [compare_vectors(chosen[k : k + TOGETHER]) for k in range(0, count, TOGETHER)]


def _vector_cells(plan: Plan) -> Mapping[str, Any]:
    return {cell.name: (cell, plan["runs"], plan["seed"]) for cell in CELLS}


def _vector_rows(job: Any) -> list[dict[str, Any]]:
    """Diffusion models of points, against their half-times and orders."""
    cell, comparisons = job[0], compare_cell(*job)
    shares, controls = {}, {"order": 1 / 2}
    for quantity in ("half-time", "order", "descents"):
        runs = [
            all_hold(row.verdict for row in comparison.of(quantity) if row.run == run)
            for comparison in comparisons
            for run in range(len(comparison))
        ]
        decided = [verdict for verdict in runs if verdict != Verdict.UNDECIDED]
        shares[quantity] = share_of([verdict == Verdict.HOLDS for verdict in decided])
    controls["half-time"], controls["descents"] = _crossed(comparisons)
    return plain_rows(rows_of_shares("vectors", cell.name, Kind.LAW, shares, controls))


def _crossed(comparisons: Sequence[VectorComparison]) -> tuple[float, float]:
    """Shares of pairs of settings in which one is as another was predicted: times and descents."""
    predictions = [each for comparison in comparisons for each in comparison.predictions]
    observed = np.concatenate([run.half_times for each in comparisons for run in each.runs])
    times, bars = (
        np.array([getattr(each, name) for each in predictions]) for name in ("half_times", "error")
    )
    near = (np.abs(observed[:, None] - times[None]) <= bars[None]).all(axis=2)
    falls = [row.observed for each in comparisons for row in each.of("descents")]
    said = [row.predicted for each in comparisons for row in each.of("descents")]
    open_ = [
        row.verdict == Verdict.UNDECIDED for each in comparisons for row in each.of("descents")
    ]
    decided = [k for k, missing in enumerate(open_) if not missing]
    same = [[falls[i] == said[j] for j in decided] for i in decided]
    return crossed(near), crossed(same)


def _vector_canary(plan: Plan) -> Numbers:
    cell, runs, seed = _vector_cells(plan)[plan["canary"]]
    settings = draw(cell, runs, np.random.default_rng(seed))[: plan["canary_runs"]]
    comparison = compare_vectors(settings)
    return {
        "half-times": plain_numbers(
            [prediction.half_times for prediction in comparison.predictions]
        ),
        "error": plain_numbers([prediction.error for prediction in comparison.predictions]),
        "observed": plain_numbers(comparison.runs[0].half_times),
    }


STUDY = Study(
    "diffusion models of points",
    _vector_cells,
    _vector_rows,
    _vector_canary,
    recorded_rows,
)
