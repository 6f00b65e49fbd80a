"""What is measured at a point: the only place of a sweep that computes.

Points are measured side by side, in batches of runs and of predictions. What a batch says of a
point does not depend on the other points, not in a bit. Points that a batch refuses, or that are
special, are measured one by one.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from swingby.errors import SwingbyError, SwingbyWarning
from swingby.simulate.steps import MAPS
from swingby.sweeping.point import (
    Law,
    Point,
    initial,
    margin,
    observed_label,
    predicted_label,
    smallest_pivot,
    task_of,
)
from swingby.theory import numbers
from swingby.theory.growth import DYNAMICS
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: What a batch says of a point.
Found = TypeVar("Found")
#: Largest d of runs in lanes, as in :mod:`swingby.simulate.lanes`.
LARGEST_RUN = 8
#: From this eta a on, no descents are predicted for steps that are not those of the flow.
COARSE = Fraction(1, 2)
#: What the stage law says per concept.
_OF_LAW = ("crossing", "error", "trapped", "undecided", "share")


@dataclass(frozen=True)
class Row:
    """What is known of a point after it was measured: results, or the reason why there are none.

    Results are None for "not at all", numbers, words, and one number per concept:

    - ``predicted``, ``observed``: :class:`swingby.sweeping.point.Label`; ``outcome``:
      :class:`swingby.simulate.outcome.Outcome`;
    - ``margin``, ``smallest_pivot``: see :mod:`swingby.sweeping.point`;
    - ``predicted_half_times``, ``error``: per concept, in steps, from the stage law;
      ``trapped``, ``undecided``: its answer per concept, 0 or 1;
    - ``half_times``: per concept, the observed step; ``last_step``: of the run (runs side by side
      are looked at every 256 steps);
    - ``descents``: how often the test loss descends by 1e-3 of its initial value; ``transient``:
      largest abs(w_ij), i and j different, along the run: the size of the swing;
    - ``predicted_descents``, ``predicted_transient``, ``swing_margin``: see
      :class:`swingby.verify.predict_swing.BatchSwing`; None where undecided.

    `arrays` has ``steps`` and ``W`` where the point asks for a record.
    """

    results: dict[str, Any] | None
    reason: str | None = None
    arrays: dict[str, NDArray[Any]] | None = None


@dataclass(frozen=True, eq=False)
class _Given:
    """A point with its place among those to be measured, its task and its W(0)."""

    place: int
    point: Point
    task: SIMTask
    W0: Scaled


def measure(points: Sequence[Point]) -> list[Row]:
    """Predict and run every point, in the order of the points.

    A row depends on its point alone, bit for bit: not on the other points, on their order, or on
    how a sweep was split. A point that raises gives a row with the reason and stops nothing.

    Examples
    --------
    >>> point = Point(("2", "1"), None, None, "1e-3", 2, 0, "0.01", "flow")
    >>> row = measure([point])[0]
    >>> row.results["predicted"], row.results["observed"], row.results["half_times"]
    ('in_order', 'in_order', [162.0, 590.0])
    """
    with _quiet():
        rows: list[Row | None] = [None] * len(points)
        given: list[_Given] = []
        for place, point in enumerate(points):
            try:
                given.append(_Given(place, point, task_of(point), initial(point)))
            except MemoryError:
                raise  # says nothing about the point
            except Exception as error:  # whatever it is, the other points go on
                rows[place] = _failed(error)
        laws, swings, ends = _laws(given, rows), _swings(given, rows), _ends(given, rows)
        for one in given:
            if rows[one.place] is not None:
                continue
            try:
                rows[one.place] = _measured(
                    one, laws.get(one.place), swings.get(one.place, {}), ends.get(one.place)
                )
            except MemoryError:
                raise
            except Exception as error:
                rows[one.place] = _failed(error)
    return [row for row in rows if row is not None]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Warnings about single runs help nobody who runs a million.

    Filters belong to the whole process and may be set from one thread only.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SwingbyWarning)
        yield


def _failed(error: Exception) -> Row:
    text = " ".join(str(error).split())
    return Row(None, f"{type(error).__name__}: {text}" if text else type(error).__name__)


def _measured(
    given: _Given, law: Law | None, swing: dict[str, Any], end: dict[str, Any] | None
) -> Row:
    point, arrays = given.point, None
    if law is None:
        from swingby.verify.predict import predict

        schedule = predict(given.task, given.W0, eta=point.eta, dynamics=point.dynamics)
        stages = schedule.stages
        if stages is None:
            raise TypeError("a schedule of one W(0) expected")
        diverges = bool(np.isfinite(stages.blow_up))
        signal = given.task.exact_signal
        law = Law(signal, diverges=diverges, **{name: getattr(stages, name) for name in _OF_LAW})
    if end is None:
        end, arrays = _run_alone(given)
    times = end["half_times"]
    results = {
        "predicted": str(predicted_label(law)),
        "observed": str(observed_label(end["outcome"], law.signal, times)),
        "margin": margin(law),
        "smallest_pivot": smallest_pivot(law),
        "predicted_half_times": _plain(law.half_times),
        "error": _plain(law.error),
        "trapped": _plain(law.trapped),
        "undecided": _plain(law.undecided),
        **dict.fromkeys(("predicted_descents", "swing_margin", "predicted_transient")),
        **swing,
        **end,
        "half_times": _plain(times),
    }
    nothing = {
        name for name, value in results.items() if isinstance(value, float) and value != value
    }
    return Row(results | dict.fromkeys(nothing), arrays=arrays)


def _plain(values: NDArray[Any]) -> list[float | None]:
    """Numbers of concepts, None for nan."""
    return [None if value != value else float(value) for value in values.tolist()]


def _run_alone(one: _Given) -> tuple[dict[str, Any], dict[str, NDArray[Any]] | None]:
    from swingby.simulate.run import simulate

    point = one.point
    run = simulate(
        one.task,
        one.W0,
        eta=point.eta,
        steps=point.steps,
        dynamics=point.dynamics,
        record="none" if point.record is None else point.record,
    )
    end = {
        "half_times": run.half_times,
        "outcome": str(run.outcome),
        "last_step": run.last_step,
        "descents": run.descents(),
        "transient": max((abs(peak.value) for peak in run.peaks), default=0.0),
    }
    return end, None if point.record is None else {"steps": run.steps, "W": run.W}


def _ends(given: list[_Given], rows: list[Row | None]) -> dict[int, dict[str, Any]]:
    """Runs of the points that go through the lanes; the others have to run alone."""
    from swingby.simulate.batch import simulate_batch

    def key(one: _Given) -> Hashable:
        point = one.point
        lanes = MAPS[point.dynamics].lanes and point.dimension <= LARGEST_RUN
        inside = lanes and point.record is None
        return (point.dimension, point.dynamics, point.steps) if inside else None

    def run(group: list[_Given]) -> list[dict[str, Any]]:
        batch = simulate_batch(
            **_arrays(group),
            steps=group[0].point.steps,
            omega=np.array([one.W0.omega for one in group], dtype=object),
            test_point=np.array([one.task.test_point for one in group]),
        )
        descents, transient = batch.descents, batch.transient
        if descents is None or transient is None:
            raise AssertionError("a watched batch has both")
        return [
            {
                "half_times": batch.half_times[number],
                "outcome": str(batch.outcome[number]),
                "last_step": int(batch.last_step[number]),
                "descents": int(descents[number]),
                "transient": float(transient[number]),
            }
            for number in range(len(group))
        ]

    return _together(given, rows, key, run)


def _swings(given: list[_Given], rows: list[Row | None]) -> dict[int, dict[str, Any]]:
    """Descents of the test loss and transients, predicted; without points that it refuses."""
    from swingby.verify.predict_swing import predict_swing_batch

    def key(one: _Given) -> Hashable:
        dynamics = one.point.dynamics
        if DYNAMICS[dynamics].of and Fraction(one.point.eta) * max(one.task.exact_signal) >= COARSE:
            return None
        return (one.point.dimension, dynamics)

    def predict(group: list[_Given]) -> list[dict[str, Any]]:
        points = np.array([one.task.test_point for one in group])
        batch = predict_swing_batch(
            **_arrays(group), test_point=points, log_scale=_log_scales(group)
        )
        return [
            {
                "predicted_descents": None
                if batch.undecided[number]
                else int(batch.descents[number]),
                "swing_margin": float(batch.swing_margin[number]),
                "predicted_transient": float(batch.transient[number]),
            }
            for number in range(len(group))
        ]

    return _together(given, rows, key, predict)


def _laws(given: list[_Given], rows: list[Row | None]) -> dict[int, Law]:
    """The stage law of all points but those that a batch refuses."""
    from swingby.verify.predict_batch import predict_batch

    def predict(group: list[_Given]) -> list[Law]:
        batch = predict_batch(**_arrays(group), log_scale=_log_scales(group))
        return [
            Law(
                signal=one.task.exact_signal,
                diverges=bool(np.isfinite(batch.blow_up[number])),
                **{name: getattr(batch, name)[number] for name in _OF_LAW},
            )
            for number, one in enumerate(group)
        ]

    return _together(given, rows, lambda one: (one.point.dimension, one.point.dynamics), predict)


def _arrays(group: list[_Given]) -> dict[str, Any]:
    """What all batches are given."""
    size = functools.cache(lambda text: float(Fraction(text)))
    return {
        "signal": np.array([one.task.signal for one in group]),
        "W0": np.array([one.W0.matrix for one in group]),
        "eta": np.array([size(one.point.eta) for one in group]),
        "dynamics": group[0].point.dynamics,
    }


def _log_scales(group: list[_Given]) -> NDArray[np.float64]:
    log_of = functools.cache(numbers.log_of)
    return np.array([log_of(one.W0.omega) for one in group])


def _together(
    given: list[_Given],
    rows: list[Row | None],
    key: Callable[[_Given], Hashable],
    work: Callable[[list[_Given]], list[Found]],
) -> dict[int, Found]:
    """What `work` says of the points of one key at a time, by place.

    Points without a key, and points that a batch refuses, are left out: alone, they say what is
    wrong. A point that breaks a batch of its own has failed.
    """
    groups: dict[Hashable, list[_Given]] = {}
    for one in given:
        groups.setdefault(key(one), []).append(one)
    groups.pop(None, None)
    todo, found = list(groups.values()), dict[int, Found]()
    while todo:
        group = todo.pop()
        try:
            found |= zip((one.place for one in group), work(group), strict=True)
        except MemoryError:
            raise
        except Exception as error:
            if middle := len(group) // 2:
                todo += [group[:middle], group[middle:]]
            elif not isinstance(error, SwingbyError):
                rows[group[0].place] = _failed(error)
    return found
