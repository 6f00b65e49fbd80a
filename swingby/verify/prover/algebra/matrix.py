"""Matrix identities: words for every dimension, entries for d = 1 to 5, integers as a witness.

A line is *proved* only if the argument for every dimension and the exact expansion at small sizes
agree, and *refuted* only at a point of small integers where two evaluations give different sides.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from swingby.theory.claim import Claim, MatrixIdentity
from swingby.theory.derivations.conclusions import EntryIdentity, GradientIdentity
from swingby.theory.derivations.matrices import (
    LETTERS,
    direction,
    direction_U,
    s,
    substitute,
    transpose,
)
from swingby.theory.verdict import Finding
from swingby.verify.prover.algebra import indices, words
from swingby.verify.prover.algebra.entries import Entries, Rows
from swingby.verify.prover.algebra.expansion import matrix, scalar
from swingby.verify.prover.algebra.layout import (
    PROOF_SIZES,
    WITNESS_SIZES,
    Layout,
    factored,
    layouts,
    sides,
    square,
    symmetric,
)
from swingby.verify.prover.algebra.recheck import second_evaluation
from swingby.verify.prover.algebra.ring import (
    Constant,
    Number,
    letter_names,
    nonzero_point,
    polynomials,
    value_at,
)
from swingby.verify.prover.algebra.words import Misshapen, Unsupported
from swingby.verify.prover.evidence import Judged, Witness

Where = tuple[tuple[Any, Any], ...]


def judge_matrix(claim: Claim) -> Judged:
    """The verdict on an identity between matrices, or between their entries."""
    conclusion, where = claim.conclusion, claim.where
    try:
        general, argument = _general(conclusion, where)
    except Misshapen as reason:
        return Judged(Finding.UNDECIDED, "algebra", tried=(str(reason),))
    try:
        failing = _first_failure(conclusion, where, _proof_sizes(conclusion, where))
    except Unsupported as reason:
        return Judged(Finding.UNDECIDED, "algebra", tried=(argument, f"entrywise: {reason}"))
    written = f"entrywise for d = 1 to {_proof_sizes(conclusion, where)[-1]}"
    if failing is not None:
        witness = _witness(conclusion, where)
        if witness is not None:
            return Judged(Finding.REFUTED, "small integers", (f"fails {written}",), witness)
        return Judged(
            Finding.UNDECIDED, "algebra", tried=(f"fails {written}, no witness of small integers",)
        )
    if general:
        return Judged(
            Finding.PROVED,
            f"{argument}, and {written}",
            (argument, f"exact polynomials in the entries: equal {written}"),
        )
    return Judged(Finding.UNDECIDED, "algebra", tried=(f"{argument}: does not close", written))


def _general(conclusion: Any, where: Where) -> tuple[bool, str]:
    try:
        if isinstance(conclusion, MatrixIdentity):
            text = "words of noncommuting letters, every dimension"
            return words.same(conclusion.left, conclusion.right, where, conclusion.trace), text
        if isinstance(conclusion, GradientIdentity):
            text = "directional derivative in words under the trace, every dimension"
            return _gradient_in_words(conclusion, where), text
        text = "indices by cases, every d and s"
        left, right = conclusion.left, conclusion.right
        sizes = tuple(rule for rule in where if rule[0] == s)
        if not left.is_commutative:
            matrices = tuple(rule for rule in where if rule[0] != s)
            left = indices.from_words(words.normal_form(left, matrices))
        left, right = (substitute(side, sizes) for side in (left, right))
        agree = indices.agree(left, right, symmetric=symmetric(where), square=square(where))
    except Misshapen:
        raise
    except Unsupported as reason:
        return False, f"general argument: {reason}"
    return agree, text


def _gradient_in_words(conclusion: GradientIdentity, where: Where) -> bool:
    towards = direction_U if LETTERS[conclusion.variable].columns == "d'" else direction
    loss = words.normal_form(conclusion.loss, where, trace=True)
    slope = words.reduced(words.derivative(loss, conclusion.variable, towards), trace=True)
    product = transpose(conclusion.gradient) * towards
    return slope == words.normal_form(product, where, trace=True)


def _proof_sizes(conclusion: Any, where: Where) -> tuple[int, ...]:
    # the quartic loss in U has too many terms at d = 5
    quartic = isinstance(conclusion, GradientIdentity) and factored(where)
    return PROOF_SIZES[:-1] if quartic else PROOF_SIZES


def differences(conclusion: Any, where: Where, layout: Layout) -> Any:
    """A computation of left minus right, entry by entry, for :func:`ring.polynomials`.

    Returns
    -------
    callable
        Of (number, constant), returning a list of ring elements.
    """
    left, right = sides(conclusion, where)

    def write(number: Number, constant: Constant) -> list[Any]:
        entries = layout.entries(number, constant)
        if isinstance(conclusion, EntryIdentity):
            return [_one(left, entries) - scalar(right, entries)]
        one, two = matrix(left, entries), matrix(right, entries)
        if isinstance(conclusion, MatrixIdentity) and conclusion.trace:
            return [_trace(one, entries) - _trace(two, entries)]
        return [
            first - second
            for rows in zip(one, two, strict=True)
            for first, second in zip(*rows, strict=True)
        ]

    return write


def _one(expression: Any, entries: Entries) -> Any:
    if expression.is_commutative:
        return scalar(expression, entries)
    rows = matrix(expression, entries)
    if len(rows) == len(rows[0]) == 1:
        # also a 1 x 1 matrix for d = 1, where i = j = 1
        return rows[0][0]
    bound = {index.name: at for index, at in entries.indices.items()}
    return rows[bound["i"] - 1][bound["j"] - 1]


def _trace(rows: Rows, entries: Entries) -> Any:
    return entries.total([rows[place][place] for place in range(len(rows))])


def _first_failure(conclusion: Any, where: Where, sizes: tuple[int, ...]) -> Layout | None:
    written = 0
    for layout in layouts(conclusion, where, sizes):
        if isinstance(conclusion, GradientIdentity):
            found = gradient_differences(conclusion, where, layout)
        else:
            found = polynomials(differences(conclusion, where, layout))
        written += 1
        if any(item != 0 for item in found):
            return layout
    if not written:
        raise Unsupported("no size to write the line out")
    return None


def gradient_differences(conclusion: GradientIdentity, where: Where, layout: Layout) -> list[Any]:
    """Derivative of the loss minus the gradient, for every entry of the variable."""
    write = gradient_parts(conclusion, where, layout)
    names = letter_names(write)
    loss, *gradient = polynomials(write)
    base = LETTERS[conclusion.variable].entries
    columns = layout.sizes[LETTERS[conclusion.variable].columns]
    return [
        loss.derivative(names.index(f"{base}_{place // columns + 1},{place % columns + 1}")) - value
        for place, value in enumerate(gradient)
    ]


def gradient_parts(conclusion: GradientIdentity, where: Where, layout: Layout) -> Any:
    """A computation of the loss and of every entry of the gradient."""
    loss, gradient = sides(conclusion, where)

    def write(number: Number, constant: Constant) -> list[Any]:
        entries = layout.entries(number, constant)
        value = _trace(matrix(loss, entries), entries)
        return [value, *(item for row in matrix(gradient, entries) for item in row)]

    return write


def _witness(conclusion: Any, where: Where) -> Witness | None:
    for layout in layouts(conclusion, where, WITNESS_SIZES, witness=True):
        if isinstance(conclusion, GradientIdentity):
            write = gradient_parts(conclusion, where, layout)
            found = gradient_differences(conclusion, where, layout)
        else:
            write = differences(conclusion, where, layout)
            found = polynomials(write)
        names = letter_names(write)
        for place, polynomial in enumerate(found):
            if polynomial == 0:
                continue
            values = nonzero_point(polynomial, names)
            if values is None:
                continue
            expected = value_at(polynomial, names, values)
            left, right = second_evaluation(conclusion, where, layout, values, place)
            if left - right != expected or left == right:
                continue
            shown = shown_values(values)
            return Witness(
                layout.names | shown,
                _where_in(conclusion, layout, place),
                str(left),
                str(right),
                ("exact polynomials of flint", "exact rationals, matrices multiplied out"),
            )
    return None


def shown_values(values: dict[str, Fraction]) -> dict[str, str]:
    """The letters of a witness by the names of the text."""
    shown = {}
    for name, value in values.items():
        if name.startswith("exp("):
            # every exponential is 1: the witness is at the start
            shown["t"] = "0"
        else:
            root = name.startswith("r_")
            shown[f"A^(1/2)_{name[2:]}" if root else name] = str(value)
    return shown


def _where_in(conclusion: Any, layout: Layout, place: int) -> str:
    if isinstance(conclusion, EntryIdentity) or getattr(conclusion, "trace", False):
        return "left = right"
    size = layout.sizes["d"]
    return f"entry ({place // size + 1}, {place % size + 1}) of left = right"
