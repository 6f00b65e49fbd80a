"""certify: one trajectory followed from W(0) to its end, with every number proved.

Its first steps are exact rationals and the others balls; the certificate says what happened.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import flint
from numpy.typing import ArrayLike

from swingby.errors import BudgetSpent, InvalidInput, named
from swingby.proofs.certify.ball_run import (
    BallState,
    Rows,
    exactly_semidefinite,
    follow,
    follow_exactly,
    independent_concepts,
    semidefinite_in_balls,
)
from swingby.proofs.certify.certificate import Certificate
from swingby.proofs.certify.enclosure import Enclosure, enclose
from swingby.proofs.certify.events import LEVELS, Doubt, Watch
from swingby.proofs.certify.exact_inputs import ExactInputs, read_inputs
from swingby.proofs.certify.facts import CertifiedPeak, Convergence, Passage, RunsAway
from swingby.proofs.certify.linear_phase import after_linear_phase
from swingby.proofs.certify.neighbourhood import neighbourhood, squared_distance
from swingby.theory import budget, search_time
from swingby.theory.balls import precision
from swingby.theory.initial import Initial, Scaled
from swingby.theory.numbers import fraction
from swingby.theory.task import SIMTask

#: Working precisions in bits, tried one after the other until nothing is left open. The enclosures
#: ask for 40 decimal digits, 133 bits, at the end of a run; 256 bits leave room for rounding.
PRECISIONS = (256, 512, 1024, 2048, 4096, 8192)

#: A step in balls of 256 bits takes about this, and this for each product of two entries.
SECONDS_A_STEP, SECONDS_A_PRODUCT = 1e-5, 7e-7
_A_YEAR = 3.2e7
#: Steps between two looks at the clock.
_LOOK = 256


@named
def certify(
    task: SIMTask | Sequence[Any],
    W0: ArrayLike | Scaled | Initial | Any,
    eta: Any,
    dynamics: str = "gd",
    steps: int | None = None,
    *,
    progress: Callable[[str], object] | None = None,
) -> Certificate:
    r"""Follow a discrete run from W(0) to its end, and prove when each event happens.

    .. math:: W' = (I + \eta B) W (I + \eta B) \quad\text{or}\quad W + \eta (BW + WB),
              \qquad B = A - (AW + WA)/2

    as ``"gd"`` or ``"euler"`` (D.2). The first steps are taken in exact rational arithmetic, the
    others in ball arithmetic, where every number carries a bound on its error. If a ball does not
    decide a question, such as whether it lies above a level, the run starts again with twice the
    precision, up to 8192 bits. Questions that are open even then are listed in ``undecided``. Under
    gd the linear phase of a small positive definite W(0) is skipped with a proved error
    (:mod:`swingby.proofs.certify.linear_phase`), up to the stage of its first concept.

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
    dynamics : {"gd", "euler"}
    steps : int, optional
        The last step. By default: until W is provably on its way to I, with
        ``|W - I|_F <= 1/100`` and less than every peak; where that cannot be, until every
        concept with a component in W(0) is learned and the other entries are past their peaks,
        or the time of exponential growth is over several times; at most 1,000,000 steps after
        those that are skipped. A run
        with an entry that grows past 10^6 (10^100 where `steps` is given) ends before that.
    progress : callable, optional
        Called with a line of text, at most once per second.

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
    ((167, 674), None, 773)
    """
    if progress is not None and not callable(progress):
        raise InvalidInput("progress", progress, "must be callable")
    inputs = read_inputs(task, W0, eta, dynamics, steps)
    with precision(PRECISIONS[0]):
        skipped = _skipped(inputs)
    seconds = (inputs.last_after(skipped) - skipped) * (
        SECONDS_A_STEP + SECONDS_A_PRODUCT * len(inputs.signal) ** 3
    )
    if seconds > _A_YEAR and math.isinf(search_time.seconds_left()):
        raise InvalidInput("steps", inputs.last, "must be fewer: these take more than a year")
    budget.expect("the certificate", seconds, partial=True)
    report = _now_and_then(progress)
    for bits in PRECISIONS:
        with precision(bits), contextlib.suppress(Doubt):
            watch, end = _follow_run(inputs, strict=bits < PRECISIONS[-1], report=report)
            return _assemble(inputs, watch, end, None if end.balls is None else bits)
    raise AssertionError("the highest precision leaves entries open, and doubts nothing")


def _now_and_then(progress: Callable[[str], object] | None) -> Callable[[str], None]:
    """A function that hands lines on to `progress`, at most one per second."""
    last = time.monotonic()

    def report(line: str) -> None:
        nonlocal last
        if progress is not None and time.monotonic() - last >= 1:
            last = time.monotonic()
            progress(line)

    return report


class _RunState(NamedTuple):
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

    def frozen(self) -> _RunState:
        """A copy that does not change any more."""
        return self._replace(W=[list(row) for row in self.W], rest=list(self.rest))


def _trajectory(inputs: ExactInputs) -> Iterator[_RunState]:
    """W(0), W(1), ... as rationals for as long as these are short, then in balls.

    Under gd from a small W(0): from the end of its linear phase on, in balls.
    """
    after = after_linear_phase(inputs)
    if after is not None:
        later = inputs.last_after(after.step) - after.step
        for state in follow(
            inputs.signal, after.W, inputs.eta, inputs.dynamics, later, moving=inputs.blocks
        ):
            # gd keeps W definite, and nobody asks.
            yield _RunState(after.step + state.step, state.W, state.rest, lambda: None, state)
        return
    run, concepts = (inputs.eta, inputs.dynamics), range(len(inputs.signal))
    for step, (W, moving) in enumerate(follow_exactly(inputs.signal, inputs.W0, *run)):
        rest = [1 - W[k][k] for k in concepts]
        semidefinite: Callable[[], bool | None] = partial(exactly_semidefinite, W, concepts)
        yield _RunState(step, W, rest, semidefinite, moves=bool(moving))
    start = [[fraction(w) for w in row] for row in W]
    independent = independent_concepts(inputs.signal, W, [k for block in moving for k in block])
    for state in follow(inputs.signal, start, *run, inputs.last - step, moving=moving):
        if state.step:
            semidefinite = partial(semidefinite_in_balls, state.W, independent)
            yield _RunState(step + state.step, state.W, state.rest, semidefinite, state)


def _skipped(inputs: ExactInputs) -> int:
    """Steps of the linear phase that are not taken one by one at the working precision."""
    after = after_linear_phase(inputs)
    return 0 if after is None else after.step


def _follow_run(
    inputs: ExactInputs, *, strict: bool, report: Callable[[str], None]
) -> tuple[Watch, _RunState]:
    """The events of a run at the current working precision, and its last state.

    Raises Doubt at the first open entry if `strict`.
    """
    watch = Watch(
        blocks=inputs.blocks,
        target=neighbourhood(inputs.signal, inputs.eta, inputs.dynamics),
        runaways=tuple(k for k, a in enumerate(inputs.signal) if a and inputs.is_euler),
        hopeless=inputs.hopeless,
        # Under gd W(t) is congruent to W(0), which is semidefinite.
        watches_psd=inputs.is_euler,
        strict=strict,
    )
    done, inside, last = False, None, inputs.last_after(_skipped(inputs))
    for state in _trajectory(inputs):
        step, looks = state.step, not state.step % _LOOK
        if inside is not None and watch.converged is None and _leaves(state.W, inputs.limit, watch):
            return watch, inside
        if looks and not strict and state.balls is not None and not state.balls.is_sound:
            break
        if not done:
            watch.observe(step, state.W, state.rest, state.semidefinite)
            done = watch.is_settled(state.W, state.rest)
            if done and inputs.steps is None:
                return watch, state.frozen()
            # Only inside the neighbourhood of I is what is settled settled for all time.
            done = done and watch.converged is not None
        if not state.moves:
            return watch, state if inputs.steps is None else state._replace(step=inputs.steps)
        if step == last:
            return watch, state.frozen()
        if watch.converged is None:
            inside = state.frozen()
        if looks:
            report(f"step {step}, {'exact' if state.balls is None else f'{flint.ctx.prec} bits'}")
            if step and budget.spent():
                raise BudgetSpent(f"with steps={step} it proves what happens until then")
    assert inside is not None
    # A run of balls that ends by itself has taken one more step: out of range, or beyond use.
    if watch.converged is None and _leaves(state.W, inputs.limit, watch):
        return watch, inside
    if strict:
        raise Doubt("end")
    if inputs.steps is None:
        return watch, inside
    watch.give_up()
    d = len(inputs.signal)
    return watch, inside._replace(step=inputs.steps, W=[[None] * d] * d, rest=[None] * d)


def _leaves(W: Rows, limit: int, watch: Watch) -> bool:
    """Whether an entry is certainly larger than the limit.

    While W is positive semidefinite its largest entry stands on the diagonal.
    """
    everywhere = watch.first_loss is not None
    columns = ((row, range(i + 1) if everywhere else (i,)) for i, row in enumerate(W))
    return any(abs(row[j]) > limit for row, concepts in columns for j in concepts)


def _assemble(inputs: ExactInputs, watch: Watch, last: _RunState, bits: int | None) -> Certificate:
    """The certificate of a watched run, at its working precision.

    Where a ball is too wide for its enclosure, the watch raises Doubt or notes the entry.
    """
    from swingby import __version__

    concepts = range(len(inputs.signal))
    passages = {
        level: tuple(_passage(inputs, watch, level, k) for k in concepts) for level in LEVELS
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
        dynamics=inputs.dynamics,
        signal=inputs.signal,
        eta=inputs.eta,
        W0=inputs.W0,
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
    enclosure = None if number is None else enclose(number)
    if enclosure is None:
        watch.doubt(path)
    return enclosure


def _passage(inputs: ExactInputs, watch: Watch, level: str, k: int) -> Passage | None:
    path = f"passages/{level}/{k + 1}"
    reached = watch.passages.get((level, k))
    if reached is not None:
        before = _enclosed(watch, reached.before, path) if reached.step else None
        at = _enclosed(watch, reached.at, path)
        return None if path in watch.undecided else Passage(reached.step, before, at)
    if k in inputs.never or k in watch.negative:
        watch.undecided.discard(path)
        return Passage(None, never=True)
    if f"runs_away/{k + 1}" in watch.undecided and path not in watch.undecided:
        # Whether the level is reached is known, but not whether it ever will be.
        watch.doubt(path)
    return None if path in watch.undecided else Passage(None)


def _peak(watch: Watch, last: _RunState, i: int, j: int) -> CertifiedPeak | None:
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
