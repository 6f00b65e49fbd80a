"""Check of a relation in one letter, by its Taylor series; ``check.py`` calls it.

The letter's range is cut into pieces. Over a piece, f = f(c) + f'(c) (x - c) + ... with c one of
its ends, and the last coefficient anywhere in the piece. f >= 0 there if no term is negative: at c
exactly, where f may be 0, or between decimals; over the piece between decimals.
"""

from __future__ import annotations

import contextlib
import re
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from types import ModuleType
from typing import Any

#: Derivatives that are looked at, and pieces.
MOST_DERIVATIVES, MOST_PIECES = 5, 400
_BOUND = re.compile(r"(.+) (<=|<) (.+)", re.DOTALL)
_INFINITE = Decimal("Infinity")


class _Series:
    """Taylor coefficients in some arithmetic, as lists; a number is its value at every place."""

    def __init__(self, numbers: Any, order: int) -> None:
        self.numbers, self.order = numbers, order

    def series(self, x: Any) -> list[Any]:
        return x if isinstance(x, list) else [x, *[Fraction(0)] * self.order]

    def _sum(self, terms: list[Any]) -> Any:
        return reduce(self.numbers.plus, terms)

    def _product(self, x: Any, y: Any) -> Any:
        nought = any(isinstance(z, Fraction) and z == 0 for z in (x, y))
        return Fraction(0) if nought else self.numbers.times(x, y)

    def negative(self, x: Any) -> list[Any]:
        return [self.numbers.negative(term) for term in self.series(x)]

    def plus(self, x: Any, y: Any) -> list[Any]:
        return [
            self.numbers.plus(a, b) for a, b in zip(self.series(x), self.series(y), strict=True)
        ]

    def times(self, x: Any, y: Any) -> list[Any]:
        a, b = self.series(x), self.series(y)
        return [
            self._sum([self._product(a[i], b[k - i]) for i in range(k + 1)])
            for k in range(self.order + 1)
        ]

    def inverse(self, x: Any) -> list[Any]:
        a = self.series(x)
        first = self.numbers.inverse(a[0])
        b = [first]
        for k in range(1, self.order + 1):
            total = self._sum([self._product(a[i], b[k - i]) for i in range(1, k + 1)])
            b.append(self._product(self.numbers.negative(first), total))
        return b

    def exp(self, x: Any) -> list[Any]:
        a = self.series(x)
        b = [self.numbers.exp(a[0])]
        for k in range(1, self.order + 1):
            terms = [
                self._product(Fraction(i, k), self._product(a[i], b[k - i]))
                for i in range(1, k + 1)
            ]
            b.append(self._sum(terms))
        return b

    def log(self, x: Any) -> list[Any]:
        a = self.series(x)
        rates = self.times(
            [self._product(Fraction(k), a[k]) for k in range(1, self.order + 1)] + [Fraction(0)],
            self.inverse(a),
        )
        return [
            self.numbers.log(a[0]),
            *(self._product(Fraction(1, k), rates[k - 1]) for k in range(1, self.order + 1)),
        ]

    def power(self, x: Any, y: Any) -> list[Any]:
        if isinstance(y, Fraction) and y.denominator == 1:
            if abs(y) > 64:
                raise ValueError("a power is too large")
            raised = self.series(Fraction(1))
            for _ in range(abs(int(y))):
                raised = self.times(raised, x)
            return self.inverse(raised) if y < 0 else raised
        return self.exp(self.times(y, self.log(x)))

    def sqrt(self, x: Any) -> list[Any]:
        return self.power(x, Fraction(1, 2))


def cut_range(letter: str, sign: str, hypotheses: list[str], number: Any) -> tuple[Any, ...]:
    """The range of a letter by its sign and hypotheses: its ends, or None, and which are open."""
    low, low_open = (None, True) if sign == "real" else (Fraction(0), sign == "positive")
    high, high_open = None, True
    for relation in hypotheses:
        match = _BOUND.fullmatch(relation)
        for is_low in (True, False) if match is not None else ():
            if match[3 if is_low else 1] != letter:  # type: ignore[index]
                continue
            with contextlib.suppress(ValueError, ArithmeticError):
                bound, strict = number(match[1 if is_low else 3]), match[2] == "<"  # type: ignore[index]
                if not isinstance(bound, Fraction):
                    continue
                if is_low and (low is None or bound > low or (bound == low and strict)):
                    low, low_open = bound, strict
                if not is_low and (high is None or bound < high or (bound == high and strict)):
                    high, high_open = bound, strict
    return low, low_open, high, high_open


def piece_holds(
    sides: tuple[str, str, str],
    letter: str,
    ends: tuple[Any, Any],
    is_open: tuple[bool, bool],
    tools: Any,
) -> bool:
    """Whether a relation holds over a piece; an open end does not count."""
    formula, decimals, exact_of = tools
    small, sign, large = sides

    def coefficients(numbers: Any, at: Any, order: int) -> list[Any]:
        series = _Series(numbers, order)
        x = [at, Fraction(1), *[Fraction(0)] * order][: order + 1]
        left, right = (formula(side, {letter: x}, series) for side in (small, large))
        return series.plus(right, series.negative(left))

    def bounds(value: Any) -> tuple[Decimal, Decimal]:
        return decimals.bounds(value)  # type: ignore[no-any-return]

    low = decimals.bounds(ends[0])[0] if ends[0] is not None else -_INFINITE
    high = decimals.bounds(ends[1])[1] if ends[1] is not None else _INFINITE
    for order in range(MOST_DERIVATIVES):
        try:
            last = bounds(coefficients(decimals, (low, high), order)[order])
        except (ValueError, ArithmeticError):
            continue
        for place in (0, 1) if order else (0,):
            turn = -1 if place else 1
            if turn**order * last[0 if turn**order > 0 else 1] < 0:
                continue
            sure = (last[0] > 0 or last[1] < 0) and order == 0
            if order and ends[place] is None:
                continue
            fits = True
            risen = False
            for k in range(order):
                value = _at(coefficients, exact_of, decimals, ends[place], order, k)
                if value is None or turn**k * value < 0:
                    fits = False
                    break
                sure = sure or (k == 0 and value > 0)
                risen = risen or value != 0
            risen = risen or last[0] > 0 or last[1] < 0
            strictly = sure or (risen and is_open[place])
            if fits and (sign == "<=" or strictly):
                return True
    return False


def _at(
    coefficients: Any, exact_of: Any, decimals: Any, at: Fraction, order: int, k: int
) -> int | None:
    """The certain sign of a coefficient at a number."""
    with contextlib.suppress(ValueError, ArithmeticError, KeyError):
        exact = exact_of()
        value = exact.quotient(coefficients(exact, exact.quotient(at), order)[k])
        if not value[0] and not value[1]:
            return 0
    with contextlib.suppress(ValueError, ArithmeticError):
        low, high = decimals.bounds(coefficients(decimals, at, order)[k])
        if low > 0 or high < 0:
            return 1 if low > 0 else -1
        if low == high == 0:
            return 0
    return None


def tools_of(formula: Any, decimals: Any, proofs: ModuleType) -> Any:
    """What :func:`piece_holds` works with."""
    return formula, decimals, lambda: proofs.Exact({}, [])


def judge(step: Any, signs: dict[str, str], hypotheses: list[str], tools: Any, number: Any) -> None:
    """Raise ValueError unless a relation holds over the range of its letter, piece by piece."""
    letter, match = step["letter"], _BOUND.fullmatch(step["relation"])
    if letter not in signs or match is None or len(step["cuts"]) > MOST_PIECES:
        raise ValueError("no relation in one letter")
    sides = match[1], match[2], match[3]
    low, low_open, high, high_open = cut_range(letter, signs[letter], hypotheses, number)
    cuts = [Fraction(cut) for cut in step["cuts"]]
    if cuts != sorted(set(cuts)):
        raise ValueError("the cuts are not in order")
    inside = [cut for cut in cuts if (low is None or cut > low) and (high is None or cut < high)]
    if inside != cuts or (low is not None and high is not None and not low < high):
        raise ValueError("a cut outside of the range")
    ends = [low, *cuts, high]
    for place in range(len(ends) - 1):
        first, last = place == 0, place == len(ends) - 2
        is_open = (first and low_open, last and high_open)
        if not piece_holds(sides, letter, (ends[place], ends[place + 1]), is_open, tools):
            raise ValueError(f"not decided between {ends[place]} and {ends[place + 1]}")
