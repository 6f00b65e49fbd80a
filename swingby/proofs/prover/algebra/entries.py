"""Letters of algebraic claims written out at small sizes: matrices of entries, sums as sums.

The same code runs over exact polynomials of flint in the entries (proofs at a given size) and over
rational numbers (witnesses): what a letter is, the caller says.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import flint
import sympy

from swingby.proofs.language.matrices import (
    LAST_CLUSTER,
    LETTERS,
    A,
    I,
    cluster,
    d_prime,
    n,
    over_samples,
    root,
    s,
    squared_norm,
    unit,
    unitt,
)
from swingby.proofs.prover.algebra.words import Unsupported
from swingby.theory.assumptions import d

Rows = list[list[Any]]
#: The elements of a ring by the names of letters; ``"1/eta"`` is the inverse of ``"eta"``.
Number = Callable[[str], Any]

#: Sizes by their letter.
SIZES = {d: "d", d_prime: "d'", s: "s", n: "n"}


@dataclass(frozen=True)
class Entries:
    """The letters of a claim written out at a choice of sizes.

    `indices`: values of the indices that are free or bound, by name.
    `number`: the letters of the ring; an entry is a name such as ``"w_1,2"``.
    `symmetric`: W is symmetric.
    `factored`: W is U U^T, also where its entries are meant.
    `root`: a is a letter, or the square of a diagonal or full symmetric matrix. Where it is full,
    the samples are the columns of sqrt(s n) A^(1/2), so that A is their mean of x x^T.
    `zero`: directions with a_p = 0, where a_p^-1 = 0 by the text's convention.
    `sample`: cluster and number of the sample that stands outside of a sum, in a line about some.
    """

    sizes: dict[str, int]
    indices: dict[str, int]
    number: Number = sympy.Symbol
    symmetric: bool = False
    factored: bool = False
    root: str = "none"
    zero: frozenset[int] = frozenset()
    sample: tuple[int, int] | None = None

    def over(self, number: Number) -> Entries:
        """The same letters in another ring."""
        return replace(self, number=number)

    def bind(self, index: Any, at: int) -> Entries:
        """The same letters with a further index bound."""
        return replace(self, indices=self.indices | {index.name: at})

    @property
    def names(self) -> dict[str, str]:
        """Sizes and indices for a witness."""
        labels = {name: str(value) for name, value in (self.sizes | self.indices).items()}
        labels |= {f"a_{direction}": "0" for direction in sorted(self.zero)}
        if self.sample is not None:
            if self.root == "full":
                labels |= {"samples": "columns of sqrt(s n) A^(1/2), then zeros"}
            group, number = self.sample
            labels |= {"the single sample": f"p = {group}, k = {number}"}
        return labels

    def samples(self) -> Iterator[Entries]:
        """The same letters for each sample in turn, its cluster bound."""
        clusters, numbers = (range(1, self.sizes[name] + 1) for name in ("s", "n"))
        for sample in itertools.product(clusters, numbers):
            yield replace(self.bind(cluster, sample[0]), sample=sample)

    def entry(self, base: str, index: tuple[int, ...]) -> Any:
        """The entry of a letter."""
        bounds = (self.sizes["d"], self.sizes["d'"] if base == "u" else self.sizes["d"])
        if any(at > bound for at, bound in zip(index, bounds, strict=False)):
            raise Unsupported("an index beyond the range of its letter")
        if base in ("a", "a^-1", "exp(-a t)") and index[0] in self.zero:
            return int(base == "exp(-a t)")
        if base in ("mu", "sigma") and index[0] > self.sizes["s"]:
            return 0
        if base == "a^-1":
            return self.number(f"1/a_{index[0]}")
        if base == "a" and self.root == "diagonal":
            return self.number(f"r_{index[0]}") * self.number(f"r_{index[0]}")
        if base == "w" and self.factored:
            rows = self.entry_matrix("u", self.sizes["d"], self.sizes["d'"])
            return product([rows[index[0] - 1]], transposed([rows[index[1] - 1]]))[0][0]
        if base == "x":
            # a sample of the mixture: its law depends on its cluster
            _, number = self.sample or (1, 1)
            return self.number(f"x_{index[0]}|{self.indices[cluster.name]},{number}")
        if base == "w" and self.symmetric:
            index = (min(index), max(index))
        return self.number(f"{base}_{','.join(map(str, index))}")

    def entry_matrix(self, base: str, rows: int, columns: int) -> Rows:
        """A matrix of plain entries."""
        return [
            [self.entry(base, (p, q)) for q in range(1, columns + 1)] for p in range(1, rows + 1)
        ]

    def letter(self, symbol: Any) -> Rows:
        """A letter as rows of entries."""
        places = range(1, self.sizes["d"] + 1)
        if symbol == I:
            return _diagonal([1] * len(places))
        letter = LETTERS[symbol]
        if symbol in (unit, unitt):
            row = [int(p == self.indices["k"]) for p in places]
            return [row] if symbol == unitt else transposed([row])
        if self.root == "full" and symbol in (root, A):
            rows = [[self.number(f"r_{min(p, q)},{max(p, q)}") for q in places] for p in places]
            return rows if symbol == root else product(rows, rows)
        if symbol == root:
            return _diagonal([self.number(f"r_{p}") for p in places])
        if letter.diagonal:
            return _diagonal([self.entry(letter.entries, (p,)) for p in places])
        flipped = symbol.name.endswith("^T")
        shape = (letter.columns, letter.rows) if flipped else (letter.rows, letter.columns)
        if shape[1] == "1":
            row = self._vector(symbol, letter.entries, letter.sample)
            return [row] if flipped else transposed([row])
        rows = self.entry_matrix(letter.entries, self.sizes[shape[0]], self.sizes[shape[1]])
        return transposed(rows) if flipped else rows

    def _vector(self, symbol: Any, base: str, sample: bool) -> list[Any]:
        places = range(1, self.sizes["d"] + 1)
        if not sample:
            return [self.entry(base, (p,)) for p in places]
        group, number = self.sample or (1, 1)
        group = self.sizes["s"] if symbol in LAST_CLUSTER else group
        if base != "x" or self.root != "full":
            return [self.number(f"{base}_{p}^({group},{number})") for p in places]
        count, sample_index = (
            self.sizes["s"] * self.sizes["n"],
            (group - 1) * self.sizes["n"] + number,
        )
        if math.isqrt(count) ** 2 != count or count < len(places):
            raise Unsupported("the samples cannot be the columns of the root")
        scale = math.isqrt(count) if sample_index in places else 0
        column = min(sample_index, len(places))
        return [scale * self.number(f"r_{min(p, column)},{max(p, column)}") for p in places]


def _diagonal(values: list[Any]) -> Rows:
    places = range(len(values))
    return [[values[p] if p == q else 0 for q in places] for p in places]


def product(left: Rows, right: Rows) -> Rows:
    """The product of two matrices given by rows."""
    if any(len(row) != len(right) for row in left):
        raise Unsupported("the shapes do not fit")
    return [
        [sum(x * y for x, y in zip(row, column, strict=True)) for column in transposed(right)]
        for row in left
    ]


def transposed(rows: Rows) -> Rows:
    """The transpose of a matrix given by rows."""
    return [list(column) for column in zip(*rows, strict=True)]


def matrix(expression: Any, entries: Entries) -> Rows:
    """A polynomial in matrices, without definitions left, written out."""
    if expression == I or expression in LETTERS:
        return entries.letter(expression)
    if expression.is_Add:
        return _summed([matrix(term, entries) for term in expression.args])
    if expression.is_Mul:
        scalars, factors = expression.args_cnc()
        multiplied = matrix(factors[0], entries)
        for factor in factors[1:]:
            multiplied = product(multiplied, matrix(factor, entries))
        for factor in scalars:
            value = scalar(factor, entries)
            multiplied = [[value * entry for entry in row] for row in multiplied]
        return multiplied
    if expression.is_Pow and expression.exp.is_Integer and expression.exp > 0:
        return matrix(sympy.Mul(*[expression.base] * int(expression.exp), evaluate=False), entries)
    if expression.func == squared_norm:
        rows = matrix(expression.args[0], entries)
        return [[sum(entry * entry for row in rows for entry in row)]]
    if expression.func == over_samples:
        return _summed([matrix(expression.args[0], sample) for sample in entries.samples()])
    raise Unsupported(f"no entries for {expression}")


def _summed(summands: list[Rows]) -> Rows:
    if len({(len(summand), len(summand[0])) for summand in summands}) > 1:
        raise Unsupported("the shapes do not fit")
    return [
        [sum(entries) for entries in zip(*rows, strict=True)]
        for rows in zip(*summands, strict=True)
    ]


def scalar(expression: Any, entries: Entries) -> Any:
    """A formula in entries, sums and indices, written out.

    A mean is taken over the cluster only: its Gaussian letters stay in the result.
    """
    if expression.is_Rational:
        return flint.fmpq(int(expression.p), int(expression.q))
    if isinstance(expression, sympy.Indexed):
        index = tuple(entries.indices[symbol.name] for symbol in expression.indices)
        return entries.entry(str(expression.base), index)
    if expression in SIZES:
        return entries.sizes[SIZES[expression]]
    if expression.is_Symbol:
        return entries.number(expression.name)
    if expression.is_Add:
        return sum(scalar(term, entries) for term in expression.args)
    if expression.is_Mul:
        return math.prod(scalar(factor, entries) for factor in expression.args)
    if expression.is_Pow and expression.exp.is_Integer:
        return _power(expression.base, int(expression.exp), entries)
    name, arguments = expression.func.__name__, expression.args
    if name == "KroneckerDelta":
        row, column = (entries.indices[symbol.name] for symbol in arguments)
        return int(row == column)
    if name == "inside":
        return int(entries.indices[arguments[0].name] <= entries.sizes["s"])
    if name == "rest":
        body, index = arguments
        left_out = (entries.indices.get("i"), entries.indices.get("j"))
        values = [at for at in range(1, entries.sizes["d"] + 1) if at not in left_out]
        return sum(scalar(body, entries.bind(index, at)) for at in values)
    if name == "Sum":
        (index, lower, upper), *extra_limits = expression.limits
        if extra_limits or lower != 1 or upper not in SIZES:
            raise Unsupported("a sum over more than one index, or not from 1 to a size")
        places = range(1, entries.sizes[SIZES[upper]] + 1)
        return sum(scalar(expression.function, entries.bind(index, at)) for at in places)
    if name == "mean":
        body, count = arguments[0], entries.sizes["s"]
        bases = {str(base) for base in body.atoms(sympy.IndexedBase)}
        if "x" not in bases and cluster not in body.free_symbols:
            return scalar(body, entries)
        total = sum(scalar(body, entries.bind(cluster, at)) for at in range(1, count + 1))
        return flint.fmpq(1, count) * total
    raise Unsupported(f"no value for {expression}")


def _power(base: Any, exponent: int, entries: Entries) -> Any:
    if exponent >= 0:
        value = scalar(base, entries)
    elif base in SIZES:
        value = flint.fmpq(1, entries.sizes[SIZES[base]])
    elif base.is_Symbol:
        value = entries.number(f"1/{base.name}")
    else:
        raise Unsupported(f"no value for a power of {base}")
    return math.prod([value] * abs(exponent))
