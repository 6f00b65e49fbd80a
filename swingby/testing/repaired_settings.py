"""Settings inside and outside the repaired edition: positive definite W(0), everyday omega."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from swingby.testing import limits, matrices, rounding, signals
from swingby.testing.arguments import Dimensions
from swingby.testing.draw_step_sizes import LARGEST_STEP, below
from swingby.testing.setting import Setting
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask

#: Where a search tells the largest omega, it runs for these ratios of signals only.
SEARCHED_RATIOS = (4, 2)
#: More concepts than this, and the search takes a second.
MOST_SEARCHED = 3

_PLACES = st.sampled_from(
    (
        (0, 0),
        *((0, decades) for decades in (1, 2, 3, 5, 10, 30, 300, 2000)),
        *((digits, 0) for digits in (1, 2, 3, 6, 9, 12, 15)),
    )
)
_TO_SEARCH = st.sampled_from((False, False, False, True))
_COIN = st.booleans()
_RATIOS = st.sampled_from(SEARCHED_RATIOS)
_DIGITS = st.sampled_from((0, 1, 2, 3, 6, 9, 12))
_EXCESS = st.sampled_from((0, 1, 2, 3))


@dataclass(frozen=True)
class _Start:
    """A task, a positive definite matrix for W(0)/omega, and the beta and rho it has."""

    task: SIMTask
    matrix: matrices.Floats
    beta: Fraction
    rho: Fraction
    searched: bool


@st.composite
def inside(draw: st.DrawFn, sizes: Dimensions) -> Setting:
    """Draw settings in which the repaired edition holds."""
    start = _start(draw, sizes)
    shape, beta, rho = signals.shape(start.task), start.beta, start.rho
    loose = draw(_COIN)
    if start.searched:
        limit, _ = limits.repaired_by_search(shape, beta, rho)
    else:
        if loose:
            beta, rho = _next_power_of_4(beta), 1 / _next_power_of_4(1 / rho)
        limit = limits.repaired(shape, beta, rho)
    digits, decades = draw(_PLACES)
    omega = rounding.down(limit, digits) * rounding.power_of_ten(-decades)
    return _setting(draw, start, omega, beta, rho)


@st.composite
def outside(draw: st.DrawFn, sizes: Dimensions) -> Setting:
    """Draw settings whose omega is too large for the repaired edition, and nothing else fails."""
    start = _start(draw, sizes)
    digits, excess = draw(_DIGITS), draw(_EXCESS)
    if start.searched:
        shape = signals.shape(start.task)
        limit, excess = limits.repaired_by_search(shape, start.beta, start.rho)[1], 0
    else:
        # Every theorem asks for beta omega <= 1 at least.
        limit = Fraction(1001, 1000) / start.beta
    omega = rounding.up(limit, digits) * rounding.power_of_ten(excess)
    return _setting(draw, start, omega, start.beta, start.rho)


def _next_power_of_4(number: Fraction) -> Fraction:
    """The smallest power of 4 that is at least a number of at least 1/4."""
    return Fraction(4) ** ((math.ceil(number) - 1).bit_length() + 1 >> 1)


def _setting(
    draw: st.DrawFn, start: _Start, omega: Fraction, beta: Fraction, rho: Fraction
) -> Setting:
    eta = draw(below(LARGEST_STEP / max(start.task.exact_signal)))
    return Setting(
        start.task,
        omega,
        eta,
        beta,
        rho,
        W0=Scaled(start.matrix, omega),
        edition="repaired",
        dynamics="flow",
    )


def _start(draw: st.DrawFn, sizes: Dimensions) -> _Start:
    d, most = draw(sizes.strategy), sizes.most
    searched = draw(_TO_SEARCH) and 1 < d <= MOST_SEARCHED
    ratio, staircase = draw(_RATIOS), draw(_COIN)
    task = signals.distinct(draw, d, most)
    matrix, pivots = matrices.definite(draw, task.order, most)
    if not searched:
        beta, rho = Fraction(float(np.diag(matrix).max())), Fraction(float(pivots.min()))
        return _Start(task, matrix, beta, rho, searched)
    # One of the few cases whose largest omega is searched for.
    task = signals.with_ratio(task, ratio)
    if staircase:
        # Pivots 1; the diagonal is 1, 2, ..., d in descending order of the signal.
        L = np.tril(np.ones((d, d)))
        matrix = matrices.in_place(L @ L.T, task.order)
        return _Start(task, matrix, Fraction(d), Fraction(1), searched)
    # Pivots (k + 1)/k.
    return _Start(task, np.eye(d) + 1, Fraction(2), Fraction(d + 1, d), searched)
