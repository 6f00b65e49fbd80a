"""Trials run by the engine, with everything recorded that a promise may speak of."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from swingby.simulate.run import GOES_ON, advance
from swingby.simulate.state import (
    LEVELS,
    Floats,
    Integers,
    float_matrix,
    make_problem,
    make_record,
    make_state,
)
from swingby.theory.initial import Initial
from swingby.verify.prover.repaired.trials import LEVEL, Trials

#: Steps under gd between two records of W; under the flow every step is recorded.
STRIDE = 8
#: How long a run goes on after the last time promised, in units of 1/a_d.
AFTER = 12

_LOGIT = math.log(LEVEL / (1 - LEVEL))


@dataclass(frozen=True, eq=False)
class Runs:
    """What n runs did.

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


def run_trials(trials: Trials, dynamics: str) -> Runs:
    """Run every initial matrix of the trials."""
    n, d = trials.starts.shape[:2]
    a, eta = trials.signal, trials.eta
    last = math.ceil((trials.reach.max() + AFTER / a[-1]) / eta)
    steps = np.arange(0, last + 1, 1 if dynamics == "flow" else STRIDE, dtype=np.int64)
    problem = make_problem(a, eta, dynamics)
    passages = np.empty((n, d), dtype=np.int64)
    peaks, ends = np.empty((n, d, d)), np.empty((n, d, d))
    paths = np.empty((n, len(steps), d, d))
    for place in range(n):
        state = make_state(Initial(trials.starts[place], Fraction(1)), problem.point)
        record = make_record(steps, d)
        while advance(problem, state, record, last, skip=True, rest=False) == GOES_ON:
            pass
        passages[place] = state.level_steps[LEVELS.index(LEVEL)]
        peaks[place] = np.abs(state.peak * state.weight)
        ends[place], paths[place] = float_matrix(state), record.W
    with np.errstate(divide="ignore"):
        log_peaks = np.log(np.maximum(peaks, np.abs(trials.starts)))
    return Runs(steps, paths, passages, log_peaks, ends)


def passage_times(trials: Trials, runs: Runs) -> Floats:
    """Find when w_ii passes the level, between two steps of the flow.

    On the cubic that has the values and slopes of logit w_ii at both steps; it is off by about
    (eta a_1)^4/400.

    `runs`: under the flow. Returns (n, d): eta times steps; of no meaning where w_ii starts above
    the level or never passes.
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
        low, high = np.where(at_s < _LOGIT, s, low), np.where(at_s < _LOGIT, high, s)
    return np.asarray((after - 1 + high) * eta)
