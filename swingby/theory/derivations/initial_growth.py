r"""The proof of Lemma D.1: (D.12) to (D.22), the sum in Corollary D.1 and the first value of T_1.

The proof wants :math:`w_{ij}(t) \le w_{ij}(0) e^{\eta t (a_i+a_j)\kappa}` by induction over t.
"""

from __future__ import annotations

import sympy

from swingby.theory.assumptions import P, alpha, beta, d, eta, gamma, kappa, omega
from swingby.theory.claim import Claim, Flaw
from swingby.theory.derivations import letters as the
from swingby.theory.derivations.letters import (
    NOISE,
    NOISE_CORRECTED,
    N,
    S,
    a_i,
    a_j,
    a_k,
    eq,
    ge,
    given,
    gt,
    le,
    lt,
    t,
    u,
    v,
    w,
    w_next,
    w_start,
)

_PLACE = "proof of Lemma D.1"
_exp, _log = sympy.exp, sympy.log

#: (D.5), and one step of (D.2) in the terms of (D.3).
SUPPRESSION = (S, w * (v * (3 * a_i + a_j) + u * (3 * a_j + a_i)) / 2)
STEP = (w_next, w + eta * (w * (a_i + a_j) - S - N))
PSD = given("PSD", ge(v, 0), ge(u, 0), le(w**2, v * u))
POSITIVE = given("case", gt(w, 0))
BOUNDED_NOISE = given("Corollary D.1", le(sympy.Abs(N), NOISE))
IN_INITIAL_PHASE = given("Assertion D.1", le(sympy.Abs(w), P * beta * omega))

_rate = a_i + a_j
_grown = w_start * _exp(eta * t * _rate * kappa)
_induction = given("induction", le(w, _grown))

_left, _right = sympy.symbols("w_ki(t) w_kj(t)", real=True)
COROLLARY_STEP = Claim(
    "Corollary D.1 (its sum)",
    "step",
    "at most d - 1 products of two entries of the initial phase",
    le((d - 1) * sympy.Abs(_left * _right) * (a_i + a_j + 2 * a_k) / 2, NOISE),
    (
        *given(
            "Assertion D.1",
            le(sympy.Abs(_left), P * beta * omega),
            le(sympy.Abs(_right), P * beta * omega),
        ),
        *the.D1_SIGNAL,
        *given("Assumption D.1", le(alpha, a_k), le(a_k, gamma * alpha)),
        *given("definition", ge(d, 2)),
    ),
    in_force=True,
    reference="Corollary D.1",
    reading="The largest value that the sum (D.6) of d - 1 terms can take.",
    flaw=Flaw(
        "wrong power",
        "fatal",
        "Each of the two factors is bounded by P beta omega, so the bound carries P^2. With P^2 "
        "in Assumption D.4 as well, D.1 to D.5 contradict each other for d >= 2.",
    ),
).mended(
    conclusion=le((d - 1) * sympy.Abs(_left * _right) * (a_i + a_j + 2 * a_k) / 2, NOISE_CORRECTED)
)

SIGN = Claim(
    "before D.12",
    "step",
    "S_ij and w_ij(0) > 0 have different signs",
    lt(S, 0),
    (*PSD, *POSITIVE),
    (SUPPRESSION,),
    in_force=True,
    indices="off-diagonal",
    reference=_PLACE,
    reading="The text has 'symbol' for sign.",
    flaw=Flaw(
        "wrong direction",
        "cosmetic",
        "By (D.5) S_ij has the sign of w_ij. It is -S_ij, as it enters the update, that has the "
        "other sign.",
    ),
).mended(conclusion=ge(S, 0))

D12 = Claim(
    "D.12",
    "step",
    "suppression and noise stay below the bound of the noise",
    le(S + N, NOISE),
    (*BOUNDED_NOISE, *IN_INITIAL_PHASE, *PSD, *POSITIVE),
    (SUPPRESSION,),
    in_force=True,
    indices="off-diagonal",
    reference=_PLACE,
    flaw=Flaw(
        "wrong direction",
        "cosmetic",
        "S_ij >= 0 is not small once w_ii is. The update subtracts both terms: what the proof "
        "needs, and what holds, is -S_ij - N_ij below the bound.",
    ),
).mended(conclusion=le(-S - N, NOISE))

D13 = Claim(
    "D.13",
    "step",
    "one step, with the bound of the noise in numbers",
    le(w_next - w, eta * w * _rate + 4 * eta * gamma * alpha * d * beta**2 * omega**2),
    (*BOUNDED_NOISE, *IN_INITIAL_PHASE, *PSD, *POSITIVE, *the.D4_RANGE),
    (STEP, SUPPRESSION),
    in_force=True,
    indices="off-diagonal",
    reference=_PLACE,
    reading="beta_0 is not defined anywhere; read as beta^2, as in the neighbouring lines.",
    flaw=Flaw(
        "wrong constant",
        "cosmetic",
        "The cited bound is 2 P gamma alpha d beta^2 omega^2, larger than what is printed as soon "
        "as P > 2, and beta_0 is undefined. The next line has the right term.",
    ),
).mended(conclusion=le(w_next - w, eta * w * _rate + eta * NOISE))

D14 = Claim(
    "D.14",
    "step",
    "the induction hypothesis put in",
    le(
        eta * w * _rate + 4 * eta * gamma * alpha * d * beta**2 * omega**2,
        eta * _rate * _grown + eta * NOISE,
    ),
    (*_induction, *the.D4_RANGE),
    reference=_PLACE,
    reading="beta_0 of (D.13) read as beta^2.",
).mended(
    conclusion=le(eta * w * _rate + eta * NOISE, eta * _rate * _grown + eta * NOISE),
)

_share = 2 * P * gamma * alpha * d * beta**2 * omega**2 / _grown
_share_bound = 2 * P * gamma * alpha * d * beta**2 * omega
D15 = Claim(
    "D.15",
    "identity",
    "w_ij(0) exp(...) taken out",
    eq(eta * _rate * _grown + eta * NOISE, _grown * (eta * _rate + _share)),
    reference=_PLACE,
    in_force=True,
    flaw=Flaw(
        "typo",
        "cosmetic",
        "The second term in the bracket lacks the factor eta. (D.16) and (D.17) inherit the slip.",
    ),
).mended(conclusion=eq(eta * _rate * _grown + eta * NOISE, _grown * (eta * _rate + eta * _share)))

D16 = Claim(
    "D.16",
    "step",
    "w_ij(0) exp(...) is at least omega",
    le(eta * _rate + _share, eta * _rate + _share_bound),
    the.D1_ENTRY,
    reference=_PLACE,
).mended(conclusion=le(eta * _rate + eta * _share, eta * _rate + eta * _share_bound))

D17 = Claim(
    "D.17",
    "step",
    "Assumption D.4 bounds the noise by kappa - 1",
    le(eta * _rate + _share_bound, eta * _rate + 2 * (kappa - 1) * eta * alpha),
    (*the.D4_KAPPA, *the.D2),
    in_force=True,
    reference=_PLACE,
    flaw=Flaw(
        "missing term",
        "cosmetic",
        "Without the factor eta lost in (D.15) the left side is not of the order of eta.",
    ),
).mended(
    conclusion=le(eta * _rate + eta * _share_bound, eta * _rate + 2 * (kappa - 1) * eta * alpha)
)

D18 = Claim(
    "D.18",
    "step",
    "alpha is at most (a_i + a_j)/2",
    le(eta * _rate + 2 * (kappa - 1) * eta * alpha, kappa * eta * _rate),
    (*the.D1_SIGNAL, *the.D4_RANGE),
    reference=_PLACE,
)

D19 = Claim(
    "D.19",
    "step",
    "x <= exp(x) - 1",
    le(kappa * eta * _rate, _exp(kappa * eta * _rate) - 1),
    reference=_PLACE,
)

_factor = _exp(kappa * eta * _rate) - 1
_collected = given("D.15", le(w_next - w, _grown * (eta * _rate + eta * _share)))
_chained = given("D.19", le(eta * _rate + eta * _share, _factor))
D20 = Claim(
    "D.20",
    "step",
    "one step grows by at most exp(kappa eta (a_i + a_j))",
    le(w_next, w + _factor * w),
    (*BOUNDED_NOISE, *IN_INITIAL_PHASE, *PSD, *POSITIVE, *_induction),
    (STEP, SUPPRESSION),
    in_force=True,
    indices="off-diagonal",
    reference=_PLACE,
    flaw=Flaw(
        "wrong expression",
        "cosmetic",
        "The chain bounds the increase by a multiple of w_ij(0) exp(...), not of w_ij(t): an entry "
        "below the noise can grow faster. With w_ij(0) exp(...) the conclusion (D.21) is the same.",
    ),
).mended(
    conclusion=le(w_next, w + _factor * _grown),
    given=(*_collected, *_chained),
    where=(),
)

D21 = Claim(
    "D.21",
    "step",
    "the induction closes",
    le(w + _factor * w, w_start * _exp(eta * (t + 1) * _rate * kappa)),
    _induction,
    reference=_PLACE,
).mended(conclusion=le(w + _factor * _grown, w_start * _exp(eta * (t + 1) * _rate * kappa)))

T_1 = sympy.Symbol("T_1", nonnegative=True)
T1_PRINTED = (T_1, kappa * _log(P) / (2 * eta * gamma * alpha))
T1_OF_LEMMA_2 = (T_1, _log(P) / (2 * eta * gamma * alpha * kappa))

T1_CLAIM = Claim(
    "T_1 (Lemma D.1)",
    "step",
    "an upper bound of T_1",
    le(T_1, kappa * _log(2) / (eta * _rate)),
    (*the.D1_SIGNAL, *the.D4_RANGE),
    (T1_PRINTED,),
    in_force=True,
    reference=_PLACE,
    reading="T_1 does not occur in Lemma D.1; it belongs to Lemma D.2, where it has another value.",
    flaw=Flaw(
        "contradiction with another line",
        "cosmetic",
        "log 2 is printed for log P, and Lemma D.2 has kappa in the denominator: the two values of "
        "T_1 differ by kappa^2.",
    ),
).mended(
    conclusion=le(T_1, _log(P) / (kappa * eta * _rate)),
    where=(T1_OF_LEMMA_2,),
)

D22 = Claim(
    "D.22",
    "step",
    "growth up to T_1 stays below P",
    le(_exp(eta * the.T * _rate / kappa), P),
    (*the.D1_SIGNAL, *the.D4_RANGE, *given("T_1 (Lemma D.1)", le(the.T, T1_PRINTED[1]))),
    reference=_PLACE,
    reading="T stands for any time up to the printed T_1. The upper bound (D.11) grows with kappa, "
    "not with 1/kappa: the corrected form is what Lemma D.2 uses.",
).mended(
    conclusion=le(_exp(eta * the.T * _rate * kappa), P),
    given=(*the.D1_SIGNAL, *the.D4_RANGE, *given("T_1 (Lemma D.2)", le(the.T, T1_OF_LEMMA_2[1]))),
)

CLAIMS = (
    COROLLARY_STEP,
    SIGN,
    D12,
    D13,
    D14,
    D15,
    D16,
    D17,
    D18,
    D19,
    D20,
    D21,
    T1_CLAIM,
    D22,
)
