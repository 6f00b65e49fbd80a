"""The contrast at which colour and size have the same signal: where theory turns the order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from swingby.diffusion.circles import CONDITION, Circles
from swingby.diffusion.signals import Signals, measure
from swingby.errors import InvalidInput
from swingby.theory import numbers

#: The contrast is found to within this.
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Flip:
    """A predicted flip of the order of learning.

    Parameters
    ----------
    contrast : float
        Below it size has the larger signal, above it colour; nan where there is none.
    error : float
        Standard error from the sampling of images, nan where there is no flip.
    representation : str
    """

    contrast: float
    error: float
    representation: str


def find_flip(
    representation: str = "registered",
    *,
    gain: Sequence[float] = (1.0,) * CONDITION,
    pixels: int = 32,
    low: float = 0.02,
    high: float = 1.0,
    samples: int = 64,
    rng: Any = 0,
) -> Flip:
    """Find the contrast of equal signals by root finding.

    The same random numbers are used at every contrast, so the difference of the signals is a
    smooth function of it. The error is that of the logarithm of the ratio of signals at the
    root, divided by its slope there.

    Parameters
    ----------
    representation : {"registered", "pixels", "condition", "covariance"}
    gain : sequence of float
        As in :func:`swingby.diffusion.signals.measure`.
    pixels : int
    low, high : float
        Contrasts between which to look.
    samples : int
        As in :func:`swingby.diffusion.signals.measure`.
    rng : None, int, SeedSequence or Generator

    Raises
    ------
    InvalidInput

    Examples
    --------
    >>> round(find_flip("condition").contrast, 3)
    0.295
    """
    from scipy.optimize import brentq

    Circles(high, pixels)
    if not Circles(low, pixels).contrast < high:
        raise InvalidInput("low", low, f"must lie below high, {high}")
    seed = int(np.random.default_rng(rng).integers(2**63))
    known: dict[float, Signals] = {}

    def signals(contrast: float) -> Signals:
        if contrast not in known:
            circles = Circles(contrast, pixels)
            known[contrast] = measure(circles, representation, gain=gain, samples=samples, rng=seed)
        return known[contrast]

    if not signals(low).log_ratio < 0 < signals(high).log_ratio:
        return Flip(math.nan, math.nan, representation)
    root = float(brentq(lambda x: signals(x).log_ratio, low, high, xtol=TOLERANCE))
    near = max(low, 0.98 * root), min(high, 1.02 * root)
    slope = (signals(near[1]).log_ratio - signals(near[0]).log_ratio) / (near[1] - near[0])
    return Flip(root, signals(root).error / abs(slope), representation)


def flip_between(signals: Sequence[Signals]) -> Flip:
    """The flip among signals that have been measured already.

    Between neighbouring contrasts the logarithm of the ratio is a line in that of the contrast.

    Parameters
    ----------
    signals : sequence of Signals
        Of one representation, contrasts rising.

    Returns
    -------
    Flip
        nan unless the ratio passes 1 exactly once, upwards.
    """
    if not signals:
        raise InvalidInput("signals", "nothing", "must be one or more")
    ratio = np.array([one.log_ratio for one in signals])
    where = np.log([float(numbers.exact(one.contrast, "contrast")) for one in signals])
    name = signals[0].representation
    signs = np.sign(ratio)
    turns = np.flatnonzero(np.diff(signs) != 0)
    if len(turns) != 1 or signs[0] != -1 or signs[-1] != 1:
        return Flip(math.nan, math.nan, name)
    k = int(turns[0])
    slope = (ratio[k + 1] - ratio[k]) / (where[k + 1] - where[k])
    contrast = math.exp(where[k] - ratio[k] / slope)
    error = max(signals[k].error, signals[k + 1].error)
    return Flip(contrast, contrast * error / abs(slope), name)
