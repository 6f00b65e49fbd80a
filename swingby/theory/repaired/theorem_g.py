r"""Theorem G: the flow converges to the identity from any positive definite W(0).

**Theorem G.** Let a_i > 0, and let W solve :math:`\dot W = BW + WB`, :math:`B = A - (AW + WA)/2`,
from a positive definite W(0); time is eta times steps. Then W(t) -> I. With C the correlation
matrix of W, Lambda = -log det C(0) and f_i = sum_(k != i) (a_i+a_k) w_ik^2/w_ii: det C never
falls; the integrals of the f_i over all time add up to at most Lambda; and a w_ii that starts
below a level in (0, 1) reaches it by
[logit level - logit w_ii(0) + Lambda/(1 - level)]/(2 a_i).

The proof is ``proofs/theorem_g.proof``, step by step, each step judged like a line of the paper; a
step in brackets, such as [G.6], is a step of it. For gradient descent there is
:mod:`swingby.theory.repaired.theorem_g_gd`.
"""

from __future__ import annotations

import math

from swingby.errors import InvalidInput


def reach_by(a_i: float, log_start: float, log_det: float, level: float = 0.8) -> float:
    """Bound the time (eta times steps) by which w_ii first reaches a level, by [G.6].

    `log_start`: log w_ii(0), below log level. `log_det`: log det C(0), at most 0.
    """
    if not log_start < math.log(level) < 0:
        raise InvalidInput("log_start", log_start, "must lie below log level < 0", "Theorem G")
    if log_det > 0:
        raise InvalidInput("log_det", log_det, "must not be positive", "Theorem G")
    start = log_start - math.log1p(-math.exp(log_start))
    return (math.log(level / (1 - level)) - start - log_det / (1 - level)) / (2 * a_i)
