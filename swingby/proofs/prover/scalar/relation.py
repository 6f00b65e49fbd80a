"""Relations between real expressions, and sequents: hypotheses and the goal that is to follow.

sympy evaluates its relationals whenever they are rebuilt; these stay as they are written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import sympy

from swingby.errors import InvalidInput


@dataclass(frozen=True)
class Relation:
    """A relation `kind` in {"<=", "<", "==", "!="}; its label is not part of what it says."""

    small: Any
    large: Any
    kind: str
    label: str = field(default="", compare=False)

    @property
    def sides(self) -> tuple[Any, Any]:
        """The smaller and the larger side."""
        return self.small, self.large

    @property
    def difference(self) -> Any:
        """``large - small``, which is not negative if the relation holds."""
        return self.large - self.small

    @property
    def symbols(self) -> frozenset[Any]:
        """The letters on both sides."""
        return frozenset(self.small.free_symbols | self.large.free_symbols)

    def negation(self) -> Relation:
        """The relation that holds if this inequality fails."""
        if self.kind == "==":
            raise ValueError("the negation of an equation is no inequality")
        if self.kind == "!=":
            return replace(self, kind="==", label=f"not {self.label}".strip())
        kind = "<" if self.kind == "<=" else "<="
        return Relation(self.large, self.small, kind, f"not {self.label}".strip())

    def substitute(self, values: Mapping[Any, Any]) -> Relation:
        """The same relation with some letters replaced."""
        mapping = dict(values)
        return replace(self, small=self.small.xreplace(mapping), large=self.large.xreplace(mapping))

    def __str__(self) -> str:
        sign = "=" if self.kind == "==" else self.kind
        return f"{expression_text(self.small)} {sign} {expression_text(self.large)}"


@dataclass(frozen=True)
class Sequent:
    """For all values of the letters: if all `hypotheses`, then `goal`."""

    hypotheses: tuple[Relation, ...]
    goal: Relation

    @property
    def relations(self) -> tuple[Relation, ...]:
        """The hypotheses and the goal."""
        return (*self.hypotheses, self.goal)

    @property
    def symbols(self) -> tuple[Any, ...]:
        """All letters, by name."""
        letters = frozenset().union(*(relation.symbols for relation in self.relations))
        return tuple(sorted(letters, key=str))

    def substitute(self, values: Mapping[Any, Any]) -> Sequent:
        """The sequent with some letters replaced."""
        return Sequent(
            tuple(relation.substitute(values) for relation in self.hypotheses),
            self.goal.substitute(values),
        )


#: A goal that nothing but a contradiction among the hypotheses proves.
FALSUM = Relation(sympy.Integer(0), sympy.Integer(0), "<", "contradiction")


def relation_from(relational: Any, label: str = "") -> Relation:
    """A relational of sympy, turned so that the smaller side comes first.

    Raises InvalidInput if it is anything else, such as a relation that sympy has already decided.
    """
    operator = getattr(relational, "rel_op", None)
    if operator in ("<=", "<", "==", "!="):
        return Relation(relational.lhs, relational.rhs, operator, label)
    if operator in (">=", ">"):
        return Relation(relational.rhs, relational.lhs, operator.replace(">", "<"), label)
    raise InvalidInput("relation", relational, "must be one of <=, <, >=, >, =, !=")


def expression_text(expression: Any) -> str:
    """An expression as a line of plain mathematics."""
    return str(sympy.sstr(expression)).replace("**", "^")


ZERO = sympy.Integer(0)
