"""simulate_batch: many runs at once, half-times and final W only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swingby.errors import InvalidInput
from swingby.simulate.growth_table import growth_table
from swingby.simulate.missing import missing_concepts
from swingby.simulate.outcome import judge
from swingby.simulate.readout import level_array
from swingby.simulate.run import advance_chunk
from swingby.simulate.state import (
    EXECUTED,
    LEVELS,
    STEP,
    Floats,
    Integers,
    float_matrix,
    make_problem,
    make_record,
    make_state,
)
from swingby.theory import numbers
from swingby.theory.growth import require_dynamics
from swingby.theory.initial import SYMMETRY_TOLERANCE, Initial


@dataclass(frozen=True, eq=False, repr=False)
class BatchRun:
    """The ends of many runs. Made by :func:`simulate_batch`.

    Attributes
    ----------
    half_times : ndarray of shape (..., d)
        Step at which w_kk first is at least 1/2; nan where it never was.
    outcome : ndarray of str, shape (...)
        Values of :class:`swingby.simulate.outcome.Outcome`.
    W : ndarray of shape (..., d, d)
        At the last step.
    last_step, executed_steps : ndarray of int, shape (...)
    """

    half_times: Floats
    outcome: NDArray[np.str_]
    W: Floats
    last_step: Integers
    executed_steps: Integers

    def __iter__(self) -> Iterator[NDArray[Any]]:
        """Unpack as ``half_times, outcome, W = simulate_batch(...)``."""
        yield self.half_times
        yield self.outcome
        yield self.W

    def __repr__(self) -> str:
        names, counts = np.unique(self.outcome, return_counts=True)
        shown = ", ".join(f"{name} {count}" for name, count in zip(names, counts, strict=True))
        return f"<BatchRun {self.outcome.size} runs: {shown}>"


def simulate_batch(
    signal: ArrayLike,
    W0: ArrayLike,
    eta: ArrayLike,
    steps: int = 10_000,
    dynamics: str = "euler",
    *,
    skip: bool = True,
    workers: int = 1,
) -> BatchRun:
    """Run many trajectories; each is exactly what :func:`simulate` gives for it alone.

    Parameters
    ----------
    signal : array_like of shape (..., d)
        The signal a of each run; at least 0. Leading axes broadcast.
    W0 : array_like of shape (..., d, d)
        Symmetric; positive semidefinite for gd and flow.
    eta : array_like of shape (...)
        Step sizes; positive.
    steps : int
        Steps of every run.
    dynamics : {"euler", "gd", "flow"}
    skip : bool
        Jump over steps that are linear to rounding.
    workers : int
        Threads; compiled code runs without the interpreter lock.

    Returns
    -------
    BatchRun
        A run that overflows has the outcome ``"diverged"``; it does not stop the others.

    Raises
    ------
    InvalidInput
        For shapes that do not broadcast, and for values that :func:`simulate` refuses.

    Examples
    --------
    >>> batch = simulate_batch([2.0, 1.0], 1e-3 * np.eye(2), [0.01, 0.02], 1000)
    >>> batch.half_times.tolist()
    [[176.0, 349.0], [90.0, 176.0]]
    """
    signals, matrices, rates, shape = _broadcast(signal, W0, eta)
    count = numbers.whole(steps, "steps", 1)
    threads = numbers.whole(workers, "workers", 1)
    require_dynamics(dynamics)
    total, d = signals.shape
    if dynamics != "euler":
        values = np.linalg.eigvalsh(matrices)
        wrong = values[:, 0] < -1e-12 * np.abs(values).max(axis=1)
        if wrong.any():
            raise InvalidInput(
                f"W0[{int(np.argmax(wrong))}]",
                "this matrix",
                f"must be positive semidefinite for dynamics={dynamics!r}",
                "(D.1)",
            )
    half_times = np.empty((total, d))
    final = np.empty((total, d, d))
    outcome = np.empty(total, dtype="<U16")
    last_step = np.empty(total, dtype=np.int64)
    executed = np.empty(total, dtype=np.int64)
    growth = growth_table(signals, rates, dynamics)

    def one(place: int) -> None:
        initial = Initial(matrices[place], Fraction(1))
        missing = missing_concepts(initial, signals[place])
        kept: dict[str, Any] = {"growth": growth[place]}
        if dynamics == "euler":
            missing &= ~initial.matrix.any(axis=1)
            kept["exempt"] = missing
        else:
            kept["null"] = missing
        problem = make_problem(signals[place], float(rates[place]), dynamics, **kept)
        state = make_state(initial, problem.point)
        record = make_record([], d)
        while advance_chunk(problem, state, record, dynamics, count, skip=skip, rest=False) == 1:
            pass
        half_times[place] = level_array(state)[LEVELS.index(0.5)]
        judgement = judge(problem, state, half_times[place], missing, dynamics, "the steps")
        outcome[place] = str(judgement.outcome)
        final[place] = float_matrix(state)
        last_step[place] = state.counters[STEP]
        executed[place] = state.counters[EXECUTED]

    _for_each(one, total, threads)
    return BatchRun(
        half_times=half_times.reshape(*shape, d),
        outcome=outcome.reshape(shape),
        W=final.reshape(*shape, d, d),
        last_step=last_step.reshape(shape),
        executed_steps=executed.reshape(shape),
    )


def _for_each(action: Callable[[int], None], total: int, threads: int) -> None:
    if threads == 1:
        for place in range(total):
            action(place)
        return
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(action, range(total)):
            pass


def _broadcast(
    signal: ArrayLike, W0: ArrayLike, eta: ArrayLike
) -> tuple[Floats, Floats, Floats, tuple[int, ...]]:
    signals = numbers.real_array(signal, "signal", "Sec. 4")
    matrices = numbers.real_array(W0, "W0", "(D.2)")
    rates = numbers.real_array(eta, "eta", "(D.2)")
    if signals.ndim < 1:
        raise InvalidInput("signal", signal, "must have shape (..., d)", "Sec. 4")
    d = signals.shape[-1]
    if matrices.ndim < 2 or matrices.shape[-2:] != (d, d):
        raise InvalidInput("W0", f"shape {matrices.shape}", f"must have shape (..., {d}, {d})")
    if (signals < 0).any():
        raise InvalidInput("signal", signals.min(), "must not be negative", "Sec. 4")
    if (rates <= 0).any():
        raise InvalidInput("eta", rates.min(), "must be positive", "(D.2)")
    try:
        shape = np.broadcast_shapes(signals.shape[:-1], matrices.shape[:-2], rates.shape)
    except ValueError:
        shapes = f"{signals.shape}, {matrices.shape}, {rates.shape}"
        raise InvalidInput("signal, W0, eta", shapes, "must broadcast") from None
    mirrored = matrices.swapaxes(-1, -2)
    sizes = np.abs(matrices).max(axis=(-2, -1), keepdims=True)
    if (np.abs(matrices - mirrored) > SYMMETRY_TOLERANCE * sizes).any():
        raise InvalidInput("W0", "a matrix", "must be symmetric, as W = U U^T is", "(D.2)")
    if (sizes == 0).any():
        raise InvalidInput("W0", "the zero matrix", "must not be zero", "Assumption D.1")
    symmetric = (matrices + mirrored) / 2
    return (
        np.ascontiguousarray(np.broadcast_to(signals, (*shape, d))).reshape(-1, d),
        np.ascontiguousarray(np.broadcast_to(symmetric, (*shape, d, d))).reshape(-1, d, d),
        np.ascontiguousarray(np.broadcast_to(rates, shape)).reshape(-1),
        shape,
    )
