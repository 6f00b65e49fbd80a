r"""The sharp stage-time law: when each major entry reaches 1/2, and W(t) in between.

Leading order. With the pivots :math:`\pi_k` of W(0) (:mod:`swingby.theory.pivots`) taken of the
odds matrix :math:`W(I-W)^{-1}`,

.. math:: t_k = -\log \pi_k / g_{kk}, \qquad
          t_k(\theta) = t_k + \operatorname{logit}(\theta) / g_{kk} .

A concept whose pivot is not positive is **trapped**: W(0) has no component left for it once the
stronger concepts are removed. To this are added one quadrature for the overlap of stages
(:mod:`swingby.theory.correction`) and the finite-step shift (:mod:`swingby.theory.finite_step`).
The law is ours, not the paper's; its accuracy is measured in ``benchmarks/accuracy.py``.

The law gives the real time at which w_kk crosses 1/2. A run counts the first whole step at or
after it, so half-times are that time rounded up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from swingby.theory import finite_step
from swingby.theory.correction import Correction, correct
from swingby.theory.growth import growth_rates
from swingby.theory.initial import Initial
from swingby.theory.odds import Leading, assemble, logistic, softplus
from swingby.theory.pivots import MOST_CANCELLATION, Pivots, stage_pivots
from swingby.theory.task import SIMTask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Entry = TypeVar("Entry", bound=np.generic)

#: Above this largest eigenvalue of W(0) the odds matrix is too near its pole.
LARGEST_EIGENVALUE = 0.95
#: Above this eta a_max the expansions in the step size mean nothing.
LARGEST_STEP = 0.5
#: log max|W(0)| above which there is no point in forming W(0) in floats.
_LOG_LARGE = 30.0
#: log max|W(0)| below which W and its odds are the same to rounding.
_LOG_NEGLIGIBLE = -39.0
#: Leading constant of the error bar, calibrated on random instances for 99 % coverage.
_BAR = {"euler": 7.0, "gd": 7.0, "flow": 2.5}


@dataclass(frozen=True, eq=False)
class Stages:
    """The law for one W(0). Made by :func:`stage_law`; arrays of length d are in user order.

    Parameters
    ----------
    task : SIMTask
    dynamics : str
    eta : float
    crossing : ndarray of shape (d,)
        Real time, in steps, at which w_kk crosses 1/2; inf where a_k = 0, nan where trapped or
        cut off.
    error : ndarray of shape (d,)
        Error bar of each half-time in steps; inf where the law is out of its range.
    trapped : ndarray of bool, shape (d,)
    undecided : ndarray of bool, shape (d,)
        Where the euler drift cancels a pivot to within the law's own error: such a concept may
        or may not be trapped, whatever `trapped` says.
    blow_up : float
        Step near which a negative pivot runs to minus infinity; inf if none does.
    warnings : tuple of str
    order : ndarray of int, shape (d,)
        User indices by descending a; the fields below are in that order.
    pivots : Pivots
    leading : Leading
    correction : Correction or None
    """

    task: SIMTask
    dynamics: str
    eta: float
    crossing: Floats
    error: Floats
    trapped: NDArray[np.bool_]
    undecided: NDArray[np.bool_]
    blow_up: float
    warnings: tuple[str, ...]
    order: NDArray[np.int64]
    pivots: Pivots
    leading: Leading
    correction: Correction | None

    @property
    def log_pivots(self) -> Floats:
        """Logarithm of each concept's pivot, nan where it is not positive, in user order."""
        values = np.empty(len(self.order))
        values[self.order] = np.where(self.pivots.sign > 0, self.pivots.log, np.nan)
        return values

    @property
    def half_times(self) -> Floats:
        """First whole step at which each w_kk is at least 1/2, shape (d,)."""
        return np.ceil(self.crossing)

    def evaluate(self, t: Floats) -> Floats:
        """W at given steps.

        Parameters
        ----------
        t : ndarray of shape (n,)
            Steps, at least 0; need not be whole.

        Returns
        -------
        ndarray of shape (n, d, d)
            In user order. Components that a trapped concept lacks are zero.
        """
        with np.errstate(all="ignore"):
            return self._evaluate(t)

    def _evaluate(self, t: Floats) -> Floats:
        log_odds, lower = self.leading.at(t)
        if self.correction is not None:
            shift, factor = self.correction.at(t)
            log_odds, lower = log_odds + shift, lower * factor
        if self.dynamics != "flow":
            log_odds, lower = self._finite_step(log_odds, lower)
        W, _ = assemble(log_odds, lower)
        result = np.empty_like(W)
        result[:, self.order[:, None], self.order[None, :]] = W
        return result

    def _finite_step(self, log_odds: Floats, lower: Floats) -> tuple[Floats, Floats]:
        """Solve logit w + u(w) = phase for w, and shift the columns accordingly."""
        signal = self.task.signal[self.order]
        h = self.eta * signal
        start = logistic(self.leading.log_odds)
        phase = log_odds + finite_step.linearizing_shift(start, h, self.dynamics)
        before = softplus(log_odds)
        for _ in range(5):  # contracts by a factor 2h each time
            log_rest = -softplus(log_odds)
            level = logistic(log_odds)
            log_odds = phase - finite_step.linearizing_shift(level, h, self.dynamics, log_rest)
        change = softplus(log_odds) - before
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(signal > 0, signal[:, None] / signal[None, :], 1.0)
        column = finite_step.column_shift(
            level[:, None, :], ratio, h[None, :], self.dynamics, log_rest[:, None, :]
        )
        exponent = (
            self.leading.power_k * change[:, None, :]
            + self.leading.power_j * change[:, :, None]
            + np.tril(column, -1)
        )
        return log_odds, lower * np.exp(exponent)


def stage_law(
    task: SIMTask,
    initial: Initial,
    eta: Fraction,
    dynamics: str,
    *,
    sweeps: int | None = None,
) -> Stages:
    """The sharp stage-time law for a given W(0).

    Parameters
    ----------
    task : SIMTask
    initial : Initial
        W(0), at any scale.
    eta : Fraction
        Step size in the clock of (D.2).
    dynamics : {"euler", "gd", "flow"}
    sweeps : int, optional
        Picard sweeps of the correction; 0 is the leading order alone. By default one, and four
        where the first one is not small.

    Returns
    -------
    Stages
    """
    # Absurd numbers overflow to infinity and come out as out of range, not as a warning.
    with np.errstate(all="ignore"):
        return _stage_law(task, initial, eta, dynamics, sweeps)


def _stage_law(
    task: SIMTask, initial: Initial, eta: Fraction, dynamics: str, sweeps: int | None
) -> Stages:
    order = np.array(task.order)
    signal, step = task.signal[order], float(eta)
    growth = growth_rates(signal, step, dynamics)
    matrix = initial.matrix[np.ix_(order, order)]
    sign, log, log_scale, eigenvalue = _log_odds(matrix, initial.log_scale)
    pivots = stage_pivots(sign, log, signal, step, growth, dynamics, log_scale)
    leading = Leading.of(pivots, growth)
    rate = np.diag(growth)
    learned = (pivots.sign > 0) & (signal > 0)
    times = np.full(len(signal), np.nan)
    times[learned] = np.maximum(-leading.log_odds[learned] / rate[learned], 0.0)
    above_half = np.log(np.maximum(np.diag(matrix), 1e-300)) + initial.log_scale >= -math.log(2)
    correction = None
    lost = np.zeros(len(signal), dtype=bool)
    if sweeps != 0 and len(signal) > 1 and learned.any():
        correction = correct(leading, times, sweeps)
        lost = learned & ~np.isfinite(correction.crossing)
        times = np.where(np.isfinite(correction.crossing), correction.crossing, times)
    h = step * signal
    shift = finite_step.linearizing_shift(0.5, h, dynamics) - finite_step.linearizing_shift(
        logistic(leading.log_odds), h, dynamics
    )
    times[learned] = np.maximum(times + shift / np.where(rate > 0, rate, 1.0), 0.0)[learned]
    times[learned & above_half] = 0.0
    error = _error_bars(pivots, correction, signal, step, rate, dynamics, learned)
    error[lost | (learned & above_half)] = math.inf
    coarse = dynamics != "flow" and not h[0] <= LARGEST_STEP
    if eigenvalue >= LARGEST_EIGENVALUE or coarse:
        error[learned] = math.inf
    trapped = (signal > 0) & ~learned
    undecided = np.zeros(len(signal), dtype=bool)
    if dynamics == "euler":
        undecided = (signal > 0) & _drift_cancels(sign, log, pivots, correction)
        error[undecided] = math.inf
    blow_up = _blow_up(pivots, rate, trapped & ~undecided, dynamics)
    times[learned & (times > blow_up)] = np.nan
    times[signal == 0] = math.inf
    return Stages(
        task=task,
        dynamics=dynamics,
        eta=step,
        crossing=_unsort(times, order),
        error=_unsort(error, order),
        trapped=_unsort(trapped, order),
        undecided=_unsort(undecided, order),
        blow_up=blow_up,
        warnings=_warnings(
            task, order, pivots, trapped, undecided, error, eigenvalue, blow_up, coarse=coarse
        ),
        order=order,
        pivots=pivots,
        leading=leading,
        correction=correction,
    )


def _unsort(values: NDArray[Entry], order: NDArray[np.int64]) -> NDArray[Entry]:
    result = np.empty_like(values)
    result[order] = values
    return result


def _log_odds(matrix: Floats, log_scale: float) -> tuple[Floats, Floats, float, float]:
    """Sign, logarithm and log scale of W(0)(I - W(0))^-1; the largest eigenvalue of W(0)."""
    largest = math.log(float(np.abs(matrix).max())) + log_scale
    eigenvalue = math.inf if largest > _LOG_LARGE else 0.0
    if _LOG_NEGLIGIBLE < largest <= _LOG_LARGE:
        W = matrix * math.exp(log_scale)
        log_scale = 0.0
        eigenvalue = float(np.linalg.eigvalsh(W)[-1])
        matrix = W
        if eigenvalue < LARGEST_EIGENVALUE:
            odds = np.linalg.solve(np.eye(len(W)) - W, W)
            matrix = (odds + odds.T) / 2
    with np.errstate(divide="ignore"):
        return np.sign(matrix), np.log(np.abs(matrix)), log_scale, eigenvalue


def _error_bars(
    pivots: Pivots,
    correction: Correction | None,
    signal: Floats,
    eta: float,
    rate: Floats,
    dynamics: str,
    learned: NDArray[np.bool_],
) -> Floats:
    """Half-width in steps: size of the correction times the small parameters it is first in."""
    size = np.zeros(len(signal)) if correction is None else correction.size
    largest = float(size.max(initial=0.0))
    h = 0.0 if dynamics == "flow" else eta * signal[0]
    lost_digits = np.exp(np.minimum(pivots.cancellation, MOST_CANCELLATION))
    drift = 0.25 * h * h * lost_digits if dynamics == "euler" else 0.0
    cubic = 0.0 if dynamics == "flow" else 0.3 * rate**3
    logit_error = (
        _BAR[dynamics] * ((size + 0.15 * largest) * (largest + h) + drift)
        + cubic
        + 2e-5
        + 2e-16 * lost_digits
    )
    error = np.full(len(signal), np.nan)
    error[learned] = (logit_error / np.where(rate > 0, rate, 1.0))[learned]
    error[learned & (logit_error > 1.0)] = math.inf
    return error


def _drift_cancels(
    sign: Floats, log: Floats, pivots: Pivots, correction: Correction | None
) -> NDArray[np.bool_]:
    """Where a pivot is small against what the euler drift has taken from it.

    The drift is known to about twice the size of the overlap of the stages: over 1,200 random
    instances every wrong trap had |pivot| below 1.6 times that share of the drift.
    """
    half = np.diag(log) / 2
    try:
        root = np.linalg.cholesky(sign * np.exp(log - half[:, None] - half[None, :]))
    except np.linalg.LinAlgError:
        return np.zeros(len(half), dtype=bool)
    undrifted = np.diag(root) ** 2
    drifted = pivots.sign * np.exp(-pivots.cancellation)
    overlap = 0.0 if correction is None else float(correction.size.max())
    return np.asarray(np.abs(drifted) < (2 * overlap + 0.005) * np.abs(undrifted - drifted))


def _blow_up(pivots: Pivots, rate: Floats, trapped: NDArray[np.bool_], dynamics: str) -> float:
    """When a negative pivot reaches odds of -1; only euler lets a pivot turn negative."""
    negative = trapped & (pivots.sign < 0)
    if dynamics != "euler" or not negative.any():
        return math.inf
    return float(np.maximum(-pivots.log[negative] / rate[negative], 0.0).min())


def _warnings(
    task: SIMTask,
    order: NDArray[np.int64],
    pivots: Pivots,
    trapped: NDArray[np.bool_],
    undecided: NDArray[np.bool_],
    error: Floats,
    eigenvalue: float,
    blow_up: float,
    *,
    coarse: bool,
) -> tuple[str, ...]:
    """Where the law is undecided or out of range, in words."""
    exact = [task.exact_signal[k] for k in order]
    found = []
    if coarse:
        found.append(
            f"out of range: the law needs eta a_max below {LARGEST_STEP}, and steps this large "
            "need not converge at all"
        )
    if eigenvalue >= LARGEST_EIGENVALUE:
        found.append(
            f"out of range: the largest eigenvalue of W(0) is {eigenvalue:.3g}, and the law needs "
            f"it below {LARGEST_EIGENVALUE} (small initialization)"
        )
    for rank in range(1, len(order)):
        if exact[rank] == exact[rank - 1] > 0:
            found.append(
                f"tie: concepts {order[rank - 1] + 1} and {order[rank] + 1} have equal signals; "
                "which of them is first is undecided, times are for the user's order"
            )
    for rank, k in enumerate(order):
        if undecided[rank]:
            found.append(
                f"undecided whether concept {k + 1} is trapped: the drift of the euler steps "
                "cancels its pivot to within the error of the law"
            )
        elif trapped[rank] and pivots.sign[rank] == 0 and np.isfinite(pivots.log[rank]):
            found.append(
                f"concept {k + 1} is trapped to rounding: its pivot is "
                f"{math.exp(-pivots.cancellation[rank]):.1g} of the terms it is formed from, so "
                "W(0) has no resolvable component left for it"
            )
        elif trapped[rank]:
            word = "negative" if pivots.sign[rank] < 0 else "zero"
            found.append(f"concept {k + 1} is trapped: its pivot is {word}")
        elif math.isinf(error[rank]) and eigenvalue < LARGEST_EIGENVALUE and not coarse:
            found.append(
                f"out of range for concept {k + 1}: stages overlap too much (W(0) too large, "
                "signals too close, or w_kk(0) already above 1/2)"
            )
    if math.isfinite(blow_up):
        found.append(
            f"a negative pivot runs to minus infinity near step {blow_up:.0f}; "
            "nothing is learned after that"
        )
    return tuple(found)
