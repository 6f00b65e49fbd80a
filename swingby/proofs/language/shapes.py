"""Matrices of one's own: letters with rows, columns and a trait; transposes, inverses, traces.

A shape is a pair of sizes: names such as n, or numbers. A number is a matrix of shape 1 x 1, and
the letter I is the identity of the size that its place asks for.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import sympy
from sympy.printing.str import StrPrinter

from swingby.proofs.language.matrices import I

#: Words before ``matrix`` in a proof file, and the trait that they are.
TRAITS = {
    "": "",
    "symmetric": "symmetric",
    "positive semidefinite": "semidefinite",
    "positive definite": "definite",
    "orthogonal": "orthogonal",
    "invertible": "invertible",
}
#: Traits by what they say besides: that a letter is its transpose, that it has an inverse.
_SYMMETRIC, _INVERTIBLE = ("symmetric", "semidefinite", "definite"), ("definite", "invertible")

#: Rows and columns; None of a matrix that has the shape that its place asks for.
Shape = tuple[str, str] | None


class Matrix(sympy.Symbol):  # type: ignore[misc]
    """A letter for a matrix: its name, rows, columns and trait."""

    __slots__ = ("columns", "rows", "trait")

    def __new__(cls, name: str, rows: str, columns: str, trait: str = "") -> Matrix:
        """The letter with a name and a shape."""
        letter: Matrix = sympy.Symbol.__xnew__(cls, name, commutative=False)
        letter.rows, letter.columns, letter.trait = rows, columns, trait
        return letter

    def __getnewargs_ex__(self) -> tuple[tuple[str, ...], dict[str, Any]]:
        """What makes a copy."""
        return (self.name, self.rows, self.columns, self.trait), {}

    def _hashable_content(self) -> tuple[Any, ...]:
        return self.name, self.rows, self.columns, self.trait

    def _sympyrepr(self, _: Any) -> str:
        return f"Matrix({self.name!r}, {self.rows!r}, {self.columns!r}, {self.trait!r})"


class Transposed(sympy.Function):  # type: ignore[misc]
    """The transpose: of a letter, or of an inverse; of everything else it is carried out."""

    is_commutative = False

    @classmethod
    def eval(cls, x: Any) -> Any:
        """The transpose of a sum, a product or a power."""
        if x.is_commutative or x == I or getattr(x, "trait", "") in _SYMMETRIC:
            return x
        if x.is_Add or x.is_Mul:
            return x.func(*(cls(each) for each in reversed(x.args)))
        if x.is_Pow:
            return cls(x.base) ** x.exp
        if isinstance(x, cls):
            return x.args[0]
        if isinstance(x, Inverted) and cls(x.args[0]) == x.args[0]:
            return x
        return None


class Inverted(sympy.Function):  # type: ignore[misc]
    """The inverse of a letter that has one."""

    is_commutative = False


class Traced(sympy.Function):  # type: ignore[misc]
    """The trace, as written; of X^T X it is not negative."""

    is_commutative = True
    is_real = True

    def _eval_is_nonnegative(self) -> bool | None:
        numbers, powers = self.args[0].args_cnc()
        factors = [x for each in powers for x in [each.as_base_exp()[0]] * each.as_base_exp()[1]]
        middle = len(factors) // 2
        first, second = (sympy.Mul(*half) for half in (factors[:middle], factors[middle:]))
        return (sympy.Mul(*numbers).is_nonnegative and Transposed(second) == first) or None


class Blocks(sympy.Function):  # type: ignore[misc]
    """A matrix of two rows of two blocks, as written."""

    is_commutative = False


def about_matrices(expression: Any) -> bool:
    """Whether a letter with a shape, or a trace, stands in an expression or a relation."""
    return isinstance(expression, sympy.Basic) and expression.has(Matrix, Traced, Blocks)


def is_matrix(expression: Any) -> bool:
    """Whether an expression is a matrix, and no number such as a trace."""
    return about_matrices(expression) and not expression.is_commutative


def product(left: Any, right: Any) -> Any:
    """The inner product of two matrices, and of two vectors: the trace of left^T right."""
    if shape(left) != shape(right):
        raise ValueError(f"{_facts((left, right))}: an inner product is of one shape")
    return Traced(Transposed(left) * right)


def length(x: Any) -> Any:
    """The Frobenius norm of a matrix, the length of a vector."""
    return sympy.sqrt(product(x, x))


def is_length(x: Any) -> bool:
    """Whether a number is such a root, as written: its square is the trace."""
    is_root = x.is_Pow and x.exp == sympy.Rational(1, 2) and isinstance(x.base, Traced)
    return is_root and bool(x.base.is_nonnegative)


def inverse(x: Any) -> Any:
    """The inverse of a letter; ValueError where it has none for sure."""
    if getattr(x, "trait", "") == "orthogonal":
        return Transposed(x)
    if getattr(x, "trait", "") not in _INVERTIBLE:
        raise ValueError(
            f"{_text(x)} has no inverse that is known: declare an invertible or a positive "
            "definite matrix, and take the inverse of the letter"
        )
    return Inverted(x)


def power(base: Any, exponent: Any) -> Any:
    """A whole power, or the inverse."""
    if is_length(base):
        return base**exponent
    if exponent == -1:
        return inverse(base)
    if not (exponent.is_Integer and exponent > 0):
        raise ValueError(
            f"{_text(base)} is a matrix: powers are 2, 3, ..., T for its transpose, -1"
        )
    return base**exponent


#: Traits that follow from others.
_IMPLIED = {
    "symmetric": ("semidefinite", "definite"),
    "semidefinite": ("definite",),
    "invertible": ("definite", "orthogonal"),
}


def check_instance(letter: Any, value: Any) -> None:
    """Raise ValueError unless a value may stand for a letter: of its shape, and of its trait."""
    if not isinstance(letter, Matrix):
        if is_matrix(value):
            raise ValueError(f"{letter} is a number")
        return
    own = (letter.rows, letter.columns)
    if not about_matrices(value) or shape(value) != own:
        raise ValueError(f"{_facts((letter,))}, which {_text(value)} is not")
    trait = getattr(value, "trait", "")
    if letter.trait not in ("", trait) and trait not in _IMPLIED.get(letter.trait, ()):
        raise ValueError(f"{letter} is {letter.trait}: put in a letter that is")


def shape(x: Any) -> Shape:
    """The shape of an expression; ValueError names what does not go together."""
    if isinstance(x, Matrix):
        return x.rows, x.columns
    if x == I:
        return None
    if isinstance(x, Traced | Inverted | Blocks):
        inner = [shape(argument) for argument in x.args]
        if isinstance(x, Blocks):
            _check_block(x.args, inner)
        elif inner[0] is None or inner[0][0] != inner[0][1]:
            raise ValueError(f"{_facts(x.args)}: a trace is of a square matrix of a known size")
        return (
            inner[0] if isinstance(x, Inverted) else None if isinstance(x, Blocks) else ("1", "1")
        )
    if isinstance(x, Transposed):
        inner_shape = shape(x.args[0])
        return inner_shape and inner_shape[::-1]
    if x.is_commutative:
        if about_matrices(x) and not (x.is_Add or x.is_Mul or x.is_Pow or isinstance(x, sympy.Abs)):
            raise ValueError(f"{_text(x)} is of numbers alone, and of no matrices or traces")
        for each in x.args:  # the traces in it
            shape(each)
        return "1", "1"
    if x.is_Pow:
        if not (x.exp.is_Integer and x.exp > 0):
            raise ValueError(
                f"{_text(x.base)} is a matrix, and no denominator: write {_text(x.base)}^-1"
            )
        return _of_product([x.base, x.base])
    if x.is_Mul:
        numbers, factors = x.args_cnc()
        for number in numbers:
            shape(number)
        return _of_product(factors)
    if x.is_Add:
        return _of_sum(x.args)
    if x.is_Symbol:
        raise ValueError(f"{x} is a vector of no known size: letters matrix: {x} is n x 1")
    raise ValueError(f"{_text(x)} is no matrix with a shape")


def _of_product(factors: Iterable[Any]) -> Shape:
    joined: Shape = None
    before: Any = None
    for factor in factors:
        own = shape(factor)
        if joined and own and joined[1] != own[0]:
            raise ValueError(f"{_facts((before, factor))}: {_repair(before, factor)}")
        joined = (joined[0], own[1]) if joined and own else joined or own
        before = factor if own else before
    return joined


def _of_sum(terms: Iterable[Any]) -> Shape:
    """The shape of all terms, the same for all; 0 has any."""
    known = [(term, own) for term in terms if term != 0 and (own := shape(term))]
    for first, second in itertools.pairwise(known):
        if first[1] != second[1]:
            flat = first[1] == second[1][::-1]
            advice = f"write {_transposed(second[0])}" if flat else "terms have one shape"
            if ("1", "1") in (first[1], second[1]) and not flat:
                advice = "a number times I is a matrix: write c I"
            raise ValueError(f"{_facts((first[0], second[0]))}: {advice}")
    total = known[0][1] if known else None
    if total and total[0] != total[1] and any(term != 0 and not shape(term) for term in terms):
        raise ValueError(f"{_facts((known[0][0],))}: only a square matrix goes with I")
    return total


def check_sides(relation: Any) -> None:
    """Raise ValueError where the sides of a relation have two shapes, or are in no order."""
    sides = relation.args
    if blocks := [side for side in sides if side.has(Blocks)]:
        larger = getattr(relation, "gts", None)
        if not (isinstance(larger, Blocks) and relation.lts == 0):
            raise ValueError("a block matrix is compared with 0 alone: block(A, B, B^T, C) >= 0")
        shape(blocks[0])
    else:
        both = _of_sum(sides)
        if not isinstance(relation, sympy.Eq | sympy.Ne) and both and both[0] != both[1]:
            raise ValueError(f"{_facts(sides)}: only square matrices are in an order")


def _check_block(entries: Any, shapes: list[Shape]) -> None:
    """Refuse blocks that make no symmetric matrix."""
    if len(entries) != 4:
        raise ValueError("a block matrix has four blocks: block(A, B, B^T, C)")
    rows, columns = (_sizes_of(entries, shapes, at) for at in (0, 1))
    if len(rows) > 1 or len(columns) > 1:
        raise ValueError(
            f"{_facts(entries)}: A and C are square, B has the rows of A, columns of C"
        )
    if any(
        sympy.expand(Transposed(x) - y) != 0 for x, y in zip(entries, _flat(entries), strict=True)
    ):
        raise ValueError("a block matrix in an order is symmetric: block(A, B, B^T, C)")


def _sizes_of(entries: Any, shapes: list[Shape], at: int) -> set[str]:
    """The sizes that the blocks of a row, and of the column with it, have."""
    places = itertools.product((0, 1), repeat=2)
    ends = zip(places, entries, shapes, strict=True)
    return {
        own[end] for place, x, own in ends if x != 0 and own for end in (0, 1) if place[end] == at
    }


def _flat(entries: Any) -> tuple[Any, ...]:
    a, b, c, d = entries
    return a, c, b, d


def _facts(operands: Iterable[Any]) -> str:
    """Expressions with their shapes: ``W1 is h x m, W2 is n x h``."""
    texts = []
    for operand in operands:
        sizes = shape(operand)
        texts.append(f"{_text(operand)} is {' x '.join(sizes) if sizes else 'of any size'}")
    return ", ".join(texts)


def _repair(left: Any, right: Any) -> str:
    """What to type in place of a product whose shapes do not go together."""
    choices = [(left, Transposed(right)), (Transposed(left), right), (right, left)]
    writable = []
    for first, second in choices:
        if (shape(first) or ("", ""))[1] == (shape(second) or ("", ""))[0]:
            writable.append(f"{_text(first, True)} {_text(second, True)}")
    return f"write {' or '.join(writable)}" if writable else "the columns are not the rows"


def _transposed(x: Any) -> str:
    return _text(Transposed(x), True)


class _FileText(StrPrinter):  # type: ignore[misc]
    """Formulas as the exported files have them, with * between factors and ^ for powers."""

    def _print_Transposed(self, expr: Any) -> str:
        inner = expr.args[0]
        return f"{inner.args[0]}^-T" if isinstance(inner, Inverted) else f"{inner}^T"

    def _print_Inverted(self, expr: Any) -> str:
        return f"{expr.args[0]}^-1"

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        text = str(super()._print_Pow(expr, rational))
        raised = isinstance(expr.base, Transposed | Inverted)
        return f"({self._print(expr.base)})**{expr.exp}" if raised else text

    def _print_Traced(self, expr: Any) -> str:
        return f"trace({self._print(expr.args[0])})"

    def _print_SquaredNorm(self, expr: Any) -> str:
        return f"|{self._print(expr.args[0])}|^2"

    def _print_InnerProduct(self, expr: Any) -> str:
        return f"dot({', '.join(map(self._print, expr.args))})"

    def _print_Sum(self, expr: Any) -> str:
        arguments = (expr.args[0], *(x for each in expr.args[1:] for x in each))
        return f"sum({', '.join(map(self._print, arguments))})"

    def _print_Mean(self, expr: Any) -> str:
        return f"E({self._print(expr.args[0])})"

    def _print_FiniteSum(self, expr: Any) -> str:
        return f"sum({', '.join(map(self._print, expr.args))})"

    def _print_Blocks(self, expr: Any) -> str:
        return f"block({', '.join(map(self._print, expr.args))})"


def matrix_text(expression: Any) -> str:
    """An expression as a line of an exported file."""
    return str(_FileText().doprint(expression)).replace("**", "^")


def _text(expression: Any, in_product: bool = False) -> str:
    text = matrix_text(expression).replace("*", " ").replace("~", "")
    return f"({text})" if in_product and expression.is_Add else text
