"""certify: one trajectory with every number proved.

Its inputs as exact numbers, its exact first steps, its balls, and its certificate.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, NamedTuple

import flint
import numpy as np
from numpy.typing import ArrayLike

from swingby.errors import BudgetSpent, InvalidInput, named
from swingby.proofs.certify.ball_run import (
    BallState,
    Rows,
    exact_pivots,
    exactly_semidefinite,
    follow,
    follow_exactly,
    independent_concepts,
    rational,
    semidefinite_in_balls,
)
from swingby.proofs.certify.certificate import MOST_CONCEPTS, Certificate
from swingby.proofs.certify.enclosure import (
    CertifiedPeak,
    Convergence,
    Enclosure,
    Passage,
    RunsAway,
    enclose,
)
from swingby.proofs.certify.events import LEVELS, Doubt, Watch, neighbourhood, squared_distance
from swingby.theory import budget, numbers, search_time
from swingby.theory.balls import precision
from swingby.theory.growth import require_dynamics
from swingby.theory.initial import (
    LARGEST_ENTRY,
    Blocks,
    Initial,
    Scaled,
    connected_blocks,
    initial_matrix,
)
from swingby.theory.task import SIMTask, as_task

#: Working precisions in bits, tried one after the other until nothing is left open. The enclosures
#: ask for 40 decimal digits, 133 bits, at the end of a run; 256 bits leave room for rounding.
PRECISIONS = (256, 512, 1024, 2048, 4096, 8192)

#: A step in balls of 256 bits takes about this, and this for each product of two entries.
SECONDS_A_STEP, SECONDS_A_PRODUCT = 1e-5, 7e-7
A_YEAR = 3.2e7
#: The last step of a run without a number of steps.
MOST_STEPS = 1_000_000
#: Such a run ends before an entry passes this size.
LARGEST = 10**6
#: A run with a number of steps, too: beyond it digits double in every step.
LARGEST_ASKED = 10**100
#: Steps between two looks at the clock.
LOOK = 256

Matrix = tuple[tuple[Fraction, ...], ...]


@named
def certify(
    task: SIMTask | Sequence[Any],
    W0: ArrayLike | Scaled | Initial | Any,
    eta: Any,
    dynamics: str = "euler",
    steps: int | None = None,
    *,
    progress: Callable[[str], object] | None = None,
) -> Certificate:
    r"""Follow a discrete run from W(0) to its end and prove when everything happens.

    .. math:: W' = W + \eta (BW + WB) \quad\text{or}\quad (I + \eta B) W (I + \eta B),
              \qquad B = A - (AW + WA)/2

    as ``"euler"`` (D.2) or ``"gd"``. The first steps are taken in exact rational arithmetic, the
    others in ball arithmetic, where every number carries a bound of its error. What a ball leaves
    open, such as whether it lies above a level, is decided by starting again with twice the
    precision, up to 8192 bits; what is still open then is listed in ``undecided``.

    Parameters
    ----------
    task : SIMTask or sequence of numbers
        The task, or its signal a.
        At most 6 concepts.
    W0 : array_like of shape (d, d), nested lists of exact numbers, or Scaled
        Symmetric, with numbers of any size. Floats are the binary numbers that they store;
        ``"1/3"``, ``"1e-1000"``, Fraction, int and mpmath numbers are exact. For gd it must be
        positive semidefinite, exactly.
    eta : number
        Step size; positive. A float is the binary number that it stores.
    dynamics : {"euler", "gd"}
    steps : int, optional
        The last step. By default: until W is provably on its way to I, with
        ``|W - I|_F <= 1/100`` and less than every peak; where that cannot be, until every
        concept with a component in W(0) is learned and the other entries are past their peaks,
        or the time of exponential growth is over several times; at most 1,000,000 steps. A run
        with an entry that grows past 10^6 (10^100 where `steps` is given) ends before that.
    progress : callable, optional
        Gets a line of text now and then, at most once per second.

    Returns
    -------
    Certificate

    Raises
    ------
    InvalidInput
        For a wrong argument, naming it.

    References
    ----------
    (D.1), (D.2).

    Examples
    --------
    >>> task = SIMTask.from_signal([4, 1])
    >>> certificate = certify(task, [["2e-6", "1e-6"], ["1e-6", "2e-6"]], eta="1/100")
    >>> certificate.half_times, certificate.first_loss, certificate.converges.step
    ((170, 679), None, 776)
    """
    if progress is not None and not callable(progress):
        raise InvalidInput("progress", progress, "must be callable")
    given = read_given(task, W0, eta, dynamics, steps)
    seconds = given.last * (SECONDS_A_STEP + SECONDS_A_PRODUCT * len(given.signal) ** 3)
    if seconds > A_YEAR and math.isinf(search_time.seconds_left()):
        raise InvalidInput("steps", given.last, "must be fewer: these take more than a year")
    budget.expect("the certificate", seconds, partial=True)
    tell = _now_and_then(progress)
    for bits in PRECISIONS:
        with precision(bits), contextlib.suppress(Doubt):
            watch, end = follow_run(given, strict=bits < PRECISIONS[-1], tell=tell)
            return assemble(given, watch, end, None if end.balls is None else bits)
    raise AssertionError("the highest precision leaves entries open, and doubts nothing")


@dataclass(frozen=True)
class Given:
    """One run, as exact numbers; without `steps` until everything is settled."""

    signal: tuple[Fraction, ...]
    W0: Matrix
    eta: Fraction
    dynamics: str
    steps: int | None

    @property
    def is_euler(self) -> bool:
        """Whether the map is (D.2)."""
        return self.dynamics == "euler"

    @property
    def last(self) -> int:
        """The last step, whatever happens."""
        return self.cap if self.steps is None else self.steps

    @property
    def limit(self) -> int:
        """The run ends before an entry passes this size."""
        return LARGEST if self.steps is None else LARGEST_ASKED

    @cached_property
    def rows(self) -> Rows:
        """W(0) in rationals of flint."""
        return [[rational(entry) for entry in row] for row in self.W0]

    @cached_property
    def blocks(self) -> Blocks:
        """Connected components of W(0)."""
        return connected_blocks(self.W0)

    @cached_property
    def never(self) -> frozenset[int]:
        r"""Concepts that W(0) alone tells never to pass a level that they are below at step 0.

        Under euler :math:`w_{kk}' = w_{kk} - \eta \sum_j a_j w_{kj}^2` where a_k = 0, which never
        increases; and a row of zeros stays one.
        """
        return frozenset(
            k
            for k, row in enumerate(self.W0)
            if not any(row) or (self.is_euler and not self.signal[k])
        )

    @cached_property
    def hopeless(self) -> frozenset[int]:
        """Concepts that a run without a number of steps does not wait for.

        Those of :attr:`never` and those without a signal; under gd also those with a pivot of 0
        in descending order of a, for which W(0) has no component: W(t) keeps its rank, so as many
        concepts as there are such pivots stay behind. This is about how long a run is worth
        following and claims nothing: which of them stay behind can change late in the run.
        """
        found = self.never | {k for k, a in enumerate(self.signal) if not a}
        if not self.is_euler:
            found |= {k for k, pivot in self.pivots.items() if pivot == 0}
        return found

    @cached_property
    def pivots(self) -> dict[int, Any]:
        """Pivots of LDL^T of W(0) in descending order of a, up to the first negative one."""
        order = sorted(range(len(self.signal)), key=lambda k: -self.signal[k])
        return dict(zip(order, exact_pivots(self.rows, order), strict=False))

    @cached_property
    def cap(self) -> int:
        """The last step of a run without a number of steps, whatever happens.

        What exponential growth at the slowest rate takes from the smallest positive w_kk(0) or
        pivot up to 1, and 60 times the time of a factor e. Three times as much where every
        concept is waited for: a concept that is not waited for may be at an unstable rest, which
        costs bits in proportion to the steps.
        """
        sizes = [row[k] for k, row in enumerate(self.rows)] + list(self.pivots.values())
        smallest = min([size for size in sizes if size > 0] + [flint.fmpq(1)])
        waited = [a for k, a in enumerate(self.signal) if a and k not in self.hopeless]
        slowest = numbers.log_of(1 + 2 * self.eta * min(waited or [max(self.signal)]))
        if not slowest:
            return MOST_STEPS
        time = (60 - numbers.log_of(Fraction(int(smallest.p), int(smallest.q)))) / slowest
        return min(MOST_STEPS, math.ceil(time if self.hopeless else 3 * time))


def read_given(task: Any, W0: Any, eta: Any, dynamics: Any, steps: Any) -> Given:
    """The arguments of :func:`swingby.certify` as exact numbers, or InvalidInput."""
    task = as_task(task)
    if task.dim > MOST_CONCEPTS:
        raise InvalidInput("task", f"d = {task.dim}", f"must have at most {MOST_CONCEPTS} concepts")
    rate = numbers.positive(eta, "eta", "(D.2)")
    require_dynamics(dynamics)
    if dynamics == "flow":
        raise InvalidInput(
            "dynamics", dynamics, "must be euler or gd: certify follows the discrete maps", "(D.2)"
        )
    last = None if steps is None else numbers.whole(steps, "steps", 0)
    given = Given(task.exact_signal, _exact_matrix(W0, task.dim), rate, dynamics, last)
    if dynamics == "gd" and not exactly_semidefinite(given.rows, range(task.dim)):
        raise InvalidInput(
            "W0",
            "this matrix",
            "must be positive semidefinite for dynamics='gd', exactly (a float is the binary number"
            " it stores)",
            "(D.1)",
        )
    return given


def _exact_matrix(W0: Any, dim: int) -> Matrix:
    """W(0) as exact rationals, in d rows.

    It must be exactly symmetric; floats alone are symmetrised as by :func:`initial_matrix`.
    """
    if isinstance(W0, Scaled | Initial):
        return tuple(map(tuple, initial_matrix(W0, dim).entries))
    found = numbers.entries(W0, "W0", "(D.2)")
    if found.shape != (dim, dim):
        asked = f"must have shape ({dim}, {dim})"
        raise InvalidInput("W0", f"shape {found.shape}", asked, "(D.2)")
    W = tuple(
        tuple(numbers.exact(entry, f"W0[{i},{j}]", "(D.2)") for j, entry in enumerate(row, 1))
        for i, row in enumerate(found.tolist(), 1)
    )
    if tuple(zip(*W, strict=True)) != W:
        if all(isinstance(entry, float | np.floating) for entry in found.flat):
            return _exact_matrix(initial_matrix(found.astype(np.float64), dim), dim)
        asked = "must be exactly symmetric, as W = U U^T is"
        raise InvalidInput("W0", "this matrix", asked, "(D.2)")
    largest = max(abs(entry) for row in W for entry in row)
    if not largest:
        raise InvalidInput("W0", "the zero matrix", "must not be zero", "Assumption D.1")
    if largest > LARGEST_ENTRY:
        raise InvalidInput("W0", numbers.scientific(largest), "must be below 1e300", "(D.2)")
    return W


def _now_and_then(progress: Callable[[str], object] | None) -> Callable[[str], None]:
    """What hands lines on to `progress`, at most one per second."""
    last = time.monotonic()

    def tell(line: str) -> None:
        nonlocal last
        if progress is not None and time.monotonic() - last >= 1:
            last = time.monotonic()
            progress(line)

    return tell


class State(NamedTuple):
    """W at one step, as rationals or as balls, and 1 - w_ii.

    `semidefinite`: whether W is; None where balls leave it open. `balls`: None of rationals.
    `moves`: whether any later W is another.
    """

    step: int
    W: Rows
    rest: list[Any]
    semidefinite: Callable[[], bool | None]
    balls: BallState | None = None
    moves: bool = True

    def kept(self) -> State:
        """A state that does not change any more."""
        return self._replace(W=[list(row) for row in self.W], rest=list(self.rest))


def trajectory(given: Given) -> Iterator[State]:
    """W(0), W(1), ... as rationals for as long as these are short, then in balls."""
    run, concepts = (given.eta, given.dynamics), range(len(given.signal))
    for step, (W, moving) in enumerate(follow_exactly(given.signal, given.W0, *run)):
        rest = [1 - W[k][k] for k in concepts]
        semidefinite: Callable[[], bool | None] = partial(exactly_semidefinite, W, concepts)
        yield State(step, W, rest, semidefinite, moves=bool(moving))
    start = [[Fraction(int(w.p), int(w.q)) for w in row] for row in W]
    kept = independent_concepts(given.signal, W, [k for block in moving for k in block])
    for state in follow(given.signal, start, *run, given.last - step, moving=moving):
        if state.step:
            semidefinite = partial(semidefinite_in_balls, state.W, kept)
            yield State(step + state.step, state.W, state.rest, semidefinite, state)


def follow_run(given: Given, *, strict: bool, tell: Callable[[str], None]) -> tuple[Watch, State]:
    """What is seen of a run at the current working precision, and its last state.

    Raises Doubt at the first open entry if `strict`.
    """
    watch = Watch(
        blocks=given.blocks,
        target=neighbourhood(given.signal, given.eta, given.dynamics),
        runaways=tuple(k for k, a in enumerate(given.signal) if a and given.is_euler),
        hopeless=given.hopeless,
        # Under gd W(t) is congruent to W(0), which is semidefinite.
        watches_psd=given.is_euler,
        strict=strict,
    )
    done, inside = False, None
    for state in trajectory(given):
        step, looks = state.step, not state.step % LOOK
        if inside is not None and watch.converged is None and _leaves(state.W, given.limit, watch):
            return watch, inside
        if looks and not strict and state.balls is not None and not state.balls.is_sound:
            break
        if not done:
            watch.observe(step, state.W, state.rest, state.semidefinite)
            done = watch.is_settled(state.W, state.rest)
            if done and given.steps is None:
                return watch, state.kept()
            # Only inside the neighbourhood of I is what is settled settled for all time.
            done = done and watch.converged is not None
        if not state.moves:
            return watch, state if given.steps is None else state._replace(step=given.steps)
        if step == given.last:
            return watch, state.kept()
        if watch.converged is None:
            inside = state.kept()
        if looks:
            tell(f"step {step}, {'exact' if state.balls is None else f'{flint.ctx.prec} bits'}")
            if step and budget.spent():
                raise BudgetSpent(f"with steps={step} it proves what happens until then")
    assert inside is not None
    # A run of balls that ends by itself has taken one more step: out of range, or beyond use.
    if watch.converged is None and _leaves(state.W, given.limit, watch):
        return watch, inside
    if strict:
        raise Doubt("end")
    if given.steps is None:
        return watch, inside
    watch.give_up()
    d = len(given.signal)
    return watch, inside._replace(step=given.steps, W=[[None] * d] * d, rest=[None] * d)


def _leaves(W: Rows, limit: int, watch: Watch) -> bool:
    """Whether an entry is certainly larger than the limit.

    While W is positive semidefinite its largest entry stands on the diagonal.
    """
    whole = watch.first_loss is not None
    return any(
        abs(row[j]) > limit for i, row in enumerate(W) for j in (range(i + 1) if whole else (i,))
    )


def assemble(given: Given, watch: Watch, last: State, bits: int | None) -> Certificate:
    """Write everything down, at the working precision of the run.

    Where a ball is too wide for its enclosure, the watch raises Doubt or notes the entry.
    """
    from swingby import __version__

    concepts = range(len(given.signal))
    passages = {
        level: tuple(_passage(given, watch, level, k) for k in concepts) for level in LEVELS
    }
    peaks = tuple(_peak(watch, last, i, j) for i in concepts for j in concepts[i + 1 :])
    away = tuple(
        RunsAway(k + 1, watch.negative[k]) if k in watch.negative else None
        for k in watch.runaways
        if k in watch.negative or f"runs_away/{k + 1}" in watch.undecided
    )
    converges = None
    if watch.converged is not None and watch.target is not None:
        step, square = watch.converged
        distance = _enclosed(watch, flint.arb(square).sqrt(), "converges")
        converges = None if distance is None else Convergence(step, distance, *watch.target)
    end = tuple(
        tuple(
            _enclosed(watch, last.W[max(i, j)][min(i, j)], f"end/{i + 1},{j + 1}") for j in concepts
        )
        for i in concepts
    )
    return Certificate(
        dynamics=given.dynamics,
        signal=given.signal,
        eta=given.eta,
        W0=given.W0,
        steps=last.step,
        passages=passages,
        peaks=peaks,
        first_loss=watch.first_loss,
        runs_away=away,
        converges=converges,
        end=end,
        undecided=tuple(sorted(watch.undecided)),
        made_by=f"swingby {__version__}",
        bits=bits,
    )


def _enclosed(watch: Watch, number: Any, path: str) -> Enclosure | None:
    found = None if number is None else enclose(number)
    if found is None:
        watch.doubt(path)
    return found


def _passage(given: Given, watch: Watch, level: str, k: int) -> Passage | None:
    path = f"passages/{level}/{k + 1}"
    reached = watch.passages.get((level, k))
    if reached is not None:
        before = _enclosed(watch, reached.before, path) if reached.step else None
        at = _enclosed(watch, reached.at, path)
        return None if path in watch.undecided else Passage(reached.step, before, at)
    if k in given.never or k in watch.negative:
        watch.undecided.discard(path)
        return Passage(None, never=True)
    if f"runs_away/{k + 1}" in watch.undecided and path not in watch.undecided:
        # Whether the level is reached is known, but not whether it ever will be.
        watch.doubt(path)
    return None if path in watch.undecided else Passage(None)


def _peak(watch: Watch, last: State, i: int, j: int) -> CertifiedPeak | None:
    path, zero = f"peaks/{i + 1},{j + 1}", Enclosure("0", "0")
    peak = watch.peaks.get((i, j))
    if peak is None:
        # Different blocks: forced to stay 0.
        return CertifiedPeak(i + 1, j + 1, 0, zero, True)
    if path in watch.undecided:
        return None
    if peak.size == 0:
        return CertifiedPeak(i + 1, j + 1, 0, zero, False)
    value = _enclosed(watch, peak.value, path)
    final = False
    if "converges" in watch.undecided:
        watch.doubt(path)
    elif watch.converged is not None:
        distance, square = squared_distance(last.W, last.rest), peak.size * peak.size
        final = bool(distance < square)
        if not final and not distance >= square:
            watch.doubt(path)
    if value is None or path in watch.undecided:
        return None
    return CertifiedPeak(i + 1, j + 1, peak.step, value, final)
