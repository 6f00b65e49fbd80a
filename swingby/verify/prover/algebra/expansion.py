"""Polynomials in matrices and sums over indices written out, in any commutative ring.

Letters written out as matrices of entries, in any commutative ring.

The same code runs over polynomials in the entries (proofs at a given size) and over rational
numbers (witnesses): what an entry is, the caller says.

Sizes, indices and letters at which an algebraic claim is written out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import sympy

from swingby.theory.derivations.conclusions import EntryIdentity, GradientIdentity
from swingby.theory.derivations.letters import d
from swingby.theory.derivations.matrices import (
    LAST_CLUSTER,
    LETTERS,
    A,
    I,
    U,
    Ut,
    W,
    Wt,
    cluster,
    d_prime,
    decay,
    inverse,
    n,
    over_samples,
    root,
    s,
    substitute,
    unit,
    unitt,
    z,
    zt,
)
from swingby.verify.prover.algebra.ring import Constant, Number
from swingby.verify.prover.algebra.words import Unsupported

Rows = list[list[Any]]

#: Sizes by their letter.
SIZES = {d: "d", d_prime: "d'", s: "s", n: "n"}


@dataclass(frozen=True)
class Entries:
    """What the letters are at one choice of sizes.

    `sizes`: ``"d"``, ``"d'"``, ``"s"``, ``"n"``.
    `number`: the value of a letter's entry, by its name such as ``"w_1,2"``; ``"1/"`` in front of a
    name asks for the inverse.
    `constant`: the fraction with this numerator and denominator.
    `symmetric`: W is symmetric.
    `factored`: W is U U^T, also where its entries are meant.
    `root`: a is a letter, or the square of a diagonal or full symmetric matrix. Where it is full,
    the samples are the columns of sqrt(s n) A^(1/2), so that A is their mean of x x^T.
    `zero`: directions with a_p = 0, where a_p^-1 = 0 by the text's convention.
    `sample`: cluster and number of the sample that stands outside of a sum.
    `indices`: values of the indices that are bound.
    """

    sizes: dict[str, int]
    number: Callable[[str], Any]
    constant: Callable[[int, int], Any]
    symmetric: bool = False
    factored: bool = False
    root: str = "none"
    zero: frozenset[int] = frozenset()
    sample: tuple[int, int] = (1, 1)
    indices: dict[Any, int] = field(default_factory=dict)

    def at(self, **indices: int) -> Entries:
        """The same letters with more indices bound, by name."""
        bound = {
            sympy.Symbol(name, integer=True, positive=True): at for name, at in indices.items()
        }
        return replace(self, indices=self.indices | bound)

    def entry(self, base: str, index: tuple[int, ...]) -> Any:
        """The entry of a letter."""
        bounds = (self.sizes["d"], self.sizes["d'"] if base == "u" else self.sizes["d"])
        if any(at > bound for at, bound in zip(index, bounds, strict=False)):
            raise Unsupported("an index beyond the range of its letter")
        if base in ("a", "a^-1", "exp(-a t)") and index[0] in self.zero:
            return self.constant(1 if base == "exp(-a t)" else 0, 1)
        if base in ("mu", "sigma") and index[0] > self.sizes["s"]:
            return self.constant(0, 1)
        if base == "a^-1":
            return self.number(f"1/a_{index[0]}")
        if base == "a" and self.root == "diagonal":
            return self.number(f"r_{index[0]}") * self.number(f"r_{index[0]}")
        if base == "w" and self.factored:
            rows = self.letter_entries("u", self.sizes["d"], self.sizes["d'"])
            pairs = zip(rows[index[0] - 1], rows[index[1] - 1], strict=True)
            return self.total([one * two for one, two in pairs])
        if base == "x":
            # a sample of the mixture: its law depends on its cluster
            return self.number(f"x_{index[0]}|{self.indices[cluster]},{self.sample[1]}")
        if base == "w" and self.symmetric:
            index = (min(index), max(index))
        return self.number(f"{base}_{','.join(map(str, index))}")

    def total(self, terms: list[Any]) -> Any:
        """The sum of some ring elements."""
        return sum(terms[1:], terms[0]) if terms else self.constant(0, 1)

    def letter_entries(self, base: str, rows: int, columns: int) -> Rows:
        """A matrix of plain entries."""
        return [
            [self.entry(base, (row + 1, column + 1)) for column in range(columns)]
            for row in range(rows)
        ]

    def letter(self, symbol: Any) -> Rows:
        """A letter as rows of entries."""
        size = self.sizes["d"]
        zero, one = self.constant(0, 1), self.constant(1, 1)
        if symbol == I:
            return [
                [one if row == column else zero for column in range(size)] for row in range(size)
            ]
        letter = LETTERS[symbol]
        if symbol in (unit, unitt):
            (row,) = [at for name, at in self.indices.items() if name.name == "k"]
            column = [[one if entry + 1 == row else zero] for entry in range(size)]
            return column if symbol == unit else flip(column)
        if self.root == "full" and symbol in (root, A):
            rows = [
                [self.number(f"r_{min(p, q)},{max(p, q)}") for q in range(1, size + 1)]
                for p in range(1, size + 1)
            ]
            return rows if symbol == root else product(rows, rows)
        if letter.diagonal:
            if symbol == root:
                diagonal = [self.number(f"r_{p}") for p in range(1, size + 1)]
            else:
                base = {A: "a", inverse: "a^-1", decay: "exp(-a t)"}[symbol]
                diagonal = [self.entry(base, (p,)) for p in range(1, size + 1)]
            return [[diagonal[p] if p == q else zero for q in range(size)] for p in range(size)]
        flipped = symbol.name.endswith("^T")
        shape = (letter.columns, letter.rows) if flipped else (letter.rows, letter.columns)
        if shape[1] == "1":
            column = [[value] for value in self._vector(symbol, letter.entries, letter.sample)]
            return flip(column) if flipped else column
        rows = self.letter_entries(letter.entries, self.sizes[shape[0]], self.sizes[shape[1]])
        return flip(rows) if flipped else rows

    def _vector(self, symbol: Any, base: str, sample: bool) -> list[Any]:
        size = self.sizes["d"]
        if not sample:
            return [self.entry(base, (p,)) for p in range(1, size + 1)]
        group, number = self.sample
        group = self.sizes["s"] if symbol in LAST_CLUSTER else group
        if base == "x" and self.root == "full":
            count = self.sizes["s"] * self.sizes["n"]
            place = (group - 1) * self.sizes["n"] + number
            if math.isqrt(count) ** 2 != count or count < size:
                raise Unsupported("the samples cannot be the columns of the root")
            scale = self.constant(math.isqrt(count) if place <= size else 0, 1)
            column = min(place, size)
            return [
                scale * self.number(f"r_{min(p, column)},{max(p, column)}")
                for p in range(1, size + 1)
            ]
        return [self.number(f"{base}_{p}^({group},{number})") for p in range(1, size + 1)]


def product(left: Rows, right: Rows) -> Rows:
    """The product of two matrices given by rows."""
    if any(len(row) != len(right) for row in left):
        raise Unsupported("the shapes do not fit")
    columns = flip(right)
    return [
        [
            sum(
                (one * two for one, two in zip(row[1:], column[1:], strict=True)),
                row[0] * column[0],
            )
            for column in columns
        ]
        for row in left
    ]


def flip(rows: Rows) -> Rows:
    """The transpose of a matrix given by rows."""
    return [list(column) for column in zip(*rows, strict=True)]


def matrix(expression: Any, entries: Entries) -> Rows:
    """A polynomial in matrices, written out.

    `expression`: in the letters of :mod:`swingby.theory.derivations.matrices`, without definitions
    left. Raises Unsupported where the expression is outside that language.
    """
    if expression == I or expression in LETTERS:
        return entries.letter(expression)
    if expression.is_Add:
        first, *others = (matrix(term, entries) for term in expression.args)
        for other in others:
            first = [
                [one + two for one, two in zip(*rows, strict=True)]
                for rows in zip(first, other, strict=True)
            ]
        return first
    if expression.is_Mul:
        scalars, factors = expression.args_cnc()
        result = matrix(factors[0], entries)
        for factor in factors[1:]:
            result = product(result, matrix(factor, entries))
        for factor in scalars:
            value = scalar(factor, entries)
            result = [[value * item for item in row] for row in result]
        return result
    if expression.is_Pow and expression.exp.is_Integer and expression.exp > 0:
        base = result = matrix(expression.base, entries)
        for _ in range(int(expression.exp) - 1):
            result = product(result, base)
        return result
    name = expression.func.__name__
    if name == "squared_norm":
        rows = matrix(expression.args[0], entries)
        return [[entries.total([item * item for row in rows for item in row])]]
    if name == "over_samples":
        samples = [
            (cluster, number)
            for cluster in range(1, entries.sizes["s"] + 1)
            for number in range(1, entries.sizes["n"] + 1)
        ]
        parts = [matrix(expression.args[0], replace(entries, sample=at)) for at in samples]
        return [
            [entries.total(list(items)) for items in zip(*rows, strict=True)]
            for rows in zip(*parts, strict=True)
        ]
    raise Unsupported(f"no entries for {expression}")


def scalar(expression: Any, entries: Entries) -> Any:
    """A formula in entries, sums and indices, written out.

    Returns a mean is taken over the cluster only: its Gaussian letters stay in the result, for
    :func:`swingby.verify.prover.algebra.ring.without_gaussians`.
    Raises Unsupported where the expression is outside that language.
    """
    if expression.is_Rational:
        return entries.constant(int(expression.p), int(expression.q))
    if isinstance(expression, sympy.Indexed):
        index = tuple(entries.indices[symbol] for symbol in expression.indices)
        return entries.entry(str(expression.base), index)
    if expression in SIZES:
        return entries.constant(entries.sizes[SIZES[expression]], 1)
    if expression.is_Symbol:
        return entries.number(expression.name)
    if expression.is_Add:
        return entries.total([scalar(term, entries) for term in expression.args])
    if expression.is_Mul:
        result = entries.constant(1, 1)
        for factor in expression.args:
            result = result * scalar(factor, entries)
        return result
    if expression.is_Pow and expression.exp.is_Integer:
        return _power(expression, entries)
    name = expression.func.__name__
    if name == "KroneckerDelta":
        one, two = (entries.indices[symbol] for symbol in expression.args)
        return entries.constant(int(one == two), 1)
    if name == "inside":
        return entries.constant(int(entries.indices[expression.args[0]] <= entries.sizes["s"]), 1)
    if name in ("Sum", "rest"):
        return _sum(expression, entries)
    if name == "mean":
        return _over_clusters(expression.args[0], entries)
    raise Unsupported(f"no value for {expression}")


def _sum(expression: Any, entries: Entries) -> Any:
    if expression.func.__name__ == "rest":
        body, index = expression.args
        left_out = {at for name, at in entries.indices.items() if name.name in ("i", "j")}
        values = [at for at in range(1, entries.sizes["d"] + 1) if at not in left_out]
    else:
        body = expression.function
        (index, _, upper), *others = expression.limits
        if others or upper not in SIZES:
            raise Unsupported("a sum over more than one index")
        values = list(range(1, entries.sizes[SIZES[upper]] + 1))
    bound = [replace(entries, indices=entries.indices | {index: at}) for at in values]
    return entries.total([scalar(body, part) for part in bound])


def _over_clusters(body: Any, entries: Entries) -> Any:
    bases = {str(base) for base in body.atoms(sympy.IndexedBase)}
    if "x" not in bases and cluster not in body.free_symbols:
        return scalar(body, entries)
    count = entries.sizes["s"]
    parts = [
        scalar(body, replace(entries, indices=entries.indices | {cluster: at}))
        for at in range(1, count + 1)
    ]
    return entries.constant(1, count) * entries.total(parts)


def _power(expression: Any, entries: Entries) -> Any:
    base, exponent = expression.base, int(expression.exp)
    if exponent < 0:
        if base in SIZES:
            value = entries.constant(1, entries.sizes[SIZES[base]])
        elif base.is_Symbol:
            value = entries.number(f"1/{base.name}")
        else:
            raise Unsupported(f"no value for {expression}")
    else:
        value = scalar(base, entries)
    result = entries.constant(1, 1)
    for _ in range(abs(exponent)):
        result = result * value
    return result


#: Sizes d of the entrywise proofs.
PROOF_SIZES = (1, 2, 3, 4, 5)

#: Sizes d of a witness.
WITNESS_SIZES = (1, 2)


@dataclass(frozen=True)
class Layout:
    """One way to write a claim out.

    `options`: fields of :class:`Entries`. `indices`: values of the free indices.
    """

    sizes: dict[str, int]
    options: dict[str, Any]
    indices: dict[str, int]

    def entries(self, number: Number, constant: Constant) -> Entries:
        """The letters over a ring."""
        return Entries(self.sizes, number, constant, **self.options).at(**self.indices)

    @property
    def names(self) -> dict[str, str]:
        """Sizes and indices for a witness."""
        shown = {name: str(value) for name, value in (self.sizes | self.indices).items()}
        shown |= {f"a_{place}": "0" for place in sorted(self.options.get("zero", ()))}
        if self.options.get("root") == "full" and "sample" in self.options:
            shown |= {"samples": "columns of sqrt(s n) A^(1/2), then zeros"}
        if "sample" in self.options:
            cluster, number = self.options["sample"]
            shown |= {"the single sample": f"p = {cluster}, k = {number}"}
        return shown


def sides(conclusion: Any, where: tuple[tuple[Any, Any], ...]) -> tuple[Any, ...]:
    """The expressions of a conclusion with definitions put in."""
    if isinstance(conclusion, GradientIdentity):
        parts = (conclusion.loss, conclusion.gradient)
    else:
        parts = (conclusion.left, conclusion.right)
    return tuple(substitute(part, where) for part in parts)


def symmetric(where: tuple[tuple[Any, Any], ...]) -> bool:
    """Whether W is symmetric by definition."""
    return factored(where) or (Wt, W) in where


def factored(where: tuple[tuple[Any, Any], ...]) -> bool:
    """Whether W is U U^T by definition."""
    return (W, U * Ut) in where


def square(where: tuple[tuple[Any, Any], ...]) -> bool:
    """Whether d = s by definition."""
    return any(symbol == s for symbol, _ in where)


def located(expressions: tuple[Any, ...]) -> bool:
    """Whether a line speaks of [s], so that free directions matter."""
    bases = {str(base) for part in expressions for base in part.atoms(sympy.IndexedBase)}
    operators = {
        operator.func.__name__ for part in expressions for operator in part.atoms(sympy.Function)
    }
    letters = any(part.has(letter) for part in expressions for letter in (z, zt))
    return bool(bases & {"mu", "sigma", "exp(-a t)"} or "inside" in operators or letters)


def layouts(
    conclusion: Any,
    where: tuple[tuple[Any, Any], ...],
    dimensions: tuple[int, ...],
    witness: bool = False,
) -> Iterator[Layout]:
    """Every way to write a claim out, small sizes first."""
    parts = sides(conclusion, where)
    samples = any(part.has(over_samples) or _has_sample(part) for part in parts)
    # a sum to n that is no sum over samples: n is then a size of its own
    counted = not samples and any(part.has(n) for part in parts)
    options: dict[str, Any] = {"symmetric": symmetric(where), "factored": factored(where)}
    if any(part.has(root) for part in parts):
        options["root"] = "diagonal" if factored(where) else "full"
    for size in dimensions:
        clusters: tuple[int, ...] = (size,)
        if isinstance(conclusion, EntryIdentity) and located(parts) and not square(where):
            clusters = tuple(range(1, size + 1))
        for s_value in clusters:
            for n_value in range(1, size + 1) if counted else (1,):
                # U is not square in general; at larger sizes the words have to do
                columns = size + 1 if size <= 2 and not witness else size
                sizes = {"d": size, "d'": columns, "s": s_value, "n": n_value}
                variants = [options]
                if samples:
                    full = options.get("root") == "full"
                    yield from _sampled(conclusion, parts, sizes, options, full, witness)
                    continue
                if located(parts):
                    outside = frozenset(range(s_value + 1, size + 1))
                    variants = [options | {"zero": zero} for zero in (outside, outside | {s_value})]
                for variant in variants:
                    for indices in _indices(conclusion, parts, size):
                        yield Layout(sizes, variant, indices)


def _sampled(
    conclusion: Any,
    parts: tuple[Any, ...],
    sizes: dict[str, int],
    options: dict[str, Any],
    full: bool,
    witness: bool,
) -> Iterator[Layout]:
    # where the samples are the columns of the root, s n has to be a square of at least d
    counts: tuple[tuple[int, int], ...]
    if witness:
        counts = ((1, 1), (2, 2)) if full else ((1, 1), (1, 2), (2, 1), (2, 2))
    else:
        counts = ((3, 3),) if full else ((2, 2),)
    for s_value, n_value in counts:
        for number in range(1, min(n_value, 2) + 1):
            for indices in _indices(conclusion, parts, sizes["d"]):
                yield Layout(
                    sizes | {"s": s_value, "n": n_value},
                    options | {"sample": (1, number)},
                    indices,
                )


def _has_sample(expression: Any) -> bool:
    return any(symbol in LETTERS and LETTERS[symbol].sample for symbol in expression.free_symbols)


def _indices(conclusion: Any, parts: tuple[Any, ...], size: int) -> Iterator[dict[str, int]]:
    names = set()
    if isinstance(conclusion, EntryIdentity):
        free = {symbol for part in parts for symbol in part.free_symbols if symbol.is_integer}
        bound = {
            operator.args[1]
            for part in parts
            for operator in part.atoms(sympy.Function)
            if operator.func.__name__ == "rest"
        }
        names = {symbol.name for symbol in free - bound}
        if not conclusion.left.is_commutative and not conclusion.left.has(zt):
            names |= {"i", "j"}
    if any(part.has(letter) for part in parts for letter in (unit, unitt)):
        names |= {"k"}
    ordered = sorted(names)
    for values in itertools.product(range(1, size + 1), repeat=len(ordered)):
        yield dict(zip(ordered, values, strict=True))
