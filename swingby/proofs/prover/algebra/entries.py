"""Algebraic claims written out at small sizes: letters as matrices of entries, sums as sums.

The same code runs over exact polynomials of flint in the entries (proofs at a given size) and over
rational numbers (witnesses): what a letter is, the caller says.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import flint
import sympy

from swingby.proofs.language.conclusions import EntryIdentity
from swingby.proofs.language.matrices import (
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
    n,
    over_samples,
    root,
    s,
    squared_norm,
    unit,
    unitt,
    z,
    zt,
)
from swingby.proofs.prover.algebra.words import Unsupported, Where
from swingby.proofs.prover.scalar.exact_value import fraction
from swingby.theory.assumptions import d

Rows = list[list[Any]]
#: The elements of a ring by the names of letters; ``"1/eta"`` is the inverse of ``"eta"``.
Number = Callable[[str], Any]
#: A computation over any ring, given its letters.
Write = Callable[[Number], list[Any]]

#: Sizes by their letter.
SIZES = {d: "d", d_prime: "d'", s: "s", n: "n"}
#: Values that a witness may have, in the order in which they are tried.
SMALL = (0, 1, 2, -1, 3)
#: Letters that are positive wherever they occur.
POSITIVE = ("a_", "eta", "tau", "mu_", "sigma_", "r_", "t")


def polynomials(write: Write) -> tuple[list[str], list[Any]]:
    """The letters that a computation asks for, and what it gives in the ring with exactly these."""
    names: set[str] = set()

    def note(name: str) -> flint.fmpq:
        names.add(name)
        return flint.fmpq(1)

    write(note)
    ordered = sorted(names | {name[2:] for name in names if name.startswith("1/")}) or ["x"]
    # flint takes any names, but prints and parses only simple ones
    context = flint.fmpq_mpoly_ctx.get([f"v{place}" for place in range(len(ordered))], "degrevlex")
    letters = dict(zip(ordered, context.gens(), strict=True))
    found = [context.constant(0) + item for item in write(letters.__getitem__)]
    # the leading terms have no common letter, so one division after the other is complete
    for name in ordered:
        if name.startswith("1/"):
            relation = letters[name] * letters[name[2:]] - 1
            found = [divmod(item, relation)[1] for item in found]
    return ordered, found


def written(polynomial: Any, names: list[str]) -> str:
    """A polynomial as text, in the names that a witness shows."""

    def shown(match: re.Match[str]) -> str:
        name = names[int(match[1])]
        if name.startswith("1/"):
            return f"({name})"
        if name.startswith("exp("):
            return f"exp(-a_{name.rpartition('_')[2]}*t)"
        return shown_name(name)

    return re.sub(r"v(\d+)", shown, str(polynomial))


def shown_name(name: str) -> str:
    """The name of a letter in the text."""
    return f"A^(1/2)_{name[2:]}" if name.startswith("r_") else name


def shown_values(values: dict[str, Fraction]) -> dict[str, str]:
    """The letters of a witness by the names of the text; where exponentials are 1, t is 0."""
    return {
        "t" if name.startswith("exp(") else shown_name(name): "0"
        if name.startswith("exp(")
        else str(value)
        for name, value in values.items()
    }


def nonzero_point(polynomial: Any, names: list[str]) -> dict[str, Fraction] | None:
    """Small integers at which a polynomial does not vanish, as many zeros as possible.

    An inverse follows its letter, and ``exp(-a t)`` is 1, as at t = 0.
    """
    called = polynomial.context().names()
    values: dict[str, Fraction] = {}
    for place, name in enumerate(names):
        if name.startswith("1/"):
            continue
        inverse = names.index(f"1/{name}") if f"1/{name}" in names else None
        candidates: tuple[int, ...] = SMALL if inverse is None else SMALL[1:]
        if name.startswith(("exp(", *POSITIVE)):
            candidates = (1,) if name.startswith("exp(") else (1, 2, 3)
        for value in candidates:
            swap = {called[place]: flint.fmpq(value)}
            if inverse is not None:
                swap[called[inverse]] = 1 / flint.fmpq(value)
            left = polynomial.subs(swap)
            if left != 0:
                polynomial, values[name] = left, Fraction(value)
                break
        else:
            return None
    return values


def value_at(polynomial: Any, names: list[str], values: dict[str, Fraction]) -> Fraction:
    """A polynomial at a rational point."""
    point = [inverted(values)(name) for name in names]
    result = polynomial(*(flint.fmpq(value.numerator, value.denominator) for value in point))
    return fraction(result)


def inverted(values: dict[str, Fraction]) -> Callable[[str], Fraction]:
    """The value of a letter or of its inverse, by name."""
    return lambda name: 1 / values[name[2:]] if name.startswith("1/") else values[name]


@dataclass(frozen=True)
class Entries:
    """One way to write a claim out: what the letters are at one choice of sizes.

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
        """The same letters with one more index bound."""
        return replace(self, indices=self.indices | {index.name: at})

    @property
    def names(self) -> dict[str, str]:
        """Sizes and indices for a witness."""
        shown = {name: str(value) for name, value in (self.sizes | self.indices).items()}
        shown |= {f"a_{place}": "0" for place in sorted(self.zero)}
        if self.sample is not None:
            if self.root == "full":
                shown |= {"samples": "columns of sqrt(s n) A^(1/2), then zeros"}
            group, number = self.sample
            shown |= {"the single sample": f"p = {group}, k = {number}"}
        return shown

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
            rows = self.plain("u", self.sizes["d"], self.sizes["d'"])
            return product([rows[index[0] - 1]], flip([rows[index[1] - 1]]))[0][0]
        if base == "x":
            # a sample of the mixture: its law depends on its cluster
            _, number = self.sample or (1, 1)
            return self.number(f"x_{index[0]}|{self.indices[cluster.name]},{number}")
        if base == "w" and self.symmetric:
            index = (min(index), max(index))
        return self.number(f"{base}_{','.join(map(str, index))}")

    def plain(self, base: str, rows: int, columns: int) -> Rows:
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
            return [row] if symbol == unitt else flip([row])
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
            return [row] if flipped else flip([row])
        rows = self.plain(letter.entries, self.sizes[shape[0]], self.sizes[shape[1]])
        return flip(rows) if flipped else rows

    def _vector(self, symbol: Any, base: str, sample: bool) -> list[Any]:
        places = range(1, self.sizes["d"] + 1)
        if not sample:
            return [self.entry(base, (p,)) for p in places]
        group, number = self.sample or (1, 1)
        group = self.sizes["s"] if symbol in LAST_CLUSTER else group
        if base != "x" or self.root != "full":
            return [self.number(f"{base}_{p}^({group},{number})") for p in places]
        count, place = self.sizes["s"] * self.sizes["n"], (group - 1) * self.sizes["n"] + number
        if math.isqrt(count) ** 2 != count or count < len(places):
            raise Unsupported("the samples cannot be the columns of the root")
        scale = math.isqrt(count) if place in places else 0
        column = min(place, len(places))
        return [scale * self.number(f"r_{min(p, column)},{max(p, column)}") for p in places]


def _diagonal(values: list[Any]) -> Rows:
    places = range(len(values))
    return [[values[p] if p == q else 0 for q in places] for p in places]


def product(left: Rows, right: Rows) -> Rows:
    """The product of two matrices given by rows."""
    if any(len(row) != len(right) for row in left):
        raise Unsupported("the shapes do not fit")
    return [
        [sum(x * y for x, y in zip(row, column, strict=True)) for column in flip(right)]
        for row in left
    ]


def flip(rows: Rows) -> Rows:
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
        result = matrix(factors[0], entries)
        for factor in factors[1:]:
            result = product(result, matrix(factor, entries))
        for factor in scalars:
            value = scalar(factor, entries)
            result = [[value * item for item in row] for row in result]
        return result
    if expression.is_Pow and expression.exp.is_Integer and expression.exp > 0:
        return matrix(sympy.Mul(*[expression.base] * int(expression.exp), evaluate=False), entries)
    if expression.func == squared_norm:
        rows = matrix(expression.args[0], entries)
        return [[sum(item * item for row in rows for item in row)]]
    if expression.func == over_samples:
        return _summed([matrix(expression.args[0], one) for one in entries.samples()])
    raise Unsupported(f"no entries for {expression}")


def _summed(parts: list[Rows]) -> Rows:
    if len({(len(part), len(part[0])) for part in parts}) > 1:
        raise Unsupported("the shapes do not fit")
    return [[sum(items) for items in zip(*rows, strict=True)] for rows in zip(*parts, strict=True)]


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
        one, two = (entries.indices[symbol.name] for symbol in arguments)
        return int(one == two)
    if name == "inside":
        return int(entries.indices[arguments[0].name] <= entries.sizes["s"])
    if name == "rest":
        body, index = arguments
        left_out = (entries.indices.get("i"), entries.indices.get("j"))
        values = [at for at in range(1, entries.sizes["d"] + 1) if at not in left_out]
        return sum(scalar(body, entries.bind(index, at)) for at in values)
    if name == "Sum":
        (index, lower, upper), *others = expression.limits
        if others or lower != 1 or upper not in SIZES:
            raise Unsupported("a sum over more than one index, or not from 1 to a size")
        places = range(1, entries.sizes[SIZES[upper]] + 1)
        return sum(scalar(expression.function, entries.bind(index, at)) for at in places)
    if name == "mean":
        body, count = arguments[0], entries.sizes["s"]
        bases = {str(base) for base in body.atoms(sympy.IndexedBase)}
        if "x" not in bases and cluster not in body.free_symbols:
            return scalar(body, entries)
        whole = sum(scalar(body, entries.bind(cluster, at)) for at in range(1, count + 1))
        return flint.fmpq(1, count) * whole
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


def is_symmetric(where: Where) -> bool:
    """Whether W is symmetric by definition."""
    return is_factored(where) or (Wt, W) in where


def is_factored(where: Where) -> bool:
    """Whether W is U U^T by definition."""
    return (W, U * Ut) in where


def is_square(where: Where) -> bool:
    """Whether d = s by definition."""
    return any(symbol == s for symbol, _ in where)


def layouts(
    conclusion: Any,
    parts: tuple[Any, ...],
    where: Where,
    dimensions: tuple[int, ...],
    witness: bool = False,
) -> Iterator[Entries]:
    """Every way to write the sides of a claim out, small sizes first."""
    letters = frozenset().union(*(part.free_symbols for part in parts))
    operators = {one.func.__name__ for part in parts for one in part.atoms(sympy.Function)}
    bases = {str(base) for part in parts for base in part.atoms(sympy.IndexedBase)}
    sampled = any(symbol in LETTERS and LETTERS[symbol].sample for symbol in letters)
    sampled = sampled or "over_samples" in operators
    # a line that speaks of [s]: free directions matter
    located = bases & {"mu", "sigma", "exp(-a t)"} or letters & {z, zt} or "inside" in operators
    free = bool(located) and isinstance(conclusion, EntryIdentity) and not is_square(where)
    options: dict[str, Any] = {"symmetric": is_symmetric(where), "factored": is_factored(where)}
    if root in letters:
        options["root"] = "diagonal" if is_factored(where) else "full"
    for size in dimensions:
        # U is not square in general; at larger sizes the words have to do
        columns = size + 1 if size <= 2 and not witness else size
        indices = list(_indices(conclusion, parts, letters, size))
        counts = _sample_counts(options.get("root") == "full", witness) if sampled else []
        for s_value, n_value, number in counts:
            sizes = {"d": size, "d'": columns, "s": s_value, "n": n_value}
            for chosen in indices:
                yield Entries(sizes, chosen, **options, sample=(1, number))
        if sampled:
            continue
        # a sum to n that is no sum over samples: n is then a size of its own
        numbers = range(1, size + 1) if n in letters else (1,)
        for s_value, n_value in itertools.product(range(1, size + 1) if free else (size,), numbers):
            sizes = {"d": size, "d'": columns, "s": s_value, "n": n_value}
            outside = frozenset(range(s_value + 1, size + 1))
            zeros = [outside, outside | {s_value}] if located else [frozenset[int]()]
            for zero, chosen in itertools.product(zeros, indices):
                yield Entries(sizes, chosen, **options, zero=zero)


def _sample_counts(full: bool, witness: bool) -> list[tuple[int, int, int]]:
    """Clusters, samples of each, and the single sample."""
    # where the samples are the columns of the root, s n has to be a square of at least d
    counts = [(3, 3)] if full else [(2, 2)]
    if witness:
        counts = [(1, 1), (2, 2)] if full else [(1, 1), (1, 2), (2, 1), (2, 2)]
    return [(s, n, number) for s, n in counts for number in range(1, min(n, 2) + 1)]


def _indices(
    conclusion: Any, parts: tuple[Any, ...], letters: frozenset[Any], size: int
) -> Iterator[dict[str, int]]:
    names = {"k"} if letters & {unit, unitt} else set()
    if isinstance(conclusion, EntryIdentity):
        operators = [one for part in parts for one in part.atoms(sympy.Function)]
        bound = {one.args[1] for one in operators if one.func.__name__ == "rest"}
        names |= {symbol.name for symbol in letters - bound if symbol.is_integer}
        if bound or not (conclusion.left.is_commutative or conclusion.left.has(zt)):
            names |= {"i", "j"}
    ordered = sorted(names)
    for values in itertools.product(range(1, size + 1), repeat=len(ordered)):
        yield dict(zip(ordered, values, strict=True))
