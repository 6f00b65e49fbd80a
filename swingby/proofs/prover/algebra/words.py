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
    X,
    X_inverse,
    Y,
    Y_transposed,
)
from swingby.proofs.prover.scalar.relation import expression_text

Where = tuple[tuple[Any, Any], ...]

#: Every letter of a word, by its symbol: those of the text, and blocks of any size.
_WORD_LETTERS = LETTERS | {
    symbol: Letter(symbol, transposed, rows, columns, "", symbol.name)
    for symbol, transposed, rows, columns in (
        (A_1, A_1, "k", "k"),
        (A_2, A_2, "d - k", "d - k"),
        (X, X, "k", "k"),
        (X_inverse, X_inverse, "k", "k"),
        (Y, Y_transposed, "k", "d - k"),
        (Y_transposed, Y, "d - k", "k"),
    )
}
#: What stands for two letters side by side.
_REWRITE_RULES: dict[tuple[Any, ...], tuple[Any, ...]] = {
    (root, root): (A,),
    (X, X_inverse): (),
    (X_inverse, X): (),
}


class Unsupported(Exception):
    """The expression is outside the language of a prover, which then has no opinion."""


def objection(conclusion: Any, where: Where = ()) -> str:
    """The reason why an identity does not follow word by word; empty if it does."""
    return check_witness.judge_shown(
        {"id": "", "line": ""} | checkable_identity([conclusion], where)
    )


def checkable_identity(conclusions: Any, where: Where) -> dict[str, Any]:
    """Identities of matrices of every size, and definitions, for ``check_identity.py``.

    Names that a proof gives to terms are put in: a file knows letters for matrices alone.
    """
    names_of_terms = tuple(rule for rule in where if rule[0] not in _WORD_LETTERS)
    where = tuple(
        (letter, substitute(value, names_of_terms))
        for letter, value in where
        if letter in _WORD_LETTERS
    )
    says, used = [], set()
    for conclusion in conclusions:
        gradient = isinstance(conclusion, GradientIdentity)
        formulas = (
            (conclusion.loss, conclusion.gradient)
            if gradient
            else (conclusion.left, conclusion.right)
        )
        sides = [substitute(side, names_of_terms) for side in formulas]
        along: list[Any] = []
        if gradient:
            square = LETTERS[conclusion.variable].columns == "d"
            along = [conclusion.variable, direction if square else direction_U]
        entry = {"left": expression_text(sides[0]), "right": expression_text(sides[1])}
        trace = gradient or conclusion.trace
        says.append(entry | {"trace": trace, "along": list(map(str, along))})
        used |= {letter for formula in (*sides, *along) for letter in formula.free_symbols}
    used |= {letter for pair in where for formula in pair for letter in formula.free_symbols}
    names = {str(letter) for letter in used & _WORD_LETTERS.keys()}
    rules = [
        [str(first), str(second), list(map(str, replacement))]
        for (first, second), replacement in _REWRITE_RULES.items()
        if str(first) in names
    ]
    names |= {name for rule in rules for name in rule[2]}
    letters = {
        str(letter.symbol): [str(letter.transposed), letter.rows, letter.columns, letter.sample]
        for letter in _WORD_LETTERS.values()
    }
    return {
        "format": check_identity.WORDS,
        "letters": {name: entry for name, entry in letters.items() if {name, entry[0]} & names},
        "scalars": sorted(str(x) for x in {*used, s, n} if x.is_commutative),
        "rules": rules,
        "where": [[expression_text(letter), expression_text(value)] for letter, value in where],
        "says": says,
    }
