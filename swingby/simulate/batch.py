"""simulate_batch: many runs at once, half-times and final W only."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, fields
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swingby.errors import InvalidInput
from swingby.simulate import outcome
from swingby.simulate.initialization import lasting, missing_concepts
from swingby.simulate.lanes import Stopped, Tiles, arrange, run_fleet
from swingby.simulate.on_torch import Tensors, pieces_on, usable_device
from swingby.simulate.outcome import Outcome, extrema, judge, level_array, peaks
from swingby.simulate.run import run_on
from swingby.simulate.state import (
    END,
    LEVELS,
    SMALLEST_SWING,
    Booleans,
    Floats,
    Integers,
    Record,
    binary,
    clear_starts,
    float_matrix,
    make_problem,
    make_state,
    most_steps_of,
)
from swingby.simulate.steps import MAPS, WRITTEN_OUT
from swingby.theory import numbers
from swingby.theory.growth import DYNAMICS, log_factors, require_dynamics
from swingby.theory.initial import LARGEST_ENTRY, SYMMETRY_TOLERANCE, Initial

#: Runs whose arguments are spread out at a time, by each worker: the memory that a batch needs
#: beside its arguments and results is about 2 kB a run at d = 3.
PIECE = 4096
#: Matrices looked at together.
SLICE = 65536
#: What `BatchRun.outcome` says of runs that were not finished.
NOT_RUN = "not_run"
#: In the order in which they are decided.
OUTCOMES = (Outcome.DIVERGED, Outcome.CONVERGED, Outcome.LOST_PSD, Outcome.TRAPPED)


class Interrupted(KeyboardInterrupt):
    """A batch was interrupted; `batch` holds what was finished."""

    def __init__(self, batch: BatchRun) -> None:
        done = int((batch.outcome != NOT_RUN).sum())
        super().__init__(
            f"interrupted: {done} of {batch.outcome.size} runs are finished, in .batch"
        )
        self.batch = batch


@dataclass(frozen=True, eq=False, repr=False)
class BatchRun(numbers.ReadOnly):
    r"""The ends of many runs. Made by :func:`simulate_batch`.

    `half_times` (..., d): step at which w_kk first is at least 1/2; nan where it never was.
    `outcome` (...): values of :class:`swingby.simulate.outcome.Outcome`.
    `W` (..., d, d): at the last step.
    `last_step`, `executed_steps` (...).
    `descents` (...): how often the test loss fell by `swing` times its initial value; None without
    a test point.
    `transient` (...): the largest \|w_ij\|, i and j different, over all steps: the size of the
    swing.
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
    if count is None and not (asked.given.signal > 0).any(axis=-1).all():
        raise InvalidInput("steps", None, "must be given where no signal is positive")
    threads = numbers.whole(workers, "workers", 1)
    total, d = asked.total, asked.given.signal.shape[-1]
    kept = _unfinished(total, d)

    def keep(first: int, last: int, piece: BatchRun) -> None:
        for name, values in vars(kept).items():
            values[first:last] = getattr(piece, name)
        if progress is not None:
            progress(int((kept.outcome != NOT_RUN).sum()), total)

    halt = threading.Event()
    place, pieces = None, _pieces(total, threads)
    if device is not None:
        place = usable_device(device)[1]
        if not MAPS[dynamics].lanes:
            requirement = f"must be euler or gd on a device; without device the {dynamics} runs"
            raise InvalidInput("dynamics", dynamics, requirement)
        pieces, threads = pieces_on(place, total, d), 1

    def run(first: int, last: int) -> BatchRun:
        part = asked.piece(first, last)
        stop = halt.is_set
        return run_piece(part, count, dynamics, swing=least, skip=skip, stop=stop, device=place)

    try:
        _for_each(run, keep, pieces, threads, halt)
    except KeyboardInterrupt:
        raise Interrupted(_shaped(kept, asked.shape, least)) from None
    return _shaped(kept, asked.shape, least)


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
    run: Callable[[int, int], BatchRun],
    keep: Callable[[int, int, BatchRun], None],
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


def _unfinished(total: int, d: int) -> SimpleNamespace:
    """Room for runs along one axis, to write to: the arrays of a result are read-only."""
    counts = ("last_step", "executed_steps", "descents")
    return SimpleNamespace(
        half_times=np.full((total, d), np.nan),
        outcome=np.full(total, NOT_RUN, dtype="<U16"),
        W=np.full((total, d, d), np.nan),
        **{name: np.zeros(total, dtype=np.int64) for name in counts},
        transient=np.full(total, np.nan),
    )


def _shaped(kept: SimpleNamespace, shape: tuple[int, ...], swing: float) -> BatchRun:
    """The same along the axes that were given."""
    found = {name: values.reshape(shape + values.shape[1:]) for name, values in vars(kept).items()}
    if not swing:
        found["descents"] = found["transient"] = None
    return BatchRun(**found)


class Batch(NamedTuple):
    """Runs, one after the other, with W(0) = mantissa 2^exponent W0.

    signal (m, d), W0 (m, d, d), eta (m,), mantissa (m,), exponent (m,), point (m, d).
    """

    signal: Floats
    W0: Floats
    eta: Floats
    mantissa: Floats
    exponent: Integers
    point: Floats

    def initial(self, run: int) -> Initial:
        """W(0) of one run."""
        W0 = self.W0[run]
        scale = Fraction(float(self.mantissa[run])) * Fraction(2) ** int(self.exponent[run])
        return Initial(W0 / 2 + W0.T / 2, scale)


@dataclass(frozen=True, eq=False)
class Broadcast:
    """Arguments that broadcast to one shape, spread out only a piece at a time."""

    given: Batch
    shape: tuple[int, ...]

    @property
    def total(self) -> int:
        """Number of runs."""
        return math.prod(self.shape)

    def piece(self, first: int, last: int) -> Batch:
        """Runs number `first` to `last` - 1, in the order of a flattened array."""
        d = self.given.signal.shape[-1]
        at = np.unravel_index(np.arange(first, last), self.shape) if self.shape else ()
        rows = last - first

        def spread(values: NDArray[Any], *own: int) -> NDArray[Any]:
            leading = values.shape[: values.ndim - len(own)]
            if leading == self.shape and values.flags.c_contiguous:
                return values.reshape(self.total, *own)[first:last]
            taken = np.broadcast_to(values, (*self.shape, *own))[at]
            return np.ascontiguousarray(taken.reshape(rows, *own))

        own = ((d,), (d, d), (), (), (), (d,))
        return Batch(*(spread(values, *axes) for values, axes in zip(self.given, own, strict=True)))


def broadcast(
    signal: ArrayLike,
    W0: ArrayLike,
    eta: ArrayLike,
    dynamics: str,
    omega: Any = None,
    test_point: ArrayLike | None = None,
) -> Broadcast:
    """Check and broadcast the arguments of a batch."""
    signals = _floats(signal, "signal", "Sec. 4")
    matrices = _floats(W0, "W0", "(D.2)")
    rates = _floats(eta, "eta", "(D.2)")
    if signals.ndim < 1:
        raise InvalidInput("signal", signal, "must have shape (..., d)", "Sec. 4")
    d = signals.shape[-1]
    if matrices.ndim < 2 or matrices.shape[-2:] != (d, d):
        raise InvalidInput("W0", f"shape {matrices.shape}", f"must have shape (..., {d}, {d})")
    points = np.zeros(d) if test_point is None else _floats(test_point, "test_point", "Sec. 4")
    if points.shape[-1:] != (d,):
        requirement = f"must have shape (..., {d})"
        raise InvalidInput("test_point", f"shape {points.shape}", requirement)
    if signals.size and signals.min() < 0:
        raise InvalidInput("signal", signals.min(), "must not be negative", "Sec. 4")
    if rates.size and rates.min() <= 0:
        raise InvalidInput("eta", rates.min(), "must be positive", "(D.2)")
    mantissa, exponent = _scales(omega)
    leading = (signals.shape[:-1], matrices.shape[:-2], rates.shape)
    try:
        shape = np.broadcast_shapes(*leading, mantissa.shape, points.shape[:-1])
    except ValueError:
        shapes = ", ".join(map(str, (*leading, mantissa.shape, points.shape[:-1])))
        raise InvalidInput("signal, W0, eta, omega", shapes, "must broadcast") from None
    if math.prod(shape):
        _check_matrices(matrices.reshape(-1, d, d), dynamics)
        _check_size(matrices, mantissa, exponent)
    return Broadcast(Batch(signals, matrices, rates, mantissa, exponent, points), shape)


def _floats(values: ArrayLike, argument: str, source: str) -> Floats:
    """Finite floats; contiguous, and not copied where they are that already."""
    ready = isinstance(values, np.ndarray) and values.dtype == np.float64 and values.size > 0
    if ready and np.isfinite(values).all():
        return np.asarray(values, order="C")
    return np.asarray(numbers.real_array(values, argument, source), order="C")


def _scales(omega: Any) -> tuple[Floats, Integers]:
    """Mantissas and binary exponents of the scales."""
    if omega is None:
        return np.ones(()), np.zeros((), dtype=np.int64)
    given = np.asarray(omega) if isinstance(omega, np.ndarray) else np.array(omega, dtype=object)
    if given.dtype == np.float64 and given.size:
        if not (np.isfinite(given).all() and given.min() > 0):
            raise InvalidInput("omega", given.min(), "must be finite and positive", "(D.2)")
        mantissa, exponent = np.frexp(given)
        return mantissa, exponent.astype(np.int64)
    known: dict[Any, tuple[float, int]] = {}
    found = []
    for value in given.reshape(-1).tolist():
        key = (type(value), value)
        if key not in known:
            known[key] = binary(numbers.positive(value, "omega", "Assumption D.1"))
        found.append(known[key])
    parts = np.array(found, dtype=object).reshape(*given.shape, 2)
    return parts[..., 0].astype(np.float64), parts[..., 1].astype(np.int64)


def _check_matrices(matrices: Floats, dynamics: str) -> None:
    """Refuse the first matrix (m, d, d) that will not do, a slice of them at a time."""
    for first in range(0, len(matrices), SLICE):
        part = matrices[first : first + SLICE]
        largest = np.abs(part).max(axis=(1, 2))
        apart = np.abs(part - part.swapaxes(1, 2)).max(axis=(1, 2))
        crooked, zero = apart > SYMMETRY_TOLERANCE * largest, largest == 0.0
        large = largest > float(LARGEST_ENTRY)
        refused = np.flatnonzero(crooked | zero | large)
        if refused.size:
            at = int(refused[0])
            name = f"W0[{first + at}]"
            if crooked[at]:
                requirement = "must be symmetric, as W = U U^T is"
                raise InvalidInput(name, "a matrix", requirement, "(D.2)")
            if zero[at]:
                raise InvalidInput(name, "the zero matrix", "must not be zero", "Assumption D.1")
            raise InvalidInput(name, f"{largest[at]:.3g}", "must be below 1e300", "(D.2)")
        if DYNAMICS[dynamics].keeps_psd:
            _check_psd(part, first, dynamics)


def _check_psd(matrices: Floats, first: int, dynamics: str) -> None:
    doubtful = np.flatnonzero(~clear_starts(matrices))
    if not doubtful.size:
        return
    values = np.linalg.eigvalsh(matrices[doubtful])
    wrong = values[:, 0] < -1e-12 * np.abs(values).max(axis=1)
    if wrong.any():
        raise InvalidInput(
            f"W0[{first + int(doubtful[int(np.argmax(wrong))])}]",
            "this matrix",
            f"must be positive semidefinite for dynamics={dynamics!r}",
            "(D.1)",
        )


def _check_size(matrices: Floats, mantissa: Floats, exponent: Integers) -> None:
    if (exponent <= 1).all():
        return
    with np.errstate(over="ignore"):
        scales = np.ldexp(mantissa, np.minimum(exponent, 2000).astype(np.int32))
        sizes = np.abs(matrices).max(axis=(-2, -1)) * scales
    if (sizes > float(LARGEST_ENTRY)).any():
        raise InvalidInput("omega", f"{sizes.max():.3g}", "omega W0 must be below 1e300", "(D.2)")


def missing_of(batch: Batch, unclear: Booleans, dynamics: str) -> Booleans:
    """Concepts that W(0) has no component for and that the dynamics do not create."""
    missing = np.zeros(batch.signal.shape, dtype=np.bool_)
    for run in np.flatnonzero(unclear):
        initial = batch.initial(int(run))
        found = missing_concepts(initial, batch.signal[run])
        missing[run] = lasting(found, initial.matrix, dynamics)
    return missing


def run_piece(
    batch: Batch,
    steps: int | None,
    dynamics: str,
    *,
    swing: float,
    skip: bool,
    stop: Callable[[], bool],
    device: Any = None,
) -> BatchRun:
    """Run a piece of a batch, on a device of torch where one is given."""
    compiled = MAPS[dynamics].lanes and batch.signal.shape[1] <= WRITTEN_OUT
    if device is None and not compiled:
        return _one_by_one(batch, steps, dynamics, swing=swing, skip=skip, stop=stop)
    scale = batch.mantissa, batch.exponent
    given = batch.signal, batch.W0, batch.eta, scale, batch.point, swing, dynamics
    kind = Tiles if device is None else Tensors
    arranged = arrange(*given, full=kind.full)
    missing = missing_of(batch, arranged.unclear, dynamics)
    how = {"skip": skip, "halt": stop, "device": device}
    ends = run_fleet(kind, arranged, missing, steps, dynamics, **how)
    fate = (ends.diverged, ends.lost, batch.signal > 0, missing)
    ends.outcome = outcomes(ends.W, ends.half_times, *fate)
    return BatchRun(**{field.name: getattr(ends, field.name) for field in fields(BatchRun)})


def outcomes(
    W: Floats,
    half_times: Floats,
    diverged: Booleans,
    lost: Booleans,
    counted: Booleans,
    missing: Booleans,
) -> NDArray[np.str_]:
    """The rules of :func:`swingby.simulate.outcome.judge`, for all runs together."""
    pairs = counted[:, :, None] & counted[:, None, :]
    off = np.abs(W - np.eye(W.shape[-1]))
    converged = ((off <= END) | ~pairs).all(axis=(1, 2))
    trapped = (missing & counted & np.isnan(half_times)).any(axis=1)
    return np.asarray(
        np.select(
            [diverged, converged, lost, trapped],
            [name.value for name in OUTCOMES],
            Outcome.STOPPED_EARLY.value,
        ),
        dtype="<U16",
    )


def _one_by_one(
    batch: Batch,
    steps: int | None,
    dynamics: str,
    *,
    swing: float,
    skip: bool,
    stop: Callable[[], bool],
) -> BatchRun:
    total, d = batch.signal.shape
    missing = missing_of(batch, np.ones(total, dtype=np.bool_), dynamics)
    growth = log_factors(batch.signal, batch.eta, dynamics)
    kept = _unfinished(total, d)
    for k in range(total):
        eta, point = float(batch.eta[k]), batch.point[k]
        problem = make_problem(
            batch.signal[k], eta, dynamics, point, missing[k], growth=growth[:, k]
        )
        state = make_state(batch.initial(k), problem.point)
        last = most_steps_of(problem, state) if steps is None else steps
        run_on(problem, state, Record.at([], d), last, skip=skip, rest=steps is None, stop=stop)
        if stop():
            raise Stopped
        kept.half_times[k] = level_array(state)[LEVELS.index(0.5)]
        judgement = judge(problem, state, kept.half_times[k], missing[k], "the steps")
        kept.outcome[k] = str(judgement.outcome)
        kept.W[k] = float_matrix(state.X, state.exponent)
        kept.last_step[k], kept.executed_steps[k] = state.step, state.executed
        if swing > 0 and state.swing > 0:
            # The state holds the smallest swing in the unit of the loss.
            unit = state.swing / SMALLEST_SWING
            kept.descents[k] = outcome.descents(extrema(state), unit * swing)
        if swing > 0:
            kept.transient[k] = max((abs(peak.value) for peak in peaks(state)), default=0)
    return BatchRun(**vars(kept))
