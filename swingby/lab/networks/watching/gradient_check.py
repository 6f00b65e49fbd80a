"""The gradient that an optimizer is given, against that of the loss at X, Y.

It tells the multiple of the loss that is trained on, clipping, minibatches and their size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
import torch

from swingby.lab.networks.watching.epoch_length import EpochLength
from swingby.lab.networks.watching.observer import Observer, row, traceless

#: Relative difference of gradients up to which they are the same but for rounding.
_ROUNDING = 1e-4
#: Two norms of gradients that agree so far were made equal.
_SAME_NORM = 1e-5
#: Noisy gradients from which the multiple and the size of minibatches are estimated.
_ENOUGH = 12
#: Standard errors of a multiple in its uncertainty, and those by which others are told apart.
_ERRORS, _FAR = 2.0, 4.0
#: Relative uncertainty from which a multiple is known.
_LEAST_KNOWN = 0.2
#: Relative uncertainty below which no sharper multiple is looked for, and steps after which.
_SMALL, _LONG = 0.02, 200
#: In whole epochs a multiple is a usual one that is so near to it.
_USUAL = 0.02
#: So many different gradients of one norm, the largest, were clipped; gradients are different by a
#: cosine below 1 by this.
_TIES, _DIFFERENT = 3, 1e-4
#: The norm that torch adds before it divides, and its relative rounding.
_TORCH_EPS, _NORM_ROUNDING = 1e-6, 1e-6
#: Bounds have few digits, such as 0.25. By the chance that a norm is so near to such a number, one
#: gradient shows a clip, or two. Of whole data a norm may be such a number: it is so exactly then.
_BY_ONE, _BY_TWO, _EXACT = 5e-5, 1e-2, 3e-8
#: Minibatches have another multiple than before where it is off by so much, and so many errors.
_OTHER, _ERRORS_OFF = 0.1, 6.0
#: What is aside from a multiple of the loss is not noise where it stays in its direction: where its
#: cosine from step to step is larger, in the mean, than so many of its errors. The spread of
#: cosines is taken for this at least; what is smaller than rounding has no direction.
_SAME_WAY, _LEAST_SPREAD = 4.0, 0.25
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
    FOREIGN = "of something else, step after step"


class Multiple(NamedTuple):
    """An estimated multiple of the loss and its standard error."""

    value: float
    error: float


class _Largest:
    """Different gradients whose size is the largest so far; `short`: bounds have few digits."""

    def __init__(self, *, short: bool = False) -> None:
        self._short = short
        self.largest, self.last = 0.0, False
        self._tied: list[Any] = []

    def ties(self, size: float, gradient: Any) -> bool:
        """Add a gradient; whether enough of them have the largest size."""
        close = min(_SAME_NORM + _TORCH_EPS / max(size, _TORCH_EPS), _ROUNDING)
        self.last = size >= (1 - close) * self.largest
        if not self.last:
            return False
        if size > (1 + close) * self.largest:
            self.largest, self._tied = size, []
        unit = gradient / max(float(gradient.norm()), 1e-300)
        if all(float(unit @ other) < 1 - _DIFFERENT for other in self._tied):
            self._tied.append(unit)
        chance = min(_by_chance(size, digits) for digits in (1, 2)) if self._short else 1.0
        needed = 1 if chance <= _BY_ONE else 2 if chance <= _BY_TWO else _TIES
        return len(self._tied) >= needed


def _by_chance(size: float, digits: int) -> float:
    """The chance that a norm is so near to a number of few digits as this is; 1 where it is not."""
    if not _TORCH_EPS < size < math.inf:
        return 1.0
    unit = 10.0 ** (math.floor(math.log10(size * (1 + _SAME_NORM))) + 1 - digits)
    near, off = _NORM_ROUNDING * size + _TORCH_EPS, abs(size - unit * round(size / unit))
    if off > near:
        return 1.0
    return 2 * near / unit if off > _EXACT * size else 1.0


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
        #: Whether the epoch is still looked for, or without epochs a sharper multiple.
        self.listening = self.measuring = False
        #: How often that was of use, and steps after which it ends.
        self.revision, self._most = 0, 0
        self._lengths = EpochLength()
        #: Of the last comparison: how far the gradient was from the expected one, relatively.
        self.off = 0.0
        self._count, self._norm = 0, 0.0
        #: What the multiple may be off by, relatively (95 %), in minibatches.
        self.uncertainty = 0.0
        #: r . r, r . f and f . f for the gradient r of each minibatch and f at all points.
        self._products: list[list[float]] = []
        self._norms, self._entries = _Largest(short=True), _Largest()
        #: After how many of them the spread of gradients at single points was taken, and its log.
        self._spreads: list[tuple[int, float]] = []
        self._full: Any = None
        #: What the last minibatch had aside from a multiple of the loss, of length 1, and cosines
        #: of that at successive steps.
        self._aside: Any = None
        #: Minibatches since their multiple is looked at again, None where it is not.
        self._again: int | None = None
        self._cosines: list[float] = []

    @property
    def armed(self) -> bool:
        """Whether the next step is compared."""
        return self._full is not None

    def arm(self) -> None:
        """Take the gradient of the loss at the parameters of now."""
        self._full = self._observer.gradient(self._parameters)

    def disarm(self) -> None:
        """Drop what the next step was to be compared with."""
        self._full = None

    def compare(self) -> Comparison:
        """Compare it with the gradient of the step that was taken from there."""
        full, self._full = self._full, None
        real = row([entry.grad for entry in self._parameters], self._parameters)
        norm, square = float(real.norm()), float(full @ full)
        if not norm or not square or not math.isfinite(norm):
            return Comparison.SAME
        self.off = float((real - self.expected(full)).norm()) / norm
        if self.noisy:
            return self._measure(real, full)
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
        return self._measure(real, full)

    def _measure(self, real: Any, full: Any) -> Comparison:
        """One more minibatch: clips, the multiple of the loss, and the size of minibatches."""
        if (clipped := self.clipped(real)) is not None:
            return clipped
        if self._same_way(real, full):
            return Comparison.FOREIGN
        self._lengths.add(real, full)
        products = [float(real @ real), float(real @ full), float(full @ full)]
        self._products.append(products)
        if self._again is not None and len(self._products) >= self._again + _ENOUGH:
            since, self._again = self._again, None
            estimate = self._estimate(since)
            self.off = abs(estimate.value / self.scale - 1)
            doubt = _ERRORS_OFF * estimate.error / self.scale + _ERRORS * self.uncertainty
            if self.off > max(doubt, _OTHER):
                return Comparison.CHANGED
        if self.listening:
            if len(self._products) >= self._listening_ends():
                self._end_listening()
        elif self.measuring:
            self._measure_on()
        elif self.batch is None and len(self._products) >= _ENOUGH:
            estimate = self._estimate()
            if 0 < _ERRORS * estimate.error <= _LEAST_KNOWN * estimate.value:
                self._size()
        return Comparison.NOISY

    def _same_way(self, real: Any, full: Any) -> bool:
        """Whether what is aside from a multiple of the loss is the same again and again: no noise.

        Noise of minibatches is new at every step, or cancels that of the steps before.
        """
        aside, last = real - float(real @ full) / float(full @ full) * full, self._aside
        size = float(aside.norm())
        self._aside = aside / size if size > _ROUNDING * float(real.norm()) else None
        if last is not None and self._aside is not None:
            self._cosines.append(float(last @ self._aside))
        count = len(self._cosines)
        if count < _ENOUGH - 1:
            return False
        spread = max(float(np.std(self._cosines)), _LEAST_SPREAD)
        return float(np.mean(self._cosines)) > _SAME_WAY * spread / math.sqrt(count)

    def clipped(self, real: Any = None) -> Comparison | None:
        """Whether gradients of minibatches are clipped: the largest of different ones agree."""
        if real is None:
            real = row([entry.grad for entry in self._parameters], self._parameters)
        of_norm = self._norms.ties(float(real.norm()), real)
        of_entries = self._entries.ties(float(real.abs().max()), real)
        if of_norm:
            self.clip = self._norms.largest
        return Comparison.CLIPPED if of_norm else Comparison.CUT if of_entries else None

    @property
    def at_largest(self) -> bool:
        """Whether the last gradient of a minibatch was the largest so far, as clipped ones are."""
        return self._norms.last or self._entries.last

    def look_again(self) -> None:
        """Measure the multiple of the minibatches to come, if they may be afforded."""
        settled = self.batch is not None and not (self.listening or self.measuring)
        if settled and self._again is None and len(self._products) + _ENOUGH <= self._most:
            self._again = len(self._products)

    @property
    def compares(self) -> bool:
        """Whether something is to be found out of minibatches."""
        again = self._again is not None
        return self.batch is None or self.listening or self.measuring or again

    def _estimate(self, since: int = 0) -> Multiple:
        """The mean over steps of the coefficient of the gradient on that at all points."""
        products = np.array(self._products[since:])
        coefficients = products[:, 1] / products[:, 2]
        steps = len(coefficients)
        error = float(coefficients.std(ddof=1)) / math.sqrt(steps)
        # Near to Student's factor, in units of the normal one.
        return Multiple(float(coefficients.mean()), error * (1 + 2 / steps))

    def _size(self) -> None:
        """The multiple of the loss, and the points of a minibatch, by its noise."""
        count, steps = len(self._observer.X), len(self._products)
        estimate = self._estimate()
        self.scale, self.uncertainty = self._nearest(estimate, _FAR * estimate.error)
        self._spreads.append((steps, math.log(max(self._spread(), 1e-300))))
        # Both grow with the weights.
        measured, logs = np.array(self._spreads).T
        spreads = np.exp(np.interp(np.arange(1, steps + 1), measured, logs))
        c = estimate.value
        noise = np.array(self._products) @ [1.0, -2 * c, c**2] / c**2
        ratio = 1 / max(float(np.mean(noise / spreads)), 1e-300)
        if not self._spreads[1:]:
            # Without replacement the noise is less by (n - B) / (n - 1).
            ratio = ratio * count / (count - 1 + ratio)
        self.batch = float(np.clip(ratio, 1.0, count))

    def _nearest(self, estimate: Multiple, within: float) -> tuple[float, float]:
        """The usual multiple that an estimate allows, if it is the only one, and its uncertainty.

        That is relative: 95 % of what the estimate leaves open, beside its distance.
        """
        value, doubt = estimate.value, _ERRORS * estimate.error
        # A sum over B of n points is B / n of the sum over all.
        unit = 1.0 if not self.summed() else 1 / self.epoch if self.epoch else 0.0
        q = self._observer.Y[0].numel()
        usual = {unit * entry for entry in (1.0, 0.5, 2.0, float(q), q / 2)}
        near = [entry for entry in usual if abs(value - entry) <= within]
        if len(near) != 1:
            return value, doubt / value
        return near[0], (doubt + abs(value - near[0])) / near[0]

    def listen(self, most: int) -> None:
        """Look for epochs in the steps to come, with at most so many gradients."""
        self._most = len(self._products) + most
        self.listening = self._listening_ends() <= self._most
        self.measuring = not self.listening

    def _listening_ends(self) -> int:
        """Steps after which epochs are seen, by the size of minibatches so far."""
        assert self.batch is not None
        return max(2 * _ENOUGH, EpochLength.steps_for(len(self._observer.X) / self.batch))

    def _end_listening(self) -> None:
        """Say how long an epoch is, and so how large a batch, or that there is none."""
        self._size()
        steps = len(self._products)
        if steps < self._listening_ends() <= self._most:
            # Minibatches are smaller than they seemed.
            return
        assert self.batch is not None
        count, self.listening = len(self._observer.X), False
        self.revision += 1
        self.epoch = self._lengths.found(count / self.batch)
        if self.epoch is None:
            self.measuring = True
            return
        # The last batch may be smaller.
        self.batch = float(math.ceil(count / self.epoch))
        self.scale, self.uncertainty = self._of_epochs(self.epoch)
        self.measuring = self.uncertainty > _SMALL

    def _of_epochs(self, epoch: int) -> tuple[float, float]:
        """The multiple by whole epochs, whose noise nearly adds up to 0, and its uncertainty."""
        multiples = self._lengths.multiples(epoch)
        value, spread = multiples[-1], max(multiples) - min(multiples)
        estimate = Multiple(value, spread / math.sqrt(len(multiples)))
        multiple, uncertainty = self._nearest(estimate, max(_USUAL * value, _FAR * estimate.error))
        near = multiple != value and abs(multiple - value) <= _USUAL * value
        return multiple, 0.0 if near else uncertainty

    def _measure_on(self) -> None:
        """A sharper multiple, wherever its uncertainty has halved; until it is small."""
        steps, estimate = len(self._products), self._estimate()
        if self.epoch is not None:
            multiple, uncertainty = self._of_epochs(self.epoch)
        else:
            multiple, uncertainty = self._nearest(estimate, _FAR * estimate.error)
        if 2 * uncertainty <= self.uncertainty:
            self.scale, self.uncertainty = multiple, uncertainty
            self.revision += 1
        small = self.uncertainty <= _SMALL
        self.measuring = not small and steps < min(self._most, _LONG)

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
        times = len(observer.X) if self.summed() else 1
        generator = torch.Generator().manual_seed(0)
        points = torch.randperm(len(observer.X), generator=generator)[:_POINTS]
        squares = [
            float((times * observer.gradient(self._parameters, [int(k)]) - full).square().sum())
            for k in points
        ]
        return float(np.mean(squares))
