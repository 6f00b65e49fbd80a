"""SIM tasks, signals and step sizes, drawn as round numbers."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from itertools import product
from typing import Any

from hypothesis import strategies as st

from swingby.errors import InvalidInput
from swingby.testing.draw_matrices import (
    MOST_DIRECTIONS,
    Dimensions,
    between,
    dimensions,
    fractions,
    many,
    readable,
)
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


@functools.lru_cache(maxsize=4096)
def power_of_ten(exponent: int) -> Fraction:
    """10 to a whole exponent, exact."""
    return Fraction(10) ** exponent


def decade(number: Fraction) -> int:
    """The largest k with 10^k <= number.

    `number`: positive, of any size.
    """
    found = math.floor(numbers.log_of(number) / math.log(10))
    if power_of_ten(found + 1) <= number:
        return found + 1
    return found if power_of_ten(found) <= number else found - 1


def down(number: Fraction, digits: int) -> Fraction:
    """The largest number of at most `digits` digits that is not above; with 0 digits 10^k.

    `number`: positive.
    """
    if not digits:
        return power_of_ten(decade(number))
    unit = power_of_ten(decade(number) + 1 - digits)
    return math.floor(number / unit) * unit


def up(number: Fraction, digits: int) -> Fraction:
    """The smallest number of at most `digits` digits that is not below; with 0 digits 10^k.

    `number`: positive.
    """
    below = decade(number)
    if not digits:
        exact = power_of_ten(below)
        return exact if exact == number else power_of_ten(below + 1)
    unit = power_of_ten(below + 1 - digits)
    return math.ceil(number / unit) * unit


#: eta max(a) by default: far below 1/2, where the discrete maps leave [0, 1].
LARGEST_STEP = Fraction(1, 10)

#: First digits of a step size and the decades it stays below the largest, simplest first; None
#: stands for the largest itself.
_SIZES = (
    *(
        (Fraction(digits), decades)
        for decades, digits in product(range(5), ("1", "2", "5", "3/2", "3"))
    ),
    None,
)


def step_sizes(task: SIMTask, most: Any = None) -> st.SearchStrategy[Fraction]:
    """Draw step sizes for a task.

    A round number (one of 1, 2, 5, 1.5, 3 times a power of ten) in the five decades below the
    largest, or in one of 26 draws the largest itself. Shrinks to the largest power of ten.

    Parameters
    ----------
    task : SIMTask
    most : number or text, optional
        The largest step size, in the clock of (D.2); by default eta max(a) is at most 1/10.

    Returns
    -------
    strategy of Fraction

    Raises
    ------
    InvalidInput
        If task is no task, or most not positive.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(step_sizes(SIMTask.from_signal([4, 1])), lambda eta: True)
    Fraction(1, 100)
    """
    largest_signal = max(readable(task).exact_signal)
    largest = LARGEST_STEP / largest_signal if most is None else numbers.positive(most, "most")
    return below(largest)


def below(largest: Fraction) -> st.SearchStrategy[Fraction]:
    """Draw round numbers of at most a given size; see :func:`step_sizes`."""
    return st.sampled_from(_SIZES).map(lambda size: _rounded(largest, size))


def _rounded(largest: Fraction, size: tuple[Fraction, int] | None) -> Fraction:
    if size is None:
        return largest
    digits, decades = size
    return digits * power_of_ten(decade(largest / digits) - decades)


#: Ratios of neighbouring signals, simplest first: above 3 (D.5), at most 3, and above 1 (D.1').
APART = fractions("4 5 10 6 7/2 8 16/5 20 31/10 50 100 301/100 3000001/1000000 1000")
CLOSE = fractions("2 1 3 3/2 5/2 11/10 299/100 1000001/1000000 2999999/1000000")
DISTINCT = fractions("4 2 3 10 3/2 8 5/2 6/5 100 11/10")
#: The smallest signal.
UNITS = fractions("1 2 1/2 3 1/10 10 1/100 100 7/5")

_APART = st.sampled_from(APART)
_CLOSE = st.sampled_from(CLOSE)
_ANY = st.sampled_from(APART[:3] + CLOSE + APART[3:])
_DISTINCT = st.sampled_from(DISTINCT)
_RATIOS = st.sampled_from(UNITS)


def apart(draw: st.DrawFn, d: int, most: int) -> SIMTask:
    """Draw a task whose signals satisfy D.5: each above three times the next smaller one.

    `d`, `most`: choices are drawn for `most` concepts, so that d does not show in their number.
    """
    return _task(draw, draw(orders(d)), _ratios(draw, _APART, d - 1, most))


def apart_and_zero(draw: st.DrawFn, d: int, most: int) -> SIMTask:
    """Draw a task whose signals satisfy D.5, with one free direction.

    `d`, `most`: at least 2. Choices are drawn for `most` concepts, so that d does not show in their
    number.
    """
    return _task(draw, draw(orders(d - 1)), _ratios(draw, _APART, d - 2, most), zeros=1)


def too_close(draw: st.DrawFn, d: int, most: int) -> SIMTask:
    """Draw a task with at least one signal of at most three times the next smaller one.

    `d`, `most`: at least 2. Choices are drawn for `most` concepts, so that d does not show in their
    number.
    """
    order, place = draw(orders(d)), draw(between(0, d - 2))
    ratios = _ratios(draw, _ANY, d - 1, most)
    ratios[place] = draw(_CLOSE)
    return _task(draw, order, ratios)


def distinct(draw: st.DrawFn, d: int, most: int) -> SIMTask:
    """Draw a task whose signals satisfy D.1': positive and distinct.

    `d`, `most`: choices are drawn for `most` concepts, so that d does not show in their number.
    """
    return _task(draw, draw(orders(d)), _ratios(draw, _DISTINCT, d - 1, most))


def with_ratio(task: SIMTask, ratio: int) -> SIMTask:
    """The task in which all ratios of neighbouring signals are the same.

    `task`: its smallest signal and the order of its concepts are kept.
    """
    smallest = min(task.exact_signal)
    signal = [Fraction(0)] * task.dim
    for rank, place in enumerate(reversed(task.order)):
        signal[place] = smallest * ratio**rank
    return SIMTask.from_signal(signal)


def shape(task: SIMTask) -> tuple[Fraction, ...]:
    """The descending signal in units of its smallest positive value."""
    signal = sorted(task.exact_signal, reverse=True)
    smallest = min(value for value in signal if value)
    return tuple(value / smallest for value in signal)


def _ratios(
    draw: st.DrawFn, ratios: st.SearchStrategy[Fraction], count: int, most: int
) -> list[Fraction]:
    return list(draw(many(ratios, max(count, most - 1)))[:count])


def _task(
    draw: st.DrawFn, order: tuple[int, ...], ratios: list[Fraction], zeros: int = 0
) -> SIMTask:
    signal = [draw(_RATIOS)]
    for ratio in ratios:
        signal.insert(0, signal[0] * ratio)
    return SIMTask.from_signal([*(signal[k] for k in order), *[Fraction(0)] * zeros])
