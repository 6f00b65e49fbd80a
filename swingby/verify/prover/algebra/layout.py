"""Sizes, indices and letters at which an algebraic claim is written out."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import sympy

from swingby.theory.derivations.conclusions import EntryIdentity, GradientIdentity
from swingby.theory.derivations.matrices import (
    LETTERS,
    U,
    Ut,
    W,
    Wt,
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
from swingby.verify.prover.algebra.entries import Entries
from swingby.verify.prover.algebra.ring import Constant, Number

#: Sizes d of the entrywise proofs.
PROOF_SIZES = (1, 2, 3, 4, 5)

#: Sizes d of a witness.
WITNESS_SIZES = (1, 2)


@dataclass(frozen=True)
class Layout:
    """One way to write a claim out.

    `options`: fields of :class:`~swingby.verify.prover.algebra.entries.Entries`. `indices`: values
    of the free indices.
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
