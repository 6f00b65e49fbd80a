"""Deep linear networks trained by gradient descent, against what their first layers predict.

Training is in exact expectation, on the loss (4.1), in double precision. A cell is a depth and a
size of weights, with random signals.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from studies.law_errors import groups
from studies.plan import Plan, load_plan
from studies.study import Numbers, Study, plain_numbers, plain_rows, recorded_rows, rows_of_shares
from swingby.lab.figures.evidence import Kind
from swingby.lab.networks.setting import Data, Floats, Network, Optimizer, Setting
from swingby.lab.networks.training import train
from swingby.theory.share import Share, share_of
from swingby.theory.task import SIMTask
from swingby.theory.verdict import Verdict, all_hold, within_bar
from swingby.verify.network_schedule import NetworkSchedule
from swingby.verify.predict_network import predict_network

#: Signals fall from 1 by random factors between these.
RATIOS = (1.3, 3.0)
#: lr times L a_max: a fifth of what the edge of stability allows is 0.4.
STEP = 0.2


@dataclass(frozen=True)
class DeepCell:
    """Networks of a kind: Gaussian layers of standard deviation `scale`, or torch's default."""

    depth: int
    scale: float | None
    d: int = 3
    width: int = 5

    @property
    def name(self) -> str:
        """As in tables."""
        size = "torch" if self.scale is None else f"layers of {self.scale:g}"
        return f"depth {self.depth}, {size}" + (f", d = {self.d}" if self.d != 3 else "")


CELLS = tuple(
    DeepCell(row["depth"], row.get("scale"), row.get("d", 3)) for row in load_plan("deep")["cells"]
)


@dataclass(frozen=True)
class DeepTraining:
    """A trained network: its predictions, and the steps of its half-times (nan: not reached)."""

    layers: list[Floats]
    task: SIMTask
    full: NetworkSchedule
    leading: NetworkSchedule
    half_times: Floats
    last: int

    @property
    def off(self) -> Floats:
        """Predicted less observed half-times in steps; nan where none was observed."""
        return np.asarray(self.full.half_times - self.half_times)

    def errors(self, accuracy: str) -> Floats:
        """Relative errors of the crossings, against the middle of the observed step."""
        schedule: NetworkSchedule = getattr(self, accuracy)
        return np.asarray(schedule.crossing / np.maximum(self.half_times - 0.5, 0.5) - 1)

    def inside(self, accuracy: str, other: DeepTraining | None = None) -> bool:
        """Whether all half-times lie within their bars; a missing one does if it may come later.

        `other`: a training whose bars are taken instead.
        """
        schedule: NetworkSchedule = getattr(other or self, accuracy)
        bars = zip(schedule.crossing, schedule.error, self.half_times, strict=True)
        return all_hold(within_bar(*bar, self.last) for bar in bars) == Verdict.HOLDS

    def in_order(self, accuracy: str) -> bool:
        """Whether concepts were learned in the order predicted."""
        schedule: NetworkSchedule = getattr(self, accuracy)
        half_times = np.where(np.isnan(self.half_times), np.inf, self.half_times)
        ordered = half_times[list(schedule.order)]
        return len(ordered) == len(half_times) and bool((ordered[:-1] <= ordered[1:]).all())


def draw(cell: DeepCell, rng: np.random.Generator) -> tuple[list[Floats], SIMTask, float]:
    """Layers, task and learning rate of a network."""
    falls = rng.uniform(*RATIOS, cell.d - 1)
    signal = np.concatenate([[1.0], np.cumprod(1 / falls)])
    widths = [cell.d, *[cell.width] * (cell.depth - 1), cell.d]
    layers = []
    for wide, high in itertools.pairwise(widths):
        if cell.scale is None:
            reach = 1 / math.sqrt(wide)
            layers.append(rng.uniform(-reach, reach, (high, wide)))
        else:
            layers.append(cell.scale * rng.standard_normal((high, wide)))
    return layers, SIMTask.from_signal(signal.tolist()), STEP / cell.depth


def trained(cell: DeepCell, runs: int, seed: int) -> list[DeepTraining]:
    """Networks of a cell, predicted and trained, for a quarter longer than is predicted."""
    # By name and seed alone, so that a cell does not depend on those before it.
    rng = np.random.default_rng([seed, *cell.name.encode()])
    drawn = [draw(cell, rng) for _ in range(runs)]
    full, leading = (
        [predict_network(layers, task, lr=lr, accuracy=accuracy) for layers, task, lr in drawn]
        for accuracy in ("full", "leading")
    )
    network = Network(cell.depth, cell.width, bias=False)
    optimizer = Optimizer("gd", lr=STEP / cell.depth, loss="paper")
    trainings: dict[int, DeepTraining] = {}
    for chosen, steps in groups([schedule.half_times for schedule in full]):
        starts, tasks, _ = zip(*(drawn[k] for k in chosen), strict=True)
        base = Setting(tasks[0], Data(None), network, optimizer, steps=steps, precision="float64")
        run = train([replace(base, task=task) for task in tasks], start=starts, record=steps)
        for k, observed in zip(chosen, run.jacobian_half_times, strict=True):
            trainings[k] = DeepTraining(*drawn[k][:2], full[k], leading[k], observed, steps)
    return [trainings[k] for k in range(runs)]


def _deep_cells(plan: Plan) -> Mapping[str, Any]:
    return {cell.name: (cell, plan["runs"], plan["seed"]) for cell in CELLS}


def _deep_rows(job: Any) -> list[dict[str, Any]]:
    """Deep linear networks, against the half-times that their first layers predict."""
    cell = job[0]
    runs = trained(*job)
    barred = [run for run in runs if np.isfinite(run.leading.error).all()]
    shares, controls = (_shares(runs, barred, shift) for shift in (0, 1))
    chances = {statement: share.value for statement, share in controls.items()}
    chances["order"] = 1 / math.factorial(cell.d)
    *full, leading = shares.items()
    rows = [*rows_of_shares("deep", cell.name, Kind.NUMERICS, dict(full), chances)]
    rows += rows_of_shares("deep", cell.name, Kind.LAW, dict([leading]), chances)
    return plain_rows(rows)


def _shares(
    runs: Sequence[DeepTraining], barred: Sequence[DeepTraining], shift: int
) -> dict[str, Share]:
    """Shares of runs as was predicted for the run so many places before."""

    def share(
        group: Sequence[DeepTraining], good: Callable[[DeepTraining, DeepTraining], Any]
    ) -> Share:
        return share_of([bool(good(run, group[k - shift])) for k, run in enumerate(group)])

    return {
        "half-times within their bars": share(runs, lambda run, other: run.inside("full", other)),
        "half-times to the step": share(
            runs,
            lambda run, other: (np.abs(other.full.half_times - run.half_times) <= 1).all(),
        ),
        "order": share(runs, lambda run, _: run.in_order("full")),
        "leading order within its bars": share(
            barred, lambda run, other: run.inside("leading", other)
        ),
    }


def _deep_canary(plan: Plan) -> Numbers:
    cell, _, seed = _deep_cells(plan)[plan["canary"]]
    runs = trained(cell, plan["canary_runs"], seed)
    return {
        "crossing": plain_numbers([run.full.crossing for run in runs]),
        "leading": plain_numbers([run.leading.crossing for run in runs]),
        "observed": plain_numbers([run.half_times for run in runs]),
    }


STUDY = Study(
    "deep linear networks against the law of their layers",
    _deep_cells,
    _deep_rows,
    _deep_canary,
    recorded_rows,
)
