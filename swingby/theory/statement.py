"""Published statements as objects: readable as mathematics, usable by a machine."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import sympy

from swingby.hints import Hinted


@dataclass(frozen=True)
class Condition:
    """One inequality of a statement.

    `relation`: in the symbols of :mod:`swingby.theory.assumptions`.
    `over`: what the free indices range over: nothing, entries (i, j) of W(0), pairs of different
    concepts with a_i >= a_j, or concepts k.
    `about`: whether it limits what the user gives, or only the range of a constant that the
    statement says must exist.
    """

    relation: Any
    over: str = ""
    about: str = "numbers"

    def __str__(self) -> str:
        return _plain(self.relation)

    def to_latex(self) -> str:
        """The inequality as LaTeX."""
        relation = self.relation
        # sympy would put the argument of w_ij(0) into the subscript.
        names = {
            symbol: re.sub(r"^(\w+?)_(\w+)\(0\)$", _initial_name, str(symbol))
            for symbol in relation.free_symbols
            if str(symbol).endswith("(0)")
        }
        sides = [sympy.latex(side, symbol_names=names) for side in (relation.lhs, relation.rhs)]
        sign = {"<=": r"\le", ">=": r"\ge", "<": "<", ">": ">"}[relation.rel_op]
        return f"{sides[0]} {sign} {sides[1]}"


@dataclass(frozen=True)
class Statement(Hinted):
    """An assumption, lemma or theorem.

    `id`: the paper's number, such as ``"D.4"``; a prime marks our own repair.
    `edition` in {"printed", "corrected", "repaired"}.
    `exists`: constants that must exist.
    `reference`: Equation numbers.
    `note`: what differs from the printed text, or how an ambiguity was read.
    """

    id: str
    edition: str
    title: str
    exists: tuple[str, ...]
    conditions: tuple[Condition, ...]
    reference: str
    note: str = ""

    def __str__(self) -> str:
        head = f"Assumption {self.id} ({self.title}), {self.edition} edition, {self.reference}."
        exists = f"There exist {', '.join(self.exists)} with" if self.exists else "Let"
        lines = [head, f"  {exists}"]
        quantifier = {
            "entry": "   for all i, j",
            "pair": "   for all i != j with a_i >= a_j",
            "concept": "   for all k",
        }
        for condition in self.conditions:
            lines.append(f"    {condition}{quantifier.get(condition.over, '')}")
        if self.note:
            lines.append(f"  Note: {self.note}")
        return "\n".join(lines)

    def to_latex(self) -> str:
        """The conditions as a LaTeX list."""
        rows = r",\quad ".join(condition.to_latex() for condition in self.conditions)
        return rf"\textbf{{Assumption {self.id}}} ({self.title}). ${rows}$"


_PLAIN_NAMES = {"Min": "min", "Max": "max", "Abs": "abs"}


def _initial_name(match: re.Match[str]) -> str:
    letter = {"pi": r"\pi"}.get(match[1], match[1])
    return f"{letter}_{{{match[2]}}}(0)"


def _plain(relation: Any) -> str:
    """One line of plain mathematics: ``omega <= min(...)``."""
    text = sympy.sstr(relation, order="none")
    for name, plain_name in _PLAIN_NAMES.items():
        text = text.replace(name + "(", plain_name + "(")
    return text.replace("**", "^").replace("*", " ")
