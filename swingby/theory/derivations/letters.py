"""The letters of ``proofs/letters.proof`` as symbols, and relations kept as written.

Signals are positive: D.1 asks a_k >= alpha > 0 of every k. Time t is in steps.
"""

from __future__ import annotations

from typing import Any

import sympy

from swingby.theory.claim import Given
from swingby.theory.proofs.reader import packaged

_letter = packaged("letters").names

C, K, P, alpha, beta, d = (_letter[name] for name in ("C", "K", "P", "alpha", "beta", "d"))
gamma, eta, kappa, omega = (_letter[name] for name in ("gamma", "eta", "kappa", "omega"))
a_i, a_j, a_k, lam, x = (_letter[name] for name in ("a_i", "a_j", "a_k", "lambda", "x"))
t, t_0, T = (_letter[name] for name in ("t", "t_0", "T"))

#: Entry (i, j) at times 0, t_0 and t. Lemmas D.1 and D.2 take w_ij(0) > 0 without loss.
w_start, w_anchor, w = (_letter[f"w_ij({time})"] for time in ("0", "t_0", "t"))
#: Diagonal entries; where the line is about (i, i) they stand in place of w_ij.
v_start, v, v_next, u = (_letter[f"w_{one}"] for one in ("ii(0)", "ii(t)", "ii(t+1)", "jj(t)"))
#: The three terms of (4.3) at time t.
G, S, N = (_letter[f"{term}_ij(t)"] for term in "GSN")

#: The noise bound of Corollary D.1 as printed.
NOISE = 2 * P * gamma * alpha * d * beta**2 * omega**2
#: The right side of (D.9) without its inner minimum.
ROOT_RATE = 1 - kappa ** sympy.Rational(-1, 2)


def le(left: Any, right: Any) -> sympy.Rel:
    """Left <= right, as written: sympy would decide some relations on the spot."""
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
