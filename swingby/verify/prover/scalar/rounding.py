"""Round numbers: how a witness gets short values, and how they are printed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import flint

from swingby.verify.prover.scalar.sampling import may_be


def rounder(value: Any, letter: Any, others: list[Any]) -> Iterator[Any]:
    """Values that print shorter than a given one, the simplest first."""
    size = _length(value)
    options = [flint.fmpq(n) for n in (1, 2, 0, -1)] + [flint.fmpq(1, 2), flint.fmpq(10), *others]
    for option in options:
        if option == value:
            return
        if may_be(option, letter) and _length(option) <= size:
            yield option
    shift = _decimal_exponent(value)
    scale = flint.fmpq(10) ** shift if abs(shift) < 400 else flint.fmpq(1)
    for digits in (1, 2, 10, 100, 1000):
        scaled = Fraction(int((value / scale).p), int((value / scale).q)) if size < 2000 else None
        if scaled is None:
            return
        for near in (
            scaled.limit_denominator(digits),
            Fraction(math.ceil(scaled * digits), digits),
        ):
            option = flint.fmpq(near.numerator, near.denominator) * scale
            if may_be(option, letter) and _length(option) < size:
                yield option


def _length(value: Any) -> int:
    return len(compact(value)) if abs(_decimal_exponent(value)) < 2000 else 10**6


def _decimal_exponent(value: Any) -> int:
    if value == 0:
        return 0
    bits = int(value.p.bit_length()) - int(value.q.bit_length())
    exponent = math.floor(bits * math.log10(2))
    return 0 if -4 <= exponent <= 4 else exponent


def compact(value: Any) -> str:
    """A rational as short exact text: "1/720", "10^-90", "1/7040*10^90".

    Examples
    --------
    >>> compact(flint.fmpq(1, 10**90)), compact(flint.fmpq(1, 720)), compact(flint.fmpq(20))
    ('10^-90', '1/720', '20')
    """
    over, under = value.p, value.q
    powers = []
    for number in (over, under):
        count = 0
        if abs(number) >= 10**6:
            step = 2**20
            while step:
                if number % flint.fmpz(10) ** step == 0:
                    number //= flint.fmpz(10) ** step
                    count += step
                else:
                    step //= 2
        powers.append((number, count))
    (over, up), (under, down) = powers
    body = str(over.str()) + (f"/{under.str()}" if under != 1 else "")
    exponent = up - down
    if not exponent:
        return body
    return f"10^{exponent}" if body == "1" else f"{body}*10^{exponent}"
