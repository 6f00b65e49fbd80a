"""The proof of Lemma D.7: (D.58) to (D.72).

i is the concept with the larger signal, w_ii(t') > 0.8, and w_ij(t') > 0 without loss; the proof
wants |w_ij| not to grow beyond the larger of its value and omega.
"""

from __future__ import annotations

import sympy

from swingby.theory.assumptions import C, K, P, alpha, beta, d, eta, gamma, kappa, omega
from swingby.theory.claim import Claim, Flaw
from swingby.theory.derivations import letters as the
from swingby.theory.derivations.initial_growth import (
    BOUNDED_NOISE,
    IN_INITIAL_PHASE,
    POSITIVE,
    PSD,
    SUPPRESSION,
)
from swingby.theory.derivations.letters import (
    NOISE,
    G,
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
    u,
    v,
    w,
    w_next,
)

_PLACE = "proof of Lemma D.7"
_Abs, _Max = sympy.Abs, sympy.Max
_fifth, _half, _level = sympy.Rational(1, 5), sympy.Rational(1, 2), sympy.Rational(4, 5)
_GROWTH = (G, w * (a_i + a_j))
_sizes = _Abs(G) + _Abs(S) + _Abs(N)
_not_small = given("case", ge(w, omega))

BEFORE_D58 = Claim(
    "before D.58",
    "step",
    "Lemma D.6 keeps w_ii above 0.8",
    gt(1 - 2 / K, _level),
    the.D2,
    reference=_PLACE,
    reading="'Since K > 10': by Lemma D.4 w_ii grows until it is above 1 - 2/K, which it then "
    "never leaves.",
)

_one_sided = w * (a_i + a_j) - _half * w * v * (3 * a_i + a_j)
D58 = Claim(
    "D.58",
    "step",
    "the suppression by w_ii alone",
    le(G - S, _one_sided),
    (*POSITIVE, *PSD),
    (_GROWTH, SUPPRESSION),
    indices="larger first",
    reference=_PLACE,
)

_at_level = w * (a_i + a_j) - w * (sympy.Rational(2, 5) * (3 * a_i + a_j))
D59 = Claim(
    "D.59",
    "step",
    "w_ii is above 0.8",
    le(_one_sided, _at_level),
    (*POSITIVE, *given("case", gt(v, _level))),
    indices="larger first",
    reference=_PLACE,
)

_collected = -_fifth * w * a_i + 3 * _fifth * w * a_j
D60 = Claim(
    "D.60",
    "identity",
    "terms collected",
    eq(_at_level, _collected),
    indices="larger first",
    reference=_PLACE,
)

D61 = Claim(
    "D.61",
    "step",
    "Assumption D.5 makes the drift negative",
    le(_collected, -omega * alpha / C),
    (*_not_small, *the.D5_GAP),
    in_force=True,
    indices="larger first",
    reference=_PLACE,
    flaw=Flaw(
        "wrong constant",
        "local",
        "The factor 1/5 of (D.60) is lost. With it, (D.64) needs kappa <= 1 + K/(10 C) in "
        "Assumption D.4 in place of 1 + K/(2 C).",
    ),
).mended(conclusion=le(_collected, -omega * alpha / (5 * C)))

D62 = Claim(
    "D.62",
    "step",
    "the noise by its size",
    le(G - S - N, G - S + _Abs(N)),
    indices="larger first",
    reference=_PLACE,
)

_chain = (*D58.cite(), *D59.cite(), *D60.cite())
D63 = Claim(
    "D.63",
    "step",
    "(D.61) and the bound of the noise",
    le(G - S + _Abs(N), -omega * alpha / C + NOISE),
    (*_chain, *D61.cite(), *BOUNDED_NOISE),
    indices="larger first",
    reference=_PLACE,
).mended(
    conclusion=le(G - S + _Abs(N), -omega * alpha / (5 * C) + NOISE),
    given=(
        *_chain,
        *given("D.61", le(_collected, -omega * alpha / (5 * C))),
        *BOUNDED_NOISE,
    ),
)

D64 = Claim(
    "D.64",
    "step",
    "the drift beats the noise",
    lt(-omega * alpha / C + NOISE, 0),
    (*the.D4_ROOT, *the.D4_C, *the.D4_RANGE),
    in_force=True,
    indices="larger first",
    reference=_PLACE,
    reading="As printed, without the factor 1/5 lost in (D.61).",
).mended(
    conclusion=lt(-omega * alpha / (5 * C) + NOISE, 0),
    given=(
        *the.D4_ROOT,
        *the.D4_RANGE,
        *given("Assumption D.4", le(kappa, 1 + K / (10 * C))),
    ),
    reading="With the factor 1/5, and kappa <= 1 + K/(10 C) for Assumption D.4's 1 + K/(2 C).",
)

BEFORE_D65 = Claim(
    "before D.65",
    "step",
    "an entry of the initial phase is below 1/K",
    le(_Abs(w), 1 / K),
    (
        *IN_INITIAL_PHASE,
        *the.D4_ROOT,
        *the.D4_RANGE,
        *the.D1_SIGNAL,
        *given("definition", ge(d, 1)),
    ),
    reference=_PLACE,
)

_linear = 10 * gamma * alpha * _Abs(w) + NOISE
D65 = Claim(
    "D.65",
    "step",
    "the sizes of the three terms",
    le(_sizes, _linear),
    (
        *given("Lemma D.5", ge(v, 0), le(v, 2), ge(u, 0), le(u, 2)),
        *BOUNDED_NOISE,
        *the.D1_SIGNAL,
    ),
    (_GROWTH, SUPPRESSION),
    indices="larger first",
    reference=_PLACE,
)

_first = (10 * _Abs(w) + 2 * P * d * beta**2 * omega**2) / (9 * K * eta)
D66 = Claim(
    "D.66",
    "step",
    "the step size",
    le(_linear, _first),
    the.D2,
    indices="larger first",
    reference=_PLACE,
)

_second = (10 * _Abs(w) + 2 * omega) / (9 * K * eta)
D67 = Claim(
    "D.67",
    "step",
    "P d beta^2 omega is at most 1",
    le(_first, _second),
    (
        *the.D4_ROOT,
        *the.D4_RANGE,
        *given("Assumption D.1", gt(gamma, 1)),
        *given("Assumption D.2", ge(K, 20)),
    ),
    indices="larger first",
    reference=_PLACE,
)

_third = (_Abs(w) + omega) / (2 * eta)
D68 = Claim(
    "D.68",
    "step",
    "K is large",
    le(_second, _third),
    given("Assumption D.2", ge(K, 20)),
    indices="larger first",
    reference=_PLACE,
)

D69 = Claim(
    "D.69",
    "step",
    "one step, from below",
    ge(w_next, w - eta * _sizes),
    (),
    ((w_next, w + eta * (G - S - N)),),
    indices="larger first",
    reference=_PLACE,
)

D70 = Claim(
    "D.70",
    "step",
    "the entry is positive",
    ge(w - eta * _sizes, -eta * _sizes),
    POSITIVE,
    indices="larger first",
    reference=_PLACE,
)

_mean = -_half * (_Abs(w) + omega)
D71 = Claim(
    "D.71",
    "step",
    "(D.65) to (D.68)",
    ge(-eta * _sizes, _mean),
    (*D65.cite(), *D66.cite(), *D67.cite(), *D68.cite()),
    indices="larger first",
    reference=_PLACE,
)

D72 = Claim(
    "D.72",
    "step",
    "a mean is below the larger of the two",
    gt(_mean, -_Max(_Abs(w), omega)),
    _not_small,
    in_force=True,
    indices="larger first",
    reference=_PLACE,
    flaw=Flaw(
        "wrong direction",
        "cosmetic",
        "Equality holds at w_ij = omega, so the sign is >=, which is all the lemma needs.",
    ),
).mended(conclusion=ge(_mean, -_Max(_Abs(w), omega)))

CLAIMS = (
    BEFORE_D58,
    D58,
    D59,
    D60,
    D61,
    D62,
    D63,
    D64,
    BEFORE_D65,
    D65,
    D66,
    D67,
    D68,
    D69,
    D70,
    D71,
    D72,
)
