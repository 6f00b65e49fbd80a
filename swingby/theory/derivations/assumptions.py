"""Assumptions D.1 to D.5 and Definition D.1 as claims: whether they can be met, as printed.

An assumption is no step. What is judged is whether numbers exist that satisfy it together with all
the others, and whether the indices of Assumption D.5 can be read as printed.
"""

from __future__ import annotations

from typing import Any

import sympy

from swingby.theory.assumptions import C, K, P, alpha, beta, d, eta, gamma, kappa, omega
from swingby.theory.claim import Claim, Flaw
from swingby.theory.derivations import letters as the
from swingby.theory.derivations.letters import both, ge, given, gt, le, lt

_PLACE = "App. D.1"


def _met(id: str, about: str, *relations: Any) -> Claim:
    return Claim(
        id,
        "assumption",
        about,
        both(*relations) if len(relations) > 1 else relations[0],
        quantifier="exists",
        in_force=True,
        indices="larger first",
        reference=_PLACE,
        reading="The question is whether some numbers satisfy it with all of D.1 to D.5, where "
        "D.5 is read by value.",
    )


_SIGNAL = (le(alpha, the.a_i), le(the.a_i, gamma * alpha))
_ENTRY = (le(omega, the.w_start), le(the.w_start, beta * omega))
_STEP = (le(eta, 1 / (9 * K * gamma * alpha)), ge(K, 20))
_SMALL = le(
    omega,
    sympy.Min(
        sympy.Min(kappa - 1, the.ROOT_RATE) / (P * K * gamma * d * beta**2),
        sympy.Pow(2 * beta, -sympy.Rational(1, 2), evaluate=False),
    ),
)
_RATIO, _GAP, _C_RANGE = (hypothesis.relation for hypothesis in (*the.D5_RATIO, *the.D5_GAP))

D7 = _met("D.7", "the signals lie in [alpha, gamma alpha]", *_SIGNAL)
D8 = _met("D.8", "the entries of W(0) lie in [omega, beta omega] in size", *_ENTRY)
ASSUMPTION_1 = _met(
    "Assumption D.1", "bounded signals and entries", *_SIGNAL, *_ENTRY, gt(gamma, 1), gt(beta, 1)
)
ASSUMPTION_2 = _met("Assumption D.2", "small step size", *_STEP)
DEFINITION_1 = Claim(
    "Definition D.1",
    "definition",
    "the initial phase; every entry is in it at t = 0",
    le(sympy.Abs(the.w_start), P * beta * omega),
    (*the.D1_ENTRY, *the.D4_RANGE),
    reference=_PLACE,
    reading="A definition is not true or false. Judged: what the proofs use of it at t = 0.",
)
ASSUMPTION_3 = _met(
    "Assumption D.3", "small initial phase", le(P * omega * beta, sympy.Rational(2, 5))
)
D9 = _met("D.9", "omega is small", _SMALL)
ASSUMPTION_4 = _met(
    "Assumption D.4",
    "small initialization",
    _SMALL,
    gt(kappa, sympy.Rational(11, 10)),
    le(kappa, 1 + K / (2 * C)),
    ge(P, 2),
)

_BY_INDEX: dict[str, Any] = {
    "quantifier": "exists",
    "reference": _PLACE,
    "reading": "Sec. 4 sorts a in descending order, so i > j means a_i < a_j: read by index, as "
    "printed.",
    "given": (
        *given("definition", lt(the.a_i, the.a_j)),
        *the.D3,
        *the.D4_RANGE,
        *given("Assumption D.1", gt(beta, 1)),
    ),
}
_BY_VALUE: dict[str, Any] = {
    "given": given("definition", gt(the.a_i, the.a_j)),
    "in_force": True,
    "indices": "larger first",
    "reading": "i is the concept with the larger signal.",
}

D10 = Claim(
    "D.10",
    "assumption",
    "the signals of a pair differ enough",
    _RATIO,
    **_BY_INDEX,
    flaw=Flaw(
        "wrong direction",
        "cosmetic",
        "With a_i < a_j the left side is above 1 and the right side below 1. Meant is that i is "
        "the concept with the larger signal.",
    ),
).mended(**_BY_VALUE)
ASSUMPTION_5 = Claim(
    "Assumption D.5",
    "assumption",
    "significant difference of signals",
    both(_RATIO, _GAP, _C_RANGE),
    **_BY_INDEX,
    flaw=Flaw(
        "wrong direction",
        "cosmetic",
        "With a_i < a_j no pair satisfies a_i - 3 a_j >= alpha/C > 0. Meant is that i is the "
        "concept with the larger signal.",
    ),
).mended(**_BY_VALUE)

CLAIMS = (
    ASSUMPTION_1,
    D7,
    D8,
    ASSUMPTION_2,
    DEFINITION_1,
    ASSUMPTION_3,
    ASSUMPTION_4,
    D9,
    ASSUMPTION_5,
    D10,
)
