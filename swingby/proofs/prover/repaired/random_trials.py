"""The conclusions of the repaired theorems, and single steps of their proofs, on random instances.

An instance is a signal, (beta, rho), an omega and an initial matrix W(0) with
w_ii(0) <= beta omega and pivots of at least rho omega. A good part of them sits at an edge of
these conditions, or at omega_0.

Every instance is run by the compiled kernels and looked at whole: the peaks of all w_ij, the times
at which the w_ii reach 0.8 and whether they stay there, and the end. Under the flow the passage
between two steps is found on the cubic that has the values and slopes of the logit at both; under
gd, which exists at whole steps only, *by time T* reads *by step ceil(T/eta)*. Peaks are compared
with a relative allowance of :data:`ROUNDING` for floats; nothing else is widened.

A step that only a person can read has a test of exactly its statement, by its name in
:data:`TESTS`; a negative slack, beyond the rounding of floats, refutes it.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from swingby.proofs.prover.evidence import Witness
from swingby.simulate.run import run_on
from swingby.simulate.state import (
    LEVELS,
    RunRecord,
    float_matrix,
    make_problem,
    make_state,
)
from swingby.theory.initial import Initial
from swingby.theory.numbers import Floats, Integers
from swingby.theory.repaired import repaired_setting, theorem_r, theorem_two
from swingby.theory.repaired.repaired_setting import RepairedSetting

#: How many trials, and their runs, are kept for the next line about the same theorem: those that
#: the lines share, and those of a line that draws some of its own.
KEPT = 40
#: The level at which a concept counts as learned, and its logit.
LEVEL = float(repaired_setting.LEVEL)
_LOGIT = math.log(LEVEL / (1 - LEVEL))


@dataclass(frozen=True, eq=False)
class Trials:
    """Initial matrices under one signal, and a theorem's promises for each of them.

    `signal` (d,): descending, per unit of eta times steps.
    `starts` (n, d, d): W(0).
    `log_peaks` (n, d, d): natural logarithm of the bounds on w_ij(t); inf where nothing is
    promised.
    `reach` (n, d): eta times steps by which each w_ii has reached the level.
    `keeps`: whether w_ii is promised to stay above the level from then on.
    `text`: the numbers, for a witness.
    `beta`, `rho`, `log_omega`: nan where the theorem does not name them.
    `setting`, `witness`: of Theorem R, certified at omega.
    """

    signal: Floats
    eta: float
    starts: Floats
    log_peaks: Floats
    reach: Floats
    keeps: bool
    text: str
    beta: float = math.nan
    rho: float = math.nan
    log_omega: float = math.nan
    setting: Any = None
    witness: Any = None


def initial_matrices(
    d: int, beta: float, rho: float, count: int, rng: np.random.Generator
) -> Floats:
    """Draw positive definite matrices with w_ii in [rho, beta] and pivots of at least rho.

    About half of the w_ii sit at an end of their range, about half of the pivots at rho.
    """
    spread = math.log(beta / rho)
    place = rng.choice([0.0, 1.0, math.nan], p=[0.15, 0.4, 0.45], size=(count, d))
    place = np.where(np.isnan(place), rng.uniform(0, 1, (count, d)), place)
    diagonal = np.clip(rho * np.exp(spread * place), rho, beta)
    depth = np.where(rng.random((count, d)) < 0.5, 1.0, rng.uniform(0, 1, (count, d)))
    pivots = diagonal * (rho / diagonal) ** depth
    pivots[:, 0] = diagonal[:, 0]
    L = np.zeros((count, d, d))
    L[:, range(d), range(d)] = 1.0
    for i in range(1, d):
        row = rng.standard_normal((count, i))
        axis = np.eye(i)[rng.integers(i, size=count)] * rng.choice([-1.0, 1.0], size=(count, 1))
        row = np.where(rng.random((count, 1)) < 0.4, axis, row)
        row /= np.linalg.norm(row, axis=1, keepdims=True)
        missing = np.sqrt(np.maximum(diagonal[:, i] - pivots[:, i], 0.0))
        L[:, i, :i] = row * missing[:, None] / np.sqrt(pivots[:, :i])
    W = (L * pivots[:, None, :]) @ L.swapaxes(1, 2)
    return np.asarray((W + W.swapaxes(1, 2)) / 2)


def draw_two(count: int, rng: np.random.Generator, dynamics: str, effective: bool) -> Trials:
    """Draw trials of the theorem on two concepts, omega <= omega_0 (40% at omega_0).

    `effective`: the form tested for gd: promises of the theorem at the signal log(1 + eta a)/eta,
    and peaks up to a factor 1 + eta a_1, since an entry moves by that share within one step.
    """
    beta, rho = _spread(rng)
    signal = np.array([1.0, math.exp(-rng.uniform(math.log(1.2), math.log(10)))])
    eta = _eta(rng, dynamics)
    signals = _signals(signal, eta, effective)
    own, setting = (RepairedSetting(one, Fraction(beta), Fraction(rho)) for one in signals)
    L = min(theorem_two.log_omega_0(own), theorem_two.log_omega_0(setting)) - _depth(rng)
    peaks = np.full((2, 2), theorem_two.log_peak(setting, L))
    peaks = peaks + (math.log1p(eta * signal[0]) if effective else 0.0)
    times = theorem_two.time_bounds(setting, L)
    return _small(signal, eta, (beta, rho, float(L)), peaks, times, count, rng)


def draw_r(count: int, rng: np.random.Generator, dynamics: str, effective: bool) -> Trials:
    """Draw trials of the theorem on distinct concepts, d = 2 to 4, as :func:`draw_two`."""
    beta, rho = _spread(rng)
    d = int(rng.choice([2, 3, 4], p=[0.35, 0.4, 0.25]))
    most = {2: 8.0, 3: 4.0, 4: 2.7}[d]
    ratios = np.exp(-rng.uniform(math.log(1.25), math.log(most), d - 1))
    signal = np.append(1.0, np.cumprod(ratios))
    eta = _eta(rng, dynamics)
    stated, promised = _signals(signal, eta, effective)
    setting = RepairedSetting(promised, Fraction(beta), Fraction(rho))
    certified = theorem_r.search(setting)
    limit = certified.log_omega_0
    if effective:
        plain = RepairedSetting(stated, setting.beta, setting.rho)
        limit = min(limit, theorem_r.search(plain).log_omega_0)
    L = limit - _depth(rng)
    witness = theorem_r.find_witness(setting, L)
    if witness is None:
        witness = theorem_r.scaled(setting, L, certified)
    peaks = np.array(witness.log_peaks, dtype=float)
    peaks = peaks + (math.log1p(eta * signal[0]) if effective else 0.0)
    times = theorem_r.time_bounds(setting, L, witness)
    drawn = _small(signal, eta, (beta, rho, float(L)), peaks, times, count, rng)
    return replace(drawn, setting=setting, witness=witness)


def draw_g(count: int, rng: np.random.Generator, dynamics: str, effective: bool) -> Trials:
    """Draw trials of the theorem on convergence: W(0) of any size, close signals included."""
    d = int(rng.choice([2, 3, 4], p=[0.35, 0.4, 0.25]))
    signal = np.sort(rng.uniform(0.2, 1.0, d))[::-1]
    if rng.random() < 0.2:
        signal = np.full(d, signal[0])
    signal = signal / signal[0]
    eta = _eta(rng, dynamics)
    size = math.exp(rng.uniform(math.log(1e-8), math.log(2.0)))
    starts = size * initial_matrices(d, 1.0, math.exp(-rng.uniform(0.1, 5)), count, rng)
    diagonal = np.diagonal(starts, axis1=1, axis2=2)
    log_det = np.linalg.slogdet(starts)[1] - np.log(diagonal).sum(axis=1)
    promised = np.log1p(eta * signal) / eta if effective else signal
    below = diagonal < LEVEL
    start = np.log(np.where(below, diagonal / np.where(below, 1 - diagonal, 1.0), 1.0))
    rise = _LOGIT - start + np.maximum(-log_det, 0)[:, None] / (1 - LEVEL)
    reach = np.where(below, rise / (2 * promised), 0.0)
    text = f"a = {signal.tolist()}, eta = {eta!r}"
    return Trials(signal, eta, starts, np.full_like(starts, np.inf), reach, False, text)


#: How the trials of each theorem are drawn: how many, generator, dynamics, effective.
DRAWS: dict[str, Callable[[int, np.random.Generator, str, bool], Trials]] = {
    "Theorem two": draw_two,
    "Theorem R": draw_r,
    "Theorem G": draw_g,
}


@functools.lru_cache(maxsize=KEPT)
def drawn(theorem: str, count: int, state: str) -> tuple[Trials, str]:
    """Trials of the flow that a generator in some state draws, and its state afterwards."""
    rng = np.random.default_rng()
    rng.bit_generator.state = json.loads(state)
    trials = DRAWS[theorem](count, rng, "flow", False)
    return trials, json.dumps(rng.bit_generator.state)


def _spread(rng: np.random.Generator) -> tuple[float, float]:
    beta = math.exp(rng.uniform(0, 1.5))
    return beta, beta * math.exp(-rng.uniform(0.02, 4))


def _eta(rng: np.random.Generator, dynamics: str) -> float:
    """Eta a_1; under the flow eta only says where the solution is looked at."""
    return 0.1 if dynamics == "flow" else math.exp(rng.uniform(math.log(0.005), math.log(0.05)))


def _depth(rng: np.random.Generator) -> Fraction:
    """How far log omega lies below log omega_0: in 40% of the draws not at all."""
    return Fraction(0 if rng.random() < 0.4 else rng.uniform(0, 6))


def _signals(
    signal: Floats, eta: float, effective: bool
) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """The signal, and the one that the promises are made for, exactly."""
    promised = np.log1p(eta * signal) / eta if effective else signal
    return tuple(map(Fraction, signal.tolist())), tuple(map(Fraction, promised.tolist()))


def _small(
    signal: Floats, eta: float, edges: Any, peaks: Floats, times: Any, count: int, rng: Any
) -> Trials:
    """Trials at `edges`, that is beta, rho and log omega, with the same promises for each."""
    d, (beta, rho, log_omega) = len(signal), edges
    starts = math.exp(log_omega) * initial_matrices(d, beta, rho, count, rng)
    bounds = np.broadcast_to(np.where(np.triu(np.ones((d, d)), 1) > 0, peaks, np.inf), starts.shape)
    reach = np.broadcast_to(np.array(times), (count, d))
    text = (
        f"a = {signal.tolist()}, eta = {eta!r}, beta = {beta!r}, rho = {rho!r}, "
        f"log omega = {log_omega!r}"
    )
    return Trials(signal, eta, starts, bounds, reach, True, text, *edges)


#: Steps under gd between two records of W; under the flow every step is recorded.
STRIDE = 8
#: How long a run goes on after the last time promised, in units of 1/a_d.
AFTER = 12


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


@functools.lru_cache(maxsize=KEPT)
def run_trials(trials: Trials, dynamics: str) -> Runs:
    """Run every initial matrix of the trials; once for all that is asked of them."""
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
        record = RunRecord.at(steps, d)
        run_on(problem, state, record, last, skip=True)
        passages[place] = state.level_steps[LEVELS.index(LEVEL)]
        peaks[place] = np.abs(state.peak * state.weight)
        ends[place], paths[place] = float_matrix(state.X, state.exponent), record.W
    with np.errstate(divide="ignore"):
        log_peaks = np.log(np.maximum(peaks, np.abs(trials.starts)))
    return Runs(steps, paths, passages, log_peaks, ends)


def passage_times(trials: Trials, runs: Runs) -> Floats:
    """When w_ii passes the level, between two steps of the flow: eta times steps, (n, d).

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
        low, high = np.where(at_s < _LOGIT, s, low), np.where(at_s < _LOGIT, high, s)
    return np.asarray((after - 1 + high) * eta)


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
