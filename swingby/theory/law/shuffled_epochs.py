r"""The noise of reshuffled epochs: every sample is in one batch, so most of it cancels.

Over an epoch of M batches, of b_t samples each, the gradients move a half-time by
:math:`\sum_t w_t \sum_{i \in B_t} g_i(t)`, with weights :math:`w_t = 1/b_t` where a batch's
gradient is a mean. That is a permutation statistic. Its variance (Hoeffding, Ann. Math. Statist.
22, 1951) is

.. math:: \frac1{n - 1} \sum_t b_t \sum_i d_{it}^2,

where :math:`d_{it}` is :math:`w_t g_i(t)` less its mean over i, and less its mean over t with
weights :math:`b_t/n`. Where g_i is constant, there remains

.. math:: \frac{n}{n - 1} \operatorname{var}_i(g_i)
          \Bigl(\sum_t b_t w_t^2 - \tfrac1n \bigl(\sum_t b_t w_t\bigr)^2\Bigr):

nothing for equal batches, but not where B does not divide n: then the samples of the last, smaller
batch count more, or those of a batch that is dropped count nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from swingby.theory.numbers import Floats

#: An epoch is so nearly a whole number of batches, whose size may be an estimate.
_NEARLY = 1e-6


@dataclass(frozen=True, eq=False)
class Epoch:
    """The batches of an epoch of n samples: how many samples each has, and their weights, (M,)."""

    n: int
    sizes: Floats
    weights: Floats

    @property
    def steps(self) -> int:
        """Number of batches M."""
        return len(self.sizes)

    def left(self, count: int) -> float:
        """Variance of the first so many batches, in units of that of one sample in a step."""
        sizes, weights = self.sizes[:count], self.weights[:count]
        rest = float(sizes @ weights**2 - (sizes @ weights) ** 2 / self.n)
        return max(rest, 0.0) * self.n / max(self.n - 1, 1)

    def lag(self, momentum: float) -> float:
        """How far kicks of the same epoch have moved the weights, in units of that at once."""
        ages = np.arange(1, self.steps)
        pairs = self.steps - ages
        return float(pairs @ (1 - momentum**ages) / pairs.sum()) if self.steps > 1 else 0.0


def epochs_of(n: int, batch: float, *, mean: bool) -> list[Epoch]:
    """The epochs there may be: with a smaller last batch, and without it.

    `mean`: whether a batch's gradient is a mean. Of sums every sample counts once, and there is no
    epoch without the last batch: that has another multiple of the loss.

    >>> [epoch.sizes.tolist() for epoch in epochs_of(50, 20, mean=True)]
    [[20.0, 20.0, 10.0], [20.0, 20.0]]
    """
    whole = int(n / batch + _NEARLY)
    sizes, rest = np.full(whole, float(batch)), n - whole * batch
    plans = [sizes] if rest <= _NEARLY * n else [np.append(sizes, rest), sizes]
    if mean:
        return [Epoch(n, own, 1 / own) for own in plans]
    return [Epoch(n, own, np.full(len(own), len(own) / n)) for own in plans[:1]]


class Shuffle:
    """The variance of a half-time by shuffled epochs, step by step, the last step first."""

    def __init__(self, epoch: Epoch, rows: int) -> None:
        self._epoch, self._rows, self._total = epoch, rows, 0.0
        self._number, self._last = -1, True
        self._steps, self._held, self._squares, self._sums = 0, 0.0, 0.0, np.zeros(rows)

    def add(self, step: int, growth: Floats) -> None:
        """What each of some rows gives at a step."""
        number, place = divmod(step, self._epoch.steps)
        if number != self._number:
            self._close()
            # In the epoch of the half-time, batches that come later give nothing.
            self._last, self._number = self._number < 0, number
        size = float(self._epoch.sizes[place])
        own = self._epoch.weights[place] * (growth - growth.mean())
        self._steps += 1
        self._held += size
        self._squares += size * float(own @ own)
        self._sums += size * own

    def total(self) -> float:
        """The variance of all steps."""
        self._close()
        return self._total

    def _close(self) -> None:
        """End an epoch; of one of which some steps are not of the map, the others are all."""
        whole = self._last or self._steps == self._epoch.steps
        n = self._epoch.n if whole else self._held
        if n > 1:
            rest = self._squares - float(self._sums @ self._sums) / n
            self._total += max(rest, 0.0) / (n - 1) * self._epoch.n / self._rows
        self._steps, self._held, self._squares, self._sums = 0, 0.0, 0.0, np.zeros(self._rows)
