"""The conclusions of the repaired theorems, and single steps of their proofs, on random instances.

Every instance is run by the compiled kernels and looked at whole: the peaks of all w_ij, the times
at which the w_ii reach 0.8 and whether they stay there, and the end. Under the flow the passage
between two steps is found on the cubic that has the values and slopes of the logit at both; under
gd, which exists at whole steps only, *by time T* reads *by step ceil(T/eta)*. Peaks are compared
with a relative allowance of :data:`ROUNDING` for floats; nothing else is widened.

A step that only a person can read has a test of exactly its statement, by its name in
:data:`TESTS`; a negative slack, beyond the rounding of floats, refutes it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from swingby.theory.numbers import Floats
from swingby.theory.repaired import theorem_r
from swingby.theory.repaired.theorem_r import Certified
from swingby.verify.prover.evidence import Witness
from swingby.verify.prover.repaired.trials import (
    LEVEL,
    Runs,
    Trials,
    drawn,
    passage_times,
    run_trials,
)

#: Allowance for the rounding of floats, relative; runs are right to about 1e-12.
ROUNDING = 1e-9
#: Where W(t) counts as having arrived at I.
ARRIVED = 1e-3
#: Where 1 - w_ii is too small to be told from rounding.
SATURATED = 1e-6
#: Initial matrices per drawn setting.
PER_SETTING = 10
#: The bounds of each theorem, see :func:`slacks`.
BOUNDS = {
    "Theorem two": ("reach", "end", "peak", "keep"),
    "Theorem R": ("reach", "end", "peak", "keep"),
    "Theorem G": ("reach", "end", "det"),
}


def slacks(trials: Trials, dynamics: str) -> dict[str, Floats]:
    """Run the trials and compare with what is promised: one slack (n,) per instance and bound.

    *peak*, log of bound over peak; *reach*, what is left of the time allowed, in units of
    1/(2 a_i); *keep*, smallest w_ii - 0.8 after the passage; *end*, the largest distance from I at
    the end, subtracted from 1e-3; *det*, the smallest change of log det of the correlation matrix
    (Theorem G). Each is raised by :data:`ROUNDING`; negative where the bound is broken.
    """
    runs = run_trials(trials, dynamics)
    d = trials.starts.shape[1]
    found = {
        "reach": _reach_slack(trials, runs, dynamics) + ROUNDING,
        "end": ARRIVED - np.abs(runs.ends - np.eye(d)).max(axis=(1, 2)) + ROUNDING,
    }
    if trials.keeps:
        upper = np.triu_indices(d, 1)
        left = (trials.log_peaks - runs.log_peaks)[:, upper[0], upper[1]]
        found["peak"] = left.min(axis=1) + ROUNDING
        passages = np.where(runs.passages < 0, np.inf, runs.passages)
        later = runs.steps[None, :, None] >= passages[:, None, :]
        kept = np.where(later, _diagonal(runs) - LEVEL, np.inf)
        found["keep"] = kept.min(axis=(1, 2)) + ROUNDING
    else:
        thinned = runs.paths[:, :: max(1, len(runs.steps) // 20)]
        found["det"] = np.diff(log_correlation(thinned), axis=1).min(axis=1) + ROUNDING
    return found


def log_correlation(W: Floats) -> Floats:
    """The logarithm of the determinant of the correlation matrix."""
    diagonal = np.diagonal(W, axis1=-2, axis2=-1)
    return np.asarray(np.linalg.slogdet(W)[1] - np.log(diagonal).sum(axis=-1))


def _reach_slack(trials: Trials, runs: Runs, dynamics: str) -> Floats:
    """The smallest 2 a_i (T_i - t_i) of each instance; minus infinity where w_ii never passed."""
    if dynamics == "flow":
        times = passage_times(trials, runs)
    else:
        # Broken only where a whole step at or after the time allowed is still below the level.
        times = np.maximum(runs.passages - 1, 0) * trials.eta
    left = np.where(runs.passages >= 0, 2 * trials.signal * (trials.reach - times), -np.inf)
    # What starts above the level is there at time 0, whatever is promised.
    return np.asarray(np.where(runs.passages == 0, np.inf, left).min(axis=1))


def try_step(
    name: str, instances: int, rng: np.random.Generator
) -> tuple[int, float, Witness | None]:
    """Test one step on random instances: how many, the smallest slack, and the first broken one."""
    theorem, _, _ = name.partition(":")
    cases, smallest, witness = 0, math.inf, None
    while cases < instances:
        state = json.dumps(rng.bit_generator.state)
        trials, after = drawn(theorem, min(PER_SETTING, instances - cases), state)
        rng.bit_generator.state = json.loads(after)
        values = TESTS[name](trials, rng)
        smallest = min(smallest, float(values.min()))
        broken = ~(values >= -ROUNDING)
        if witness is None and broken.any():
            place = int(np.argmax(broken))
            witness = Witness(
                {"setting": trials.text, "W(0)": repr(trials.starts[place].tolist())},
                f"{name}: slack >= 0",
                f"{values[place]:.17g}",
                "0",
                ("compiled run in floats",),
            )
        cases += len(values)
    return cases, smallest, witness


def _diagonal(runs: Runs) -> Floats:
    """w_ii, shape (n, m, d)."""
    return np.diagonal(runs.paths, axis1=2, axis2=3)


def _smallest(values: Floats) -> Floats:
    """The smallest of each instance."""
    return np.asarray(values.reshape(len(values), -1).min(axis=1))


def _range_small(trials: Trials, rng: np.random.Generator) -> Floats:
    """[1.4], [R.1]: 0 < w_ii < 1 and w_ii <= b exp(2 a_i t)."""
    runs = run_trials(trials, "flow")
    w = _diagonal(runs)
    time = trials.eta * runs.steps[None, :, None]
    log_b = math.log(trials.beta) + trials.log_omega
    growth = log_b + 2 * trials.signal * time - np.log(w)
    return np.asarray(np.minimum(_smallest(1 - w), np.minimum(_smallest(growth), _smallest(w))))


def _range_any(trials: Trials, rng: np.random.Generator) -> Floats:
    """[G.3.3]: exp(-Lambda) min(1, w_ii(0)) <= w_ii <= max(1, w_ii(0))."""
    runs = run_trials(trials, "flow")
    log_w = np.log(_diagonal(runs))
    start = log_w[:, :1]
    below = log_w - (log_correlation(trials.starts)[:, None, None] + np.minimum(start, 0))
    return np.asarray(np.minimum(_smallest(below), _smallest(np.maximum(start, 0) - log_w)))


def _ceiling(trials: Trials, rng: np.random.Generator) -> Floats:
    """[1.6]: log u <= log k + r log x + (1-r)/2 log(1-x)."""
    runs = run_trials(trials, "flow")
    x, off = runs.paths[:, :, 0, 0], runs.paths[:, :, 0, 1]
    r = trials.signal[1] / trials.signal[0]
    b = trials.beta * math.exp(trials.log_omega)
    log_k = (
        math.log(trials.beta - trials.rho)
        - r * math.log(trials.rho)
        + (1 - r) * (trials.log_omega - math.log1p(-b) / 2)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        room = log_k + r * np.log(x) + (1 - r) / 2 * np.log(1 - x) - np.log(off**2 / x)
    return _smallest(np.where(1 - x > SATURATED, room, np.inf))


def _second(trials: Trials, rng: np.random.Generator) -> Floats:
    """[1.10.3]: logit z(t) >= logit(rho omega) + 2 a_2 t."""
    runs = run_trials(trials, "flow")
    z = runs.paths[:, :, 1, 1]
    start = trials.rho * math.exp(trials.log_omega)
    line = math.log(start / (1 - start)) + 2 * trials.signal[1] * trials.eta * runs.steps
    free = 1 - z > SATURATED
    logit = np.log(np.where(free, z, 0.5) / np.where(free, 1 - z, 0.5))
    return _smallest(np.where(free, logit - line, np.inf))


def _bracket(trials: Trials, rng: np.random.Generator) -> Floats:
    """[R.4]: the form with A_i less its mean, for random leading blocks of random W."""
    a, values = trials.signal, []
    for W in trials.starts:
        size = int(rng.integers(1, len(a)))
        block, column = W[:size, :size], W[:size, size]
        root = np.sqrt(np.diag(block))
        v = np.linalg.solve(block / np.outer(root, root), column / root)
        own = float(v @ (column / root))
        shifted = float(v @ ((a[:size] - (a[0] + a[size - 1]) / 2) * column / root))
        spread = np.linalg.eigvalsh(block / np.outer(root, root))
        bound = (a[0] - a[size - 1]) / 2 * math.sqrt(spread[-1] / spread[0]) * own
        values.append((bound - shifted) / max(own, 1e-300))
    return np.array(values)


def _theta_times(trials: Trials) -> Floats:
    """T_i of Theorem R, at theta."""
    L = Fraction(trials.log_omega)
    return np.array(theorem_r.time_bounds(trials.setting, L, trials.witness, trials.witness.theta))


def _block(trials: Trials, rng: np.random.Generator) -> Floats:
    """[R.6]: log det C_[i](t) > log det C_[i](0) - N_i up to T_i."""
    runs, times = run_trials(trials, "flow"), _theta_times(trials)
    parts = []
    for i in range(len(trials.signal)):
        within = runs.paths[:, trials.eta * runs.steps <= times[i], : i + 1, : i + 1]
        logs = log_correlation(within[:, ::5])
        parts.append((logs - logs[:, :1]).min(axis=1) + float(trials.witness.N[i]))
    return np.asarray(np.min(parts, axis=0))


def _start(trials: Trials, rng: np.random.Generator) -> Floats:
    """[R.10]: |w_ij(0)| < E_ij."""
    upper = np.triu_indices(len(trials.signal), 1)
    with np.errstate(divide="ignore"):
        left = trials.log_peaks - np.log(np.abs(trials.starts))
    return _smallest(left[:, upper[0], upper[1]])


def _theta(trials: Trials, rng: np.random.Generator) -> Floats:
    """[R.11], [R.12]: w_ii >= theta at the first step after T_i, and later."""
    runs, times = run_trials(trials, "flow"), _theta_times(trials)
    late = trials.eta * runs.steps[None, :, None] >= times
    left = _diagonal(runs) - float(trials.witness.theta)
    return _smallest(np.where(late, left, np.inf))


def _scaled(trials: Trials, rng: np.random.Generator) -> Floats:
    """[R.17]: the scaled witness is certified at a smaller omega."""
    certified = Certified(Fraction(trials.log_omega), trials.witness)
    values = []
    # The initial matrices play no part: one smaller omega in the place of each.
    for fall in rng.uniform(0, 50, len(trials.starts)):
        below = certified.log_omega_0 - Fraction(float(fall))
        smaller = theorem_r.scaled(trials.setting, below, certified)
        values.append(1.0 if theorem_r.certify(trials.setting, below, smaller) else -1.0)
    return np.array(values)


def _promise(*names: str) -> Callable[[Trials, np.random.Generator], Floats]:
    """Some bounds of a theorem, or all that it has."""

    def values(trials: Trials, rng: np.random.Generator) -> Floats:
        found = slacks(trials, "flow")
        return np.asarray(np.min([found[name] for name in names or found], axis=0)) - ROUNDING

    return values


#: From the name in a claim to its test: one slack per instance.
TESTS: dict[str, Callable[[Trials, np.random.Generator], Floats]] = {
    **{f"{theorem}: {name}": _promise(name) for theorem in BOUNDS for name in BOUNDS[theorem]},
    **dict.fromkeys(BOUNDS, _promise()),
    "Theorem two: range": _range_small,
    "Theorem two: ceiling": _ceiling,
    "Theorem two: second": _second,
    "Theorem R: range": _range_small,
    "Theorem R: bracket": _bracket,
    "Theorem R: block": _block,
    "Theorem R: start": _start,
    "Theorem R: theta": _theta,
    "Theorem R: scaled": _scaled,
    "Theorem G: range": _range_any,
}
