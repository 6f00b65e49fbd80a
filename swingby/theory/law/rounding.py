"""How far rounding of the weights moves half-times: what small parts lose beside a learned mode.

Weights of size 1 are rounded to half a spacing of their floats. A part of size s that is to grow
beside them loses that over s, some twenty times over, and is late or early by as many of its
e-foldings.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from swingby.theory.numbers import Floats

#: Rounding of the largest weights, in units of the smallest layer, reaches small parts so many
#: times over; past the second number what is learned after the first mode is rounding. Measured
#: with float32 (benchmarks/networks_law.py).
_ROUNDINGS, _MOST = 20.0, 1.0


def rounding_bars(first: Floats, parts: Floats, spacing: float) -> Floats:
    """What rounding may move half-times by, in steps; inf where it decides them.

    `first`: half-times from now; 0 where a mode is learned. `parts`: size of what grows into each
    mode (m,), beside the first. `spacing`: of the floats of the weights, around 1.

    >>> rounding_bars(np.array([100.0, 200.0]), np.array([0.01, 0.01]), 2.0**-23).round(4).tolist()
    [0.0, 0.0052]
    """
    bars = np.zeros(len(first))
    waiting = np.isfinite(first) & (first > 0)
    if waiting.any():
        # Of the first to grow nothing is lost, since nothing is larger.
        begun = bool((first == 0).any())
        beside = waiting & (begun | (first > first[waiting].min())) & (parts > 0)
        sizes = parts[beside]
        lost = _ROUNDINGS * spacing / 2 / sizes
        bars[beside] = np.where(
            lost > _MOST, np.inf, lost * first[beside] / np.maximum(1.0, -np.log(sizes))
        )
    return bars


def parts_beside(layers: Sequence[Floats], first: Floats) -> Floats:
    """Size of what grows into each mode (m,) at the time when another is learned, from layers now.

    Layers that have j modes already, or grow into them, have the next in singular value j + 1. It
    grows until then, as all do. Of one layer it is 1: there nothing grows from what there is.
    """
    count = len(first)
    if len(layers) == 1:
        return np.ones(count)
    parts = np.ones(count)
    rank = np.argsort(np.argsort(first, kind="stable"), kind="stable")
    for layer in layers:
        values = np.linalg.svd(layer, compute_uv=False)
        parts = np.minimum(parts, values[np.minimum(rank, len(values) - 1)])
    ahead = np.isfinite(first) & (first > 0)
    start = first.min(where=np.isfinite(first), initial=np.inf)
    parts[ahead] **= 1 - start / first[ahead]
    return parts
