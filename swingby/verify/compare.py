"""Predicted against observed: one row per event of learning.

The prediction is made before the run and knows nothing of it; the run is the discrete dynamics
(or the flow) itself, with events found step by step. A row that only one side has is shown with
a gap on the other.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from swingby.simulate.events import Peak, turning_points
from swingby.simulate.result import Run
from swingby.simulate.run import simulate
from swingby.theory.task import SIMTask
from swingby.verify.comparison import Comparison, Row
from swingby.verify.curves import LOSS_SWING, SUPPRESSION_LEVEL
from swingby.verify.predict import predict
from swingby.verify.schedule import Event, Schedule

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from swingby.theory.initial import Initial, Scaled


#: No entry of a positive semidefinite W on its way to I is larger. A "peak" beyond it is a
#: run that diverges, which is its outcome and not an event of learning.
LARGEST_MINOR = 2.0


def compare(
    task: SIMTask,
    W0: ArrayLike | Scaled | Initial | None = None,
    *,
    eta: Any,
    dynamics: str = "euler",
    steps: int | None = None,
    record: Any = None,
    edition: str = "printed",
    title: str = "",
    U0: ArrayLike | Scaled | None = None,
) -> Comparison:
    """Predict, run, and put both side by side.

    Parameters
    ----------
    task : SIMTask
    W0 : array of shape (d, d) or Scaled, optional
    eta : number or text
        Step size in the clock of (D.2).
    dynamics : {"euler", "gd", "flow"}
    steps : int, optional
        Default: until the run has converged.
    record : int, str or sequence, optional
        What the run records for pictures; see :func:`swingby.simulate`.
    edition : {"printed", "corrected"}
        Of the lemma windows.
    title : str
    U0 : array of shape (d, m) or Scaled, optional
        Factor of W(0) = U(0) U(0)^T, in place of W0.

    Returns
    -------
    Comparison

    Raises
    ------
    InvalidInput
        As :func:`swingby.predict` and :func:`swingby.simulate`.

    Examples
    --------
    >>> task = SIMTask.from_signal([4, 1])
    >>> table = compare(task, [[2e-6, 1e-6], [1e-6, 2e-6]], eta=0.01, dynamics="gd")
    >>> table.largest_error < 0.01
    True
    """
    schedule = predict(task, W0, U0=U0, eta=eta, dynamics=dynamics, edition=edition)
    run = simulate(task, W0, U0=U0, eta=eta, steps=steps, dynamics=dynamics, record=record)
    return Comparison(schedule, run, _rows(schedule, run), title)


def _rows(schedule: Schedule, run: Run) -> tuple[Row, ...]:
    observed_loss = _observed_loss(run)
    rows = []
    for event in schedule.events:
        if event.event.startswith("loss"):
            continue
        rows.append(_row(event, _observed(event, run)))
    predicted_loss = [event for event in schedule.events if event.event.startswith("loss")]
    reached = [event for event in predicted_loss if event.time <= run.last_step]
    rows[-1:-1] = [_row(event, step) for event, step in pair_turning_points(reached, observed_loss)]
    return tuple(rows)


def _row(event: Event, observed: float) -> Row:
    return Row(
        event.label, event.event, event.time, observed, event.lower, event.upper, event.error
    )


def _observed(event: Event, run: Run) -> float:
    """The run's own number for a predicted event."""
    i, j = event.entry
    if event.event == "half":
        return _never(run, float(run.half_times[i]), i)
    if event.event == f"{SUPPRESSION_LEVEL}":
        return _never(run, float(run.first_reach(SUPPRESSION_LEVEL)[i]), i)
    if event.event == "end":
        return math.nan if run.end is None else float(run.end)
    peak = _peak(run, i, j)
    if abs(peak.value) > LARGEST_MINOR:
        return math.nan
    if event.event == "peak":
        return float(peak.step)
    if event.event == "peak height":
        return abs(peak.value)
    return math.nan if peak.suppressed is None else float(peak.suppressed)


def _peak(run: Run, i: int, j: int) -> Peak:
    return next(peak for peak in run.peaks if (peak.i, peak.j) == (min(i, j), max(i, j)))


def _never(run: Run, time: float, k: int) -> float:
    """A concept with no signal that was not learned is observed as never."""
    return math.inf if math.isnan(time) and run.task.exact_signal[k] == 0 else time


def _observed_loss(run: Run) -> list[tuple[float, str]]:
    """Interior turning points of the test loss with a swing of LOSS_SWING of its start."""
    if not run.extrema:
        return []
    values = [point.value for point in run.extrema]
    swing = LOSS_SWING * float(run.test_loss[0])
    points = turning_points(values, swing, [point.step for point in run.extrema])
    # The last one is where the series ends or has come to rest: nothing confirms it.
    return [(float(point.step), point.kind) for point in points[:-1] if point.step > 0]


def pair_turning_points(
    predicted: list[Event], observed: list[tuple[float, str]]
) -> list[tuple[Event, float]]:
    """Pair turning points in order, minimum with minimum and maximum with maximum.

    Minima and maxima alternate on both sides, so the pairing is a shift by an even number of
    places; the shift with the smallest total distance in log time is taken.

    `predicted`: ``loss min`` and ``loss max``, by time.
    `observed`: by step.
    Returns the observed step is nan where only a prediction exists; the predicted time is nan where
    only an observation does.
    """
    if not predicted and not observed:
        return []

    def cost(shift: int) -> float:
        total = 0.0
        for place, event in enumerate(predicted):
            other = place + shift
            if 0 <= other < len(observed):
                if event.event != f"loss {observed[other][1]}":
                    return math.inf
                total += abs(math.log(max(event.time, 1) / max(observed[other][0], 1)))
            else:
                total += 1.0
        missing = sum(not 0 <= place - shift < len(predicted) for place in range(len(observed)))
        return total + missing

    shifts = range(-len(predicted), len(observed) + 1)
    best = min(shifts, key=cost)
    pairs = []
    for place in range(min(0, -best), max(len(predicted), len(observed) - best)):
        left = predicted[place] if 0 <= place < len(predicted) else None
        right = observed[place + best] if 0 <= place + best < len(observed) else None
        if left is None and right is not None:
            left = Event((-1, -1), f"loss {right[1]}", math.nan)
        if left is not None:
            pairs.append((left, right[0] if right is not None else math.nan))
    return pairs
