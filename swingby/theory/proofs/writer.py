"""Claims written as a proof file; read again, they are the same claims."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import sympy

from swingby.theory.claim import AlongTrajectory, Claim, Given, MatrixIdentity
from swingby.theory.derivations import conclusions
from swingby.theory.derivations import conclusions as plain
from swingby.theory.formula import formula, greek
from swingby.theory.proofs import reader
from swingby.theory.proofs.formulas import FUNCTIONS, TWO_SIDES, Piece, flow_letters, latin, values

_NAME = re.compile(r"[^\W\d]\w*'*(\((0|t|t\+1|t_0)\))?")
_PLAIN = str.maketrans({"≤": "<=", "≥": ">=", "−": "-"})
_WIDTH = 100
_SUM, _PRODUCT, _POWER = range(3)
_CALLS = {"Abs": "abs", "Max": "max", "Min": "min", "KroneckerDelta": "delta"}


@dataclass(frozen=True)
class Writer:
    """How letters, hypotheses and earlier lines are written.

    `names`: how each letter is written. `groups`: hypotheses with a name. `cited`: the earlier line
    with an id, or None. `defaults`: what the file says of every line.
    """

    names: Mapping[Any, str]
    groups: Mapping[str, tuple[Given, ...]] = field(default_factory=dict)
    cited: Callable[[str], Claim | None] = lambda _: None
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def line(self, claim: Claim) -> str:
        """A claim with its repairs."""
        head = f"{claim.kind} {claim.id}: {claim.about}"
        rows = textwrap.wrap(head, _WIDTH, subsequent_indent=" " * 6)
        rows[1:] = []
        if len(head) > _WIDTH:
            rows = [f"{claim.kind} {claim.id}:", *_prose("about", claim.about, 2)]
        return "\n".join([*rows, *self._fields(claim, None, 2)])

    def _fields(self, claim: Claim, above: Claim | None, indent: int) -> Iterator[str]:
        if above is not None and claim.about != above.about:
            yield from _prose("about", claim.about, indent)
        yield from self._place(claim, above, indent)
        if flags := self._flags(claim, above):
            yield from _prose("for", ", ".join(flags), indent)
        yield from self._given(claim, above, indent)
        if claim.where != (above.where if above else ()):
            pairs = [f"{self.text(left)} = {self.text(right)}" for left, right in claim.where]
            yield from _listed("where", pairs or ["nothing"], indent)
        yield from self._concluded(claim.conclusion, above and above.conclusion, indent)
        if claim.reading:
            yield from _prose("reading", claim.reading, indent)
        if claim.flaw:
            flaw = claim.flaw
            text = f"{flaw.breaks}, {flaw.severity}: {flaw.explanation}"
            yield from _prose("flaw", text, indent)
        if claim.repair:
            yield " " * indent + "repair"
            yield from self._fields(claim.repair, claim, indent + 2)

    def _place(self, claim: Claim, above: Claim | None, indent: int) -> Iterator[str]:
        bracket = re.search(r"\[.*\]", claim.id)
        usual = self.defaults.get("reference", "").replace("%", bracket[0] if bracket else "")
        if claim.reference != (above.reference if above else usual.strip()):
            yield from _prose("place", claim.reference, indent)

    def _flags(self, claim: Claim, above: Claim | None) -> list[str]:
        usual = {"indices": "any", "edition": "printed", "in_force": False, "quantifier": "for all"}
        usual |= {name: value for name, value in self.defaults.items() if name in usual}
        if above is not None:
            usual = {name: getattr(above, name) for name in usual} | {"edition": "corrected"}
        found = [
            word
            for word, (name, value) in reader.FLAGS.items()
            if name in usual and getattr(claim, name) == value != usual[name]
        ]
        if above is None and isinstance(claim.conclusion, AlongTrajectory):
            found.append("every trajectory")
        return found

    def _given(self, claim: Claim, above: Claim | None, indent: int) -> Iterator[str]:
        before = above.given if above else ()
        if claim.given == before:
            return
        if before and claim.given[: len(before)] == before:
            yield from _listed("also given", self.hypotheses(claim.given[len(before) :]), indent)
        else:
            yield from _listed("given", self.hypotheses(claim.given) or ["nothing"], indent)

    def hypotheses(self, given: tuple[Given, ...]) -> list[str]:
        """Hypotheses as lines: groups, earlier lines, relations by their source."""
        rows: list[str] = []
        short: list[str] = []
        while given:
            name, used = self._named(given)
            if name:
                short.append(name)
                given = given[used:]
                continue
            source = given[0].source
            several = [given[0]]
            while len(several) < len(given) and given[len(several)].source == source:
                if self._named(given[len(several) :])[0]:
                    break
                several.append(given[len(several)])
            if short:
                rows, short = [*rows, "; ".join(short)], []
            for text in self._sourced([one.relation for one in several]):
                rows.append(f"{text}  [{source}]")
            given = given[len(several) :]
        return [*rows, "; ".join(short)] if short else rows

    def _sourced(self, relations: Sequence[Any]) -> Iterator[str]:
        plain = [one for one in relations if isinstance(one, sympy.Basic)]
        if plain:
            yield self.chain(plain)
        for one in relations[len(plain) :]:
            yield from self.algebra(one)

    def _named(self, given: tuple[Given, ...]) -> tuple[str, int]:
        fits = [
            (len(group), name)
            for name, group in self.groups.items()
            if group and given[: len(group)] == group
        ]
        if fits:
            size, name = max(fits)
            return name, size
        claim = self.cited(given[0].source)
        for one, words in ((claim, ""), (claim and claim.repair, " repaired")):
            if one is None:
                continue
            cite = one.cite() if one.conditions else (Given(one.conclusion, one.id),)
            if given[: len(cite)] == cite:
                return f"({one.id}){words}", len(cite)
        return "", 0

    def _concluded(self, conclusion: Any, above: Any, indent: int) -> Iterator[str]:
        if conclusion == above:
            return
        if isinstance(conclusion, AlongTrajectory):
            if above is None or conclusion.relation != above.relation:
                yield from _listed("then", self._relations(conclusion.relation), indent)
            for word, name in (("when", "when"), ("while", "during")):
                listed = getattr(conclusion, name)
                if listed != (getattr(above, name) if above else ()):
                    yield from _listed(word, [self.chain(listed)], indent)
            if conclusion.until != (above.until if above else None):
                yield from _listed("until", [self.text(conclusion.until)], indent)
            return
        if isinstance(conclusion, conclusions.ByHand):
            yield from _prose("then", f"by hand: {conclusion.text}", indent)
            yield from _prose("because", conclusion.why, indent)
            if conclusion.test:
                yield from _prose("test", conclusion.test, indent)
            return
        relations = isinstance(conclusion, sympy.Basic)
        rows = self._relations(conclusion) if relations else list(self.algebra(conclusion))
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
        if isinstance(conclusion, plain.Both):
            for part in conclusion.parts:
                yield from self.algebra(part)
        elif isinstance(conclusion, conclusions.FlowIdentity | conclusions.EntryFormula):
            flow = isinstance(conclusion, conclusions.FlowIdentity)
            for dimension, left, right in conclusion.cases:
                inner = self._in_flow(dimension)
                head = ("flow" if flow else "formula") + f", d = {dimension}" * (dimension > 1)
                yield f"{head}: {inner.text(left)} {'->' if flow else '='} {inner.text(right)}"
        elif isinstance(conclusion, plain.GradientIdentity):
            head = f"gradient in {t(conclusion.variable)}"
            yield f"{head}: {t(conclusion.loss)} -> {t(conclusion.gradient)}"
        elif isinstance(conclusion, plain.FlowSolution):
            equation = (*conclusion.rate, conclusion.start, conclusion.time)
            yield f"solution: {t(conclusion.solution)} -> {', '.join(map(t, equation))}"
            for label, pairs in conclusion.cases:
                yield f"case {label}: {', '.join(f'{t(a)} = {t(b)}' for a, b in pairs)}"
        elif isinstance(conclusion, plain.LossOrder):
            yield f"loss order: {conclusion.jacobian}"
        elif isinstance(conclusion, conclusions.OnInterval):
            ends = f"[{conclusion.low}, {conclusion.high}]"
            yield f"{t(conclusion.letter)} in {ends}: {self.chain([conclusion.relation])}"
        elif isinstance(conclusion, plain.SameDistribution | plain.EmpiricalLimit):
            head = "law" if isinstance(conclusion, plain.SameDistribution) else "average"
            first, *rest = (t(getattr(conclusion, one.name)) for one in fields(conclusion))
            yield f"{head}: {first} -> {', '.join(rest)}"
        else:
            word = next(word for word, make in TWO_SIDES.items() if make is type(conclusion))
            if isinstance(conclusion, MatrixIdentity) and conclusion.trace:
                word = "trace"
            yield f"{word}: {t(conclusion.left)} = {t(conclusion.right)}"

    def _in_flow(self, dimension: int) -> Writer:
        if dimension == 1:
            return self
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
        text = ""
        for paper in (True, False):
            shown = formula(expression.xreplace(renamed)) if paper else self._show(expression, 0)
            text = shown.translate(_PLAIN)
            try:
                (found,) = values(Piece("", 1, 1, text), known)
            except ValueError:
                continue
            if sympy.srepr(found) == sympy.srepr(expression):
                return text
        raise ValueError(f"no text for {expression}: {text}")

    def _show(self, e: Any, level: int) -> str:
        if e in self.names:
            return greek(self.names[e])
        if e.args and e.func not in (sympy.Indexed, sympy.Sum) and e.func(*e.args) != e:
            inner = self._operation(e, _SUM)
            return inner if e.is_Add else f"as_written({inner})"
        return self._operation(e, level)

    def _operation(self, e: Any, level: int) -> str:
        if e.is_Add:
            text = ""
            for term in e.args if not e.is_commutative else e.as_ordered_terms():
                minus = term.could_extract_minus_sign() and not term.is_Add
                body = self._show(-term if minus else term, _PRODUCT)
                text += (" - " if minus else " + ") + body if text else "-" * minus + body
            return f"({text})" if level > _SUM else text
        if e.is_Rational:
            text = str(e)
            return f"({text})" if (e < 0 and level > _SUM) or (e.q > 1 and level > 1) else text
        if e.is_Mul:
            text = self._product(e)
            return f"({text})" if level > _PRODUCT or (text[0] == "-" and level) else text
        if e.is_Pow:
            if e.exp == -1:
                text = f"1/{self._show(e.base, _POWER)}"
                return f"({text})" if level > _PRODUCT else text
            base = self._show(e.base, _POWER)
            base = f"({base})" if e.base.is_Pow and base[0] != "(" else base
            text = f"{base}^{self._show(e.exp, _POWER)}"
            return f"({text})" if level > _PRODUCT else text
        if isinstance(e, sympy.Indexed):
            inner = ", ".join(self._show(index, _SUM) for index in e.indices)
            return f"{self.names[e.base]}[{inner}]"
        if isinstance(e, sympy.Sum):
            listed = ", ".join(self._show(part, _SUM) for part in (e.function, *e.limits[0]))
            return f"sum({listed})"
        name = e.func.__name__
        name = _CALLS.get(name, name)
        if name not in FUNCTIONS and e.func not in self.names:
            raise ValueError(f"no text for {name}")
        return f"{name}({', '.join(self._show(part, _SUM) for part in e.args)})"

    def _product(self, e: Any) -> str:
        sign, top, below = "", [], []
        for factor in e.args:
            power, exponent = factor.as_base_exp() if factor.is_Pow else (factor, 1)
            if factor.is_Rational:
                sign = "-" if factor < 0 else ""
                top += [str(abs(factor.p))] * (abs(factor.p) != 1)
                below += [str(factor.q)] * (factor.q != 1)
            elif exponent.is_Rational if hasattr(exponent, "is_Rational") else False:
                if exponent < 0 and factor.is_commutative:
                    below.append(self._show(sympy.Pow(power, -exponent), _POWER))
                else:
                    top.append(self._show(factor, _PRODUCT))
            else:
                top.append(
                    self._show(factor, _POWER if factor.is_Mul else _PRODUCT + factor.is_Add)
                )
        text = sign + (" ".join(top) or "1")
        if below:
            text += "/" + (below[0] if len(below) == 1 else f"({' '.join(below)})")
        return text


def proof_text(claims: Iterable[Claim]) -> str:
    """A proof file with some claims, letters declared at its top.

    Returns :class:`swingby.theory.proofs.reader.Proof` reads the same claims from it.
    """
    listed = list(claims)
    names, declared = names_for(listed)
    known = {claim.id: claim for claim in listed}
    writer = Writer(names, cited=known.get)
    return "\n\n".join(["\n".join(declared), *(writer.line(claim) for claim in listed)]) + "\n"


def names_for(claims: Iterable[Claim]) -> tuple[dict[Any, str], list[str]]:
    """How each letter of some claims is written, and the lines that declare them."""
    used = sorted(set(_letters(list(claims))), key=lambda one: (str(one), sympy.srepr(one)))
    names: dict[Any, str] = {}
    by_traits: dict[str, list[str]] = {}
    matrices = {one: name for name, one in reader._matrices().items()}
    algebraic = any(not isinstance(one, sympy.Symbol) or not one.is_commutative for one in used)
    if algebraic:
        names |= matrices
    for one in used:
        if one in names or not isinstance(one, sympy.Symbol):
            continue
        name = one.name if _NAME.fullmatch(one.name) else re.sub(r"\W+", "_", one.name).strip("_")
        name = name if name[0].isalpha() else f"n_{name}"
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
    elif isinstance(part, conclusions.FlowIdentity | conclusions.EntryFormula):
        for dimension, *both in part.cases:
            flow = set(flow_letters(dimension).values()) if dimension > 1 else set()
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
    found: list[str] = []
    inner = indent + len(keyword) + 1
    for row in rows:
        found += _prose("", row, inner)
    return [" " * indent + keyword + found[0][indent + len(keyword) :], *found[1:]]
