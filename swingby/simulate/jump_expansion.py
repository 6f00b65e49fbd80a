r"""Compiled: from V to the coordinates in which it is linear, back, and what that neglects.

See :mod:`swingby.simulate.jump_coefficients` for the series. W is held as D X D, so every sum over
an inner concept k carries ``square[k]``. Imports numba.
"""

from __future__ import annotations

import math

from swingby.simulate.compiling import compiled
from swingby.simulate.jump_coefficients import NEGLIGIBLE, Expansion
from swingby.simulate.state import Floats

#: An entry between two learned concepts may be less accurate than others by this factor: it
#: soon forgets where it was.
_FOLLOWER = 1e4
#: Terms beyond the first change an entry by at most this part of it.
_LARGEST_CHANGE = 0.25


@compiled
def unfold(expansion: Expansion, Z: Floats, square: Floats, V: Floats) -> None:  # pragma: no cover
    """V from Z, in the scale in which products over k carry ``square[k]``."""
    second, third, fourth = expansion.second, expansion.third, expansion.fourth
    d, order = Z.shape[0], expansion.order
    higher = False
    for i in range(d):
        for j in range(i, d):
            total = 0.0
            if order > 1:
                for k in range(d):
                    total += square[k] * Z[i, k] * second[i, k, j] * Z[k, j]
            V[i, j] = Z[i, j] + total
            # Where this is below a rounding, what is of third order relative to Z is as well.
            size = Z[i, j] * Z[i, j] * square[i] * square[j]
            both = expansion.learned[i] and expansion.learned[j]
            small = both or total * total <= NEGLIGIBLE * Z[i, j] * Z[i, j]
            higher |= not (size <= NEGLIGIBLE and small)
    if higher and order > 2:
        for i in range(d):
            for j in range(i, d):
                total = 0.0
                for k in range(d):
                    inner = 0.0
                    for m in range(d):
                        last = third[i, k, m, j] * Z[m, j]
                        if order > 3:
                            for h in range(d):
                                last += square[h] * Z[m, h] * fourth[i, k, m, h, j] * Z[h, j]
                        inner += square[m] * Z[k, m] * last
                    total += square[k] * Z[i, k] * inner
                V[i, j] += total
    for i in range(d):
        for j in range(i):
            V[i, j] = V[j, i]


@compiled
def fold(
    expansion: Expansion, Y: Floats, square: Floats, Z: Floats, V: Floats
) -> None:  # pragma: no cover
    """Z from Y = V; each round is right to one order more. V is scratch."""
    d = Y.shape[0]
    Z[:] = Y
    for _ in range(expansion.order - 1):
        unfold(expansion, Z, square, V)
        for i in range(d):
            for j in range(d):
                Z[i, j] += Y[i, j] - V[i, j]


@compiled
def _sizes(expansion: Expansion, Z: Floats, square: Floats, T: Floats) -> None:  # pragma: no cover
    """The sum of the sizes of all terms of order n + 1 of each entry, into T[n]."""
    second, third, fourth = expansion.second, expansion.third, expansion.fourth
    d, order = Z.shape[0], expansion.order
    for i in range(d):
        for j in range(i, d):
            two, three, four = 0.0, 0.0, 0.0
            for k in range(d):
                edge = square[k] * abs(Z[i, k])
                if edge == 0.0 or order < 2:
                    continue
                two += edge * abs(second[i, k, j] * Z[k, j])
                if order < 3:
                    continue
                for m in range(d):
                    edges = edge * square[m] * abs(Z[k, m])
                    three += edges * abs(third[i, k, m, j] * Z[m, j])
                    if order > 3 and edges != 0.0:
                        last = 0.0
                        for h in range(d):
                            last += square[h] * abs(Z[m, h] * fourth[i, k, m, h, j] * Z[h, j])
                        four += edges * last
            T[0, i, j], T[1, i, j], T[2, i, j], T[3, i, j] = abs(Z[i, j]), two, three, four
            for n in range(4):
                T[n, j, i] = T[n, i, j]


@compiled
def strain(
    expansion: Expansion, Z: Floats, square: Floats, n: int, T: Floats
) -> float:  # pragma: no cover
    """What is neglected over n steps that begin or end at Z, in units of what may be neglected.

    inf where an entry might turn within the jump, or is mostly made of others. An entry between
    two learned concepts follows the couplings; it is measured against all of its terms. T is
    filled by the sizes of the terms.
    """
    d, order = Z.shape[0], expansion.order
    _sizes(expansion, Z, square, T)
    worst = 0.0
    for i in range(d):
        for j in range(i, d):
            own, rest, push = T[0, i, j], 0.0, 0.0
            for k in range(d):
                # Of order n + 1 are the products of terms of orders p and n + 1 - p.
                high, inner = 0.0, 0.0
                for part in range(order):
                    high += T[order - 1 - part, k, j]
                    inner += T[part, i, k] * high
                rest += square[k] * abs(expansion.second[i, k, j]) * inner
                push += square[k] * abs(expansion.products[i, k, j]) * T[0, i, k] * T[0, k, j]
            rest += n * expansion.resonant[i, j]
            more = T[1, i, j] + T[2, i, j] + T[3, i, j]
            if expansion.learned[i] and expansion.learned[j]:
                own += more
                if i != j:
                    own *= _FOLLOWER
                else:
                    own += 1.0 / square[i]
            elif more > _LARGEST_CHANGE * own or (
                i != j
                and push > 0.5 * abs(expansion.first[i, j]) * own
                and (expansion.first[i, j] != 0.0 or n * push > NEGLIGIBLE * own)
            ):
                return math.inf
            if rest > 0.0:
                worst = max(worst, rest / (NEGLIGIBLE * own) if own > 0.0 else math.inf)
    return worst


@compiled
def change_of_loss(
    point: Floats, expansion: Expansion, steps: Floats, V: Floats
) -> float:  # pragma: no cover
    """What the next step changes the loss by; V in the scale of W."""
    d = point.shape[0]
    total = 0.0
    for i in range(d):
        residual = 0.0 if expansion.learned[i] else -point[i]
        move = 0.0
        for j in range(d):
            step = steps[i, j] * V[i, j]
            if expansion.order > 1:
                for k in range(d):
                    step += expansion.products[i, k, j] * V[i, k] * V[k, j]
            residual += V[i, j] * point[j]
            move += step * point[j]
        total += (residual + 0.5 * move) * move
    return total
