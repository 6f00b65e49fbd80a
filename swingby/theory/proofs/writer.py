"""Claims written as a proof file; read again, they are the same claims."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import sympy
from sympy.printing.precedence import PRECEDENCE
from sympy.printing.str import StrPrinter

from swingby.theory.claims import conclusions
from swingby.theory.claims.claim import AlongTrajectory, Claim, Given
from swingby.theory.claims.formula import formula, greek
from swingby.theory.proofs import reader
from swingby.theory.proofs.formulas import (
    FUNCTIONS,
    Piece,
    flow_letters,
    is_letter,
    latin,
    values,
)

_PLAIN = str.maketrans({"≤": "<=", "≥": ">=", "−": "-"})
_WIDTH = 100
_CALLS = {"Abs": "abs", "Max": "max", "Min": "min", "KroneckerDelta": "delta"}


def proof_text(claims: Iterable[Claim]) -> str:
    """A proof file with some claims, letters declared at its top.

    Returns :class:`swingby.theory.proofs.reader.Proof` reads the same claims from it.
    """
    listed = list(claims)
    names, declared = names_for(listed)
    known = {claim.id: claim for claim in listed}
    writer = Writer(names, known.get)
    return "\n\n".join(["\n".join(declared), *(writer.line(claim) for claim in listed)]) + "\n"


@dataclass(frozen=True)
class Writer:
    """How letters are written, and the earlier line with an id, or None."""

    names: Mapping[Any, str]
    cited: Callable[[str], Claim | None] = lambda _: None

    def line(self, claim: Claim) -> str:
        """A claim with its repairs."""
        rows = [f"{claim.kind} {claim.id}: {claim.about}"]
        if len(rows[0]) > _WIDTH:
            rows = [f"{claim.kind} {claim.id}:", *_prose("about", claim.about, 2)]
        start = Claim(claim.id, claim.kind, claim.about, None)
        return "\n".join([*rows, *self._fields(claim, start, 2)])

    def _fields(self, claim: Claim, above: Claim, indent: int) -> Iterator[str]:
        """What a claim says that the one above it, of which it is the repair, does not."""
        if claim.about != above.about:
            yield from _prose("about", claim.about, indent)
        if claim.reference != above.reference:
            yield from _prose("place", claim.reference, indent)
        flags = [
            word
            for word, (name, value) in reader.FLAGS.items()
            if getattr(claim, name, None) == value != getattr(above, name)
        ]
        if above.conclusion is None and isinstance(claim.conclusion, AlongTrajectory):
            flags.append("every trajectory")
        if flags:
            yield from _prose("for", ", ".join(flags), indent)
        if claim.given != above.given:
            yield from _listed("given", list(self._hypotheses(claim.given)) or ["nothing"], indent)
        if claim.where != above.where:
            pairs = [f"{self.text(left)} = {self.text(right)}" for left, right in claim.where]
            yield from _listed("where", pairs or ["nothing"], indent)
        if claim.conclusion != above.conclusion:
            yield from self._concluded(claim.conclusion, above.conclusion, indent)
        if claim.reading:
            yield from _prose("reading", claim.reading, indent)
        if claim.flaw:
            flaw = claim.flaw
            text = f"{flaw.breaks}, {flaw.severity}: {flaw.explanation}"
            yield from _prose("flaw", text, indent)
        if claim.repair:
            yield " " * indent + "repair"
            yield from self._fields(claim.repair, claim.but(), indent + 2)

    def _hypotheses(self, given: tuple[Given, ...]) -> Iterator[str]:
        """Hypotheses as lines: earlier lines in brackets, relations with their source."""
        while given:
            claim = self.cited(given[0].source)
            for one, words in ((claim, ""), (claim and claim.repair, " repaired")):
                cite = () if one is None else one.cite() or (Given(one.conclusion, one.id),)
                if one is not None and given[: len(cite)] == cite:
                    yield f"({one.id}){words}"
                    given = given[len(cite) :]
                    break
            else:
                relation, source = given[0].relation, given[0].source
                basic = isinstance(relation, sympy.Basic)
                for text in [self.chain([relation])] if basic else self.algebra(relation):
                    yield f"{text}  [{source}]"
                given = given[1:]

    def _concluded(self, conclusion: Any, above: Any, indent: int) -> Iterator[str]:
        if isinstance(conclusion, AlongTrajectory):
            if above is None or conclusion.relation != above.relation:
                yield from _listed("then", self._relations(conclusion.relation), indent)
            for word, name in (("when", "when"), ("while", "during")):
                listed = getattr(conclusion, name)
                if listed != (getattr(above, name) if above else ()):
                    yield from _listed(word, [self.chain(listed)], indent)
            if conclusion.until != (above.until if above else None):
                yield from _listed("until", [self.text(conclusion.until)], indent)
        elif isinstance(conclusion, conclusions.ByHand):
            yield from _prose("then", f"by hand: {conclusion.text}", indent)
            yield from _prose("because", conclusion.why, indent)
            if conclusion.test:
                yield from _prose("test", conclusion.test, indent)
        else:
            basic = isinstance(conclusion, sympy.Basic)
            rows = self._relations(conclusion) if basic else list(self.algebra(conclusion))
            yield from _listed("then", rows, indent)

    def _relations(self, relation: Any) -> list[str]:
        several = relation.args if isinstance(relation, sympy.Tuple) else (relation,)
        text = self.chain(several)
        return [text] if len(text) < 80 else [self.chain([one]) for one in several]

    def chain(self, relations: Sequence[Any]) -> str:
        """Relations with commas; those that share a side as a chain."""
        text, last = "", None
        for relation in relations:
            if not isinstance(relation, sympy.core.relational.Relational):
                raise TypeError(f"no hypothesis of a proof file: {relation}")
            sign = {"==": "="}.get(relation.rel_op, relation.rel_op)
            head = "" if last == relation.lhs else (", " if text else "") + self.text(relation.lhs)
            text += f"{head} {sign} {self.text(relation.rhs)}"
            last = relation.rhs
        return text

    def algebra(self, conclusion: Any) -> Iterator[str]:
        """The lines of a conclusion that is no relation."""
        t = self.text
        if isinstance(conclusion, conclusions.Both):
            for part in conclusion.parts:
                yield from self.algebra(part)
        elif isinstance(conclusion, conclusions.InDimensions):
            flow = isinstance(conclusion, conclusions.FlowIdentity)
            head, sign = ("flow", "->") if flow else ("formula", "=")
            for dimension, left, right in conclusion.cases:
                inner = self._in_flow(dimension)
                where = f", d = {dimension}" * (dimension > 1)
                yield f"{head}{where}: {inner.text(left)} {sign} {inner.text(right)}"
        elif isinstance(conclusion, conclusions.GradientIdentity):
            head = f"gradient in {t(conclusion.variable)}"
            yield f"{head}: {t(conclusion.loss)} -> {t(conclusion.gradient)}"
        elif isinstance(conclusion, conclusions.FlowSolution):
            equation = (*conclusion.rate, conclusion.start, conclusion.time)
            yield f"solution: {t(conclusion.solution)} -> {', '.join(map(t, equation))}"
            for label, pairs in conclusion.cases:
                yield f"case {label}: {', '.join(f'{t(a)} = {t(b)}' for a, b in pairs)}"
        elif isinstance(conclusion, conclusions.LossOrder):
            yield f"loss order: {conclusion.jacobian}"
        elif isinstance(conclusion, conclusions.OnInterval):
            ends = f"[{conclusion.low}, {conclusion.high}]"
            yield f"{t(conclusion.letter)} in {ends}: {self.chain([conclusion.relation])}"
        else:
            trace = getattr(conclusion, "trace", False)
            sides = (one.name for one in fields(conclusion) if one.name != "trace")
            first, *rest = (t(getattr(conclusion, name)) for name in sides)
            word = "trace" if trace else conclusion.WORD
            yield f"{word}: {first} {conclusion.SIGN} {', '.join(rest)}"

    def _in_flow(self, dimension: int) -> Writer:
        letters = {letter: name for name, letter in flow_letters(dimension).items()}
        known = {one: name for one, name in self.names.items() if name not in letters.values()}
        return Writer({**known, **letters})

    def text(self, expression: Any) -> str:
        """An expression such that reading it gives the same: in the paper's order, if that does."""
        expression = sympy.sympify(expression)
        known = {latin(name): one for one, name in self.names.items()}
        renamed = {
            one: sympy.Symbol(name, **one.assumptions0)
            for one, name in self.names.items()
            if isinstance(one, sympy.Symbol) and one.name != name and one.is_commutative
        }
        for printer in (formula, _Printer(self.names).doprint):
            shown = expression.xreplace(renamed) if printer is formula else expression
            text = printer(shown).translate(_PLAIN)
            try:
                (found,) = values(Piece("", 1, 1, text), known)
            except ValueError:
                continue
            if found == expression:
                return text
        raise ValueError(f"no text for {expression}: {text}")


class _Printer(StrPrinter):  # type: ignore[misc]
    """As sympy writes it, in the names of a file; what it would evaluate stands as written."""

    def __init__(self, names: Mapping[Any, str]) -> None:
        super().__init__()
        self._names = names

    def _print(self, expr: Any, **kwargs: Any) -> str:
        if isinstance(expr, sympy.Basic) and expr in self._names:
            return greek(self._names[expr])
        text = str(super()._print(expr, **kwargs))
        kept = isinstance(expr, sympy.Add | sympy.Indexed | sympy.Sum | sympy.Tuple)
        if not isinstance(expr, sympy.Expr) or kept or not expr.args:
            return text
        return text if expr.func(*expr.args) == expr else f"as_written({text})"

    def _print_Function(self, expr: Any) -> str:
        name = expr.func.__name__
        name = self._names.get(expr.func, _CALLS.get(name, name))
        if name not in FUNCTIONS and expr.func not in self._names:
            raise ValueError(f"no text for {name}")
        return f"{name}({', '.join(map(self._print, expr.args))})"

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        level = PRECEDENCE["Pow"]
        return "^".join(self.parenthesize(part, level) for part in expr.args)

    _print_Abs = _print_LatticeOp = _print_Max = _print_Min = _print_Function
    _print_KroneckerDelta = _print_Function

    def _print_Indexed(self, expr: Any) -> str:
        return f"{self._names[expr.base]}[{', '.join(map(self._print, expr.indices))}]"

    def _print_Sum(self, expr: Any) -> str:
        return f"sum({', '.join(map(self._print, (expr.function, *expr.limits[0])))})"


def names_for(claims: Iterable[Claim]) -> tuple[dict[Any, str], list[str]]:
    """How each letter of some claims is written, and the lines that declare them."""
    used = sorted(set(_letters(list(claims))), key=lambda one: (str(one), sympy.srepr(one)))
    names: dict[Any, str] = {}
    by_traits: dict[str, list[str]] = {}
    algebraic = any(not isinstance(one, sympy.Symbol) or not one.is_commutative for one in used)
    if algebraic:
        names |= {one: name for name, one in reader.matrix_letters().items()}
    for one in used:
        if one in names or not isinstance(one, sympy.Symbol):
            continue
        name = one.name
        if not is_letter(name) or "^" in name:
            name = re.sub("[^A-Za-zα-ω0-9]+", "_", name).strip("_")
            name = name if name[:1].isalpha() else f"n_{name}"
        while name in names.values() or name in FUNCTIONS:
            name += "'"
        names[one] = name
        shown = greek(name) if name == one.name else f'{greek(name)} = "{one.name}"'
        by_traits.setdefault(_traits(one), []).append(shown)
    rows = ["use matrices"] if algebraic else []
    for traits, letters in by_traits.items():
        text = f"letters {traits}: {', '.join(letters)}"
        rows += textwrap.wrap(text, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    return names, rows


def _traits(letter: Any) -> str:
    """What a file says of a letter."""
    if not letter.is_commutative:
        return "noncommutative"
    said = letter._assumptions_orig
    kinds = ("integer", "positive", "nonnegative", "real")
    return " ".join(kind for kind in kinds if said.get(kind)) or "complex"


def _letters(part: Any) -> Iterator[Any]:
    if isinstance(part, sympy.Basic):
        steps = sympy.preorder_traversal(part)
        for one in steps:
            if isinstance(one, sympy.Symbol | sympy.IndexedBase):
                steps.skip()
                yield one
            elif isinstance(one, sympy.core.function.AppliedUndef):
                yield one.func
    elif isinstance(part, tuple | list):
        for one in part:
            yield from _letters(one)
    elif isinstance(part, conclusions.InDimensions):
        for dimension, *both in part.cases:
            flow = set(flow_letters(dimension).values())
            yield from (one for one in _letters(both) if one not in flow)
    elif is_dataclass(part):
        for one in fields(part):
            yield from _letters(getattr(part, one.name))


def _prose(keyword: str, text: str, indent: int) -> list[str]:
    return textwrap.wrap(
        f"{keyword} {text}".strip(),
        _WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 4),
        break_on_hyphens=False,
        break_long_words=False,
    )


def _listed(keyword: str, rows: Sequence[str], indent: int) -> list[str]:
    """A field: its parts below each other."""
    inner = indent + len(keyword) + 1
    found = [line for row in rows for line in _prose("", row, inner)]
    return [" " * indent + keyword + found[0][indent + len(keyword) :], *found[1:]]
