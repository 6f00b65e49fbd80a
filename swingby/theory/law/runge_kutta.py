"""A step along the coordinates by the Runge-Kutta pair of order 8 of Dormand and Prince.

It comes with two error estimates and an interpolation of order 7 (Hairer, Norsett, Wanner, Solving
Ordinary Differential Equations I, 2nd edition, Secs. II.5-6).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import DOP853

from swingby.theory.law.coordinates import slope
from swingby.theory.law.modified_flow import FieldConstants

#: Weights of the stages so far: for each later stage, and in the last row for the step.
STAGES = np.vstack([DOP853.A[1:12, :12], DOP853.B])
#: The same for the three stages after the step, and the coefficients of the interpolation.
EXTRA, DENSE = DOP853.A_EXTRA, DOP853.D
#: Weights of the two error estimates.
FIFTH, THIRD = DOP853.E5[:12], DOP853.E3[:12]


def weighted(weights: Any, slopes: Any) -> Any:
    """Sum of the slopes so far, each with its weight."""
    if isinstance(slopes[0], np.ndarray):
        # Not by BLAS, whose last bit depends on where arrays lie in memory.
        stacked = np.asarray(slopes)
        return (weights[: len(slopes), None, None, None] * stacked).sum(axis=0)
    return sum(weight * slope for weight, slope in zip(weights, slopes, strict=False) if weight)


def attempt(y: Any, first: Any, dt: Any, moving: Any, flow: FieldConstants, dynamics: str) -> Any:
    """One step of size dt (n,) from y with slope `first`: the new y and the stages' slopes."""
    slopes = [first]
    for stage in range(11):
        slopes.append(slope(y + dt * weighted(STAGES[stage], slopes), moving, flow, dynamics))
    return y + dt * weighted(STAGES[11], slopes), slopes


def between(
    y: Any, new: Any, slopes: Any, dt: Any, moving: Any, flow: FieldConstants, dynamics: str
) -> Any:
    """The forms (8, ...) of :func:`interpolated`, of a step from y to `new`, with its slopes."""
    slopes, moved, both = list(slopes), new - y, slopes[0] + slopes[-1]
    for weights in EXTRA:
        inner = y + dt * weighted(weights, slopes)
        slopes.append(slope(inner, moving, flow, dynamics))
    forms = [y, moved, dt * slopes[0] - moved, 2.0 * moved - dt * both]
    return np.stack([*forms, *(dt * weighted(weights, slopes) for weights in DENSE)])


def interpolated(forms: Any, shares: Any) -> Any:
    """Y at shares (n,) of steps, (..., n, m), from their starts and seven forms (..., 8, m)."""
    return interpolation_weights(shares) @ forms


def interpolation_weights(shares: Any) -> Any:
    """What each of the eight forms counts for at shares (n,) of a step, (n, 8)."""
    weights = np.ones((len(shares), 8))
    for number in range(1, 8):
        weights[:, number] = weights[:, number - 1] * (shares if number % 2 else 1.0 - shares)
    return weights
