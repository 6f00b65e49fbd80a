"""The windows of Lemmas D.1 to D.8 for a given setting, where the printed assumptions hold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from swingby.theory import lemmas, numbers
from swingby.theory.initial import Initial
from swingby.theory.task import SIMTask
from swingby.theory.verdict import Verdict
from swingby.verify.feasibility import Constants, Problem, largest_eta, omega_verdict, witness

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Windows:
    """Lemma windows, or the reason why there are none.

    `scale`: the constants in use.
    `log_start`: smallest and largest log w_kk(0) per concept.
    `signal` (d,).
    `edition` in {"printed", "corrected"}.
    `reason`: which constants, or which assumption fails.
    """

    scale: lemmas.Scale | None
    log_start: tuple[tuple[float, float], ...]  # smallest and largest log w_kk(0)
    signal: NDArray[np.float64]
    edition: str
    reason: str

    @classmethod
    def of_initial(cls, task: SIMTask, initial: Initial, step: Fraction, edition: str) -> Windows:
        """Windows for a given W(0); omega and beta are read from it."""
        if initial.omega == 0:
            reason = "no lemma windows: Assumption D.1 fails: W(0) has a zero entry"
            return cls(None, (), task.signal, edition, reason)
        beta = initial.largest / initial.omega
        diagonal = np.diag(initial.matrix)
        starts = tuple(
            (math.log(value) + initial.log_scale,) * 2 if value > 0 else (math.nan,) * 2
            for value in diagonal.tolist()
        )
        return cls._build(task, initial.omega, beta, step, starts, edition)

    @classmethod
    def of_scale(
        cls, task: SIMTask, omega: Fraction, beta: Fraction, step: Fraction, edition: str
    ) -> Windows:
        """Windows for entries of W(0) between omega and beta omega."""
        low = numbers.log_of(omega)
        starts = ((low, low + numbers.log_of(beta)),) * task.dim
        return cls._build(task, omega, beta, step, starts, edition)

    @classmethod
    def _build(
        cls,
        task: SIMTask,
        omega: Fraction,
        beta: Fraction,
        step: Fraction,
        starts: tuple[tuple[float, float], ...],
        edition: str,
    ) -> Windows:
        problem = Problem(task.exact_signal, omega, step, beta)
        failing = _why_no_windows(problem)
        if not failing and step > largest_eta(problem):
            failing = "Assumption D.2 fails: eta is too large"
        if not failing and omega_verdict(problem) != Verdict.HOLDS:
            failing = "Assumption D.4 fails: omega is too large"
        if failing:
            reason = f"no lemma windows: {failing}"
            return cls(None, starts, task.signal, edition, reason)
        constants = witness(problem)
        shown = f"P = 1e{float(constants.log10_P):.3f}, kappa = {float(constants.kappa):g}"
        return cls(
            _scale(problem, constants),
            starts,
            task.signal,
            edition,
            f"lemma windows of the {edition} edition with {shown}",
        )

    def half(self, k: int, level: float) -> tuple[float, float]:
        """Window for w_kk reaching a level."""
        if self.scale is None:
            return math.nan, math.nan
        low, high = self.log_start[k]
        a = float(self.signal[k])
        return (
            lemmas.reach_not_before(self.scale, a, high, math.log(level)),
            lemmas.reach_by(self.scale, a, low, level, self.edition),
        )

    def height(self) -> tuple[float, float]:
        """Window for the size of a minor entry."""
        if self.scale is None:
            return math.nan, math.nan
        return 0.0, math.exp(lemmas.log_minor_bound(self.scale))


def _why_no_windows(problem: Problem) -> str:
    if min(problem.signal) == 0:
        return "Assumption D.1 fails: a free direction has a_k = 0"
    if not problem.separated:
        return "Assumption D.5 fails: some a_i <= 3 a_j"
    return ""


def _scale(problem: Problem, constants: Constants) -> lemmas.Scale:
    return lemmas.Scale(
        log_P=float(constants.log10_P) * math.log(10),
        log_beta=numbers.log_of(constants.beta),
        log_omega=numbers.log_of(problem.omega),
        kappa=float(constants.kappa),
        K=float(constants.K),
        alpha=float(constants.alpha),
        gamma=float(constants.gamma),
        eta=float(problem.eta),
    )
