r"""What is proved about one run, as values: steps, and enclosures of numbers.

An enclosure is canonical: two decimal numbers that a real number certainly lies between.

With :math:`r = 10^{-40}` the enclosure of v is :math:`v - r|v|` rounded down and
:math:`v + r|v|` rounded up to 25 significant decimal digits. The allowance r keeps short decimals
such as 1/2 away from the boundary between two strings, so that a narrow ball decides them; and
whoever computes v, by whatever method, writes the same two strings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import NamedTuple

import flint

from swingby.theory import numbers

#: Significant decimal digits of an end, and of those that are shown.
DIGITS, SHOWN = 25, 10
#: Relative allowance on either side.
ALLOWANCE = Fraction(1, 10**40)

_DOWN, _UP = (
    Context(DIGITS, rounding, Emin=MIN_EMIN, Emax=MAX_EMAX)
    for rounding in (ROUND_FLOOR, ROUND_CEILING)
)
_END = re.compile(r"-?[1-9](?:\.[0-9]{0,23}[1-9])?e[+-](?:[0-9]{2}|[1-9][0-9]{2,6})", re.ASCII)


class Enclosure(NamedTuple):
    """A number between `lower` and `upper`, both decimal text; ``("0", "0")`` is exactly 0."""

    lower: str
    upper: str

    @property
    def middle(self) -> Fraction:
        """The exact midpoint."""
        return (Fraction(self.lower) + Fraction(self.upper)) / 2

    def __str__(self) -> str:
        """Ten digits of it."""
        return numbers.scientific(self.middle, SHOWN)


def enclose(number: flint.fmpq | flint.arb) -> Enclosure | None:
    """The canonical enclosure of a number; None where the ball is too wide to decide it."""
    if isinstance(number, flint.fmpq):
        low = high = Fraction(int(number.p), int(number.q))
    elif not number.is_finite():
        return None
    else:
        middle, radius = _dyadic(number.mid()), _dyadic(number.rad())
        low, high = middle - radius, middle + radius
    if low <= 0 <= high:
        return Enclosure("0", "0") if low == high else None
    first = _widened(low)
    # Rounding is monotone: equal strings at both ends are the strings of every point between.
    return first if low == high or _widened(high) == first else None


def is_enclosure(pair: object) -> bool:
    """Whether what was read from a file is written as an enclosure, lower end first."""
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        return False
    if not all(isinstance(end, str) for end in pair):
        return False
    written = all(_END.fullmatch(end) for end in pair)
    signs = [end.startswith("-") for end in pair]
    return list(pair) == ["0", "0"] or (written and signs[0] == signs[1])


def _dyadic(number: flint.arb) -> Fraction:
    mantissa, exponent = map(int, number.man_exp())
    return Fraction(mantissa << max(exponent, 0), 1 << max(-exponent, 0))


def _widened(number: Fraction) -> Enclosure:
    slack = ALLOWANCE * abs(number)
    return Enclosure(_decimal(number - slack, _DOWN), _decimal(number + slack, _UP))


def _decimal(number: Fraction, context: Context) -> str:
    """A number with the digits and the rounding of a context, in scientific notation."""
    quotient = context.divide(Decimal(number.numerator), Decimal(number.denominator))
    mantissa, exponent = f"{quotient.normalize(context):e}".split("e")
    return f"{mantissa}e{int(exponent):+03d}"


@dataclass(frozen=True)
class Passage:
    """First passage of a level by w_kk.

    `step`: first step with w_kk at least the level; None where there is none up to the last step.
    `before`, `at`: w_kk one step earlier, and at the step.
    `never`: the level is not reached at any later step either.
    """

    step: int | None
    before: Enclosure | None = None
    at: Enclosure | None = None
    never: bool = False


@dataclass(frozen=True)
class CertifiedPeak:
    """The first step at which |w_ij| is largest, i < j counted from 1, and w_ij there.

    `for_all_time` says that the entry is never as large again after the last step.
    """

    i: int
    j: int
    step: int
    value: Enclosure
    for_all_time: bool


@dataclass(frozen=True)
class RunsAway:
    """The first step with w_kk < 0, k counted from 1: w_kk tends to minus infinity (euler)."""

    k: int
    step: int


@dataclass(frozen=True)
class Convergence:
    """The first step at which W is provably on its way to I.

    `distance`: the norm of W - I there, in the sense of Frobenius. `radius`, `rate`: from `step`
    on, which is within `radius`, the norm shrinks at least by `rate` per step.
    """

    step: int
    distance: Enclosure
    radius: Fraction
    rate: Fraction


@dataclass(frozen=True)
class Facts:
    """The values of a certificate, as :class:`Certificate` describes them."""

    dynamics: str
    signal: tuple[Fraction, ...]
    eta: Fraction
    W0: tuple[tuple[Fraction, ...], ...]
    steps: int
    passages: Mapping[str, tuple[Passage | None, ...]]
    peaks: tuple[CertifiedPeak | None, ...]
    first_loss: int | None
    runs_away: tuple[RunsAway | None, ...]
    converges: Convergence | None
    end: tuple[tuple[Enclosure | None, ...], ...]
    undecided: tuple[str, ...]
    made_by: str
    bits: int | None = field(default=None, compare=False)

    @property
    def half_times(self) -> tuple[int | None, ...]:
        """First step at which each w_kk is at least 1/2; None where there is none, or undecided."""
        return tuple(None if one is None else one.step for one in self.passages["1/2"])

    @property
    def dim(self) -> int:
        """Number of concepts d."""
        return len(self.signal)
