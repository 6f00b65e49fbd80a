r"""How far the order of minibatches moves half-times of a linear network.

A batch of B samples moves the weights by more than the full batch does, by the noise of its
gradient. To first order a half-time moves with it by :math:`\sum_t \lambda(t) \cdot \delta y_t`,
where :math:`\lambda` is carried backwards along the path of the full batch,

.. math:: \lambda(t_k) = -\nabla a_k/\dot a_k, \qquad \dot\lambda = -J(y(t))\, \lambda,

J the Jacobian of the flow per step. Along :math:`\lambda`, sample i gives
:math:`g_i = r_i^\top M x_i` with its residual r_i and
:math:`M = \sum_l W_{>l} \lambda_l W_{<l}`. With batches drawn with replacement,

.. math:: \operatorname{var} t_k = \frac{\varepsilon^2 g^2}{B} \int_0^{t_k} \operatorname{var}_i g_i
          \, dt, \qquad \text{and on average it is later by } \dot a_k(t_k) \operatorname{var} t_k,

as a logarithm of noisy growth falls behind. Where each epoch of M steps is reshuffled, whole epochs
cancel but for the change of :math:`\lambda` in an epoch: a share
:math:`1 - \tanh(z/2)/(z/2)` remains, z being M times the rate at which :math:`\lambda` changes;
and of the last epoch, of which r steps are done, r (1 - r/M) times the variance along
:math:`\lambda`. On average the path is then that of the loss with
:math:`\tfrac{\varepsilon}4 \operatorname{tr} \operatorname{Cov}` of the batches' gradients added to
it (Smith, Dherin, Barrett and De, ICLR 2021), which gives the delay. The spread of second order is
left out: a lower bound.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from swingby.theory.law.descent_flow import Descent, DescentFlow
from swingby.theory.law.descent_path import COARSE, DescentPath
from swingby.theory.law.layer_flow import packed
from swingby.theory.linear_modes import LinearModes
from swingby.theory.numbers import Floats

#: Weights up to which the Jacobian is a matrix; beyond, differences of the field stand for it.
_DENSE = 400
#: Deviations in a bar.
DEVIATIONS = 2.0
#: Samples from which variances are taken.
_SAMPLES = 2000
#: Up to this norm of J times a time, a series of so many terms is its exponential.
_SHORT, _TERMS = 2.0, 14
#: Distance of a difference, in units of the weights.
_DIFFERENCE = 1e-6


class _Propagator:
    """exp(J dt) at some weights, J symmetric."""

    def __init__(self, flow: DescentFlow, y: Floats) -> None:
        self.flow, self.y = flow, y
        self.norm = flow.rate(y) * flow.rule.pace
        self._matrix = flow.jacobian(0.0, y) if flow.size <= _DENSE else None

    def times(self, vector: Floats) -> Floats:
        """The vector J x."""
        if self._matrix is not None:
            return np.asarray(self._matrix @ vector)
        size = float(np.linalg.norm(vector))
        if not size:
            return vector
        step = _DIFFERENCE * float(np.linalg.norm(self.y)) / size
        ahead, behind = (
            self.flow.field_and_product(self.y + sign * step * vector)[0] for sign in (1, -1)
        )
        return np.asarray(self.flow.rule.pace * (ahead - behind) / (2 * step))

    def carried(self, vector: Floats, duration: float) -> Floats:
        """The vector exp(J duration) x."""
        if self._matrix is not None and self.norm * duration > _SHORT:
            values, vectors = np.linalg.eigh(self._matrix)
            return np.asarray(vectors @ (np.exp(values * duration) * (vectors.T @ vector)))
        total, term = vector, vector
        for power in range(1, _TERMS):
            term = self.times(term) * (duration / power)
            total = total + term
        return total


class _Noise:
    """Variances of what single samples give along a direction of the weights."""

    def __init__(self, flow: DescentFlow, X: Floats, Y: Floats) -> None:
        stride = max(1, len(X) // _SAMPLES)
        self.flow, self.X, self.Y = flow, X[::stride], Y[::stride]
        self._unit = (flow.rule.pace * flow.rule.multiple) ** 2

    def variance(self, y: Floats, direction: Floats) -> float:
        """In a step of one sample, in the units of the direction squared."""
        layers, parts = self.flow.layers(y), self.flow.layers(direction)
        below = [*itertools.accumulate(layers, lambda done, layer: layer @ done)]
        # M by Horner's rule: the derivative of the product along the direction.
        M = parts[0]
        for layer, part, before in zip(layers[1:], parts[1:], below, strict=False):
            M = layer @ M + part @ before
        growth = (((self.Y - self.X @ below[-1].T) @ M) * self.X).sum(axis=1)
        return float(growth.var()) * self._unit

    def slope(self, y: Floats, direction: Floats) -> float:
        """The derivative, along a direction, of the sum of variances over all weights."""
        size = float(np.linalg.norm(direction))
        step = _DIFFERENCE * float(np.linalg.norm(y)) / size
        ahead, behind = (self._total(y + sign * step * direction) for sign in (1, -1))
        return (ahead - behind) / (2 * step)

    def _total(self, y: Floats) -> float:
        layers = self.flow.layers(y)
        below = [*itertools.accumulate(layers, lambda done, layer: done @ layer.T, initial=self.X)]
        back, total, n = self.Y - below[-1], 0.0, len(self.X)
        for layer, before in zip(layers[::-1], below[-2::-1], strict=True):
            squares = (back**2).sum(axis=1) * (before**2).sum(axis=1)
            total += float(squares.mean()) - float(np.square(back.T @ before / n).sum())
            back = back @ layer
        return total * self._unit


def batch_spread(
    layers: Sequence[Floats],
    X: Floats,
    Y: Floats,
    modes: LinearModes,
    rule: Descent,
    crossing: Floats,
    *,
    batch: float,
    replacement: bool,
    velocity: Sequence[Floats] | None = None,
) -> tuple[Floats, Floats]:
    """Mean delay and standard deviation of each half-time, in steps; 0 where it is not finite.

    `layers`: the start, and its `velocity` in a run in progress. `crossing`: half-times of the full
    batch.
    """
    delay, speeds = np.zeros(len(crossing)), np.zeros(len(crossing))
    waiting = np.isfinite(crossing) & (crossing > 0)
    if not waiting.any():
        return delay, speeds
    flow = DescentFlow(layers, modes.K, modes.S, rule)
    moving = None if velocity is None else packed(velocity)
    path = DescentPath(flow, packed(layers), COARSE, moving)
    times, weights = _nodes(path, float(crossing[waiting].max()))
    noise, n, epoch = _Noise(flow, X, Y), len(X), len(X) / batch
    share = 1 / batch if replacement else (n - batch) / max(n - 1, 1) / batch
    active: dict[int, tuple[Floats, float]] = {}
    variances = np.zeros(len(crossing))
    for i in reversed(range(len(times) - 1)):
        start, end, y = times[i], times[i + 1], (weights[i] + weights[i + 1]) / 2
        middle = _Propagator(flow, y)
        for k in map(int, np.flatnonzero(waiting & (start < crossing) & (crossing <= end))):
            within = (crossing[k] - start) / (end - start)
            there = (1 - within) * weights[i] + within * weights[i + 1]
            gradient = _gradient(flow, modes, k, there)
            speeds[k] = float(gradient @ flow(0.0, there))
            active[k] = -gradient / speeds[k], float(crossing[k])
            if not replacement:
                into, last = crossing[k] % epoch, noise.variance(there, active[k][0])
                variances[k] += into * (1 - into / epoch) * share * last
        for k, (direction, until) in active.items():
            earlier = middle.carried(direction, until - start)
            ends = ((weights[i], earlier), (weights[i + 1], direction))
            added = (until - start) * share * _mean(*(noise.variance(*end) for end in ends))
            if not replacement:
                along = (direction + earlier) / 2
                change = noise.variance(y, middle.times(along)) / noise.variance(y, along)
                added *= _uncancelled(epoch * math.sqrt(change))
                delay[k] -= (until - start) * share * noise.slope(y, along) / 4
            variances[k] += added
            active[k] = earlier, float(start)
    return speeds * variances if replacement else delay, np.sqrt(variances)


def _nodes(path: DescentPath, last: float) -> tuple[list[float], list[Floats]]:
    """Times and weights along the path, until after the last half-time."""
    times, weights = [0.0], [path.y]
    while path.t < last:
        path.advance(path.pace(), last)
        times.append(path.t)
        weights.append(path.y)
    return times, weights


def _gradient(flow: DescentFlow, modes: LinearModes, k: int, y: Floats) -> Floats:
    """The gradient of a_k in the weights."""
    layers = flow.layers(y)
    below = [*itertools.accumulate(layers, lambda done, layer: layer @ done)]
    back = np.outer(modes.outputs[k], modes.inputs[k]) / modes.sigma[k]
    parts = []
    for i in range(len(layers) - 1, 0, -1):
        parts.append(back @ below[i - 1].T)
        back = layers[i].T @ back
    return packed([*parts, back][::-1])


def _uncancelled(z: float) -> float:
    """The variance of exp(z t) for t in (0, 1), over its mean square."""
    return 1 - math.tanh(z / 2) / (z / 2) if z > 1e-3 else z**2 / 12


def _mean(first: float, second: float) -> float:
    """The mean of what grows exponentially from one value to another."""
    if first <= 0 or second <= 0 or abs(first / second - 1) < 1e-3:
        return (first + second) / 2
    return (second - first) / math.log(second / first)
