"""The gradient that an optimizer is given, against that of the loss at X, Y.

It tells the multiple of the loss that is trained on, clipping, minibatches and their size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np
import torch

from swingby.lab.networks.watching.epoch_length import EpochLength
from swingby.lab.networks.watching.observer import Observer, row, traceless

#: Relative difference of gradients up to which they are the same but for rounding.
_ROUNDING = 1e-4
#: Two norms of gradients that agree so far were made equal.
_SAME_NORM = 1e-5
#: Noisy gradients after which the size of the minibatches is estimated.
_ENOUGH = 6
#: Points whose own gradients are taken for the spread of gradients.
_POINTS = 64


class Comparison(Enum):
    """What a comparison of two gradients shows."""

    SAME = "as expected"
    SCALED = "a multiple of the loss"
    CLIPPED = "clipped"
    CUT = "clipped entry by entry"
    NOISY = "minibatches"
    CHANGED = "no longer that of the loss"


class GradientCheck:
    """Compares gradients at some steps, and knows what it has learned of them."""

    def __init__(self, observer: Observer, parameters: Sequence[Any]) -> None:
        self._observer, self._parameters = observer, list(parameters)
        #: The gradient is so many times that of the loss, and clipped to this norm.
        self.scale, self.clip = 1.0, math.inf
        #: Points in a minibatch, where gradients are noisy and enough have been looked at.
        self.batch: float | None = None
        self.noisy = False
        #: Steps in an epoch, where minibatches are seen to take each point once in it.
        self.epoch: int | None = None
        #: Whether the epoch is still looked for.
        self.listening = False
        self._lengths, self._until = EpochLength(), 0
        #: Of the last comparison: how far the gradient was from the expected one, relatively.
        self.off = 0.0
        self._count, self._norm = 0, 0.0
        self._multiples: list[float] = []
        self._noise: list[float] = []
        #: After how many of them the spread of gradients at single points was taken, and its log.
        self._spreads: list[tuple[int, float]] = []
        self._full: Any = None

    @property
    def armed(self) -> bool:
        """Whether the next step is compared."""
        return self._full is not None

    def arm(self) -> None:
        """Take the gradient of the loss at the parameters of now."""
        self._full = self._observer.gradient(self._parameters)

    def compare(self) -> Comparison:
        """Compare it with the gradient of the step that was taken from there."""
        full, self._full = self._full, None
        real = row([entry.grad for entry in self._parameters], self._parameters)
        norm, square = float(real.norm()), float(full @ full)
        if not norm or not square or not math.isfinite(norm):
            return Comparison.SAME
        self.off = float((real - self.expected(full)).norm()) / norm
        if self.noisy:
            self._measure(real, full)
            return Comparison.NOISY
        result = Comparison.SAME
        if self.off > _ROUNDING:
            result = self._difference(real, full, norm, float(real @ full) / square)
        self._count, self._norm = self._count + 1, norm
        return result

    def expected(self, full: Any) -> Any:
        """The gradient that the optimizer is given, by all that is known."""
        scaled = self.scale * full
        norm = float(scaled.norm())
        return scaled * (self.clip / norm) if norm > self.clip else scaled

    def _difference(self, real: Any, full: Any, norm: float, multiple: float) -> Comparison:
        """What explains a gradient that is not the expected one."""
        aside = float((real - multiple * full).norm()) / norm
        if aside <= _ROUNDING:
            if not self._count:
                self.scale = multiple
                return Comparison.SCALED
            if math.isfinite(self.clip) or multiple <= 0:
                return Comparison.CHANGED
            if abs(norm / self._norm - 1) < _SAME_NORM:
                # From the first step on: the multiple that was seen is that of the clipping.
                self.scale, self.clip = 1.0, norm
                same = float((real - self.expected(full)).norm()) <= _ROUNDING * norm
                return Comparison.CLIPPED if same else Comparison.CHANGED
            if multiple < self.scale:
                self.clip = norm
                return Comparison.CLIPPED
            return Comparison.CHANGED
        largest = float(real.abs().max())
        cut = (self.scale * full).clamp(-largest, largest)
        if float((real - cut).norm()) <= _ROUNDING * norm:
            return Comparison.CUT
        if self._count:
            return Comparison.CHANGED
        self.noisy = True
        self._measure(real, full)
        return Comparison.NOISY

    def _measure(self, real: Any, full: Any) -> None:
        """Multiple and noise of one more minibatch; the size of minibatches from enough of them."""
        self._lengths.add(real, full)
        square = float(full @ full)
        self._multiples.append(float(real @ full) / square)
        self._noise.append(float((real - full).square().sum()))
        count = len(self._observer.X)
        if self.batch is not None:
            self._until -= 1
            if self.listening and self._until <= 0:
                self._end_listening()
        elif len(self._noise) >= _ENOUGH:
            if self.summed():
                # A sum over B of n points is B / n of the sum over all.
                self.scale = float(np.clip(np.median(self._multiples), 1 / count, 1.0))
                self.batch = self.scale * count
                return
            ratio = self._size()
            # Without replacement the noise is less by (n - B) / (n - 1).
            self.batch = float(np.clip(ratio * count / (count - 1 + ratio), 1.0, count))

    def _size(self) -> float:
        """How many points drawn with replacement have as much noise as the minibatches."""
        steps = len(self._noise)
        self._spreads.append((steps, math.log(max(self._spread(), 1e-300))))
        # Both grow with the weights.
        measured, logs = np.array(self._spreads).T
        spreads = np.exp(np.interp(np.arange(1, steps + 1), measured, logs))
        return 1 / max(float(np.mean(self._noise / spreads)), 1e-300)

    def listen(self, most: int) -> None:
        """Look for epochs in the steps to come, if that takes at most so many gradients."""
        assert self.batch is not None
        expected = len(self._observer.X) / self.batch
        self._until = EpochLength.steps_for(expected) - len(self._noise)
        self.listening = self._until <= most

    def _end_listening(self) -> None:
        """Say how long an epoch is, and so how large a batch, or that there is none."""
        assert self.batch is not None
        count, self.listening = len(self._observer.X), False
        self.epoch = self._lengths.found(count / self.batch)
        if self.epoch is not None:
            self.batch = count / self.epoch
            self.scale = 1 / self.epoch if self.summed() else self.scale
        elif not self.summed():
            self.batch = float(np.clip(self._size(), 1.0, count))

    def summed(self) -> bool:
        """Whether the loss is a sum over points, not a mean."""
        observer = self._observer
        with traceless(), torch.no_grad():
            outputs = torch.zeros_like(observer.Y)
            once = float(observer.loss(outputs, observer.Y))
            targets = torch.cat([observer.Y, observer.Y])
            twice = float(observer.loss(torch.cat([outputs, outputs]), targets))
        return abs(twice) > 1.5 * abs(once)

    def _spread(self) -> float:
        """The mean square of what gradients at single points differ by from that at all."""
        observer = self._observer
        full = observer.gradient(self._parameters)
        generator = torch.Generator().manual_seed(0)
        points = torch.randperm(len(observer.X), generator=generator)[:_POINTS]
        squares = [
            float((observer.gradient(self._parameters, [int(k)]) - full).square().sum())
            for k in points
        ]
        return float(np.mean(squares))
