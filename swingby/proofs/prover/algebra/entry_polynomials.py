"""Exact polynomials in the entries of matrices, their text, and points at which they differ."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import flint

from swingby.proofs.prover.algebra.entries import Number
from swingby.theory.numbers import fraction

#: A computation over any ring, given its letters.
Write = Callable[[Number], list[Any]]
#: Values that a witness may have, in the order in which they are tried.
_SMALL = (0, 1, 2, -1, 3)
#: Letters that are positive wherever they occur.
POSITIVE = ("a_", "eta", "tau", "mu_", "sigma_", "r_", "t")


def polynomials(write: Write) -> tuple[list[str], list[Any]]:
    """The letters that a computation asks for, and what it gives in the ring with exactly these."""
    names: set[str] = set()

    def note(name: str) -> flint.fmpq:
        names.add(name)
        return flint.fmpq(1)

    write(note)
    ordered = sorted(names | {name[2:] for name in names if name.startswith("1/")}) or ["x"]
    # flint takes any names, but prints and parses only simple ones
    context = flint.fmpq_mpoly_ctx.get([f"v{index}" for index in range(len(ordered))], "degrevlex")
    letters = dict(zip(ordered, context.gens(), strict=True))
    expanded = [context.constant(0) + polynomial for polynomial in write(letters.__getitem__)]
    # the leading terms have no common letter, so one division after the other is complete
    for name in ordered:
        if name.startswith("1/"):
            relation = letters[name] * letters[name[2:]] - 1
            expanded = [divmod(polynomial, relation)[1] for polynomial in expanded]
    return ordered, expanded


def polynomial_in_letters(polynomial: Any, names: list[str]) -> str:
    """A polynomial as text, in the names that a witness shows."""

    def name_of(match: re.Match[str]) -> str:
        name = names[int(match[1])]
        if name.startswith("1/"):
            return f"({name})"
        if name.startswith("exp("):
            return f"exp(-a_{name.rpartition('_')[2]}*t)"
        return _letter_text(name)

    return re.sub(r"v(\d+)", name_of, str(polynomial))


def _letter_text(name: str) -> str:
    """The name of a letter in the text."""
    return f"A^(1/2)_{name[2:]}" if name.startswith("r_") else name


def witness_values(values: dict[str, Fraction]) -> dict[str, str]:
    """The letters of a witness by the names of the text; t is 0, as exponentials are 1."""
    return {
        "t" if name.startswith("exp(") else _letter_text(name): "0"
        if name.startswith("exp(")
        else str(value)
        for name, value in values.items()
    }


def nonzero_point(polynomial: Any, names: list[str]) -> dict[str, Fraction] | None:
    """Small integers at which a polynomial does not vanish, as many zeros as possible.

    An inverse follows its letter, and ``exp(-a t)`` is 1, as at t = 0.
    """
    called = polynomial.context().names()
    values: dict[str, Fraction] = {}
    for index, name in enumerate(names):
        if name.startswith("1/"):
            continue
        inverse = names.index(f"1/{name}") if f"1/{name}" in names else None
        candidates: tuple[int, ...] = _SMALL if inverse is None else _SMALL[1:]
        if name.startswith(("exp(", *POSITIVE)):
            candidates = (1,) if name.startswith("exp(") else (1, 2, 3)
        for value in candidates:
            swap = {called[index]: flint.fmpq(value)}
            if inverse is not None:
                swap[called[inverse]] = 1 / flint.fmpq(value)
            remainder = polynomial.subs(swap)
            if remainder != 0:
                polynomial, values[name] = remainder, Fraction(value)
                break
        else:
            return None
    return values


def value_at(polynomial: Any, names: list[str], values: dict[str, Fraction]) -> Fraction:
    """A polynomial at a rational point."""
    point = [with_inverses(values)(name) for name in names]
    evaluated = polynomial(*(flint.fmpq(value.numerator, value.denominator) for value in point))
    return fraction(evaluated)


def with_inverses(values: dict[str, Fraction]) -> Callable[[str], Fraction]:
    """The value of a letter or of its inverse, by name."""
    return lambda name: 1 / values[name[2:]] if name.startswith("1/") else values[name]
