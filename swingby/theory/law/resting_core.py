r"""Long steps of the modified flow while what is fast in a network is at rest.

A learned chain turns at a rate of the order of the signal, modes that are still small at one that
is a power of their size. In the principal directions of its hidden layers the fast part is a small
*core*: the network of the few large directions. In eigenvectors of its Jacobian an implicit step is
a division, so a step is as long as what is *slow* allows, whatever the size of the layers:

.. math:: Y_i = y + h \sum_j a_{ij} \tilde f(Y_j),

collocation at the s nodes of Radau, of order 2s - 1. It is iterated: by Newton in the core, with
its Jacobian at the start of the step, and by substitution outside, where h times the rates is a
fixed fraction. So small parts have the same relative error, whatever the size of the others.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from swingby.theory.law.descent_flow import DescentFlow
from swingby.theory.law.layer_flow import Layers, packed
from swingby.theory.numbers import Floats

#: Nodes of a step.
_NODES = 5
#: Directions belong to the core from this share of the largest eigenvalue on, and weights in it.
_LARGE, _MOST = 1e-3, 600
#: Iterations at most; change that is rounding; that may be, where it shrinks no more.
_ITERATIONS, _ROUNDING, _STALLED = 30, 1e-13, 1e-11
#: Iterations in which a change must not grow, and then must shrink by this factor.
_PATIENCE, _SHRINKS = 3, 0.9
#: Lanczos steps for the fastest slow rate, and the distance of differences in units of weights.
_LANCZOS, _DIFFERENCE = 8, 1e-6


def _collocation(count: int) -> tuple[Floats, Floats]:
    """Nodes of Radau in (0, 1], and the integrals of their Lagrange polynomials up to each."""
    legendre = np.polynomial.legendre.Legendre
    roots = (legendre.basis(count) - legendre.basis(count - 1)).roots()
    nodes, powers = (np.sort(roots.real) + 1) / 2, np.arange(count)
    integrals = nodes[:, None] ** (powers + 1) / (powers + 1)
    return nodes, integrals @ np.linalg.inv(nodes[:, None] ** powers)


_AT, _INTEGRALS = _collocation(_NODES)
_ALL_NODES = np.append(0.0, _AT)


class LongStep(NamedTuple):
    """Weights at the start and at all nodes of a step, and how many iterations it took."""

    nodes: Floats
    iterations: int

    def at(self, share: float) -> Floats:
        """Weights at a share of the step; beyond it, extrapolated."""
        apart = _ALL_NODES[:, None] - _ALL_NODES
        np.fill_diagonal(apart, 1.0)
        ahead = np.where(np.eye(len(_ALL_NODES)) > 0, 1.0, share - _ALL_NODES)
        return np.asarray((ahead / apart).prod(axis=1) @ self.nodes)


class RestingCore:
    """The fast part of a flow at some weights, in eigenvectors of its Jacobian."""

    def __init__(self, flow: DescentFlow, y: Floats) -> None:
        self.flow, layers = flow, flow.layers(y)
        hidden = [
            _largest(low @ low.T + high.T @ high, min(flow.K.shape))
            for low, high in itertools.pairwise(layers)
        ]
        self._left, self._right = [*hidden, None], [None, *hidden]
        core = self._within(y)
        self.size = sum(layer.size for layer in core)
        if self.size > _MOST:
            return
        rule = flow.rule
        moments = flow.K / rule.multiple, flow.S / rule.multiple
        self._core = DescentFlow(core, *moments, rule, flow.order)
        values, self._vectors = np.linalg.eigh(self._core.jacobian(0.0, packed(core)))
        self._values = flow.modified_rates(values)

    @property
    def small(self) -> bool:
        """Whether its Jacobian is small enough to be of use."""
        return self.size <= _MOST

    def _within(self, y: Floats) -> Layers:
        """The layers of the core."""
        layers = []
        for layer, left, right in zip(self.flow.layers(y), self._left, self._right, strict=True):
            layer = layer if left is None else left.T @ layer
            layers.append(layer if right is None else layer @ right)
        return layers

    def _coordinates(self, y: Floats) -> Floats:
        return np.asarray(self._vectors.T @ packed(self._within(y)))

    def _whole(self, coordinates: Floats) -> Floats:
        """The weights of the network that a vector of coordinates stands for."""
        core, layers = self._core.layers(self._vectors @ coordinates), []
        for layer, left, right in zip(core, self._left, self._right, strict=True):
            layer = layer if left is None else left @ layer
            layers.append(layer if right is None else layer @ right.T)
        return packed(layers)

    def slow_rate(self, y: Floats) -> float:
        """The largest rate, per step, outside the core, or of growth in it."""
        pace, growth = self.flow.rule.pace, max(float(self._values.max()), 0.0)
        step = _DIFFERENCE * float(np.linalg.norm(y))
        vector = np.random.default_rng(0).standard_normal(len(y))
        vector = vector - self._whole(self._coordinates(vector))
        size = float(np.linalg.norm(vector))
        if size <= _DIFFERENCE * len(y) ** 0.5:
            return growth
        before, vector = np.zeros_like(y), vector / size
        diagonal, beside = [], [0.0]
        for _ in range(_LANCZOS):
            ends = (self.flow.field_and_product(y + sign * step * vector)[0] for sign in (1, -1))
            ahead, behind = ends
            image = (ahead - behind) / (2 * step)
            image = image - self._whole(self._coordinates(image))
            diagonal.append(float(vector @ image))
            image = image - diagonal[-1] * vector - beside[-1] * before
            beside.append(float(np.linalg.norm(image)))
            if beside[-1] <= _ROUNDING * abs(diagonal[0]):
                break
            before, vector = vector, image / beside[-1]
        inner = beside[1 : len(diagonal)]
        matrix = np.diag(diagonal) + np.diag(inner, 1) + np.diag(inner, -1)
        return max(growth, pace * float(np.abs(np.linalg.eigvalsh(matrix)).max()))

    def step(self, y: Floats, steps: float, guess: Floats | None = None) -> LongStep | None:
        """So many steps; None where iterations do not converge. `guess`: weights at the nodes."""
        unit = np.eye(_NODES)
        inverse = np.linalg.inv(unit - steps * self._values[:, None, None] * _INTEGRALS) - unit
        weights, last = np.tile(y, (_NODES, 1)) if guess is None else guess, np.inf
        for count in range(1, _ITERATIONS + 1):
            slopes = np.array([self.flow(0.0, entry) for entry in weights])
            change = y + steps * (_INTEGRALS @ slopes) - weights
            inside = np.array([self._coordinates(entry) for entry in change])
            inside = np.einsum("kij,jk->ik", inverse, inside)
            change += np.array([self._whole(entry) for entry in inside])
            weights = weights + change
            size = float(np.linalg.norm(change) / np.linalg.norm(weights))
            if size <= _ROUNDING or (size <= _STALLED and size > last / 2):
                return LongStep(np.vstack([y, weights]), count)
            if not np.isfinite(size) or (count > _PATIENCE and size > _SHRINKS * last):
                return None
            last = size
        return None


def guessed(step: LongStep, before: float, steps: float) -> Floats:
    """Weights at the nodes of the step that follows one of `before` steps."""
    return np.array([step.at(1 + share * steps / before) for share in _AT])


def _largest(gram: Floats, most: int) -> Floats:
    """Eigenvectors of the largest eigenvalues, at most so many."""
    values, vectors = np.linalg.eigh(gram)
    count = int((values > _LARGE * values[-1]).sum())
    return np.asarray(vectors[:, ::-1][:, : min(max(count, 1), most)])
