"""Compiled drift of the correlations under euler, as in :mod:`swingby.theory.finite_step`."""

from __future__ import annotations

from swingby.verify.batched.elementary import exp, log
from swingby.verify.batched.vectors import Mask, Vector, smallest, where

_EULER_GAMMA = 0.5772156649015328606


def add_drifts(
    removed: dict[tuple[int, int], Vector],
    learned: Mask,
    signal: list[Vector],
    eta: Vector,
    growth: dict[tuple[int, int], Vector],
    k: int,
) -> None:
    """Multiply what stage k removes by how far its drift runs on after t_k."""
    rate = growth[k, k]
    h = eta * signal[k]
    for (i, j), value in removed.items():
        ratio_i = _ratio(signal[i], signal[k])
        ratio_j = _ratio(signal[j], signal[k])
        per_step = growth[k, i] + growth[k, j] - rate - growth[i, j]
        total = per_step * _drift_end(ratio_i, ratio_j, rate) + _fitted(ratio_i, ratio_j, h)
        removed[i, j] = where(learned, value * exp(total), value)


def _ratio(above: Vector, below: Vector) -> Vector:
    return smallest(1.0, above / below)


def _drift_end(ratio_i: Vector, ratio_j: Vector, growth: Vector) -> Vector:
    u = (2.0 - ratio_i - ratio_j) * 0.25
    weight = _digamma(1.0 - u) + 0.75 / (1.0 - u) + 0.25 / (2.0 - u)
    return -(weight + _EULER_GAMMA) / growth


def _fitted(ratio_i: Vector, ratio_j: Vector, h: Vector) -> Vector:
    total, product = ratio_i + ratio_j, ratio_i * ratio_j
    size = (
        product * 0.1554
        + 0.7689
        + total * 0.178
        - product * total * 0.0035
        + total * total * 0.0147
    )
    scale = h * h * (1.0 - ratio_i) * (1.0 - ratio_j)
    return scale * size / (h * (total * 1.2 + 1.75) + 1.0)


def _digamma(x: Vector) -> Vector:
    """For arguments between 1/2 and 1: six steps of the recurrence, then the asymptotic series."""
    numerator, denominator = x.like(1.0), x
    for place in range(1, 6):
        following = x + float(place)
        numerator = numerator * following + denominator
        denominator = denominator * following
    shifted = x + 6.0
    inverse = 1.0 / shifted
    square = inverse * inverse
    tail = 1 / 132 - square * (691 / 32760)
    for coefficient in (1 / 240, 1 / 252, 1 / 120, 1 / 12):
        tail = coefficient - square * tail
    return log(shifted) - inverse * 0.5 - square * tail - numerator / denominator
