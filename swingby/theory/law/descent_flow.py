r"""Gradient descent of linear layers on any data, with momentum and weight decay: map and flow.

With :math:`S = X^\top X/n` and :math:`K = Y^\top X/n` the layers y follow, at every step,

.. math:: v \leftarrow m v + f(y), \qquad y \leftarrow y + \mathrm{lr}\, v, \qquad
          f_i = g\, W_{>i}^\top (K - W S)\, W_{<i}^\top - \lambda W_i,

with momentum m, weight decay :math:`\lambda` and the multiple g of the loss; by Nesterov's rule
:math:`y \leftarrow y + \mathrm{lr}\,(f + m v)`. The SIM task is K = S = A.

**Modified flow.** A smooth path obeys :math:`(e^D - 1 - m(1 - e^{-D}))\, y = \mathrm{lr}\,
(1 + \nu - \nu e^{-D}) f(y)`, where D is d/dt in steps and :math:`\nu` is m by Nesterov's rule, else
0. Solved order by order, with :math:`\varepsilon = \mathrm{lr}/(1 - m)` and
:math:`b = (1 + m)/(2(1 - m))`,

.. math::
   \dot y = \varepsilon f + \varepsilon^2 c_2 f'f
            + \varepsilon^3 \bigl(c_{3a} f'f'f + c_{3b} f''(f, f)\bigr) + O(\varepsilon^4), \\
   c_2 = \nu - b, \quad c_{3a} = -2 b c_2 - \tfrac16 + \nu c_2 - \tfrac{\nu}2, \quad
   c_{3b} = -b c_2 - \tfrac16 - \tfrac{\nu}2 .

At m = 0 these are the -1/2, 1/3 and 1/12 of :mod:`swingby.theory.law.layer_flow`, and as there no
derivative is programmed: three values of f have these elementary differentials.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.integrate import DOP853

from swingby.theory.law.layer_flow import LayerFlow
from swingby.theory.numbers import Floats

#: Weights of the twelve stages of the method of order 8 of Dormand and Prince, and of its step.
_STAGES, _STEP = [np.array(row[:k]) for k, row in enumerate(DOP853.A[:12])], DOP853.B
#: Distances from y, in units of eps c_2 f, that the second and third value of f may have.
_DISTANCES = (1.0, 2.0, 0.5, 1.5, 3.0, -1.0, -0.5)
#: Smallest weight of the third value: what it has to give is divided by it.
_SMALLEST_WEIGHT = 0.05
#: A matrix of so many rows or columns is large.
_LARGE = 64


def _norm(matrix: Floats) -> float:
    """The spectral norm; of a large oblong matrix from its small Gram matrix."""
    low, high = sorted(matrix.shape)
    if high < max(2 * low, _LARGE):
        return float(np.linalg.norm(matrix, 2))
    gram = matrix.dot(matrix.T) if matrix.shape[0] == low else matrix.T.dot(matrix)
    return math.sqrt(max(float(np.linalg.eigvalsh(gram)[-1]), 0.0))


@dataclass(frozen=True)
class Descent:
    """The rule of an optimizer, in numbers.

    lr: learning rate; multiple: g, the gradient's multiple of -(K - W S); momentum, nesterov,
    decay: as torch's SGD has them.
    """

    lr: float
    multiple: float = 1.0
    momentum: float = 0.0
    nesterov: bool = False
    decay: float = 0.0

    @property
    def pace(self) -> float:
        """The time eps of the flow that passes in a step."""
        return self.lr / (1 - self.momentum)

    @property
    def memory(self) -> float:
        """(1 + m)/(1 - m): how many times sooner than lr alone momentum makes steps coarse."""
        return (1 + self.momentum) / (1 - self.momentum)


class Combination(NamedTuple):
    """Values of f at y, y + eps second f_1 and y + eps (third_1 f_1 + third_2 f_2), weighted."""

    second: float
    third: tuple[float, float]
    weights: tuple[float, float, float]


def modified_coefficients(momentum: float, nesterov: bool) -> tuple[float, float, float]:
    """c_2, c_3a and c_3b of the modified flow.

    >>> modified_coefficients(0.0, False)  # Euler's: -1/2, 1/3 and 1/12
    (-0.5, 0.33333333333333337, 0.08333333333333334)
    """
    nu, b = momentum * nesterov, (1 + momentum) / (2 * (1 - momentum))
    c2 = nu - b
    return c2, -2 * b * c2 - 1 / 6 + nu * c2 - nu / 2, -b * c2 - 1 / 6 - nu / 2


def combination(c2: float, c3a: float, c3b: float) -> Combination:
    """Three values of f with these elementary differentials, of the smallest weights there are."""
    choices = []
    for i, j in itertools.permutations(_DISTANCES, 2):
        second, third = i * c2, j * c2
        w2, w3 = np.linalg.solve([[second, third], [second**2, third**2]], [c2, 2 * c3b])
        if abs(w3) < _SMALLEST_WEIGHT:
            continue
        inner = c3a / (w3 * second)
        weights = (float(1 - w2 - w3), float(w2), float(w3))
        size = max(abs(inner / c2), abs(third / c2), *map(abs, weights))
        choices.append((size, Combination(second, (float(third - inner), float(inner)), weights)))
    return min(choices)[1]


class DescentFlow(LayerFlow):
    """Map and modified flow of gradient descent, for weights in a vector; time in steps.

    `K` (q, p) and `S` (p, p): the moments of the data. `order`: up to which power of eps the flow
    is right, 1, 2 or 3.
    """

    def __init__(
        self, layers: Sequence[Floats], K: Floats, S: Floats, rule: Descent, order: int = 3
    ) -> None:
        super().__init__(layers, rule.multiple * np.diagonal(S), 0.0, 0)
        self._diagonal = not np.any(S - np.diag(np.diagonal(S)))
        self.K, self.S, self.rule, self.order = rule.multiple * K, rule.multiple * S, rule, order
        coefficients = modified_coefficients(rule.momentum, rule.nesterov)
        self._c2, self._c3a, _ = coefficients
        self._values = combination(*coefficients)
        self._input_norm = float(np.linalg.norm(self.S, 2))
        #: Values of the field so far: what a prediction has cost.
        self.evaluations = 0

    def residual(self, W: Floats) -> Floats:
        """The residual g (K - W S)."""
        return np.asarray(self.K - self.weighted(W))

    def weighted(self, before: Floats) -> Floats:
        """A matrix times g S."""
        return np.asarray(before * self.a if self._diagonal else before.dot(self.S))

    def field_and_product(self, y: Floats) -> tuple[Floats, Floats]:
        """The field f of the flow itself, and W."""
        self.evaluations += 1
        slopes, W = super().field_and_product(y)
        if self.rule.decay:
            slopes -= self.rule.decay * y
        return slopes, W

    def product(self, y: Floats) -> Floats:
        """The matrix W of the network."""
        layers = self.layers(y)
        W = layers[0]
        for layer in layers[1:]:
            W = layer.dot(W)
        return W

    def __call__(self, t: float, y: Floats) -> Floats:
        """The modified field, per step."""
        pace, first = self.rule.pace, self._field(y)
        if self.order == 1:
            return pace * first
        if self.order == 2:
            return pace * self._field(y + (self._c2 * pace) * first)
        values, (w1, w2, w3) = self._values, self._values.weights
        second = self._field(y + (values.second * pace) * first)
        b1, b2 = values.third
        third = self._field(y + ((b1 * pace) * first + (b2 * pace) * second))
        return (w1 * pace) * first + (w2 * pace) * second + (w3 * pace) * third

    def advanced(self, y: Floats, steps: float) -> Floats:
        """The weights so many steps later, by one step of the method of order 8."""
        slopes = np.empty((12, len(y)))
        slopes[0] = self(0.0, y)
        for k in range(1, 12):
            slopes[k] = self(0.0, y + steps * _STAGES[k].dot(slopes[:k]))
        return np.asarray(y + steps * _STEP.dot(slopes))

    def jacobian(self, t: float, y: Floats) -> Floats:
        """Jacobian of the modified field to first order: of eps f."""
        matrix = super().jacobian(t, y)
        matrix.flat[:: self.size + 1] -= self.rule.decay
        return self.rule.pace * matrix

    def modified_rates(self, rates: Floats) -> Floats:
        """Eigenvalues of the Jacobian of the modified field at rest, and nearly so elsewhere.

        `rates`: those of eps f.
        """
        if self.order == 1:
            return rates
        modified = rates + self._c2 * rates**2
        return modified if self.order == 2 else modified + self._c3a * rates**3

    def rate(self, y: Floats) -> float:
        """A bound of the norm of the Jacobian of f, from spectral norms."""
        layers = self.layers(y)
        # Of weights that diverge, products are infinite.
        norms = [np.float64(_norm(layer)) for layer in layers]
        rest = _norm(self.residual(self.product(y)))
        everything = range(len(norms))
        learned = sum(math.prod(norms[j] for j in everything if j != i) ** 2 for i in everything)
        pairs = {
            (i, j): math.prod(norms[k] for k in everything if k not in (i, j))
            for i, j in itertools.permutations(everything, 2)
        }
        growing = (
            max((sum(pairs[i, j] for j in everything if j != i) for i in everything), default=0.0)
            if pairs
            else 0.0
        )
        return float(self._input_norm * learned + rest * growing + self.rule.decay)

    def step(self, y: Floats, v: Floats) -> tuple[Floats, Floats, Floats]:
        """A step of the map: weights and velocity after it, and W before it."""
        f, W = self.field_and_product(y)
        rule = self.rule
        if not rule.momentum:
            return y + rule.lr * f, v, W
        v = rule.momentum * v + f
        return y + rule.lr * (f + rule.momentum * v if rule.nesterov else v), v, W

    def velocity(self, y: Floats) -> Floats:
        """The velocity that a smooth path has at y: from the flow a step back."""
        rule = self.rule
        before = self.advanced(y, -1.0)
        moved = (y - before) / rule.lr
        if not rule.momentum:
            return np.zeros_like(y)
        return (moved - self._field(before)) / rule.momentum if rule.nesterov else moved
