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
from swingby.theory.input_files import MOST_BYTES, text_of
from swingby.theory.number_lines import NumberLines, number_lines
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
    is_table = hasattr(observed, "columns") or hasattr(observed, "read")
    if is_table or isinstance(observed, (str, Path)):
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
