"""One run followed to its end: exact first steps, then balls.

The certificate made of a run that was followed to its end.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import flint

from swingby.theory.initial import Blocks
from swingby.verify.certification.ball_run import (
    BallState,
    Rows,
    exactly_semidefinite,
    follow,
    follow_exactly,
    independent_concepts,
    semidefinite_in_balls,
)
from swingby.verify.certification.certificate import (
    Certificate,
    CertifiedPeak,
    Convergence,
    Passage,
    RunsAway,
)
from swingby.verify.certification.enclosure import Enclosure, enclose
from swingby.verify.certification.events import (
    LEVELS,
    Doubt,
    Watch,
    neighbourhood,
    squared_distance,
)
from swingby.verify.certification.given import Given

#: A run without a number of steps ends before an entry passes this size.
LARGEST = 10**6
#: A run with a number of steps, too: beyond it digits double in every step.
LARGEST_ASKED = 10**100
#: Steps between two looks at the clock.
LOOK = 256


@dataclass(frozen=True)
class Followed:
    """A run at its last step.

    `watch`: what was seen on the way. `step`: the last step. `rest`: 1 - w_ii. `moving`: blocks
    that still move; empty where the run is finished and at rest for ever.
    """

    watch: Watch
    step: int
    W: Rows
    rest: list[Any]
    moving: Blocks = ()


class Telling:
    """Lines on how far a run is, at most one per second.

    `progress`: gets each line.
    """

    def __init__(self, progress: Callable[[str], object] | None) -> None:
        self.progress = progress
        self.last = time.monotonic()

    def __call__(self, line: str) -> None:
        """Hand over a line, unless the last one is less than a second old."""
        if self.progress is not None and time.monotonic() - self.last >= 1:
            self.last = time.monotonic()
            self.progress(line)


def first_steps(given: Given, tell: Telling) -> tuple[Followed, bool]:
    """The run as far as exact rationals go.

    Returns `followed`; `finished` whether nothing is left for balls.
    """
    watch = Watch(
        blocks=given.blocks,
        target=neighbourhood(given.signal, given.eta, given.dynamics),
        runaways=tuple(k for k, a in enumerate(given.signal) if a and given.is_euler),
        hopeless=given.hopeless,
        # Under gd W(t) is congruent to W(0), which is semidefinite.
        watches_psd=given.is_euler,
    )
    concepts = range(len(given.signal))
    limit = LARGEST if given.steps is None else LARGEST_ASKED
    last = given.cap if given.steps is None else given.steps
    followed: Followed | None = None
    for step, (W, moving) in enumerate(
        follow_exactly(given.signal, given.W0, given.eta, given.dynamics)
    ):
        if followed is not None and _leaves(W, limit, watch):
            return followed, True
        rest = [1 - W[k][k] for k in concepts]
        watch.observe(step, W, rest, partial(exactly_semidefinite, W, concepts))
        followed = Followed(watch, step, W, rest, moving)
        if not moving and given.steps is not None:
            return Followed(watch, given.steps, W, rest), True
        if not moving or step == last or (given.steps is None and watch.is_settled(W, rest)):
            return followed, True
        if not step % LOOK:
            tell(f"step {step}, exact")
    assert followed is not None
    return followed, False


def follow_in_balls(
    given: Given, start: Followed, bits: int, *, strict: bool, tell: Telling
) -> Followed:
    """The rest of the run, at the current working precision.

    `start`: the last exact step.
    `bits`: the working precision, for the lines that are told.
    `strict`: raise :class:`~swingby.verify.certification.events.Doubt` at the first open entry.
    Raises Doubt if `strict` and the precision leaves an entry open.
    """
    watch = start.watch.copy(strict=strict)
    W0 = [[Fraction(int(w.p), int(w.q)) for w in row] for row in start.W]
    moving = [k for block in start.moving for k in block]
    concepts = independent_concepts(given.signal, start.W, moving)
    last = given.cap if given.steps is None else given.steps
    limit = LARGEST if given.steps is None else LARGEST_ASKED
    states = follow(
        given.signal, W0, given.eta, given.dynamics, last - start.step, moving=start.moving
    )
    done = False
    followed = Followed(watch, start.step, start.W, start.rest)
    for state in states:
        if not state.step:
            continue
        step = start.step + state.step
        if watch.converged is None and _leaves(state.W, limit, watch):
            return followed
        if not strict and not step % LOOK and not state.is_sound:
            break
        if not done:
            watch.observe(
                step, state.W, state.rest, partial(semidefinite_in_balls, state.W, concepts)
            )
            done = watch.is_settled(state.W, state.rest)
            if done and given.steps is None:
                return _kept(watch, step, state)
            # Only inside the neighbourhood of I is what is settled settled for all time.
            done = done and watch.converged is not None
        if watch.converged is None:
            followed = _kept(watch, step, state)
        if not step % LOOK:
            tell(f"step {step}, {bits} bits")
        if step == last:
            return _kept(watch, step, state)
    # A run of balls that ends by itself has taken one more step: out of range, or beyond use.
    if watch.converged is None and _leaves(state.W, limit, watch):
        return followed
    if strict:
        raise Doubt("end")
    if given.steps is not None:
        _give_up(watch)
        unknown: Rows = [[None] * len(row) for row in start.W]
        return Followed(watch, given.steps, unknown, [None] * len(start.rest))
    return followed


def _kept(watch: Watch, step: int, state: BallState) -> Followed:
    return Followed(watch, step, [list(row) for row in state.W], list(state.rest))


def _leaves(W: Rows, limit: int, watch: Watch) -> bool:
    """Whether an entry is certainly larger than the limit.

    While W is positive semidefinite its largest entry stands on the diagonal.
    """
    whole = watch.first_loss is not None
    return any(
        abs(row[j]) > limit for i, row in enumerate(W) for j in (range(i + 1) if whole else (i,))
    )


def _give_up(watch: Watch) -> None:
    """Everything that the steps not followed could still change is undecided."""
    for k, levels in watch.pending.items():
        watch.undecided.update(f"passages/{name}/{k + 1}" for name, _ in levels)
    watch.undecided.update(f"peaks/{i + 1},{j + 1}" for i, j in watch.peaks)
    if watch.converged is None:
        watch.undecided.update(
            f"runs_away/{k + 1}" for k in watch.runaways if k not in watch.negative
        )
        if watch.radius is not None:
            watch.undecided.add("converges")
        if watch.watches_psd and watch.first_loss is None:
            watch.undecided.add("psd")


def assemble(given: Given, followed: Followed, bits: int | None) -> Certificate:
    """Write everything down, at the working precision of the run.

    `followed`: its watch says what happens with an entry whose ball is too wide. Raises Doubt if
    the watch is strict and a ball is too wide for its enclosure.
    """
    from swingby import __version__

    watch = followed.watch
    d = len(given.signal)
    passages = {
        level: tuple(_passage(given, watch, level, k) for k in range(d)) for level in LEVELS
    }
    peaks = tuple(_peak(watch, followed, i, j) for i in range(d) for j in range(i + 1, d))
    away: list[RunsAway | None] = []
    for k in watch.runaways:
        if k in watch.negative:
            away.append(RunsAway(k + 1, watch.negative[k]))
        elif f"runs_away/{k + 1}" in watch.undecided:
            away.append(None)
    converges = _convergence(watch)
    end = tuple(
        tuple(
            None
            if followed.W[i][j] is None
            else _enclosed(watch, followed.W[max(i, j)][min(i, j)], f"end/{i + 1},{j + 1}")
            for j in range(d)
        )
        for i in range(d)
    )
    watch.undecided.update(
        f"end/{i + 1},{j + 1}"
        for i, row in enumerate(end)
        for j, one in enumerate(row)
        if one is None
    )
    return Certificate(
        dynamics=given.dynamics,
        signal=given.signal,
        eta=given.eta,
        W0=given.W0,
        steps=followed.step,
        passages=passages,
        peaks=peaks,
        first_loss=watch.first_loss,
        runs_away=tuple(away),
        converges=converges,
        end=end,
        undecided=tuple(sorted(watch.undecided)),
        made_by=f"swingby {__version__}",
        bits=bits,
    )


def _enclosed(watch: Watch, number: Any, path: str) -> Enclosure | None:
    found = enclose(number)
    if found is None:
        watch.doubt(path)
    return found


def _passage(given: Given, watch: Watch, level: str, k: int) -> Passage | None:
    path = f"passages/{level}/{k + 1}"
    reached = watch.passages.get((level, k))
    if reached is not None:
        before = None
        if reached.step:
            before = _enclosed(watch, reached.before, path)
        at = _enclosed(watch, reached.at, path)
        if at is None or (reached.step and before is None):
            return None
        return Passage(reached.step, before, at)
    if k in given.never or k in watch.negative:
        watch.undecided.discard(path)
        return Passage(None, never=True)
    if f"runs_away/{k + 1}" in watch.undecided and path not in watch.undecided:
        # Whether the level is reached is known, but not whether it ever will be.
        watch.doubt(path)
    return None if path in watch.undecided else Passage(None)


def _peak(watch: Watch, followed: Followed, i: int, j: int) -> CertifiedPeak | None:
    path = f"peaks/{i + 1},{j + 1}"
    peak = watch.peaks.get((i, j))
    if peak is None:
        # Different blocks: forced to stay 0.
        return CertifiedPeak(i + 1, j + 1, 0, Enclosure("0", "0"), True)
    if path in watch.undecided:
        return None
    if peak.size == 0:
        return CertifiedPeak(i + 1, j + 1, 0, Enclosure("0", "0"), False)
    value = _enclosed(watch, peak.value, path)
    final = False
    if "converges" in watch.undecided:
        watch.doubt(path)
        value = None
    elif watch.converged is not None:
        distance, square = squared_distance(followed.W, followed.rest), peak.size * peak.size
        final = bool(distance < square)
        if not final and not distance >= square:
            watch.doubt(path)
            value = None
    return None if value is None else CertifiedPeak(i + 1, j + 1, peak.step, value, final)


def _convergence(watch: Watch) -> Convergence | None:
    if watch.converged is None or watch.target is None:
        return None
    step, square = watch.converged
    distance = _enclosed(watch, flint.arb(square).sqrt(), "converges")
    if distance is None:
        return None
    return Convergence(step, distance, watch.target.radius, watch.target.rate)
