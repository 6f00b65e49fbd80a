r"""Our own proof of Lemma D.2 for the map (D.2), under the printed assumptions.

The printed proof rests on a bound of the noise that is too small by a factor P. The lemma is true
all the same, because entries with small signals are small when the noise matters. With
:math:`\rho = (\kappa + 1/\kappa)/2` show, by induction over t < T_1 and for all entries at once,

.. math:: |w_{ij}(0)| e^{\eta t(a_i+a_j)/\kappa} \le |w_{ij}(t)|
          \le |w_{ij}(0)| e^{\rho\eta t(a_i+a_j)}

with the sign of :math:`w_{ij}(0)`.

- [1] (machine) :math:`2\rho - 1/\kappa = \kappa`.
- [2] (machine) A product of two entries over a third one: by the induction hypothesis
  :math:`|w_{ki} w_{kj}|/|w_{ij}| \le \beta^2\omega\, e^{z}`, with z at most log P up to T_1.
- [3] (read) So the at most d terms of S and N together are, relative to :math:`|w_{ij}|`, at most
  :math:`2 P\gamma\alpha d\beta^2\omega`: N has d - 2 of them (d - 1 for i = j) and S counts for
  two (one). For S, :math:`w_{ii} \le \beta\omega P^{\rho/\kappa}` and [7].
- [4] (machine) By Assumption D.4 that is at most :math:`2\alpha(1-\kappa^{-1/2})/K`, hence at most
  :math:`(a_i+a_j)(1-\kappa^{-1/2})/K`.
- [5] (machine) From above: the growth factor :math:`1 + x(1 + (1-\kappa^{-1/2})/K)`, with
  :math:`x = \eta(a_i+a_j)`, is at most :math:`1 + \rho x \le e^{\rho x}`.
- [6] (machine) From below: :math:`1 + x(1 - (1-\kappa^{-1/2})/K) \ge 1 + \kappa^{-1/2}x \ge
  e^{x/\kappa}`, as 0 <= x < 0.1.
- [7] (machine) :math:`\rho \le \kappa`: up to T_1 every entry is at most P beta omega.
"""

from __future__ import annotations

import sympy

from swingby.theory.assumptions import K, P, alpha, beta, d, eta, gamma, kappa, omega
from swingby.theory.claim import Claim, Given
from swingby.theory.derivations import letters as the
from swingby.theory.derivations.letters import a_i, a_j, a_k, eq, ge, given, gt, le, lt, t, x

_PLACE = "Lemma D.2, own proof"
_decay = kappa ** sympy.Rational(-1, 2)
_excess = (1 - _decay) / K
RHO = (kappa + 1 / kappa) / 2


def _step(number: int, about: str, conclusion: sympy.Basic, *hypotheses: Given) -> Claim:
    return Claim(
        f"Lemma D.2 [{number}]",
        "step",
        about,
        conclusion,
        hypotheses,
        edition="repaired",
        reference=_PLACE,
    )


_kappa_range = given("Assumption D.4", gt(kappa, sympy.Rational(11, 10)))
_large_K = given("Assumption D.2", ge(K, 20))
_until = given("case", le(t, sympy.log(P) / (2 * eta * gamma * alpha * kappa)))

IDENTITY = _step(1, "the choice of rho", eq(2 * RHO - 1 / kappa, kappa))
PRODUCT = _step(
    2,
    "growth of w_ki w_kj/w_ij up to T_1",
    le(eta * t * (RHO * (2 * a_k + a_i + a_j) - (a_i + a_j) / kappa), sympy.log(P)),
    *the.D1_SIGNAL,
    *given("Assumption D.1", le(a_k, gamma * alpha)),
    *_kappa_range,
    *_until,
)
SHARE = _step(
    4,
    "suppression and noise relative to the entry",
    le(2 * P * gamma * alpha * d * beta**2 * omega, (a_i + a_j) * _excess),
    *the.D4_ROOT,
    *the.D1_SIGNAL,
    *_kappa_range,
)
ABOVE = _step(
    5,
    "growth from above",
    le(1 + _excess, RHO),
    *_kappa_range,
    *_large_K,
)
BELOW = _step(
    6,
    "growth from below",
    ge(1 + x * (1 - _excess), 1 + _decay * x),
    *_kappa_range,
    *_large_K,
    *given("case", ge(x, 0), lt(x, sympy.Rational(1, 10))),
)
PHASE = _step(7, "rho is at most kappa", le(RHO, kappa), *_kappa_range)

CLAIMS = (IDENTITY, PRODUCT, SHARE, ABOVE, BELOW, PHASE)
