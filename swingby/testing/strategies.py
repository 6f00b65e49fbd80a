"""SIM tasks, step sizes, and settings inside or outside the assumptions, drawn as round numbers.

Only ratios of signals matter for where omega lies, so its limits are computed for signals in units
of the smallest positive one, descending. What :func:`swingby.check` reports where constants do not
exist depends on the constants it then tries
(:func:`swingby.verify.checking.feasibility.nearest_attempt`); the limits stay off its edges.
"""

from __future__ import annotations

import decimal
import functools
import itertools
import math
import operator
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from hypothesis import strategies as st

from swingby.errors import MISSING, InvalidInput
from swingby.testing.assumption_setting import Setting, choice
from swingby.testing.matrices import (
    MOST_DIRECTIONS,
    USUAL_DIRECTIONS,
    bounded,
    definite,
    draw_list,
    readable,
)
from swingby.theory import balls, numbers
from swingby.theory.initial import Scaled
from swingby.theory.repaired import largest_omega, theorem_r, theorem_two
from swingby.theory.repaired.repaired_setting import RepairedSetting
from swingby.theory.task import SIMTask
from swingby.verify.check import EDITIONS
from swingby.verify.checking import feasibility
from swingby.verify.checking.box import FeasibilityProblem
from swingby.verify.checking.feasibility import ATTEMPT, INFEASIBILITY_CERTIFICATE, K

_Dimensions = int | st.SearchStrategy[int] | None


def _table(text: str) -> tuple[Fraction, ...]:
    """Exact numbers with blanks between them."""
    return tuple(map(Fraction, text.split()))


def _sampled(text: str) -> st.SearchStrategy[Fraction]:
    """Draw from a table of exact numbers, simplest first."""
    return st.sampled_from(_table(text))


def _dimensions(
    dim: Any,
    least: int,
    most: int = MOST_DIRECTIONS,
    *,
    argument: str = "dim",
    requirement: str = "",
) -> st.SearchStrategy[int]:
    """Read a dimension: none, a whole number, or a strategy of them, checked as it is drawn."""
    if dim is None:
        return st.integers(least, min(USUAL_DIRECTIONS, most))

    def checked(value: Any) -> int:
        size = numbers.whole(value, argument)
        if not least <= size <= most:
            raise InvalidInput(argument, value, requirement or f"must be from {least} to {most}")
        return size

    return dim.map(checked) if isinstance(dim, st.SearchStrategy) else st.just(checked(dim))


# Tasks.

#: Distances of cluster centres, simplest first.
_MU = _table("1 2 3 4 5 10 1/2 3/2 5/2 6 8 20 1/4 3/4 1/10 1/5 1/3 100")
_MU_PLACES = st.integers(0, len(_MU) - 1)
#: Spreads of the data, in absolute numbers or in shares of mu.
_SIGMAS = _sampled("0 1 1/2 1/10 1/20 1/4 1/5 2 1/100")
_SHARES = _sampled("0 1/10 1/2 1/20 1/4 1")
_UNITS = _sampled("1 2 1/2 3 1/10 10 1/5")
#: Where no largest ratio is asked for, it is this many times the smallest.
_SPAN = 100


def tasks(
    dim: _Dimensions = None,
    ratio: Any = None,
    *,
    free: int | st.SearchStrategy[int] | bool = False,
) -> st.SearchStrategy[SIMTask]:
    r"""Draw SIM tasks of small round numbers, concepts in any order.

    Without `ratio`, every :math:`\mu_p` is one of 18 round numbers from 1/10 to 100 and every
    :math:`\sigma_p` one of 9 from 0 to 2, so that signals may be equal. With `ratio`, sigma is a
    fixed share of mu, and each mu a round multiple of the next smaller one. Shrinks to
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
    roots = None if ratio is None else _roots(ratio)
    if isinstance(dim, int) and isinstance(free, int) and not isinstance(free, bool):
        numbers.whole(free, "free", 0, most=max(numbers.whole(dim, "dim", 1) - 1, 0))
    if free is True:
        return _tasks(_dimensions(dim, 1), st.integers(0, 2), roots, on_top=dim is None)
    empty = _dimensions(0 if free is False else free, 0, argument="free")
    # Without dim the number of concepts is drawn.
    return _tasks(_dimensions(dim, 1), empty, roots, on_top=dim is None)


@st.composite
def _tasks(
    draw: st.DrawFn,
    sizes: st.SearchStrategy[int],
    empty: st.SearchStrategy[int],
    roots: st.SearchStrategy[Fraction] | None,
    *,
    on_top: bool,
) -> SIMTask:
    size, free_directions = draw(sizes), draw(empty)
    s = size if on_top else max(size - free_directions, 1)
    # First, so that the user's order is the last thing to be given up for simplicity.
    order = draw(_orders(s))
    if roots is None:
        # Counted from p on, so that the simplest task has distinct signals.
        mu = [_MU[(k + p) % len(_MU)] for p, k in enumerate(draw_list(draw, _MU_PLACES, s))]
        sigma = draw_list(draw, _SIGMAS, s)
    else:
        # With sigma a fixed share of mu, signals go like mu^2.
        steps = draw_list(draw, roots, s - 1)
        mu = list(itertools.accumulate(steps, operator.mul, initial=draw(_UNITS)))
        share = draw(_SHARES)
        sigma = [share * centre for centre in mu]
    dim = min(size + free_directions, MOST_DIRECTIONS) if on_top else size
    return SIMTask([mu[p] for p in order], [sigma[p] for p in order], dim)


@functools.lru_cache(maxsize=64)
def _orders(count: int) -> st.SearchStrategy[Any]:
    """Draw an order of a few things; by a single choice where they are few."""
    if count > USUAL_DIRECTIONS:
        return st.permutations(range(count))
    return st.sampled_from(list(itertools.permutations(range(count))))


#: Ratios of mu are drawn from at least so many round numbers, if they exist.
_ENOUGH = 8
#: And their denominators are at most this.
_DENOMINATORS = 10_000


def _roots(ratio: Any) -> st.SearchStrategy[Fraction]:
    """Read bounds of a ratio of signals: draws round numbers whose squares lie within them."""
    bounds = numbers.vector(ratio, "ratio")
    if len(bounds) > 2:
        raise InvalidInput("ratio", ratio, "must be one number, or the smallest and the largest")
    low, high = bounds[0], bounds[1] if len(bounds) == 2 else _SPAN * bounds[0]
    if not 1 <= low <= high:
        raise InvalidInput("ratio", ratio, "must be at least 1, the smallest first", "Sec. 4")
    if high > 10**6:
        raise InvalidInput("ratio", ratio, "must be at most a million")
    roots = _round_roots(low, high)
    if not roots:
        requirement = "must leave room for a square of a round number, as mu is rational"
        raise InvalidInput("ratio", ratio, requirement)
    return st.sampled_from(roots)


@functools.lru_cache(maxsize=256)
def _round_roots(low: Fraction, high: Fraction) -> tuple[Fraction, ...]:
    """Round numbers whose squares lie between, those of the smallest denominators first."""
    roots: dict[Fraction, None] = {}
    for n in range(1, _DENOMINATORS + 1):
        first = math.isqrt(math.ceil(low * n * n) - 1) + 1
        last = math.isqrt(math.floor(high * n * n))
        roots |= dict.fromkeys(Fraction(k, n) for k in range(first, last + 1))
        if len(roots) >= _ENOUGH:
            break
    return tuple(roots)


# Round numbers.


def rounded(number: Fraction, digits: int = 0, *, up: bool = False) -> Fraction:
    """The next number of at most `digits` digits on one side; with 0 digits a power of ten."""
    if digits:
        unit = rounded(number) * Fraction(10) ** (1 - digits)
        return (math.ceil if up else math.floor)(number / unit) * unit
    if up:
        return 1 / rounded(1 / number)
    context = decimal.Context(1, decimal.ROUND_FLOOR, decimal.MIN_EMIN, decimal.MAX_EMAX)
    return Fraction(10) ** context.divide(number.numerator, number.denominator).adjusted()


#: eta max(a) by default: far below 1/2, where the discrete maps leave [0, 1].
_LARGEST_STEP = Fraction(1, 10)

#: First digits of a step size and the decades it stays below the largest, simplest first; 0
#: stands for the largest itself.
_SIZES = st.sampled_from((*itertools.product(range(5), _table("1 2 5 3/2 3")), (0, Fraction(0))))


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
    largest = _LARGEST_STEP / largest_signal if most is None else numbers.positive(most, "most")
    return _below(largest)


def _below(largest: Fraction) -> st.SearchStrategy[Fraction]:
    """Draw round numbers of at most a given size; see :func:`step_sizes`."""

    def of_size(size: tuple[int, Fraction]) -> Fraction:
        decades, digits = size
        return digits * rounded(largest / digits) * Fraction(1, 10**decades) if digits else largest

    return _SIZES.map(of_size)


# Where omega has to lie.

_Signal = tuple[Fraction, ...]

#: Relative distance from an edge that is decided by the constants tried.
_OFF = Fraction(999, 1000)
_ONE = Fraction(1)


@functools.lru_cache(maxsize=4096)
def largest(
    signal: _Signal, beta: Fraction, power: int = 1, step: Fraction = Fraction(0)
) -> tuple[Fraction, Fraction]:
    """Both sides of the supremum of omega, off by less than 1e-40 of its size.

    `signal`: neighbours apart by more than 3. `power`: 2 for the corrected edition of one concept.
    `step`: with two concepts or more, of which the last may be 0, kappa and beta are so far off
    their corner.
    """
    problem = FeasibilityProblem(signal, _ONE, _ONE, max(beta, 1 + step) if step else beta, power)

    def supremum() -> Any:
        if not step:
            return feasibility.largest_omega(problem)
        return (-feasibility.threshold(problem, feasibility.KAPPA + step)).exp()

    ball = balls.with_rising_precision(supremum, lambda found: found.rel_accuracy_bits() > 160)
    return _exact(ball.lower()), _exact(ball.upper())


def _limit(signal: _Signal, beta: Fraction, power: int, broken: str | None) -> Fraction:
    """An omega up to which an assumption fails alone, or, but for D.1, D.4 and D.5, none does."""
    if broken == "D.5":  # signals are too close: P = 2 in D.4
        room = Fraction(465, 10**4)  # below 1 - kappa^(-1/2) at kappa = 1.1
        gamma, spread = signal[0] / signal[-1], max(beta, 1 + ATTEMPT)
        return _OFF * room / (Fraction(2**power) * K * gamma * len(signal) * spread**2)
    if broken == "D.1":
        return _OFF * largest(signal, beta, power, ATTEMPT)[0]
    # As corrected with two concepts, D.4 always fails, and D.3 holds where the printed D.4 does.
    return largest(signal, beta, power if len(signal) == 1 else 1)[0]


@functools.lru_cache(maxsize=4096)
def _repaired_limit(signal: _Signal, beta: Fraction, rho: Fraction) -> Fraction:
    """An omega that the repaired edition covers for all such W(0), without a search."""
    # W(0) has beta omega and rho omega only: omega goes like 1/beta at a fixed rho/beta.
    if len(signal) == 1:
        return 1 / beta
    setting = RepairedSetting(signal, _ONE, rho / beta)
    if len(signal) == 2:
        log = theorem_two.log_omega_0(setting) - Fraction(1, 2**50)
    else:
        log = theorem_r.closed_form(setting).log_omega_0 - Fraction(1, 1000)
    with balls.precision(256):
        return _exact(balls.ball(log).exp().lower()) / beta


@functools.lru_cache(maxsize=256)
def _repaired_by_search(
    signal: _Signal, beta: Fraction, rho: Fraction
) -> tuple[Fraction, Fraction]:
    """Both sides of the largest omega that a check of the repaired edition accepts.

    The search is decided by floats at its edge, so a check with W(0), which has beta = 1, may find
    another value than one with omega and beta. Both lie in between.
    """
    scaled = numbers.exact(largest_omega(signal, _ONE, rho / beta), "omega") / beta
    unscaled = numbers.exact(largest_omega(signal, beta, rho), "omega")
    tiny = Fraction(1, 10**6)
    return min(scaled, unscaled) * (1 - tiny), max(scaled, unscaled) * (1 + tiny)


def _exact(number: flint.arb) -> Fraction:
    """The number of a ball without a radius."""
    return numbers.exact(balls.midpoint(number), "omega")


# Settings.

#: Ratios of neighbouring signals, simplest first: above 3 (D.5), at most 3, and above 1 (D.1').
_APART = _sampled("4 5 10 6 7/2 8 16/5 20 31/10 50 100 301/100 3000001/1000000 1000")
_CLOSE = _sampled("2 1 3 3/2 5/2 11/10 299/100 1000001/1000000 2999999/1000000")
_ANY = _sampled("4 5 10 2 1 3 3/2 5/2 11/10 299/100 6 8 20 31/10 50 100 301/100 1000")
_DISTINCT = _sampled("4 2 3 10 3/2 8 5/2 6/5 100 11/10")
_SMALLEST = _sampled("1 2 1/2 3 1/10 10 1/100 100 7/5")
#: beta, simplest first; 1 is the limit of beta > 1 from above.
_BETAS = _sampled("2 1 3 4 3/2 10 6/5 5 100 1000001/1000000 1000")
#: Digits that a number next to its limit is rounded to; 0 for a power of ten.
_DIGITS = (0, 1, 2, 3, 6, 9, 12, 15, 18)
_ROUNDED = st.sampled_from(_DIGITS)
#: Where omega lies: digits it is rounded to next to its limit, and decades below; simplest first.
_DECADES = (0, 1, 2, 5, 10, 30, 100, 300, 1000, 2000)
_PLACES = st.sampled_from([*((0, k) for k in _DECADES), *((digits, 0) for digits in _DIGITS[1:])])
#: Where a search tells the largest omega, it runs for these ratios of signals only, and for so
#: many concepts: with more it takes a second.
_SEARCHED, _MOST_SEARCHED = _sampled("4 2"), 3
_TO_SEARCH = st.sampled_from((False, False, False, True))

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


def satisfying(edition: str = "printed", dim: _Dimensions = None) -> st.SearchStrategy[Setting]:
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
        return _repaired(_dimensions(dim, 1), outside=False)
    if edition == "printed":
        return _printed(None, _dimensions(dim, 1), 1)
    if dim is None:
        raise InvalidInput("dim", MISSING, _NO_SETTING)
    return _printed(None, _dimensions(dim, 1, most=1, requirement=_NO_SETTING), 2)


def violating(
    assumption: str, edition: str = "printed", dim: _Dimensions = None
) -> st.SearchStrategy[Setting]:
    r"""Draw settings in which exactly one assumption of an edition fails.

    Everything else is as in :func:`satisfying`, at the same distance from its own limits.

    - D.1: one direction is free (a = 0), or W(0) has zero entries.
    - D.2: eta is above 1/(180 max a): 1 + 1e-9 times that, rounded up to 0 to 18 digits.
    - D.4: omega is above the largest one, rounded up to 0 to 18 digits. As corrected with two
      concepts or more, where no omega is small enough: any omega that is as printed.
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
    repaired = edition == "repaired"
    ids = ("D.1'", "D.3'", "D.4'") if repaired else ("D.1", "D.2", "D.3", "D.4", "D.5")
    choice(assumption, "assumption", ids)
    if assumption == "D.4'":
        return _repaired(_dimensions(dim, 1), outside=True)
    never = _NO_OMEGA_0 if repaired else _D3_FOLLOWS if assumption == "D.3" else ""
    if edition == "corrected" and assumption == "D.1":
        never = _NEVER_MET
    if never:
        raise InvalidInput("assumption", assumption, never)
    fewest = 2 if assumption in ("D.1", "D.5") else 1
    largest_dim = 1 if edition == "corrected" and assumption == "D.2" else MOST_DIRECTIONS
    sizes = _dimensions(
        dim, fewest, largest_dim, requirement=_NO_SETTING if largest_dim == 1 else ""
    )
    return _printed(assumption, sizes, 1 if edition == "printed" else 2)


@st.composite
def _printed(
    draw: st.DrawFn, broken: str | None, sizes: st.SearchStrategy[int], power: int
) -> Setting:
    """A setting as printed or, with P^2, as corrected, in which at most one assumption fails."""
    d = draw(sizes)
    # The simplest draw of a failing D.1 is the one of fewest choices, a free direction.
    has_free_direction = broken == "D.1" and not draw(st.booleans())
    task, shape = _task(
        draw,
        d - has_free_direction,
        _ANY if broken == "D.5" else _APART,
        broken,
        free=has_free_direction,
    )
    beta = draw(_BETAS)
    matrix = bounded(draw, task.order, beta)
    alone = draw(st.integers(0, d - 1))
    if broken == "D.1" and not has_free_direction:
        apart = np.equal.outer(np.arange(d) == alone, np.arange(d) == alone)
        matrix = np.where(apart, matrix, 0.0)
    if broken == "D.4":  # with W(0), beta is what its entries say
        beta = Fraction(float(abs(matrix).max()))
    limit = _limit(shape, beta, power, broken)
    if broken == "D.4" and (d == 1 or power == 1):
        omega = rounded(largest(shape, beta, power)[1], draw(_ROUNDED), up=True)
    else:
        digits, decades = draw(_PLACES)
        omega = rounded(limit, digits) * Fraction(1, 10**decades)
    eta = 1 / (9 * K * max(task.exact_signal))
    if broken == "D.2":
        eta = rounded(eta * (1 + Fraction(1, 10**9)), draw(_ROUNDED), up=True)
    else:
        eta = draw(_below(eta))
    edition = "printed" if power == 1 else "corrected"
    return Setting(task, omega, eta, beta, W0=Scaled(matrix, omega), edition=edition)


def _task(
    draw: st.DrawFn,
    learned: int,
    ratios: st.SearchStrategy[Fraction],
    broken: str | None = None,
    *,
    free: bool = False,
) -> tuple[SIMTask, _Signal]:
    """Concepts with drawn ratios of neighbours, in any order, and perhaps a free direction last.

    And the signal as the limits of omega have it.
    """
    order = draw(_orders(learned))
    steps = draw_list(draw, ratios, learned - 1)
    if broken == "D.5":
        steps[draw(st.integers(0, learned - 2))] = draw(_CLOSE)
    shape = tuple(itertools.accumulate(steps, operator.mul, initial=_ONE))[::-1]
    smallest, zero = draw(_SMALLEST), (Fraction(0),) * free
    task = SIMTask.from_signal([*(smallest * shape[k] for k in order), *zero])
    return task, (*shape, *zero)


@st.composite
def _repaired(draw: st.DrawFn, sizes: st.SearchStrategy[int], *, outside: bool) -> Setting:
    """A setting in which the repaired edition holds, or omega alone is too large for it."""
    d = draw(sizes)
    searched = draw(_TO_SEARCH) and 1 < d <= _MOST_SEARCHED
    task, shape = _task(draw, d, _SEARCHED if searched else _DISTINCT)
    matrix, rho = definite(draw, task.order)
    if searched:
        matrix, rho = np.eye(d) + 1, Fraction(d + 1, d)
    beta = Fraction(float(np.diag(matrix).max()))
    digits, decades = draw(_PLACES)
    if searched:
        low, high = _repaired_by_search(shape, beta, rho)
    else:  # every theorem asks for beta omega <= 1 at least
        low, high = _repaired_limit(shape, beta, rho), Fraction(1001, 1000) / beta
    below = rounded(low, digits) * Fraction(1, 10**decades)
    omega = rounded(high, digits, up=True) if outside else below
    eta = draw(_below(_LARGEST_STEP / max(task.exact_signal)))
    W0 = Scaled(matrix, omega)
    return Setting(task, omega, eta, beta, rho, W0=W0, edition="repaired", dynamics="flow")
