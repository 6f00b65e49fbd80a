"""Points measured side by side: batches of runs and of predictions.

What a batch says of a point does not depend on the other points, not in a bit. Points that a batch
refuses, or that are special, are left to be measured one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from swingby.simulate.steps import MAPS
from swingby.sweeping.labels import Law
from swingby.sweeping.point import Point
from swingby.theory import numbers
from swingby.theory.growth import DYNAMICS
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from swingby.simulate.result import Run

#: Largest d of runs in lanes, as in :mod:`swingby.simulate.lanes`.
LARGEST_RUN = 8
#: From this eta a on, no descents are predicted for steps that are not those of the flow.
COARSE = Fraction(1, 2)


@dataclass(frozen=True, eq=False)
class Given:
    """A point with its place among those to be measured, its task and its W(0)."""

    place: int
    point: Point
    task: SIMTask
    W0: Scaled


@dataclass(frozen=True, eq=False)
class End:
    """What is kept of a run: half_times (d,), outcome, last_step, descents, transient."""

    half_times: NDArray[np.float64]
    outcome: str
    last_step: int
    descents: int
    transient: float

    @classmethod
    def of_run(cls, run: Run) -> End:
        """The end of a single run."""
        largest = max((abs(peak.value) for peak in run.peaks), default=0.0)
        return cls(run.half_times, str(run.outcome), run.last_step, run.descents(), largest)


def observe_together(given: list[Given]) -> dict[int, End]:
    """Run the points that go through the lanes.

    Returns
    -------
    dict from int to End
        By place; without those that have to run alone.
    """
    from swingby.simulate.batch import simulate_batch

    found: dict[int, End] = {}

    def group_of(one: Given) -> Hashable:
        point = one.point
        alone = point.record is not None or not MAPS[point.dynamics].lanes
        alone |= point.dimension > LARGEST_RUN
        return None if alone else (point.dimension, point.dynamics, point.steps)

    def run(group: list[Given]) -> None:
        batch = simulate_batch(
            np.array([one.task.signal for one in group]),
            np.array([one.W0.matrix for one in group]),
            _step_sizes(group),
            group[0].point.steps,
            group[0].point.dynamics,
            omega=np.array([one.W0.omega for one in group], dtype=object),
            test_point=np.array([one.task.test_point for one in group]),
        )
        descents, transient = batch.descents, batch.transient
        if descents is None or transient is None:
            raise AssertionError("a watched batch has both")
        for number, one in enumerate(group):
            found[one.place] = End(
                half_times=batch.half_times[number],
                outcome=str(batch.outcome[number]),
                last_step=int(batch.last_step[number]),
                descents=int(descents[number]),
                transient=float(transient[number]),
            )

    _for_each_group(given, group_of, run)
    return found


@dataclass(frozen=True, eq=False)
class Swing:
    """What is predicted of the test loss.

    descents: None where undecided; margin: see `swing_margin` of
    :class:`swingby.verify.predict_swing.BatchSwing`; transient: nan outside the range of the law.
    """

    descents: int | None
    margin: float
    transient: float


def foresee_together(given: list[Given]) -> dict[int, Swing]:
    """Descents of the test loss and transients, predicted.

    Returns
    -------
    dict from int to Swing
        By place; without those that the prediction refuses.
    """
    from swingby.verify.predict_swing import predict_swing_batch

    found: dict[int, Swing] = {}

    def foresee(group: list[Given]) -> None:
        batch = predict_swing_batch(
            np.array([one.task.signal for one in group]),
            np.array([one.W0.matrix for one in group]),
            _step_sizes(group),
            group[0].point.dynamics,
            test_point=np.array([one.task.test_point for one in group]),
            log_scale=_log_scales(group),
        )
        for number, one in enumerate(group):
            descents = int(batch.descents[number])
            found[one.place] = Swing(
                descents=None if batch.undecided[number] else descents,
                margin=float(batch.swing_margin[number]),
                transient=float(batch.transient[number]),
            )

    def group_of(one: Given) -> Hashable:
        dynamics = one.point.dynamics
        if DYNAMICS[dynamics].of and Fraction(one.point.eta) * max(one.task.exact_signal) >= COARSE:
            found[one.place] = Swing(None, math.nan, math.nan)
            return None
        return (one.point.dimension, dynamics)

    _for_each_group(given, group_of, foresee)
    return found


def predict_together(given: list[Given]) -> dict[int, Law]:
    """The stage law of all points but those that it refuses.

    Returns
    -------
    dict from int to Law
        By place.
    """
    from swingby.verify.predict_batch import predict_batch

    found: dict[int, Law] = {}

    def group_of(one: Given) -> Hashable:
        return (one.point.dimension, one.point.dynamics)

    def predict(group: list[Given]) -> None:
        batch = predict_batch(
            np.array([one.task.signal for one in group]),
            np.array([one.W0.matrix for one in group]),
            _step_sizes(group),
            group[0].point.dynamics,
            log_scale=_log_scales(group),
        )
        for number, one in enumerate(group):
            found[one.place] = Law(
                signal=one.task.exact_signal,
                crossing=batch.crossing[number],
                error=batch.error[number],
                trapped=batch.trapped[number],
                undecided=batch.undecided[number],
                diverges=bool(np.isfinite(batch.blow_up[number])),
                share=batch.share[number],
            )

    _for_each_group(given, group_of, predict)
    return found


def _for_each_group(
    given: list[Given],
    group_of: Callable[[Given], Hashable],
    treat: Callable[[list[Given]], None],
) -> None:
    groups: dict[Hashable, list[Given]] = {}
    for one in given:
        groups.setdefault(group_of(one), []).append(one)
    groups.pop(None, None)
    for group in groups.values():
        _try(group, treat)


def _try(group: list[Given], treat: Callable[[list[Given]], None]) -> None:
    """Treat a group, without the points that a batch refuses: alone, they say what is wrong."""
    try:
        treat(group)
    except Exception:
        middle = len(group) // 2
        if middle:
            _try(group[:middle], treat)
            _try(group[middle:], treat)


def _log_scales(group: list[Given]) -> NDArray[np.float64]:
    logarithms: dict[Fraction, float] = {}
    for one in group:
        if one.W0.omega not in logarithms:
            logarithms[one.W0.omega] = numbers.log_of(one.W0.omega)
    return np.array([logarithms[one.W0.omega] for one in group])


def _step_sizes(group: list[Given]) -> NDArray[np.float64]:
    sizes: dict[str, float] = {}
    for one in group:
        if one.point.eta not in sizes:
            sizes[one.point.eta] = float(Fraction(one.point.eta))
    return np.array([sizes[one.point.eta] for one in group])
