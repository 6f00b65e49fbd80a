"""The paper's letters as symbols, and Assumptions D.1 to D.5 as hypotheses.

Signals are positive here: D.1 asks a_k >= alpha > 0 of every k. Time t is in steps. Relations are
kept as written (sympy would decide some of them on the spot).
"""

from __future__ import annotations

from typing import Any

import sympy

from swingby.theory.assumptions import C, K, P, alpha, beta, d, eta, gamma, kappa, omega
from swingby.theory.claim import Given

a_i, a_j, a_k = sympy.symbols("a_i a_j a_k", positive=True)
t, t_0, T = sympy.symbols("t t_0 T", nonnegative=True)
lam = sympy.Symbol("lambda", positive=True)
x = sympy.Symbol("x", real=True)

#: Entry (i, j) at times 0, t_0, t and t + 1. Lemmas D.1 and D.2 take w_ij(0) > 0 without loss.
w_start = sympy.Symbol("w_ij(0)", positive=True)
w_anchor = sympy.Symbol("w_ij(t_0)", real=True)
w = sympy.Symbol("w_ij(t)", real=True)
w_next = sympy.Symbol("w_ij(t+1)", real=True)

#: Diagonal entries; where the line is about (i, i) they stand in place of w_ij.
v_start = sympy.Symbol("w_ii(0)", positive=True)
v_anchor = sympy.Symbol("w_ii(t_0)", nonnegative=True)
v = sympy.Symbol("w_ii(t)", real=True)
v_next = sympy.Symbol("w_ii(t+1)", real=True)
u = sympy.Symbol("w_jj(t)", real=True)
u_next = sympy.Symbol("w_jj(t+1)", real=True)

#: The three terms of (4.3) at time t.
G, S, N = sympy.symbols("G_ij(t) S_ij(t) N_ij(t)", real=True)

#: The noise bound of Corollary D.1 as printed, and with the power of P that its proof gives.
NOISE = 2 * P * gamma * alpha * d * beta**2 * omega**2
NOISE_CORRECTED = 2 * P**2 * gamma * alpha * d * beta**2 * omega**2

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


D1_SIGNAL = given(
    "Assumption D.1",
    le(alpha, a_i),
    le(a_i, gamma * alpha),
    le(alpha, a_j),
    le(a_j, gamma * alpha),
    gt(gamma, 1),
    gt(beta, 1),
)
D1_ENTRY = given("Assumption D.1", le(omega, w_start), le(w_start, beta * omega))
D1_DIAGONAL = given("Assumption D.1", le(omega, v_start), le(v_start, beta * omega))
D2 = given("Assumption D.2", le(eta, 1 / (9 * K * gamma * alpha)), ge(K, 20))
D3 = given("Assumption D.3", le(P * omega * beta, sympy.Rational(2, 5)))
D4_ROOT = given("Assumption D.4", le(omega, ROOT_RATE / (P * K * gamma * d * beta**2)))
D4_KAPPA = given("Assumption D.4", le(omega, (kappa - 1) / (P * K * gamma * d * beta**2)))
D4_RANGE = given("Assumption D.4", gt(kappa, sympy.Rational(11, 10)), ge(P, 2))
D4_C = given("Assumption D.4", le(kappa, 1 + K / (2 * C)))
D5_RATIO = given(
    "Assumption D.5",
    le(
        (a_i + a_j) / (2 * a_i),
        sympy.log(P) / (10 * kappa**2 * sympy.log(1 / (P * beta * omega)) + sympy.log(P * beta)),
    ),
)
D5_GAP = given("Assumption D.5", ge(a_i - 3 * a_j, alpha / C), gt(C, 1))

#: D.1 to D.5 as printed, in the forms that the proofs use.
ASSUMPTIONS = (
    *D1_SIGNAL,
    *D1_ENTRY,
    *D1_DIAGONAL,
    *D2,
    *D3,
    *D4_ROOT,
    *D4_KAPPA,
    *D4_RANGE,
    *D4_C,
    *D5_RATIO,
    *D5_GAP,
)
