"""The proof of Lemma D.8: t_0, t* and (D.73) to (D.82).

The proof wants a time t* at which w_ii is at least 0.8 and w_ij still in the initial phase. It
starts from t_0, when Lemma D.3 is said to have brought w_ii to P beta omega.
"""

from __future__ import annotations

import sympy

from swingby.theory.assumptions import K, P, beta, eta, kappa, omega
from swingby.theory.claim import Claim, Flaw
from swingby.theory.derivations import letters as the
from swingby.theory.derivations.after_initial_growth import REST
from swingby.theory.derivations.letters import (
    a_i,
    a_j,
    both,
    eq,
    ge,
    given,
    gt,
    le,
    lt,
    t_0,
    v,
    v_anchor,
    v_start,
    w,
    w_start,
)

_PLACE = "proof of Lemma D.8"
_exp, _log = sympy.exp, sympy.log
_rate, _level = sympy.Rational(3, 10), sympy.Rational(4, 5)
_boundary = P * beta * omega
_waiting = _log(_boundary / v_start)
_climbing = _log(_level / _boundary)

#: t_0 and t* - t_0 as printed, and t_0 as the growth bound (D.35) gives it.
T0_PRINTED = (t_0, _waiting / (2 * eta * a_i * kappa))
T0_CORRECTED = (t_0, kappa * _waiting / (2 * eta * a_i))
AFTER = sympy.Symbol("(t-t_0)", nonnegative=True)
CLIMB = (AFTER, kappa * _climbing / (_rate * eta * a_i))


def _written(factor: sympy.Expr, exponent: sympy.Expr) -> sympy.Expr:
    """Factor times exp(exponent), not simplified: it reads as printed."""
    return sympy.Mul(factor, sympy.exp(exponent, evaluate=False), evaluate=False)


_range = (*the.D1_DIAGONAL, *the.D4_RANGE, *the.D3)
T0_CLAIM = Claim(
    "t_0 (Lemma D.8)",
    "step",
    "by t_0 the entry (i, i) has left the initial phase",
    ge(v_anchor, _boundary),
    (*given("D.35", ge(v_anchor, v_start * _exp(2 * eta * t_0 * a_i / kappa))), *_range),
    (T0_PRINTED,),
    in_force=True,
    indices="diagonal",
    reference=_PLACE,
    reading="t_0 is a whole number of steps only after rounding up.",
    flaw=Flaw(
        "wrong constant",
        "local",
        "At the rate 1/kappa that Lemma D.3 proves, P beta omega is reached after kappa log(P beta "
        "omega/w_ii(0))/(2 eta a_i) steps: the printed time is too early by kappa^2.",
    ),
).mended(where=(T0_CORRECTED,))

D73 = Claim(
    "D.73",
    "step",
    "Lemma D.4 with lambda = 0.85",
    both(
        ge(v, v_anchor * _exp(_rate * eta * AFTER * a_i / kappa)),
        lt(1 - REST, 1 - 1 / K),
    ),
    (
        *given("D.36", ge(v, v_anchor * _exp(2 * eta * AFTER * a_i * REST / kappa))),
        *the.D2,
    ),
    ((REST, sympy.Rational(3, 20)),),
    indices="diagonal",
    reference=_PLACE,
    reading="The second part: lambda = 0.85 is below 1 - 1/K, as Lemma D.4 asks.",
)

_growth_after = _boundary * _exp(_rate * eta * AFTER * a_i / kappa)
D74 = Claim(
    "D.74",
    "step",
    "w_ii(t_0) has left the initial phase",
    ge(v_anchor * _exp(_rate * eta * AFTER * a_i / kappa), _growth_after),
    given("t_0 (Lemma D.8)", ge(v_anchor, _boundary)),
    indices="diagonal",
    reference=_PLACE,
)

T_STAR = Claim(
    "t* (Lemma D.8)",
    "definition",
    "its two values agree",
    eq(CLIMB[1] + t_0, T0_PRINTED[1] + t_0),
    _range,
    in_force=True,
    indices="diagonal",
    reference=_PLACE,
    reading="t* is defined with kappa log(0.8/(P beta omega))/(0.3 eta a_i) + t_0 and used two "
    "lines later with log(P beta omega/w_ii(0))/(2 eta a_i kappa) + t_0.",
    flaw=Flaw(
        "contradiction with another line",
        "cosmetic",
        "The second expression repeats t_0. The first is meant: growth (D.74) then reaches 0.8.",
    ),
).mended(
    about="with the first value, growth (D.74) reaches 0.8 at t*",
    conclusion=ge(_growth_after, _level),
    where=(CLIMB,),
)

T_STAR_LATER = Claim(
    "t* >= t_0 (Lemma D.8)",
    "step",
    "t* is not before t_0",
    ge(CLIMB[1], 0),
    (*the.D3,),
    indices="diagonal",
    reference=_PLACE,
)

_from_start = v_start * _exp(_rate * eta * (AFTER + t_0) * a_i / kappa)
D75 = Claim(
    "D.75",
    "step",
    "growth counted from w_ii(0)",
    ge(_growth_after, _from_start),
    _range,
    (T0_PRINTED,),
    indices="diagonal",
    reference=_PLACE,
    reading="The right side of (D.74) at t* is at least that of (D.75).",
).mended(
    conclusion=ge(v_anchor * _exp(_rate * eta * AFTER * a_i / kappa), _growth_after),
    given=given("t_0 (Lemma D.8)", ge(v_anchor, _boundary)),
    where=(),
)

_reached = _written(_boundary, _climbing)
D76 = Claim(
    "D.76",
    "step",
    "t* put in",
    ge(_from_start, _reached),
    _range,
    (CLIMB, T0_PRINTED),
    in_force=True,
    indices="diagonal",
    reference=_PLACE,
    flaw=Flaw(
        "wrong expression",
        "local",
        "Growth at the rate 0.3 a_i/kappa from w_ii(0) over the whole of t* does not give P beta "
        "omega times the exponential. It has to be counted from w_ii(t_0) over t* - t_0.",
    ),
).mended(
    conclusion=ge(v_anchor * _exp(_rate * eta * AFTER * a_i / kappa), _reached),
    given=given("t_0 (Lemma D.8)", ge(v_anchor, _boundary)),
    where=(CLIMB,),
)

D77 = Claim(
    "D.77",
    "step",
    "P beta omega cancels",
    ge(_reached, _level),
    indices="diagonal",
    reference=_PLACE,
)

_minor = w_start * _exp(eta * (AFTER + t_0) * kappa * (a_i + a_j))
D78 = Claim(
    "D.78",
    "step",
    "Lemma D.1 at t*",
    le(sympy.Abs(w), _minor),
    given("D.11", le(sympy.Abs(w), _minor)),
    indices="larger first",
    reference=_PLACE,
)

_share = (a_i + a_j) / (2 * a_i)
_early = beta * omega * _exp((kappa**2 * _climbing / sympy.Rational(3, 20) + _waiting) * _share)
_early_corrected = (
    beta
    * omega
    * _exp((kappa**2 * _climbing / sympy.Rational(3, 20) + kappa**2 * _waiting) * _share)
)
D79 = Claim(
    "D.79",
    "step",
    "t* put in",
    le(_minor, _early),
    the.D1_ENTRY,
    (CLIMB, T0_PRINTED),
    indices="larger first",
    reference=_PLACE,
).mended(conclusion=le(_minor, _early_corrected), where=(CLIMB, T0_CORRECTED))

_late = beta * omega * _exp((10 * kappa**2 * _log(1 / _boundary) + _log(P * beta)) * _share)
_late_corrected = (
    beta * omega * _exp((10 * kappa**2 * _log(1 / _boundary) + kappa**2 * _log(P * beta)) * _share)
)
D80 = Claim(
    "D.80",
    "step",
    "log 0.8 < 0 and w_ii(0) is at least omega",
    le(_early, _late),
    (*the.D1_DIAGONAL, *the.D3),
    indices="larger first",
    reference=_PLACE,
).mended(conclusion=le(_early_corrected, _late_corrected))

_ratio_corrected = le(
    _share,
    _log(P) / (10 * kappa**2 * _log(1 / _boundary) + kappa**2 * _log(P * beta)),
)
D81 = Claim(
    "D.81",
    "step",
    "Assumption D.5",
    le(_late, _written(beta * omega, _log(P))),
    (*the.D5_RATIO, *the.D3, *the.D4_RANGE, *given("Assumption D.1", gt(beta, 1))),
    indices="larger first",
    reference=_PLACE,
).mended(
    conclusion=le(_late_corrected, _written(beta * omega, _log(P))),
    given=(
        *given("Assumption D.5", _ratio_corrected),
        *the.D3,
        *the.D4_RANGE,
        *given("Assumption D.1", gt(beta, 1)),
    ),
    reading="With the corrected t_0, Assumption D.5 needs kappa^2 log(P beta) in its denominator.",
)

D82 = Claim(
    "D.82",
    "step",
    "the entry is in the initial phase",
    le(_written(beta * omega, _log(P)), P * omega * beta),
    indices="larger first",
    reference=_PLACE,
)

CLAIMS = (
    T0_CLAIM,
    D73,
    D74,
    T_STAR,
    T_STAR_LATER,
    D75,
    D76,
    D77,
    D78,
    D79,
    D80,
    D81,
    D82,
)
