"""Shapes of recorded curves: smoothing, dips, hills, areas beside a chord, and slowing down."""

from __future__ import annotations

import numpy as np

from swingby.theory.numbers import Floats

#: Turns of the smoothed test loss count from this share of its start.
SWING = 0.01


def dip_depth(values: Floats) -> Floats:
    """Depth of each entry below what its row was before and is again; 0 without a dip.

    >>> dip_depth(np.array([1.0, 0.4, 0.6, 0.0, 0.5])).tolist()
    [0.0, 0.19999999999999996, 0.0, 0.5, 0.0]
    """
    before = np.maximum.accumulate(values, axis=-1)
    after = np.maximum.accumulate(values[..., ::-1], axis=-1)[..., ::-1]
    return np.asarray(np.minimum(before, after) - values)


def deepest_dip(values: Floats) -> Floats:
    """How far each row falls and comes back."""
    return np.asarray(dip_depth(values).max(axis=1))


def highest_hill(loss: Floats) -> Floats:
    """How far each row, in units of its start, rises above what it fell to before and later."""
    has_fallen = np.minimum.accumulate(loss, axis=1) <= 1 - SWING
    return np.asarray(np.where(has_fallen, dip_depth(-loss), 0.0).max(axis=1))


def smoothed(values: Floats, window: int) -> Floats:
    """Means over `window` neighbouring steps, along the second axis."""
    total = np.cumsum(values, axis=1)
    ends = total[:, window:] - total[:, :-window]
    return np.concatenate([values[:, :1], ends / window], axis=1)


def chord_area(share: Floats) -> Floats:
    """Twice the area between a path in the plane and the chord from its start to its end."""
    x, y = (share[:, :, k] - share[:, :1, k] for k in range(2))
    dx, dy = np.diff(x, axis=1), np.diff(y, axis=1)
    within = (y[:, 1:] + y[:, :-1]) * dx - (x[:, 1:] + x[:, :-1]) * dy
    return np.asarray(0.5 * within.sum(axis=1))


def slowing(share: Floats) -> Floats:
    """Speed of each path in the last tenth of its time, over its mean speed."""
    ratios = []
    for path in share:
        away = np.linalg.norm(path - path[-1], axis=1)
        reached = int(np.argmax(away <= 1e-3 * away[0])) or len(path) - 1
        tenth = max(1, reached // 10)
        last = np.linalg.norm(path[reached] - path[reached - tenth]) / tenth
        ratios.append(last / (np.linalg.norm(path[reached] - path[0]) / reached))
    return np.array(ratios)
