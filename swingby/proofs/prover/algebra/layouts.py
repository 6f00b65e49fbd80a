"""Layouts of algebraic claims: sizes, indices and shapes at which their sides are written out."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import sympy

from swingby.proofs.language.conclusions import EntryIdentity
from swingby.proofs.language.matrices import LETTERS, U, Ut, W, Wt, n, root, s, unit, unitt, z, zt
from swingby.proofs.prover.algebra.entries import Entries
from swingby.proofs.prover.algebra.words import Where


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
    sides: tuple[Any, ...],
    where: Where,
    dimensions: tuple[int, ...],
    witness: bool = False,
) -> Iterator[Entries]:
    """Every way to write the sides of a claim out, small sizes first."""
    letters = frozenset().union(*(side.free_symbols for side in sides))
    operators = {node.func.__name__ for side in sides for node in side.atoms(sympy.Function)}
    bases = {str(base) for side in sides for base in side.atoms(sympy.IndexedBase)}
    sampled = any(symbol in LETTERS and LETTERS[symbol].sample for symbol in letters)
    sampled = sampled or "over_samples" in operators
    # a line that speaks of [s]: free directions matter
    located = bases & {"mu", "sigma", "exp(-a t)"} or letters & {z, zt} or "inside" in operators
    free_directions = (
        bool(located) and isinstance(conclusion, EntryIdentity) and not is_square(where)
    )
    options: dict[str, Any] = {"symmetric": is_symmetric(where), "factored": is_factored(where)}
    if root in letters:
        options["root"] = "diagonal" if is_factored(where) else "full"
    for size in dimensions:
        # U is not square in general; at larger sizes the words have to do
        columns = size + 1 if size <= 2 and not witness else size
        indices = list(_indices(conclusion, sides, letters, size))
        counts = _sample_counts(options.get("root") == "full", witness) if sampled else []
        for s_value, n_value, number in counts:
            sizes = {"d": size, "d'": columns, "s": s_value, "n": n_value}
            for chosen in indices:
                yield Entries(sizes, chosen, **options, sample=(1, number))
        if sampled:
            continue
        # a sum to n that is no sum over samples: n is then a size of its own
        numbers = range(1, size + 1) if n in letters else (1,)
        for s_value, n_value in itertools.product(
            range(1, size + 1) if free_directions else (size,), numbers
        ):
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
    conclusion: Any, sides: tuple[Any, ...], letters: frozenset[Any], size: int
) -> Iterator[dict[str, int]]:
    names = {"k"} if letters & {unit, unitt} else set()
    if isinstance(conclusion, EntryIdentity):
        operators = [node for side in sides for node in side.atoms(sympy.Function)]
        bound = {node.args[1] for node in operators if node.func.__name__ == "rest"}
        names |= {symbol.name for symbol in letters - bound if symbol.is_integer}
        if bound or not (conclusion.left.is_commutative or conclusion.left.has(zt)):
            names |= {"i", "j"}
    ordered = sorted(names)
    for values in itertools.product(range(1, size + 1), repeat=len(ordered)):
        yield dict(zip(ordered, values, strict=True))
