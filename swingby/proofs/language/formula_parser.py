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
from typing import Any

import sympy
from lark import Lark, Token, UnexpectedInput

from swingby.errors import InvalidInput
from swingby.proofs.language import conclusions
from swingby.proofs.language.claim import needs
from swingby.proofs.language.formula_printer import GREEK
from swingby.theory.dynamics import symbols


def _total(*parts: Any, **options: bool) -> Any:
    """A sum of what is written for an index, from a first to a last one."""
    if len(parts) != 4:
        raise ValueError("a sum has four parts: what is summed, an index, its first and last value")
    return sympy.Sum(parts[0], parts[1:], **options)


#: Functions that every proof knows.
FUNCTIONS: Mapping[str, Any] = {
    "exp": sympy.exp,
    "log": sympy.log,
    "sqrt": sympy.sqrt,
    "abs": sympy.Abs,
    "max": sympy.Max,
    "min": sympy.Min,
    "delta": sympy.KroneckerDelta,
    "sum": _total,
}

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
#: How an error names what might stand at a place.
_SHOWN = {
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
        place = f"{self.file}, line {line}, column {column}:"
        return InvalidInput(place, value or self.text, requirement)

    def after(self, length: int) -> Piece:
        """What follows the first signs, which stand on the first line."""
        rest = self.text[length:]
        skipped = len(rest) - len(rest.lstrip())
        return Piece(self.file, self.line, self.column + length + skipped, rest.strip())


@functools.cache
def _parser() -> Lark:
    starts = ["relations", "sums", "gives"]
    return Lark.open("formulas.lark", rel_to=__file__, parser="lalr", start=starts)


def _tree(piece: Piece, start: str) -> Any:
    if len(piece.text) > _LONGEST:
        raise piece.refuse(f"must be a formula of at most {_LONGEST} characters")
    try:
        return _parser().parse(piece.text, start=start)
    except UnexpectedInput as error:
        named = getattr(error, "accepts", None) or getattr(error, "allowed", None) or ()
        wanted = sorted({_SHOWN.get(name, name.lower()) for name in named} - {""})
        at = (max(error.line, 1), max(error.column, 1))
        rest = piece.text.splitlines()[at[0] - 1][at[1] - 1 :].strip() if piece.text else ""
        token = getattr(error, "token", None)
        if token is not None and token.type == "$END":
            rest, at = "", (token.end_line or 1, token.end_column or 1)
        requirement = f"must go on with {', '.join(wanted)}" if wanted else "must be a formula"
        raise piece.refuse(requirement, rest or "the end of the formula", at) from None


def _at(token: Any) -> tuple[int, int]:
    return token.line, token.column


def relations(piece: Piece, names: Mapping[str, Any]) -> list[Any]:
    """The relations of a text such as ``a <= b < c, d > 0``, chains taken apart, as written."""
    found = []
    for chain in _tree(piece, "relations").children:
        if chain.data == "set":
            first = next(chain.scan_values(lambda token: True), None)
            raise piece.refuse("must be a relation: no sign such as <= stands here", at=_at(first))
        sides = [_Builder(piece, names).built(side) for side in chain.children[::2]]
        signs = (RELATIONS[sign] for sign in chain.children[1::2])
        for sign, left, right in zip(signs, sides, sides[1:], strict=False):
            found.append(sign(left, right, evaluate=False))
    return found


def is_letter(text: str) -> bool:
    """Whether a formula could use some text as a letter."""
    try:
        found = list(_parser().parse(text, start="sums").scan_values(lambda _: True))
    except UnexpectedInput:
        return False
    return found == [text] and found[0].type == "NAME"


def values(piece: Piece, names: Mapping[str, Any], arrow: bool = False) -> list[Any]:
    """Expressions between commas; with an arrow behind the first, if asked."""
    tree = _tree(piece, "gives" if arrow else "sums")
    return [_Builder(piece, names).built(part) for part in tree.children]


class _Builder:
    """Sympy objects from the nodes of the grammar; `names` say what letters stand for."""

    def __init__(self, piece: Piece, names: Mapping[str, Any]) -> None:
        self._piece = piece
        self._names = names

    def built(self, tree: Any) -> Any:
        """The expression of a whole formula; InvalidInput if it cannot be one."""
        try:
            found = self.value(tree)
            if not found.has(sympy.zoo, sympy.nan, sympy.oo):
                return found
            reason = "it divides by 0"
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

    def _sum(self, parts: list[Any], **options: bool) -> Any:
        terms, negative = [], False
        for part in parts:
            if isinstance(part, Token) and part.type == "PLUS":
                negative = part != "+"
                continue
            factors = [*([sympy.Integer(-1)] if negative else []), *self._factors(part)]
            terms.append(factors[0] if len(factors) == 1 else _made(sympy.Mul, factors, options))
        return terms[0] if len(terms) == 1 else _made(sympy.Add, terms, options)

    def _factors(self, node: Any) -> list[Any]:
        *before, last = node.children
        factor = self.value(last)
        if node.data == "quotient":
            factor = _made(sympy.Pow, [factor, sympy.Integer(-1)])
        return [*(self._factors(before[0]) if before else []), factor]

    def _power(self, parts: list[Any], **options: bool) -> Any:
        base = self.value(parts[0])
        if len(parts) == 1:
            return base
        if isinstance(parts[1], Token) and parts[1].type == "RAISED":
            exponent = sympy.Integer(parts[1].translate(_DIGITS))
            return _made(sympy.Pow, [base, exponent], options)
        exponent = self.value(parts[-1])
        if len(parts) == 3 and parts[1] != "+":
            exponent = -exponent
        if base.is_Rational and exponent.is_Rational:
            size = math.log10(max(abs(base.p), base.q))
            if size and abs(exponent) > (_DIGITS_AT_MOST - 1) / size:
                raise self._piece.refuse(f"must be a number of at most {_DIGITS_AT_MOST} digits")
        return _made(sympy.Pow, [base, exponent], options)

    def _atom(self, parts: list[Any]) -> Any:
        return self.value(parts[0])

    def _root(self, parts: list[Any]) -> Any:
        return _made(sympy.Pow, [self.value(parts[0]), sympy.Rational(1, 2)])

    def _bars(self, parts: list[Any]) -> Any:
        return _made(sympy.Abs, [self.value(parts[0])])

    def _call(self, parts: list[Any]) -> Any:
        name = str(parts[0])[:-1]
        if name == "as_written":
            return self._as_written(parts[1])
        function = FUNCTIONS.get(name) or self._names.get(name)
        if function is None or isinstance(function, sympy.Basic):
            wanted = "must be a function; a product has a space before its bracket"
            raise self._piece.refuse(wanted, name, _at(parts[0]))
        return _made(function, [self.value(part) for part in parts[1:]])

    def _as_written(self, node: Any) -> Any:
        """The outermost operation of a node, kept."""
        while len(node.children) == 1 and node.data in ("sum", "product", "power", "atom"):
            node = node.children[0]
        if node.data == "call":
            function = FUNCTIONS[str(node.children[0])[:-1]]
            return function(*(self.value(part) for part in node.children[1:]), evaluate=False)
        if node.data == "power":
            return self._power(node.children, evaluate=False)
        if node.data == "sum":
            return self._sum(node.children, evaluate=False)
        return sympy.Mul(*self._factors(node), evaluate=False)

    def _index(self, parts: list[Any]) -> Any:
        base = self._letter(parts[0])
        if not isinstance(base, sympy.IndexedBase):
            raise self._piece.refuse("has no entries", str(parts[0]), _at(parts[0]))
        return base[tuple(self.value(part) for part in parts[1:])]

    def _number(self, token: Token) -> Any:
        return sympy.Rational(str(token))

    def _letter(self, token: Token) -> Any:
        name = latin(token)
        if name in self._names:
            return self._names[name]
        base, _, raised = name.partition("^")
        if raised and base in self._names and raised in self._names:
            return self._names[base] ** self._names[raised]
        raise self._piece.refuse("must be a letter declared above", str(token), _at(token))


def _made(function: Any, parts: list[Any], options: Mapping[str, bool] | None = None) -> Any:
    """What sympy makes of some parts, unless it has a value where they have none: x/x is not 1."""
    found = function(*parts, **(options or {}))
    own = function in (sympy.Pow, sympy.log) and bool(parts[0].free_symbols)
    if options or not (own or any(map(_partial, parts))):
        return found
    written = function(*parts, evaluate=False)
    return written if _partial(written) - _partial(found) else found


def _partial(expression: Any) -> set[tuple[Any, str]]:
    """What an expression needs to have a value, where the signs of its letters do not say so."""
    found = set()
    for base, sign in needs(expression):
        factors = sympy.Mul.make_args(base)
        if sign == "!=":
            bases = (factor.as_base_exp()[0] for factor in factors if not factor.is_nonzero)
            found |= {(one.args[0] if isinstance(one, sympy.Abs) else one, sign) for one in bases}
        elif not (base.is_positive or (sign == "<=" and base.is_nonnegative)):
            found.add((sympy.Mul(*(one for one in factors if not one.is_positive)), sign))
    return found


def latin(name: str) -> str:
    """A name with Greek letters written out: ``alpha`` for ``α``."""
    return str(name).translate(_LATIN)


#: Kinds of conclusions whose fields are the sides of a line, by the word before its colon.
WORDS: Mapping[str, type[conclusions.Algebra]] = {
    kind.FORM.partition(":")[0]: kind
    for kind in (
        *(conclusions.MeanIdentity, conclusions.EntryIdentity, conclusions.BlockTrace),
        *(conclusions.SameDistribution, conclusions.EmpiricalLimit),
    )
} | dict.fromkeys(("matrices", "trace"), conclusions.MatrixIdentity)

_HEAD = re.compile(
    r"(case) (.+?)\s*:\s*|([a-z][^:<>=]*?|\S+ in \[[^:<>=]*\])(?:, d = (\d+))?\s*:\s*", re.DOTALL
)
_INTERVAL = re.compile(r"(\S+) in \[(.+),(.+)\]")


def algebra(pieces: Sequence[Piece], names: Mapping[str, Any], words: dict[str, str]) -> Any:
    """The conclusion that some lines write; None if they are plain relations."""
    heads = [_HEAD.match(piece.text) for piece in pieces]
    if not heads or heads[0] is None:
        return None
    if heads[0][3] == "by hand":
        text = " ".join(" ".join(piece.text for piece in pieces).split())
        because, test = words.get("because", ""), words.get("test", "")
        return conclusions.ByHand(text[heads[0].end() :], because, test)
    parts: list[Any] = []
    cases: list[Any] = []
    kind = ""
    for piece, head in zip(pieces, heads, strict=True):
        if head is None:
            raise piece.refuse("must say what it is before a colon, as the lines above do")
        body = piece.after(head.end())
        if head[1] == "case":
            cases.append((head[2], tuple(one.args for one in relations(body, names))))
        elif head[3] in ("flow", "formula"):
            kind = head[3]
            dimension = int(head[4] or 1)
            known = {**names, **flow_letters(dimension)}
            cases.append((dimension, *_sides(body, known, "->" if kind == "flow" else "=")))
        else:
            parts.append(_part(head[3], body, names, piece))
    if kind and len(cases) < len(pieces):
        raise pieces[0].refuse(f"must be lines of one kind: {kind}")
    if kind:
        made = conclusions.FlowIdentity if kind == "flow" else conclusions.EntryFormula
        return made(tuple(cases))
    if cases:
        parts[0] = replace(parts[0], cases=tuple(cases))
    return parts[0] if len(parts) == 1 else conclusions.Both(tuple(parts))


def _sides(body: Piece, names: Mapping[str, Any], sign: str) -> list[Any]:
    if sign == "->":
        return values(body, names, arrow=True)
    found = relations(body, names)
    if len(found) != 1 or not isinstance(found[0], sympy.Eq):
        raise body.refuse("must have two sides with = between them")
    return list(found[0].args)


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
            return conclusions.OnInterval(relation, letter, low, high)
        if word.startswith("gradient in "):
            loss, gradient = values(body, names, arrow=True)
            variable = names[word.removeprefix("gradient in ")]
            return conclusions.GradientIdentity(loss, variable, gradient)
        if word == "solution":
            solution, rate, constant, start, time = values(body, names, arrow=True)
            return conclusions.FlowSolution(solution, (rate, constant), start, time)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise piece.refuse("must have the parts of its kind, in letters declared above") from None
    raise piece.refuse("must begin with a kind of conclusion that is known", word)


def flow_letters(dimension: int) -> dict[str, Any]:
    """The entries of A and W by name, where there is more than one."""
    A, W, _ = symbols(dimension)
    letters = {*A.free_symbols, *W.free_symbols} if dimension > 1 else ()
    return {letter.name: letter for letter in letters}
