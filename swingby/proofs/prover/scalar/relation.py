"""A relation and a sequent: what is assumed and what is to follow.

sympy evaluates its relationals whenever they are rebuilt; these ones stay as they are written.

Side conditions: where the two sides of a relation have values at all.

A denominator is not zero, an even root is of nothing negative, a logarithm of something positive.
Of a hypothesis these are facts, as it holds only where it is defined. Of a conclusion they are
obligations: proved like any other line, or the conclusion is not proved. They are read off what is
written, before sympy has cancelled anything.

Preparation of a sequent: definitions inserted, signs recognised, Abs, Max and Min resolved.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import sympy

from swingby.errors import InvalidInput
from swingby.proofs.language.claim import ENOUGH, in_order_of_use, needs


@dataclass(frozen=True)
class Relation:
    """A relation `kind` in {"<=", "<", "==", "!="}; its label is not part of what it says."""

    small: Any
    large: Any
    kind: str
    label: str = field(default="", compare=False)

    @property
    def sides(self) -> tuple[Any, Any]:
        """The smaller and the larger one."""
        return self.small, self.large

    @property
    def difference(self) -> Any:
        """``large - small``: not negative where the relation holds."""
        return self.large - self.small

    @property
    def symbols(self) -> frozenset[Any]:
        """The letters on both sides."""
        return frozenset(self.small.free_symbols | self.large.free_symbols)

    def negation(self) -> Relation:
        """What holds where this inequality fails."""
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
    """An expression as one line of plain mathematics."""
    return str(sympy.sstr(expression)).replace("**", "^")


ZERO = sympy.Integer(0)
#: What sympy makes of a division by 0.
UNDEFINED = (sympy.zoo, sympy.nan, sympy.oo)

#: What a claim may be built of; anything else is undecided.
KNOWN = frozenset({"Add", "Mul", "Pow", "exp", "log", "Abs", "Max", "Min", "Exp1", "Pi"})

#: Assumptions about a letter that no relation says, and that every value of it is asked for.
_KINDS = ("integer", "even", "odd", "prime", "composite", "irrational", "rational")


def definedness_conditions(expression: Any) -> Iterator[Relation]:
    """What an expression needs to be defined, inner parts first."""
    for base, sign in needs(expression):
        if sign == "!=":
            yield Relation(base, ZERO, sign)
        else:
            yield Relation(ZERO, base, "<" if sign == ENOUGH else sign, sign * (sign == ENOUGH))


def side_conditions(
    relation: Relation, written: Mapping[Any, Any], values: Mapping[Any, Any]
) -> tuple[Relation, ...]:
    """What a relation and all definitions it leads to need to be defined, if it is not plain.

    Of a definition this is read off what is `written`: put into another, it may cancel.
    `values`: the definitions, each with all the others put in.
    """
    used: dict[Any, None] = {}
    waiting = list(relation.symbols & written.keys())
    while waiting:
        used[letter := waiting.pop()] = None
        waiting += written[letter].free_symbols & written.keys() - used.keys()
    requirements: dict[Relation, None] = {}
    definitions = (written[letter] for letter in sorted(used, key=str))
    for expression in (*definitions, *relation.sides):
        for needed in definedness_conditions(expression):
            requirements[needed.substitute(values)] = None
    return tuple(needed for needed in requirements if not _is_evident(needed))


def _is_evident(needed: Relation) -> bool:
    """Whether the signs of the letters say so by themselves."""
    if needed.kind == "!=":
        return bool(needed.small.is_nonzero)
    return bool(needed.large.is_positive if needed.kind == "<" else needed.large.is_nonnegative)


def as_fact(needed: Relation) -> Relation:
    """A side condition as a hypothesis that the provers know."""
    if needed.kind == "!=":
        return Relation(ZERO, (needed.large - needed.small) ** 2, "<", needed.label)
    return needed


def resolve_definitions(where: tuple[tuple[Any, Any], ...]) -> dict[Any, Any]:
    """Definitions, each with all the others put in; InvalidInput if a letter defines itself."""
    definitions = dict(where)
    if len(definitions) < len(where):
        raise InvalidInput("where", [str(name) for name, _ in where], "must define a letter once")
    try:
        order = in_order_of_use(definitions)
    except ValueError as circle:
        raise InvalidInput("where", str(circle), "must not define a letter by itself") from None
    done: dict[Any, Any] = {}
    for letter in order:
        done[letter] = definitions[letter].xreplace(done)
    return done


def unknown_term(relations: tuple[Relation, ...]) -> str:
    """The first thing in some relations that no prover here knows, or nothing.

    Raises InvalidInput if something is no exact real number, or two letters share a name.
    """
    letters: dict[str, Any] = {}
    for relation in relations:
        for side in relation.sides:
            for node in sympy.preorder_traversal(side):
                if node.is_Symbol:
                    if letters.setdefault(node.name, node) != node:
                        raise InvalidInput("letter", node, "must mean one thing throughout")
                    if node.is_real is False or not node.is_commutative:
                        raise InvalidInput("letter", node, "must stand for a real number")
                elif node.is_Float:
                    raise InvalidInput("number", node, "must be exact, such as Rational(1, 10)")
                elif node.is_number and node.is_extended_real is not True and not node.args:
                    raise InvalidInput("number", node, "must be a real number")
                elif node.is_infinite and not node.args:
                    raise InvalidInput("number", node, "must be finite")
                elif not node.is_Rational and node.func.__name__ not in KNOWN:
                    return str(node)
    return ""


def signs_of_letters(relations: tuple[Relation, ...]) -> tuple[Relation, ...]:
    """What sympy assumes of letters and the provers read off relations only."""
    facts = []
    for letter in sorted(frozenset().union(*(r.symbols for r in relations)), key=str):
        if letter.is_nonpositive and not letter.is_zero:
            facts.append(Relation(letter, ZERO, "<" if letter.is_negative else "<=", "sign"))
        elif letter.is_nonzero and not letter.is_positive:
            facts.append(Relation(ZERO, letter**2, "<", "sign"))
    return tuple(facts)


def signs_of_denominators(relation: Relation) -> Iterator[Relation]:
    """That a denominator is positive, where its terms do not say so by themselves."""
    for side in relation.sides:
        for base in dict.fromkeys(base for base, sign in needs(side) if sign == "!="):
            if not all(term.is_nonnegative for term in sympy.Add.make_args(base.expand())):
                yield Relation(ZERO, base, "<", "denominator")


def may_have(letter: Any, value: Any) -> bool:
    """Whether what sympy assumes of a letter allows a value."""
    assumed = letter.assumptions0
    kinds = [kind for kind in _KINDS if assumed.get(kind) is not None]
    if not kinds:
        return True
    number = sympy.Rational(int(value.p), int(value.q))
    return all(getattr(number, f"is_{kind}") == assumed[kind] for kind in kinds)


#: More cases than this are not looked at.
_MOST_CASES = 64


def eliminate_equations(sequent: Sequent, replaced: list[tuple[Any, Any]] | None = None) -> Sequent:
    """A sequent without hypotheses of the form letter = expression: that takes the letter's place.

    That the letter was positive or nonnegative stays as a hypothesis on the expression.
    `replaced`: each letter with its expression is added to it.
    """
    for relation in sequent.hypotheses:
        for letter, expression in itertools.permutations(relation.sides):
            if relation.kind != "==" or not letter.is_Symbol or expression.has(letter):
                continue
            if sequent.goal.substitute({letter: expression}).difference.has(*UNDEFINED):
                continue
            remaining = [
                hypothesis for hypothesis in sequent.hypotheses if hypothesis is not relation
            ]
            if letter.is_nonnegative and not expression.is_nonnegative:
                kind = "<" if letter.is_positive else "<="
                remaining.append(Relation(ZERO, expression, kind, relation.label))
            if replaced is not None:
                replaced.append((letter, expression))
            smaller = Sequent(tuple(remaining), sequent.goal).substitute({letter: expression})
            # A hypothesis that has no value now is left out: that only weakens what is known.
            defined = (
                hypothesis
                for hypothesis in smaller.hypotheses
                if not hypothesis.difference.has(*UNDEFINED)
            )
            return eliminate_equations(replace(smaller, hypotheses=tuple(defined)), replaced)
    return sequent


def recognise_signs(sequent: Sequent) -> Sequent:
    """A sequent whose letters carry the signs that a hypothesis of the form e <= letter shows."""
    for relation in sequent.hypotheses:
        letter, bound = relation.large, relation.small
        if not letter.is_Symbol or letter.is_positive or relation.kind == "==":
            continue
        if bound.is_positive or (bound.is_nonnegative and relation.kind == "<"):
            better = sympy.Symbol(letter.name, positive=True)
        elif bound.is_nonnegative and not letter.is_nonnegative:
            better = sympy.Symbol(letter.name, nonnegative=True)
        else:
            continue
        return recognise_signs(sequent.substitute({letter: better}))
    return sequent


def normal_form(sequent: Sequent) -> Sequent:
    """A sequent whose expressions are built anew, so that none is left unevaluated."""
    relations = [
        replace(relation, small=_rebuilt(relation.small), large=_rebuilt(relation.large))
        for relation in sequent.relations
    ]
    return Sequent(tuple(relations[:-1]), relations[-1])


def _rebuilt(expression: Any) -> Any:
    if not expression.args:
        return expression
    built = expression.func(*map(_rebuilt, expression.args))
    if built.is_Pow and built.base.is_positive and not built.exp.is_number:
        return sympy.exp(built.exp * sympy.log(built.base)) if built.base != sympy.E else built
    return built


def relax(sequent: Sequent) -> tuple[Sequent, bool]:
    """A sequent without Abs, Max and Min that is at least as hard, and whether it is exactly so.

    A hypothesis abs(X) <= B becomes X <= B and -X <= B. Where abs(X) stands anywhere else, a letter
    takes its place that is at least X and -X; likewise for Max and Min.
    """
    exact = True
    while (piece := _innermost(sequent)) is not None:
        size = isinstance(piece, sympy.Abs)
        letter = sympy.Symbol(expression_text(piece), nonnegative=True if size else None, real=True)
        values = _branches(piece)
        if isinstance(piece, sympy.Min):
            facts = [Relation(letter, value, "<=", "definition") for value in values]
        else:
            facts = [Relation(value, letter, "<=", "definition") for value in values]
        bounds = [
            relation
            for relation in sequent.hypotheses
            if size and relation.small == piece and relation.kind != "=="
        ]
        direct = [replace(bound, small=value) for bound in bounds for value in values]
        rest = [relation for relation in sequent.hypotheses if relation not in bounds]
        hypotheses = (*rest, *direct)
        if any(r.small.has(piece) or r.large.has(piece) for r in (*hypotheses, sequent.goal)):
            exact = False
            hypotheses = (*sequent.hypotheses, *direct, *facts)
        sequent = Sequent(hypotheses, sequent.goal).substitute({piece: letter})
    return sequent, exact


def split_cases(sequent: Sequent) -> list[Sequent] | None:
    """The sequents without Abs, Max and Min, one for each pattern of signs; None if too many."""
    done: list[Sequent] = []
    open_cases = [sequent]
    while open_cases:
        case = open_cases.pop()
        if len(done) + len(open_cases) >= _MOST_CASES:
            return None
        piece = _innermost(case)
        if piece is None:
            done.append(recognise_signs(case))
            continue
        for value in _branches(piece):
            # abs(X) is X where 0 <= X; Max(X, Y) is X where Y <= X
            alternatives = [
                alternative for alternative in _branches(piece) if alternative is not value
            ]
            ends = [ZERO] if isinstance(piece, sympy.Abs) else alternatives
            is_minimum = isinstance(piece, sympy.Min)
            facts = [
                Relation(*((value, x) if is_minimum else (x, value)), "<=", "case") for x in ends
            ]
            changed = case.substitute({piece: value})
            open_cases.append(replace(changed, hypotheses=(*changed.hypotheses, *facts)))
    return done


def _branches(piece: Any) -> tuple[Any, ...]:
    """What Abs, Max or Min may be."""
    return (piece.args[0], -piece.args[0]) if isinstance(piece, sympy.Abs) else piece.args


def _innermost(sequent: Sequent) -> Any:
    kinds = (sympy.Abs, sympy.Max, sympy.Min)
    for relation in sequent.relations:
        for side in relation.sides:
            for piece in sorted(side.atoms(*kinds), key=str):
                if not any(argument.has(*kinds) for argument in piece.args):
                    return piece
    return None
