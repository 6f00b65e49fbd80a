"""Measurements at the points of a sweep: the stage law, the predicted swing, and the run.

This is the only place of a sweep that computes. Points are measured side by side, in batches of
runs and of predictions. What a batch says of a point does not depend on the other points, not in a
bit. Points that a batch refuses, or that are special, are measured alone.
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
from swingby.lab.sweeps.label import (
    Law,
    margin,
    observed_label,
    predicted_label,
    smallest_pivot,
)
from swingby.lab.sweeps.point import Point, initial, task_of
from swingby.simulate.steps import IN_LANES
from swingby.theory import numbers
from swingby.theory.growth import DYNAMICS
from swingby.theory.initial import Scaled
from swingby.theory.numbers import Floats
from swingby.theory.task import SIMTask

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: What a batch says of a point.
_Answer = TypeVar("_Answer")
#: Largest d of runs in lanes, as in :mod:`swingby.simulate.lanes`.
_LARGEST_RUN = 8
#: From this eta a on, no descents are predicted for steps that are not those of the flow.
_COARSE = Fraction(1, 2)


@dataclass(frozen=True)
class Measurement:
    """The results of a point, or the reason why there are none.

    Results are the columns that docs/sweeps.md describes: numbers, words, lists with one number per
    concept, None for "not at all". `arrays` has ``steps`` and ``W`` where a record is asked for.
    Runs side by side are looked at every 256 steps, which is where their ``last_step`` is.
    """

    results: dict[str, Any] | None
    reason: str | None = None
    arrays: dict[str, NDArray[Any]] | None = None


@dataclass(frozen=True, eq=False)
class _Start:
    """A point with its number among those to be measured, its task and its W(0)."""

    number: int
    point: Point
    task: SIMTask
    W0: Scaled


def measure(points: Sequence[Point]) -> list[Measurement]:
    """Predict and run every point, in the order of the points.

    A row depends on its point alone, bit for bit: not on the other points, on their order, or on
    how a sweep was split. A point that raises gives a row with the reason and stops nothing.

    >>> point = Point(("2", "1"), None, None, "1e-3", 2, 0, "0.01", "flow")
    >>> row = measure([point])[0]
    >>> row.results["predicted"], row.results["observed"], row.results["half_times"]
    ('in_order', 'in_order', [162.0, 590.0])
    """
    with _quiet():
        rows: list[Measurement | None] = [None] * len(points)
        starts: list[_Start] = []
        for number, point in enumerate(points):
            try:
                starts.append(_Start(number, point, task_of(point), initial(point)))
            except Exception as error:  # whatever it is, the other points go on
                rows[number] = _failed(error)
        laws, swings, ends = _laws(starts, rows), _swings(starts, rows), _ends(starts, rows)
        for start in starts:
            k = start.number
            if rows[k] is not None:
                continue
            try:
                rows[k] = _measured(start, laws.get(k), swings.get(k, {}), ends.get(k))
            except Exception as error:
                rows[k] = _failed(error)
    return [row for row in rows if row is not None]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence the warnings of single runs, which help nobody who runs a million.

    Filters belong to the whole process and may be set from one thread only.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SwingbyWarning)
        yield


def _failed(error: Exception) -> Measurement:
    """A row with the error in words; memory that is refused says nothing about the point."""
    if isinstance(error, MemoryError):
        raise error
    text = " ".join(str(error).split())
    return Measurement(None, f"{type(error).__name__}: {text}" if text else type(error).__name__)


def _measured(
    start: _Start, law: Law | None, swing: dict[str, Any], end: dict[str, Any] | None
) -> Measurement:
    point, arrays = start.point, None
    if law is None:
        from swingby.verify.predict import predict

        schedule = predict(start.task, start.W0, eta=point.eta, dynamics=point.dynamics)
        if schedule.stages is None:
            raise TypeError("a schedule of one W(0) expected")
        law = Law.of(start.task, schedule.stages)
    if end is None:
        end, arrays = _run_alone(start)
    times = end["half_times"]
    results = {
        "predicted": str(predicted_label(law)),
        "observed": str(observed_label(end["outcome"], law.signal, times)),
        "margin": margin(law),
        "smallest_pivot": smallest_pivot(law),
        "predicted_half_times": _listed(law.half_times),
        "error": _listed(law.error),
        "trapped": _listed(law.trapped),
        "undecided": _listed(law.undecided),
        **dict.fromkeys(("predicted_descents", "swing_margin", "predicted_transient")),
        **swing,
        **end,
        "half_times": _listed(times),
    }
    undefined = {name for name, value in results.items() if value != value}
    return Measurement(results | dict.fromkeys(undefined), arrays=arrays)


def _listed(values: NDArray[Any]) -> list[float | None]:
    """Numbers of concepts, None for nan."""
    return [None if value != value else float(value) for value in values.tolist()]


def _run_alone(start: _Start) -> tuple[dict[str, Any], dict[str, NDArray[Any]] | None]:
    from swingby.simulate.run import simulate

    point = start.point
    run = simulate(
        start.task,
        start.W0,
        eta=point.eta,
        steps=point.steps,
        dynamics=point.dynamics,
        record="none" if point.record is None else point.record,
    )
    end = {
        "half_times": run.half_times,
        "outcome": str(run.outcome),
        "last_step": int(run.last_step),
        "descents": int(run.descents()),
        "transient": float(max((abs(peak.value) for peak in run.peaks), default=0.0)),
    }
    return end, None if point.record is None else {"steps": run.steps, "W": run.W}


def _ends(starts: list[_Start], rows: list[Measurement | None]) -> dict[int, dict[str, Any]]:
    """Runs of the points that go through the lanes; all others have to run alone."""
    from swingby.simulate.batch import simulate_batch

    def key(start: _Start) -> Hashable:
        point = start.point
        lanes = point.dynamics in IN_LANES and point.dimension <= _LARGEST_RUN
        inside = lanes and point.record is None
        return (point.dimension, point.dynamics, point.steps) if inside else None

    def run(group: list[_Start]) -> list[dict[str, Any]]:
        batch = simulate_batch(
            **_arrays(group),
            steps=group[0].point.steps,
            omega=np.array([start.W0.omega for start in group], dtype=object),
            test_point=np.array([start.task.test_point for start in group]),
        )
        names = ("last_step", "descents", "transient")
        ends = zip(
            *(batch.half_times, map(str, batch.outcome)),
            *(np.asarray(getattr(batch, name)).tolist() for name in names),
            strict=True,
        )
        return [dict(zip(("half_times", "outcome", *names), end, strict=True)) for end in ends]

    return _together(starts, rows, key, run)


def _swings(starts: list[_Start], rows: list[Measurement | None]) -> dict[int, dict[str, Any]]:
    """Descents of the test loss and transients, predicted; without points that it refuses."""
    from swingby.verify.predict_swing import predict_swing_batch

    def key(start: _Start) -> Hashable:
        dynamics, signal = start.point.dynamics, start.task.exact_signal
        if DYNAMICS[dynamics].of and Fraction(start.point.eta) * max(signal) >= _COARSE:
            return None
        return (start.point.dimension, dynamics)

    def predict(group: list[_Start]) -> list[dict[str, Any]]:
        points = np.array([start.task.test_point for start in group])
        batch = predict_swing_batch(
            **_arrays(group), test_point=points, log_scale=_log_scales(group)
        )
        swings = zip(
            *(batch.undecided, batch.descents, batch.swing_margin, batch.transient), strict=True
        )
        return [
            {
                "predicted_descents": None if undecided else int(descents),
                "swing_margin": float(miss),
                "predicted_transient": float(transient),
            }
            for undecided, descents, miss, transient in swings
        ]

    return _together(starts, rows, key, predict)


def _laws(starts: list[_Start], rows: list[Measurement | None]) -> dict[int, Law]:
    """The stage law of all points but those that a batch refuses."""
    from swingby.verify.predict_batch import predict_batch

    def predict(group: list[_Start]) -> list[Law]:
        batch = predict_batch(**_arrays(group), log_scale=_log_scales(group))
        return [Law.of(start.task, batch, number) for number, start in enumerate(group)]

    def key(start: _Start) -> Hashable:
        return start.point.dimension, start.point.dynamics

    return _together(starts, rows, key, predict)


def _arrays(group: list[_Start]) -> dict[str, Any]:
    """The arguments that all batches have."""
    size = functools.cache(lambda text: float(Fraction(text)))
    return {
        "signal": np.array([start.task.signal for start in group]),
        "W0": np.array([start.W0.matrix for start in group]),
        "eta": np.array([size(start.point.eta) for start in group]),
        "dynamics": group[0].point.dynamics,
    }


def _log_scales(group: list[_Start]) -> Floats:
    log_of = functools.cache(numbers.log_of)
    return np.array([log_of(start.W0.omega) for start in group])


def _together(
    starts: list[_Start],
    rows: list[Measurement | None],
    key: Callable[[_Start], Hashable],
    work: Callable[[list[_Start]], list[_Answer]],
) -> dict[int, _Answer]:
    """The answers of `work` to the points of each key together, by number.

    Points without a key, and points that a batch refuses, are left out: alone, they say what is
    wrong. A point that breaks a batch of its own has failed.
    """
    groups: dict[Hashable, list[_Start]] = {}
    for start in starts:
        groups.setdefault(key(start), []).append(start)
    groups.pop(None, None)
    waiting, answers = list(groups.values()), dict[int, _Answer]()
    while waiting:
        group = waiting.pop()
        try:
            answers |= zip((start.number for start in group), work(group), strict=True)
        except MemoryError:
            raise
        except Exception as error:
            if middle := len(group) // 2:
                waiting += [group[:middle], group[middle:]]
            elif not isinstance(error, SwingbyError):
                rows[group[0].number] = _failed(error)
    return answers
