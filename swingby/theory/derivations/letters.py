"""The paper's letters as symbols; the proofs declare the same in ``proofs/letters.proof``.

Signals are positive here: D.1 asks a_k >= alpha > 0 of every k. Time t is in steps. Relations are
kept as written (sympy would decide some of them on the spot).
"""

from __future__ import annotations

from typing import Any

import sympy

from swingby.theory.assumptions import C as C
from swingby.theory.assumptions import K as K
from swingby.theory.assumptions import P as P
from swingby.theory.assumptions import alpha as alpha
from swingby.theory.assumptions import beta as beta
from swingby.theory.assumptions import d as d
from swingby.theory.assumptions import eta as eta
from swingby.theory.assumptions import gamma as gamma
from swingby.theory.assumptions import kappa as kappa
from swingby.theory.assumptions import omega as omega
from swingby.theory.claim import Given

a_i, a_j, a_k = sympy.symbols("a_i a_j a_k", positive=True)
t, t_0, T = sympy.symbols("t t_0 T", nonnegative=True)
lam = sympy.Symbol("lambda", positive=True)
x = sympy.Symbol("x", real=True)

#: Entry (i, j) at times 0, t_0, t and t + 1. Lemmas D.1 and D.2 take w_ij(0) > 0 without loss.
w_start = sympy.Symbol("w_ij(0)", positive=True)
w_anchor = sympy.Symbol("w_ij(t_0)", real=True)
w = sympy.Symbol("w_ij(t)", real=True)

#: Diagonal entries; where the line is about (i, i) they stand in place of w_ij.
v_start = sympy.Symbol("w_ii(0)", positive=True)
v = sympy.Symbol("w_ii(t)", real=True)
v_next = sympy.Symbol("w_ii(t+1)", real=True)
u = sympy.Symbol("w_jj(t)", real=True)

#: The three terms of (4.3) at time t.
G, S, N = sympy.symbols("G_ij(t) S_ij(t) N_ij(t)", real=True)

#: The noise bound of Corollary D.1 as printed.
NOISE = 2 * P * gamma * alpha * d * beta**2 * omega**2

#: The right side of (D.9) without its inner minimum.
ROOT_RATE = 1 - kappa ** sympy.Rational(-1, 2)


def le(left: Any, right: Any) -> sympy.Rel:
    """Left <= right, as written."""
    return sympy.Le(left, right, evaluate=False)


def lt(left: Any, right: Any) -> sympy.Rel:
    """Left < right, as written."""
    return sympy.Lt(left, right, evaluate=False)


def ge(left: Any, right: Any) -> sympy.Rel:
    """Left >= right, as written."""
    return sympy.Ge(left, right, evaluate=False)


def gt(left: Any, right: Any) -> sympy.Rel:
    """Left > right, as written."""
    return sympy.Gt(left, right, evaluate=False)


def eq(left: Any, right: Any) -> sympy.Rel:
    """Left = right, as written."""
    return sympy.Eq(left, right, evaluate=False)


def both(*relations: Any) -> Any:
    """All of some relations, in their order: a chain of inequalities in one display."""
    return sympy.Tuple(*relations)


def given(source: str, *relations: Any) -> tuple[Given, ...]:
    """Hypotheses from one source."""
    return tuple(Given(relation, source) for relation in relations)
