r"""Half-times of deep linear networks: the law of stages for :math:`W = W_L \cdots W_1`.

The layers follow the flow of :mod:`swingby.theory.law.layer_flow`.

**The law, leading order** (:func:`leading`). While W is small the factor I - W is the identity and
the flow is homogeneous: from c times the weights it runs :math:`c^{L-2}` times as fast, so its cost
does not depend on the scale. Follow it until some :math:`w_{kk}` is 1, cut the chain of concept k
out of every layer (:func:`~swingby.theory.law.layer_flow.deflate`), go on. Along an aligned chain
:math:`\dot w = L a_k w^{2-2/L} (1 - w)`, so the half-time is that of the homogeneous flow and
:math:`c_L/(L a_k)`, with :math:`c_L = \int_0^{1/2} w^{2/L-1}/(1-w)\,dw`.

**In full** (:func:`followed`). The nonlinear flow itself, with the steps of size h taken into
account. A concept that is learned is cut out as above. Nothing is fitted.

Times are those of the flow: lr times steps.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from swingby.theory.law.layer_flow import LayerFlow, Layers, chains, deflate, packed, product
from swingby.theory.numbers import Floats

#: A learned concept is cut out where its row and column of W are so many tolerances near to I, and
#: its chain from below and from above parallel up to so many (1 less the cosine). About a tenth of
#: that was seen as a relative error of what comes after.
LEARNED, PARALLEL = 10.0, 100.0
#: Weights beyond which no dense Jacobian is formed.
_DENSE = 400
#: Steps of an integration after which it is given up.
MOST_STEPS = 20_000
_GIVEN_UP = "the integration was given up"
_TOO_LONG = "the wait is longer than is predicted"
_AT_REST = "the gradient is 0 and stays so"


def to_half(depth: int) -> float:
    r"""L times a_k times the time from w_kk = 1 of the homogeneous flow to w_kk = 1/2 of the other.

    That is :math:`c_L - \int_{1/2}^1 w^{2/L-2} dw`.

    >>> round(to_half(2), 12)  # c_2 = log 2
    0.0
    """
    from scipy.integrate import quad

    # With u = w^(2/L), w^(2/L - 1) dw = (L/2) du.
    c = quad(lambda u: depth / 2 / (1 - u ** (depth / 2)), 0, 0.5 ** (2 / depth))[0]
    power = 2 / depth - 1
    between = math.log(2) if depth == 2 else (1 - 0.5**power) / power
    return float(c - between)


def leading(
    layers: Sequence[Floats],
    a: Floats,
    h: float,
    tolerance: float,
    end: float,
    level: float = 1.0,
) -> tuple[Floats, str]:
    """Half-times by homogeneous flow and deflation, and why some are nan.

    `level` is where w_kk is cut out; the law says 1, and how much another one changes tells how far
    the law can be trusted.
    """
    depth = len(layers)
    half_times = np.full(len(a), np.nan)
    which, layers, t = np.arange(len(a)), [np.array(layer) for layer in layers], 0.0
    power = 2 / depth - 1
    # From `level` to 1 along an aligned chain.
    climb = math.log(1 / level) if depth == 2 else (1 - level**power) / power
    while (a > 0).any():
        flow = LayerFlow(layers, a, h, 1)
        flow.saturates = False
        if not flow(t, packed(layers)).any():
            return half_times, _AT_REST
        steps = _Steps(flow, t, layers, tolerance=tolerance, stiff=False)
        k, y = int(np.diagonal(steps.W).argmax()), steps.y
        if steps.W[k, k] < level:
            k = -1
        while k < 0:
            if not steps.advance():
                return half_times, _GIVEN_UP
            if steps.t >= end:
                return half_times, _TOO_LONG
            k, t, y = steps.first(level)
        half_times[which[k]] = t + (climb + to_half(depth)) / (depth * a[k])
        layers = deflate(flow.layers(y), k)
        a, which = np.delete(a, k), np.delete(which, k)
    return half_times, ""


def followed(
    layers: Sequence[Floats], a: Floats, h: float, order: int, tolerance: float, end: float
) -> tuple[Floats, str]:
    """Half-times by the modified flow, and why some are nan."""
    half_times = np.where(np.diagonal(product(layers)) >= 0.5, 0.0, np.nan)
    which, layers, t = np.arange(len(a)), [np.array(layer) for layer in layers], 0.0
    count = 0
    while True:
        flow = LayerFlow(layers, a, h, order)
        if not flow(t, packed(layers)).any():
            return half_times, _AT_REST
        steps = _Steps(flow, t, layers, tolerance=tolerance, stiff=True)
        while np.isnan(half_times[which[a > 0]]).any():
            if count >= MOST_STEPS or not steps.advance():
                return half_times, _GIVEN_UP
            if steps.t >= end:
                return half_times, _TOO_LONG
            count += 1
            W = steps.W
            for k in map(int, np.flatnonzero((steps.before < 0.5) & (np.diagonal(W) >= 0.5))):
                if np.isnan(half_times[which[k]]):
                    half_times[which[k]] = steps.passage(k, 0.5)
            k = _learned(W, flow.layers(steps.y), tolerance)
            if k >= 0:
                break
        else:
            return half_times, ""
        t, layers = steps.t, deflate(flow.layers(steps.y), k)
        a, which = np.delete(a, k), np.delete(which, k)


def _learned(W: Floats, layers: Sequence[Floats], tolerance: float) -> int:
    """A concept that may be cut out; -1 if there is none."""
    off = np.abs(W - np.eye(len(W)))
    worst = np.maximum(off.max(axis=0), off.max(axis=1))
    k = int(worst.argmin())
    if len(W) < 2 or worst[k] >= LEARNED * tolerance:
        return -1
    apart = max(
        1 - abs(float(up @ down)) / math.sqrt(float((up @ up) * (down @ down)))
        for up, down in zip(*chains(layers, k), strict=True)
    )
    return k if apart < PARALLEL * tolerance else -1


class _Steps:
    """An integration, step by step: its time and its weights."""

    def __init__(
        self, flow: LayerFlow, t: float, layers: Layers, *, tolerance: float, stiff: bool
    ) -> None:
        from scipy.integrate import DOP853, LSODA

        self.flow, self.t, self.y = flow, t, packed(layers)
        dense = flow.size <= _DENSE and stiff
        options: dict[str, Any] = {"jac": flow.jacobian} if dense else {}
        solver: Callable[..., Any] = LSODA if dense else DOP853
        # Beside a chain of size 1 lie parts of the size of the start. (Steps are linear in slopes,
        # so errors of a chain lie along it and are cut out with it.)
        floor = max(1e-2 * tolerance * max(float(np.abs(layer).max()) for layer in layers), 1e-300)
        self._solver = solver(flow, t, self.y, np.inf, rtol=tolerance, atol=floor, **options)
        self.W = product(layers)
        self.before = np.diagonal(self.W)

    def advance(self) -> bool:
        """Take a step; False if the integration cannot go on."""
        self.before = np.diagonal(self.W)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            # LSODA says in a warning why it fails; that it fails is all that matters.
            warnings.simplefilter("ignore")
            self._solver.step()
        self.t, self.y = float(self._solver.t), np.asarray(self._solver.y)
        self.W = product(self.flow.layers(self.y))
        return self._solver.status == "running" and bool(np.isfinite(self.W).all())

    def passage(self, k: int, level: float) -> float:
        """Time at which w_kk passed a level in the last step."""
        from scipy.optimize import brentq

        path = self._solver.dense_output()

        def above(t: float) -> float:
            return float(product(self.flow.layers(path(t)))[k, k]) - level

        low, high = self._solver.t_old, self._solver.t
        if not above(low) < 0 < above(high):
            return float(high)
        return float(brentq(above, low, high, xtol=1e-14 * high, rtol=1e-14))

    def first(self, level: float) -> tuple[int, float, Floats]:
        """The first entry past a level in the last step, when, and the weights; -1 for none."""
        passed = np.flatnonzero(np.diagonal(self.W) >= level)
        if not passed.size:
            return -1, self.t, self.y
        t, k = min((self.passage(int(k), level), int(k)) for k in passed)
        return k, t, np.asarray(self._solver.dense_output()(t))
