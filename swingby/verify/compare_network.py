"""Recorded weights of a linear network against its law, from the first record on."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from swingby.errors import InvalidInput, SwingbyWarning, named
from swingby.theory import numbers
from swingby.theory.law.descent_law import HALF
from swingby.theory.numbers import Floats, Integers
from swingby.theory.task import SIMTask
from swingby.theory.verdict import Verdict
from swingby.verify.comparing.network_comparison import ModeRow, NetworkComparison
from swingby.verify.comparing.network_motion import require_network_motion
from swingby.verify.layer_order import axes_of, shape_of
from swingby.verify.network_input import is_module, read_weights
from swingby.verify.network_record import (
    Records,
    is_record,
    products_of,
    read_marks,
    read_records,
)
from swingby.verify.network_schedule import NetworkSchedule
from swingby.verify.predict_network import GRADIENTS, predict_network

#: The start and the first product of a run are the same to this share.
_SAME_START = 1e-2


@named
def compare_network(
    weights: Any,
    task: SIMTask | Sequence[Any] | None = None,
    *,
    X: ArrayLike | None = None,
    Y: ArrayLike | None = None,
    lr: Any,
    momentum: Any = 0,
    nesterov: bool = False,
    weight_decay: Any = 0,
    loss: str = "half",
    batch: int | None = None,
    replacement: bool = False,
    budget: int = GRADIENTS,
    steps: ArrayLike | None = None,
    every: int | None = None,
    observed: ArrayLike | None = None,
    title: str = "",
) -> NetworkComparison:
    r"""Compare recorded weights of a linear network with the prediction from the first record.

    A mode is learned between two recorded steps: the last with :math:`a_k < 1/2` and the first
    with :math:`a_k \ge 1/2`. The prediction holds if its error bar contains a step between them.

    Parameters
    ----------
    weights : sequence, dict, or path
        The layers at n steps; the prediction begins from the first. Either a sequence with one
        entry per step: a list of layer matrices as for :func:`predict_network`, a state dict, a
        module of torch, or a file. Or one stack of shape (n, outputs, inputs) per layer: in a list,
        a dict by name, or a file. Files are .safetensors, or .npz of plain arrays; a file of stacks
        may also hold ``steps``. Named layers are ordered by the numbers in their names. With
        `observed`: only the layers at step 0.
    task, X, Y, lr, momentum, nesterov, weight_decay, loss, batch, replacement, budget
        As in :func:`predict_network`.
    steps : array-like of shape (n,), optional
        The steps of the records; 0, 1, 2, ... by default.
    every : int, optional
        In place of `steps`: number of steps between two records, from step 0 on.
    observed : array-like of shape (n, q, p), optional
        :math:`W = W_L \cdots W_1` at the steps, if layers were not recorded. It need not be
        symmetric. Products alone do not determine their path; the initial layers do.
    title : str

    Returns
    -------
    NetworkComparison
        ``rows``, ``half_times``, ``largest_error``, ``verdict``; ``schedule``; as table, frame and
        picture.

    Raises
    ------
    InvalidInput
        As :func:`predict_network`. Also for records of other shapes or not finite; for momentum
        with a first step that is not 0; and if the weights are off by 5 % of their path and agree
        with another lr, loss, momentum, decay or steps. The message then says what to type.

    Warns
    -----
    SwingbyWarning
        If the weights do not follow the stated training. The table repeats the warning.

    References
    ----------
    As :func:`predict_network`.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(100, 4))
    >>> Y = X @ np.diag([3, 2, 1, 0.5])[:, :3]
    >>> W1, W2 = 0.01 * rng.normal(size=(5, 4)), 0.01 * rng.normal(size=(3, 5))
    >>> records = []
    >>> for step in range(401):
    ...     if step % 20 == 0:
    ...         records.append([W1, W2])
    ...     rest = (X @ W1.T @ W2.T - Y).T @ X / 100
    ...     W1, W2 = W1 - 0.02 * W2.T @ rest, W2 - 0.02 * rest @ W1.T
    >>> table = compare_network(records, X=X, Y=Y, lr=0.02, every=20)
    >>> [(row.predicted, row.after, row.by) for row in table.rows], str(table.verdict)
    ([(101.0, 100.0, 120.0), (153.0, 140.0, 160.0), (263.0, 260.0, 280.0)], 'holds')
    """
    W = None if observed is None else numbers.real_array(observed, "observed")
    if W is None:
        records = read_records(weights, next(iter(shape_of(steps)), None))
    elif W.ndim == 3:
        records = Records([read_weights(weights)] * len(W))
    else:
        words = "must be W = W_L ... W_1 at steps, of shape (n, outputs, inputs)"
        raise InvalidInput("observed", f"shape {W.shape}", words)
    if W is None and len(records.layers) < 2:
        raise InvalidInput("weights", "one record", "must be recorded at two steps or more")
    marks = read_marks(records, steps, every)
    if numbers.exact(momentum, "momentum") and marks[0] > 0 and W is None:
        words = "must begin at 0 with momentum: weights do not determine its velocity"
        raise InvalidInput("steps", f"a first record at {marks[0]}", words)
    schedule = predict_network(
        records.layers[0],
        task,
        X=X,
        Y=Y,
        lr=lr,
        momentum=momentum,
        nesterov=nesterov,
        weight_decay=weight_decay,
        loss=loss,
        batch=batch,
        replacement=replacement,
        budget=budget,
    )
    if W is None:
        products = products_of(records.layers, marks)
    else:
        products, marks = _with_start(schedule, W, marks)
    size = schedule.batch or (1 if X is None else np.shape(X)[0])
    dated = steps is not None or every is not None or records.steps is not None
    shortest = max(map(numbers.spacing, (*records.layers[0], observed)))
    notes = require_network_motion(schedule, products, marks, size, dated=dated, spacing=shortest)
    for note in notes:
        warnings.warn(note, SwingbyWarning, stacklevel=3)
    levels = _levels(schedule, products)
    rows = [_row(schedule, levels[:, k], marks, k) for k in range(levels.shape[1])]
    if any(row.verdict is Verdict.FAILS for row in rows):
        above = _levels(schedule, schedule.evaluate(marks - marks[0])) >= HALF
        by = np.where(above.any(axis=0), marks[above.argmax(axis=0)], np.inf)
        lost = [row.verdict is Verdict.FAILS and row.by == by[row.mode] for row in rows]
        rows = [replace(row, lost_between=gone) for row, gone in zip(rows, lost, strict=True)]
    return NetworkComparison(schedule, marks, levels, tuple(rows), title, notes)


def _levels(schedule: NetworkSchedule, products: Floats) -> Floats:
    """a_k of each mode, and of a task the diagonal of W, of W (n, q, p): shape (n, m)."""
    if schedule.task is None:
        return schedule.modes.levels(products)
    return np.diagonal(products, axis1=1, axis2=2).copy()


def _with_start(schedule: NetworkSchedule, W: Floats, marks: Integers) -> tuple[Floats, Integers]:
    """Products and steps from 0 on, with that of the layers in front where it was not recorded."""
    start = schedule.evaluate([0])
    if W.shape[1:] != start.shape[1:]:
        words = f"must have the shape (n, {start.shape[1]}, {start.shape[2]}), that of W_L ... W_1"
        raise InvalidInput("observed", f"shape {W.shape}", words)
    if marks[0] > 0:
        return np.concatenate([start, W]), np.append(0, marks)
    if np.linalg.norm(W[0] - start[0]) > _SAME_START * np.linalg.norm(start[0]):
        words = "must begin with the product of the layers, weights[-1] @ ... @ weights[0]"
        raise InvalidInput("observed", "another first matrix", words)
    return W, marks


def _row(schedule: NetworkSchedule, levels: Floats, steps: Integers, k: int) -> ModeRow:
    """A mode, with the recorded steps between which its level reached 1/2."""
    begin, last, above = float(steps[0]), float(steps[-1]), np.flatnonzero(levels >= HALF)
    after, by = (last, math.inf) if not len(above) else (begin, begin)
    if len(above) and above[0] > 0:
        after, by = map(float, steps[above[0] - 1 : above[0] + 1])
    time, error = float(schedule.half_times[k]), float(schedule.error[k])
    low = high = time
    if math.isfinite(time) and time > 0:
        ends = schedule.crossing[k] + np.array([-error, error])
        low, high = map(float, np.ceil(ends).clip(0))
    times = time + begin, low + begin, high + begin
    return ModeRow(k, float(schedule.explained[k]), *times, after, by, last)


def compare_trajectory(
    first: Any = None, /, *others: Any, observed: Any = None, **training: Any
) -> NetworkComparison:
    """What :func:`swingby.compare` does with layers.

    `first`: the task, if `observed` are its layers; or the layers themselves, or of the start.
    """
    if others:
        words = "must not be given: the prediction begins with the first layers"
        raise InvalidInput("W0", others[0], words)
    is_task = isinstance(first, SIMTask) or (axes_of(first) == 1 and not is_record(first))
    if first is None or (is_task and not is_module(first)):
        return compare_network(observed, first, **training)
    return compare_network(first, observed=observed, **training)
