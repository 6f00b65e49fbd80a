"""Definitions: the letter that an equation defines, and what changes through definitions.

A letter that is defined by what changes with t, or with the outcome, changes with it too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import sympy

from swingby.proofs.language.matrices import I as IDENTITY
from swingby.proofs.language.sums import stands_at
from swingby.proofs.language.vectors import factors

#: Between the letters in the name of a mean.
_BETWEEN = re.compile(r"[*<>|,\s]|\^\d+")


def defined_letter(relation: Any) -> Any:
    """The letter that an equation defines, itself or by a power; None where neither side is one."""
    for side in relation.args if isinstance(relation, sympy.Eq) else ():
        base = side.base if side.is_Pow and side.exp.is_Integer and side.exp > 0 else side
        if base.is_Symbol and base != IDENTITY and (base is side or base.is_nonnegative):
            return base
    return None


def defined_value(definition: Any) -> Any:
    """The side of a definition that its letter stands for, itself or by a power."""
    left, right = definition.args
    return left if defined_letter(definition) not in (left, left.as_base_exp()[0]) else right


def names_in(letter: Any) -> set[str]:
    """The names of the letters that an inner product, a mean or a letter itself speaks of."""
    name = str(letter)
    if name.startswith("E["):
        return {*filter(None, _BETWEEN.split(name[2:-1]))}
    return set(map(str, factors(letter))) or {name}


def speaks_of(letter: Any, name: str) -> bool:
    """Whether a letter is the one of a name, without tilde, or has it inside, or stands at it."""
    names = (each.replace("~", "") for each in names_in(letter))
    return any(stands_at(each, name) for each in names)


def changing(definitions: Iterable[Any], changes: Callable[[str], bool]) -> set[str]:
    """The names, without tilde, of the letters that change only because definitions say so.

    `changes`: whether a name is that of a letter which changes by itself.
    """
    definitions, through = list(definitions), set[str]()

    def moves(name: str) -> bool:
        return changes(name) or any(speaks_of(name, x) for x in through)

    size = -1
    while size < len(through):
        size = len(through)
        through |= {x.replace("~", "") for each in definitions for x in _drawn(each, moves)}
    return through


def _drawn(definition: Any, moves: Callable[[str], bool]) -> Iterator[str]:
    """The letters of a definition that change because others of it do.

    That is what it defines. Where what it defines changes and its value does not, it is the value.
    """
    letter = defined_letter(definition)
    if letter is None:
        names = {name for x in definition.free_symbols for name in names_in(x)}
        yield from (name for name in names if any(map(moves, names)) and not moves(name))
        return
    value = defined_value(definition).free_symbols
    pairs = [list(map(str, factors(x))) for x in value if factors(x)]
    numbers = {name for x in value if not factors(x) for name in names_in(x)}
    defined, beside = names_in(letter), {name for pair in pairs for name in pair}
    left, right = list(map(str, factors(letter))) or ("", "")
    for test, other in ((left, right), (right, left)):
        # An equation between vectors, multiplied by a vector on both sides: that one is no matter.
        if test and all(test in pair for pair in pairs):
            defined, beside = {other}, {pair[1 - pair.index(test)] for pair in pairs}
            break
    beside |= numbers
    fixed = {name for name in defined if not moves(name)}
    if any(map(moves, beside)):
        yield from fixed
    elif len(fixed) < len(defined):
        yield from {*fixed, *beside}
