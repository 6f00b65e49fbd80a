r"""The flow of the layers of a deep linear network :math:`W = W_L \cdots W_1`.

Gradient descent on the loss (4.1), with rate h = lr, is explicit Euler on the layers of

.. math:: \dot W_i = W_{>i}^\top (I - W) A\, W_{<i}^\top, \qquad
          W_{>i} = W_L \cdots W_{i+1}, \quad W_{<i} = W_{i-1} \cdots W_1 .

The steps of size h are taken into account: backward error analysis gives the field whose exact flow
over h is one Euler step. It has the elementary differentials of
:mod:`swingby.theory.law.modified_flow`; here its values are combined from a few values of the field
alone, as a Runge-Kutta method that looks back (:data:`TABLEAUX`).
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence

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


def product(layers: Sequence[Floats]) -> Floats:
    """The product W of the layers."""
    return functools.reduce(lambda done, layer: layer @ done, layers)


def packed(layers: Sequence[Floats]) -> Floats:
    """All weights in a vector."""
    return np.concatenate([layer.ravel() for layer in layers])


class LayerFlow:
    """The flow of the layers, for weights in a vector.

    Its shape, its signals, the size h of steps it is modified for, and whether it saturates.
    """

    def __init__(self, layers: Sequence[Floats], a: Floats, h: float, order: int) -> None:
        self.shapes = [layer.shape for layer in layers]
        ends = np.cumsum([layer.size for layer in layers]).tolist()
        self._spans = [
            slice(end - p * q, end) for end, (p, q) in zip(ends, self.shapes, strict=True)
        ]
        self.size, self.a, self.h = ends[-1], a, h
        self.stages, self.weights = TABLEAUX[order if h > 0 else 0]
        self.saturates = True

    def layers(self, y: Floats) -> Layers:
        """The layers in a vector of weights; views."""
        pairs = zip(self._spans, self.shapes, strict=True)
        return [y[span].reshape(shape) for span, shape in pairs]

    def field_and_product(self, y: Floats) -> tuple[Floats, Floats]:
        """The field of the flow itself, and the product W of the layers."""
        layers, slopes = self.layers(y), np.empty_like(y)
        before = [*itertools.accumulate(layers, lambda done, layer: layer.dot(done))]
        back = self.residual(before[-1])
        for i in range(len(layers) - 1, 0, -1):
            slopes[self._spans[i]] = back.dot(before[i - 1].T).ravel()
            back = layers[i].T.dot(back)
        slopes[self._spans[0]] = back.ravel()
        return slopes, before[-1]

    def _field(self, y: Floats) -> Floats:
        return self.field_and_product(y)[0]

    def residual(self, W: Floats) -> Floats:
        """(I - W) A, or A for the homogeneous flow."""
        if not self.saturates:
            return np.diag(self.a)
        rest = W * -self.a
        rest.flat[:: len(self.a) + 1] += self.a
        return rest

    def weighted(self, before: Floats) -> Floats:
        """A matrix times the second moment of the inputs: A of the task."""
        return before * self.a

    def __call__(self, t: float, y: Floats) -> Floats:
        """The modified field."""
        slopes = [self._field(y)]
        for row in self.stages:
            slopes.append(self._field(y + np.dot(np.multiply(self.h, row), slopes)))
        return np.asarray(np.dot(self.weights, slopes))

    def jacobian(self, t: float, y: Floats) -> Floats:
        """Jacobian of the unmodified field, good enough for Newton's method on the modified."""
        layers = self.layers(y)
        L = len(layers)
        below, above = np.eye(self.shapes[0][1]), np.eye(self.shapes[-1][0])
        before = [*itertools.accumulate(layers[:-1], lambda done, W: W @ done, initial=below)]
        after = [*itertools.accumulate(layers[:0:-1], np.matmul, initial=above)][::-1]
        rest = self.residual(layers[-1] @ before[-1])
        matrix = np.empty((self.size, self.size))
        for j in range(L):
            between = np.eye(self.shapes[j][1])
            pulled = after[j].T @ rest
            for i in range(j, -1, -1):
                left_factor, right_factor = (
                    after[i].T @ after[j],
                    self.weighted(before[i]) @ before[j].T,
                )
                block = -np.einsum("ac,bd->abcd", left_factor, right_factor)
                if i < j:
                    # W_>i holds layer j: its transpose comes between.
                    block += np.einsum("da,cb->abcd", between, pulled @ before[i].T)
                    between = between @ layers[i]
                else:
                    between = np.eye(self.shapes[j][1])
                block = block.reshape(layers[i].size, layers[j].size)
                matrix[self._spans[i], self._spans[j]] = block
                matrix[self._spans[j], self._spans[i]] = block.T
        return matrix


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
    deflated = []
    for i, layer in enumerate(layers):
        if i:
            layer = layer - np.outer(layer @ up[i], down[i]) / (down[i] @ up[i])
        if i + 1 < len(layers):
            layer = layer - np.outer(up[i + 1], down[i + 1] @ layer) / (down[i + 1] @ up[i + 1])
        deflated.append(layer)
    deflated[0], deflated[-1] = np.delete(deflated[0], k, 1), np.delete(deflated[-1], k, 0)
    return deflated


def sharpness(layers: Sequence[Floats], a: Floats) -> float:
    """Bound of the fastest rate of the flow; L a_max for a learned, balanced network."""
    L = len(layers)
    norms = [float(np.linalg.norm(layer, 2)) for layer in layers]
    start = sum((math.prod(norms) / norm) ** 2 for norm in norms) if min(norms) > 0 else 0.0
    return float(a.max()) * max(L, start)
