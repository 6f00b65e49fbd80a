"""Compiled: how far a jump may go. Imports numba."""

from __future__ import annotations

import math

import numpy as np

from swingby.simulate.compiling import compiled, compiled_inside
from swingby.simulate.growth_table import BOTH, NEITHER
from swingby.simulate.jump_coefficients import Expansion, threshold
from swingby.simulate.jump_landing import rate_of, scale_up
from swingby.simulate.state import Booleans, Floats, Integers, Problem, State

#: Entries of W below this are not looked at.
_LEAST = 1e-290
#: Terms that grow stay below this part of what they are added to.
_LARGEST_PUSH = 0.125


@compiled_inside
def may_be_linear(
    problem: Problem, state: State, reach: float, least: int, learned: Booleans
) -> bool:  # pragma: no cover
    """Whether every entry is within `reach` of W = P; fills `learned`. Cheap, and mostly False.

    What is not learned has to stay so for `least` steps.
    """
    X, weight, growth = state.X, state.weight, problem.growth
    d = X.shape[0]
    for k in range(d):
        value = X[k, k] * weight[k, k]
        learned[k] = abs(value - 1.0) <= reach
        rate = growth[0, NEITHER, k, k]
        if learned[k] or rate == 0.0:
            continue
        if not (abs(value) <= reach and abs(value) * 2.0 ** (rate * least) <= reach):
            return False
    for i in range(d):
        for j in range(i + 1, d):
            may_be_large = rate_of(growth, learned, i, j)[0] == 0.0
            may_be_large &= not (learned[i] and learned[j])
            if not (may_be_large or abs(X[i, j]) * weight[i, j] <= reach):
                return False
    return True


@compiled
def may_come_to_rest(problem: Problem, learned: Booleans) -> bool:  # pragma: no cover
    """Whether nothing is left to be learned."""
    for k in range(learned.shape[0]):
        if problem.counted[k] and not learned[k] and problem.goal[k] != 0.0:
            return False
    return True


@compiled
def ends_at_identity(growth: Floats, learned: Booleans, left: int) -> bool:  # pragma: no cover
    """Whether everything is learned, and what is left to it is below 1e-30 after so many steps.

    Only the end matters in lanes; a run alone has entries of any size to report.
    """
    d = learned.shape[0]
    for i in range(d):
        for j in range(i, d):
            if not (learned[i] and learned[j]) or growth[0, BOTH, i, j] * left > -100.0:
                return False
    return True


@compiled
def keeps_suppressed(state: State, learned: Booleans, T: Floats) -> bool:  # pragma: no cover
    """Whether no entry between two learned concepts comes near an event.

    They follow the couplings and may turn; below their peaks nobody looks. T: the sizes of their
    terms. The scale of such entries does not change in a jump.
    """
    d = learned.shape[0]
    for i in range(d):
        for j in range(i + 1, d):
            if learned[i] and learned[j]:
                total = T[0, i, j] + T[1, i, j] + T[2, i, j] + T[3, i, j]
                if total * state.weight[i, j] > _LEAST and (
                    state.suppressed[i, j] < 0 or total >= abs(state.peak[i, j])
                ):
                    return False
    return True


@compiled_inside
def overshoot(
    state: State, expansion: Expansion, rates: Floats, landing: Floats, shift: Integers
) -> float:  # pragma: no cover
    """By how many steps a landing is too late for an entry that falls to half of its peak."""
    d = landing.shape[0]
    late = 0.0
    for i in range(d):
        for j in range(i + 1, d):
            if state.suppressed[i, j] >= 0 or landing[i, j] == 0.0 or not rates[i, j] < 0.0:
                continue
            if expansion.learned[i] and expansion.learned[j]:
                continue
            half = 0.5 * scale_up(abs(state.peak[i, j]), -shift[i] - shift[j])
            margin = math.log2(half / abs(landing[i, j]))
            late = max(late, margin / -rates[i, j] + 2.0)
    return late


@compiled_inside
def longest_jump(
    problem: Problem,
    state: State,
    expansion: Expansion,
    Z: Floats,
    rates: Floats,
    limit: int,
) -> float:  # pragma: no cover
    """A first estimate of the steps that may be jumped over, from Z in the scale of X.

    Every bound is on a term that grows geometrically. The landing is looked at afterwards. The
    binary logarithms of the factors are put into `rates`.
    """
    learned, d = expansion.learned, Z.shape[0]
    # Sizes of the entries of W, as binary logarithms.
    sizes = np.empty((d, d))
    for i in range(d):
        for j in range(i, d):
            sizes[i, j] = -np.inf
            if Z[i, j] != 0.0:
                sizes[i, j] = math.log2(abs(Z[i, j])) + float(state.exponent[i] + state.exponent[j])
            high, low = rate_of(problem.growth, learned, i, j)
            rates[i, j] = high + low
            sizes[j, i], rates[j, i] = sizes[i, j], rates[i, j]
    longest = float(limit)
    reach = math.log2(threshold(expansion.order))
    for i in range(d):
        for j in range(i, d):
            rate, size = rates[i, j], sizes[i, j]
            if size == -np.inf or (learned[i] and learned[j]):
                continue
            if rate > 0.0:
                longest = min(longest, (reach - size) / rate)
            elif rate < 0.0 and i != j and state.suppressed[i, j] < 0:
                half = math.log2(0.5 * abs(state.peak[i, j]) / abs(state.X[i, j]))
                longest = min(longest, half / rate - 2.0)
            for k in range(d):
                slope = rates[i, k] + rates[k, j] - rate
                if not slope > 0.0 or sizes[i, k] == -np.inf or sizes[k, j] == -np.inf:
                    continue
                term = sizes[i, k] + sizes[k, j] - size
                c, q = abs(expansion.second[i, k, j]), abs(expansion.products[i, k, j])
                if c != 0.0:
                    longest = min(longest, (reach - term - math.log2(c)) / slope)
                still = _LARGEST_PUSH * abs(expansion.first[i, j])
                if i != j and still > 0.0 and q != 0.0:
                    longest = min(longest, (math.log2(still / q) - term) / slope)
    return longest
