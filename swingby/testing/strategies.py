"""SIM tasks, step sizes, and settings inside or outside the assumptions, drawn as round numbers.

Only ratios of signals matter for where omega lies, so its limits come from
:mod:`swingby.testing.setting` for signals in units of the smallest one, descending.
"""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from swingby.errors import MISSING, InvalidInput
from swingby.testing import setting
from swingby.testing.matrices import (
    MOST_DIRECTIONS,
    Dimensions,
    bounded,
    definite,
    dimensions,
    fractions,
    in_blocks,
    many,
    readable,
)
from swingby.testing.setting import Setting, choice
from swingby.theory import numbers
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask
from swingby.verify.check import EDITIONS
from swingby.verify.checking.feasibility import INFEASIBILITY_CERTIFICATE, K


def sampled(text: str) -> st.SearchStrategy[Fraction]:
    """Draw from a table of exact numbers, simplest first."""
    return st.sampled_from(fractions(text))


# Tasks.

#: Distances of cluster centres, simplest first.
_MU = fractions("1 2 3 4 5 10 1/2 3/2 5/2 6 8 20 1/4 3/4 1/10 1/5 1/3 100")
_MU_PLACES = st.integers(0, len(_MU) - 1)
#: Spreads of the data, in absolute numbers or in shares of mu.
_SIGMAS = sampled("0 1 1/2 1/10 1/20 1/4 1/5 2 1/100")
_SHARES = sampled("0 1/10 1/2 1/20 1/4 1")
_UNITS = sampled("1 2 1/2 3 1/10 10 1/5")
#: A ratio of signals is drawn from one of this many parts of its range.
_PARTS = 8
_PART = st.integers(0, _PARTS)
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
    most = max(s, sizes.most)
    # First, so that the user's order is the last thing to be given up for simplicity.
    order = draw(orders(s))
    if bounds is None:
        # Counted from p on, so that the simplest task has distinct signals.
        places = draw(many(_MU_PLACES, most))
        mu = [_MU[(places[p] + p) % len(_MU)] for p in range(s)]
        sigma = list(draw(many(_SIGMAS, most)))
    else:
        # With sigma a fixed share of mu, signals go like mu^2.
        mu = [draw(_UNITS)]
        for part in draw(many(_PART, most - 1))[: s - 1]:
            mu.append(mu[-1] * _root_between(*bounds, part))
        share = draw(_SHARES)
        sigma = [share * centre for centre in mu]
    dim = min(size + free, MOST_DIRECTIONS) if on_top else size
    return SIMTask([mu[p] for p in order], [sigma[p] for p in order], dim)


@functools.lru_cache(maxsize=1024)
def _root_between(low: Fraction, high: Fraction, part: int) -> Fraction:
    """The simplest rational whose square lies between, or that of one part of the range."""
    start, end = _root(low, up=True), _root(high, up=False)
    if not part:
        return _simplest_between(start, end)
    width = (end - start) / _PARTS
    return _simplest_between(start + (part - 1) * width, start + part * width)


def _simplest_between(low: Fraction, high: Fraction) -> Fraction:
    """The rational of smallest denominator in a closed interval of positive numbers."""
    whole = math.ceil(low)
    if whole <= high:
        return Fraction(whole)
    below = whole - 1
    return below + 1 / _simplest_between(1 / (high - below), 1 / (low - below))


def _root(square: Fraction, *, up: bool) -> Fraction:
    """The square root, exact where it is rational, else to 1e-12 on the side asked for."""
    exact = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    if exact**2 == square:
        return exact
    unit = 10**12
    return Fraction(math.isqrt(math.floor(square * unit**2)) + up, unit)


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
def orders(count: int) -> st.SearchStrategy[Any]:
    """Draw an order of a few things; by a single choice where they are few."""
    if count > 5:
        return st.permutations(range(count))
    return st.sampled_from(list(itertools.permutations(range(count))))


# Round numbers.


@functools.lru_cache(maxsize=4096)
def power_of_ten(exponent: int) -> Fraction:
    """10 to a whole exponent, exact."""
    return Fraction(10) ** exponent


def decade(number: Fraction) -> int:
    """The largest k with 10^k <= number."""
    found = math.floor(numbers.log_of(number) / math.log(10))
    if power_of_ten(found + 1) <= number:
        return found + 1
    return found if power_of_ten(found) <= number else found - 1


def rounded(number: Fraction, digits: int, *, up: bool = False) -> Fraction:
    """The next number of at most `digits` digits on one side; with 0 digits a power of ten."""
    unit = power_of_ten(decade(number) + 1 - max(digits, 1))
    if not digits:
        return 10 * unit if up and unit < number else unit
    return (math.ceil if up else math.floor)(number / unit) * unit


#: eta max(a) by default: far below 1/2, where the discrete maps leave [0, 1].
LARGEST_STEP = Fraction(1, 10)

#: First digits of a step size and the decades it stays below the largest, simplest first; 0
#: stands for the largest itself.
_SIZES = st.sampled_from((*itertools.product(range(5), fractions("1 2 5 3/2 3")), (0, Fraction(0))))


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

    def of_size(size: tuple[int, Fraction]) -> Fraction:
        decades, digits = size
        return digits * power_of_ten(decade(largest / digits) - decades) if digits else largest

    return _SIZES.map(of_size)


# Settings.

#: Ratios of neighbouring signals, simplest first: above 3 (D.5), at most 3, and above 1 (D.1').
_APART = sampled("4 5 10 6 7/2 8 16/5 20 31/10 50 100 301/100 3000001/1000000 1000")
_CLOSE = sampled("2 1 3 3/2 5/2 11/10 299/100 1000001/1000000 2999999/1000000")
_ANY = sampled("4 5 10 2 1 3 3/2 5/2 11/10 299/100 6 8 20 31/10 50 100 301/100 1000")
_DISTINCT = sampled("4 2 3 10 3/2 8 5/2 6/5 100 11/10")
_SMALLEST = sampled("1 2 1/2 3 1/10 10 1/100 100 7/5")
#: beta, simplest first; 1 is the limit of beta > 1 from above.
_BETAS = sampled("2 1 3 4 3/2 10 6/5 5 100 1000001/1000000 1000")

#: Where omega lies: digits it is rounded to next to its limit, and decades below; simplest first.
_PLACES = st.sampled_from(
    (
        (0, 0),
        *((0, decades) for decades in (1, 2, 5, 10, 30, 100, 300, 1000, 2000)),
        *((digits, 0) for digits in (1, 2, 3, 6, 9, 12, 15, 18)),
    )
)
_COIN = st.booleans()
_DIGITS = st.sampled_from((0, 1, 2, 3, 6, 9, 12, 15, 18))
_EIGHTHS = st.integers(0, 8)
#: How far eta is above 1/(180 max a): first digits that are rounded up to, or a factor.
_STEPS = st.sampled_from(
    (
        *((digits, True) for digits in fractions("1 2 5 3/2")),
        *((factor, False) for factor in fractions("2 18 1001/1000 1000000001/1000000000")),
    )
)

_NO_SETTING = f"must be 1: {INFEASIBILITY_CERTIFICATE} With one concept D.5 is empty."
#: Why some assumptions never fail alone.
_D3_FOLLOWS = (
    "must be another: D.4 gives P omega beta <= (1 - kappa^(-1/2))/(K gamma d beta) < 1/20, as "
    "K >= 20, gamma > 1, beta > 1 and P <= P^2, so D.3 holds wherever D.4 does"
)
_NO_OMEGA_0 = (
    "must be another: omega_0 exists only where D.1' and D.3' hold, so D.4' fails with either"
)
_NEVER_MET = f"must be another: D.4 fails besides. {INFEASIBILITY_CERTIFICATE}"


def satisfying(
    edition: str = "printed", dim: int | st.SearchStrategy[int] | None = None
) -> st.SearchStrategy[Setting]:
    r"""Draw settings in which every assumption of an edition holds.

    Signals are products of round ratios in any order (above 3 as printed, from 1.1 as repaired),
    and come with sigma = 0. About half of the omegas lie next to the largest one, rounded down to
    0 to 18 digits, the others up to 2000 decades below it. eta is a round number in the five
    decades up to 1/(180 max a), or this itself (as repaired, where eta converts time only, up to
    1/(10 max a)). W(0) is rank-deficient or nearly degenerate in part of the draws, but positive
    definite as repaired. Shrinks to signals 4^k, powers of ten, and W(0) of small whole numbers.

    Parameters
    ----------
    edition : {"printed", "corrected", "repaired"}
    dim : int or strategy, optional
        By default 1 to 4. The corrected edition has settings with dim = 1 only.

    Returns
    -------
    strategy of Setting
        ``check()`` and ``check_numbers()`` hold.

    Raises
    ------
    InvalidInput
        If an argument is out of range; for the corrected edition unless dim is 1, with the proof
        that nothing satisfies it.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(satisfying(dim=2), lambda setting: True)
    Setting(SIMTask.from_signal([4, 1]), omega="1e-83", eta="0.001", beta=2,
            W0=Scaled([[1.0, 1.0], [1.0, 1.0]], "1e-83"))
    """
    choice(edition, "edition", EDITIONS)
    if edition == "repaired":
        return _repaired(dimensions(dim), outside=False)
    if edition == "printed":
        return _printed(None, dimensions(dim), 1)
    if dim is None:
        raise InvalidInput("dim", MISSING, _NO_SETTING)
    return _printed(None, dimensions(dim, most=1, requirement=_NO_SETTING), 2)


def violating(
    assumption: str,
    edition: str = "printed",
    dim: int | st.SearchStrategy[int] | None = None,
) -> st.SearchStrategy[Setting]:
    r"""Draw settings in which exactly one assumption of an edition fails.

    Everything else is as in :func:`satisfying`, at the same distance from its own limits.

    - D.1: one direction is free (a = 0), or W(0) has zero entries.
    - D.2: eta is above 1/(180 max a), up to 18 times or by a factor of only 1 + 1e-9.
    - D.4: omega is too large, from next to its limit up to where D.3 would fail as well. As
      corrected with two concepts or more, where no omega is small enough: any omega below that.
    - D.5: some signal is at most three times the next smaller one, equal ones included.
    - D.4': omega is above omega_0; in a quarter of the draws next to it.

    Parameters
    ----------
    assumption : str
        ``"D.1"``, ``"D.2"``, ``"D.4"`` or ``"D.5"``; ``"D.4'"`` in the repaired edition.
    edition : {"printed", "corrected", "repaired"}
    dim : int or strategy, optional
        By default 1 to 4, as far as the assumption can fail alone.

    Returns
    -------
    strategy of Setting
        ``check().failing`` is the assumption alone, and so is ``check_numbers().failing``, except
        where a zero in W(0) violates D.1: the numbers alone know nothing of it, and hold.

    Raises
    ------
    InvalidInput
        If an argument is out of range, or the assumption cannot fail alone; with the reason.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(violating("D.2", dim=2), lambda setting: True)
    Setting(SIMTask.from_signal([4, 1]), omega="1e-83", eta="0.01", beta=2,
            W0=Scaled([[1.0, 1.0], [1.0, 1.0]], "1e-83"))
    >>> violating("D.3")
    Traceback (most recent call last):
        ...
    swingby.errors.InvalidInput: assumption must be another: D.4 gives P omega beta <= ...
    """
    choice(edition, "edition", EDITIONS)
    known = ("D.1'", "D.3'", "D.4'") if edition == "repaired" else PRINTED_IDS
    choice(assumption, "assumption", known)
    if assumption == "D.4'":
        return _repaired(dimensions(dim), outside=True)
    if edition == "repaired":
        raise InvalidInput("assumption", assumption, _NO_OMEGA_0)
    if assumption == "D.3":
        raise InvalidInput("assumption", assumption, _D3_FOLLOWS)
    if edition == "corrected" and assumption == "D.1":
        raise InvalidInput("assumption", assumption, _NEVER_MET)
    least = 2 if assumption in ("D.1", "D.5") else 1
    most = 1 if edition == "corrected" and assumption == "D.2" else MOST_DIRECTIONS
    return _printed(assumption, dimensions(dim, least, most=most), 1 if edition == "printed" else 2)


PRINTED_IDS = ("D.1", "D.2", "D.3", "D.4", "D.5")


@st.composite
def _printed(draw: st.DrawFn, broken: str | None, sizes: Dimensions, power: int) -> Setting:
    """A setting as printed or, with P^2, as corrected, in which at most one assumption fails."""
    d, most = draw(sizes.strategy), sizes.most
    # The simplest draw of a failing D.1 is the one of fewest choices, a free direction.
    free = broken == "D.1" and not draw(_COIN)
    task = _task(draw, d, most, zeros=int(free), close=broken == "D.5")
    beta = draw(_BETAS)
    # W(0) has to reach 1 and beta where omega is too large for either.
    matrix = bounded(draw, task.order, beta, most, anchored=broken == "D.4")
    shape = _shape(task)
    if broken == "D.1":
        pattern = draw(st.integers(1, 2 ** (d - 1) - 1))
        matrix = matrix if free else in_blocks(matrix, pattern)
        limit = setting.with_failing_D1(shape, beta)
    elif broken == "D.4":
        beta = Fraction(float(abs(matrix).max()))
        limit = setting.with_failing_D4(shape, beta)
    elif broken == "D.5":
        limit = setting.with_failing_D5(shape, beta, power)
    else:
        limit = setting.largest(shape, beta, power)[0]
    digits, decades = draw(_PLACES)
    omega = rounded(limit, digits) * power_of_ten(-decades)
    if broken == "D.4":
        digits, eighths = draw(_DIGITS), draw(_EIGHTHS)
        if d == 1 or power == 1:
            omega = rounded(setting.largest(shape, beta, power)[1], digits, up=True)
            # Up to the last power of ten below the limit, in eighths of the way.
            room = decade(limit) - decade(omega)
            omega = min(omega * power_of_ten(max(room - 1, 0) * eighths // 8), limit)
    largest_step = 1 / (9 * K * max(task.exact_signal))
    if broken == "D.2":
        number, round_up = draw(_STEPS)
        eta = number * largest_step
        if round_up:
            eta = number * power_of_ten(decade(largest_step / number) + 1)
    else:
        eta = draw(below(largest_step))
    edition = "printed" if power == 1 else "corrected"
    return Setting(task, omega, eta, beta, W0=Scaled(matrix, omega), edition=edition)


def _task(
    draw: st.DrawFn,
    d: int,
    most: int,
    ratios: st.SearchStrategy[Fraction] = _APART,
    *,
    zeros: int = 0,
    close: bool = False,
) -> SIMTask:
    """A task of signals with drawn ratios of neighbours, in any order; free directions last.

    `most`: choices are drawn for so many concepts, so that d does not show in their number.
    `close`: one ratio is at most 3, and the others any.
    """
    learned = d - zeros
    order = draw(orders(learned))
    place = draw(st.integers(0, d - 2)) if close else 0
    found = list(draw(many(_ANY if close else ratios, max(learned, most) - 1)))[: learned - 1]
    if close:
        found[place] = draw(_CLOSE)
    signal = [draw(_SMALLEST)]
    for ratio in found:
        signal.insert(0, signal[0] * ratio)
    return SIMTask.from_signal([*(signal[k] for k in order), *[Fraction(0)] * zeros])


def _shape(task: SIMTask) -> tuple[Fraction, ...]:
    """The descending signal in units of its smallest positive value."""
    signal = sorted(task.exact_signal, reverse=True)
    smallest = min(value for value in signal if value)
    return tuple(value / smallest for value in signal)


# Settings of the repaired edition: positive definite W(0), everyday omega.

#: Where a search tells the largest omega, it runs for these ratios of signals only.
_SEARCHED = sampled("4 2")
#: More concepts than this, and the search takes a second.
MOST_SEARCHED = 3
_TO_SEARCH = st.sampled_from((False, False, False, True))
_EXCESS = st.sampled_from((0, 1, 2, 3))


@st.composite
def _repaired(draw: st.DrawFn, sizes: Dimensions, *, outside: bool) -> Setting:
    """A setting in which the repaired edition holds, or omega alone is too large for it."""
    d, most = draw(sizes.strategy), sizes.most
    searched = draw(_TO_SEARCH) and 1 < d <= MOST_SEARCHED
    task = _task(draw, d, most, _SEARCHED if searched else _DISTINCT)
    matrix, pivots = definite(draw, task.order, most)
    beta, rho = Fraction(float(np.diag(matrix).max())), Fraction(float(pivots.min()))
    if searched:
        # One of the few cases whose largest omega is searched for; its pivots are (k + 1)/k.
        matrix, beta, rho = np.eye(d) + 1, Fraction(2), Fraction(d + 1, d)
    loose, shape = draw(_COIN), _shape(task)
    digits, decades = draw(_PLACES)
    edges = setting.repaired_by_search(shape, beta, rho) if searched else None
    if outside:
        # Every theorem asks for beta omega <= 1 at least.
        limit = edges[1] if edges else Fraction(1001, 1000) / beta
        excess = draw(_EXCESS)
        omega = rounded(limit, digits, up=True) * power_of_ten(0 if edges else excess)
    else:
        if edges is None and loose:
            beta, rho = _next_power_of_4(beta), 1 / _next_power_of_4(1 / rho)
        limit = edges[0] if edges else setting.repaired(shape, beta, rho)
        omega = rounded(limit, digits) * power_of_ten(-decades)
    return Setting(
        task,
        omega,
        draw(below(LARGEST_STEP / max(task.exact_signal))),
        beta,
        rho,
        W0=Scaled(matrix, omega),
        edition="repaired",
        dynamics="flow",
    )


def _next_power_of_4(number: Fraction) -> Fraction:
    """The smallest power of 4 that is at least a number of at least 1/4."""
    return Fraction(4) ** ((math.ceil(number) - 1).bit_length() + 1 >> 1)
