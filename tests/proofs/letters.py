"""Letters of ``proofs/letters.proof`` as symbols, and relations kept as written."""

from functools import partial

import sympy

from swingby.proofs.language.claim import Given
from swingby.proofs.language.reader import packaged

_the = packaged("letters").names
C, K, P, d, alpha, beta = (_the[name] for name in ("C", "K", "P", "d", "alpha", "beta"))
eta, gamma, kappa, omega = (_the[name] for name in ("eta", "gamma", "kappa", "omega"))
a_i, a_j, x, t = (_the[name] for name in ("a_i", "a_j", "x", "t"))
w_start, w_anchor, w = (_the[f"w_ij({time})"] for time in ("0", "t_0", "t"))
v_start, v, N = (_the[name] for name in ("w_ii(0)", "w_ii(t)", "N_ij(t)"))

#: The noise bound of Corollary D.1 as printed, and the right side of (D.9) without its minimum.
NOISE = 2 * P * gamma * alpha * d * beta**2 * omega**2
ROOT_RATE = 1 - kappa ** sympy.Rational(-1, 2)

le, lt, ge, gt, eq = (
    partial(kind, evaluate=False) for kind in (sympy.Le, sympy.Lt, sympy.Ge, sympy.Gt, sympy.Eq)
)


def given(source, *relations):
    """Hypotheses from one source."""
    return tuple(Given(relation, source) for relation in relations)
