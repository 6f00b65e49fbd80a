"""One run followed to its end: exact first steps, then balls."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from swingby.theory.initial import Blocks
from swingby.verify.certification.ball_run import BallState, follow
from swingby.verify.certification.convergence import neighbourhood
from swingby.verify.certification.events import Doubt, Watch
from swingby.verify.certification.exact_run import Rows, follow_exactly
from swingby.verify.certification.given import Given
from swingby.verify.certification.semidefinite import (
    exactly_semidefinite,
    independent_concepts,
    semidefinite_in_balls,
)

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
