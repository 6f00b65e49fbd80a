r"""The dynamics of W, defined once, symbolically.

Right side of (D.2), with A = diag(a) and B(W) = A - (AW + WA)/2:

.. math:: A W + W A - \tfrac12 (A W^2 + W^2 A + 2 W A W) = B W + W B.

``euler`` adds eta times this to W. ``gd`` takes :math:`U \mapsto U + \eta B U`, which is
:math:`W \mapsto (I + \eta B) W (I + \eta B)` and differs by :math:`\eta^2 B W B`. ``flow`` solves
the differential equation. Numerical versions are checked against the expressions here.
Indices count from 0.
"""

from __future__ import annotations

import sympy

from swingby.errors import InvalidInput


def symbols(d: int) -> tuple[sympy.Matrix, sympy.Matrix, sympy.Symbol]:
    """A = diag(a_1, ..., a_d), a symmetric W of symbols w_ij, and eta."""
    A = sympy.diag(*sympy.symbols(f"a_1:{d + 1}", nonnegative=True))
    W = sympy.Matrix(
        d, d, lambda i, j: sympy.Symbol(f"w_{min(i, j) + 1}{max(i, j) + 1}", real=True)
    )
    return A, W, sympy.Symbol("eta", positive=True)


def right_side(A: sympy.Matrix, W: sympy.Matrix) -> sympy.Matrix:
    """The right side of (D.2) as printed: the change of W per unit of eta times steps."""
    return W * A + A * W - (A * W**2 + W**2 * A + 2 * W * A * W) / 2


def drift(A: sympy.Matrix, W: sympy.Matrix) -> sympy.Matrix:
    """B(W) = A - (AW + WA)/2."""
    return A - (A * W + W * A) / 2


def step(dynamics: str, A: sympy.Matrix, W: sympy.Matrix, eta: sympy.Symbol) -> sympy.Matrix:
    """W after one step of euler (D.2) or gd; the flow has no one-step formula."""
    if dynamics == "euler":
        return W + eta * right_side(A, W)
    if dynamics == "gd":
        factor = sympy.eye(W.rows) + eta * drift(A, W)
        return factor * W * factor
    raise InvalidInput("dynamics", dynamics, "must be euler or gd", "(D.2)")


def growth_term(A: sympy.Matrix, W: sympy.Matrix, i: int, j: int) -> sympy.Expr:
    """G_ij = w_ij (a_i + a_j) (D.4)."""
    return W[i, j] * (A[i, i] + A[j, j])


def suppression_term(A: sympy.Matrix, W: sympy.Matrix, i: int, j: int) -> sympy.Expr:
    """S_ij = w_ij [w_ii (3 a_i + a_j) + 1{i != j} w_jj (3 a_j + a_i)] / 2 (D.5)."""
    second = W[j, j] * (3 * A[j, j] + A[i, i]) if i != j else 0
    return W[i, j] * (W[i, i] * (3 * A[i, i] + A[j, j]) + second) / 2


def noise_term(A: sympy.Matrix, W: sympy.Matrix, i: int, j: int) -> sympy.Expr:
    """N_ij = sum over k other than i, j of w_ki w_kj (a_i + a_j + 2 a_k) / 2 (D.6)."""
    others = (k for k in range(W.rows) if k not in (i, j))
    terms = (W[k, i] * W[k, j] * (A[i, i] + A[j, j] + 2 * A[k, k]) for k in others)
    return sum(terms, sympy.Integer(0)) / 2


def loss(A: sympy.Matrix, W: sympy.Matrix) -> sympy.Expr:
    """The training loss |(W - I) A^(1/2)|^2 / 2 (4.1)."""
    difference = W - sympy.eye(W.rows)
    return (difference * A * difference.T).trace() / 2
