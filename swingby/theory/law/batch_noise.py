r"""How far the order of minibatches moves half-times of a linear network.

A batch of B samples moves the weights by more than the full batch does, by the noise of its
gradient. To first order a half-time moves with it by :math:`\sum_t \lambda(t) \cdot \delta f_t`,
where :math:`\lambda` is carried backwards along the path of the full batch. Where that is a flow,

.. math:: \lambda(t_k) = -\varepsilon \nabla a_k/\dot a_k, \qquad
          \dot\lambda = -J(y(t))\, \lambda,

J the Jacobian of the flow per step. Where it is the map of y and v, it is the adjoint of that map:
with momentum a kick goes on in v, and :math:`\lambda` may oscillate. Along :math:`\lambda`, sample
i gives :math:`g_i = r_i^\top M x_i` with its residual r_i and
:math:`M = \sum_l W_{>l} \lambda_l W_{<l}`. With batches drawn with replacement,

.. math:: \operatorname{var} t_k = \frac{g^2}{B} \sum_{t < t_k} \operatorname{var}_i g_i(t),
          \qquad \text{and on average it is later by } \dot a_k(t_k) \operatorname{var} t_k,

as a logarithm of noisy growth falls behind.

In epochs that are reshuffled every sample counts once
(:mod:`swingby.theory.law.shuffled_epochs`): equal batches cancel but for the change of
:math:`\lambda` in an epoch. Along a flow a share :math:`1 - \tanh(z/2)/(z/2)` remains, z being the
M steps of an epoch times the rate at which :math:`\lambda` changes. On average the path is that of
the loss with :math:`\tfrac{\varepsilon}4 \operatorname{tr} \operatorname{Cov}` of the batches'
gradients added to it (Smith, Dherin, Barrett and De, ICLR 2021), which gives the delay; with
momentum, a kick that is d steps old has moved the weights by :math:`1 - m^d` of its way. The spread
of second order is left out: a lower bound.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from swingby.theory.law.descent_flow import Descent, DescentFlow
from swingby.theory.law.descent_path import COARSE, DescentPath
from swingby.theory.law.layer_flow import packed
from swingby.theory.law.shuffled_epochs import Epoch, Shuffle, epochs_of
from swingby.theory.linear_modes import LinearModes
from swingby.theory.numbers import Floats

#: Weights up to which the Jacobian is a matrix; beyond, differences of the field stand for it.
_DENSE = 400
#: Deviations in a bar.
DEVIATIONS = 2.0
#: Of batches with replacement, a deviation beyond this part of a half-time is not of first order:
#: the mean and the spread have terms of its square, where these are steps.
_FIRST_ORDER, _STEPS = 0.08, 1.0
#: Samples from which variances are taken: most and least, and the numbers in them.
_SAMPLES, _FEWEST, _NUMBERS = 2000, 200, 40_000
#: Steps of a stretch of the map at which the slope of the variance is taken.
_SLOPES = 4
#: Up to this norm of J times a time, a series of so many terms is its exponential.
_SHORT, _TERMS = 2.0, 14
#: Distance of a difference, in units of the weights.
_DIFFERENCE = 1e-6


class _Propagator:
    """exp(J dt) at some weights, J symmetric."""

    def __init__(self, flow: DescentFlow, y: Floats) -> None:
        self.flow, self.y = flow, y
        self._matrix = flow.jacobian(0.0, y) if flow.size <= _DENSE else None

    def times(self, vector: Floats) -> Floats:
        """The vector J x."""
        if self._matrix is not None:
            return np.asarray(self._matrix @ vector)
        size = float(np.linalg.norm(vector))
        if not size:
            return vector
        step = _DIFFERENCE * (float(np.linalg.norm(self.y)) or 1.0) / size
        ahead, behind = (
            self.flow.field_and_product(self.y + sign * step * vector)[0] for sign in (1, -1)
        )
        return np.asarray(self.flow.rule.pace * (ahead - behind) / (2 * step))

    def carried(self, vector: Floats, duration: float) -> Floats:
        """The vector exp(J duration) x."""
        norm = self.flow.rate(self.y) * self.flow.rule.pace
        if self._matrix is not None and norm * duration > _SHORT:
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
        most = min(_SAMPLES, max(_FEWEST, _NUMBERS // (X.shape[1] + Y.shape[1])))
        stride = max(1, len(X) // most)
        self.flow, self.X, self.Y = flow, X[::stride], Y[::stride]
        self._unit = (flow.rule.pace * flow.rule.multiple) ** 2

    def variance(self, y: Floats, direction: Floats) -> float:
        """In a step of one sample, in the units of the direction squared."""
        return float(self.growth(y, direction).var())

    def growth(self, y: Floats, direction: Floats) -> Floats:
        """What each sample gives in a step, (n,), in the units of the direction."""
        layers, parts = self.flow.layers(y), self.flow.layers(direction)
        below = [*itertools.accumulate(layers, lambda done, layer: layer @ done)]
        # M by Horner's rule: the derivative of the product along the direction.
        M = parts[0]
        for layer, part, before in zip(layers[1:], parts[1:], below, strict=False):
            M = layer @ M + part @ before
        growth = (((self.Y - self.X @ below[-1].T) @ M) * self.X).sum(axis=1)
        return np.asarray(growth * math.sqrt(self._unit))

    def slope(self, y: Floats, direction: Floats) -> float:
        """The derivative, along a direction, of the sum of variances over all weights."""
        size = float(np.linalg.norm(direction))
        step = _DIFFERENCE * (float(np.linalg.norm(y)) or 1.0) / size
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


class _Stretch(NamedTuple):
    """A segment of the path: its ends, the weights there, and the velocity if it is of the map."""

    start: float
    end: float
    before: Floats
    after: Floats
    velocity: Floats | None


class _Sensitivity:
    """How a half-time moves with the weights `y` and the velocity `v`, at a time `until`.

    v is None along a flow. `early`: what is added a step before the half-time of a map.
    """

    def __init__(self, y: Floats, v: Floats | None, until: float, speed: float) -> None:
        self.y, self.v, self.until, self.speed = y, v, until, speed
        self.early: Floats | None = None


class _Spread:
    """What noise moves a half-time by so far: variances by the epochs there may be, and delays."""

    def __init__(self, epochs: Sequence[Epoch], rows: int) -> None:
        self.epochs, self.plain, self.delay = epochs, 0.0, 0.0
        self.shuffles = [Shuffle(epoch, rows) for epoch in epochs]
        self.smooth, self.uneven = np.zeros(len(epochs)), np.zeros(len(epochs))

    def ended(self, speed: float, crossing: float) -> tuple[float, float]:
        """The mean delay and the standard deviation; inf beyond the first order."""
        delay, total = speed * self.plain, self.plain
        if self.epochs:
            totals = self.smooth + [shuffle.total() for shuffle in self.shuffles]
            most = int(totals.argmax())
            delay, total = self.delay + speed * float(self.uneven[most]), float(totals[most])
        largest = max(self.plain, total)
        if largest > max((_FIRST_ORDER * crossing) ** 2, _STEPS * crossing):
            return 0.0, math.inf
        return delay, math.sqrt(total)


class _Noisy:
    """Noise of minibatches along the path of the full batch."""

    def __init__(
        self,
        flow: DescentFlow,
        modes: LinearModes,
        noise: _Noise,
        epochs: list[Epoch],
        n: int,
        batch: float,
    ) -> None:
        self.flow, self.modes, self.noise, self.epochs = flow, modes, noise, epochs
        #: Of the variance of a sample, that of a step.
        self.share = (n - batch) / max(n - 1, 1) / batch if epochs else 1 / batch
        self.drift = self.share * epochs[0].lag(flow.rule.momentum) / 4 if epochs else 0.0

    def along_flow(
        self,
        stretch: _Stretch,
        active: dict[int, _Sensitivity],
        spreads: dict[int, _Spread],
        crossing: Floats,
    ) -> None:
        flow, noise, start, end = self.flow, self.noise, stretch.start, stretch.end
        y, rule = (stretch.before + stretch.after) / 2, flow.rule
        middle = _Propagator(flow, y)
        for k in spreads.keys() - active.keys():
            if not start < crossing[k] <= end:
                continue
            within = (crossing[k] - start) / (end - start)
            there = (1 - within) * stretch.before + within * stretch.after
            gradient = _gradient(flow, self.modes, k, there)
            speed = float(gradient @ flow(0.0, there))
            active[k] = _Sensitivity(-gradient / speed, None, float(crossing[k]), speed)
            last = noise.variance(there, active[k].y)
            spreads[k].smooth += [
                epoch.left(int(crossing[k] % epoch.steps)) * last for epoch in self.epochs
            ]
        for k, state in active.items():
            if state.v is not None:
                # The velocity is that of the slopes, f/(1 - m).
                state.y, state.v = state.y + middle.times(state.v) / rule.lr, None
            spread, direction, duration = spreads[k], state.y, state.until - start
            earlier = middle.carried(direction, duration)
            ends = ((stretch.before, earlier), (stretch.after, direction))
            mean = duration * _mean(*(noise.variance(*each) for each in ends))
            spread.plain += self.share * mean
            if self.epochs:
                along = (direction + earlier) / 2
                level = noise.variance(y, along)
                change = noise.variance(y, middle.times(along)) / level if level else 0.0
                for i, epoch in enumerate(self.epochs):
                    uneven = epoch.left(epoch.steps) / epoch.steps * mean
                    remains = _uncancelled(epoch.steps * math.sqrt(change))
                    spread.smooth[i] += self.share * remains * mean + uneven
                    spread.uneven[i] += uneven
                spread.delay -= duration * self.drift * noise.slope(y, along)
            state.y, state.until = earlier, start

    def along_map(
        self,
        stretch: _Stretch,
        active: dict[int, _Sensitivity],
        spreads: dict[int, _Spread],
        crossing: Floats,
    ) -> None:
        """By the adjoint of its steps, back from the end of a stretch."""
        assert stretch.velocity is not None
        flow, noise, rule = self.flow, self.noise, self.flow.rule
        states, v = [stretch.before], stretch.velocity
        for _ in range(round(stretch.end - stretch.start)):
            after, v, _W = flow.step(states[-1], v)
            states.append(after)
        carried, own = (rule.momentum, rule.lr) if rule.nesterov else (1.0, 0.0)
        apart = max(1, (len(states) - 1) // _SLOPES)
        for j in reversed(range(len(states) - 1)):
            step, y = stretch.start + j, states[j]
            for k in spreads.keys() - active.keys():
                if step < crossing[k] <= step + 1:
                    within = crossing[k] - step
                    there = (1 - within) * y + within * states[j + 1]
                    gradient = _gradient(flow, self.modes, k, there)
                    speed = float(gradient @ (states[j + 1] - y))
                    back = -gradient / speed
                    active[k] = _Sensitivity(within * back, np.zeros_like(y), step + 1, speed)
                    active[k].early = (1 - within) * back
            tangent = _Propagator(flow, y)
            for k, state in active.items():
                if state.v is None:
                    # What a kick to the velocity moves in the steps to come.
                    state.v = rule.pace * rule.momentum * carried * state.y
                later = state.v + rule.lr * carried * state.y
                kick = (later + own * state.y) / rule.pace
                state.y, state.v = state.y + tangent.times(kick), rule.momentum * later
                if state.early is not None:
                    state.y, state.early = state.y + state.early, None
                state.until = step
                growth, spread = noise.growth(y, kick), spreads[k]
                variance = float(growth.var())
                spread.plain += self.share * variance
                for i, epoch in enumerate(self.epochs):
                    spread.shuffles[i].add(int(step), growth)
                    spread.uneven[i] += epoch.left(epoch.steps) / epoch.steps * variance
                if self.epochs and j % apart == 0:
                    weight = min(apart, len(states) - 1 - j)
                    spread.delay -= weight * self.drift * noise.slope(y, kick)


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
    summed: bool = False,
    velocity: Sequence[Floats] | None = None,
) -> tuple[Floats, Floats]:
    """Mean delay and standard deviation of each half-time, in steps; 0 where it is not finite.

    A deviation is inf where the noise is beyond the first order.

    `layers`: the start, and its `velocity` in a run in progress. `crossing`: half-times of the full
    batch. `summed`: whether a batch's gradient is a sum over its samples, not their mean.
    """
    delay, deviation = np.zeros(len(crossing)), np.zeros(len(crossing))
    waiting = np.isfinite(crossing) & (crossing > 0)
    if not waiting.any():
        return delay, deviation
    flow, n = DescentFlow(layers, modes.K, modes.S, rule), len(X)
    moving = None if velocity is None else packed(velocity)
    path = DescentPath(flow, packed(layers), COARSE, moving)
    noise = _Noise(flow, X, Y)
    epochs = [] if replacement else epochs_of(n, batch, mean=not summed)
    noisy, active = _Noisy(flow, modes, noise, epochs, n, batch), dict[int, _Sensitivity]()
    spreads = {int(k): _Spread(epochs, len(noise.X)) for k in np.flatnonzero(waiting)}
    for stretch in reversed(_stretches(path, float(crossing[waiting].max()))):
        along = noisy.along_flow if stretch.velocity is None else noisy.along_map
        along(stretch, active, spreads, crossing)
    for k, state in active.items():
        delay[k], deviation[k] = spreads[k].ended(state.speed, float(crossing[k]))
    return delay, deviation


def _stretches(path: DescentPath, last: float) -> list[_Stretch]:
    """The path, until after the last half-time."""
    stretches = []
    while path.t < last:
        before = path.y
        with np.errstate(all="ignore"):
            segment = path.advance(path.pace(), last)
        stretches.append(_Stretch(segment.start, segment.end, before, path.y, segment.velocity))
    return stretches


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
