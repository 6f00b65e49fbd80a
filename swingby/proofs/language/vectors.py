"""Vectors of any dimension: inner products and norms as numbers, the entries of a Gram matrix.

A vector letter stands for a vector of a space with an inner product. What a formula says of vectors
is expanded by linearity into numbers: one letter for each inner product of two vector letters, and
one for each squared norm. What holds of all such numbers is added to a line: that norms are not
negative, and the inequality of Cauchy and Schwarz.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import sympy

from swingby.proofs.language.definedness import RELATIONS, partial, put_in_as_written
from swingby.proofs.language.matrices import I
from swingby.proofs.language.shapes import about_matrices

#: Source of the facts that hold of any vectors; the space keeps a file from naming it.
GRAM = "vectors "
_PAIR = re.compile(r"<(.+), (.+)>|\|([^|]+)\|\^2")


class Vector(sympy.Symbol):  # type: ignore[misc]
    """A letter for a vector."""

    def __new__(cls, name: str) -> Vector:
        """The letter with a name."""
        letter: Vector = sympy.Symbol.__new__(cls, name, commutative=False)
        return letter

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        """The name, for a copy."""
        return (self.name,), {}


class InnerProduct(sympy.Function):  # type: ignore[misc]
    """The inner product of two vectors, as written."""

    is_commutative = True
    is_real = True


class SquaredNorm(sympy.Function):  # type: ignore[misc]
    """The squared norm of a vector, as written."""

    is_commutative = True
    is_nonnegative = True


def norm(vector: Any) -> Any:
    """The norm of a vector; the absolute value of a number."""
    return sympy.sqrt(SquaredNorm(vector)) if is_vector(vector) else sympy.Abs(vector)


def is_vector(expression: Any) -> bool:
    """Whether an expression is a sum of vectors with numbers before them, and of no matrices."""
    is_number = not isinstance(expression, sympy.Expr) or expression.is_commutative is not False
    return not (is_number or about_matrices(expression) or expression.has(I))


def coefficients(expression: Any) -> dict[Vector, Any]:
    """The numbers before the letters of a vector; ValueError where it is none."""
    before: dict[Vector, Any] = {}
    for term in sympy.Add.make_args(sympy.expand(expression)):
        numbers, letters = term.args_cnc()
        if term == 0:
            continue
        if len(letters) != 1 or not isinstance(letters[0], Vector):  # a matrix, a product
            requirement = "a vector is a sum of vectors, with numbers before them"
            raise ValueError(f"{requirement}, and {term} is none")
        before[letters[0]] = before.get(letters[0], sympy.Integer(0)) + sympy.Mul(*numbers)
    return before


def product_letter(left: Vector, right: Vector) -> Any:
    """The letter for the inner product of two vector letters, or for a squared norm."""
    if left == right:
        return sympy.Symbol(f"|{left}|^2", nonnegative=True)
    names = sorted((str(left), str(right)))
    return sympy.Symbol(f"<{names[0]}, {names[1]}>", real=True)


def factors(letter: Any) -> tuple[Vector, ...]:
    """The two vectors whose inner product a letter is; none for another letter."""
    match = _PAIR.fullmatch(letter.name) if isinstance(letter, sympy.Symbol) else None
    if match is None:
        return ()
    return (Vector(match[1]), Vector(match[2])) if match[1] else (Vector(match[3]),) * 2


def inner(left: Any, right: Any) -> Any:
    """The inner product of two vectors, expanded."""
    pairs = itertools.product(coefficients(left).items(), coefficients(right).items())
    return sympy.expand(sympy.Add(*(p * q * product_letter(x, y) for (x, p), (y, q) in pairs)))


def in_numbers(statement: Any) -> Any:
    """A statement with its inner products and norms expanded."""
    written = statement.atoms(InnerProduct, SquaredNorm)
    swaps = {each: inner(*(each.args * 2)[:2]) for each in written}
    if not swaps:
        return statement
    if statement.is_Relational:
        sides = (in_numbers(put_in_as_written(side, swaps)) for side in statement.args)
        return statement.func(*sides, evaluate=False)
    return in_numbers(put_in_as_written(statement, swaps))


def written_norms(statement: Any, known: Iterable[Any] | None) -> list[Any]:
    """The squared norms in a statement, expanded; of a conclusion, from what is known with it."""
    norms = [each.args[0] for each in statement.atoms(SquaredNorm)]
    if known is None:  # of a hypothesis, which holds only where it has a value
        return [inner(vector, vector) for vector in norms]
    return [square for vector in norms for square in _squares(vector, known)]


def _squares(vector: Any, known: Iterable[Any] = ()) -> list[Any]:
    """The squared norm of a vector; none where it is not known to have a value."""
    known = {
        side for each in known if isinstance(each, sympy.Rel) for side in (each, each.reversed)
    }
    has_value = all(
        known.intersection(kind(base, 0, evaluate=False) for kind in (sympy.Gt, RELATIONS[sign]))
        for base, sign in partial(vector)
    )
    return [inner(vector, vector)] if has_value else []


def put_in(expression: Any, values: Mapping[Any, Any]) -> Any:
    """An expression with values put in for letters, vectors among them, all at once."""
    swaps = {letter: value for letter, value in values.items() if not isinstance(letter, Vector)}
    vectors = {letter: value for letter, value in values.items() if isinstance(letter, Vector)}
    for letter in expression.free_symbols - values.keys():
        if hasattr(letter, "of") and letters_of([letter.of]) & values.keys():
            swaps[letter] = letter.put_in(values)
    if vectors and not is_vector(expression):
        for letter in expression.atoms(sympy.Symbol):  # also what a sum binds
            pair = factors(letter)
            if set(pair) & vectors.keys():
                swaps[letter] = inner(*(vectors.get(x, x) for x in pair))
        return put_in_as_written(expression, swaps)
    return put_in_as_written(expression, swaps | vectors)


def letters_of(statements: Iterable[Any]) -> set[Any]:
    """The letters of statements, with vectors behind inner products and constants in means."""
    letters = {x for each in statements for x in getattr(each, "free_symbols", ())}
    inside = {y for x in letters if hasattr(x, "of") for y in x.of.free_symbols}
    letters |= {x for x in inside if "~" not in x.name}
    return letters | {vector for letter in letters for vector in factors(letter)}


def equations(moves: Iterable[Any], statements: Iterable[Any]) -> dict[Any, list[Any]]:
    """What equations between vectors say in numbers: as far as statements need it.

    An equation that says what a letter is, is multiplied by what that letter is multiplied by in
    the statements; another one by every vector.
    """
    moves = list(moves)
    needed = {letter for each in statements for letter in each.free_symbols}
    vectors = sorted(
        {x for letter in letters_of([*moves]) | needed for x in (letter, *factors(letter))}, key=str
    )
    chosen: dict[Any, list[Any]] = {move: [] for move in moves}
    for move in moves:
        if not isinstance(move.lhs, Vector):
            for vector in (x for x in vectors if isinstance(x, Vector)):
                sides = (inner(side, vector) for side in move.args)
                chosen[move].append(sympy.Eq(*sides, evaluate=False))
                needed |= chosen[move][-1].free_symbols
        elif any("E[" in x.name for x in needed):  # all that it says, for each outcome
            needed |= {product_letter(move.lhs, x) for x in letters_of([move]) if is_vector(x)}
    waiting = sorted(needed, key=str)
    for letter in waiting:  # grows
        for move in moves:
            left, right = factors(letter) or (None, None)
            if isinstance(move.lhs, Vector) and move.lhs in (left, right):
                other = right if left == move.lhs else left
                equation = sympy.Eq(letter, inner(move.rhs, other), evaluate=False)
                chosen[move].append(equation)
                waiting += sorted(equation.free_symbols - {*waiting}, key=str)
                break
    return chosen


#: Facts of more pairs than these would only be in the way.
_MOST_PAIRS = 3


def facts(
    goals: Iterable[Any], hypotheses: Iterable[Any], norms: Iterable[Any], moves: Iterable[Any]
) -> Iterator[Any]:
    """What holds of the numbers in a line because they belong to vectors.

    Squares that complete those of the goals, in two orders; what is written as a squared norm in
    `norms`; the inequality of Cauchy and Schwarz. `moves`: equations between vectors.
    """
    goals, hypotheses = list(goals), list(hypotheses)
    values = {x: move.rhs for move in moves if isinstance(x := move.lhs, Vector)}
    squares = list(norms)
    compared = [*goals, *(each for each in hypotheses if not isinstance(each, sympy.Eq))]
    for relation in (each for each in compared if isinstance(each, sympy.Rel)):
        form = sympy.expand(put_in(relation.lhs - relation.rhs, values))
        is_goal = relation in goals
        if isinstance(relation, sympy.Eq) or (is_goal and not _is_full(form)):
            continue
        for backwards in (False, True) if is_goal else (False,):
            squares += _completed(form, backwards)
    for square in dict.fromkeys(squares):
        if not square.is_nonnegative:
            yield sympy.Ge(square, 0, evaluate=False)
    letters = sorted({x for each in compared for x in each.free_symbols}, key=str)
    pairs = [pair for pair in map(factors, letters) if pair and pair[0] != pair[1]]
    for pair in pairs if len(pairs) <= _MOST_PAIRS else ():
        product = sympy.Mul(*(product_letter(x, x) for x in pair))
        yield sympy.Le(product_letter(*pair) ** 2, product, evaluate=False)


def _is_full(form: Any) -> bool:
    """Whether the square of every vector of a form stands in it, as in every sum of squares."""
    vectors = {x for letter in form.free_symbols for x in factors(letter)}
    return all(form.coeff(product_letter(x, x)) != 0 for x in vectors)


def _completed(form: Any, backwards: bool) -> list[Any]:
    """The squared norms that arise where what is quadratic in vectors becomes a sum of squares."""
    letters = {letter for letter in form.free_symbols if factors(letter)}
    entries = {frozenset(factors(x)): form.coeff(x) for x in letters}
    if any(value.has(*letters) for value in entries.values()):
        return []
    vectors = sorted({x for pair in entries for x in pair}, key=str, reverse=backwards)

    def entry(x: Vector, y: Vector) -> Any:
        value = entries.get(frozenset((x, y)), sympy.Integer(0))
        return value if x == y else value / 2

    matrix = {(x, y): entry(x, y) for x in vectors for y in vectors}
    squares: list[Any] = []
    while len(vectors) > 1:
        first = next((x for x in vectors if matrix[x, x] != 0), None)
        if first is None:  # no sum of squares, whatever their signs
            return squares if all(matrix[x, y] == 0 for x in vectors for y in vectors) else []
        vectors.remove(first)
        pivot = matrix[first, first]
        # What may be 0 somewhere must not be a denominator: it would be taken not to be.
        scale = sympy.Integer(1) if pivot.is_nonzero else pivot
        row = sympy.Add(*(matrix[first, y] * scale / pivot * y for y in vectors), scale * first)
        squares += _squares(row)
        for x, y in itertools.product(vectors, repeat=2):
            lost = matrix[x, first] * matrix[first, y] * scale / pivot
            matrix[x, y] = sympy.expand(scale * matrix[x, y] - lost)
    return squares


def are_vectors(values: Mapping[str, str]) -> bool:
    """Whether numbers can be the inner products that their names say: of a semidefinite matrix.

    What is not among them is taken to be 0.
    """
    known = {}
    for name, value in values.items():
        pair = factors(sympy.Symbol(name))
        if pair:
            number, _, power = re.sub(r"^10\^", "1*10^", value).partition("*10^")
            known[frozenset(pair)] = sympy.Rational(number) * sympy.Integer(10) ** int(power or 0)
    vectors = sorted({x for pair in known for x in pair}, key=str)
    matrix = sympy.Matrix(
        len(vectors),
        len(vectors),
        lambda i, j: known.get(frozenset((vectors[i], vectors[j])), sympy.Integer(0)),
    )
    return bool(matrix.is_positive_semidefinite)
