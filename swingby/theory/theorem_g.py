r"""Convergence of the flow from every positive definite W(0), and theorems as objects.

**Theorem G.** Let a_i > 0, and let W solve :math:`\dot W = BW + WB`, :math:`B = A - (AW + WA)/2`,
from a positive definite W(0); time is eta times steps. Then W(t) -> I. With C the correlation
matrix of W, Lambda = -log det C(0) and f_i = sum_(k != i) (a_i+a_k) w_ik^2/w_ii: det C never
falls; the integrals of the f_i over all time add up to at most Lambda; and a w_ii that starts
below a level in (0, 1) reaches it by
[logit level - logit w_ii(0) + Lambda/(1 - level)]/(2 a_i).

- [G.1] (sympy for d = 2, 3) (log det C)' = sum_i f_i, because (log det W)' = 2 tr B.
- [G.2] (read) f_i >= 0 and det C <= 1 (Hadamard), so the integrals add up to at most Lambda.
- [G.3] (read) (log w_ii)' = 2 a_i (1-w_ii) - f_i, hence
  w_ii >= exp(-Lambda) min(1, w_ii(0)) =: m_i > 0; and w_ii <= max(1, w_ii(0)).
- [G.4] (read) So w_ik^2, k != i, has a finite integral and a bounded derivative: w_ik -> 0.
- [G.5] (read) While w_ii <= 1-e, w_ii' >= 2 a_i m_i e - w_ii f_i, and w_ii f_i -> 0: w_ii enters
  [1-e, inf) for good; from above it is bounded by a logistic. So w_ii -> 1.
- [G.6] (read) (logit w_ii)' = 2 a_i - f_i/(1-w_ii) >= 2 a_i - f_i/(1-level) below the level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import sympy

from swingby.errors import InvalidInput
from swingby.theory.assumptions import a_k
from swingby.theory.statement import Condition


@dataclass(frozen=True)
class Theorem:
    """A theorem as an object: what it supposes, and what follows.

    `conclusions`: one sentence each; t is eta times steps. `proof`: the module whose docstring
    proves it.
    """

    id: str
    title: str
    hypotheses: tuple[Condition, ...]
    conclusions: tuple[str, ...]
    proof: str

    def __str__(self) -> str:
        supposed = "; ".join(f"{condition} for all k" for condition in self.hypotheses)
        return "\n".join((f"Theorem {self.id} ({self.title}). Let {supposed}.", *self.conclusions))


pi_k = sympy.Symbol("pi_k(0)", real=True)

THEOREM_G = Theorem(
    "G",
    "Global Convergence",
    (Condition(a_k > 0, "concept"), Condition(pi_k > 0, "concept")),
    (
        "Then the flow has W(t) -> I as t -> infinity, whatever the size of W(0) and however "
        "close the signals.",
        "A w_ii(0) below a level in (0, 1) reaches it by [logit(level) - logit(w_ii(0)) + "
        "Lambda/(1 - level)]/(2 a_i), Lambda = -log det of the correlation matrix of W(0).",
    ),
    "swingby.theory.theorem_g",
)


def reach_by(a_i: float, log_start: float, log_det: float, level: float = 0.8) -> float:
    """Bound the time by which a diagonal entry first reaches a level, by [G.6].

    `a_i`: signal, per unit of eta times steps.
    `log_start`: log w_ii(0), natural, below log level.
    `log_det`: log det C(0), natural, at most 0.
    `level`: in (0, 1).
    Returns eta times steps.
    Raises InvalidInput if the entry does not start below the level, or log_det is positive.

    Examples
    --------
    >>> round(reach_by(1.0, math.log(0.2), 0.0), 6) == round(math.log(16) / 2, 6)
    True
    """
    if not log_start < math.log(level) < 0:
        raise InvalidInput("log_start", log_start, "must lie below log level < 0", "Theorem G")
    if log_det > 0:
        raise InvalidInput("log_det", log_det, "must not be positive", "Theorem G")
    start = log_start - math.log1p(-math.exp(log_start))
    return (math.log(level / (1 - level)) - start - log_det / (1 - level)) / (2 * a_i)
