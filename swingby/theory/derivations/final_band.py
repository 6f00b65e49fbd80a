"""The proofs of Lemmas D.5 and D.6: (D.47) to (D.56), and the step to Corollary D.2.

Lemma D.5 wants w_ii(t) <= 1 + 2/K for all t, by induction; Lemma D.6 that 1 - 2/K is never left.
"""

from __future__ import annotations

import sympy

from swingby.theory.assumptions import K, alpha, beta, d, eta, gamma, kappa
from swingby.theory.claim import Claim, Flaw
from swingby.theory.derivations import letters as the
from swingby.theory.derivations.after_initial_growth import (
    DIAGONAL_G,
    DIAGONAL_S,
    DIAGONAL_STEP,
    REST,
)
from swingby.theory.derivations.initial_growth import BOUNDED_NOISE
from swingby.theory.derivations.letters import (
    NOISE,
    G,
    N,
    S,
    a_i,
    both,
    eq,
    ge,
    given,
    gt,
    le,
    lt,
    v,
    v_next,
)

_UPPER, _LOWER = "proof of Lemma D.5", "proof of Lemma D.6"
_Abs = sympy.Abs
_SIGNAL = given("Assumption D.1", le(alpha, a_i), le(a_i, gamma * alpha), gt(gamma, 1), gt(beta, 1))
_sizes = _Abs(G) + _Abs(S) + _Abs(N)
_middle = (kappa - 1) ** 2 * alpha / (K**2 * gamma * d * beta**2)

D47 = Claim(
    "D.47",
    "step",
    "the noise is below a_i/K",
    both(le(_Abs(N), NOISE), le(NOISE, _middle), le(_middle, a_i / K)),
    (*BOUNDED_NOISE, *the.D4_KAPPA, *the.D4_RANGE, *the.D4_C, *_SIGNAL, *the.D2),
    in_force=True,
    indices="diagonal",
    reference=_UPPER,
    flaw=Flaw(
        "missing hypothesis",
        "local",
        "The last inequality needs (kappa - 1)^2 <= K gamma d beta^2, which large K and kappa "
        "violate inside D.1 to D.5. The outer bound is true without the middle one.",
    ),
).mended(
    conclusion=both(le(_Abs(N), NOISE), le(NOISE, a_i / K)),
    given=(*BOUNDED_NOISE, *the.D4_ROOT, *the.D4_RANGE, *_SIGNAL, *the.D3),
)

K_RANGE = Claim(
    "before D.47",
    "step",
    "the range of K",
    le(K, 10),
    the.D2,
    reference=_UPPER,
    flaw=Flaw("wrong direction", "cosmetic", "Assumption D.2 asks for K >= 20; meant is K >= 10."),
).mended(conclusion=ge(K, 10))

_past = given("case", gt(v, 1 + 1 / K))
_DRIFT = eq(G - S, 2 * a_i * v * (1 - v))
D48 = Claim(
    "D.48",
    "step",
    "the drift above 1 + 1/K",
    both(_DRIFT, le(_DRIFT.rhs, -4 * a_i / K)),
    _past,
    (DIAGONAL_G, DIAGONAL_S),
    in_force=True,
    indices="diagonal",
    reference=_UPPER,
    flaw=Flaw(
        "wrong constant",
        "local",
        "Just above 1 + 1/K the drift is -2 a_i (1 + 1/K)/K, not below -4 a_i/K.",
    ),
).mended(conclusion=both(_DRIFT, le(_DRIFT.rhs, -2 * a_i / K)))

_step = v + eta * (G - S - N)
D49 = Claim(
    "D.49",
    "identity",
    "one step of a diagonal entry",
    eq(v_next, _step),
    (),
    ((v_next, v + eta * (2 * a_i * v - 2 * a_i * v**2 - N)), DIAGONAL_G, DIAGONAL_S),
    indices="diagonal",
    reference=_UPPER,
)

_small_noise = given("D.47", le(_Abs(N), a_i / K))
D50 = Claim(
    "D.50",
    "step",
    "drift and noise together",
    le(_step, v - 3 * a_i * eta / K),
    (*D48.cite(), *_small_noise),
    indices="diagonal",
    reference=_UPPER,
).mended(
    conclusion=le(_step, v - a_i * eta / K),
    given=(*given("D.48", _DRIFT, le(_DRIFT.rhs, -2 * a_i / K)), *_small_noise),
)

D51 = Claim(
    "D.51",
    "step",
    "the entry does not grow",
    le(v - 3 * a_i * eta / K, v),
    indices="diagonal",
    reference=_UPPER,
).mended(conclusion=le(v - a_i * eta / K, v))

D52 = Claim(
    "D.52",
    "step",
    "the induction closes above 1 + 1/K",
    le(v, 1 + 2 / K),
    given("induction", le(v, 1 + 2 / K)),
    indices="diagonal",
    reference=_UPPER,
)

D53 = Claim(
    "D.53",
    "step",
    "one step moves a diagonal entry by at most 1/K",
    both(
        le(_sizes, 4 * a_i + 4 * a_i + a_i / K),
        le(4 * a_i + 4 * a_i + a_i / K, 9 * gamma * alpha),
        le(9 * gamma * alpha, 1 / (K * eta)),
    ),
    (*given("induction", ge(v, 0), le(v, 1 + 2 / K)), *_small_noise, *_SIGNAL, *the.D2),
    (DIAGONAL_G, DIAGONAL_S),
    indices="diagonal",
    reference=_UPPER,
    reading="With w_ii <= 2 alone |S_ii| could be 8 a_i; the bound 4 a_i uses w_ii <= 1 + 2/K and "
    "K >= 20.",
)

D54 = Claim(
    "D.54",
    "step",
    "the induction closes below 1 + 1/K",
    both(le(_step, v + eta * _sizes), le(v + eta * _sizes, 1 + 2 / K)),
    (*given("case", le(v, 1 + 1 / K)), *D53.cite()),
    indices="diagonal",
    reference=_UPPER,
)

COROLLARY_STEP = Claim(
    "Corollary D.2 (its step)",
    "step",
    "one step moves a diagonal entry by at most 1/K",
    le(_Abs(v_next - v), 1 / K),
    D53.cite(),
    (DIAGONAL_STEP,),
    indices="diagonal",
    reference="Corollary D.2",
)

D55 = Claim(
    "D.55",
    "step",
    "below 1 - 1/K the entry grows",
    both(ge(v_next, v), ge(v, 1 - 2 / K)),
    (
        *given("D.36", ge(v_next, v * sympy.exp(2 * eta * a_i * REST / kappa))),
        *given("induction", ge(v, 1 - 2 / K)),
        *given("case", lt(v, 1 - 1 / K)),
        *the.D2,
    ),
    indices="diagonal",
    reference=_LOWER,
    reading="Lemma D.4 for one step, with lambda between w_ii(t') and 1 - 1/K; where w_ii(t'+1) "
    "reaches lambda the conclusion is immediate.",
)

D56 = Claim(
    "D.56",
    "step",
    "above 1 - 1/K the entry falls by less than 1/K",
    both(gt(v_next, v - 1 / K), gt(v - 1 / K, 1 - 2 / K)),
    (*D53.cite(), *given("case", gt(v, 1 - 1 / K)), *_SIGNAL, *the.D2),
    (DIAGONAL_STEP,),
    indices="diagonal",
    reference=_LOWER,
    reading="Corollary D.2 alone gives >=; the strict sign comes from 8 + 1/K < 9 in (D.53). The "
    "case w_ii(t') = 1 - 1/K is in neither (D.55) nor (D.56).",
)

CLAIMS = (
    D47,
    K_RANGE,
    D48,
    D49,
    D50,
    D51,
    D52,
    D53,
    D54,
    COROLLARY_STEP,
    D55,
    D56,
)
