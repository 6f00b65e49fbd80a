"""Deep linear networks trained by gradient descent, against what their first layers predict.

Training is in exact expectation, on the loss (4.1), in double precision; runs are compiled and end
when every concept is learned. A cell is a depth and a size of weights, with random signals.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from swingby.theory.claims.verdict import Verdict, all_hold, within_bar
from swingby.theory.task import SIMTask
from swingby.training.setting import Floats
from swingby.verify.predict_network import NetworkSchedule, predict_network

#: Signals fall from 1 by random factors between these.
RATIOS = (1.3, 3.0)
#: lr times L a_max: a fifth of what the edge of stability allows is 0.4.
STEP = 0.2
#: Steps at which a run is given up.
MOST_STEPS = 4_000_000


@dataclass(frozen=True)
class DeepCell:
    """Networks of one kind: Gaussian layers of standard deviation `scale`, or torch's default."""

    depth: int
    scale: float | None
    d: int = 3
    width: int = 5

    @property
    def name(self) -> str:
        """As in tables."""
        size = "torch" if self.scale is None else f"layers of {self.scale:g}"
        return f"depth {self.depth}, {size}" + (f", d = {self.d}" if self.d != 3 else "")


#: Deeper networks from smaller weights wait for millions of steps.
CELLS = (
    DeepCell(2, 0.03),
    DeepCell(3, 0.1),
    DeepCell(3, 0.03),
    DeepCell(3, None),
    DeepCell(4, 0.2),
    DeepCell(4, 0.1),
    DeepCell(4, 0.03, d=2),
    DeepCell(4, None),
    DeepCell(5, 0.3),
    DeepCell(5, 0.2),
)


@dataclass(frozen=True)
class Trained:
    """A network: what is predicted, and the steps of its half-times (nan: not seen)."""

    layers: list[Floats]
    task: SIMTask
    full: NetworkSchedule
    leading: NetworkSchedule
    half_times: Floats
    last: int

    @property
    def off(self) -> Floats:
        """Steps from the whole step predicted to the one observed; nan where none was seen."""
        return np.asarray(self.full.half_times - self.half_times)

    def errors(self, accuracy: str) -> Floats:
        """Relative errors of the crossings, against the middle of the observed step."""
        schedule: NetworkSchedule = getattr(self, accuracy)
        return np.asarray(schedule.crossing / np.maximum(self.half_times - 0.5, 0.5) - 1)

    def inside(self, accuracy: str) -> bool:
        """Whether all half-times lie within their bars; one not seen, if it may come later."""
        schedule: NetworkSchedule = getattr(self, accuracy)
        bars = zip(schedule.crossing, schedule.error, self.half_times, strict=True)
        return all_hold(within_bar(*one, self.last) for one in bars) == Verdict.HOLDS

    def in_order(self, accuracy: str) -> bool:
        """Whether concepts were learned in the order predicted."""
        schedule: NetworkSchedule = getattr(self, accuracy)
        seen = np.where(np.isnan(self.half_times), np.inf, self.half_times)
        ordered = seen[list(schedule.order)]
        return len(ordered) == len(seen) and bool((ordered[:-1] <= ordered[1:]).all())


def draw(cell: DeepCell, rng: np.random.Generator) -> tuple[list[Floats], SIMTask, float]:
    """Layers, task and learning rate of one network."""
    falls = rng.uniform(*RATIOS, cell.d - 1)
    signal = np.concatenate([[1.0], np.cumprod(1 / falls)])
    widths = [cell.d, *[cell.width] * (cell.depth - 1), cell.d]
    layers = []
    for wide, high in itertools.pairwise(widths):
        if cell.scale is None:
            reach = 1 / math.sqrt(wide)
            layers.append(rng.uniform(-reach, reach, (high, wide)))
        else:
            layers.append(cell.scale * rng.standard_normal((high, wide)))
    return layers, SIMTask.from_signal(signal.tolist()), STEP / cell.depth


def trained(cell: DeepCell, runs: int, seed: int) -> Iterator[Trained]:
    """Networks of a cell, predicted and trained one by one."""
    # By name and seed alone, so that a cell does not depend on those before it.
    rng = np.random.default_rng([seed, *cell.name.encode()])
    for _ in range(runs):
        layers, task, lr = draw(cell, rng)
        seen, last = half_times_of(layers, task.signal, lr, MOST_STEPS)
        full, leading = (
            predict_network(layers, task, lr=lr, accuracy=accuracy)
            for accuracy in ("full", "leading")
        )
        yield Trained(layers, task, full, leading, seen, last)


def half_times_of(
    layers: Sequence[Floats], signal: Any, lr: float, steps: int
) -> tuple[Floats, int]:
    """First steps of gradient descent with w_kk of at least 1/2 (nan: none), and the last step."""
    size = max(max(layer.shape) for layer in layers)
    # Zeros around a layer stay zeros, and add nothing to a sum.
    padded = np.zeros((len(layers), size, size))
    for layer, room in zip(layers, padded, strict=True):
        room[: layer.shape[0], : layer.shape[1]] = layer
    found = np.full(layers[0].shape[1], np.nan)
    last = _compiled()(padded, np.asarray(signal, dtype=np.float64), lr, steps, found)
    return found, int(last)


@functools.cache
def _compiled() -> Any:
    """Gradient descent, compiled: loops over small matrices are faster than calls there."""
    from numba import njit

    def added(out: Any, factor: float, left: Any, right: Any) -> None:
        size = len(out)
        for p in range(size):
            for q in range(size):
                total = 0.0
                for r in range(size):
                    total += left[p, r] * right[r, q]
                out[p, q] += factor * total

    add_product = njit(added)

    def descend(layers: Any, signal: Any, lr: float, steps: int, found: Any) -> int:
        L, d = len(layers), len(signal)
        # before[i] is W_<i, back[i] is W_>i^T (I - W) A: the gradient is their product.
        before, back = np.zeros((L + 1, *layers.shape[1:])), np.zeros_like(layers)
        before[0] = np.eye(layers.shape[1])
        for step in range(steps + 1):
            before[1:], back[:] = 0.0, 0.0
            for i in range(L):
                add_product(before[i + 1], 1.0, layers[i], before[i])
            missing = 0
            for k in range(d):
                if np.isnan(found[k]):
                    if before[L, k, k] >= 0.5:
                        found[k] = step
                    else:
                        missing += 1
            if missing == 0 or step == steps:
                return step
            for p in range(d):
                for q in range(d):
                    back[L - 1, p, q] = ((1.0 if p == q else 0.0) - before[L, p, q]) * signal[q]
            for i in range(L - 1, 0, -1):
                add_product(back[i - 1], 1.0, layers[i].T, back[i])
            for i in range(L):
                add_product(layers[i], lr, back[i], before[i].T)
        return steps

    return njit(descend)
