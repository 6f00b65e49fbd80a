"""Check of a relation on a box, by Bernstein coefficients; ``check.py`` calls it.

Each letter lies between two numbers, by its sign and the hypotheses, and its range may be cut. Over
a piece of the box a polynomial is a mean of its Bernstein coefficients, each with a positive weight
inside: it is nowhere negative if none of them is, and positive inside a face of the piece if,
besides, one of that face is positive. An end that no hypothesis admits belongs to no face.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from math import comb, prod
from types import ModuleType
from typing import Any

#: Letters, pieces of the box, and coefficients over a piece are at most so many.
MOST_LETTERS, MOST_PIECES, MOST_COEFFICIENTS = 6, 400, 20_000

#: From exponents, or places of Bernstein coefficients, one of each letter, to numbers.
Coefficients = dict[tuple[int, ...], Fraction]
#: Low and high end of a letter's piece, and whether each belongs to it.
End = tuple[Fraction, Fraction, bool, bool]


def bernstein(powers: Coefficients, ends: list[End]) -> Coefficients:
    """The Bernstein coefficients of a polynomial over a piece."""
    degrees = [max(exponents[k] for exponents in powers) for k in range(len(ends))]
    if prod(degree + 1 for degree in degrees) > MOST_COEFFICIENTS:
        raise ValueError("too many coefficients")
    for k, (degree, (low, high, _, _)) in enumerate(zip(degrees, ends, strict=True)):
        # x^e = (low + (high - low) u)^e, and u^m is the sum of C(i, m)/C(n, m) B_i over i >= m
        weights = [
            [
                sum(
                    Fraction(comb(e, m) * comb(i, m), comb(degree, m))
                    * low ** (e - m)
                    * (high - low) ** m
                    for m in range(min(e, i) + 1)
                )
                for i in range(degree + 1)
            ]
            for e in range(degree + 1)
        ]
        moved: Coefficients = {}
        for exponents, value in powers.items():
            for i, weight in enumerate(weights[exponents[k]]):
                place = (*exponents[:k], i, *exponents[k + 1 :])
                moved[place] = moved.get(place, Fraction(0)) + value * weight
        powers = moved
    return powers


def certain_sign(powers: Coefficients, ends: list[End], strict: bool) -> int:
    """1 or -1 where a polynomial has that sign over a piece, or is 0 if not strict; 0 if open."""
    coefficients = bernstein(powers, ends)
    last = [max(place[k] for place in coefficients) for k in range(len(ends))]
    for sign in (1, -1):
        if any(sign * value < 0 for value in coefficients.values()):
            continue
        positive = [place for place, value in coefficients.items() if value]
        faces = product(*((0,) * low + (1,) * high + (None,) for _, _, low, high in ends))
        if not strict or all(
            any(
                all(x is None or at == x * n for at, x, n in zip(place, face, last, strict=True))
                for place in positive
            )
            for face in faces
        ):
            return sign
    return 0


def polynomial(total: Any, letters: list[str], signs: dict[str, str]) -> Coefficients:
    """A sum as a polynomial, times powers of positive letters; ValueError if it is none."""
    terms = [(dict(term), value) for term, value in total.items()]
    if any(term.keys() - set(letters) for term, _ in terms):
        raise ValueError("a letter that has no range")
    lowest = {name: min([0, *(term.get(name, 0) for term, _ in terms)]) for name in letters}
    if any(power and signs[name] != "positive" for name, power in lowest.items()):
        raise ValueError("a division by what may be 0")
    powers: Coefficients = {}
    for term, value in terms:
        exponents = [Fraction(term.get(name, 0)) - lowest[name] for name in letters]
        if any(exponent.denominator != 1 for exponent in exponents):
            raise ValueError("a power that is not whole")
        powers[tuple(map(int, exponents))] = value
    return powers


def judge(
    step: Any,
    signs: dict[str, str],
    hypotheses: list[str],
    formula: Any,
    number: Any,
    beside: tuple[ModuleType, ModuleType],
) -> None:
    """Raise ValueError unless a relation holds on the box of its letters, piece by piece.

    `formula`, `number`: the readers of ``check.py``. `beside`: ``check_proof.py`` and
    ``check_line.py``.
    """
    proofs, lines = beside
    small, sign, large = step["relation"].partition(" <= ")
    if not sign:
        small, sign, large = step["relation"].partition(" < ")
    letters, strict = sorted(step["box"]), sign == " < "
    if not sign or not 0 < len(letters) <= MOST_LETTERS or set(letters) - signs.keys():
        raise ValueError("no inequality in some letters")
    ranges: list[list[End]] = []
    for name in letters:
        low, low_open, high, high_open = lines.cut_range(name, signs[name], hypotheses, number)
        if low is None or high is None or not low < high:
            raise ValueError(f"{name} has no two ends")
        places = [low, *map(Fraction, step["box"][name]), high]
        if places != sorted(set(places)):
            raise ValueError("the cuts are not in order")
        ranges.append(
            [
                (first, last, first != low or not low_open, last != high or not high_open)
                for first, last in pairwise(places)
            ]
        )
    if prod(map(len, ranges)) > MOST_PIECES:
        raise ValueError("too many pieces")
    exact = proofs.Exact(signs, [])
    values = {name: (proofs.letter(name), ()) for name in signs}
    sides = [exact.quotient(formula(side, values, exact)) for side in (large, small)]
    top, below = exact.plus(sides[0], exact.negative(sides[1]))
    factors = [polynomial(factor, letters, signs) for factor in below]
    goal = polynomial(top, letters, signs)
    for piece in product(*ranges):
        turn = prod(certain_sign(factor, list(piece), True) for factor in factors)
        held = certain_sign(goal, list(piece), strict) if goal else int(not strict)
        if not turn or held not in ((turn,) if goal else (1,)):
            raise ValueError(f"not decided on the piece {[f'{x} to {y}' for x, y, _, _ in piece]}")
