"""The search on the repaired theorems: their promises are tested where they are tightest.

Settings and W(0) are drawn inside the hypotheses, many of them at an edge. Every other round stays
with a setting on which a bound was nearly attained and mixes its W(0) with others. A promise that a
trajectory of euler or gd breaks is decided in balls; runs of the flow are in floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import flint
import numpy as np

from swingby.errors import InvalidInput
from swingby.proofs.certify.ball_run import follow
from swingby.proofs.hunt.search_log import Clock, ClosestCall, SearchLog
from swingby.proofs.prover.evidence import Judged, Witness
from swingby.proofs.prover.repaired.random_trials import (
    AFTER,
    DRAWS,
    ROUNDING,
    Trials,
    initial_matrices,
    slacks,
)
from swingby.proofs.prover.trajectories import instances
from swingby.proofs.prover.trajectories.instances import Matrix
from swingby.theory import balls
from swingby.theory.balls import precision
from swingby.theory.verdict import Finding

#: Initial matrices per setting.
PER_SETTING = 20
MOST_TRIALS = 20_000
#: Bounds whose slack is a distance; the others start or end at 0 by their nature.
_TELLING = {
    "peak": "logarithm of a bound on w_ij over its peak",
    "reach": "what is left of the time allowed, in units of 1/(2 a_i)",
}
_MOST_CONFIRMED = 5
#: The level at which a concept counts as learned.
_LEVEL = Fraction(4, 5)
#: Bounds are floats; a violation has to be larger than this, relatively.
_CLEARLY = Fraction(1, 10**9)
#: How far W(0) is moved into its range, so that rounding leaves it there.
_INWARDS = 1e-8
#: At most so many steps are followed in balls.
_MOST_STEPS = 300_000
_BITS = (192, 320, 512)


@dataclass(frozen=True, eq=False)
class _NearMiss:
    """A setting and a W(0) with little slack."""

    slack: float
    trials: Trials
    index: int


def search_theorem(
    name: str, dynamics: str, rng: np.random.Generator, clock: Clock, dim: int | None = None
) -> SearchLog:
    """Look for a trajectory that breaks a promise of Theorem two, R or G.

    Theorem two knows two dimensions alone. Under the flow nothing is confirmed.
    """
    if name == "Theorem two" and dim not in (None, 2):
        raise InvalidInput("dim", dim, "must be 2, 3 or 4 (2 for Theorem two)", name)
    log, near_misses = SearchLog(), dict[str, _NearMiss]()
    for number in range(MOST_TRIALS):
        if clock.over():
            break
        trials = _next_trials(name, dynamics, rng, near_misses, number)
        if dim is not None and trials.starts.shape[1] != dim:
            continue
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            measured = slacks(trials, dynamics)
        count = len(trials.starts)
        log.instances += count
        longest = (trials.reach.max() + AFTER / trials.signal[-1]) / trials.eta
        log.steps += count * math.ceil(longest)
        broken = np.zeros(count, dtype=np.bool_)
        for bound, values in measured.items():
            broken |= ~(values >= 0)
            finite = np.where(np.isnan(values), np.inf, values)
            index = int(np.argmin(finite))
            slack = float(finite[index]) - ROUNDING
            if slack >= -ROUNDING and (
                bound not in near_misses or slack < near_misses[bound].slack
            ):
                near_misses[bound] = _NearMiss(slack, trials, index)
        log.closest = _closest(near_misses, dynamics)
        if broken.any() and _decide(name, dynamics, trials, np.flatnonzero(broken), clock, log):
            return log
        if number % 20 == 19:
            clock.report(f"{name}, {dynamics}: {log.instances} instances")
    return log


def _next_trials(
    name: str,
    dynamics: str,
    rng: np.random.Generator,
    near_misses: dict[str, _NearMiss],
    number: int,
) -> Trials:
    telling = [
        near_misses[bound]
        for bound in _TELLING
        if bound in near_misses and near_misses[bound].trials.keeps
    ]
    if not telling or number % 2 == 0:
        return DRAWS[name](PER_SETTING, rng, dynamics, False)
    near_miss = telling[int(rng.integers(len(telling)))]
    old = near_miss.trials
    d, omega = len(old.signal), math.exp(old.log_omega)
    fresh = omega * initial_matrices(d, old.beta, old.rho, len(old.starts), rng)
    share = (10 ** rng.uniform(-3, -0.3, size=len(fresh)))[:, None, None]
    # Means keep w_ii <= beta omega, and pivots at least rho omega: a pivot is concave.
    return replace(old, starts=(1 - share) * old.starts[near_miss.index] + share * fresh)


def _closest(near_misses: dict[str, _NearMiss], dynamics: str) -> ClosestCall | None:
    bounds = [bound for bound in _TELLING if bound in near_misses]
    if not bounds:
        return None
    bound = min(bounds, key=lambda name: near_misses[name].slack)
    near_miss = near_misses[bound]
    slacks_text = "; ".join(f"{name} {max(near_misses[name].slack, 0.0):.3g}" for name in bounds)
    values = {"dynamics": dynamics, "setting": near_miss.trials.text}
    values |= {"W(0)": repr(near_miss.trials.starts[near_miss.index].tolist())}
    text = f"{_TELLING[bound]} (smallest slacks: {slacks_text})"
    return ClosestCall(max(near_miss.slack, 0.0), near_miss.trials.text, text, values)


def _decide(
    name: str, dynamics: str, trials: Trials, indices: Any, clock: Clock, log: SearchLog
) -> bool:
    log.unconfirmed += len(indices)
    if dynamics == "flow":
        clock.report(f"{name}: {len(indices)} violations in floats, {trials.text}")
        return False
    for index in map(int, indices[:_MOST_CONFIRMED]):
        W0 = exact_start(trials, index)
        if W0 is None:
            continue
        clock.report(f"{name}, {dynamics}: a violation is looked at in balls")
        search = partial(find_breach, trials, index, dynamics, W0)
        first = search(_BITS[0])
        if first is None:
            continue
        second = search(_BITS[1])
        if second is not None and first[:2] == second[:2]:
            witness = _witness(name, dynamics, trials, W0, second)
            line = f"{second.relation} fails at step {second.step}"
            log.judged = Judged(Finding.REFUTED, "trajectory in balls", (line,), witness)
            log.again = partial(_still_breaks, search, second)
            log.unconfirmed -= 1
            return True
        if clock.over():
            break
    return False


class _Breach(NamedTuple):
    """A broken promise, and both sides with 30 digits."""

    relation: str
    step: int
    left: str
    right: str


def exact_start(trials: Trials, index: int) -> Matrix | None:
    """W(0) of a trial as exact numbers; None unless certainly inside the hypotheses."""
    start = trials.starts[index]
    if trials.keeps:
        middle = np.exp(trials.log_omega) * (trials.beta + trials.rho) / 2
        start = (1 - _INWARDS) * start + _INWARDS * middle * np.eye(len(start))
    W0 = tuple(tuple(map(Fraction, row)) for row in ((start + start.T) / 2).tolist())
    pivots = instances.pivots(W0)
    if min(pivots) <= 0:
        return None
    if not trials.keeps:
        return W0
    with precision(256):
        omega = balls.ball(Fraction(trials.log_omega)).exp()
        largest_entry, lowest_pivot = (
            balls.ball(Fraction(edge)) * omega for edge in (trials.beta, trials.rho)
        )
        inside = all(balls.ball(row[k]) <= largest_entry for k, row in enumerate(W0)) and all(
            balls.ball(pivot) >= lowest_pivot for pivot in pivots
        )
    return W0 if inside else None


def find_breach(trials: Trials, index: int, dynamics: str, W0: Matrix, bits: int) -> _Breach | None:
    """The first promise of a trial under euler or gd that a ball run breaks for certain."""
    signal, eta = tuple(map(Fraction, trials.signal.tolist())), Fraction(trials.eta)
    times = [Fraction(time) for time in trials.reach[index].tolist()]

    def steps(time: Fraction) -> int:
        """The first whole step at or after a time."""
        return math.ceil(time / eta)

    last = steps(max(times) + Fraction(AFTER) / signal[-1])
    if last > _MOST_STEPS:
        return None
    with precision(bits):
        logs = {
            pair: float(trials.log_peaks[index][pair]) for pair in combinations(range(len(W0)), 2)
        }
        peaks = {
            pair: (balls.ball(Fraction(log)) + balls.ball(_CLEARLY)).exp()
            for pair, log in logs.items()
            if math.isfinite(log)
        }
        waiting = [steps(time * (1 + _CLEARLY)) for time in times]
        level, below, learned = balls.ball(_LEVEL), [True] * len(W0), [False] * len(W0)
        for state in follow(signal, W0, eta, dynamics, last):
            for (i, j), bound in peaks.items():
                size = abs(state.W[i][j])
                if size > bound:
                    name = f"Abs(w_{i + 1}{j + 1}(t)) <= its bound"
                    return _breach(name, state.step, size, bound)
            for i, row in enumerate(state.W):
                name, w = f"w_{i + 1}{i + 1}", row[i]
                below[i] = below[i] and bool(w < level)
                if learned[i] and trials.keeps and w < level:
                    return _breach(f"{name}(t) >= 4/5 once it was", state.step, w, level)
                learned[i] = learned[i] or bool(w >= level)
                if below[i] and state.step >= waiting[i]:
                    by = f"{name} >= 4/5 by eta t = {float(times[i]):.6g}"
                    return _breach(by, state.step, w, level)
    return None


def _breach(relation: str, step: int, *sides: flint.arb) -> _Breach:
    return _Breach(relation, step, *(str(side.str(30, radius=False)) for side in sides))


def _still_breaks(search: Callable[[int], _Breach | None], known: _Breach) -> bool:
    """Whether a search at a third precision breaks the same promise at the same step."""
    breach = search(_BITS[2])
    return breach is not None and breach[:2] == known[:2]


def _witness(name: str, dynamics: str, trials: Trials, W0: Matrix, breach: _Breach) -> Witness:
    values = {"dynamics": dynamics, "a": ", ".join(map(str, trials.signal.tolist()))}
    values |= {"eta": repr(trials.eta)}
    if trials.keeps:
        values |= {"beta": repr(trials.beta), "rho": repr(trials.rho)}
        values |= {"log omega": repr(trials.log_omega)}
    for i, row in enumerate(W0):
        values |= {f"w_{i + 1}{j + 1}(0)": repr(float(row[j])) for j in range(i + 1)}
    time = float(Fraction(trials.eta) * breach.step)
    values |= {"t": str(breach.step), "eta t": f"{time:.10g}"}
    checked = tuple(f"balls of {bits} bits" for bits in _BITS[:2])
    checked += (f"the hypotheses of {name} on W(0), in balls",)
    return Witness(values, breach.relation, breach.left, breach.right, checked)
