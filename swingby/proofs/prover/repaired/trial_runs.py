"""Runs of random trials, and how far each stays within what the theorem promises.

Every instance is run by the compiled kernels and looked at whole: the peaks of all w_ij, the times
at which the w_ii reach 0.8 and whether they stay there, and the end. Under the flow the passage
between two steps is found on the cubic that has the values and slopes of the logit at both; under
gd, which exists at whole steps only, *by time T* reads *by step ceil(T/eta)*. Peaks are compared
with a relative allowance of :data:`ROUNDING` for floats; nothing else is widened.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from swingby.proofs.prover.repaired.random_trials import CACHED, LEVEL, LEVEL_LOGIT, Trials
from swingby.simulate.run import run_on
from swingby.simulate.state import LEVELS, RunRecord, make_problem, make_state
from swingby.theory.initial import Initial
from swingby.theory.numbers import Floats, Integers
from swingby.theory.scaled_matrices import float_matrix

#: Steps under gd between two records of W; under the flow every step is recorded.
_STRIDE = 8
#: How long a run goes on after the last time promised, in units of 1/a_d.
AFTER = 12


@dataclass(frozen=True, eq=False)
class TrialRuns:
    """The paths, passages and peaks of n runs.

    `steps` (m,): steps at which W is recorded.
    `paths` (n, m, d, d).
    `passages` (n, d): first step at which w_ii is at least 0.8; -1 where it never was.
    `log_peaks` (n, d, d): natural logarithm of the largest |w_ij| over all steps.
    `ends` (n, d, d).
    """

    steps: Integers
    paths: Floats
    passages: Integers
    log_peaks: Floats
    ends: Floats


@functools.lru_cache(maxsize=CACHED)
def run_trials(trials: Trials, dynamics: str) -> TrialRuns:
    """Run every initial matrix of the trials; once for all that is asked of them."""
    n, d = trials.starts.shape[:2]
    a, eta = trials.signal, trials.eta
    last = math.ceil((trials.reach.max() + AFTER / a[-1]) / eta)
    steps = np.arange(0, last + 1, 1 if dynamics == "flow" else _STRIDE, dtype=np.int64)
    problem = make_problem(a, eta, dynamics)
    passages = np.empty((n, d), dtype=np.int64)
    peaks, ends = np.empty((n, d, d)), np.empty((n, d, d))
    paths = np.empty((n, len(steps), d, d))
    for trial in range(n):
        state = make_state(Initial(trials.starts[trial], Fraction(1)), problem.point)
        record = RunRecord.at(steps, d)
        run_on(problem, state, record, last, skip=True)
        passages[trial] = state.level_steps[LEVELS.index(LEVEL)]
        peaks[trial] = np.abs(state.peak * state.weight)
        ends[trial], paths[trial] = float_matrix(state.X, state.exponent), record.W
    with np.errstate(divide="ignore"):
        log_peaks = np.log(np.maximum(peaks, np.abs(trials.starts)))
    return TrialRuns(steps, paths, passages, log_peaks, ends)


def passage_times(trials: Trials, runs: TrialRuns) -> Floats:
    """The times at which w_ii passes the level, between two steps of the flow: eta t, (n, d).

    On the cubic that has the values and slopes of logit w_ii at both steps; it is off by about
    (eta a_1)^4/400, and of no meaning where w_ii starts above the level or never passes.
    """
    n, d = runs.passages.shape
    a, eta = trials.signal, trials.eta
    rows, columns = np.arange(n)[:, None], np.arange(d)[None, :]
    after = np.maximum(runs.passages, 1)
    values, slopes = [], []
    for at in (after - 1, after):
        W = runs.paths[rows, at]  # W at the step that belongs to (instance, i)
        w = np.minimum(W[rows, columns, columns, columns], 1 - 1e-16)
        row = W[rows, columns, columns] ** 2
        row[:, range(d), range(d)] = 0.0
        f = ((a[:, None] + a) * row).sum(axis=2) / w
        values.append(np.log(w / (1 - w)))
        slopes.append(eta * (2 * a - f / (1 - w)))
    low, high = np.zeros((n, d)), np.ones((n, d))
    for _ in range(45):
        s = (low + high) / 2
        at_s = (
            values[0] * (1 + 2 * s) * (1 - s) ** 2
            + slopes[0] * s * (1 - s) ** 2
            + values[1] * s**2 * (3 - 2 * s)
            + slopes[1] * s**2 * (s - 1)
        )
        low, high = np.where(at_s < LEVEL_LOGIT, s, low), np.where(at_s < LEVEL_LOGIT, high, s)
    return np.asarray((after - 1 + high) * eta)


#: Allowance for the rounding of floats, relative; runs are right to about 1e-12.
ROUNDING = 1e-9
#: Where W(t) counts as having arrived at I.
_ARRIVED = 1e-3
#: The bounds of each theorem, see :func:`slacks`.
BOUNDS = {
    "Theorem two": ("reach", "end", "peak", "keep"),
    "Theorem R": ("reach", "end", "peak", "keep"),
    "Theorem G": ("reach", "end", "det"),
}


def slacks(trials: Trials, dynamics: str) -> dict[str, Floats]:
    """Run the trials and compare with the promises: a slack (n,) per instance and bound.

    *peak*, log of bound over peak; *reach*, what is left of the time allowed, in units of
    1/(2 a_i); *keep*, smallest w_ii - 0.8 after the passage; *end*, the largest distance from I at
    the end, subtracted from 1e-3; *det*, the smallest change of log det of the correlation matrix
    (Theorem G). Each is raised by :data:`ROUNDING`; negative where the bound is broken.
    """
    runs = run_trials(trials, dynamics)
    d = trials.starts.shape[1]
    by_bound = {
        "reach": _reach_slack(trials, runs, dynamics) + ROUNDING,
        "end": _ARRIVED - np.abs(runs.ends - np.eye(d)).max(axis=(1, 2)) + ROUNDING,
    }
    if trials.keeps:
        upper = np.triu_indices(d, 1)
        room = (trials.log_peaks - runs.log_peaks)[:, upper[0], upper[1]]
        by_bound["peak"] = room.min(axis=1) + ROUNDING
        passages = np.where(runs.passages < 0, np.inf, runs.passages)
        later = runs.steps[None, :, None] >= passages[:, None, :]
        margins = np.where(later, diagonals(runs) - LEVEL, np.inf)
        by_bound["keep"] = margins.min(axis=(1, 2)) + ROUNDING
    else:
        thinned = runs.paths[:, :: max(1, len(runs.steps) // 20)]
        by_bound["det"] = np.diff(log_correlation(thinned), axis=1).min(axis=1) + ROUNDING
    return by_bound


def log_correlation(W: Floats) -> Floats:
    """The logarithm of the determinant of the correlation matrix."""
    diagonal = np.diagonal(W, axis1=-2, axis2=-1)
    return np.asarray(np.linalg.slogdet(W)[1] - np.log(diagonal).sum(axis=-1))


def _reach_slack(trials: Trials, runs: TrialRuns, dynamics: str) -> Floats:
    """The smallest 2 a_i (T_i - t_i) of each instance; minus infinity if w_ii never passed."""
    if dynamics == "flow":
        times = passage_times(trials, runs)
    else:
        # Broken only where a whole step at or after the time allowed is still below the level.
        times = np.maximum(runs.passages - 1, 0) * trials.eta
    slack = np.where(runs.passages >= 0, 2 * trials.signal * (trials.reach - times), -np.inf)
    # What starts above the level is there at time 0, whatever is promised.
    return np.asarray(np.where(runs.passages == 0, np.inf, slack).min(axis=1))


def diagonals(runs: TrialRuns) -> Floats:
    """w_ii, shape (n, m, d)."""
    return np.diagonal(runs.paths, axis1=2, axis2=3)
