r"""Training of a two-layer ReLU network on all data by small steps, as in the paper's setting.

.. math:: f(x) = \sum_j a_j\, \phi(w_j \cdot x), \qquad L = \frac1n \sum_k (f(x_k) - y_k)^2,

from :math:`|a_j| = |w_j| = \lambda`, with the flow :math:`\dot\theta = -\nabla L/2`, so that
directions move at :math:`D_n` itself. A loss :math:`L` of 2d free numbers on n points with noise
:math:`\sigma` is :math:`(1 - 2d/n)\sigma^2` on average.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from swingby.errors import InvalidInput
from swingby.lab.relu.geometry import Floats

#: Rows of the evidence: what the theory is about, and what it is not about.
VARIANTS = ("relu", "gelu", "adam", "bias")
#: Time in which a loss may fall by this share and still count as its limit.
_STILL, _SPAN = 1e-4, 25.0


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """A network after training: w (m, d), a (m,), mean square error, time, whether it has ended."""

    w: Floats
    a: Floats
    loss: float
    time: float
    settled: bool


def start(m: int, d: int, rng: np.random.Generator, scale: float = 1e-6) -> tuple[Floats, Floats]:
    """Balanced weights: directions uniform, signs in turn, |a_j| = |w_j| = scale."""
    w = rng.standard_normal((m, d))
    w *= scale / np.linalg.norm(w, axis=1)[:, None]
    return w, scale * np.where(np.arange(m) % 2, -1.0, 1.0)


def train(
    points: Floats,
    values: Floats,
    w: Floats,
    a: Floats,
    *,
    variant: str = "relu",
    step: float = 0.05,
    most: float = 2000.0,
    floor: float = 0.0,
) -> TrainedNetwork:
    """Train until the loss no longer falls or is below `floor`, or for a time `most`."""
    if variant not in VARIANTS:
        raise InvalidInput("variant", variant, f"must be among {', '.join(VARIANTS)}")
    if variant == "bias":
        points = np.column_stack([points, np.ones(len(points))])
    n = len(points)
    w, a = w.copy(), a.copy()
    adam = _Adam(w, a) if variant == "adam" else None
    clock, previous, checked = 0.0, math.inf, 0.0
    loss, settled = math.inf, False
    while clock < most:
        inside = points @ w.T
        out, slope = _activation(inside, variant)
        residual = out @ a - values
        loss = float(residual @ residual) / n
        if loss < floor:
            break
        if clock - checked >= _SPAN:
            begun = loss < 0.999 * float(values @ values / n)
            settled = begun and previous - loss <= _STILL * max(loss, 1e-12)
            if settled:
                break
            previous, checked = loss, clock
        weighted = residual[:, None] * slope
        down_w = -(weighted.T @ points) * (a / n)[:, None]
        down_a = -(residual @ out) / n
        if adam is None:
            # The largest curvature is at most 2 sum (a^2 + |w|^2) tr(X X^T) / n, in effect less.
            size = float(a @ a + np.sum(w * w))
            h = min(step, 0.25 / max(size * float(np.square(points).sum()) / n / 2, 1e-9))
            w += h * down_w
            a += h * down_a
        else:
            h = adam.move(w, a, down_w, down_a)
        clock += h
        if not math.isfinite(loss):
            raise InvalidInput("step", step, "must be small enough for training to be stable")
    return TrainedNetwork(w, a, loss, clock, settled)


def _activation(inside: Floats, variant: str) -> tuple[Floats, Floats]:
    """Phi and its slope."""
    if variant != "gelu":
        return np.maximum(inside, 0), (inside > 0).astype(float)
    from scipy.special import ndtr

    below = ndtr(inside)
    return inside * below, below + inside * np.exp(-inside * inside / 2) / math.sqrt(2 * math.pi)


class _Adam:
    """Adam of the usual constants (0.9, 0.999, 1e-8), learning rate 1e-3."""

    RATE = 1e-3

    def __init__(self, *weights: Floats) -> None:
        self._first = [np.zeros_like(weight) for weight in weights]
        self._second = [np.zeros_like(weight) for weight in weights]
        self._steps = 0

    def move(self, w: Floats, a: Floats, down_w: Floats, down_a: Floats) -> float:
        """One step; its length on the clock, which has no unit of the flow."""
        self._steps += 1
        for k, (weight, down) in enumerate(((w, down_w), (a, down_a))):
            self._first[k] += 0.1 * (down - self._first[k])
            self._second[k] += 0.001 * (down * down - self._second[k])
            mean = self._first[k] / (1 - 0.9**self._steps)
            spread = self._second[k] / (1 - 0.999**self._steps)
            weight += self.RATE * mean / (np.sqrt(spread) + 1e-8)
        return 0.05


def halves_fit(points: Floats, values: Floats) -> tuple[float, bool]:
    """Least squares on each half, x . beta > 0 and not, with beta of least squares on all points.

    The mean square error, and whether both solutions split the points as beta does: only then are
    the halves what two neurons along them would see.
    """
    beta = np.linalg.lstsq(points, values, rcond=None)[0]
    on = points @ beta > 0
    total, same = 0.0, True
    for half in (on, ~on):
        if half.any():
            solution = np.linalg.lstsq(points[half], values[half], rcond=None)[0]
            total += float(np.square(values[half] - points[half] @ solution).sum())
            same &= bool(((points @ solution > 0) == on).all())
    return total / len(values), same
