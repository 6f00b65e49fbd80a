r"""Half-times of deep linear networks: the law of stages for :math:`W = W_L \cdots W_1`.

Gradient descent on the loss (4.1), with rate h = lr, is explicit Euler on the layers of

.. math:: \dot W_i = W_{>i}^\top (I - W) A\, W_{<i}^\top, \qquad
          W_{>i} = W_L \cdots W_{i+1}, \quad W_{<i} = W_{i-1} \cdots W_1 .

**The law, leading order** (:func:`leading`). While W is small the factor I - W is the identity and
the flow is homogeneous: from c times the weights it runs :math:`c^{L-2}` times as fast, so its cost
does not depend on the scale. Follow it until some :math:`w_{kk}` is 1, cut the chain of concept k
out of every layer (:func:`deflate`), go on. Along an aligned chain
:math:`\dot w = L a_k w^{2-2/L} (1 - w)`, so the half-time is that of the homogeneous flow and
:math:`c_L/(L a_k)`, with :math:`c_L = \int_0^{1/2} w^{2/L-1}/(1-w)\,dw`.

**In full** (:func:`followed`). The nonlinear flow itself, with the steps of size h taken into
account: backward error analysis gives the field whose exact flow over h is one Euler step. It has
the elementary differentials of :mod:`swingby.theory.law.coordinates`; here its values are combined
from a few values of the field alone, as a Runge-Kutta method that looks back (:data:`TABLEAUX`). A
concept that is learned is cut out as above. Nothing is fitted.

Times are those of the flow: lr times steps.
"""

from __future__ import annotations

import functools
import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from swingby.theory.numbers import Floats

Layers = list[Floats]

#: Rows of stages, then weights, by the power of h up to which the modified field is right:
#: sum_i b_i f(Y_i), Y_i = y + h sum_j a_ij f(Y_j). The order conditions are those of Runge-Kutta
#: methods with the coefficients of Euler's modified field on the right, in place of 1/gamma.
TABLEAUX: dict[int, tuple[tuple[tuple[float, ...], ...], tuple[float, ...]]] = {
    0: ((), (1.0,)),
    1: (((-1 / 2,),), (0.0, 1.0)),
    2: (((-1.0,), (-1 / 4, -1 / 4)), (-1 / 6, -1 / 6, 4 / 3)),
}
#: A learned concept is cut out where its row and column of W are so many tolerances near to I, and
#: its chain from below and from above parallel up to so many (1 less the cosine). About a tenth of
#: that was seen as a relative error of what comes after.
LEARNED, PARALLEL = 10.0, 100.0
#: Weights beyond which no dense Jacobian is formed.
DENSE = 400
#: Steps of an integration after which it is given up.
MOST_STEPS = 20_000
GIVEN_UP = "the integration was given up"
TOO_LONG = "the wait is longer than is predicted"
AT_REST = "the gradient is 0 and stays so"


def product(layers: Sequence[Floats]) -> Floats:
    """W, the layers applied one after the other."""
    return functools.reduce(lambda done, layer: layer @ done, layers)


def packed(layers: Sequence[Floats]) -> Floats:
    """All weights as one vector."""
    return np.concatenate([layer.ravel() for layer in layers])


class Flow:
    """The flow of the layers, for weights as one vector.

    Its shape, its signals, the size h of steps it is modified for, and whether it saturates.
    """

    def __init__(self, layers: Sequence[Floats], a: Floats, h: float, order: int) -> None:
        self.shapes = [layer.shape for layer in layers]
        ends = np.cumsum([layer.size for layer in layers]).tolist()
        self._parts = [
            slice(end - p * q, end) for end, (p, q) in zip(ends, self.shapes, strict=True)
        ]
        self.size, self.a, self.h = ends[-1], a, h
        self.stages, self.weights = TABLEAUX[order if h > 0 else 0]
        self.saturates = True

    def layers(self, y: Floats) -> Layers:
        """The layers in a vector of weights; views."""
        pairs = zip(self._parts, self.shapes, strict=True)
        return [y[part].reshape(shape) for part, shape in pairs]

    def _plain(self, y: Floats) -> Floats:
        """The field of the flow itself."""
        layers, found = self.layers(y), []
        before = [*itertools.accumulate(layers, lambda done, layer: layer.dot(done))]
        back = self.rest(before[-1])
        for i in range(len(layers) - 1, 0, -1):
            found.append(back.dot(before[i - 1].T))
            back = layers[i].T.dot(back)
        return packed([*found, back][::-1])

    def rest(self, W: Floats) -> Floats:
        """(I - W) A, or A for the homogeneous flow."""
        if not self.saturates:
            return np.diag(self.a)
        rest = W * -self.a
        rest.flat[:: len(self.a) + 1] += self.a
        return rest

    def __call__(self, t: float, y: Floats) -> Floats:
        """The modified field."""
        slopes = [self._plain(y)]
        for row in self.stages:
            slopes.append(self._plain(y + np.dot(np.multiply(self.h, row), slopes)))
        return np.asarray(np.dot(self.weights, slopes))

    def jacobian(self, t: float, y: Floats) -> Floats:
        """Of the plain field: near enough for Newton's method on the modified one."""
        layers, one = self.layers(y), np.eye(len(self.a))
        L = len(layers)
        before = [*itertools.accumulate(layers[:-1], lambda done, W: W @ done, initial=one)]
        after = [*itertools.accumulate(layers[:0:-1], np.matmul, initial=one)][::-1]
        rest = self.rest(layers[-1] @ before[-1])
        found = np.empty((self.size, self.size))
        for j in range(L):
            between = np.eye(self.shapes[j][1])
            pulled = after[j].T @ rest
            for i in range(j, -1, -1):
                left, right = after[i].T @ after[j], (before[i] * self.a) @ before[j].T
                block = -np.einsum("ac,bd->abcd", left, right)
                if i < j:
                    # W_>i holds layer j: its transpose comes between.
                    block += np.einsum("da,cb->abcd", between, pulled @ before[i].T)
                    between = between @ layers[i]
                else:
                    between = np.eye(self.shapes[j][1])
                block = block.reshape(layers[i].size, layers[j].size)
                found[self._parts[i], self._parts[j]] = block
                found[self._parts[j], self._parts[i]] = block.T
        return found


def chains(layers: Sequence[Floats], k: int) -> tuple[Layers, Layers]:
    """Between all layers: the image of the unit vector e_k from below, and from above."""
    e = np.eye(layers[0].shape[1])[k]
    up = itertools.accumulate(layers, lambda v, layer: layer @ v, initial=e)
    down = itertools.accumulate(layers[::-1], lambda v, layer: layer.T @ v, initial=e)
    return [*up], [*down][::-1]


def deflate(layers: Sequence[Floats], k: int) -> Layers:
    r"""The network without concept k.

    Between two layers the chain of k is cut out by the oblique projector along the image of e_k
    from below, onto what its image from above does not see. Products commute with that:
    the product of the new layers is the Schur complement :math:`W - W e_k e_k^\top W/w_{kk}`, at
    every depth, and an aligned chain leaves the others as they are.
    """
    up, down = chains(layers, k)
    found = []
    for i, layer in enumerate(layers):
        if i:
            layer = layer - np.outer(layer @ up[i], down[i]) / (down[i] @ up[i])
        if i + 1 < len(layers):
            layer = layer - np.outer(up[i + 1], down[i + 1] @ layer) / (down[i + 1] @ up[i + 1])
        found.append(layer)
    found[0], found[-1] = np.delete(found[0], k, 1), np.delete(found[-1], k, 0)
    return found


def sharpness(layers: Sequence[Floats], a: Floats) -> float:
    """Bound of the fastest rate of the flow, L a_max where the network is learned and balanced."""
    L = len(layers)
    norms = [float(np.linalg.norm(layer, 2)) for layer in layers]
    start = sum((math.prod(norms) / one) ** 2 for one in norms) if min(norms) > 0 else 0.0
    return float(a.max()) * max(L, start)


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
    found = np.full(len(a), np.nan)
    which, layers, t = np.arange(len(a)), [np.array(one) for one in layers], 0.0
    power = 2 / depth - 1
    # From `level` to 1 along an aligned chain.
    on = math.log(1 / level) if depth == 2 else (1 - level**power) / power
    while (a > 0).any():
        flow = Flow(layers, a, h, 1)
        flow.saturates = False
        if not flow(t, packed(layers)).any():
            return found, AT_REST
        steps = _Steps(flow, t, layers, tolerance=tolerance, stiff=False)
        k, y = int(np.diagonal(steps.W).argmax()), steps.y
        if steps.W[k, k] < level:
            k = -1
        while k < 0:
            if not steps.go():
                return found, GIVEN_UP
            if steps.t >= end:
                return found, TOO_LONG
            k, t, y = steps.first(level)
        found[which[k]] = t + (on + to_half(depth)) / (depth * a[k])
        layers = deflate(flow.layers(y), k)
        a, which = np.delete(a, k), np.delete(which, k)
    return found, ""


def followed(
    layers: Sequence[Floats], a: Floats, h: float, order: int, tolerance: float, end: float
) -> tuple[Floats, str]:
    """Half-times by the modified flow, and why some are nan."""
    found = np.where(np.diagonal(product(layers)) >= 0.5, 0.0, np.nan)
    which, layers, t = np.arange(len(a)), [np.array(one) for one in layers], 0.0
    count = 0
    while True:
        flow = Flow(layers, a, h, order)
        if not flow(t, packed(layers)).any():
            return found, AT_REST
        steps = _Steps(flow, t, layers, tolerance=tolerance, stiff=True)
        while np.isnan(found[which[a > 0]]).any():
            if count >= MOST_STEPS or not steps.go():
                return found, GIVEN_UP
            if steps.t >= end:
                return found, TOO_LONG
            count += 1
            W = steps.W
            for k in map(int, np.flatnonzero((steps.before < 0.5) & (np.diagonal(W) >= 0.5))):
                if np.isnan(found[which[k]]):
                    found[which[k]] = steps.passage(k, 0.5)
            k = _learned(W, flow.layers(steps.y), tolerance)
            if k >= 0:
                break
        else:
            return found, ""
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
    """An integration, one step at a time: its time and its weights."""

    def __init__(
        self, flow: Flow, t: float, layers: Layers, *, tolerance: float, stiff: bool
    ) -> None:
        from scipy.integrate import DOP853, LSODA

        self.flow, self.t, self.y = flow, t, packed(layers)
        dense = flow.size <= DENSE and stiff
        options: dict[str, Any] = {"jac": flow.jacobian} if dense else {}
        solver: Callable[..., Any] = LSODA if dense else DOP853
        # Beside a chain of size 1 lie parts of the size of the start. (Steps are linear in slopes,
        # so errors of a chain lie along it and are cut out with it.)
        floor = max(1e-2 * tolerance * max(float(np.abs(one).max()) for one in layers), 1e-300)
        self._solver = solver(flow, t, self.y, np.inf, rtol=tolerance, atol=floor, **options)
        self.W = product(layers)
        self.before = np.diagonal(self.W)

    def go(self) -> bool:
        """One step; False where none is possible."""
        self.before = np.diagonal(self.W)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            # LSODA says in a warning why it fails; that it fails is all that matters.
            warnings.simplefilter("ignore")
            self._solver.step()
        self.t, self.y = float(self._solver.t), np.asarray(self._solver.y)
        self.W = product(self.flow.layers(self.y))
        return self._solver.status == "running" and bool(np.isfinite(self.W).all())

    def passage(self, k: int, level: float) -> float:
        """When w_kk passed a level in the last step."""
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
