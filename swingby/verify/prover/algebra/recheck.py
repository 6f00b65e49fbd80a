"""A second evaluation of a witness, by other code: rational matrices of flint, sums of sympy."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import flint
import sympy

from swingby.theory.derivations.conclusions import EntryIdentity, GradientIdentity
from swingby.theory.derivations.matrices import LETTERS, I, delta, i, j
from swingby.verify.prover.algebra.entries import SIZES, Entries
from swingby.verify.prover.algebra.layout import Layout, sides
from swingby.verify.prover.algebra.words import Unsupported


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
