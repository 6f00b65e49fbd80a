"""Matrix identities: words for every dimension, entries for d = 1 to 5, integers as a witness.

A line is *proved* only if the argument for every dimension and the exact expansion at small sizes
agree, and *refuted* only at a point of small integers where two evaluations give different sides.

A second evaluation of a witness, by other code: rational matrices of flint, sums of sympy.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import flint
import sympy

from swingby.theory.claim import Claim, MatrixIdentity
from swingby.theory.derivations.conclusions import EntryIdentity, GradientIdentity
from swingby.theory.derivations.matrices import (
    LETTERS,
    I,
    delta,
    direction,
    direction_U,
    i,
    j,
    s,
    substitute,
    transpose,
)
from swingby.theory.verdict import Finding
from swingby.verify.prover.algebra import words
from swingby.verify.prover.algebra.expansion import (
    PROOF_SIZES,
    SIZES,
    WITNESS_SIZES,
    Entries,
    Layout,
    Rows,
    factored,
    layouts,
    matrix,
    scalar,
    sides,
    square,
    symmetric,
)
from swingby.verify.prover.algebra.ring import (
    Constant,
    Number,
    letter_names,
    nonzero_point,
    polynomials,
    shown_name,
    value_at,
    written,
)
from swingby.verify.prover.algebra.words import Misshapen, Unsupported
from swingby.verify.prover.evidence import Judged, Witness


def second_evaluation(
    conclusion: Any,
    where: tuple[tuple[Any, Any], ...],
    layout: Layout,
    values: dict[str, Fraction],
    place: int,
) -> tuple[Fraction, Fraction]:
    """Both sides of an identity at a rational point."""

    def number(name: str) -> Fraction:
        return 1 / values[name[2:]] if name.startswith("1/") else values[name]

    left, right = sides(conclusion, where)
    if isinstance(conclusion, GradientIdentity):
        return _slope(conclusion, left, right, layout, values, place)
    entries = layout.entries(number, Fraction)
    if isinstance(conclusion, EntryIdentity):
        return _entry(left, entries), _entry(right, entries)
    pair = [_rational_matrix(side, entries) for side in (left, right)]
    if conclusion.trace:
        one, two = (sum(m[at, at] for at in range(m.nrows())) for m in pair)
    else:
        columns = pair[0].ncols()
        one, two = (m[place // columns, place % columns] for m in pair)
    return _fraction(one), _fraction(two)


def _slope(
    conclusion: GradientIdentity,
    loss: Any,
    gradient: Any,
    layout: Layout,
    values: dict[str, Fraction],
    place: int,
) -> tuple[Fraction, Fraction]:
    letter = LETTERS[conclusion.variable]
    columns = layout.sizes[letter.columns]
    moved = f"{letter.entries}_{place // columns + 1},{place % columns + 1}"

    def at(step: int) -> Entries:
        shifted = values | {moved: values[moved] + step}
        return layout.entries(lambda name: shifted[name], Fraction)

    def value(step: int) -> Fraction:
        rows = _rational_matrix(loss, at(step))
        return _fraction(sum(rows[entry, entry] for entry in range(rows.nrows())))

    # the five-point rule is exact for polynomials of degree four
    slope = (value(-2) - 8 * value(-1) + 8 * value(1) - value(2)) / 12
    entry = _rational_matrix(gradient, at(0))[place // columns, place % columns]
    return slope, _fraction(entry)


def _entry(expression: Any, entries: Entries) -> Fraction:
    if expression.is_commutative:
        return _sympy_value(expression, entries)
    rows = _rational_matrix(expression, entries)
    if rows.nrows() == rows.ncols() == 1:
        return _fraction(rows[0, 0])
    bound = {index.name: at for index, at in entries.indices.items()}
    return _fraction(rows[bound["i"] - 1, bound["j"] - 1])


def _rational_matrix(expression: Any, entries: Entries) -> flint.fmpq_mat:
    if expression == I or expression in LETTERS:
        rows = entries.letter(expression)
        return flint.fmpq_mat(
            len(rows), len(rows[0]), [_flint(item) for row in rows for item in row]
        )
    if expression.is_Add:
        first, *others = (_rational_matrix(term, entries) for term in expression.args)
        for other in others:
            first = first + other
        return first
    if expression.is_Mul:
        scalars, factors = expression.args_cnc()
        first, *others = (_rational_matrix(factor, entries) for factor in factors)
        for other in others:
            first = first * other
        return first * _flint(_sympy_value(sympy.Mul(*scalars), entries))
    if expression.is_Pow:
        return _rational_matrix(expression.base, entries) ** int(expression.exp)
    name = expression.func.__name__
    if name == "squared_norm":
        inner = _rational_matrix(expression.args[0], entries)
        squares = inner.transpose() * inner
        return flint.fmpq_mat(1, 1, [sum(squares[at, at] for at in range(squares.nrows()))])
    if name == "over_samples":
        total = None
        for cluster in range(entries.sizes["s"]):
            for number in range(entries.sizes["n"]):
                one = replace(entries, sample=(cluster + 1, number + 1))
                part = _rational_matrix(expression.args[0], one)
                total = part if total is None else total + part
        return total
    raise Unsupported(f"no second evaluation for {expression}")


def sympy_value(
    expression: Any, entries: Entries, letters: dict[tuple[str, tuple[int, ...]], Any] | None = None
) -> Any:
    """A formula in entries at a point, by the summation of sympy.

    Returns a number.
    """
    letters = letters or {}
    for operator in expression.atoms(sympy.Function):
        if operator.func.__name__ == "rest":
            body, index = operator.args
            left_out = (1 - delta(index, i)) * (1 - delta(index, j))
            every = sympy.Sum(left_out * body, (index, 1, sympy.Symbol("d", positive=True)))
            expression = expression.xreplace({operator: every})
    sizes = {symbol: entries.sizes[name] for symbol, name in SIZES.items()}
    # sums first: their upper ends are sizes, and every index is then a number
    value = expression.subs(sizes).doit().subs(entries.indices).doit()
    for operator in value.atoms(sympy.Function):
        if operator.func.__name__ == "inside":
            inside = int(int(operator.args[0]) <= entries.sizes["s"])
            value = value.xreplace({operator: sympy.Integer(inside)})
    swap = {}
    for item in value.atoms(sympy.Indexed):
        index = tuple(int(at) for at in item.indices)
        known = letters.get((str(item.base), index))
        if known is None:
            known = sympy.Rational(str(entries.entry(str(item.base), index)))
        swap[item] = known
    value = value.xreplace(swap)
    for symbol in value.free_symbols:
        value = value.subs(symbol, sympy.Rational(str(entries.number(symbol.name))))
    return value


def _sympy_value(expression: Any, entries: Entries) -> Fraction:
    value = sympy_value(expression, entries)
    return Fraction(int(value.p), int(value.q))


def _flint(value: Fraction) -> flint.fmpq:
    return flint.fmpq(value.numerator, value.denominator)


def _fraction(value: Any) -> Fraction:
    value = flint.fmpq(value)
    return Fraction(int(value.p), int(value.q))


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
            left = words.from_words(words.normal_form(left, matrices))
        left, right = (substitute(side, sizes) for side in (left, right))
        agree = words.agree(left, right, symmetric=symmetric(where), square=square(where))
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


def _both_sides(conclusion: Any, where: Where, layout: Layout) -> Any:
    """A computation for :func:`ring.polynomials`: left and right, entry by entry, in turn."""
    left, right = sides(conclusion, where)

    def write(number: Number, constant: Constant) -> list[Any]:
        entries = layout.entries(number, constant)
        if isinstance(conclusion, EntryIdentity):
            return [_one(left, entries), scalar(right, entries)]
        one, two = matrix(left, entries), matrix(right, entries)
        if isinstance(conclusion, GradientIdentity):
            return [_trace(one, entries), *(item for row in two for item in row)]
        if conclusion.trace:
            return [_trace(one, entries), _trace(two, entries)]
        return [
            item
            for rows in zip(one, two, strict=True)
            for pair in zip(*rows, strict=True)
            for item in pair
        ]

    return write


def written_out(
    conclusion: Any, where: Where, layout: Layout
) -> tuple[list[str], list[tuple[Any, Any]]]:
    """The names of the letters, and both sides of every entry as polynomials in them."""
    write = _both_sides(conclusion, where, layout)
    names, found = letter_names(write), polynomials(write)
    if not isinstance(conclusion, GradientIdentity):
        return names, list(zip(found[::2], found[1::2], strict=True))
    loss, *gradient = found
    letter = LETTERS[conclusion.variable]
    columns = layout.sizes[letter.columns]
    at = [f"{letter.entries}_{k // columns + 1},{k % columns + 1}" for k in range(len(gradient))]
    slopes = [loss.derivative(names.index(name)) for name in at]
    return names, list(zip(slopes, gradient, strict=True))


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
    written_sizes = 0
    for layout in layouts(conclusion, where, sizes):
        _, pairs = written_out(conclusion, where, layout)
        written_sizes += 1
        if any(left != right for left, right in pairs):
            return layout
    if not written_sizes:
        raise Unsupported("no size to write the line out")
    return None


def _witness(conclusion: Any, where: Where) -> Witness | None:
    for layout in layouts(conclusion, where, WITNESS_SIZES, witness=True):
        names, pairs = written_out(conclusion, where, layout)
        for place, (one, two) in enumerate(pairs):
            if one == two:
                continue
            values = nonzero_point(one - two, names)
            if values is None:
                continue
            left, right = second_evaluation(conclusion, where, layout, values, place)
            expected = [value_at(side, names, values) for side in (one, two)]
            if [left, right] != expected or left == right:
                continue
            return Witness(
                layout.names | shown_values(values) | _place(conclusion, layout, place),
                f"{written(one, names)} = {written(two, names)}",
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
            shown[shown_name(name)] = str(value)
    return shown


def _place(conclusion: Any, layout: Layout, place: int) -> dict[str, str]:
    if isinstance(conclusion, EntryIdentity) or getattr(conclusion, "trace", False):
        return {}
    size = layout.sizes["d"]
    return {"entry": f"({place // size + 1}, {place % size + 1})"}
