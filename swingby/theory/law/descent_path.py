r"""The path of a linear network under gradient descent: by its map or by its modified flow.

Both belong to :mod:`swingby.theory.law.descent_flow`. With :math:`\rho` a bound of the rates, a
step is coarse by :math:`x = \rho \varepsilon (1 + m)/(1 - m)`. Where x is large the map itself is
iterated: then few steps matter, and no expansion in lr converges. Where x is small the flow is
followed, in steps of a fixed fraction of :math:`1/(\rho\varepsilon)`. Such steps give every part of
the weights, however small beside the others, the same relative error; a controller of errors would
see the largest alone. With momentum the first steps are always those of the map, until the empty
buffer that an optimizer starts with no longer matters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from swingby.theory.law.descent_flow import DescentFlow
from swingby.theory.numbers import Floats

#: x from which the map costs less than the flow, per fraction of 1/(rho eps) in a step: a step of
#: the flow costs 36 gradients, and goes as far as about 40 of the map at that x.
_MAP_SHARE = 1 / 40
#: Steps of the map at a time.
_FEWEST, _MOST = 4, 50
#: What may be left of the empty buffer.
_BUFFER_LEFT = 1e-9


@dataclass(frozen=True)
class Segment:
    """A stretch of the path: steps of the map, or one step of the flow, between two times."""

    flow: DescentFlow
    start: float
    end: float
    #: Weights at the start.
    y: Floats
    #: W at every step of the map, or at both ends.
    products: Floats
    mapped: bool

    def product(self, t: float) -> Floats:
        """W at a time; between steps of the map on a straight line."""
        if self.mapped:
            k = min(int(t - self.start), len(self.products) - 2)
            share = t - self.start - k
            return np.asarray((1 - share) * self.products[k] + share * self.products[k + 1])
        return self.flow.product(self.flow.advanced(self.y, t - self.start))


class Pace(NamedTuple):
    """How fast weights move: rho, x, and the norm of the field in units of rho times theirs."""

    rate: float
    coarseness: float
    motion: float


class DescentPath:
    """A path that goes on from segment to segment: its time, weights and velocity.

    `fraction`: a step of the flow, in units of 1/(rho eps).
    """

    def __init__(self, flow: DescentFlow, y: Floats, fraction: float) -> None:
        self.flow, self.y, self.t, self.fraction = flow, y, 0.0, fraction
        self.v, self._smooth = np.zeros_like(y), False
        momentum = flow.rule.momentum
        self._starting = math.ceil(math.log(_BUFFER_LEFT) / math.log(momentum)) if momentum else 0
        self.W = flow.product(y)

    def pace(self) -> Pace:
        """How fast the weights move now."""
        flow, rate = self.flow, self.flow.rate(self.y)
        size = rate * float(np.linalg.norm(self.y))
        slopes = flow.field_and_product(self.y)[0]
        motion = float(np.linalg.norm(slopes)) / size if size > 0 else 0.0
        return Pace(rate, rate * flow.rule.pace * flow.rule.memory, motion)

    def advance(self, pace: Pace, last: float) -> Segment:
        """Go on, by the flow not beyond the step `last`."""
        if self._starting > 0 or pace.coarseness > _MAP_SHARE * self.fraction:
            return self._by_map(int(np.clip(1 / pace.coarseness, _FEWEST, _MOST)))
        steps = min(self.fraction / (pace.rate * self.flow.rule.pace), last - self.t)
        start, y, W = self.t, self.y, self.W
        self.y, self._smooth = self.flow.advanced(y, steps), True
        self.t, self.W = start + steps, self.flow.product(self.y)
        return Segment(self.flow, start, self.t, y, np.stack([W, self.W]), mapped=False)

    def _by_map(self, count: int) -> Segment:
        flow, start, y = self.flow, self.t, self.y
        # The map counts whole steps; the flow may have stopped between them.
        if self._smooth:
            early = math.ceil(start) - start
            if early > 0:
                self.y, W = flow.advanced(y, early), self.W
                self.t, self.W = float(math.ceil(start)), flow.product(self.y)
                return Segment(flow, start, self.t, y, np.stack([W, self.W]), mapped=False)
            self.v, self._smooth = flow.velocity(y), False
        if self._starting > 0:
            count = min(count, self._starting)
            self._starting -= count
        products, v = [], self.v
        for _ in range(count):
            y, v, W = flow.step(y, v)
            products.append(W)
        first, self.y, self.v = self.y, y, v
        self.t, self.W = start + count, flow.product(y)
        products.append(self.W)
        return Segment(flow, start, self.t, first, np.stack(products), mapped=True)
