"""The recorded trajectory of a network as a run, with its events."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.simulate.observation import END
from swingby.simulate.outcome import Outcome
from swingby.simulate.series import SMALLEST_SWING, Peak, turning_points
from swingby.simulate.state import LEVELS
from swingby.simulate.trajectory import Run
from swingby.theory import numbers
from swingby.theory.initial import initial_matrix
from swingby.theory.numbers import Floats, Integers
from swingby.theory.task import SIMTask


def read_trajectory(observed: Any, steps: Any, task: SIMTask) -> tuple[Floats, Integers]:
    """W at recorded steps (n, d, d), and the steps (n,).

    `observed`: a run, arrays of any library, or a frame or .csv file with the columns ``step`` and
    ``w_1_1``, ``w_1_2``, ... (i <= j), as :meth:`swingby.Run.to_frame` has them. `steps`: of the
    rows of an array; 0, 1, 2, ... by default.
    """
    if isinstance(observed, Run):
        observed, steps = observed.W, observed.steps
    if isinstance(observed, (str, Path)) or hasattr(observed, "columns"):
        if steps is not None:
            raise InvalidInput("steps", steps, "must not be given: the table has a column step")
        observed, steps = _from_table(observed, task.dim)
    W = numbers.real_array(observed, "observed")
    if W.ndim != 3 or W.shape[1:] != (task.dim, task.dim):
        raise InvalidInput("observed", f"shape {W.shape}", f"must be (n, {task.dim}, {task.dim})")
    marks = np.arange(len(W)) if steps is None else numbers.real_array(steps, "steps")
    if marks.shape != (len(W),):
        raise InvalidInput("steps", f"shape {marks.shape}", f"must have shape ({len(W)},)")
    if (marks != np.floor(marks)).any() or marks[0] < 0 or (np.diff(marks) <= 0).any():
        raise InvalidInput("steps", marks.tolist(), "must be whole and ascend from 0 on")
    asymmetry = np.abs(W - W.transpose(0, 2, 1)).max()
    if asymmetry > 1e-6 * np.abs(W).max():
        raise InvalidInput("observed", f"asymmetric by {asymmetry:.2g}", "must be W = U U^T, (D.1)")
    return (W + W.transpose(0, 2, 1)) / 2, marks.astype(np.int64)


def _from_table(table: Any, d: int) -> tuple[Floats, Any]:
    import pandas as pd

    if not hasattr(table, "columns"):
        try:
            table = pd.read_csv(table)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
            raise InvalidInput("observed", table, f"must be a csv file ({reason})") from None
    W = np.zeros((len(table), d, d))
    for i, j in itertools.combinations_with_replacement(range(d), 2):
        name = f"w_{i + 1}_{j + 1}"
        if name not in table.columns or "step" not in table.columns:
            missing = name if "step" in table.columns else "step"
            raise InvalidInput("observed", missing, "must be a column: step, w_1_1, w_1_2, ...")
        W[:, i, j] = W[:, j, i] = numbers.real_array(table[name], f"observed[{name}]")
    return W, table["step"].to_numpy()


def observed_run(task: SIMTask, W: Floats, steps: Integers, eta: Fraction, dynamics: str) -> Run:
    """A recorded trajectory with the events of a run, each at the first recorded step that has it.

    Between two recorded steps nothing is known: an event is late by less than their distance.
    """
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
        reason=f"a trajectory that was given, at {len(steps)} steps.",
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
