"""The identities in the proof of Theorem R, written out for d = 2 to 4."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import sympy

from swingby.theory import dynamics
from swingby.theory.derivations.repaired.g import noise

#: Dimension and both sides; for a derivative: quantity and derivative.
Cases = tuple[tuple[int, Any, Any], ...]


def entry_cases(diagonal: bool) -> Cases:
    """The flow entry by entry, [0.1] and [0.2].

    Parameters
    ----------
    diagonal : bool
        The diagonal entries, or all of them.
    """
    cases: list[tuple[int, Any, Any]] = []
    for d in (2, 3, 4):
        A, W, _ = dynamics.symbols(d)
        a = A.diagonal()
        for i, j in product(range(d), repeat=2):
            if diagonal and i == j:
                v = W[i, i]
                cases.append((d, v, 2 * a[i] * v * (1 - v) - v * noise(d, i)))
            elif not diagonal and i <= j:
                bracket = sum(W[i, k] * W[k, j] * (a[k] + (a[i] + a[j]) / 2) for k in range(d))
                cases.append((d, W[i, j], (a[i] + a[j]) * W[i, j] - bracket))
    return tuple(cases)


def log_det_cases() -> Cases:
    """The derivative of log det C_[n] for every leading block, [R.3]."""
    cases: list[tuple[int, Any, Any]] = []
    for d in (2, 3):
        A, W, _ = dynamics.symbols(d)
        for size in range(1, d + 1):
            block = W[:size, :size]
            quantity = sympy.log(block.det()) - sum(sympy.log(W[k, k]) for k in range(size))
            right = sum((noise(d, k) for k in range(size)), sympy.Integer(0))
            inverse = block.adjugate() / block.det() if size > 1 else sympy.Matrix([[1 / W[0, 0]]])
            for j in range(size, d):
                column = W[:size, j]
                right -= (column.T * inverse * A[:size, :size] * column)[0]
                right -= A[j, j] * (column.T * inverse * column)[0]
            cases.append((d, quantity, right))
    return tuple(case for case in cases if case[1] != 0)


def pivot_cases() -> Cases:
    """The determinant of W as the product of its pivots."""
    cases: list[tuple[int, Any, Any]] = []
    for d in (2, 3, 4):
        _, W, _ = dynamics.symbols(d)
        rest, pivots = W, sympy.Integer(1)
        for _ in range(d):
            pivot = rest[0, 0]
            pivots *= pivot
            row = rest[0, 1:]
            rest = rest[1:, 1:] - row.T * row / pivot
        cases.append((d, W.det(), pivots))
    return tuple(cases)


def schur_cases() -> Cases:
    """The Schur complement as a quotient of determinants, [R.4.1]."""
    cases: list[tuple[int, Any, Any]] = []
    for d in (2, 3, 4):
        _, W, _ = dynamics.symbols(d)
        block, column = W[: d - 1, : d - 1], W[: d - 1, d - 1]
        adjugate = block.adjugate() if d > 2 else sympy.Matrix([[1]])
        left = W[d - 1, d - 1] - (column.T * adjugate * column)[0] / block.det()
        cases.append((d, left, W.det() / block.det()))
    return tuple(cases)


def scaled_cases() -> Cases:
    """The derivative of w_ij w_ii^-s for i < j, [R.8]."""
    cases: list[tuple[int, Any, Any]] = []
    for d in (2, 3, 4):
        A, W, _ = dynamics.symbols(d)
        a = A.diagonal()
        for i, j in combinations(range(d), 2):
            power = (1 + a[j] / a[i]) / 2
            scale = W[i, i] ** (-power)
            bracket = -(a[i] - a[j]) / 2 * W[i, i] - (a[i] + 3 * a[j]) / 2 * W[j, j]
            bracket += power * noise(d, i)
            rest = (k for k in range(d) if k not in (i, j))
            terms = sum((a[k] + (a[i] + a[j]) / 2) * W[i, k] * W[k, j] for k in rest)
            cases.append((d, W[i, j] * scale, W[i, j] * scale * bracket - scale * terms))
    return tuple(cases)


def logit_cases() -> Cases:
    """The derivative of logit w_ii with f_i taken out, [R.11.1]."""
    cases: list[tuple[int, Any, Any]] = []
    for d in (2, 3, 4):
        A, W, _ = dynamics.symbols(d)
        for i in range(d):
            v = W[i, i]
            squares = noise(d, i) * v
            right = 2 * A[i, i] - noise(d, i) - squares / (1 - v)
            cases.append((d, sympy.log(v / (1 - v)), right))
    return tuple(cases)
