r"""The path of a linear network under gradient descent: by its map or by its modified flow.

Both belong to :mod:`swingby.theory.law.descent_flow`. With :math:`\rho` a bound of the rates, a
step is coarse by :math:`x = \rho \varepsilon (1 + m)/(1 - m)`. Where x is large the map itself is
iterated: then few steps matter, and no expansion in lr converges. Where x is small the flow is
followed, in steps of a fixed fraction of :math:`1/(\rho\varepsilon)`. Such steps give every part of
the weights, however small beside the others, the same relative error; a controller of errors would
see the largest alone. With momentum the first steps are always those of the map, until the buffer
that an optimizer starts with, empty or not, no longer matters.

A learned chain of three or more layers turns fast while small modes wait for a time that is a power
of 1/scale. Waits are followed in steps as long as what is slow allows
(:mod:`swingby.theory.law.resting_core`), also at a larger x: there the coarseness that counts is
that of the motion itself, as what is fast is at rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from swingby.theory.law.descent_flow import DescentFlow
from swingby.theory.law.resting_core import LongStep, RestingCore, guessed
from swingby.theory.numbers import Floats

#: x from which the map costs less than the flow, per fraction of 1/(rho eps) in a step: a step of
#: the flow costs 36 gradients, and goes as far as about 40 of the map at that x.
_MAP_SHARE = 1 / 40
#: rho eps up to which waits are followed by the flow; and the coarseness of their motion, in units
#: of the x from which the map costs less: at their start, and until their end.
_FASTEST, _WAITING, _MOVING = 0.5, 0.4, 1.0
#: What the velocity may differ by, at their start, from that of a motion without memory.
_STEADY = 0.01
#: Larger weights have left for infinity.
_DIVERGED = 1e60
#: A motion so much slower than the fastest rate is a wait. Its steps are this part of those that
#: the slow rates would ask for in explicit steps, and so many times longer than these are.
_SLOW, _LONG_SHARE, _GAIN, _FARTHEST = 0.05, 0.35, 10.0, 4.0
#: Iterations from which a core is taken anew; a part of a step that is tried where it fails, and
#: explicit steps before another is tried.
_FEW, _MANY, _SHORTER, _PAUSE = 6, 10, 0.25, 10.0
#: Steps of the map at a time.
_FEWEST, _MOST = 4, 50
#: What may be left of the buffer at the start.
_BUFFER_LEFT = 1e-9


class Accuracy(NamedTuple):
    """How finely the flow is followed.

    order: the power of eps up to which it is right; fraction: a step, in units of 1/(rho eps).
    """

    order: int
    fraction: float


#: Of what is reported, and of the coarser path that it is compared with.
FINE, COARSE = Accuracy(3, 0.8), Accuracy(2, 1.2)


@dataclass(frozen=True)
class Segment:
    """A stretch of the path: steps of the map, or one step of the flow, between two times."""

    start: float
    end: float
    #: W at every step of the map, or at both ends.
    products: Floats
    #: W at a time of the flow; None for the map, whose velocity at the start is the other.
    inside: Callable[[float], Floats] | None = None
    velocity: Floats | None = None

    def product(self, t: float) -> Floats:
        """W at a time; between steps of the map on a straight line."""
        if self.inside is None:
            k = min(int(t - self.start), len(self.products) - 2)
            share = t - self.start - k
            return np.asarray((1 - share) * self.products[k] + share * self.products[k + 1])
        return self.inside(t)


class Pace(NamedTuple):
    """How fast weights move: rho, x, and the norm of the field f in units of rho times theirs."""

    rate: float
    coarseness: float
    motion: float
    slopes: Floats


class DescentPath:
    """A path that goes on from segment to segment: its time, weights and velocity.

    `v`: the velocity at the start, of a run in progress: minus the momentum buffer of torch.
    """

    def __init__(
        self, flow: DescentFlow, y: Floats, accuracy: Accuracy, v: Floats | None = None
    ) -> None:
        self.flow, self.y, self.t, self.accuracy = flow, y, 0.0, accuracy
        self.v, self._smooth = np.zeros_like(y) if v is None else v, False
        momentum = flow.rule.momentum
        self._starting = math.ceil(math.log(_BUFFER_LEFT) / math.log(momentum)) if momentum else 0
        self.W = flow.product(y)
        self._core: RestingCore | None = None
        #: The last long step and its length; and the time up to which none is tried.
        self._long: tuple[LongStep, float] | None = None
        self._explicit_until = 0.0

    def pace(self) -> Pace:
        """How fast the weights move now; beyond all measure where they diverge."""
        if not np.abs(self.y).max() < _DIVERGED:
            return Pace(math.inf, math.inf, math.inf, self.y)
        # Of weights that diverge, products overflow first.
        with np.errstate(over="ignore", invalid="ignore"):
            flow, rate = self.flow, self.flow.rate(self.y)
            size = rate * float(np.linalg.norm(self.y))
            slopes = flow.field_and_product(self.y)[0]
            # Weights that are all 0 may still have a gradient.
            motion = float(np.linalg.norm(slopes)) / size if size > 0 else float(slopes.any())
        return Pace(rate, rate * flow.rule.pace * flow.rule.memory, motion, slopes)

    def velocity(self, pace: Pace) -> Floats:
        """The velocity now; along a flow that of the slopes."""
        return pace.slopes / (1 - self.flow.rule.momentum) if self._smooth else self.v

    def advance(self, pace: Pace, last: float) -> Segment:
        """Go on, in explicit steps not beyond the step `last`."""
        limit = _MAP_SHARE * self.accuracy.fraction
        smooth = self._starting <= 0 and pace.coarseness <= limit
        rule = self.flow.rule
        fast = pace.rate * rule.pace
        may_wait = self._starting <= 0 and self.t >= self._explicit_until
        if may_wait and fast <= _FASTEST and self._steady(pace.slopes):
            moving = self._moving(pace.slopes)
            # After a long step all that is fast is at rest, but for rounding that would count here.
            if self._long or moving <= (_SLOW * pace.coarseness if smooth else limit * _WAITING):
                most = math.inf if smooth else limit * _MOVING / rule.memory
                segment = self._by_waiting(pace, moving / rule.memory, most, last)
                if segment is not None:
                    return segment
                self._explicit_until = self.t + _PAUSE / fast
        self._core = self._long = None
        if smooth:
            steps = self.accuracy.fraction / (pace.rate * self.flow.rule.pace)
            return self._by_flow(min(steps, last))
        return self._by_map(int(np.clip(1 / pace.coarseness, _FEWEST, _MOST)))

    def _steady(self, slopes: Floats) -> bool:
        """Whether the velocity is that of the slopes now: no oscillation is left in it."""
        rule = self.flow.rule
        if self._smooth or not rule.momentum:
            return True
        expected = slopes / (1 - rule.momentum)
        return bool(np.linalg.norm(self.v - expected) <= _STEADY * np.linalg.norm(expected))

    def _moving(self, slopes: Floats) -> float:
        """The coarseness of the motion itself, |f'f|/|f|: what is at rest has no share in it."""
        rule, size = self.flow.rule, float(np.linalg.norm(slopes))
        later = self.flow.field_and_product(self.y + rule.pace * slopes)[0]
        return rule.memory * float(np.linalg.norm(later - slopes)) / size if size > 0 else 0.0

    def _moved(self, t: float, y: Floats, inside: Callable[[float], Floats]) -> Segment:
        """The segment of a step of the flow to y at t."""
        start, W = self.t, self.W
        self.t, self.y, self.W, self._smooth = t, y, self.flow.product(y), True
        return Segment(start, t, np.stack([W, self.W]), inside)

    def _by_flow(self, steps: float) -> Segment:
        flow, start, y = self.flow, self.t, self.y

        def inside(t: float) -> Floats:
            return flow.product(flow.advanced(y, t - start))

        return self._moved(start + steps, flow.advanced(y, steps), inside)

    def _by_waiting(self, pace: Pace, moving: float, most: float, last: float) -> Segment | None:
        """A step as long as what is slow allows; None where others are cheaper, or rates too high.

        `moving`: the rate of the motion; `most`: that of what is slow, at most.
        """
        flow, y, start, fast = self.flow, self.y, self.t, pace.rate * self.flow.rule.pace
        core = self._core = self._core or RestingCore(flow, y)
        if not core.small:
            return None
        slow = max(core.slow_rate(y), _FARTHEST * pace.motion * fast) or moving
        if slow > most:
            return None
        explicit = self.accuracy.fraction / fast
        steps = min(_LONG_SHARE * self.accuracy.fraction / slow, last) if slow > 0 else 0.0
        long = None
        while long is None and steps >= _GAIN * explicit:
            guess = None if self._long is None else guessed(*self._long, steps)
            long = core.step(y, steps, guess)
            if long is None:
                if guess is None:
                    steps *= _SHORTER
                core = self._core = RestingCore(flow, y)
                self._long = None
        if long is None:
            return None
        self._long, length = (long, steps), steps
        if not _FEW <= long.iterations <= _MANY:
            self._core = None
        done = long

        def inside(t: float) -> Floats:
            return flow.product(done.at((t - start) / length))

        return self._moved(start + steps, long.nodes[-1].copy(), inside)

    def _by_map(self, count: int) -> Segment:
        flow, start, y = self.flow, self.t, self.y
        if self._smooth:
            # The map counts whole steps; the flow may have stopped between them.
            early = math.ceil(start) - start
            if early > 0:
                return self._by_flow(early)
            self.v, self._smooth = flow.velocity(y), False
        if self._starting > 0:
            count = min(count, self._starting)
            self._starting -= count
        products, first, v = [], self.v, self.v
        for _ in range(count):
            y, v, W = flow.step(y, v)
            products.append(W)
        self.y, self.v, self.W = y, v, flow.product(y)
        self.t = start + count
        return Segment(start, self.t, np.stack([*products, self.W]), velocity=first)
