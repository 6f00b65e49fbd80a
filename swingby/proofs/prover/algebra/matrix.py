"""Matrix identities: words for every dimension, entries for d = 1 to 5, integers as a witness.

A line is *proved* only if the argument for every dimension and the exact expansion at small sizes
agree, and *refuted* only at a point of small integers where two evaluations give different sides.
The second evaluation is by sympy: its matrices, and its sums.
"""

from __future__ import annotations

import functools
import itertools
import operator
from fractions import Fraction
from typing import Any

import sympy

from swingby.proofs.language.claim import Claim
from swingby.proofs.language.conclusions import EntryIdentity, GradientIdentity, MatrixIdentity
from swingby.proofs.language.matrices import (
    LETTERS,
    I,
    delta,
    i,
    j,
    over_samples,
    root,
    s,
    squared_norm,
    substitute,
)
from swingby.proofs.prover.algebra import cases, words
from swingby.proofs.prover.algebra.entries import SIZES, Entries, Number, Rows, matrix, scalar
from swingby.proofs.prover.algebra.entry_polynomials import (
    POSITIVE,
    nonzero_point,
    polynomial_in_letters,
    polynomials,
    value_at,
    with_inverses,
    witness_values,
)
from swingby.proofs.prover.algebra.layouts import is_factored, is_square, is_symmetric, layouts
from swingby.proofs.prover.algebra.words import Unsupported, Where
from swingby.proofs.prover.evidence import ClaimVerdict, Witness, undecided
from swingby.theory.numbers import fraction
from swingby.theory.verdict import Finding

#: Sizes d of the entrywise proofs, and of a witness.
PROOF_SIZES, WITNESS_SIZES = (1, 2, 3, 4, 5), (1, 2)
#: Values that letters of the hypotheses alone are tried at, and how many letters at most.
FEW, MOST_OWN = (*map(Fraction, (0, 1, 2, -1, 3)), Fraction(1, 16)), 4


def decide_matrix(claim: Claim) -> ClaimVerdict:
    """The verdict on an identity between matrices, or between their entries."""
    conclusion, where = claim.conclusion, claim.where
    general, argument = _general(conclusion, where)
    # the quartic loss in U has too many terms at d = 5
    quartic = isinstance(conclusion, GradientIdentity) and is_factored(where)
    sizes = PROOF_SIZES[:-1] if quartic else PROOF_SIZES
    expressions = sides(conclusion, where)
    try:
        every_layout = list(layouts(conclusion, expressions, where, sizes))
        if not every_layout:
            raise Unsupported("no size to write the line out")
        failing = any(
            first != second
            for layout in every_layout
            for first, second in entry_pairs(conclusion, expressions, layout)[1]
        )
    except Unsupported as reason:
        return undecided("algebra", argument, f"entrywise: {reason}")
    entrywise = f"entrywise for d = 1 to {sizes[-1]}"
    if failing:
        witness = point_of_failure(conclusion, where)
        if witness is not None:
            return ClaimVerdict(Finding.REFUTED, "small integers", (f"fails {entrywise}",), witness)
        return undecided("algebra", f"fails {entrywise}, no witness of small integers")
    if general:
        return ClaimVerdict(
            Finding.PROVED,
            f"{argument}, and {entrywise}",
            (argument, f"exact polynomials in the entries: equal {entrywise}"),
        )
    return undecided("algebra", f"{argument}: does not close", entrywise)


def sides(conclusion: Any, where: Where) -> tuple[Any, ...]:
    """The two expressions of a conclusion, with definitions put in."""
    if isinstance(conclusion, GradientIdentity):
        expressions = (conclusion.loss, conclusion.gradient)
    else:
        expressions = (conclusion.left, conclusion.right)
    return tuple(substitute(expression, where) for expression in expressions)


def _general(conclusion: Any, where: Where) -> tuple[bool, str]:
    """Whether an identity follows in every dimension, and by which argument."""
    if isinstance(conclusion, MatrixIdentity):
        text = "words of noncommuting letters, every dimension"
        return not words.objection(conclusion, where), text
    if isinstance(conclusion, GradientIdentity):
        text = "directional derivative in words under the trace, every dimension"
        return not words.objection(conclusion, where), text
    first, second = conclusion.left, conclusion.right
    options = {"symmetric": is_symmetric(where), "square": is_square(where)}
    try:
        if not first.is_commutative:
            first = cases.entry_of(substitute(first, where))
        sizes = tuple(rule for rule in where if rule[0] == s)
        first, second = (substitute(side, sizes) for side in (first, second))
        return cases.agree(first, second, **options), "indices by cases, every d and s"
    except Unsupported as reason:
        return False, f"general argument: {reason}"


def entry_pairs(
    conclusion: Any, expressions: tuple[Any, ...], layout: Entries
) -> tuple[list[str], list[tuple[Any, Any]]]:
    """The names of the letters, and both sides of every entry as polynomials in them."""

    def write(number: Number) -> list[Any]:
        entries = layout.over(number)
        if isinstance(conclusion, EntryIdentity):
            return [_entry(side, entries) for side in expressions]
        first, second = (matrix(side, entries) for side in expressions)
        if isinstance(conclusion, GradientIdentity):
            return [_trace(first), *itertools.chain(*second)]
        if conclusion.trace:
            return [_trace(first), _trace(second)]
        if (len(first), len(first[0])) != (len(second), len(second[0])):
            raise Unsupported("the shapes of the sides differ")
        return [entry for rows in (first, second) for row in rows for entry in row]

    names, values = polynomials(write)
    if not isinstance(conclusion, GradientIdentity):
        half = len(values) // 2
        return names, list(zip(values[:half], values[half:], strict=True))
    loss, *gradient = values
    at = [_variable(conclusion, layout, index) for index in range(len(gradient))]
    slopes = [loss.derivative(names.index(name)) for name in at]
    return names, list(zip(slopes, gradient, strict=True))


def _variable(conclusion: GradientIdentity, layout: Entries, index: int) -> str:
    letter = LETTERS[conclusion.variable]
    row, column = divmod(index, layout.sizes[letter.columns])
    return f"{letter.entries}_{row + 1},{column + 1}"


def _entry(expression: Any, entries: Entries) -> Any:
    if expression.is_commutative:
        return scalar(expression, entries)
    return _at(matrix(expression, entries), entries)


def _at(rows: Rows, entries: Entries) -> Any:
    """Entry (i, j); of a 1 x 1 matrix, also for d = 1, with i = j = 1."""
    if len(rows) == len(rows[0]) == 1:
        return rows[0][0]
    return rows[entries.indices["i"] - 1][entries.indices["j"] - 1]


def _trace(rows: Rows) -> Any:
    return sum(row[index] for index, row in enumerate(rows))


def point_of_failure(conclusion: Any, where: Where, under: tuple[Any, ...] = ()) -> Witness | None:
    """Small integers at which an identity fails, and the hypotheses `under` hold; None without."""
    expressions = sides(conclusion, where)
    for layout in layouts(conclusion, expressions, where, WITNESS_SIZES, witness=True):
        names, pairs = entry_pairs(conclusion, expressions, layout)
        for index, (first, second) in enumerate(pairs):
            values = None if first == second else nonzero_point(first - second, names)
            if values is None:
                continue
            left_value, right_value = second_evaluation(
                conclusion, expressions, layout, values, index
            )
            expected = [value_at(side, names, values) for side in (first, second)]
            if (
                [left_value, right_value] != expected
                or left_value == right_value
                or not _hypotheses_hold(under, where, layout, values)
            ):
                continue
            coordinates = layout.names | witness_values(values)
            if not (isinstance(conclusion, EntryIdentity) or getattr(conclusion, "trace", False)):
                row, column = divmod(index, layout.sizes["d"])
                coordinates["entry"] = f"({row + 1}, {column + 1})"
            return Witness(
                coordinates,
                f"{polynomial_in_letters(first, names)} = {polynomial_in_letters(second, names)}",
                str(left_value),
                str(right_value),
                ("exact polynomials of flint", "exact rationals, matrices multiplied out"),
            )
    return None


def _hypotheses_hold(
    under: tuple[Any, ...], where: Where, layout: Entries, values: dict[str, Fraction]
) -> bool:
    """Whether hypotheses hold at a point, with letters of their own at some of a few values.

    Only identities between matrices are looked at: one between entries speaks of all of them.
    """
    checks = [(hypothesis, sides(hypothesis, where)) for hypothesis in under]
    for conclusion, expressions in checks:
        # outside of a sum, a sample is any; and A would not be the square of its root
        sums = {node: 0 for expression in expressions for node in expression.atoms(over_samples)}
        letters = {
            symbol
            for expression in expressions
            for symbol in expression.xreplace(sums).free_symbols
        }
        many_samples = layout.sizes["s"] * layout.sizes["n"] > 1
        sampled = many_samples and any(
            symbol in LETTERS and LETTERS[symbol].sample for symbol in letters
        )
        rooted = layout.root == "none" and any(expression.has(root) for expression in expressions)
        if isinstance(conclusion, EntryIdentity) or sampled or rooted:
            return False
    try:
        systems = [
            entry_pairs(conclusion, expressions, layout) for conclusion, expressions in checks
        ]
    except Unsupported:
        return False
    extra_letters = {
        name.removeprefix("1/") for names, _ in systems for name in names
    } - values.keys()
    choices = [[x for x in FEW if x > 0 or not name.startswith(POSITIVE)] for name in extra_letters]
    points = itertools.product(*choices) if len(extra_letters) <= MOST_OWN else ()
    return any(
        all(
            value_at(first - second, names, at) == 0
            for names, pairs in systems
            for first, second in pairs
        )
        for at in (values | dict(zip(extra_letters, chosen, strict=True)) for chosen in points)
    )


def second_evaluation(
    conclusion: Any,
    expressions: tuple[Any, ...],
    layout: Entries,
    values: dict[str, Fraction],
    index: int,
) -> list[Fraction]:
    """Both sides of an identity at a rational point, by sympy."""
    exact = {name: sympy.Rational(str(value)) for name, value in values.items()}
    step = sympy.Symbol("step")
    if isinstance(conclusion, GradientIdentity):
        name = _variable(conclusion, layout, index)
        moved = exact | {name: exact[name] + step}
        loss = in_sympy(expressions[0], layout.over(with_inverses(moved)))
        entries = layout.over(with_inverses(exact))
        evaluated = [
            sympy.diff(loss.trace(), step).subs(step, 0),
            in_sympy(expressions[1], entries)[index],
        ]
    else:
        entries = layout.over(with_inverses(exact))
        pair = [in_sympy(side, entries) for side in expressions]
        if isinstance(conclusion, MatrixIdentity):
            evaluated = [side.trace() if conclusion.trace else side[index] for side in pair]
        else:
            evaluated = [_at(x.tolist(), entries) if x.is_Matrix else x for x in pair]
    return list(map(fraction, evaluated))


def in_sympy(
    expression: Any, entries: Entries, letters: dict[tuple[str, tuple[int, ...]], Any] | None = None
) -> Any:
    """An expression at a point: a matrix of sympy, or for a formula in entries a number."""
    if expression.is_commutative:
        return _summed_by_sympy(expression, entries, letters or {})
    if expression == I or expression in LETTERS:
        return sympy.Matrix(entries.letter(expression))
    if expression.func == over_samples:
        operands = [in_sympy(expression.args[0], sample) for sample in entries.samples()]
        return functools.reduce(operator.add, operands)
    if expression.is_Pow:
        return in_sympy(expression.base, entries) ** expression.exp
    operands = [in_sympy(operand, entries) for operand in expression.args]
    if expression.is_Add or expression.is_Mul:
        combine = operator.add if expression.is_Add else operator.mul
        return functools.reduce(combine, operands)
    if expression.func == squared_norm:
        return sympy.Matrix([[(operands[0].T * operands[0]).trace()]])
    raise Unsupported(f"no second evaluation for {expression}")


def _summed_by_sympy(
    expression: Any, entries: Entries, letters: dict[tuple[str, tuple[int, ...]], Any]
) -> Any:
    for remainder in [
        node for node in expression.atoms(sympy.Function) if node.func.__name__ == "rest"
    ]:
        body, index = remainder.args
        left_out = (1 - delta(index, i)) * (1 - delta(index, j))
        total = sympy.Sum(left_out * body, (index, 1, sympy.Symbol("d", positive=True)))
        expression = expression.xreplace({remainder: total})
    sizes = {symbol: entries.sizes[name] for symbol, name in SIZES.items()}
    # sums first: their upper ends are sizes, and every index is then a number
    value = expression.subs(sizes).doit()
    indices = [symbol for symbol in value.free_symbols if symbol.is_integer]
    bound = {x: entries.indices[x.name] for x in indices if x.name in entries.indices}
    value = value.subs(bound).doit()
    swap = {}
    for node in value.atoms(sympy.Function, sympy.Indexed):
        if isinstance(node, sympy.Indexed):
            key = (str(node.base), tuple(map(int, node.indices)))
            override = letters.get(key)
            swap[node] = sympy.sympify(entries.entry(*key) if override is None else override)
        elif node.func.__name__ == "inside":
            swap[node] = sympy.Integer(int(int(node.args[0]) <= entries.sizes["s"]))
    value = value.xreplace(swap)
    return value.subs({symbol: entries.number(symbol.name) for symbol in value.free_symbols})
