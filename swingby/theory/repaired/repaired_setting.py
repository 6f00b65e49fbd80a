"""The numbers that the repaired theorems speak of: distinct signals, and bounds of W(0)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import flint

from swingby.errors import InvalidInput
from swingby.theory import balls, numbers
from swingby.theory.balls import precision

#: How closely logarithms of omega_0 and of the largest eta are bracketed, and the least tried.
CLOSE, LEAST = Fraction(1, 10**4), Fraction(-(10**4))

Certificate = TypeVar("Certificate")

#: The level at which a concept counts as learned.
LEVEL = Fraction(4, 5)


@dataclass(frozen=True)
class RepairedSetting:
    """The setting of both theorems: a_1 > ... > a_d > 0, d >= 2, and 0 < rho <= beta.

    The signal is per unit of eta times steps.
    """

    signal: tuple[Fraction, ...]
    beta: Fraction
    rho: Fraction

    def __post_init__(self) -> None:
        pairs = zip(self.signal, self.signal[1:], strict=False)
        if self.d < 2 or self.signal[-1] <= 0 or any(large <= small for large, small in pairs):
            signal_text = ", ".join(map(str, self.signal))
            raise InvalidInput(
                "signal", signal_text, "must be descending, distinct, positive", "D.1'"
            )
        if not 0 < self.rho <= self.beta:
            raise InvalidInput("rho", self.rho, "must be positive and at most beta", "D.3'")

    @property
    def d(self) -> int:
        """Number of concepts."""
        return len(self.signal)

    def log_b(self, log_omega: Fraction | flint.arb) -> flint.arb:
        """Logarithm of b = beta omega, at the working precision."""
        return balls.ball(self.beta).log() + balls.ball(log_omega)

    def log_ratio(self) -> flint.arb:
        """Logarithm of beta/rho, at the working precision."""
        return balls.ball(self.beta / self.rho).log()


def found_in_balls(
    attempt: Callable[[], Certificate | None], setting: RepairedSetting
) -> Certificate:
    """Repeat an attempt at rising precision until it certifies something."""
    certificate = balls.with_rising_precision(attempt, lambda value: value is not None)
    if certificate is None:
        signal_text = tuple(map(str, setting.signal))
        raise InvalidInput("signal", signal_text, "must be distinct enough for 2048 bits", "D.1'")
    return certificate


def exact_promises(
    peak: Fraction | None, extra: Fraction | None
) -> tuple[Fraction | None, Fraction | None]:
    """The sizes of a promise, exact and positive where they are given."""
    exact = (
        None if size is None else numbers.positive(size, name, "D.4'")
        for name, size in (("peak", peak), ("extra", extra))
    )
    return next(exact), next(exact)


def rational_below(log_omega: Fraction) -> Fraction:
    """A short rational just below exp(log_omega)."""
    with precision(128):
        value = balls.ball(log_omega).exp().lower()
        mantissa, exponent = (int(number) for number in value.mid().man_exp())
    shift = max(mantissa.bit_length() - 60, 0)
    return Fraction(mantissa >> shift) * Fraction(2) ** (exponent + shift)


def bracketed(
    holds: Callable[[Fraction], bool], high: Fraction, close: Fraction
) -> Fraction | None:
    """The largest number up to `high` at which a condition holds, to `close`; None above LEAST.

    The condition is taken to hold below a number at which it does; it is checked at what is
    returned.
    """
    if holds(high):
        return high
    low, step = high - 1, Fraction(1)
    while not holds(low):
        high, step = low, 2 * step
        low -= step
        if low < LEAST:
            return None
    while high - low > close:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
