"""Polynomials in matrices and sums over indices written out, in any commutative ring."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sympy

from swingby.theory.derivations.matrices import LETTERS, I, cluster
from swingby.verify.prover.algebra.entries import SIZES, Entries, Rows, product
from swingby.verify.prover.algebra.words import Unsupported


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
