r"""The path of a linear network under gradient descent: by its map or by its modified flow.

Both belong to :mod:`swingby.theory.law.descent_flow`. With :math:`\rho` a bound of the rates, a
step is coarse by :math:`x = \rho \varepsilon (1 + m)/(1 - m)`. Where x is large the map itself is
iterated: then few steps matter, and no expansion in lr converges. Where x is small the flow is
followed, in steps of a fixed fraction of :math:`1/(\rho\varepsilon)`. Such steps give every part of
the weights, however small beside the others, the same relative error; a controller of errors would
see the largest alone. With momentum the first steps are always those of the map, until the buffer
that an optimizer starts with, empty or not, no longer matters.

A learned chain of three or more layers turns fast while small modes wait for a time that is a power
of 1/scale. So the flow of few weights is integrated by LSODA, which is implicit there, with
tolerances far below the smallest part that matters; of many weights, whose Jacobian is dear, in
explicit steps of that fraction. LSODA also goes through long waits at a larger x, where what is
fast is at rest: what counts there is the coarseness of the motion itself.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from swingby.theory.law.descent_flow import DescentFlow
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
#: A motion so much slower than the fastest rate is left to LSODA.
_SLOW = 0.05
#: Steps of the map at a time.
_FEWEST, _MOST = 4, 50
#: What may be left of the buffer at the start.
_BUFFER_LEFT = 1e-9
#: Weights up to which LSODA integrates.
_DENSE = 400
#: Its absolute tolerance: its relative one, so many times the smallest part.
_PART = 1e3
#: Parts that are smaller beside the largest are rounding.
_ROUNDING = 1e-15


class Accuracy(NamedTuple):
    """How finely the flow is followed.

    order: the power of eps up to which it is right; fraction: an explicit step, in units of
    1/(rho eps); tolerance: the relative one of LSODA.
    """

    order: int
    fraction: float
    tolerance: float


#: Of what is reported, and of the coarser path that it is compared with.
FINE, COARSE = Accuracy(3, 0.8, 1e-10), Accuracy(2, 1.2, 1e-8)


@dataclass(frozen=True)
class Segment:
    """A stretch of the path: steps of the map, or one step of the flow, between two times."""

    start: float
    end: float
    #: W at every step of the map, or at both ends.
    products: Floats
    #: W at a time of the flow; None for the map.
    inside: Callable[[float], Floats] | None = None

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
        self._dense = flow.size <= _DENSE
        self._solver: Any = None

    def pace(self) -> Pace:
        """How fast the weights move now; beyond all measure where they diverge."""
        if not np.abs(self.y).max() < _DIVERGED:
            return Pace(math.inf, math.inf, math.inf, self.y)
        # Of weights that diverge, products overflow first.
        with np.errstate(over="ignore", invalid="ignore"):
            flow, rate = self.flow, self.flow.rate(self.y)
            size = rate * float(np.linalg.norm(self.y))
            slopes = flow.field_and_product(self.y)[0]
            motion = float(np.linalg.norm(slopes)) / size if size > 0 else 0.0
        return Pace(rate, rate * flow.rule.pace * flow.rule.memory, motion, slopes)

    def advance(self, pace: Pace, last: float) -> Segment:
        """Go on, in explicit steps not beyond the step `last`."""
        limit = _MAP_SHARE * self.accuracy.fraction
        smooth = self._starting <= 0 and pace.coarseness <= limit
        rule = self.flow.rule
        fast = pace.rate * rule.pace
        if self._starting <= 0 and self._dense and fast <= _FASTEST and self._steady(pace.slopes):
            moving = self._moving(pace.slopes)
            waiting = limit * (_MOVING if self._smooth else _WAITING)
            if moving <= (_SLOW * pace.coarseness if smooth else waiting) or (
                smooth and self._solver is not None
            ):
                segment = self._by_solver()
                if segment is not None:
                    return segment
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

    def _by_solver(self) -> Segment | None:
        """A step of LSODA; None where it has given up."""
        flow = self.flow
        if self._solver is None:
            from scipy.integrate import LSODA

            tolerance = self.accuracy.tolerance
            floor = max(_PART * tolerance * self._smallest_part(), 1e-300)
            self._solver = LSODA(
                flow, self.t, self.y, np.inf, rtol=tolerance, atol=floor, jac=flow.modified_jacobian
            )
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            # LSODA says in a warning why it fails; that it fails is all that matters.
            warnings.simplefilter("ignore")
            self._solver.step()
        if self._solver.status != "running":
            self._dense, self._solver = False, None
            return None
        path = self._solver.dense_output()
        return self._moved(
            float(self._solver.t), np.array(self._solver.y), lambda t: flow.product(path(t))
        )

    def _smallest_part(self) -> float:
        """The smallest singular value of a layer that a mode may need, and that is no rounding."""
        layers, count = self.flow.layers(self.y), min(self.flow.K.shape)
        values = np.concatenate(
            [np.linalg.svd(layer, compute_uv=False)[:count] for layer in layers]
        )
        return float(values[values > _ROUNDING * values.max()].min(initial=values.max()))

    def _by_map(self, count: int) -> Segment:
        flow, start, y = self.flow, self.t, self.y
        self._solver = None
        if self._smooth:
            # The map counts whole steps; the flow may have stopped between them.
            early = math.ceil(start) - start
            if early > 0:
                return self._by_flow(early)
            self.v, self._smooth = flow.velocity(y), False
        if self._starting > 0:
            count = min(count, self._starting)
            self._starting -= count
        products, v = [], self.v
        for _ in range(count):
            y, v, W = flow.step(y, v)
            products.append(W)
        self.y, self.v, self.W = y, v, flow.product(y)
        self.t = start + count
        return Segment(start, self.t, np.stack([*products, self.W]))
