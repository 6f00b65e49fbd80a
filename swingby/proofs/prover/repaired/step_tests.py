"""Tests of single steps of the repaired proofs, on random trials.

A step that only a person can read has a test of exactly its statement, by its name in
:data:`TESTS`; a negative slack, beyond the rounding of floats, refutes it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from swingby.proofs.prover.evidence import Witness
from swingby.proofs.prover.repaired.random_trials import Trials, draw_from_state
from swingby.proofs.prover.repaired.trial_runs import (
    BOUNDS,
    ROUNDING,
    diagonals,
    log_correlation,
    run_trials,
    slacks,
)
from swingby.theory.numbers import Floats
from swingby.theory.repaired import theorem_r

#: Where 1 - w_ii is too small to be told from rounding.
_SATURATED = 1e-6
#: Initial matrices per drawn setting.
PER_SETTING = 10


def try_step(
    name: str, instances: int, rng: np.random.Generator
) -> tuple[int, float, Witness | None]:
    """Test a step on random instances: their number, the smallest slack, the first that breaks."""
    theorem, _, _ = name.partition(":")
    cases, smallest, witness = 0, math.inf, None
    while cases < instances:
        state = json.dumps(rng.bit_generator.state)
        trials, after = draw_from_state(theorem, min(PER_SETTING, instances - cases), state)
        rng.bit_generator.state = json.loads(after)
        values = TESTS[name](trials, rng)
        smallest = min(smallest, float(values.min()))
        broken = ~(values >= -ROUNDING)
        if witness is None and broken.any():
            worst = int(np.argmax(broken))
            witness = Witness(
                {"setting": trials.text, "W(0)": repr(trials.starts[worst].tolist())},
                f"{name}: slack >= 0",
                f"{values[worst]:.17g}",
                "0",
                ("compiled run in floats",),
            )
        cases += len(values)
    return cases, smallest, witness


def _smallest(values: Floats) -> Floats:
    """The smallest of each instance."""
    return np.asarray(values.reshape(len(values), -1).min(axis=1))


def _range_small(trials: Trials, rng: np.random.Generator) -> Floats:
    """[1.4], [R.1]: 0 < w_ii < 1 and w_ii <= b exp(2 a_i t)."""
    runs = run_trials(trials, "flow")
    w = diagonals(runs)
    time = trials.eta * runs.steps[None, :, None]
    log_b = math.log(trials.beta) + trials.log_omega
    growth = log_b + 2 * trials.signal * time - np.log(w)
    return np.asarray(np.minimum(_smallest(1 - w), np.minimum(_smallest(growth), _smallest(w))))


def _range_any(trials: Trials, rng: np.random.Generator) -> Floats:
    """[G.3.3]: exp(-Lambda) min(1, w_ii(0)) <= w_ii <= max(1, w_ii(0))."""
    runs = run_trials(trials, "flow")
    log_w = np.log(diagonals(runs))
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
    return _smallest(np.where(1 - x > _SATURATED, room, np.inf))


def _second(trials: Trials, rng: np.random.Generator) -> Floats:
    """[1.10.3]: logit z(t) >= logit(rho omega) + 2 a_2 t."""
    runs = run_trials(trials, "flow")
    z = runs.paths[:, :, 1, 1]
    start = trials.rho * math.exp(trials.log_omega)
    line = math.log(start / (1 - start)) + 2 * trials.signal[1] * trials.eta * runs.steps
    unsaturated = 1 - z > _SATURATED
    logit = np.log(np.where(unsaturated, z, 0.5) / np.where(unsaturated, 1 - z, 0.5))
    return _smallest(np.where(unsaturated, logit - line, np.inf))


def _bracket(trials: Trials, rng: np.random.Generator) -> Floats:
    """[R.4]: the form with A_i less its mean, for random leading blocks of random W."""
    a, values = trials.signal, []
    for W in trials.starts:
        size = int(rng.integers(1, len(a)))
        block, column = W[:size, :size], W[:size, size]
        root = np.sqrt(np.diag(block))
        v = np.linalg.solve(block / np.outer(root, root), column / root)
        unweighted = float(v @ (column / root))
        shifted = float(v @ ((a[:size] - (a[0] + a[size - 1]) / 2) * column / root))
        spread = np.linalg.eigvalsh(block / np.outer(root, root))
        bound = (a[0] - a[size - 1]) / 2 * math.sqrt(spread[-1] / spread[0]) * unweighted
        values.append((bound - shifted) / max(unweighted, 1e-300))
    return np.array(values)


def _theta_times(trials: Trials) -> Floats:
    """T_i of Theorem R, at theta."""
    L = Fraction(trials.log_omega)
    return np.array(theorem_r.time_bounds(trials.setting, L, trials.witness, trials.witness.theta))


def _block(trials: Trials, rng: np.random.Generator) -> Floats:
    """[R.6]: log det C_[i](t) > log det C_[i](0) - N_i up to T_i."""
    runs, times = run_trials(trials, "flow"), _theta_times(trials)
    margins = []
    for i in range(len(trials.signal)):
        within = runs.paths[:, trials.eta * runs.steps <= times[i], : i + 1, : i + 1]
        logs = log_correlation(within[:, ::5])
        margins.append((logs - logs[:, :1]).min(axis=1) + float(trials.witness.N[i]))
    return np.asarray(np.min(margins, axis=0))


def _start(trials: Trials, rng: np.random.Generator) -> Floats:
    """[R.10]: |w_ij(0)| < E_ij."""
    upper = np.triu_indices(len(trials.signal), 1)
    with np.errstate(divide="ignore"):
        room = trials.log_peaks - np.log(np.abs(trials.starts))
    return _smallest(room[:, upper[0], upper[1]])


def _theta(trials: Trials, rng: np.random.Generator) -> Floats:
    """[R.11], [R.12]: w_ii >= theta at the first step after T_i, and later."""
    runs, times = run_trials(trials, "flow"), _theta_times(trials)
    late = trials.eta * runs.steps[None, :, None] >= times
    room = diagonals(runs) - float(trials.witness.theta)
    return _smallest(np.where(late, room, np.inf))


def _scaled(trials: Trials, rng: np.random.Generator) -> Floats:
    """[R.17]: the scaled witness is certified at a smaller omega."""
    certified = theorem_r.Certified(Fraction(trials.log_omega), trials.witness)
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
        by_bound = slacks(trials, "flow")
        return np.asarray(np.min([by_bound[name] for name in names or by_bound], axis=0)) - ROUNDING

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
