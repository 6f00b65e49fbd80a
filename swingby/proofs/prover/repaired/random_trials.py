"""Random trials of the repaired theorems: initial matrices, and the promises for each.

An instance is a signal, (beta, rho), an omega and an initial matrix W(0) with
w_ii(0) <= beta omega and pivots of at least rho omega. A good share of them sits at an edge of
these conditions, or at omega_0.
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

from swingby.theory.numbers import Floats
from swingby.theory.repaired import repaired_setting, theorem_r, theorem_two
from swingby.theory.repaired.repaired_setting import RepairedSetting

#: How many trials, and their runs, are kept for the next line about the same theorem: those that
#: the lines share, and those of a line that draws some of its own.
CACHED = 40
#: The level at which a concept counts as learned, and its logit.
LEVEL = float(repaired_setting.LEVEL)
LEVEL_LOGIT = math.log(LEVEL / (1 - LEVEL))


@dataclass(frozen=True, eq=False)
class Trials:
    """Initial matrices under a common signal, and a theorem's promises for each.

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
    height = rng.choice([0.0, 1.0, math.nan], p=[0.15, 0.4, 0.45], size=(count, d))
    height = np.where(np.isnan(height), rng.uniform(0, 1, (count, d)), height)
    diagonal = np.clip(rho * np.exp(spread * height), rho, beta)
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
    stated, setting = (
        RepairedSetting(exact_signal, Fraction(beta), Fraction(rho)) for exact_signal in signals
    )
    L = min(theorem_two.log_omega_0(stated), theorem_two.log_omega_0(setting)) - _depth(rng)
    peaks = np.full((2, 2), theorem_two.log_peak(setting, L))
    peaks = peaks + (math.log1p(eta * signal[0]) if effective else 0.0)
    times = theorem_two.time_bounds(setting, L)
    return _equal_promises(signal, eta, (beta, rho, float(L)), peaks, times, count, rng)


def draw_r(count: int, rng: np.random.Generator, dynamics: str, effective: bool) -> Trials:
    """Draw trials of the theorem on distinct concepts, d = 2 to 4, as :func:`draw_two`."""
    beta, rho = _spread(rng)
    d = int(rng.choice([2, 3, 4], p=[0.35, 0.4, 0.25]))
    steepest = {2: 8.0, 3: 4.0, 4: 2.7}[d]
    ratios = np.exp(-rng.uniform(math.log(1.25), math.log(steepest), d - 1))
    signal = np.append(1.0, np.cumprod(ratios))
    eta = _eta(rng, dynamics)
    stated, promised = _signals(signal, eta, effective)
    setting = RepairedSetting(promised, Fraction(beta), Fraction(rho))
    certified = theorem_r.search(setting)
    limit = certified.log_omega_0
    if effective:
        stated_setting = RepairedSetting(stated, setting.beta, setting.rho)
        limit = min(limit, theorem_r.search(stated_setting).log_omega_0)
    L = limit - _depth(rng)
    witness = theorem_r.find_witness(setting, L)
    if witness is None:
        witness = theorem_r.scaled(setting, L, certified)
    peaks = np.array(witness.log_peaks, dtype=float)
    peaks = peaks + (math.log1p(eta * signal[0]) if effective else 0.0)
    times = theorem_r.time_bounds(setting, L, witness)
    trials = _equal_promises(signal, eta, (beta, rho, float(L)), peaks, times, count, rng)
    return replace(trials, setting=setting, witness=witness)


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
    rise = LEVEL_LOGIT - start + np.maximum(-log_det, 0)[:, None] / (1 - LEVEL)
    reach = np.where(below, rise / (2 * promised), 0.0)
    text = f"a = {signal.tolist()}, eta = {eta!r}"
    return Trials(signal, eta, starts, np.full_like(starts, np.inf), reach, False, text)


#: How the trials of each theorem are drawn: how many, generator, dynamics, effective.
DRAWS: dict[str, Callable[[int, np.random.Generator, str, bool], Trials]] = {
    "Theorem two": draw_two,
    "Theorem R": draw_r,
    "Theorem G": draw_g,
}


@functools.lru_cache(maxsize=CACHED)
def draw_from_state(theorem: str, count: int, state: str) -> tuple[Trials, str]:
    """Trials of the flow that a generator in some state draws, and its state afterwards."""
    rng = np.random.default_rng()
    rng.bit_generator.state = json.loads(state)
    trials = DRAWS[theorem](count, rng, "flow", False)
    return trials, json.dumps(rng.bit_generator.state)


def _spread(rng: np.random.Generator) -> tuple[float, float]:
    beta = math.exp(rng.uniform(0, 1.5))
    return beta, beta * math.exp(-rng.uniform(0.02, 4))


def _eta(rng: np.random.Generator, dynamics: str) -> float:
    """Eta a_1; under the flow eta only sets the times at which the solution is looked at."""
    return 0.1 if dynamics == "flow" else math.exp(rng.uniform(math.log(0.005), math.log(0.05)))


def _depth(rng: np.random.Generator) -> Fraction:
    """The depth of log omega below log omega_0: zero in 40% of the draws."""
    return Fraction(0 if rng.random() < 0.4 else rng.uniform(0, 6))


def _signals(
    signal: Floats, eta: float, effective: bool
) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """The signal, and the signal that the promises are made for, exactly."""
    promised = np.log1p(eta * signal) / eta if effective else signal
    return tuple(map(Fraction, signal.tolist())), tuple(map(Fraction, promised.tolist()))


def _equal_promises(
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
