r"""Half-times of a chain of linear layers under gradient descent, on any data.

**The seam to the general law.** The watch asks for half-times and bars in one place,
:func:`chain_half_times`. Where :func:`swingby.predict_network` takes ``X=``, ``Y=``, momentum and
decay, that function can call it: loss "half", lr times the gain, decay over the gain. Two things
that a run in progress needs have to be there: the velocity of the momentum, and steps that are
nan beyond a budget. All below the seam stands for it until then.

The gradient at :math:`W = W_L \cdots W_1` is :math:`-g (K - W S)`, with :math:`K = Y^T X / n` and
:math:`S = X^T X / n`. With :math:`\varepsilon = \eta / (1 - m)`, the law iterates the map itself
where steps are large, and integrates the modified flow

.. math:: y' = \varepsilon f + \varepsilon^2 c_2 f'f + \varepsilon^3 (c_{3a} f'f'f + c_{3b} f''(f,
          f)), \quad c_2 = \nu - b,\; c_{3a} = -2 b c_2 - \tfrac16 + \nu c_2 - \tfrac\nu2,\;
          c_{3b} = -b c_2 - \tfrac16 - \tfrac\nu2,\; b = \frac{1 + m}{2 (1 - m)}

elsewhere, where :math:`\nu = m` for Nesterov's momentum and else 0. Steps of the integration are a
fixed part of the inverse of the Jacobian's norm: every part of y, however small, has the same
relative error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.integrate import DOP853

from swingby.lab.networks.watching.components import Components
from swingby.theory.numbers import Booleans, Floats

#: Length of a step of the integration times the norm of the Jacobian: of the law, and of the
#: coarser one that it is compared with.
_STEP, _COARSE_STEP = 0.8, 1.2
#: A step of the training is large, so that the map is iterated, above this part of a step of the
#: integration.
_LARGE = 1 / 40
#: Evaluations of the gradient that a forecast may take, about a second.
_MOST_EVALUATIONS = 60_000
#: The part of y that moves in a step at rest.
_REST = 1e-13
#: Bars are at least so many steps, and so many per step.
_LEAST_BAR, _RELATIVE_BAR = 0.01, 1e-6
#: What rounding to short floats does is a random walk of y; bars are so many times what one does.
_ROUNDING_FACTOR = 3.0
#: Runge and Kutta's stages of the method of Dormand and Prince of order 8.
_STAGES, _WEIGHTS = DOP853.A[:12, :12], DOP853.B


@dataclass(frozen=True)
class Chain:
    """A linear chain in training: layers now, data, and the rule of its steps."""

    #: W_1, ..., W_L, first applied first.
    layers: tuple[Floats, ...]
    #: Minus the momentum buffers of all layers in a row, or None before the first step.
    velocity: Floats | None
    #: Y^T X / n (q, p) and X^T X / n (p, p).
    correlation: Floats
    covariance: Floats
    #: The loss has the gradient -gain (K - W S) in W.
    gain: float
    lr: float
    momentum: float = 0.0
    nesterov: bool = False
    weight_decay: float = 0.0
    #: Relative size of a rounding of the weights: 6e-8 in float32.
    rounding: float = 0.0


def chain_half_times(
    chain: Chain, data: Components, *, level: float, horizon: float
) -> tuple[Floats, Floats]:
    """Steps from now at which each a_k crosses `level`, as real numbers, and their bars.

    0 where it is above already, inf where it comes to rest below, and nan beyond the horizon or
    the budget. The bar is the difference to a coarser integration of one order less, what is left
    out, and what rounding to the floats of the training may move.
    """
    chain = _narrowed(chain)
    times = _Integration(chain, data, level, horizon, 3, _STEP).crossings()
    rough = _Integration(chain, data, level, 1.1 * horizon, 2, _COARSE_STEP).crossings()
    bars = _difference(times, rough) + _RELATIVE_BAR * times + _LEAST_BAR
    if chain.rounding > 1e-12:
        noise = np.random.default_rng(0)
        moved = _Integration(chain, data, level, 1.1 * horizon, 2, _COARSE_STEP, noise).crossings()
        bars += _ROUNDING_FACTOR * _difference(moved, rough)
    # What one of them sees and another does not is undecided.
    times = np.where(np.isnan(bars), np.nan, times)
    return times, np.where(np.isfinite(times) & (times > 0), bars, 0.0)


def _difference(times: Floats, others: Floats) -> Floats:
    """How far times are apart; 0 where both are inf, nan where only one is."""
    with np.errstate(invalid="ignore"):
        apart = np.abs(times - others)
    return np.where(
        np.isinf(times) & np.isinf(others), 0.0, np.where(np.isinf(apart), np.nan, apart)
    )


def _narrowed(chain: Chain) -> Chain:
    """The same two layers with a hidden layer no wider than inputs and outputs together.

    Exact, also with momentum: nothing leaves the span of the rows and columns at the start.
    """
    if len(chain.layers) != 2:
        return chain
    first, last = chain.layers
    hidden, p = first.shape
    q = last.shape[0]
    if hidden <= (p + q) * (1 if chain.velocity is None else 2):
        return chain
    spans = [first, last.T]
    if chain.velocity is not None:
        moving_first = chain.velocity[: hidden * p].reshape(hidden, p)
        moving_last = chain.velocity[hidden * p :].reshape(q, hidden)
        spans += [moving_first, moving_last.T]
    Q = np.linalg.qr(np.hstack(spans))[0]
    velocity = None
    if chain.velocity is not None:
        velocity = np.concatenate([(Q.T @ moving_first).ravel(), (moving_last @ Q).ravel()])
    fields = {**vars(chain), "layers": (Q.T @ first, last @ Q), "velocity": velocity}
    return Chain(**fields)


class _Integration:
    """One pass of the law over a chain: to all crossings, rest, the horizon or the budget."""

    def __init__(
        self,
        chain: Chain,
        data: Components,
        level: float,
        horizon: float,
        order: int,
        step: float,
        noise: np.random.Generator | None = None,
    ) -> None:
        self.chain, self.data, self.level, self.horizon = chain, data, level, horizon
        self.order, self.step, self.noise = order, step, noise
        self.K, self.S = chain.gain * chain.correlation, chain.gain * chain.covariance
        self.norm_S = float(np.linalg.norm(self.S, 2))
        self.shapes = [layer.shape for layer in chain.layers]
        ends = np.cumsum([rows * columns for rows, columns in self.shapes])
        self.slices = [
            slice(end - rows * columns, end)
            for end, (rows, columns) in zip(ends, self.shapes, strict=True)
        ]
        m = chain.momentum
        nu = m * chain.nesterov
        b = (1 + m) / (2 * (1 - m))
        self.eps, self.amplification = chain.lr / (1 - m), (1 + m) / (1 - m)
        self.c2 = nu - b
        third = -2 * b * self.c2 - 1 / 6 + nu * self.c2 - nu / 2
        self.nodes, self.weights = _three_values(self.c2, third, -b * self.c2 - 1 / 6 - nu / 2)
        self.evaluations = 0

    def crossings(self) -> Floats:
        """Steps from now at which each a_k first crosses the level."""
        with np.errstate(all="ignore"):  # a training that diverges
            return self._followed()

    def _followed(self) -> Floats:
        chain, m = self.chain, self.chain.momentum
        y = np.concatenate([layer.ravel() for layer in chain.layers]).astype(np.float64)
        v = np.zeros_like(y) if chain.velocity is None else chain.velocity
        # The buffer of the momentum starts empty, off the slow manifold of the flow.
        settling = math.ceil(math.log(1e-9) / math.log(m)) if m else 0
        shares, t, flowing = self.shares(y), 0.0, False
        times = np.where(shares >= self.level, 0.0, np.inf)
        while np.isinf(times).any():
            if not np.isfinite(y).all() or t > self.horizon or self.spent:
                return np.where(np.isinf(times), np.nan, times)
            rate, f = self.rate(y), self.gradient(y)
            if self.rests(y, f, rate):
                break
            x = rate * self.eps * self.amplification
            before, t_before = y, t
            if x > _LARGE * self.step or settling > 0:
                count = min(settling, 8) if settling > 0 else int(np.clip(1 / x, 4, 50))
                settling -= count
                if flowing and m:
                    v = self.velocity(y)
                flowing = False
                y, v, shares = self.iterate(y, v, count, t, shares, times, careful=m > 0 or x > 0.3)
                t += count
            else:
                length = min(self.step / (rate * self.eps), self.horizon - t + 1)
                y, flowing, old = self.advance(y, length), True, shares
                t, shares = t + length, self.shares(y)
                for k in np.flatnonzero((old < self.level) & (shares >= self.level)):
                    if np.isinf(times[k]):
                        after = self.located(before, length, int(k), old[k], shares[k])
                        times[k] = t_before + after
            if self.noise is not None:
                walk = self.chain.rounding * math.sqrt(t - t_before) * np.abs(y)
                y = y + walk * self.noise.standard_normal(len(y))
        return times

    @property
    def spent(self) -> bool:
        """Whether the budget of evaluations is used up."""
        return self.evaluations > _MOST_EVALUATIONS

    def rests(self, y: Floats, f: Floats, rate: float) -> bool:
        """Whether y does not move any more."""
        moving, size = float(np.linalg.norm(f)), rate * float(np.linalg.norm(y))
        if not math.isfinite(size) or moving <= _REST * size:
            return True
        decay = self.chain.weight_decay
        # With decay, two layers are at their minimum where the residual is within the decay.
        if not decay or len(self.shapes) != 2 or moving > 1e-5 * size:
            return False
        residual = self.K - self.product(y) @ self.S
        return float(np.linalg.norm(residual, 2)) <= 1.0001 * decay

    def layers(self, y: Floats) -> list[Floats]:
        """W_1, ..., W_L in y."""
        return [
            y[part].reshape(shape) for part, shape in zip(self.slices, self.shapes, strict=True)
        ]

    def product(self, y: Floats) -> Floats:
        """W_L ... W_1."""
        first, *later = self.layers(y)
        for layer in later:
            first = layer @ first
        return first

    def shares(self, y: Floats) -> Floats:
        """All a_k."""
        data = self.data
        fitted = (data.outputs @ self.product(y)) * data.inputs
        return np.asarray(fitted.sum(axis=1) / data.size)

    def gradient(self, y: Floats) -> Floats:
        """Minus the gradient of the loss and the decay."""
        self.evaluations += 1
        layers = self.layers(y)
        before = [layers[0]]
        for layer in layers[1:]:
            before.append(layer @ before[-1])
        back = self.K - before[-1] @ self.S
        f = -self.chain.weight_decay * y
        for i in range(len(layers) - 1, -1, -1):
            f[self.slices[i]] += (back @ before[i - 1].T if i else back).ravel()
            back = layers[i].T @ back
        return f

    def flow(self, y: Floats) -> Floats:
        """The modified flow per step of the training."""
        eps, first = self.eps, self.gradient(y)
        if self.order == 2:
            return eps * self.gradient(y + self.c2 * eps * first)
        (a, b1, b2), (w1, w2, w3) = self.nodes, self.weights
        second = self.gradient(y + a * eps * first)
        third = self.gradient(y + eps * (b1 * first + b2 * second))
        return eps * (w1 * first + w2 * second + w3 * third)

    def advance(self, y: Floats, length: float) -> Floats:
        """The flow after so many steps of the training, in one step of order 8."""
        slopes = np.empty((12, len(y)))
        slopes[0] = self.flow(y)
        for i in range(1, 12):
            slopes[i] = self.flow(y + length * (_STAGES[i, :i] @ slopes[:i]))
        return y + length * (_WEIGHTS @ slopes)

    def velocity(self, y: Floats) -> Floats:
        """The velocity of the momentum on the slow manifold, at y."""
        earlier = self.advance(y, -1.0)
        slope = (y - earlier) / self.chain.lr
        if not self.chain.nesterov:
            return slope
        return (slope - self.gradient(earlier)) / self.chain.momentum

    def iterate(
        self,
        y: Floats,
        v: Floats,
        count: int,
        t: float,
        old: Floats,
        times: Floats,
        *,
        careful: bool,
    ) -> tuple[Floats, Floats, Floats]:
        """`count` steps of the training; writes crossings into `times`."""
        start = y, v
        if not careful:
            for _ in range(count):
                y, v = self.train_step(y, v)
            now = self.shares(y)
            rising = (old < self.level) & (now >= self.level - 0.02) & np.isinf(times)
            if not rising.any():
                return y, v, now
            y, v = start
        for index in range(count):
            y, v = self.train_step(y, v)
            now = self.shares(y)
            crossed: Booleans = (old < self.level) & (now >= self.level) & np.isinf(times)
            for k in np.flatnonzero(crossed):
                times[k] = t + index + (self.level - old[k]) / (now[k] - old[k])
            old = now
        return y, v, old

    def train_step(self, y: Floats, v: Floats) -> tuple[Floats, Floats]:
        """One step of torch's SGD."""
        chain, f = self.chain, self.gradient(y)
        if not chain.momentum:
            return y + chain.lr * f, v
        v = chain.momentum * v + f
        return y + chain.lr * (f + chain.momentum * v if chain.nesterov else v), v

    def located(self, y: Floats, length: float, k: int, low: float, high: float) -> float:
        """Steps after y at which a_k crosses, between its values at both ends of a step."""
        begin, end, below, above = 0.0, length, low - self.level, high - self.level
        middle = end
        for _ in range(40):
            middle = end - above * (end - begin) / (above - below)
            margin = 0.02 * (end - begin)
            middle = min(max(middle, begin + margin), end - margin)
            value = float(self.shares(self.advance(y, middle))[k]) - self.level
            if value < 0:
                begin, below = middle, value
            else:
                end, above = middle, value
            if abs(value) < 1e-9 or end - begin < 1e-4:
                break
        return middle

    def rate(self, y: Floats) -> float:
        """A bound of the norm of the Jacobian of the gradient."""
        norms = [float(np.linalg.norm(layer, 2)) for layer in self.layers(y)]
        depth = len(norms)

        def others(*skipped: int) -> float:
            return math.prod(norms[j] for j in range(depth) if j not in skipped)

        curved = 0.0
        if depth > 1:
            residual = float(np.linalg.norm(self.K - self.product(y) @ self.S, 2))
            curved = residual * max(
                sum(others(i, j) for j in range(depth) if j != i) for i in range(depth)
            )
        straight = self.norm_S * sum(others(i) ** 2 for i in range(depth))
        return straight + curved + self.chain.weight_decay


def _three_values(c2: float, c3a: float, c3b: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Nodes and weights of three values of f that give f + c2 f'f + c3a f'f'f + c3b f''(f, f).

    Of several choices the one with the smallest coefficients.
    """
    choices = []
    for i in (1, 2, 0.5, 1.5, -1, -0.5):
        for j in (0.5, 1, 3, 2, -1, -0.5, 1.5):
            a, b = i * c2, j * c2
            if i == j:
                continue
            w2, w3 = np.linalg.solve([[a, b], [a**2, b**2]], [c2, 2 * c3b])
            if abs(w3) < 0.05:
                continue
            b2 = c3a / (w3 * a)
            size = max(abs(b2 / c2), abs(b / c2), abs(w2), abs(w3), abs(1 - w2 - w3))
            choices.append((size, (a, b - b2, b2), (1 - w2 - w3, float(w2), float(w3))))
    _, nodes, weights = min(choices)
    return nodes, weights
