"""The recorded trajectory of a network as a run, with its events."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from swingby.errors import InvalidInput
from swingby.report.number_text import as_typed, python_text
from swingby.simulate.observation import END
from swingby.simulate.outcome import Outcome
from swingby.simulate.series import SMALLEST_SWING, Peak, turning_points
from swingby.simulate.state import LEVELS
from swingby.simulate.trajectory import Run
from swingby.theory import numbers
from swingby.theory.growth import DYNAMICS
from swingby.theory.initial import Initial, initial_matrix
from swingby.theory.input_files import MOST_BYTES, text_of
from swingby.theory.number_lines import NumberLines, number_lines
from swingby.theory.numbers import Floats, Integers
from swingby.theory.task import SIMTask
from swingby.verify.comparing.motion import require_motion, require_start

#: Asymmetry of W, as a share of its largest entry, that noise in U U^T or W2 W1 leaves.
_MOST_ASYMMETRIC = 0.2
#: The largest eigenvalue below 0 of a first matrix that its positive semidefinite part stands for,
#: and that rounding for print leaves, as shares of the largest.
_MOST_NEGATIVE, _ROUNDED = 0.2, 1e-3


class Recording(NamedTuple):
    """W (n, d, d), made symmetric; its asymmetry beyond rounding; and its steps (n,).

    by_row: the steps count its rows, as nothing else was said.
    """

    W: Floats
    asymmetry: float
    steps: Integers
    by_row: bool


def read_trajectory(observed: Any, steps: Any, task: SIMTask) -> Recording:
    """W at recorded steps.

    `observed`: a run, arrays of any library, or a frame or .csv file with the columns ``step`` and
    ``w_1_1``, ``w_1_2``, ... (i <= j), as :meth:`swingby.Run.to_frame` has them. `steps`: of the
    rows of an array; 0, 1, 2, ... by default.
    """
    if isinstance(observed, Run):
        if steps is not None:
            raise InvalidInput("steps", steps, "must not be given: the run has its steps")
        observed, steps = observed.W, observed.steps
    is_table = hasattr(observed, "columns") or hasattr(observed, "read")
    if is_table or isinstance(observed, (str, Path)):
        if steps is not None:
            raise InvalidInput("steps", steps, "must not be given: the table has a column step")
        observed, steps = _from_table(observed, task.dim)
    W = numbers.real_array(observed, "observed")
    if W.ndim != 3 or W.shape[1:] != (task.dim, task.dim):
        requirement = f"must be (n, {task.dim}, {task.dim}){_reshaped(W.shape, task.dim)}"
        raise InvalidInput("observed", f"shape {W.shape}", requirement)
    marks = np.arange(len(W)) if steps is None else numbers.ascending(steps, "steps", len(W))
    symmetric, asymmetry = _symmetric(W, 64 * numbers.spacing(observed))
    return Recording(symmetric, asymmetry, marks, steps is None)


def _reshaped(shape: tuple[int, ...], d: int) -> str:
    """What to type where an array of this shape holds W in another way."""
    if len(shape) == 2 and shape[1] == d * d:
        return f": give observed.reshape(-1, {d}, {d})"
    if len(shape) == 3 and shape[:2] == (d, d):
        return ": give numpy.moveaxis(observed, -1, 0)"
    if len(shape) == 3 and shape[::2] == (d, d):
        return ": give numpy.moveaxis(observed, 1, 0)"
    if len(shape) == 3 and shape[1] == d:
        return ": of U give U @ U.transpose(0, 2, 1)"
    if len(shape) == 4 and shape[2:] == (d, d):
        return ": one network at a time, such as observed[0]"
    return ""


def _symmetric(W: Floats, rounding: float) -> tuple[Floats, float]:
    """The symmetric part of a trajectory, and its asymmetry beyond rounding."""
    apart = np.abs(W - W.transpose(0, 2, 1)).max(axis=(1, 2))
    size = np.abs(W).max(axis=(1, 2))
    asymmetry = float((apart[size > 0] / size[size > 0]).max(initial=0.0))
    if asymmetry > _MOST_ASYMMETRIC:
        got = f"a matrix that is asymmetric by {asymmetry:.2g} of its largest entry"
        requirement = "must be W = U U^T: of U give U @ U.transpose(0, 2, 1); of W2 W1 "
        requirement += "(W + W.transpose(0, 2, 1)) / 2, or, by its own law, "
        requirement += "swingby.compare_network([W1, W2], task, lr=eta, observed=W) from its start"
        turned = np.moveaxis(W, -1, 0)
        if len(W) == W.shape[1] and np.allclose(turned, turned.transpose(0, 2, 1), 1e-6, 0):
            requirement = "must have time first: give numpy.moveaxis(observed, -1, 0)"
        raise InvalidInput("observed", got, requirement, "(D.1)")
    return (W + W.transpose(0, 2, 1)) / 2, asymmetry if asymmetry > max(rounding, 1e-6) else 0.0


def first_matrix(recording: Recording, dynamics: str) -> tuple[Floats, tuple[str, ...]]:
    """The W(0) that a trajectory from step 0 begins with, and what to say of it.

    W2 W1, and rounding, give eigenvalues below 0 that no U U^T has: they are left out.
    """
    W0 = recording.W[0]
    values, vectors = np.linalg.eigh(W0)
    if not DYNAMICS[dynamics].keeps_psd or values[0] >= -1e-12 * values[-1] or values[-1] <= 0:
        return W0, ()
    share = float(-values[0] / values[-1])
    if share > _MOST_NEGATIVE:
        got = f"a first matrix with an eigenvalue of {-share:.2g} of the largest"
        requirement = f"must begin as U U^T for dynamics={dynamics!r}: of W2 W1 see "
        requirement += "swingby.compare_network, or give the rows from where W has grown"
        raise InvalidInput("observed", got, requirement, "(D.1)")
    part = (vectors * values.clip(0)) @ vectors.T
    text = (
        f"observed begins with an eigenvalue of {-share:.2g} of the largest, which no U U^T has: "
    )
    text += "the prediction begins with its positive semidefinite part"
    return (part + part.T) / 2, ((text,) if share > _ROUNDED else ())


def recorded_as(
    recording: Recording,
    initial: Initial,
    task: SIMTask,
    eta: Fraction,
    dynamics: str,
    *,
    is_own: bool,
) -> tuple[str, ...]:
    """Warnings about a trajectory that was not recorded as its setting says.

    `is_own`: `initial` is that of the trajectory.
    """
    W, _, steps, by_row = recording
    rates = float(eta) * task.signal
    W0 = initial.matrix * float(initial.scale)
    # No dynamics grows faster than the flow of the largest signal.
    most = numbers.log_of(initial.largest) + 2 * float(rates.max() * steps[0])
    if not W0.any() and W[0].any() and math.log(np.abs(W[0]).max()) > most + 1:
        got = f"a first W that is {np.abs(W[0]).max():.2g} at step {steps[0]}"
        raise InvalidInput("observed", got, "must start from W0: leave out W0, or give steps=")
    turn = task.rotation
    # Of two mistakes that of the motion is named first: it makes the start look wrong too.
    motion = require_motion(
        W, steps, rates, dynamics, by_row=by_row, eta=as_typed(eta), rotation=turn
    )
    if is_own:
        return motion
    return motion + require_start(W0, W, steps, rates, dynamics, by_row=by_row, rotation=turn)


def require_same_setting(run: Run, task: SIMTask, eta: Fraction, dynamics: str) -> None:
    """Refuse a run of another setting."""
    stated = (("dynamics", run.dynamics, dynamics), ("eta", run.eta, eta))
    for name, own, other in stated:
        if own != other:
            text = f'"{own}"' if name == "dynamics" else python_text(run.eta)
            got = f"a run with {name} = {text}"
            raise InvalidInput("observed", got, f"must have that of compare: give {name}={text}")
    if run.task.exact_signal != task.exact_signal:
        got = f"a run of signal {run.task.signal.tolist()}"
        raise InvalidInput("observed", got, "must have the task of compare: give observed.task")


def _from_table(table: Any, d: int) -> tuple[Floats, Any]:
    entries = list(itertools.combinations_with_replacement(range(d), 2))
    names = ["step", *(f"w_{i + 1}_{j + 1}" for i, j in entries)]
    lines = None if hasattr(table, "columns") else _table_file(table)
    for name in names:
        if name not in (table.columns if lines is None else lines.header):
            raise InvalidInput("observed", name, "must be a column: step, w_1_1, w_1_2, ...")
    columns = table if lines is None else dict(zip(names, lines.floats(names).T, strict=True))
    W = np.zeros((len(columns["step"]), d, d))
    for (i, j), name in zip(entries, names[1:], strict=True):
        W[:, i, j] = W[:, j, i] = numbers.real_array(columns[name], f"observed[{name}]")
    return W, np.asarray(columns["step"])


def _table_file(source: Any) -> NumberLines:
    """The columns of a csv file, from its path or from a stream that reads it."""
    is_stream = hasattr(source, "read")
    content = source.read() if is_stream else text_of(source, "observed", "csv file", MOST_BYTES)
    text = content.decode("utf-8-sig") if isinstance(content, bytes) else content
    name = getattr(source, "name", "a stream") if is_stream else source
    return number_lines(text, "observed", name, "csv file", by_name=True)


def observed_run(task: SIMTask, recording: Recording, eta: Fraction, dynamics: str) -> Run:
    """A recorded trajectory with the events of a run, each at the first recorded step that has it.

    Between two recorded steps nothing is known: an event is late by less than their distance.
    """
    W, asymmetry, steps, _ = recording
    d, learned = task.dim, np.asarray(task.signal) > 0
    diagonal = W[:, range(d), range(d)]
    times = {}
    for level in LEVELS:
        above = diagonal >= level
        times[level] = np.where(above.any(axis=0), steps[above.argmax(axis=0)], np.nan)
    peaks = tuple(_peak(W[:, i, j], steps, i, j) for i, j in itertools.combinations(range(d), 2))
    away = np.abs(W - np.eye(d))[:, learned][:, :, learned].max(axis=(1, 2)) > END
    last = int(np.flatnonzero(away)[-1]) + 1 if away.any() else 0
    end = int(steps[last]) if last < len(steps) else None
    apart = int(np.diff(steps).max(initial=1))
    remark = f" up to {apart} apart, by which its times may be late" if apart > 1 else ""
    if asymmetry:
        remark += f", by its symmetric part; W - W^T is up to {asymmetry:.2g} of its largest entry"
    run = Run(
        task=task,
        initial=initial_matrix(W[0], d, argument="observed[0]"),
        eta=eta,
        dynamics=dynamics,
        steps=steps,
        W=W,
        level_times=times,
        peaks=peaks,
        extrema=(),
        extrema_complete=True,
        psd_lost=None,
        end=end,
        last_step=int(steps[-1]),
        outcome=Outcome.STOPPED_EARLY if end is None else Outcome.CONVERGED,
        reason=f"a recorded trajectory, at {len(steps)} steps{remark}.",
        executed_steps=0,
    )
    loss = run.test_loss
    return replace(run, extrema=tuple(turning_points(loss, SMALLEST_SWING * float(loss[0]), steps)))


def _peak(entry: Floats, steps: Integers, i: int, j: int) -> Peak:
    size = np.abs(entry)
    at = int(size.argmax())
    later: Sequence[int] = np.flatnonzero(size[at:] <= size[at] / 2).tolist()
    return Peak(
        i, j, int(steps[at]), float(entry[at]), int(steps[at + later[0]]) if later else None
    )
