"""Letters written out as matrices of entries, in any commutative ring.

The same code runs over polynomials in the entries (proofs at a given size) and over rational
numbers (witnesses): what an entry is, the caller says.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import sympy

from swingby.theory.derivations.matrices import (
    LAST_CLUSTER,
    LETTERS,
    A,
    I,
    cluster,
    d,
    d_prime,
    decay,
    inverse,
    n,
    root,
    s,
    unit,
    unitt,
)
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
