"""Step [1.13] of the theorem on two concepts: simpler constants follow, for every ratio r.

E <= 0.1 gives b <= 0.1 and k <= 0.2 r/(1+r) 4^-r e^(-r/2) 0.9^(-(1-r)/2); the claims say that then
E_1(0.8) < 1, e < 1/2 and K k < 0.8 beta (4/rho)^r e^(r/2) omega^(1-r).
"""

from __future__ import annotations

from typing import Any

import sympy

from swingby.theory.claim import Claim
from swingby.theory.derivations.letters import given, le, lt
from swingby.theory.derivations.repaired.conclusions import OnInterval

PLACE = "swingby.theory.theorem_two"


def step(id: str, about: str, conclusion: Any, hypotheses: Any = (), **more: Any) -> Claim:
    """A step of the proof of the theorem on two concepts as a claim.

    Parameters
    ----------
    id : str
        ``"[1.4]"``.
    about : str
    conclusion
    hypotheses : tuple of Given
    **more
        Further fields of Claim.
    """
    more = {"edition": "repaired", "reference": f"{PLACE} {id}"} | more
    return Claim(
        f"Theorem two {id}", more.pop("kind", "step"), about, conclusion, hypotheses, **more
    )


half, _log = sympy.Rational(1, 2), sympy.log
R = sympy.Symbol("r", positive=True)
_slack = sympy.exp(-(1 - R) / 2 * _log(sympy.Rational(9, 10)))
_k_over_r = _slack * sympy.exp(-R * _log(4) - R / 2) / (5 * (1 + R))
_theta_r = sympy.exp(R * _log(sympy.Rational(4, 5)))
_E_1 = (1 + R) / 2 * R * _k_over_r * _theta_r * sympy.exp((1 + R) / 2 * _log(5))
_far = R * (sympy.exp((3 + R) / 2 * _log(5)) - 1) / (1 + R)
_extra = (1 + R) / 2 * _k_over_r * _theta_r * (1 + _far) / (1 - _E_1)
_star_R = 2 * (1 + R) / (3 + R)
_K = sympy.exp((1 + R) * _log(_star_R) + (1 - R) / 2 * _log((1 - R) / (3 + R)))
_room = sympy.Rational(4, 5) * sympy.exp(R * _log(4) + R / 2)
_one, _zero = sympy.Integer(1), sympy.Integer(0)
L_spread, L_beta, L_rho, L_omega, L_1b, L_limit, L_nine = sympy.symbols(
    "L_spread L_beta L_rho L_omega L_1b L_limit L_nine", real=True
)
SIMPLER = (
    step(
        "[1.13.0]",
        "E <= 0.1 and b <= 0.1 bound k, in logarithms",
        le(
            L_spread - R * L_rho + (1 - R) * L_omega - (1 - R) / 2 * L_1b,
            L_limit - (1 - R) / 2 * L_nine,
        ),
        given(
            "definition",
            le(L_beta - R * L_rho + (1 - R) * L_omega, L_limit),
            le(L_spread, L_beta),
            le(L_nine, L_1b),
            lt(R, 1),
        ),
        reading="L_limit = log(0.2 r/(1+r) 4^-r e^(-r/2)), which is E <= 0.1; L_spread = "
        "log(beta-rho), L_1b = log(1-b), L_nine = log 0.9. b <= 0.1 because beta omega <= "
        "beta omega^(1-r) <= 0.1 for rho <= 1, omega <= 1.",
    ),
    step(
        "[1.13.1]",
        "E <= 0.1 gives E_1(0.8) < 1",
        OnInterval(lt(_E_1, 1), R, _zero, _one),
        reading="With k <= 0.2 r/(1+r) 4^-r e^(-r/2) 0.9^(-(1-r)/2), which E <= 0.1 and b <= 0.1 "
        "give.",
    ),
    step("[1.13.2]", "and e <= 1/2", OnInterval(lt(_extra, half), R, _zero, _one)),
    step(
        "[1.13.3]",
        "the simpler peak, r up to 1/2",
        OnInterval(lt(_K * _slack, _room), R, _zero, half),
    ),
    step(
        "[1.13.4]",
        "the simpler peak, r from 1/2 on, where K <= 1",
        OnInterval(lt(_slack, _room), R, half, _one),
    ),
)
