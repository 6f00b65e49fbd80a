r"""Compiled: W near a state in which some concepts are learned, to several orders. Imports numba.

Let S be the learned concepts, P the projector on them, V = W - P and s_ilj = a_i + a_j + 2 a_l.
One step is

.. math:: V^+_{ij} = \lambda_{ij} V_{ij} + \sum_l q_{ilj} V_{il} V_{lj}
          + \sum_{l,m} k_{ilmj} V_{il} V_{lm} V_{mj},

with the factors of :mod:`swingby.simulate.growth_table`; q = -eta s/2 and k = 0 for euler, and

.. math:: q_{ilj} = -\tfrac\eta2 [(a_i + a_l) m_j + (a_l + a_j) m_i]
          + \tfrac{\eta^2}4 [l \in S] (a_i + a_l)(a_l + a_j), \qquad
          k_{ilmj} = \tfrac{\eta^2}4 (a_i + a_l)(a_m + a_j)

for gd, where m is 1 on S and 1 + eta a elsewhere. In suitable coordinates Z that is linear:

.. math:: V_{ij} = Z_{ij} + \sum_l c_{ilj} Z_{il} Z_{lj} + \sum_{l,m} c_{ilmj} Z_{il} Z_{lm} Z_{mj}
          + \dots, \qquad Z_{ij}(n) = \lambda_{ij}^n Z_{ij}(0).

Every coefficient belongs to a path from i to j. Put into one step, it is what the steps make of
its shorter pieces, divided by the product of the factors along the path minus lambda_ij: for two
edges ``q_ilj / (lambda_il lambda_lj - lambda_ij)``. The flow is the same with logarithms and sums
in place of factors and products. Where the divisor almost vanishes, the term grows like n instead
and is counted among what is neglected.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swingby.simulate.compiling import compiled
from swingby.simulate.growth_table import FLOW, GD
from swingby.simulate.state import Booleans, Floats

#: What may be neglected, relative to an entry.
NEGLIGIBLE = 1e-17
#: Relative size below which a divisor counts as zero.
_RESONANCE = 1e-4


class Expansion(NamedTuple):
    """The series for one set of learned concepts.

    order: of the terms that are kept; gd, flow: which map; learned (d,); first (d, d):
    lambda - 1, for the flow log(lambda); products (d, d, d): q; second (d, d, d), third, fourth:
    c for paths of two, three and four edges, empty beyond the order; resonant (d, d): the terms
    per step whose divisor almost vanishes.
    """

    order: int
    flow: bool
    learned: Booleans
    first: Floats
    products: Floats
    second: Floats
    third: Floats
    fourth: Floats
    resonant: Floats


@compiled
def kept_order(d: int, many: bool) -> int:  # pragma: no cover
    """The order up to which terms are kept: their number is d to the order plus one.

    With `many`, in lanes, the steps that a higher order would save cost less than its terms.
    """
    if many:
        return 2
    if d <= 4:
        return 4
    return 3 if d <= 6 else 2


@compiled
def threshold(order: int) -> float:  # pragma: no cover
    """How far W may be from P: what is neglected is of this size to the power `order`."""
    if order == 4:
        return 3e-5
    return 1e-6 if order == 3 else 1e-9


@compiled
def _along(first: float, second: float, flow: bool) -> float:  # pragma: no cover
    """The factor of two pieces together, minus 1; for the flow their logarithms together."""
    return first + second if flow else first + second + first * second


@compiled
def _divide(numerator: float, path: float, own: float, span: float) -> float:  # pragma: no cover
    """The coefficient of a path, 0 where its divisor almost vanishes."""
    divisor = path - own
    return numerator / divisor if abs(divisor) > _RESONANCE * (span + abs(own)) else 0.0


@compiled
def expand(
    signal: Floats,
    eta: float,
    kind: float,
    learned: Booleans,
    Y: Floats,
    square: Floats,
    order: int,
) -> Expansion:  # pragma: no cover
    """The coefficients; Y is V in the scale of X, for the size of resonant terms."""
    d = signal.shape[0]
    gd, flow = kind == GD, kind == FLOW
    first, resonant = np.empty((d, d)), np.zeros((d, d))
    for i in range(d):
        for j in range(d):
            together, apart = signal[i] + signal[j], 0.5 * (signal[i] - signal[j])
            if learned[i] and learned[j]:
                first[i, j] = -eta * together
            elif learned[i]:
                first[i, j] = -eta * apart
            elif learned[j]:
                first[i, j] = eta * apart
            else:
                first[i, j] = eta * together
                if gd:
                    first[i, j] += (eta * signal[i]) * (eta * signal[j])
    q, second = np.empty((d, d, d)), np.empty((d, d, d))
    for i in range(d):
        for j in range(i, d):
            for k in range(d):
                left, right = signal[i] + signal[k], signal[k] + signal[j]
                value = -0.5 * eta * (left + right)
                if gd:
                    of_i = 1.0 if learned[i] else 1.0 + eta * signal[i]
                    of_j = 1.0 if learned[j] else 1.0 + eta * signal[j]
                    value = -0.5 * eta * (left * of_j + right * of_i)
                    if learned[k]:
                        value += 0.25 * (eta * left) * (eta * right)
                path = _along(first[i, k], first[k, j], flow)
                span = abs(first[i, k]) + abs(first[k, j])
                c = _divide(value, path, first[i, j], span)
                if c == 0.0:
                    resonant[i, j] += abs(value * Y[i, k] * Y[k, j]) * square[k]
                q[i, k, j], q[j, k, i] = value, value
                second[i, k, j], second[j, k, i] = c, c
    third = np.empty((d, d, d, d) if order > 2 else (0, 0, 0, 0))
    fourth = np.empty((d, d, d, d, d) if order > 3 else (0, 0, 0, 0, 0))
    if order > 2:
        _expand_third(signal, eta, gd, flow, first, q, second, third, Y, square, resonant)
    if order > 3:
        _expand_fourth(signal, eta, gd, flow, first, q, second, third, fourth, Y, square, resonant)
    for i in range(d):
        for j in range(i, d):
            resonant[j, i] = resonant[i, j]
    return Expansion(order, flow, learned, first, q, second, third, fourth, resonant)


@compiled
def _expand_third(
    signal: Floats,
    eta: float,
    gd: bool,
    flow: bool,
    first: Floats,
    q: Floats,
    second: Floats,
    third: Floats,
    Y: Floats,
    square: Floats,
    resonant: Floats,
) -> None:  # pragma: no cover
    d = signal.shape[0]
    cubic = 0.25 * eta * eta if gd else 0.0
    for i in range(d):
        for j in range(i, d):
            for k in range(d):
                for m in range(d):
                    value = q[i, k, j] * second[k, m, j] + q[i, m, j] * second[i, k, m]
                    value += cubic * (signal[i] + signal[k]) * (signal[m] + signal[j])
                    path = _along(first[i, k], _along(first[k, m], first[m, j], flow), flow)
                    span = abs(first[i, k]) + abs(first[k, m]) + abs(first[m, j])
                    c = _divide(value, path, first[i, j], span)
                    if c == 0.0:
                        size = abs(value * Y[i, k] * Y[k, m] * Y[m, j])
                        resonant[i, j] += size * square[k] * square[m]
                    third[i, k, m, j] = c
                    third[j, m, k, i] = c


@compiled
def _expand_fourth(
    signal: Floats,
    eta: float,
    gd: bool,
    flow: bool,
    first: Floats,
    q: Floats,
    second: Floats,
    third: Floats,
    fourth: Floats,
    Y: Floats,
    square: Floats,
    resonant: Floats,
) -> None:  # pragma: no cover
    """Paths i, k, m, h, j; only i <= j is filled."""
    d = signal.shape[0]
    cubic = 0.25 * eta * eta if gd else 0.0
    for i in range(d):
        for j in range(i, d):
            for k in range(d):
                for m in range(d):
                    both = _along(first[i, k], first[k, m], flow)
                    part = second[i, k, m]
                    for h in range(d):
                        value = q[i, k, j] * third[k, m, h, j] + q[i, h, j] * third[i, k, m, h]
                        value += q[i, m, j] * part * second[m, h, j]
                        into, out = signal[i] + signal[k], signal[h] + signal[j]
                        ends = into * (signal[m] + signal[j]) * second[m, h, j]
                        ends += into * out * second[k, m, h]
                        ends += (signal[i] + signal[m]) * out * part
                        value += cubic * ends
                        path = _along(both, _along(first[m, h], first[h, j], flow), flow)
                        span = abs(both) + abs(first[m, h]) + abs(first[h, j])
                        c = _divide(value, path, first[i, j], span)
                        if c == 0.0:
                            size = abs(value * Y[i, k] * Y[k, m] * Y[m, h] * Y[h, j])
                            resonant[i, j] += size * square[k] * square[m] * square[h]
                        fourth[i, k, m, h, j] = c
