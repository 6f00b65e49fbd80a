r"""Windows of time and size that the lemmas of App. D promise.

All windows are in steps and are computed in the log domain. `edition` is ``"printed"`` or
``"corrected"``; the two differ in Lemma D.3 alone. Its growth bound (D.35) is
:math:`w_{ii}(t) \ge w_{ii}(0) e^{2\eta t a_i/\kappa}`, which reaches :math:`P\beta\omega` after
:math:`\kappa \log(P\beta\omega / w_{ii}(0)) / (2\eta a_i)` steps. The printed time
:math:`T_1^{(i)}` has kappa in the denominator, and the proof of Lemma D.8 uses it as if growth
had reached :math:`P\beta\omega` by then.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """The constants that the windows need, as logarithms.

    `log_P`, `log_beta`, `log_omega`: natural logarithms. `eta`: step size.
    """

    log_P: float
    log_beta: float
    log_omega: float
    kappa: float
    K: float
    alpha: float
    gamma: float
    eta: float

    @property
    def log_initial_phase(self) -> float:
        """Log of P beta omega, the boundary of the initial phase (Definition D.1)."""
        return self.log_P + self.log_beta + self.log_omega


def initial_phase_end(scale: Scale) -> float:
    r"""Steps up to which every entry is in the initial phase (Lemma D.2).

    .. math:: T_1 = \frac{\log P}{2\eta\gamma\alpha\kappa}
    """
    return scale.log_P / (2 * scale.eta * scale.gamma * scale.alpha * scale.kappa)


def reach_not_before(scale: Scale, a_i: float, log_start: float, log_level: float) -> float:
    r"""Steps before which w_ii cannot reach a level (Lemma D.1, (D.11)).

    From :math:`w_{ii}(t) \le w_{ii}(0) e^{2\eta t a_i \kappa}`; `log_start` is log w_ii(0).
    """
    return max(0.0, log_level - log_start) / (2 * scale.eta * a_i * scale.kappa)


def leave_initial_phase_by(
    scale: Scale, a_i: float, log_start: float, edition: str = "printed"
) -> float:
    r"""Steps by which w_ii has left the initial phase (Lemma D.3, (D.35); t_0 of Lemma D.8).

    Printed: :math:`\log(P\beta\omega/w_{ii}(0))/(2\eta a_i\kappa)`; corrected: kappa times the
    logarithm over :math:`2\eta a_i`.
    """
    waiting = (scale.log_initial_phase - log_start) / (2 * scale.eta * a_i)
    return waiting / scale.kappa if edition == "printed" else waiting * scale.kappa


def reach_by(
    scale: Scale, a_i: float, log_start: float, level: float, edition: str = "printed"
) -> float:
    r"""Steps by which w_ii has reached a level; nan where Lemma D.4 says nothing of it.

    Lemma D.3 until the initial phase is left, then Lemma D.4 with lambda equal to the level:
    :math:`w_{ii}(t_0 + t) \ge P\beta\omega\, e^{2\eta t a_i (1 - \lambda)/\kappa}` (D.36).
    """
    if not scale.log_initial_phase < math.log(level) or not level < 1 - 1 / scale.K:
        return math.nan
    growth = 2 * scale.eta * a_i * (1 - level) / scale.kappa
    after = (math.log(level) - scale.log_initial_phase) / growth
    return leave_initial_phase_by(scale, a_i, log_start, edition) + after


def final_band(scale: Scale) -> tuple[float, float]:
    """The band in which a learned diagonal entry stays (Lemmas D.5 and D.6)."""
    return 1 - 2 / scale.K, 1 + 2 / scale.K


def log_minor_bound(scale: Scale) -> float:
    """Log of P beta omega, which no off-diagonal entry ever exceeds (Lemma D.8)."""
    return scale.log_initial_phase
