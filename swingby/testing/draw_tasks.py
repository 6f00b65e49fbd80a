"""SIM tasks."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from swingby.errors import InvalidInput
from swingby.testing.arguments import MOST_DIRECTIONS, Dimensions, dimensions, fractions
from swingby.testing.matrices import between, many
from swingby.theory import numbers
from swingby.theory.task import SIMTask

#: Distances of cluster centres, simplest first.
_MU = fractions("1 2 3 4 5 10 1/2 3/2 5/2 6 8 20 1/4 3/4 1/10 1/5 1/3 100")
#: Spreads of the data, in absolute numbers or in shares of mu.
_SIGMA = fractions("0 1 1/2 1/10 1/20 1/4 1/5 2 1/100")
_SHARES = fractions("0 1/10 1/2 1/20 1/4 1")
#: A ratio of signals is drawn from one of this many parts of its range.
_PARTS = 8
#: Where no largest ratio is asked for, it is this many times the smallest.
_SPAN = 100


def tasks(
    dim: int | st.SearchStrategy[int] | None = None,
    ratio: Any = None,
    *,
    free: int | st.SearchStrategy[int] | bool = False,
) -> st.SearchStrategy[SIMTask]:
    r"""Draw SIM tasks of small round numbers, concepts in any order.

    Without `ratio`, every :math:`\mu_p` is one of 18 round numbers from 1/10 to 100 and every
    :math:`\sigma_p` one of 9 from 0 to 2, so that signals may be equal. With `ratio`, sigma is a
    fixed share of mu, and each signal a random round multiple of the next smaller one. Shrinks to
    mu = (1, 2, ...) and sigma = 0.

    Parameters
    ----------
    dim : int or strategy, optional
        Number d of directions, at most 32; by default 1 to 4 concepts.
    ratio : number, or (smallest, largest), optional
        Bounds on the ratio of each signal to the next smaller one, both at least 1, inclusive;
        one number is the smallest. Free directions do not count.
    free : bool, int or strategy
        How many of the d directions are free (signal 0). True: none, one or two. By default none.
        At least one direction carries a concept; without `dim`, free directions come on top.

    Returns
    -------
    strategy of SIMTask

    Raises
    ------
    InvalidInput
        If dim, ratio or free is out of range; from a strategy, when it is drawn.

    Examples
    --------
    >>> from hypothesis import find
    >>> task = find(tasks(dim=2, ratio=4), lambda task: True)
    >>> task.mu == (1, 2), task.sigma == (0, 0)
    (True, True)
    """
    bounds = None if ratio is None else _bounds(ratio)
    if free is True:
        empty: st.SearchStrategy[int] = st.integers(0, 2)
    else:
        empty = dimensions(0 if free is False else free, 0, argument="free").strategy
    if isinstance(dim, int) and isinstance(free, int) and not isinstance(free, bool):
        numbers.whole(free, "free", 0, most=max(numbers.whole(dim, "dim", 1) - 1, 0))
    # Without dim the number of concepts is drawn.
    return _tasks(dimensions(dim), empty, bounds, on_top=dim is None)


@st.composite
def _tasks(
    draw: st.DrawFn,
    sizes: Dimensions,
    empty: st.SearchStrategy[int],
    bounds: tuple[Fraction, Fraction] | None,
    *,
    on_top: bool,
) -> SIMTask:
    size, free = draw(sizes.strategy), draw(empty)
    s = size if on_top else max(size - free, 1)
    dim = min(size + free, MOST_DIRECTIONS) if on_top else size
    # First, so that the user's order is the last thing to be given up for simplicity.
    order = draw(orders(s))
    if bounds is None:
        mu, sigma = _independent(draw, s, max(s, sizes.most))
    else:
        mu, sigma = _graded(draw, s, max(s, sizes.most), *bounds)
    return SIMTask([mu[p] for p in order], [sigma[p] for p in order], dim)


def _independent(draw: st.DrawFn, s: int, most: int) -> tuple[list[Fraction], list[Fraction]]:
    # Counted from p on, so that the simplest task has distinct signals.
    places = draw(many(_MU_PLACES, most))[:s]
    mu = [_MU[(place + p) % len(_MU)] for p, place in enumerate(places)]
    return mu, list(draw(many(_SIGMAS, most))[:s])


_MU_PLACES = st.integers(0, len(_MU) - 1)
_SIGMAS = st.sampled_from(_SIGMA)
_RELATIVE = st.sampled_from(_SHARES)
_UNITS = st.sampled_from(fractions("1 2 1/2 3 1/10 10 1/5"))
_PART = st.integers(0, _PARTS)


def _graded(
    draw: st.DrawFn, s: int, most: int, low: Fraction, high: Fraction
) -> tuple[list[Fraction], list[Fraction]]:
    """Ascending mu; with sigma a fixed share of mu, signals go like mu^2."""
    mu = [draw(_UNITS)]
    for part in draw(many(_PART, most - 1))[: s - 1]:
        mu.append(mu[-1] * _root_between(low, high, part))
    share = draw(_RELATIVE)
    return mu, [share * centre for centre in mu]


@functools.lru_cache(maxsize=1024)
def _root_between(low: Fraction, high: Fraction, part: int) -> Fraction:
    """The simplest rational whose square lies between, or that of one part of the range."""
    start, end = _root(low, up=True), _root(high, up=False)
    if not part:
        return simplest_between(start, end)
    width = (end - start) / _PARTS
    return simplest_between(start + (part - 1) * width, start + part * width)


def simplest_between(low: Fraction, high: Fraction) -> Fraction:
    """The rational of smallest denominator in a closed interval.

    `low`, `high`: 0 < low <= high.

    Examples
    --------
    >>> simplest_between(Fraction(314, 100), Fraction(315, 100))
    Fraction(22, 7)
    """
    whole = math.ceil(low)
    if whole <= high:
        return Fraction(whole)
    below = whole - 1
    return below + 1 / simplest_between(1 / (high - below), 1 / (low - below))


def _root(square: Fraction, *, up: bool) -> Fraction:
    """The square root, exact where it is rational, else to 1e-12 on the side asked for."""
    top, bottom = math.isqrt(square.numerator), math.isqrt(square.denominator)
    exact = Fraction(top, bottom)
    if exact**2 == square:
        return exact
    unit = 10**12
    found = Fraction(math.isqrt(math.floor(square * unit**2)), unit)
    return found + Fraction(1, unit) if up else found


def _bounds(ratio: Any) -> tuple[Fraction, Fraction]:
    given = numbers.vector(ratio, "ratio")
    if len(given) > 2:
        raise InvalidInput("ratio", ratio, "must be one number, or the smallest and the largest")
    low = given[0]
    high = given[1] if len(given) == 2 else _SPAN * low
    if not 1 <= low <= high:
        raise InvalidInput("ratio", ratio, "must be at least 1, the smallest first", "Sec. 4")
    if high > 10**6:
        raise InvalidInput("ratio", ratio, "must be at most a million")
    if _root(low, up=True) > _root(high, up=False):
        raise InvalidInput(
            "ratio", ratio, "must leave room for a square of a round number, as mu is rational"
        )
    return low, high


@functools.lru_cache(maxsize=64)
def orders(count: int) -> st.SearchStrategy[tuple[int, ...]]:
    """Draw an order of a few things by a single choice; shrinks to theirs."""
    return between(0, math.factorial(count) - 1).map(lambda code: _order(code, count))


def _order(code: int, count: int) -> tuple[int, ...]:
    left, found = list(range(count)), []
    for size in range(count, 0, -1):
        place, code = divmod(code, math.factorial(size - 1))
        found.append(left.pop(place))
    return tuple(found)
