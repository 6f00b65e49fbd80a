"""The writer of proof files: read again, its text gives the same claims."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from string import Template
from typing import Any

import sympy
from sympy.printing.precedence import PRECEDENCE
from sympy.printing.str import StrPrinter

from swingby.proofs.language import (
    conclusions,
    matrices,
    reader,
    repaired_conclusions,
    shapes,
    vectors,
)
from swingby.proofs.language.claim import AllTimes, AlongTrajectory, ByCases, Claim, Given
from swingby.proofs.language.formula_parser import (
    FUNCTIONS,
    Piece,
    flow_letters,
    is_letter,
    latin,
    values,
)
from swingby.proofs.language.formula_printer import greek
from swingby.proofs.language.sums import FiniteSum, ForEach, body, sequence_of

_WIDTH = 100
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_CALLS = {"Abs": "abs", "Max": "max", "Min": "min", "KroneckerDelta": "delta"}


def proof_text(claims: Iterable[Claim]) -> str:
    """A proof file with some claims, letters declared at its top.

    Returns :class:`swingby.proofs.language.reader.Proof` reads the same claims from it.
    """
    listed = list(claims)
    names, declared = _names_for(listed)
    writer = _Writer(names, {claim.id: claim for claim in listed})
    return "\n\n".join(["\n".join(declared), *map(writer.line, listed)]) + "\n"


@dataclass(frozen=True)
class _Writer:
    """How letters are written, and the lines that may be cited, by id."""

    names: Mapping[Any, str]
    lines_by_id: Mapping[str, Claim]

    def line(self, claim: Claim) -> str:
        """A claim with its repairs."""
        rows = [f"{claim.kind} {claim.id}: {claim.about}"]
        if len(rows[0]) > _WIDTH:
            rows = [f"{claim.kind} {claim.id}:", *_field("about", [claim.about], 2)]
        above, indent = Claim(claim.id, claim.kind, claim.about, None), 2
        for version in claim:
            for keyword, texts in self._fields(version, above):
                rows += _field(keyword, texts, indent)
            if version.repair:
                rows.append(" " * indent + "repair")
            above, indent = version.but(), indent + 2
        return "\n".join(rows)

    def _fields(self, claim: Claim, above: Claim) -> Iterator[tuple[str, list[str]]]:
        """The fields in which a claim differs from the claim that it repairs."""
        if claim.about != above.about:
            yield "about", [claim.about]
        if claim.reference != above.reference:
            yield "place", [claim.reference]
        flags = [
            word
            for word, (name, value) in reader.FLAGS.items()
            if getattr(claim, name, None) == value != getattr(above, name)
        ]
        if above.conclusion is None and isinstance(claim.conclusion, AlongTrajectory):
            flags.append("every trajectory")
        if above.conclusion is None and isinstance(claim.conclusion, AllTimes):
            flags.append("all t")
        if flags:
            yield "for", [", ".join(flags)]
        written, before = (
            [given for given in version.given if given.source != vectors.GRAM]
            for version in (claim, above)
        )
        if written != before:
            yield "given", list(map(self._hypothesis, written)) or ["nothing"]
        if claim.where != above.where:
            pairs = [f"{self.text(letter)} = {self.text(value)}" for letter, value in claim.where]
            yield "where", pairs or ["nothing"]
        if claim.conclusion != above.conclusion:
            yield from self._concluded(claim.conclusion)
        if claim.quoted_as != above.quoted_as:
            yield "quoted as", list(map(self.relation, claim.quoted_as))
        if claim.reading:
            yield "reading", [claim.reading]
        if claim.flaw:
            flaw = claim.flaw
            yield "flaw", [f"{flaw.breaks}, {flaw.severity}: {flaw.explanation}"]

    def _hypothesis(self, given: Given) -> str:
        """A relation with its source; an identity of an earlier line by its id, in brackets."""
        relation, claim = given.relation, self.lines_by_id.get(given.source)
        if isinstance(body(relation), sympy.Basic):
            pairs = ", ".join(f"{self.text(x)} = {self.text(value)}" for x, value in given.instance)
            text = self.relation(body(relation))
            if isinstance(relation, ForEach):
                ends = map(self.text, (relation.index, relation.low, relation.high))
                text += " for {} from {} to {}".format(*ends)
            return f"{text}  [{given.source}{' with ' * bool(pairs)}{pairs}]"
        for version, words in ((claim, ""), (claim and claim.repair, " repaired")):
            if version is not None and version.conclusion == relation:
                return f"({version.id}){words}"
        (text,) = self.algebra(relation)
        return f"{text}  [{given.source}]"

    def _concluded(self, conclusion: Any) -> Iterator[tuple[str, list[str]]]:
        if isinstance(conclusion, repaired_conclusions.ByHand):
            fields = vars(conclusion)
            yield "then", [f"{'read' if 'needs' in fields else 'by hand'}: {conclusion.text}"]
            words = {"because": "why", "needs": "needs", "test": "test"}
            yield from ((word, [x]) for word, name in words.items() if (x := fields.get(name)))
        elif isinstance(conclusion, AllTimes):
            bases = ", ".join(f"({x})" for x in (conclusion.base, conclusion.second) if x)
            yield from (("base", [bases]),) if bases else ()
            yield from (("step", [f"({conclusion.step})"]),) if conclusion.step else ()
            yield "then", self._relations(conclusion.relation)
        elif isinstance(conclusion, ByCases):
            yield "cases", [", ".join(f"({x})" for x in conclusion.lines)]
            yield "then", self._relations(conclusion.relation)
        elif not isinstance(conclusion, AlongTrajectory):
            yield "then", self._relations(conclusion)
        else:
            yield "then", self._relations(conclusion.relation)
            for word, listed in (("when", conclusion.when), ("while", conclusion.during)):
                if listed:
                    yield word, list(map(self.relation, listed))
            if conclusion.until is not None:
                yield "until", [self.text(conclusion.until)]

    def _relations(self, conclusion: Any) -> list[str]:
        if not isinstance(conclusion, sympy.Basic):
            return list(self.algebra(conclusion))
        several = conclusion.args if isinstance(conclusion, sympy.Tuple) else (conclusion,)
        return list(map(self.relation, several))

    def relation(self, relation: Any) -> str:
        """Two sides with their sign."""
        if not isinstance(relation, sympy.core.relational.Relational):
            raise TypeError(f"no hypothesis of a proof file: {relation}")
        sign = {"==": "="}.get(relation.rel_op, relation.rel_op)
        return f"{self.text(relation.lhs)} {sign} {self.text(relation.rhs)}"

    def algebra(self, conclusion: Any) -> Iterator[str]:
        """The lines of a conclusion that is no relation."""
        if isinstance(conclusion, conclusions.Both):
            for statement in conclusion.parts:
                yield from self.algebra(statement)
        elif isinstance(conclusion, repaired_conclusions.InDimensions):
            for dimension, left_side, right_side in conclusion.cases:
                inner = self._in_flow(dimension)
                where = f", d = {dimension}" * (dimension > 1)
                left_text, right_text = inner.text(left_side), inner.text(right_side)
                yield f"{conclusion.WORD}{where}: {left_text} {conclusion.SIGN} {right_text}"
        else:
            form = Template(conclusion.FORM)
            names = form.get_identifiers()
            yield form.substitute({name: self._part(getattr(conclusion, name)) for name in names})
            for label, pairs in getattr(conclusion, "cases", ()):
                equations = (
                    f"{self.text(left_side)} = {self.text(right_side)}"
                    for left_side, right_side in pairs
                )
                yield f"case {label}: {', '.join(equations)}"

    def _part(self, part: Any) -> str:
        """A field of a conclusion: words, a relation, a formula or several."""
        if isinstance(part, str):
            return part
        if isinstance(part, tuple):
            return ", ".join(map(self.text, part))
        return self.relation(part) if part.is_Relational else self.text(part)

    def _in_flow(self, dimension: int) -> _Writer:
        letters = {letter: name for name, letter in flow_letters(dimension).items()}
        outside = {
            letter: name for letter, name in self.names.items() if name not in letters.values()
        }
        return _Writer({**outside, **letters}, {})

    def text(self, expression: Any) -> str:
        """An expression such that reading it gives the same; ValueError if there is none."""
        expression = sympy.sympify(expression)
        text = str(_Printer(self.names).doprint(expression))
        names: dict[str, Any] = {latin(x): letter for letter, x in self.names.items()}
        names |= {f"{each.stem}(": each for each in filter(None, map(sequence_of, self.names))}
        (reread,) = values(Piece("", 1, 1, text), names)
        if vectors.in_numbers(reread) != expression:
            raise ValueError(f"no text for {expression}: {text}")
        return text


class _Printer(StrPrinter):  # type: ignore[misc]
    """As sympy writes it, in the names of a file; what it would evaluate stands as written."""

    def __init__(self, names: Mapping[Any, str]) -> None:
        super().__init__()
        self._names = names

    def _print(self, expr: Any, **kwargs: Any) -> str:
        if isinstance(expr, sympy.Basic) and expr in self._names:
            return greek(self._names[expr])
        text = str(super()._print(expr, **kwargs))
        never_marked = isinstance(expr, sympy.Add | sympy.Indexed | sympy.Sum | FiniteSum)
        never_marked = never_marked or isinstance(expr, sympy.Tuple)
        if not isinstance(expr, sympy.Expr) or never_marked or not expr.args:
            return text
        return text if expr.func(*expr.args) == expr else f"as_written({text})"

    def _print_Function(self, expr: Any) -> str:
        name = expr.func.__name__
        name = self._names.get(expr.func, _CALLS.get(name, name))
        if name not in FUNCTIONS and expr.func not in self._names:
            raise ValueError(f"no text for {name}")
        return f"{name}({', '.join(map(self._print, expr.args))})"

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        base, exponent = expr.args
        text = str(self.parenthesize(base, PRECEDENCE["Pow"]))
        text = f"({text})" if isinstance(base, shapes.Transposed | shapes.Inverted) else text
        if exponent.is_Integer and exponent > 0:
            return text + str(exponent).translate(_RAISED)
        return f"{text}^({self._print(exponent)})"

    def _print_Transposed(self, expr: Any) -> str:
        return f"{self.parenthesize(expr.args[0], PRECEDENCE['Pow'])}^T"

    def _print_Inverted(self, expr: Any) -> str:
        return f"{self._print(expr.args[0])}^-1"

    def _print_Traced(self, expr: Any) -> str:
        return f"trace({self._print(expr.args[0])})"

    def _print_Blocks(self, expr: Any) -> str:
        return f"block({', '.join(map(self._print, expr.args))})"

    _print_Abs = _print_LatticeOp = _print_Max = _print_Min = _print_Function
    _print_KroneckerDelta = _print_Function

    def _print_Indexed(self, expr: Any) -> str:
        return f"{self._names[expr.base]}[{', '.join(map(self._print, expr.indices))}]"

    def _print_FiniteSum(self, expr: Any) -> str:
        return f"sum({', '.join(map(self._print, expr.args))})"

    def _print_Sum(self, expr: Any) -> str:
        return f"sum({', '.join(map(self._print, (expr.function, *expr.limits[0])))})"


def _names_for(claims: Iterable[Claim]) -> tuple[dict[Any, str], list[str]]:
    """How each letter of some claims is written, and the lines that declare them."""
    used = sorted(
        set(_letters(list(claims))), key=lambda letter: (str(letter), sympy.srepr(letter))
    )
    own_shapes = any(isinstance(letter, shapes.Matrix) for letter in used)
    names: dict[Any, str] = {matrices.I: "I"} if own_shapes else {}
    by_traits: dict[str, dict[str, None]] = {}
    counted = next((x for x in used if isinstance(x, sympy.Symbol) and x.is_integer), None)
    rows = []
    if any(
        not isinstance(letter, sympy.Symbol)
        or not (letter.is_commutative or isinstance(letter, vectors.Vector | shapes.Matrix))
        for letter in used
        if not (own_shapes and letter == matrices.I)
    ):
        names |= {letter: name for name, letter in reader.matrix_letters().items()}
        rows.append("use matrices")
    for letter in list(used):
        pair = vectors.factors(letter)
        names |= {letter: _product_text(letter)} if pair else {}
        used += [vector for vector in dict.fromkeys(pair) if vector not in used]
    for letter in used:
        if letter in names or not isinstance(letter, sympy.Symbol):
            continue
        sequence = sequence_of(letter)
        if sequence is not None and not is_letter(letter.name):
            names[letter], declared = letter.name, f"{sequence.stem}({counted})"
            by_traits.setdefault(_traits(letter), {})[declared] = None
            continue
        name = (
            letter.name if is_letter(letter.name) and "^" not in letter.name else f"n_{len(names)}"
        )
        while name in names.values() or name in FUNCTIONS:
            name += "'"
        names[letter] = name
        written = greek(name) if name == letter.name else f'{greek(name)} = "{letter.name}"'
        if isinstance(letter, shapes.Matrix):
            written = f"{greek(name)} is {greek(letter.rows)} x {greek(letter.columns)}"
        by_traits.setdefault(_traits(letter), {})[written] = None
    # What counts comes before the sequences that it counts.
    traits_in_order = sorted(by_traits, key=lambda traits: "integer" not in traits)
    rows += [f"letters {traits}: {', '.join(by_traits[traits])}" for traits in traits_in_order]
    return names, rows


def _product_text(letter: Any) -> str:
    """An inner product or a squared norm, as it is read."""
    left, right = map(str, vectors.factors(letter))
    return f"|{left}|²" if left == right else f"dot({left}, {right})"


def _traits(letter: Any) -> str:
    """The traits of a letter, in the words of a proof file."""
    if isinstance(letter, vectors.Vector):
        return "vector"
    if isinstance(letter, shapes.Matrix):
        words = {trait: word for word, trait in shapes.TRAITS.items()}
        return f"{words[letter.trait]} matrix".strip()
    if not letter.is_commutative:
        return "noncommutative"
    traits = letter._assumptions_orig
    kinds = ("integer", "positive", "nonnegative", "real")
    return " ".join(kind for kind in kinds if traits.get(kind)) or "complex"


def _letters(source: Any) -> Iterator[Any]:
    if isinstance(source, sympy.Basic):
        steps = sympy.preorder_traversal(source)
        for node in steps:
            if isinstance(node, sympy.Symbol | sympy.IndexedBase):
                steps.skip()
                yield node
            elif isinstance(node, sympy.core.function.AppliedUndef):
                yield node.func
    elif isinstance(source, tuple | list):
        for element in source:
            yield from _letters(element)
    elif isinstance(source, repaired_conclusions.InDimensions):
        for dimension, *both in source.cases:
            flow = set(flow_letters(dimension).values())
            yield from (letter for letter in _letters(both) if letter not in flow)
    elif is_dataclass(source):
        for field in fields(source):
            yield from _letters(getattr(source, field.name))


def _field(keyword: str, texts: list[str], indent: int) -> list[str]:
    """A field: its parts below each other, what is long on several lines."""
    inner = " " * (indent + len(keyword) + 1)
    layout: dict[str, Any] = {"initial_indent": inner, "subsequent_indent": inner + "    "}
    layout |= {"break_on_hyphens": False, "break_long_words": False}
    lines = [line for text in texts for line in textwrap.wrap(text, _WIDTH, **layout)]
    return [" " * indent + keyword + lines[0][len(inner) - 1 :], *lines[1:]]
