"""simulate_batch: many runs at once, half-times and final W only."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swingby.errors import InvalidInput
from swingby.simulate.batch_arguments import Broadcast, broadcast
from swingby.simulate.batch_piece import Piece, run_piece
from swingby.simulate.device import pieces_on, usable_device
from swingby.simulate.state import SMALLEST_SWING, Floats, Integers
from swingby.theory import numbers
from swingby.theory.growth import require_dynamics

#: Runs whose arguments are spread out at a time, by each worker: the memory that a batch needs
#: beside its arguments and results is about 2 kB a run at d = 3.
PIECE = 4096
#: What `BatchRun.outcome` says of runs that were not finished.
NOT_RUN = "not_run"


class Interrupted(KeyboardInterrupt):
    """A batch was interrupted; `batch` holds what was finished.

    Parameters
    ----------
    batch : BatchRun
        Its outcome is ``"not_run"`` for the rest.
    """

    def __init__(self, batch: BatchRun) -> None:
        done = int((batch.outcome != NOT_RUN).sum())
        super().__init__(
            f"interrupted: {done} of {batch.outcome.size} runs are finished, in .batch"
        )
        self.batch = batch


@dataclass(frozen=True, eq=False, repr=False)
class BatchRun:
    r"""The ends of many runs. Made by :func:`simulate_batch`.

    Attributes
    ----------
    half_times : ndarray of shape (..., d)
        Step at which w_kk first is at least 1/2; nan where it never was.
    outcome : ndarray of str, shape (...)
        Values of :class:`swingby.simulate.outcome.Outcome`.
    W : ndarray of shape (..., d, d)
        At the last step.
    last_step, executed_steps : ndarray of int, shape (...)
    descents : ndarray of int, shape (...), or None
        How often the test loss fell by `swing` times its initial value; None without a test point.
    transient : ndarray of shape (...), or None
        The largest \|w_ij\|, i and j different, over all steps: the size of the swing.
    """

    half_times: Floats
    outcome: NDArray[np.str_]
    W: Floats
    last_step: Integers
    executed_steps: Integers
    descents: Integers | None = None
    transient: Floats | None = None

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
    steps: int | None = 10_000,
    dynamics: str = "euler",
    *,
    omega: Any = None,
    test_point: ArrayLike | None = None,
    swing: float = 1e-3,
    skip: bool = True,
    workers: int = 1,
    progress: Callable[[int, int], object] | None = None,
    device: object = None,
) -> BatchRun:
    """Run many trajectories.

    Up to d = 8, euler and gd run in the lanes of the vector unit
    (:mod:`swingby.simulate.lanes`); each trajectory is the one of :func:`simulate` to rounding,
    and the same to the last bit whatever runs beside it. Larger ones, and the flow, run one by
    one and are exactly those of :func:`simulate`.

    Parameters
    ----------
    signal : array_like of shape (..., d)
        The signal a of each run; at least 0. Leading axes broadcast.
    W0 : array_like of shape (..., d, d)
        Symmetric; positive semidefinite for gd and flow.
    eta : array_like of shape (...)
        Step sizes; positive.
    steps : int or None
        Steps of every run. None: each ends once W no longer changes, looked at every 256 steps,
        and at the latest where :func:`simulate` without a number of steps does.
    dynamics : {"euler", "gd", "flow"}
    omega : number, text, or array of them of shape (...), optional
        W(0) is ``omega * W0``; may lie below the float range (``"1e-400"``).
    test_point : array_like of shape (..., d), optional
        Asks for `descents` and `transient`: the point x of the test loss ``1/2 |W x - x|^2``.
    swing : float
        By what fraction of its initial value the test loss has to fall for a descent, and to rise
        between two of them; at least 1e-9.
    skip : bool
        Jump over steps that are linear to rounding.
    workers : int
        Threads; compiled code runs without the interpreter lock.
    progress : callable, optional
        Called with the number of finished runs and of all.
    device : {"cpu", "cuda", "cuda:1"} or torch.device, optional
        Run euler or gd, of any d, as tensors of torch there (extra ``torch``): the same results
        to rounding, piece after piece whatever `workers` is. Default: compiled code, as above.

    Returns
    -------
    BatchRun
        A run that overflows has the outcome ``"diverged"``; it does not stop the others. That W is
        not positive semidefinite any more is noticed under euler every 256 steps.

    Raises
    ------
    InvalidInput
        For shapes that do not broadcast, and for values that :func:`simulate` refuses; for a
        device that is not there, and for the flow on a device.
    MissingExtra
        If a device is given and torch is not installed.
    Interrupted
        On Ctrl-C, within a fraction of a second; its ``batch`` has what was finished.

    Examples
    --------
    >>> batch = simulate_batch([2.0, 1.0], 1e-3 * np.eye(2), [0.01, 0.02], 1000)
    >>> batch.half_times.tolist()
    [[176.0, 349.0], [90.0, 176.0]]
    """
    require_dynamics(dynamics)
    asked = broadcast(signal, W0, eta, dynamics, omega, test_point)
    least = 0.0 if test_point is None else _swing(swing)
    count = None if steps is None else numbers.whole(steps, "steps", 1, most=2**53)
    if count is None and not (asked.signal > 0).any(axis=-1).all():
        raise InvalidInput("steps", None, "must be given where no signal is positive")
    threads = numbers.whole(workers, "workers", 1)
    total, d = asked.total, asked.signal.shape[-1]
    kept = BatchRun(
        half_times=np.full((total, d), np.nan),
        outcome=np.full(total, NOT_RUN, dtype="<U16"),
        W=np.full((total, d, d), np.nan),
        last_step=np.zeros(total, dtype=np.int64),
        executed_steps=np.zeros(total, dtype=np.int64),
        descents=None if test_point is None else np.zeros(total, dtype=np.int64),
        transient=None if test_point is None else np.full(total, np.nan),
    )

    def keep(first: int, last: int, piece: Piece) -> None:
        kept.half_times[first:last] = piece.half_times
        kept.outcome[first:last] = piece.outcome
        kept.W[first:last] = piece.W
        kept.last_step[first:last] = piece.last_step
        kept.executed_steps[first:last] = piece.executed
        if kept.descents is not None and kept.transient is not None:
            kept.descents[first:last] = piece.descents
            kept.transient[first:last] = piece.transient
        if progress is not None:
            progress(int((kept.outcome != NOT_RUN).sum()), total)

    halt = threading.Event()
    through: Callable[..., Piece] = run_piece
    pieces = _pieces(total, threads)
    if device is not None:
        place = usable_device(device)[1]
        if dynamics == "flow":
            requirement = "must be euler or gd on a device; without device the flow runs"
            raise InvalidInput("dynamics", dynamics, requirement)
        # torch takes seconds to import, so only those who ask for it pay.
        from swingby.simulate.on_torch import run_on_device

        through, pieces = partial(run_on_device, place), pieces_on(place, total, d)
        threads = 1

    def run(first: int, last: int) -> Piece:
        part = asked.piece(first, last)
        return through(part, count, dynamics, swing=least, skip=skip, stop=halt.is_set)

    try:
        _for_each(run, keep, pieces, threads, halt)
    except KeyboardInterrupt:
        raise Interrupted(_shaped(kept, asked)) from None
    return _shaped(kept, asked)


def _swing(swing: float) -> float:
    value = float(numbers.exact(swing, "swing"))
    if not value >= SMALLEST_SWING:
        raise InvalidInput("swing", swing, f"must be at least {SMALLEST_SWING}")
    return value


def _pieces(total: int, threads: int) -> list[tuple[int, int]]:
    """Stretches of runs, two for every thread where there are no more."""
    size = max(1, min(PIECE, -(-total // (2 * threads)) if threads > 1 else PIECE))
    return [(first, min(first + size, total)) for first in range(0, total, size)]


def _for_each(
    run: Callable[[int, int], Piece],
    keep: Callable[[int, int, Piece], None],
    pieces: list[tuple[int, int]],
    threads: int,
    halt: threading.Event,
) -> None:
    if threads == 1:
        for piece in pieces:
            keep(*piece, run(*piece))
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting = {pool.submit(run, *piece): piece for piece in pieces}
        try:
            for done in as_completed(waiting):
                keep(*waiting[done], done.result())
        except BaseException:
            halt.set()
            pool.shutdown(cancel_futures=True)
            for done, piece in waiting.items():
                if done.done() and not done.cancelled() and done.exception() is None:
                    keep(*piece, done.result())
            raise


def _shaped(kept: BatchRun, asked: Broadcast) -> BatchRun:
    shape, d = asked.shape, asked.signal.shape[-1]
    return BatchRun(
        half_times=kept.half_times.reshape(*shape, d),
        outcome=kept.outcome.reshape(shape),
        W=kept.W.reshape(*shape, d, d),
        last_step=kept.last_step.reshape(shape),
        executed_steps=kept.executed_steps.reshape(shape),
        descents=None if kept.descents is None else kept.descents.reshape(shape),
        transient=None if kept.transient is None else kept.transient.reshape(shape),
    )
