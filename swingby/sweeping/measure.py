"""What is measured at a point: the only place of a sweep that computes."""

from __future__ import annotations

import contextlib
import functools
import threading
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import SwingbyWarning
from swingby.sweeping import labels
from swingby.sweeping.draw import initial
from swingby.sweeping.labels import Law
from swingby.sweeping.point import Point
from swingby.sweeping.together import (
    End,
    Given,
    Swing,
    foresee_together,
    observe_together,
    predict_together,
)
from swingby.theory.task import SIMTask

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Numbers that every measured point has.
NUMBERS = (
    "margin",
    "smallest_pivot",
    "predicted_descents",
    "swing_margin",
    "predicted_transient",
    "descents",
    "transient",
    "last_step",
)
#: Words that every measured point has.
WORDS = ("predicted", "observed", "outcome")
#: One number, or truth value, per concept.
VECTORS = ("signal", "predicted_half_times", "error", "half_times", "trapped", "undecided")
#: Concepts, counted from 1, in the order in which they are learned.
ORDERS = ("predicted_order", "order")


@dataclass(frozen=True)
class Row:
    """What is known of a point after it was measured.

    Parameters
    ----------
    results : dict or None
        None where measuring failed. Numbers are finite floats, ints, None for "not at all" and
        the text ``"inf"`` for infinity:

        - ``signal``: a, per concept;
        - ``predicted_half_times``, ``error``: per concept, in steps, from the stage law;
        - ``trapped``, ``undecided``: per concept, the answer of the law;
        - ``predicted_order``, ``order``: concepts, counted from 1, in the order of learning;
        - ``half_times``: per concept, the observed step;
        - ``outcome``: :class:`swingby.simulate.outcome.Outcome`;
        - ``last_step``: of the run; runs side by side are looked at every 256 steps;
        - ``descents``: how often the test loss descends by 1e-3 of its initial value;
        - ``transient``: largest |w_ij|, i and j different, along the run: the size of the swing;
        - ``predicted_descents``, ``predicted_transient``, ``swing_margin``: see
          :class:`swingby.verify.predict_swing.BatchSwing`; None where undecided;
        - ``predicted``, ``observed``: :class:`swingby.sweeping.labels.Label`;
        - ``margin``, ``smallest_pivot``: see :mod:`swingby.sweeping.labels`.
    reason : str or None
        Where measuring failed: type and message of the exception.
    arrays : dict of ndarray, or None
        ``steps`` and ``W`` where the point asks for a record.
    """

    results: dict[str, Any] | None
    reason: str | None = None
    arrays: dict[str, NDArray[Any]] | None = None


def measure(points: Sequence[Point]) -> list[Row]:
    """Predict and run every point, side by side where the dynamics allow it.

    Returns
    -------
    list of Row
        In the order of the points. A row depends on its point alone, bit for bit: not on the
        other points, on their order, or on how a sweep was split. A point that raises gives a row
        with the reason and stops nothing.

    Examples
    --------
    >>> point = Point(("2", "1"), None, None, "1e-3", 2, 0, "0.01", "flow")
    >>> row = measure([point])[0]
    >>> row.results["predicted"], row.results["observed"], row.results["half_times"]
    ('in_order', 'in_order', [162, 590])
    """
    with _quiet():
        rows: list[Row | None] = [None] * len(points)
        given: list[Given] = []
        for place, point in enumerate(points):
            try:
                given.append(Given(place, point, task_of(point), initial(point)))
            except Exception as error:  # whatever it is, the other points go on
                rows[place] = _failed(error)
        laws, ends = predict_together(given), observe_together(given)
        swings = foresee_together(given)
        for one in given:
            try:
                rows[one.place] = _measured(
                    one, laws.get(one.place), swings.get(one.place), ends.get(one.place)
                )
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


def _measured(given: Given, law: Law | None, swing: Swing | None, end: End | None) -> Row:
    from swingby.simulate.run import simulate
    from swingby.verify.predict import predict

    point, arrays = given.point, None
    if law is None:
        schedule = predict(given.task, given.W0, eta=point.eta, dynamics=point.dynamics)
        law = labels.law_of(schedule)
    if end is None:
        run = simulate(
            given.task,
            given.W0,
            eta=point.eta,
            steps=point.steps,
            dynamics=point.dynamics,
            record="none" if point.record is None else point.record,
        )
        end = End.of_run(run)
        arrays = None if point.record is None else {"steps": run.steps, "W": run.W}
    results = {**_predicted(law), **_foreseen(swing), **_observed(law, end)}
    return Row(results, arrays=arrays)


def task_of(point: Point) -> SIMTask:
    """The task of a point."""
    return _task(point.signal, point.mu, point.sigma)


@functools.lru_cache(1000)
def _task(
    signal: tuple[str, ...] | None, mu: tuple[str, ...] | None, sigma: tuple[str, ...] | None
) -> SIMTask:
    if signal is not None:
        return SIMTask.from_signal(signal)
    return SIMTask(mu or (), sigma or ())


def _predicted(law: Law) -> dict[str, Any]:
    return {
        "signal": [float(a) for a in law.signal],
        "predicted_half_times": _plain(law.half_times),
        "error": _plain(law.error),
        "trapped": law.trapped.tolist(),
        "undecided": law.undecided.tolist(),
        "predicted_order": labels.learning_order(law.half_times),
        "predicted": str(labels.predicted_label(law)),
        "margin": _number(labels.margin(law)),
        "smallest_pivot": _number(labels.smallest_pivot(law)),
    }


def _foreseen(swing: Swing | None) -> dict[str, Any]:
    if swing is None:
        return dict.fromkeys(("predicted_descents", "swing_margin", "predicted_transient"))
    return {
        "predicted_descents": swing.descents,
        "swing_margin": _number(swing.margin),
        "predicted_transient": _number(swing.transient),
    }


def _observed(law: Law, end: End) -> dict[str, Any]:
    return {
        "half_times": _plain(end.half_times),
        "order": labels.learning_order(end.half_times),
        "outcome": end.outcome,
        "observed": str(labels.observed_label(end.outcome, law.signal, end.half_times)),
        "last_step": end.last_step,
        "descents": end.descents,
        "transient": _number(end.transient),
    }


def _plain(values: NDArray[np.float64]) -> list[float | int | str | None]:
    return [_number(value) for value in values.tolist()]


def _number(value: float) -> float | int | str | None:
    """A number as JSON has it: whole ones short, nan as None, infinity as text."""
    if value != value:
        return None
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    return int(value) if value == int(value) and abs(value) < 2**53 else float(value)
