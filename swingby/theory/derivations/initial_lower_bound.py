r"""The proof of Lemma D.2: (D.24) to (D.34), with the second value of T_1, and T_1 of Lemma D.3.

The proof wants :math:`w_{ij}(t) \ge w_{ij}(0) e^{\eta t (a_i+a_j)/\kappa}` up to T_1, by induction.
"""

from __future__ import annotations

import sympy

from swingby.theory.assumptions import P, alpha, beta, d, eta, gamma, kappa, omega
from swingby.theory.claim import Claim, Flaw
from swingby.theory.derivations import letters as the
from swingby.theory.derivations.initial_growth import (
    PSD,
    STEP,
    SUPPRESSION,
    T1_OF_LEMMA_2,
    T1_PRINTED,
    T_1,
)
from swingby.theory.derivations.letters import (
    NOISE,
    NOISE_CORRECTED,
    N,
    S,
    a_i,
    a_j,
    eq,
    ge,
    given,
    gt,
    le,
    lt,
    t,
    u,
    v,
    v_start,
    w,
    w_next,
    w_start,
    x,
)

_PLACE = "proof of Lemma D.2"
_exp, _log, _Abs = sympy.exp, sympy.log, sympy.Abs

_rate = a_i + a_j
_decay = kappa ** sympy.Rational(-1, 2)
_grown = w_start * _exp(eta * t * _rate / kappa)
_induction = given("induction", ge(w, _grown))
_boundary = P * beta * omega
_two_terms = 4 * gamma * alpha * d * beta**2 * omega**2

D24 = Claim(
    "D.24",
    "step",
    "suppression and noise while every entry is in the initial phase",
    le(_Abs(S + N), _two_terms),
    (
        *given("induction", le(_Abs(w), _boundary), le(v, _boundary), le(u, _boundary)),
        *given("D.6", le(_Abs(N), (d - 2) * 2 * gamma * alpha * _boundary**2)),
        *PSD,
        *the.D1_SIGNAL,
        *given("definition", ge(d, 2)),
    ),
    (SUPPRESSION,),
    in_force=True,
    indices="off-diagonal",
    reference=_PLACE,
    reading="N_ij is a sum of d - 2 terms, each at most 2 gamma alpha (P beta omega)^2.",
    flaw=Flaw(
        "wrong power",
        "fatal",
        "Entries of the initial phase are bounded by P beta omega, so the bound of their products "
        "carries P^2; printed is no P at all, and 4 for 2.",
    ),
).mended(conclusion=le(_Abs(S + N), NOISE_CORRECTED))

D25 = Claim(
    "D.25",
    "step",
    "one step, from below",
    ge(w_next - w, eta * _rate * _grown - eta * NOISE),
    (*D24.cite(), *_induction, *the.D4_RANGE),
    (STEP,),
    reference=_PLACE,
).mended(
    conclusion=ge(w_next - w, eta * _rate * _grown - eta * NOISE_CORRECTED),
    given=(*given("D.24", le(_Abs(S + N), NOISE_CORRECTED)), *_induction),
)

D26 = Claim(
    "D.26",
    "identity",
    "w_ij(0) exp(...) taken out",
    eq(eta * _rate * _grown - eta * NOISE, _grown * (eta * _rate - eta * NOISE / _grown)),
    reference=_PLACE,
)

_noise_share = 2 * P * eta * gamma * alpha * d * beta**2 * omega
D27 = Claim(
    "D.27",
    "step",
    "w_ij(0) exp(...) is at least omega",
    le(eta * NOISE / _grown, _noise_share),
    the.D1_ENTRY,
    reference=_PLACE,
)

D28 = Claim(
    "D.28",
    "step",
    "Assumption D.4 bounds the noise by 1 - kappa^(-1/2)",
    le(_noise_share, (1 - _decay) * eta * _rate),
    (*the.D4_ROOT, *the.D1_SIGNAL, *the.D2, *the.D4_RANGE),
    reference=_PLACE,
)

BEFORE_D29 = Claim(
    "before D.29",
    "step",
    "an exponential below a line",
    ge(_decay * x + 1, _exp(x / kappa)),
    (
        *given("Assumption D.4", gt(kappa, sympy.Rational(11, 10))),
        *given("case", lt(x, sympy.Rational(1, 10))),
    ),
    reference=_PLACE,
    reading="'for any x < 0.1', as printed.",
    flaw=Flaw(
        "missing hypothesis",
        "cosmetic",
        "False for negative x. The proofs use it for 0 <= x < 0.1, where it holds.",
    ),
).mended(
    given=(
        *given("Assumption D.4", gt(kappa, sympy.Rational(11, 10))),
        *given("case", lt(x, sympy.Rational(1, 10)), ge(x, 0)),
    )
)

SMALL_STEP = Claim(
    "before D.29 (step size)",
    "step",
    "the step size is below 1/(10 (a_i + a_j))",
    le(eta, 1 / (10 * _rate)),
    (*the.D1_SIGNAL, *the.D2),
    reference=_PLACE,
)

D29 = Claim(
    "D.29",
    "step",
    "one step grows at least at the rate kappa^(-1/2)",
    ge(w_next, w + w * (_decay * eta * _rate)),
    (*D24.cite(), *D28.cite(), *_induction, *the.D1_ENTRY, *the.D4_RANGE),
    (STEP,),
    reference=_PLACE,
    reading="With w_ij(t) in place of w_ij(0) exp(...) this is more than the chain (D.25) to "
    "(D.28) says; it follows from (D.24) and (D.28) directly.",
)

D30 = Claim(
    "D.30",
    "step",
    "the line is above the exponential",
    ge(w + w * (_decay * eta * _rate), w * _exp(eta * _rate / kappa)),
    (
        *given("before D.29", ge(_decay * eta * _rate + 1, _exp(eta * _rate / kappa))),
        *given("induction", gt(w, 0)),
    ),
    reference=_PLACE,
)

D31 = Claim(
    "D.31",
    "step",
    "the induction closes",
    ge(w * _exp(eta * _rate / kappa), w_start * _exp(eta * (t + 1) * _rate / kappa)),
    _induction,
    reference=_PLACE,
)

_upper = w_start * _exp(eta * t * _rate * kappa)
D32 = Claim(
    "D.32",
    "step",
    "Lemma D.1 put in",
    le(w, _upper),
    given("D.11", le(_Abs(w), _upper)),
    reference=_PLACE,
)

_at_the_end = beta * omega * _exp(2 * eta * T_1 * gamma * alpha * kappa)
D33 = Claim(
    "D.33",
    "step",
    "the largest signal and the latest time",
    le(_upper, _at_the_end),
    (*the.D1_ENTRY, *the.D1_SIGNAL, *given("case", le(t, T_1))),
    reference=_PLACE,
)

D34 = Claim(
    "D.34",
    "step",
    "T_1 is when P beta omega can first be reached",
    le(_at_the_end, _boundary),
    the.D4_RANGE,
    (T1_OF_LEMMA_2,),
    reference=_PLACE,
)

T1_CLAIM = Claim(
    "T_1 (Lemma D.2)",
    "definition",
    "its two values agree",
    eq(T_1, T1_PRINTED[1]),
    the.D4_RANGE,
    (T1_OF_LEMMA_2,),
    in_force=True,
    reference="Lemma D.2",
    reading="Compared with the value in the proof of Lemma D.1.",
    flaw=Flaw(
        "contradiction with another line",
        "cosmetic",
        "Lemma D.2 has log P/(2 eta gamma alpha kappa), the proof of Lemma D.1 kappa log P/(2 eta "
        "gamma alpha). The former is what (D.33) and (D.34) need.",
    ),
).mended(conclusion=le(_at_the_end, _boundary))

_T = sympy.Symbol("T_1^(i)", nonnegative=True)
T1_DIAGONAL = Claim(
    "T_1^(i) (Lemma D.3)",
    "definition",
    "up to T_1^(i) the entry (i, i) is in the initial phase, by (D.11)",
    le(v_start * _exp(2 * eta * _T * a_i * kappa), _boundary),
    (*the.D1_DIAGONAL, *the.D4_RANGE),
    ((_T, _log(_boundary / v_start) / (2 * eta * a_i * kappa)),),
    indices="diagonal",
    reference="Lemma D.3",
    reading="What Lemma D.8 uses of T_1^(i) is another thing: see t_0 (Lemma D.8).",
)

CLAIMS = (
    D24,
    D25,
    D26,
    D27,
    D28,
    BEFORE_D29,
    SMALL_STEP,
    D29,
    D30,
    D31,
    D32,
    D33,
    D34,
    T1_CLAIM,
    T1_DIAGONAL,
)
