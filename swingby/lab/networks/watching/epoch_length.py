r"""Whether minibatches go through all points in epochs, and how long an epoch is.

A batch's gradient is :math:`r_t = c f_t + \xi_t`, with the gradient :math:`f_t` at all points and a
multiple c. Over an epoch that takes each point once the noise :math:`\xi` adds up to 0, but for
what the weights move; of batches drawn with replacement its sum is a random walk.
"""

from __future__ import annotations

from typing import Any

import numpy as np

#: Epochs are looked for from this to this part of the expected length.
_SHORTEST, _LONGEST = 0.65, 1.5
#: The sum of the noise, squared, is 0 if it is below this part of a random walk's: a last batch
#: that is smaller leaves some.
_CANCELLED = 0.08


class EpochLength:
    """Sums of gradients from the first step on, and what they say of epochs."""

    def __init__(self) -> None:
        self._real: Any = 0.0
        self._full: Any = 0.0
        self._products = np.zeros(3)
        #: After each step, the square of the sum of the noise in units of a random walk's.
        self._walks: list[float] = []
        #: After each step, the multiple c by the sums so far.
        self._multiples: list[float] = []

    def add(self, real: Any, full: Any) -> None:
        """Add the gradient of a batch, and that at all points at the same weights."""
        self._real, self._full = self._real + real, self._full + full
        self._products += [float(real @ real), float(real @ full), float(full @ full)]
        multiple = float(self._real @ self._full) / max(float(self._full @ self._full), 1e-300)
        self._multiples.append(multiple)
        away = self._real - multiple * self._full
        steps = float(self._products @ [1.0, -2 * multiple, multiple**2])
        self._walks.append(float(away @ away) / max(steps, 1e-300))

    def multiples(self, length: int) -> list[float]:
        """The multiple c after each whole epoch of some length: the noise adds up to 0 there."""
        return self._multiples[length - 1 :: length]

    @staticmethod
    def steps_for(expected: float) -> int:
        """Steps after which an epoch of about some length is seen, twice."""
        return 2 * int(_LONGEST * expected + 1)

    def found(self, expected: float) -> int | None:
        """The length of an epoch, where its noise adds up to 0 each time; else None."""
        lengths = range(2, len(self._walks) // 2 + 1)
        walks = {t: max(self._walks[t - 1 :: t]) for t in lengths}
        epochs = [t for t in lengths if walks[t] < _CANCELLED]
        long_enough = [t for t in epochs if t >= int(_SHORTEST * expected)]
        best = min(long_enough, key=lambda t: walks[t], default=None)
        # Two epochs add up to 0 as well.
        return best and min(t for t in epochs if best % t == 0)
