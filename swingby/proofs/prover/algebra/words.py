"""Noncommutative polynomials: the argument for matrix identities in every dimension.

A polynomial in matrices is a sum of words with scalar coefficients. Two polynomials whose words
agree are equal for all matrices of all sizes. The words are those of the exported file, and
:mod:`swingby.proofs.checkers.check_identity` decides: what is proved here is what a reader can
check.
"""

from __future__ import annotations

from typing import Any

from swingby.proofs.checkers import check_identity, check_witness
from swingby.proofs.language.conclusions import GradientIdentity
from swingby.proofs.language.matrices import (
    LETTERS,
    A,
    Letter,
    direction,
    direction_U,
    n,
    root,
    s,
    substitute,
)
from swingby.proofs.language.repaired_conclusions import (
    A_1,
    A_2,
    BlockTrace,
    X,
    X_inverse,
    Y,
    Y_transposed,
)
from swingby.proofs.prover.scalar.relation import plain

Where = tuple[tuple[Any, Any], ...]

#: Every letter of a word, by its symbol: those of the text, and blocks of any size.
KNOWN = LETTERS | {
    one: Letter(one, other, rows, columns, "", one.name)
    for one, other, rows, columns in (
        (A_1, A_1, "k", "k"),
        (A_2, A_2, "d - k", "d - k"),
        (X, X, "k", "k"),
        (X_inverse, X_inverse, "k", "k"),
        (Y, Y_transposed, "k", "d - k"),
        (Y_transposed, Y, "d - k", "k"),
    )
}
#: What stands for two letters side by side.
RULES: dict[tuple[Any, ...], tuple[Any, ...]] = {
    (root, root): (A,),
    (X, X_inverse): (),
    (X_inverse, X): (),
}


class Unsupported(Exception):
    """The expression is outside the language of a prover, which then has no opinion."""


def objection(conclusion: Any, where: Where = ()) -> str:
    """Why an identity does not follow word by word; nothing if it does."""
    return check_witness.judge({"id": "", "line": ""} | statement([conclusion], where))


def statement(said: Any, where: Where) -> dict[str, Any]:
    """Identities of matrices of every size, and definitions, for ``check_identity.py``.

    Names that a proof gives to terms are put in: a file knows letters for matrices alone.
    """
    names_of_terms = tuple(rule for rule in where if rule[0] not in KNOWN)
    where = tuple(
        (letter, substitute(value, names_of_terms)) for letter, value in where if letter in KNOWN
    )
    says, used = [], set()
    for one in said:
        gradient = isinstance(one, GradientIdentity)
        given = (one.loss, one.gradient) if gradient else (one.left, one.right)
        sides = [substitute(side, names_of_terms) for side in given]
        along: list[Any] = []
        if gradient:
            square = LETTERS[one.variable].columns == "d"
            along = [one.variable, direction if square else direction_U]
        shown = {"left": plain(sides[0]), "right": plain(sides[1])}
        trace = gradient or isinstance(one, BlockTrace) or one.trace
        says.append(shown | {"trace": trace, "along": list(map(str, along))})
        used |= {letter for part in (*sides, *along) for letter in part.free_symbols}
    used |= {letter for pair in where for part in pair for letter in part.free_symbols}
    names = {str(letter) for letter in used & KNOWN.keys()}
    rules = [
        [str(first), str(second), list(map(str, found))]
        for (first, second), found in RULES.items()
        if str(first) in names
    ]
    names |= {name for rule in rules for name in rule[2]}
    letters = {
        str(one.symbol): [str(one.transposed), one.rows, one.columns, one.sample]
        for one in KNOWN.values()
    }
    return {
        "format": check_identity.WORDS,
        "letters": {name: one for name, one in letters.items() if {name, one[0]} & names},
        "scalars": sorted(str(x) for x in {*used, s, n} if x.is_commutative),
        "rules": rules,
        "where": [[plain(letter), plain(value)] for letter, value in where],
        "says": says,
    }
