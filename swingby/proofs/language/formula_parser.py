"""Formulas of a proof file as sympy objects, built node by node.

``3 a_j w_ij(t)/5 - a_i w_ij(t)/5 <= -α ω/C``: a space multiplies, * and / bind as tightly and go
from left to right, ^ or a raised digit is a power, bars are absolute values. Relations are kept as
written; ``as_written(...)`` keeps the outermost operation of an expression too, which sympy would
otherwise carry out.

A conclusion that is no relation begins with a word or two and a colon: ``matrices: W A = A W``.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

import sympy
from lark import Lark, Token, UnexpectedInput

from swingby.errors import InvalidInput
from swingby.proofs.language import conclusions, repaired_conclusions, shapes
from swingby.proofs.language.definedness import carried_out, made
from swingby.proofs.language.formula_printer import GREEK
from swingby.proofs.language.means import mean
from swingby.proofs.language.sums import total
from swingby.proofs.language.vectors import InnerProduct, is_vector, norm
from swingby.theory.dynamics import symbols


def _dot(left_side: Any, right_side: Any, **_: bool) -> Any:
    """The inner product of two vectors, or of two matrices of one shape."""
    matrices = shapes.about_matrices(left_side) or shapes.about_matrices(right_side)
    return (shapes.product if matrices else InnerProduct)(left_side, right_side)


#: Functions that every proof knows.
FUNCTIONS: Mapping[str, Any] = {
    "exp": sympy.exp,
    "log": sympy.log,
    "sqrt": sympy.sqrt,
    "abs": sympy.Abs,
    "max": sympy.Max,
    "min": sympy.Min,
    "delta": sympy.KroneckerDelta,
    "sum": total,
    "dot": _dot,
    "trace": shapes.Traced,
    "block": shapes.Blocks,
    "E": mean,
}

#: Of them: those that carry nothing out; those that say themselves how many arguments they have.
_KEPT, _OF_ANY = ("sum", "dot", "E"), ("max", "min", "sum", "block")

RELATIONS: Mapping[str, Any] = {
    "<=": sympy.Le,
    ">=": sympy.Ge,
    "!=": sympy.Ne,
    "<": sympy.Lt,
    ">": sympy.Gt,
    "=": sympy.Eq,
    "≤": sympy.Le,
    "≥": sympy.Ge,
    "≠": sympy.Ne,
}

#: Of a power of numbers; a tower of them would never be finished.
_DIGITS_AT_MOST = 1000

#: Characters of a formula.
_LONGEST = 20000

_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_LATIN = str.maketrans({sign: name for name, sign in GREEK.items()})
#: The names of the terminals in error messages.
_TERMINALS = {
    "PLUS": "+ or -",
    "SIGN": "a sign of a relation",
    "NUMBER": "a number",
    "NAME": "a letter",
    "CALL": "a function",
    "RAISED": "a raised digit",
    "_INDEX": "an index",
    "$END": "",
    **dict.fromkeys(("_OPEN", "_CLOSE"), "|"),
    **{"__ANON_0": "√", "_ARROW": "->", "LPAR": "(", "RPAR": ")", "RBRACE": "}", "RSQB": "]"},
    **{"COMMA": ",", "STAR": "*", "SLASH": "/", "CIRCUMFLEX": "^"},
}


@dataclass(frozen=True)
class Piece:
    """Some text of a proof file, perhaps of several lines, and where it begins, from 1."""

    file: str
    line: int
    column: int
    text: str

    def refuse(
        self, requirement: str, value: str = "", at: tuple[int, int] = (1, 1)
    ) -> InvalidInput:
        """The error at a line and column of the piece, or at its beginning."""
        line = self.line + at[0] - 1
        column = at[1] + (self.column - 1 if at[0] == 1 else 0)
        position = f"{self.file}, line {line}, column {column}:"
        return InvalidInput(position, value or self.text, requirement)

    def cut(self, start: int, text: str) -> Piece:
        """A part of the text, at its own line and column."""
        before = self.text[:start]
        lines, last = before.count("\n"), len(before) - before.rfind("\n")
        return Piece(self.file, self.line + lines, last if lines else self.column + start, text)

    def after(self, length: int) -> Piece:
        """The text after its first signs, which stand on the first line."""
        remainder = self.text[length:]
        skipped = len(remainder) - len(remainder.lstrip())
        return Piece(self.file, self.line, self.column + length + skipped, remainder.strip())


@functools.cache
def _parser() -> Lark:
    starts = ["relations", "sums", "gives"]
    grammar = resources.files("swingby.proofs.language").joinpath("formulas.lark")
    return Lark(grammar.read_text("utf-8"), parser="lalr", start=starts, propagate_positions=True)


def _tree(piece: Piece, start: str) -> Any:
    if len(piece.text) > _LONGEST:
        raise piece.refuse(f"must be a formula of at most {_LONGEST} characters")
    try:
        return _parser().parse(piece.text, start=start)
    except UnexpectedInput as error:
        terminals = getattr(error, "accepts", None) or getattr(error, "allowed", None) or ()
        continuations = sorted({_TERMINALS.get(name, name.lower()) for name in terminals} - {""})
        at = (max(error.line, 1), max(error.column, 1))
        remainder = piece.text.splitlines()[at[0] - 1][at[1] - 1 :].strip() if piece.text else ""
        token = getattr(error, "token", None)
        if token is not None and token.type == "$END":
            remainder, at = "", (token.end_line or 1, token.end_column or 1)
        requirement = (
            f"must go on with {', '.join(continuations)}" if continuations else "must be a formula"
        )
        raise piece.refuse(requirement, remainder or "the end of the formula", at) from None


def _at(token: Any) -> tuple[int, int]:
    return token.line, token.column


def relations(piece: Piece, names: Mapping[str, Any]) -> list[Any]:
    """The relations of a text such as ``a <= b < c, d > 0``, chains taken apart, as written."""
    listed = []
    for chain in _tree(piece, "relations").children:
        if chain.data == "set":
            first = next(chain.scan_values(lambda token: True), None)
            raise piece.refuse("must be a relation: no sign such as <= stands here", at=_at(first))
        sides = [_Builder(piece, names).built(side) for side in chain.children[::2]]
        signs = (RELATIONS[sign] for sign in chain.children[1::2])
        for sign, left_side, right_side in zip(signs, sides, sides[1:], strict=False):
            listed.append(sign(left_side, right_side, evaluate=False))
            if shapes.about_matrices(listed[-1]):
                try:
                    shapes.check_sides(listed[-1])
                except ValueError as error:
                    raise piece.refuse(f"must have shapes that fit ({error})") from None
    return listed


def is_letter(text: str) -> bool:
    """Whether a text can be a letter of a formula."""
    try:
        tokens = list(_parser().parse(text, start="sums").scan_values(lambda _: True))
    except UnexpectedInput:
        return False
    return tokens == [text] and tokens[0].type == "NAME"


def values(piece: Piece, names: Mapping[str, Any], arrow: bool = False) -> list[Any]:
    """Expressions between commas; with an arrow behind the first, if asked."""
    tree = _tree(piece, "gives" if arrow else "sums")
    return [_Builder(piece, names).built(node) for node in tree.children]


_NUMERAL = re.compile(r"[\d.]+")


class _Builder:
    """Sympy objects from the nodes of the grammar; `names` say what letters stand for."""

    def __init__(self, piece: Piece, names: Mapping[str, Any]) -> None:
        self._piece = piece
        self._names = names

    def built(self, tree: Any) -> Any:
        """The expression of a whole formula; InvalidInput if it cannot be one."""
        try:
            expression = self.value(tree)
            if shapes.about_matrices(expression):
                shapes.shape(expression)
            if expression.has(sympy.I):
                reason = "it has the root or the logarithm of a negative number"
            elif expression.has(sympy.zoo, sympy.nan, sympy.oo):
                reason = "it divides by 0"
            else:
                return expression
        except InvalidInput:
            raise
        except RecursionError:
            reason = "it is nested too deeply"
        except (TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
            reason = str(error) or type(error).__name__
        raise self._piece.refuse(f"must be an expression ({reason})")

    def value(self, node: Any) -> Any:
        """The object that a node stands for."""
        if isinstance(node, Token):
            return self._number(node) if node.type == "NUMBER" else self._letter(node)
        return getattr(self, f"_{node.data}")(node.children)

    def _sum(self, nodes: list[Any], **options: bool) -> Any:
        terms, negative = [], False
        for node in nodes:
            if isinstance(node, Token) and node.type == "PLUS":
                negative = node != "+"
                continue
            factors = [*([sympy.Integer(-1)] if negative else []), *self._factors(node)]
            terms.append(factors[0] if len(factors) == 1 else made(sympy.Mul, factors, options))
        return terms[0] if len(terms) == 1 else made(sympy.Add, terms, options)

    def _factors(self, node: Any) -> list[Any]:
        *before, last = node.children
        if before and node.data in ("product", "quotient"):
            self._refuse_two_readings(node.data, before[0], last)
        factor = self.value(last)
        if node.data == "quotient":
            factor = made(sympy.Pow, [factor, sympy.Integer(-1)])
        return [*(self._factors(before[0]) if before else []), factor]

    def _refuse_two_readings(self, kind: str, before: Any, last: Any) -> None:
        """Refuse a/b c and a^b/c, which are read in two ways; 1/2 c, a/(b) c, a^2/c are not.

        A whole exponent from 2 on ends with its digits, raised or behind ^: x^2/3 is x²/3.
        """
        divided = before.children[-1]
        if kind == "product" and all(_NUMERAL.fullmatch(self._text(x)) for x in (divided, last)):
            text = self._piece.text[divided.meta.start_pos : last.meta.end_pos]
            at = divided.meta.line, divided.meta.column
            raise self._piece.refuse("must have no space in a number, and * between two", text, at)
        if kind == "product" and before.data == "quotient":
            over = before.children[0]
            of_numbers = all(_NUMERAL.fullmatch(self._text(x)) for x in (over, divided))
            if of_numbers or divided.children[0].data == "brackets":
                return
            first, second, third = map(self._text, (over, divided, last))
            readings = f"({first}/{second}) {third} or {first}/({second} {third})"
        elif kind == "quotient" and len(divided.children) > 1:
            base, exponent = divided.children[0], divided.children[-1]
            power = str(exponent) if isinstance(exponent, Token) else self._text(exponent)
            power = power.translate(_DIGITS)
            sign = "-" * (len(divided.children) == 3 and divided.children[1] != "+")
            whole = not sign and re.fullmatch(r"[2-9]|[1-9]\d+", power)
            if whole or (not isinstance(exponent, Token) and exponent.data == "brackets"):
                return
            first, third = self._text(base), self._text(last)
            readings = f"({first}^{sign}{power})/{third} or {first}^({sign}{power}/{third})"
        else:
            return
        at = before.meta.line, before.meta.column
        text = self._piece.text[before.meta.start_pos : last.meta.end_pos]
        raise self._piece.refuse(
            f"must have brackets, as it is read in two ways: {readings}", text, at
        )

    def _text(self, node: Any) -> str:
        return self._piece.text[node.meta.start_pos : node.meta.end_pos]

    def _brackets(self, nodes: list[Any]) -> Any:
        return self.value(nodes[0])

    def _power(self, nodes: list[Any], **options: bool) -> Any:
        base = self.value(nodes[0])
        if len(nodes) == 1:
            return base
        is_word = not isinstance(nodes[-1], Token)
        if is_word and self._text(nodes[-1]) == "T" and shapes.about_matrices(base):
            return carried_out(shapes.Transposed, base)
        if isinstance(nodes[1], Token) and nodes[1].type == "RAISED":
            exponent = sympy.Integer(nodes[1].translate(_DIGITS))
        else:
            exponent = self.value(nodes[-1])
        if len(nodes) == 3 and nodes[1] != "+":
            exponent = -exponent
        if shapes.is_matrix(base) or shapes.is_length(base):
            return carried_out(shapes.power, base, exponent)
        if base.is_Rational and exponent.is_Rational:
            size = math.log10(max(abs(base.p), base.q))
            if size and abs(exponent) > (_DIGITS_AT_MOST - 1) / size:
                raise self._piece.refuse(f"must be a number of at most {_DIGITS_AT_MOST} digits")
        return made(sympy.Pow, [base, exponent], options)

    def _atom(self, nodes: list[Any]) -> Any:
        return self.value(nodes[0])

    def _root(self, nodes: list[Any]) -> Any:
        return made(sympy.Pow, [self.value(nodes[0]), sympy.Rational(1, 2)])

    def _bars(self, nodes: list[Any]) -> Any:
        inside = self.value(nodes[0])
        if shapes.is_matrix(inside):
            return carried_out(shapes.length, inside)
        return norm(inside) if is_vector(inside) else made(sympy.Abs, [inside])

    def _call(self, nodes: list[Any]) -> Any:
        name = str(nodes[0])[:-1]
        if name == "as_written":
            return self._as_written(nodes[1])
        sequence = self._names.get(f"{name}(")
        if sequence is not None and len(nodes) == 2:
            return sequence.at(self.value(nodes[1]))
        function = FUNCTIONS.get(name) or self._names.get(name)
        if function is None or isinstance(function, sympy.Basic):
            requirement = "must be a function; a product has a space before its bracket"
            raise self._piece.refuse(requirement, name, _at(nodes[0]))
        if name in ("max", "min"):
            inside = self._piece.text[nodes[1].meta.start_pos : nodes[-1].meta.end_pos]
            if match := re.search(r"\d+,\d+", inside):
                requirement = "must have a point in a number, or a space behind a comma"
                raise self._piece.refuse(requirement, match[0], _at(nodes[0]))
        arguments = [self.value(node) for node in nodes[1:]]
        number = {"dot": 2, "delta": 2}.get(name, 1)
        if name in FUNCTIONS and name not in _OF_ANY and len(arguments) != number:
            requirement = f"must have {number} argument{'s' * (number > 1)} in brackets"
            raise self._piece.refuse(requirement, name, _at(nodes[0]))
        return carried_out(function, *arguments) if name in _KEPT else made(function, arguments)

    def _as_written(self, node: Any) -> Any:
        """The outermost operation of a node, kept."""
        inner = ("sum", "product", "power", "atom", "brackets")
        while len(node.children) == 1 and node.data in inner:
            node = node.children[0]
        if node.data == "call":
            name = str(node.children[0])[:-1]
            options = {} if name in _KEPT else {"evaluate": False}
            return FUNCTIONS[name](*map(self.value, node.children[1:]), **options)
        if node.data == "power":
            return self._power(node.children, evaluate=False)
        if node.data == "sum":
            return self._sum(node.children, evaluate=False)
        return sympy.Mul(*self._factors(node), evaluate=False)

    def _index(self, nodes: list[Any]) -> Any:
        base = self._letter(nodes[0])
        if not isinstance(base, sympy.IndexedBase):
            raise self._piece.refuse("has no entries", str(nodes[0]), _at(nodes[0]))
        return base[tuple(self.value(node) for node in nodes[1:])]

    def _number(self, token: Token) -> Any:
        return sympy.Rational(str(token))

    def _letter(self, token: Token) -> Any:
        name = latin(token)
        if name in self._names:
            return self._names[name]
        stem, _, place = name.removesuffix(")").partition("(")
        sequence = self._names.get(f"{stem}(")
        if sequence and not place:
            raise self._piece.refuse(f"must have its place: {name}(0)", name, _at(token))
        if sequence and (place == "0" or "t" in self._names):
            now = self._names.get("t", sympy.Integer(0))
            return sequence.at({"0": sympy.Integer(0), "t": now, "t+1": now + 1}[place])
        if name in FUNCTIONS:
            requirement = f"must have brackets around its argument: {name}(x)"
            raise self._piece.refuse(requirement, name, _at(token))
        base, _, raised = name.partition("^")
        if raised == "T" and shapes.is_matrix(self._names.get(base)):
            return shapes.Transposed(self._names[base])
        if raised and base in self._names and raised in self._names:
            return self._names[base] ** self._names[raised]
        raise self._piece.refuse("must be a letter declared above", str(token), _at(token))


def latin(name: str) -> str:
    """A name with Greek letters written out: ``alpha`` for ``α``."""
    return str(name).translate(_LATIN)


#: Kinds of conclusions whose fields are the sides of a line, by the word before its colon.
WORDS: Mapping[str, type[conclusions.Algebra]] = {
    kind.FORM.partition(":")[0]: kind
    for kind in (
        *(conclusions.MeanIdentity, conclusions.EntryIdentity),
        *(repaired_conclusions.BlockIdentity, repaired_conclusions.BlockTrace),
        *(conclusions.SameDistribution, conclusions.EmpiricalLimit),
    )
} | dict.fromkeys(("matrices", "trace"), conclusions.MatrixIdentity)

#: Conclusions about the entries of A and W, by the word before the dimension.
ENTRIES: Mapping[str, type[repaired_conclusions.InDimensions]] = {
    kind.WORD: kind
    for kind in (
        repaired_conclusions.FlowIdentity,
        repaired_conclusions.StepIdentity,
        repaired_conclusions.EntryFormula,
    )
}

_HEAD = re.compile(
    r"(case) (.+?)\s*:\s*|([a-z][^:<>=]*?|\S+ in \[[^:<>=]*\])(?:, d = (\d+))?\s*:\s*", re.DOTALL
)
_INTERVAL = re.compile(r"(\S+) in \[(.+),(.+)\]")


def algebra(pieces: Sequence[Piece], names: Mapping[str, Any], words: dict[str, str]) -> Any:
    """The conclusion that some lines write; None if they are plain relations."""
    heads = [_HEAD.match(piece.text) for piece in pieces]
    if not heads or heads[0] is None:
        return None
    if heads[0][3] in ("by hand", "read"):
        text = " ".join(" ".join(piece.text for piece in pieces).split())
        because, test, needs = (words.get(name, "") for name in ("because", "test", "needs"))
        if (heads[0][3] == "read") != bool(needs) or (needs and not because):
            raise pieces[0].refuse("must be then read: with because, and what a machine needs")
        fields = text[heads[0].end() :], because, test
        if needs:
            return repaired_conclusions.Read(*fields, needs)
        return repaired_conclusions.ByHand(*fields)
    statements: list[Any] = []
    cases: list[Any] = []
    kind = ""
    for piece, head in zip(pieces, heads, strict=True):
        if head is None:
            raise piece.refuse("must say what it is before a colon, as the lines above do")
        body = piece.after(head.end())
        if head[1] == "case":
            cases.append((head[2], tuple(equation.args for equation in relations(body, names))))
        elif head[3] in ENTRIES:
            kind = head[3]
            dimension = int(head[4] or 1)
            letters = {**names, **flow_letters(dimension)}
            cases.append((dimension, *_sides(body, letters, ENTRIES[kind].SIGN)))
        else:
            statements.append(_part(head[3], body, names, piece))
    if kind and len(cases) < len(pieces):
        raise pieces[0].refuse(f"must be lines of one kind: {kind}")
    if kind:
        return ENTRIES[kind](tuple(cases))
    if cases:
        statements[0] = replace(statements[0], cases=tuple(cases))
    return statements[0] if len(statements) == 1 else conclusions.Both(tuple(statements))


def _sides(body: Piece, names: Mapping[str, Any], sign: str) -> list[Any]:
    if sign == "->":
        return values(body, names, arrow=True)
    equations = relations(body, names)
    if len(equations) != 1 or not isinstance(equations[0], sympy.Eq):
        raise body.refuse("must have two sides with = between them")
    return list(equations[0].args)


def _part(word: str, body: Piece, names: Mapping[str, Any], piece: Piece) -> Any:
    try:
        if word in WORDS:
            sign = "->" if "->" in WORDS[word].FORM else "="
            options = {"trace": True} if word == "trace" else {}
            return WORDS[word](*_sides(body, names, sign), **options)
        if word == "loss order":
            return conclusions.LossOrder(body.text)
        if match := _INTERVAL.fullmatch(word):
            (relation,) = relations(body, names)
            low, high = (values(replace(piece, text=text), {})[0] for text in (match[2], match[3]))
            letter = names[latin(match[1])]
            if not (low.is_Rational and high.is_Rational and low <= high):
                raise piece.refuse("must be between two fractions, the smaller one first")
            if isinstance(relation, sympy.Eq) or relation.free_symbols - {letter}:
                raise body.refuse(f"must be an inequality in {match[1]} alone")
            return repaired_conclusions.OnInterval(relation, letter, low, high)
        if word.startswith("slope in "):
            quantity, slope = values(body, names, arrow=True)
            letter = _changing(names[latin(word.removeprefix("slope in "))], piece)
            return repaired_conclusions.SlopeIdentity(letter, quantity, slope)
        if word.startswith("gradient in "):
            loss, gradient = values(body, names, arrow=True)
            variable = names[word.removeprefix("gradient in ")]
            return conclusions.GradientIdentity(loss, variable, gradient)
        if word == "solution":
            solution, rate, constant, start, time = values(body, names, arrow=True)
            return conclusions.FlowSolution(
                solution, (rate, constant), start, _changing(time, piece)
            )
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise piece.refuse("must have the parts of its kind, in letters declared above") from None
    raise piece.refuse("must begin with a kind of conclusion that is known", word)


def _changing(letter: Any, piece: Piece) -> Any:
    """A letter in which there are derivatives: one that does not count."""
    if not letter.is_Symbol or letter.is_integer:
        raise piece.refuse("must be a letter for real numbers, and none that counts", str(letter))
    return letter


def flow_letters(dimension: int) -> dict[str, Any]:
    """The entries of A and W and eta by name, in more than one dimension."""
    A, W, eta = symbols(dimension)
    letters = {*A.free_symbols, *W.free_symbols, eta} if dimension > 1 else ()
    return {letter.name: letter for letter in letters}
