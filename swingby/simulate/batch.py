"""Many runs at once, of which half-times and the final W are kept."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swingby.errors import InvalidInput, named
from swingby.report.result_formats import ReadOnly
from swingby.simulate import series
from swingby.simulate.arguments import BatchArguments, read_test_point
from swingby.simulate.factored import not_semidefinite, resolved
from swingby.simulate.float_pivots import in_order, quiet_steps, rounding_in_steps
from swingby.simulate.lanes.fleet import (
    LONG_BLOCK,
    Arranged,
    Fleet,
    Rows,
    Stopped,
    is_indefinite,
    largest_between,
    rows,
)
from swingby.simulate.lanes.tiles import Tiles
from swingby.simulate.observation import END, peaks
from swingby.simulate.on_torch import Tensors, size_on, usable_device
from swingby.simulate.outcome import Outcome, judge
from swingby.simulate.run import is_broken, run_on
from swingby.simulate.series import SMALLEST_SWING, least_swing
from swingby.simulate.state import (
    LEVELS,
    RunRecord,
    make_problem,
    make_state,
    most_steps,
)
from swingby.simulate.step_text import WRITTEN_OUT
from swingby.simulate.steps import IN_LANES
from swingby.theory import numbers
from swingby.theory.growth import DYNAMICS, log_factors, require_dynamics
from swingby.theory.initial import Initial, clear_pivots
from swingby.theory.numbers import Booleans, Floats, Integers
from swingby.theory.scaled_matrices import binary, choose_exponents, float_matrix, power_of_two
from swingby.theory.task import SIMTask

#: What `BatchRun.outcome` says of runs that were not finished.
NOT_RUN = "not_run"
#: Runs whose arguments are spread out at a time, by each worker: the memory that a batch needs
#: beside its arguments and results is about 2 kB a run at d = 3.
PIECE = 4096


class Interrupted(KeyboardInterrupt):
    """A batch was interrupted; `batch` holds what was finished."""

    def __init__(self, batch: BatchRun) -> None:
        done = int((batch.outcome != NOT_RUN).sum())
        super().__init__(
            f"interrupted: {done} of {batch.outcome.size} runs are finished, in .batch"
        )
        self.batch = batch


@dataclass(frozen=True, eq=False, repr=False)
class BatchRun(ReadOnly):
    r"""The ends of many runs. Made by :func:`simulate_batch`.

    `half_times` (..., d): step at which w_kk first is at least 1/2; nan where it never was.
    `outcome` (...): values of :class:`swingby.simulate.outcome.Outcome`.
    `W` (..., d, d): at the last step.
    `last_step`, `executed_steps` (...).
    `descents` (...): how often the test loss fell by `swing` times its initial value; None without
    a test point.
    `transient` (...): the largest \|w_ij\|, i and j different, over all steps: the size of the
    swing.
    `rounding` (..., d): by how many steps rounding may move each half-time; nan where it decides
    whether there is one.
    """

    half_times: Floats
    outcome: NDArray[np.str_]
    W: Floats
    last_step: Integers
    executed_steps: Integers
    descents: Integers | None = None
    transient: Floats | None = None
    rounding: Floats | None = None

    def __iter__(self) -> Iterator[NDArray[Any]]:
        """Unpack as ``half_times, outcome, W = simulate_batch(...)``."""
        yield self.half_times
        yield self.outcome
        yield self.W

    def __repr__(self) -> str:
        names, counts = np.unique(self.outcome, return_counts=True)
        tally = ", ".join(f"{name} {count}" for name, count in zip(names, counts, strict=True))
        return f"<BatchRun {self.outcome.size} runs: {tally}>"


@named
def simulate_batch(
    signal: SIMTask | ArrayLike,
    W0: ArrayLike,
    eta: ArrayLike,
    steps: int | None = 10_000,
    dynamics: str = "gd",
    *,
    omega: Any = None,
    test_point: ArrayLike | None = None,
    swing: float = 1e-3,
    skip: bool = True,
    workers: int = 1,
    progress: Callable[[int, int], object] | None = None,
    device: object = None,
) -> BatchRun:
    """Run many trajectories at once.

    Up to d = 8, euler and gd run in the lanes of the vector unit
    (:mod:`swingby.simulate.lanes`). Each trajectory agrees with that of :func:`simulate` up to
    rounding, and its bits do not depend on the other runs. Larger dimensions, and the flow, run one
    by one and agree exactly with :func:`simulate`.

    Parameters
    ----------
    signal : SIMTask or array_like of shape (..., d)
        The task, or the signal a of each run; at least 0. Leading axes broadcast.
    W0 : array_like of shape (..., d, d)
        Symmetric; positive semidefinite for gd and flow.
    eta : array_like of shape (...)
        Step sizes; positive.
    steps : int or None
        Steps of every run. None: each run ends once W no longer changes, which is checked every 256
        steps, and at the latest where :func:`simulate` without `steps` ends.
    dynamics : {"gd", "euler", "flow"}
    omega : number, text, or array of them of shape (...), optional
        W(0) is ``omega * W0``; may lie below the float range (``"1e-400"``).
    test_point : array_like of shape (..., d), optional
        Asks for `descents` and `transient`: the point x of the test loss ``1/2 |W x - x|^2``; that
        of the task where one is given.
    swing : float
        Smallest fall of the test loss that counts as a descent, and smallest rise between two, as a
        share of its initial value; at least 1e-9.
    skip : bool
        Jump over steps that are linear up to rounding.
    workers : int
        Threads; compiled code runs without the interpreter lock.
    progress : callable, optional
        Called with the number of finished runs and of all.
    device : {"cpu", "cuda", "cuda:1"} or torch.device, optional
        Run euler or gd, of any d, as tensors of torch on this device (extra ``torch``). The results
        are the same up to rounding; `workers` has no effect. Default: compiled code, as above.

    Returns
    -------
    BatchRun
        A run that overflows has the outcome ``"diverged"`` and does not stop the others. Where
        rounding makes W indefinite under gd or flow, the run is repeated from a factor U. Under
        euler, a loss of positive semidefiniteness is checked for every 256 steps.

    Raises
    ------
    InvalidInput
        For shapes that do not broadcast, for values that :func:`simulate` refuses, for a missing
        device, and for the flow on a device.
    MissingExtra
        If a device is given and torch is not installed.
    Interrupted
        On Ctrl-C, within a fraction of a second; its ``batch`` has the finished runs.

    Examples
    --------
    >>> batch = simulate_batch([2.0, 1.0], 1e-3 * np.eye(2), [0.01, 0.02], 1000)
    >>> batch.half_times.tolist()
    [[174.0, 347.0], [88.0, 174.0]]
    """
    require_dynamics(dynamics)
    arguments = _read(signal, W0, eta, dynamics, omega, test_point)
    smallest_swing = least_swing(swing) if "test_point" in arguments.arrays else 0.0
    count = None if steps is None else numbers.whole(steps, "steps", 1, most=2**53)
    if count is None and not (arguments.arrays["signal"] > 0).any(axis=-1).all():
        raise InvalidInput("steps", None, "must be given where no signal is positive")
    threads = numbers.whole(workers, "workers", 1)
    total, d = arguments.total, arguments.arrays["signal"].shape[-1]
    ends = _room_for_ends(total, d)

    def keep(first: int, last: int, piece: SimpleNamespace) -> None:
        for name, values in vars(ends).items():
            values[first:last] = getattr(piece, name)
        if progress is not None:
            progress(int((ends.outcome != NOT_RUN).sum()), total)

    halt = threading.Event()
    torch_device, size = None, min(PIECE, -(-total // (2 * threads)) if threads > 1 else PIECE)
    if device is not None:
        torch_device = usable_device(device)[1]
        if dynamics not in IN_LANES:
            requirement = f"must be euler or gd on a device; without device the {dynamics} runs"
            raise InvalidInput("dynamics", dynamics, requirement)
        size, threads = size_on(torch_device, d), 1

    def run(first: int, last: int) -> SimpleNamespace:
        arrays = arguments.piece(first, last)
        batch = Batch(**{"test_point": np.zeros_like(arrays["signal"]), **arrays})
        stop = halt.is_set
        return _run_piece(
            batch, count, dynamics, swing=smallest_swing, skip=skip, stop=stop, device=torch_device
        )

    try:
        pieces = [(first, min(first + size, total)) for first in range(0, total, size or 1)]
        _for_each(run, keep, pieces, threads, halt)
    except KeyboardInterrupt:
        raise Interrupted(_shaped(ends, arguments.shape, smallest_swing)) from None
    return _shaped(ends, arguments.shape, smallest_swing)


def _for_each(
    run: Callable[[int, int], SimpleNamespace],
    keep: Callable[[int, int, SimpleNamespace], None],
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


def _shaped(ends: SimpleNamespace, shape: tuple[int, ...], swing: float) -> BatchRun:
    """The same along the axes that were given."""
    fields = {name: values.reshape(shape + values.shape[1:]) for name, values in vars(ends).items()}
    if not swing:
        fields["descents"] = fields["transient"] = None
    return BatchRun(**fields)


class Batch(NamedTuple):
    """A piece of a batch of runs, with W(0) = mantissa 2^exponent W0.

    signal (m, d), W0 (m, d, d), eta (m,), omega (m, 2): mantissa and exponent, test_point (m, d).
    """

    signal: Floats
    W0: Floats
    eta: Floats
    omega: Floats
    test_point: Floats

    @property
    def exponent(self) -> Integers:
        """Powers of two in W(0), (m,)."""
        return self.omega[:, 1].astype(np.int64)

    def initial(self, run: int) -> Initial:
        """The W(0) of a run."""
        W0, (mantissa, exponent) = self.W0[run], self.omega[run].tolist()
        scale = Fraction(mantissa) * Fraction(2) ** int(exponent)
        return Initial(W0 / 2 + W0.T / 2, scale)


def _read(
    signal: object, W0: ArrayLike, eta: ArrayLike, dynamics: str, omega: Any, test_point: Any
) -> BatchArguments:
    """Check and broadcast the arguments of a batch."""
    scales = _scales(omega)
    point = read_test_point(test_point, signal, "Sec. 4")
    arguments = BatchArguments.of(signal, W0, eta, omega=scales, **point)
    if arguments.total:
        arguments.check_matrices(np.log(scales[..., 0]) + scales[..., 1] * math.log(2), "omega")
        if DYNAMICS[dynamics].keeps_psd:
            arguments.check_psd(dynamics)
    return arguments


def _scales(omega: Any) -> Floats:
    """Mantissa and binary exponent of every scale, (..., 2)."""
    if omega is None:
        return np.array([1.0, 0.0])
    scales = np.asarray(omega) if isinstance(omega, np.ndarray) else np.array(omega, dtype=object)
    if scales.dtype == np.float64 and scales.size:
        if not (np.isfinite(scales).all() and scales.min() > 0):
            raise InvalidInput("omega", scales.min(), "must be finite and positive", "(D.2)")
        return np.stack(np.frexp(scales), axis=-1)
    by_value: dict[Any, tuple[float, int]] = {}
    mantissas_and_powers = []
    for value in scales.reshape(-1).tolist():
        key = (type(value), value)
        if key not in by_value:
            by_value[key] = binary(numbers.positive(value, "omega", "Assumption D.1"))
        mantissas_and_powers.append(by_value[key])
    return np.array(mantissas_and_powers, dtype=np.float64).reshape(*scales.shape, 2)


def _missing_of(batch: Batch, unclear: Booleans, dynamics: str) -> Booleans:
    """Concepts that W(0) has no component for and that the dynamics do not create."""
    missing = np.zeros(batch.signal.shape, dtype=np.bool_)
    for run in np.flatnonzero(unclear):
        missing[run] = batch.initial(int(run)).missing(batch.signal[run], dynamics)
    return missing


def _room_for_ends(total: int, d: int) -> SimpleNamespace:
    """Writable arrays for the fields of a BatchRun, with the runs along a single axis."""
    counts = ("last_step", "executed_steps", "descents")
    return SimpleNamespace(
        half_times=np.full((total, d), np.nan),
        outcome=np.full(total, NOT_RUN, dtype="<U16"),
        W=np.full((total, d, d), np.nan),
        **{name: np.zeros(total, dtype=np.int64) for name in counts},
        transient=np.full(total, np.nan),
        rounding=np.zeros((total, d)),
    )


def _run_piece(
    batch: Batch,
    steps: int | None,
    dynamics: str,
    *,
    swing: float,
    skip: bool,
    stop: Callable[[], bool],
    device: Any = None,
) -> SimpleNamespace:
    """Run a piece of a batch, on a device of torch where it is given.

    `steps`: of every run, or None until it is at rest. `stop` is asked a few times a second;
    :class:`swingby.simulate.lanes.fleet.Stopped` is raised when it says so.
    """
    compiled = dynamics in IN_LANES and batch.signal.shape[1] <= WRITTEN_OUT
    if device is None and not compiled:
        return _one_by_one(batch, steps, dynamics, swing=swing, skip=skip, stop=stop)
    kind: type[Fleet] = Tiles if device is None else Tensors
    arranged = arrange(batch, swing, dynamics, full=kind.full)
    total, d = batch.signal.shape
    missing = _missing_of(batch, arranged.unclear, dynamics)
    null = missing & DYNAMICS[dynamics].keeps_psd
    goal = np.where(batch.signal > 0, np.where(missing, 0.0, 1.0), np.nan)
    last = np.full(total, steps or 0)
    if steps is None:
        last = most_steps(batch.signal, batch.eta, arranged.log_smallest, dynamics)
    arranged.rows["null"] = lacking = null.any(axis=1)
    ends = _room_for_ends(total, d)
    ends.diverged, ends.lost = np.zeros((2, total), dtype=np.bool_)
    fastest = (batch.signal * batch.eta[:, None]).max(axis=1)
    blocks = np.full(total, LONG_BLOCK)
    # What rounding makes of an absent component is put back to zero at every look.
    blocks[lacking] = [quiet_steps(rate) for rate in fastest[lacking].tolist()]
    for block in np.unique(blocks).tolist():
        members = np.flatnonzero(blocks == block)
        until = last.copy() if steps is not None else -(-last // block) * block
        fleet_arguments = (arranged, members, null, goal, until, ends, dynamics, block)
        fleet = kind(*fleet_arguments, skip=skip, rest=steps is None, device=device)
        fleet.run(0 if steps is None else steps % block, stop)
    endings = (ends.diverged, ends.lost, batch.signal > 0, missing)
    ends.outcome = outcomes(ends.W, *endings)
    ends.rounding = _rounding_of(batch, ends, missing, dynamics)
    if DYNAMICS[dynamics].keeps_psd:
        doubtful = np.flatnonzero(ends.outcome != str(Outcome.CONVERGED))
        broken = doubtful[not_semidefinite(ends.W[doubtful])]
        again = Batch(*(values[broken] for values in batch))
        repeated = _one_by_one(again, steps, dynamics, swing=swing, skip=skip, stop=stop)
        for name, values in vars(repeated).items():
            getattr(ends, name)[broken] = values
    return ends


@np.errstate(all="ignore")
def _rounding_of(batch: Batch, ends: SimpleNamespace, missing: Booleans, dynamics: str) -> Floats:
    """As in :func:`swingby.simulate.run.simulate`, of all runs together."""
    diagonal = batch.W0.diagonal(axis1=1, axis2=2) * batch.omega[:, :1]
    logs = np.log(np.where(diagonal > 0, diagonal, np.nan)) + batch.omega[:, 1:] * math.log(2)
    counts = (ends.last_step, ends.executed_steps)
    moved = rounding_in_steps(batch.signal, batch.eta, dynamics, logs, ends.half_times, *counts)
    return np.where(missing, 0.0, moved)


@np.errstate(all="ignore")
def arrange(batch: Batch, swing: float, dynamics: str, *, full: bool) -> Arranged:
    """Arrange trajectories, with all entries of X where `full`.

    `swing`: by what fraction of its initial value the test loss has to fall to descend; 0 where
    trajectories are not watched.
    """
    signal, W0, eta, _, point = batch
    total, d = signal.shape
    at = rows(d, watched=swing > 0, full=full)
    mantissa, shift = batch.omega[:, 0], batch.exponent
    # Half of each, lest the sum overflow.
    M = (W0 / 2 + W0.swapaxes(1, 2) / 2) * mantissa[:, None, None]
    every = np.arange(d)
    diagonal = M[:, every, every]
    order = np.argsort(-signal, axis=1, kind="stable")
    unclear = ~clear_pivots(in_order(M, order))
    logs = np.log(np.where(diagonal > 0, diagonal, 1.0)) + shift[:, None] * np.log(2.0)
    log_smallest = np.minimum(np.where(diagonal > 0, logs, 0.0).min(axis=1), 0.0)
    exponent = choose_exponents(diagonal, shift)
    moved = (shift[:, None, None] - exponent[:, :, None] - exponent[:, None, :]).clip(-3000, 3000)
    X = np.ldexp(M, moved)
    columns = Rows(np.zeros((total, at.loaded)), at)
    columns.values[:, : at.below] = X[:, *at.pairs]
    square = power_of_two(2 * exponent)
    reached = X[:, every, every] >= 0.5 / square
    columns["below"] = np.where(reached, 0.0, 1.0)
    columns["waited"] = np.where(reached, -1.0, 0.0)
    columns["past"] = np.nan
    columns["rates"] = eta[:, None] * signal
    columns["square"], columns["bar"] = square, 0.5 / square
    if not DYNAMICS[dynamics].keeps_psd and unclear.any():
        which = np.flatnonzero(unclear)
        columns["lost"][which] = is_indefinite(X[which], order[which])
    if swing > 0.0:
        W = float_matrix(X, exponent)
        loss = 0.5 * (((W * point[:, None, :]).sum(axis=2) - point) ** 2).sum(axis=1)
        columns["point"], columns["root"] = point, power_of_two(exponent)
        columns["low"] = columns["high"] = loss
        columns["transient"] = largest_between(W)
        # A loss of zero has nothing to descend from.
        columns["swing"] = np.where(loss > 0.0, swing * loss, np.inf)
    return Arranged(signal, eta, swing > 0, columns, exponent, order, log_smallest, unclear)


def outcomes(
    W: Floats,
    diverged: Booleans,
    lost: Booleans,
    counted: Booleans,
    missing: Booleans,
) -> NDArray[np.str_]:
    """The rules of :func:`swingby.simulate.outcome.judge`, for all runs together."""
    pairs = counted[:, :, None] & counted[:, None, :]
    off = np.abs(W - np.eye(W.shape[-1]))
    # In the order in which they are decided.
    conditions = {
        Outcome.DIVERGED: diverged,
        Outcome.CONVERGED: ((off <= END) | ~pairs).all(axis=(1, 2)),
        Outcome.LOST_PSD: lost,
        Outcome.TRAPPED: (missing & counted & ~(W.diagonal(axis1=1, axis2=2) >= 0.5)).any(axis=1),
    }
    names = np.select([*conditions.values()], [*map(str, conditions)], str(Outcome.STOPPED_EARLY))
    return np.asarray(names, dtype="<U16")


def _one_by_one(
    batch: Batch,
    steps: int | None,
    dynamics: str,
    *,
    swing: float,
    skip: bool,
    stop: Callable[[], bool],
) -> SimpleNamespace:
    total, d = batch.signal.shape
    missing = _missing_of(batch, np.ones(total, dtype=np.bool_), dynamics)
    growth = log_factors(batch.signal, batch.eta, dynamics)
    ends = _room_for_ends(total, d)
    for k in range(total):
        eta, point, initial = float(batch.eta[k]), batch.test_point[k], batch.initial(k)
        for rank in (0, max(1, int(resolved(initial, batch.signal[k]).sum()))):
            if rank:
                missing[k] = ~resolved(initial, batch.signal[k]) & (batch.signal[k] > 0)
            constants = batch.signal[k], eta, dynamics, point, missing[k], growth[:, k], rank
            problem, state = make_problem(*constants), make_state(initial, point)
            last = problem.most_steps(state) if steps is None else steps
            record = RunRecord.at([], d)
            run_on(problem, state, record, last, skip=skip, rest=steps is None, stop=stop)
            if stop():
                raise Stopped
            if not problem.keeps_psd or state.exceeded < state.step or not is_broken(state):
                break
        ends.half_times[k] = state.passages[LEVELS.index(0.5)]
        ends.outcome[k], _ = judge(problem, state, missing[k], "the steps")
        ends.W[k] = state.W
        ends.last_step[k], ends.executed_steps[k] = state.step, state.executed
        if swing > 0 and state.turns.swing > 0:
            unit = state.turns.swing / SMALLEST_SWING
            ends.descents[k] = series.descents(state.turns.extrema(), unit * swing)
        if swing > 0:
            ends.transient[k] = max((abs(peak.value) for peak in peaks(state)), default=0)
    ends.rounding = _rounding_of(batch, ends, missing, dynamics)
    return ends
