"""Finite sums over a counting letter, and hypotheses that hold for each of its values.

A letter of a sequence is a symbol with its place in brackets: ``f(t)``, ``f(k-1)``, ``f(0)``. In a
sum over t, and in a hypothesis for t from its first to its last value, t and all that stands at it
are bound.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import sympy

from swingby.proofs.language.definedness import partial, put_in_as_written, relations_of
from swingby.proofs.language.formula_printer import formula

#: A place in the name of a letter: a counting letter or none, and what is added to it.
PLACE = re.compile(r"\(((?:[^\W\d]\w*)?)((?:[+-]?\d+)?)\)")


class FiniteSum(sympy.Function):  # type: ignore[misc]
    """The sum of a term over a counting letter, from its first to its last value; 0 if none.

    Its arguments are the term, the letter, and both values.
    """

    nargs = 4
    is_commutative = True
    is_real = True

    @property
    def free_symbols(self) -> set[Any]:
        """The letters without those that are bound."""
        term, index, low, high = self.args
        free = {x for x in term.free_symbols if not stands_at(x, index)}
        return {*free, *low.free_symbols, *high.free_symbols}


@dataclass(frozen=True)
class ForEach:
    """A relation that holds for each value of a counting letter, from the first to the last."""

    relation: Any
    index: Any
    low: Any
    high: Any

    @property
    def free_symbols(self) -> set[Any]:
        """The letters without those that are bound."""
        free = {x for x in self.relation.free_symbols if not stands_at(x, self.index)}
        return {*free, *self.low.free_symbols, *self.high.free_symbols}

    def lines(self, latex: bool = False) -> str:
        """The hypothesis as a formula."""
        texts = [formula(x, latex=latex) for x in (self.index, self.low, self.high)]
        words = r"\ \text{{ for }} {} = {}, \ldots, {}" if latex else " for {} from {} to {}"
        return formula(self.relation, latex=latex) + words.format(*texts)


@dataclass(frozen=True)
class Sequence:
    """The letters of a sequence: `letter` makes one from its name."""

    stem: str
    letter: Callable[[str], Any]
    tail: str = ""

    def at(self, place: Any) -> Any:
        """The letter at a place; ValueError where that is none."""
        return self.letter(f"{self.stem}({place_text(place)}){self.tail}")


def sequence_of(letter: Any) -> Sequence | None:
    """The sequence of a letter such as ``f(k)``; None where it has no place at its end."""
    name = getattr(letter, "name", "")
    match = PLACE.search(name)
    if match is None or match.end() < len(name) or not name[: match.start()].isidentifier():
        return None
    return Sequence(name[: match.start()], lambda new: renamed(letter, new))


def place_text(place: Any) -> str:
    """A place as it stands in the name of a letter: ``k``, ``k-1``, ``3``."""
    letter, number = place.as_coeff_Add()[::-1]
    counts = letter.is_Symbol and letter.is_integer and not re.search(r"\(|~", letter.name)
    if not number.is_Integer or not (counts or (letter == 0 and number >= 0)):
        raise ValueError("a sequence has places such as 0, k, k + 1 and k - 1, where k counts")
    return f"{letter}{int(number):+d}" if counts and number else str(place)


def total(*arguments: Any) -> Any:
    """The sum of a term over an index, from its first to its last value."""
    if len(arguments) != 4:
        raise ValueError("a sum has four parts: what is summed, an index, its first and last value")
    term, index, low, high = arguments
    if term.has(sympy.Indexed) or not term.is_commutative:
        return sympy.Sum(term, (index, low, high))
    check_range(index, low, high)
    if term.has(FiniteSum):
        raise ValueError("a sum holds no other sum")
    swaps = {
        each: sympy.Integer(0)
        for each in term.atoms(sympy.Function)
        if each.func.__name__ == "Mean"
    }
    if any("~" in str(x) for x in term.xreplace(swaps).free_symbols):
        raise ValueError("a sum of random letters has no mean here: sum the means")
    return FiniteSum(term, index, low, high)


def check_range(index: Any, low: Any, high: Any) -> None:
    """Raise ValueError unless a letter counts, between whole numbers, where its sign lets it."""
    if not (index.is_Symbol and all(each.is_integer for each in (index, low, high))):
        raise ValueError("what is counted is an integer letter, between whole numbers")
    if {index} & (low.free_symbols | high.free_symbols):
        raise ValueError("a bound has no letter that is counted")
    is_low = index.is_nonnegative and not (low - (1 if index.is_positive else 0)).is_nonnegative
    if is_low or index.is_negative:
        raise ValueError(f"{index} is declared to have a sign that not all of its values have")


def stands_at(letter: Any, index: Any) -> bool:
    """Whether a letter is a counting letter, or stands at it; a mean, what it is of."""
    if hasattr(letter, "of"):
        return any(stands_at(x, index) for x in letter.of.free_symbols)
    name = str(index)
    return str(letter) == name or any(x[1] == name for x in PLACE.finditer(str(letter)))


def moved_letter(letter: Any, index: Any, place: Any) -> Any:
    """A letter at another place: ``f(t+1)`` with t at k - 1 is ``f(k)``."""
    if letter == index:
        return place
    if hasattr(letter, "of"):
        return letter.changed(lambda x: moved_letter(x, index, place))
    name = PLACE.sub(
        lambda match: (
            f"({place_text(place + int(match[2] or 0))})" if match[1] == str(index) else match[0]
        ),
        letter.name,
    )
    return letter if name == letter.name else renamed(letter, name)


def renamed(letter: Any, name: str) -> Any:
    """A letter of the same kind with another name."""
    if not letter.is_commutative:
        return type(letter)(name)
    return sympy.Symbol(name, **letter._assumptions_orig)


def at_place(expression: Any, index: Any, place: Any) -> Any:
    """An expression, or the sides of a relation, with a counting letter at a place."""
    letters = expression.free_symbols
    swaps = {x: moved_letter(x, index, place) for x in letters if stands_at(x, index)}
    if getattr(expression, "is_Relational", False):
        sides = (put_in_as_written(side, swaps) for side in expression.args)
        return expression.func(*sides, evaluate=False)
    return put_in_as_written(expression, swaps)


def at_value(each: ForEach, known: Iterable[Any]) -> list[Any]:
    """What is known at a value of a counting letter: what holds for each, and what has none."""
    listed = [sympy.Le(each.low, each.index, evaluate=False)]
    listed.append(sympy.Le(each.index, each.high, evaluate=False))
    for other in known:
        if any(stands_at(x, each.index) for x in getattr(other, "free_symbols", ())):
            continue  # it is of one value
        if not isinstance(other, ForEach):
            listed.append(other)
        elif (other.low, other.high) == (each.low, each.high):
            listed.append(at_place(other.relation, other.index, each.index))
    return [x for x in listed if isinstance(x, sympy.Basic)]


def sums_of(statements: Iterable[Any]) -> list[Any]:
    """The sums in statements, in the order of their texts."""
    basic = (x for x in map(body, statements) if isinstance(x, sympy.Basic))
    return sorted({each for x in basic for each in x.atoms(FiniteSum)}, key=str)


def needs_of_terms(statement: Any) -> list[ForEach]:
    """What the terms of sums need to have a value, beyond signs, for each value of the index."""
    return [
        ForEach(each, *total.args[1:])
        for total in sums_of([statement])
        for each in relations_of(partial(total.args[0]))
    ]


def body(statement: Any) -> Any:
    """What holds for each value; any other statement itself."""
    return statement.relation if isinstance(statement, ForEach) else statement


def indices_of(statements: Iterable[Any]) -> Iterator[Any]:
    """The counting letters that statements bind."""
    statements = list(statements)
    yield from (each.args[1] for each in sums_of(statements))
    yield from (each.index for each in statements if isinstance(each, ForEach))
