"""What is measured at a point: the only place of a sweep that computes."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import SwingbyWarning
from swingby.sweeping import labels
from swingby.sweeping.draw import initial
from swingby.sweeping.point import Point
from swingby.theory.task import SIMTask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from swingby.simulate.result import Run
    from swingby.verify.schedule import Schedule

#: Numbers that every measured point has.
NUMBERS = ("margin", "smallest_pivot", "transient", "descents", "last_step")
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
        - ``last_step``: of the run;
        - ``descents``: how often the test loss descends by 1e-3 of its initial value;
        - ``transient``: largest |w_ij|, i and j different, along the run: the size of the swing;
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
    """Predict and run every point.

    Parameters
    ----------
    points : sequence of Point

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
        return [_guarded(point) for point in points]


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


def _guarded(point: Point) -> Row:
    try:
        return _measured(point)
    except Exception as error:  # whatever it is, the other points go on
        text = " ".join(str(error).split())
        return Row(None, f"{type(error).__name__}: {text}" if text else type(error).__name__)


def _measured(point: Point) -> Row:
    from swingby.simulate.run import simulate
    from swingby.verify.predict import predict

    task = task_of(point)
    W0 = initial(point)
    schedule = predict(task, W0, eta=point.eta, dynamics=point.dynamics)
    run = simulate(
        task,
        W0,
        eta=point.eta,
        steps=point.steps,
        dynamics=point.dynamics,
        record="none" if point.record is None else point.record,
    )
    arrays = None if point.record is None else {"steps": run.steps, "W": run.W}
    return Row({**_predicted(schedule), **_observed(run)}, arrays=arrays)


def task_of(point: Point) -> SIMTask:
    """The task of a point.

    Parameters
    ----------
    point : Point

    Returns
    -------
    SIMTask
    """
    if point.signal is not None:
        return SIMTask.from_signal(point.signal)
    return SIMTask(point.mu or (), point.sigma or ())


def _predicted(schedule: Schedule) -> dict[str, Any]:
    stages = schedule.stages
    undecided = schedule.trapped if stages is None else stages.undecided
    return {
        "signal": [float(a) for a in schedule.task.exact_signal],
        "predicted_half_times": _plain(schedule.half_times),
        "error": _plain(schedule.error),
        "trapped": [bool(one) for one in schedule.trapped],
        "undecided": [bool(one) for one in undecided],
        "predicted_order": labels.learning_order(schedule.half_times),
        "predicted": str(labels.predicted_label(schedule)),
        "margin": _number(labels.margin(schedule)),
        "smallest_pivot": _number(labels.smallest_pivot(schedule)),
    }


def _observed(run: Run) -> dict[str, Any]:
    return {
        "half_times": _plain(run.half_times),
        "order": labels.learning_order(run.half_times),
        "outcome": str(run.outcome),
        "observed": str(labels.observed_label(run)),
        "last_step": run.last_step,
        "descents": run.descents(),
        "transient": _number(max((abs(peak.value) for peak in run.peaks), default=0.0)),
    }


def _plain(values: NDArray[np.float64]) -> list[float | int | str | None]:
    return [_number(float(value)) for value in values]


def _number(value: float) -> float | int | str | None:
    """A number as JSON has it: whole ones short, nan as None, infinity as text."""
    if np.isnan(value):
        return None
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    return int(value) if value == int(value) and abs(value) < 2**53 else float(value)
