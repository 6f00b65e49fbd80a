"""Conclusions of a proof file that are no plain relations: ``matrices: W A = A W`` and others.

A word or two before a colon say what is meant; the words are those of :data:`TWO_SIDES` and of the
functions below it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from swingby.errors import InvalidInput
from swingby.theory.claim import MatrixIdentity, MeanIdentity
from swingby.theory.derivations import conclusions as plain
from swingby.theory.derivations.repaired import conclusions as own
from swingby.theory.proofs.formulas import Piece, sides, values

#: Identities with two sides, by the word before the colon.
TWO_SIDES: Mapping[str, Callable[[Any, Any], Any]] = {
    "matrices": MatrixIdentity,
    "trace": lambda left, right: MatrixIdentity(left, right, trace=True),
    "mean": MeanIdentity,
    "entry": plain.EntryIdentity,
    "block trace": own.BlockTrace,
}

_HEAD = re.compile(r"([a-z][^:<>=]*?)(?:, d = (\d+))?\s*:\s*", re.DOTALL)
_CASE = re.compile(r"(case) (.+?)\s*:\s*", re.DOTALL)
_INTERVAL = re.compile(r"(\S+) in \[(.+),(.+)\]")


def algebra(pieces: Sequence[Piece], names: Mapping[str, Any], words: dict[str, str]) -> Any:
    """The conclusion that some lines write; None if they are plain relations."""
    heads = [_CASE.match(piece.text) or _HEAD.match(piece.text) for piece in pieces]
    if not heads or heads[0] is None:
        return None
    if heads[0][1] == "by hand":
        text = " ".join(" ".join(piece.text for piece in pieces).split())
        return own.ByHand(text[heads[0].end() :], words.get("because", ""), words.get("test", ""))
    parts: list[Any] = []
    cases: list[Any] = []
    kind = ""
    for piece, head in zip(pieces, heads, strict=True):
        if head is None:
            raise piece.refuse("must say what it is before a colon, as the lines above do")
        body = piece.after(head.end())
        if head[1] in ("flow", "formula"):
            kind = head[1]
            cases.append(_case(kind, int(head[2] or 1), body, names))
        elif head[1] == "case":
            found = sides(body, names)
            cases.append((head[2], tuple((side.left, side.right) for side in found)))
        else:
            parts.append(_part(head[1], body, names, piece))
    if kind and len(cases) < len(pieces):
        raise pieces[0].refuse(f"must be lines of one kind: {kind}")
    if kind:
        return (own.FlowIdentity if kind == "flow" else own.EntryFormula)(tuple(cases))
    if cases:
        parts[0] = replace(parts[0], cases=tuple(cases))
    return parts[0] if len(parts) == 1 else plain.Both(tuple(parts))


def _part(word: str, body: Piece, names: Mapping[str, Any], piece: Piece) -> Any:
    if word in TWO_SIDES:
        found = sides(body, names)
        if len(found) != 1 or found[0].sign != "=":
            raise body.refuse("must have two sides with = between them")
        return TWO_SIDES[word](found[0].left, found[0].right)
    try:
        return _other(word, body, names, piece)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise piece.refuse("must have the parts of its kind, in letters declared above") from None


def _other(word: str, body: Piece, names: Mapping[str, Any], piece: Piece) -> Any:
    if word == "loss order":
        return plain.LossOrder(body.text)
    if match := _INTERVAL.fullmatch(word):
        (side,) = sides(body, names)
        low, high = (
            values(Piece(piece.file, piece.line, piece.column, text), {})[0]
            for text in (match[2], match[3])
        )
        return own.OnInterval(side.relation, names[match[1]], low, high)
    if word.startswith("gradient in "):
        loss, gradient = values(body, names, arrow=True)
        return plain.GradientIdentity(loss, names[word.removeprefix("gradient in ")], gradient)
    if word == "solution":
        solution, rate, constant, start, time = values(body, names, arrow=True)
        return plain.FlowSolution(solution, (rate, constant), start, time)
    if word == "law":
        return plain.SameDistribution(*values(body, names, arrow=True))
    if word == "average":
        return plain.EmpiricalLimit(*values(body, names, arrow=True))
    raise piece.refuse("must begin with a kind of conclusion that is known", word)


def _case(kind: str, dimension: int, body: Piece, names: Mapping[str, Any]) -> Any:
    """Dimension and two sides, in the letters of the flow where there is more than one."""
    known = {**names, **flow_letters(dimension)} if dimension > 1 else names
    if kind == "flow":
        return dimension, *values(body, known, arrow=True)
    (side,) = sides(body, known)
    return dimension, side.left, side.right


def flow_letters(dimension: int) -> dict[str, Any]:
    """The entries of A and W by name."""
    from swingby.theory import dynamics

    A, W, _ = dynamics.symbols(dimension)
    letters = {*A.free_symbols, *W.free_symbols}
    return {letter.name: letter for letter in letters}


__all__ = ["TWO_SIDES", "algebra", "flow_letters"]
