"""Predicted against observed: a row for every event of learning.

The prediction is made before the run and knows nothing of it; the run is the discrete dynamics
(or the flow) itself, with events found step by step. A row that only one side has is shown with
a gap on the other.
"""

from __future__ import annotations

import functools
import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, cast

import numpy as np
from numpy.typing import ArrayLike

from swingby import moved
from swingby.errors import InvalidInput, SwingbyWarning, named
from swingby.simulate.run import read_steps, run_from
from swingby.simulate.series import turning_points
from swingby.simulate.trajectory import Run
from swingby.theory.initial import Initial, Scaled, initial_state
from swingby.theory.task import SIMTask, as_task
from swingby.verbs import answered
from swingby.verify.comparing.comparison import Comparison, Row
from swingby.verify.comparing.observed import (
    first_matrix,
    observed_run,
    read_trajectory,
    recorded_as,
    require_same_setting,
)
from swingby.verify.network_record import is_record
from swingby.verify.predict import predict_from, read_step, require_provable
from swingby.verify.predicted_events import LEVELS, LOSS_SWING, Event
from swingby.verify.schedule import Schedule

__getattr__ = moved.names(
    __name__,
    "swingby.verify.paper_settings",
    *("figure_settings", "paper_settings", "paper_tables"),
)

_P = ParamSpec("_P")
#: No entry of a positive semidefinite W on its way to I is larger. A "peak" beyond it is a
#: run that diverges, which is its outcome and not an event of learning.
_LARGEST_MINOR = 2.0


def _or_network(function: Callable[_P, Comparison]) -> Callable[_P, Comparison]:
    """`compare` that leaves layers, and samples X and Y, to :func:`swingby.compare_network`."""

    @functools.wraps(function)
    def verb(*arguments: Any, **options: Any) -> Any:
        is_layers = map(is_record, (*arguments[:1], options.get("observed")))
        if not {"X", "Y"}.isdisjoint(options) or any(is_layers):
            from swingby.verify.compare_network import compare_trajectory

            return compare_trajectory(*arguments, **options)
        return function(*arguments, **options)

    return cast("Callable[_P, Comparison]", verb)


@answered
@_or_network
@named
def compare(
    task: SIMTask | Sequence[Any],
    W0: ArrayLike | Scaled | Initial | None = None,
    eta: Any = None,
    *,
    dynamics: str = "gd",
    steps: int | Sequence[int] | None = None,
    record: Any = None,
    edition: str = "printed",
    title: str = "",
    U0: ArrayLike | Scaled | None = None,
    observed: Any = None,
    proved: bool = False,
) -> Comparison:
    """Predict, run, and compare; a recorded trajectory may replace the run.

    Parameters
    ----------
    task, W0, U0, eta, dynamics, edition
        As in :func:`swingby.predict`.
    steps : int, optional
        Default: until the run has converged. With `observed`: its steps, of shape (n,); 0, 1, 2,
        ... by default.
    record : int, str or sequence, optional
        What the run records for pictures; see :func:`swingby.simulate`.
    title : str
    observed : array of shape (n, d, d), DataFrame, path of a .csv or stream, optional
        Recorded W of a network of your own; tables have the columns ``step``, ``w_1_1``, ``w_1_2``,
        ... If you pass no W(0) and the record begins at step 0, its first matrix is W(0). An event
        happens at the first recorded step that shows it. One step of the stated map from a matrix
        must give the next matrix, up to noise.
    proved : bool
        As in :func:`swingby.predict`: adds a column *proved* with half-times that are theorems.

        Layers of a linear network at some steps go to :func:`swingby.compare_network`, as does
        any call with X and Y: ``compare(task, observed=layers, lr=...)``,
        ``compare(observed=layers, X=X, Y=Y, lr=...)``.

    Returns
    -------
    Comparison

    Raises
    ------
    InvalidInput
        As :func:`swingby.predict` and :func:`swingby.simulate`. Also if `observed` follows another
        setting exactly; the message names that setting.

    Warns
    -----
    SwingbyWarning
        If `observed` follows another setting more closely. The table repeats the warning.

    Examples
    --------
    >>> task = SIMTask.from_signal([4, 1])
    >>> table = compare(task, [[2e-6, 1e-6], [1e-6, 2e-6]], eta=0.01, dynamics="gd")
    >>> table.largest_error < 0.01
    True
    >>> run = table.run
    >>> compare(task, eta=0.01, dynamics="gd", observed=run.W, steps=run.steps).largest_error < 0.05
    True
    """
    task = as_task(task)
    if observed is not None:
        if record is not None:
            raise InvalidInput("record", record, "must not be given together with observed")
        recording = read_trajectory(observed, steps, task)
    elif steps is not None and not isinstance(steps, (int, str)) and np.ndim(steps):
        raise InvalidInput("steps", steps, "must be one number, or be given with observed")
    rate = read_step(eta, task, dynamics, edition)
    notes: tuple[str, ...] = ()
    is_own = observed is not None and W0 is U0 is None and recording.steps[0] == 0
    if is_own:
        W0, notes = first_matrix(recording, dynamics)
    initial = initial_state(W0, U0, task.dim)
    initial.require_psd(dynamics)
    if observed is not None:
        if isinstance(observed, Run):
            require_same_setting(observed, task, rate, dynamics)
        notes += recorded_as(recording, initial, task, rate, dynamics, is_own=is_own)
        for note in notes:
            warnings.warn(note, SwingbyWarning, stacklevel=5)
    if proved:
        require_provable(dynamics)
    schedule = predict_from(task, initial, rate, dynamics, edition, proved=proved)
    if observed is not None:
        run = observed_run(task, recording, rate, dynamics)
    else:
        run = run_from(task, initial, rate, read_steps(steps), dynamics, record)
    return Comparison(schedule, run, _rows(schedule, run), title, notes)


def _rows(schedule: Schedule, run: Run) -> tuple[Row, ...]:
    observed_times = _observed_events(run)
    turns = [event for event in schedule.events if event.event.startswith("loss")]
    pairs = [
        (event, observed_times.get((event.entry, event.event), math.nan))
        for event in schedule.events
        if event not in turns
    ]
    reached = [event for event in turns if event.time <= run.last_step]
    pairs[-1:-1] = pair_turning_points(reached, _observed_turning_points(run))
    return tuple(
        Row(
            prediction.label,
            prediction.event,
            prediction.time,
            step,
            prediction.lower,
            prediction.upper,
            prediction.error,
            prediction.closed_form,
            schedule.state_of(prediction),
            schedule.proved_text(prediction),
        )
        for prediction, step in pairs
    )


def _observed_events(run: Run) -> dict[tuple[tuple[int, int], str], float]:
    """The run's own numbers for predicted events, by entry and event."""
    observations = {((-1, -1), "end"): math.nan if run.end is None else float(run.end)}
    for name, level in LEVELS.items():
        for k, time in enumerate(run.first_reach(level).tolist()):
            # A concept with no signal that was not learned is observed as never.
            never = math.isnan(time) and run.task.exact_signal[k] == 0
            observations[(k, k), name] = math.inf if never else time
    for peak in run.peaks:
        # The largest entry so far, at the last step, is no peak yet.
        if abs(peak.value) > _LARGEST_MINOR or peak.step == run.last_step:
            continue
        suppressed = math.nan if peak.suppressed is None else float(peak.suppressed)
        entry = (peak.i, peak.j)
        observations |= {
            (entry, "peak"): float(peak.step),
            (entry, "peak height"): abs(peak.value),
            (entry, "suppressed"): suppressed,
        }
    return observations


def _observed_turning_points(run: Run) -> list[tuple[float, str]]:
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

    Minima and maxima alternate on both sides, so the pairing is a shift of one series; the shift
    with the smallest total distance in log time is taken, an event without a partner counting 1.

    `predicted`: ``loss min`` and ``loss max``, by time.
    `observed`: by step.
    Returns the observed step is nan where only a prediction exists; the predicted time is nan where
    only an observation does.
    """

    def shifted(by: int) -> list[tuple[Event | None, tuple[float, str] | None]]:
        before_predicted, before_observed = [None] * max(by, 0), [None] * max(-by, 0)
        return list(
            itertools.zip_longest([*before_predicted, *predicted], [*before_observed, *observed])
        )

    def cost(pairs: list[tuple[Event | None, tuple[float, str] | None]]) -> float:
        total = 0.0
        for event, point in pairs:
            if event is None or point is None:
                total += 1.0
            elif event.event != f"loss {point[1]}":
                return math.inf
            else:
                total += abs(math.log(max(event.time, 1) / max(point[0], 1)))
        return total

    shifts = range(-len(predicted), len(observed) + 1)
    return [
        (
            event or Event((-1, -1), f"loss {point[1] if point else ''}", math.nan),
            point[0] if point else math.nan,
        )
        for event, point in min(map(shifted, shifts), key=cost)
    ]
