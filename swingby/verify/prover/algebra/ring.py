"""Exact polynomials in the entries of matrices, and small integers at which one does not vanish."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import flint

#: Values that a witness may have, in the order in which they are tried.
SMALL = (0, 1, 2, -1, 3)

#: Letters that are positive wherever they occur.
POSITIVE = ("a_", "eta", "tau", "mu_", "sigma_", "r_", "t")

Number = Callable[[str], Any]
Constant = Callable[[int, int], Any]


def polynomials(write: Callable[[Number, Constant], list[Any]]) -> list[Any]:
    """The polynomials that a computation gives, in a ring with exactly the letters it asks for.

    `write`: gets a function from names to letters (``"1/eta"`` is the inverse of ``"eta"``) and one
    from numerator and denominator to constants; returns ring elements.
    Returns with the relation of each letter and its inverse applied, all in one ring.
    """
    ordered = letter_names(write)
    # flint takes any names, but prints and parses only simple ones
    context = flint.fmpq_mpoly_ctx.get([f"v{place}" for place in range(len(ordered))], "degrevlex")
    letters = dict(zip(ordered, context.gens(), strict=True))
    found = write(
        letters.__getitem__,
        lambda top, bottom: context.constant(flint.fmpq(top, bottom)),
    )
    relations = [letters[name] * letters[name[2:]] - 1 for name in ordered if name.startswith("1/")]
    return [_cancelled(context.constant(0) + item, relations) for item in found]


def letter_names(write: Callable[[Number, Constant], list[Any]]) -> list[str]:
    """The names that :func:`polynomials` gives its letters, in the order of the ring."""
    names: set[str] = set()

    def note(name: str) -> Fraction:
        names.add(name)
        return Fraction(1)

    write(note, Fraction)
    return sorted(names | {name[2:] for name in names if name.startswith("1/")}) or ["x"]


def _cancelled(polynomial: Any, relations: list[Any]) -> Any:
    # the leading terms have no common letter, so one division after the other is complete
    for relation in relations:
        polynomial = divmod(polynomial, relation)[1]
    return polynomial


def written(polynomial: Any, names: list[str]) -> str:
    """A polynomial as text, in the names that a witness shows."""
    shown = {f"v{place}": _shown(name) for place, name in enumerate(names)}
    return re.sub(r"v\d+", lambda match: shown[match[0]], str(polynomial))


def _shown(name: str) -> str:
    if name.startswith("1/"):
        return f"({name})"
    if name.startswith("exp("):
        return f"exp(-a_{name.rpartition('_')[2]}*t)"
    return shown_name(name)


def shown_name(name: str) -> str:
    """The name of a letter in the text."""
    return f"A^(1/2)_{name[2:]}" if name.startswith("r_") else name


def nonzero_point(polynomial: Any, names: list[str]) -> dict[str, Fraction] | None:
    """Small integers at which a polynomial does not vanish, as many zeros as possible.

    `polynomial`: not zero. `names`: of its letters; an inverse follows its letter, and ``exp(-a
    t)`` is 1, as at t = 0. Returns None where none of the small integers will do.
    """
    called = polynomial.context().names()
    values: dict[str, Fraction] = {}
    for place, name in enumerate(names):
        if name.startswith("1/"):
            continue
        inverse = names.index(f"1/{name}") if f"1/{name}" in names else None
        for value in _candidates(name, inverse is not None):
            swap = {place: flint.fmpq(value)}
            if inverse is not None:
                swap[inverse] = 1 / flint.fmpq(value)
            reduced = polynomial.subs({called[at]: number for at, number in swap.items()})
            if reduced != 0:
                polynomial = reduced
                values[name] = Fraction(value)
                break
        else:
            return None
    return values


def _candidates(name: str, invertible: bool) -> tuple[int, ...]:
    if name.startswith("exp("):
        return (1,)
    if name.startswith(POSITIVE):
        return (1, 2, 3)
    return SMALL[1:] if invertible else SMALL


def value_at(polynomial: Any, names: list[str], values: dict[str, Fraction]) -> Fraction:
    """A polynomial at a rational point."""
    point = []
    for name in names:
        value = 1 / values[name[2:]] if name.startswith("1/") else values[name]
        point.append(flint.fmpq(value.numerator, value.denominator))
    result = polynomial(*point)
    return Fraction(int(result.p), int(result.q))
