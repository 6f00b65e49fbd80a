"""The search on the repaired theorems: what they promise, put to the test where it is tightest.

Settings and W(0) are drawn inside the hypotheses, many of them at an edge. Every other round stays
with a setting on which a bound was nearly attained and mixes its W(0) with others. A promise that a
trajectory of euler or gd breaks is decided in balls; runs of the flow are in floats.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

import flint
import numpy as np

from swingby.errors import InvalidInput
from swingby.theory import balls
from swingby.theory.balls import precision
from swingby.theory.claims.verdict import Finding
from swingby.verify.certification.ball_run import BallState, follow
from swingby.verify.hunting.search import Clock, Closest, Hunted
from swingby.verify.prover.evidence import Judged, Witness
from swingby.verify.prover.repaired.theorems import (
    AFTER,
    DRAWS,
    ROUNDING,
    Trials,
    initial_matrices,
    slacks,
)
from swingby.verify.prover.trajectories import instances

#: Initial matrices per setting.
PER_SETTING = 20
MOST_TRIALS = 20_000
#: Bounds whose slack is a distance; the others start or end at 0 by their nature.
TELLING = {
    "peak": "logarithm of a bound on w_ij over its peak",
    "reach": "what is left of the time allowed, in units of 1/(2 a_i)",
}
MOST_CONFIRMED = 5
#: The level at which a concept counts as learned.
LEVEL = Fraction(4, 5)
#: Bounds are floats; a violation has to be larger than this, relatively.
_CLEARLY = Fraction(1, 10**9)
#: How far W(0) is moved into its range, so that rounding leaves it there.
INWARDS = 1e-8
#: At most so many steps are followed in balls.
MOST_STEPS = 300_000
BITS = (192, 320, 512)


@dataclass(frozen=True, eq=False)
class Near:
    """A setting and a W(0) with little slack."""

    slack: float
    trials: Trials
    place: int


def search_theorem(
    name: str, dynamics: str, rng: np.random.Generator, clock: Clock, dim: int | None = None
) -> Hunted:
    """Look for a trajectory that breaks a promise of Theorem two, R or G.

    Theorem two knows two dimensions alone. Under the flow nothing is confirmed.
    """
    if name == "Theorem two" and dim not in (None, 2):
        raise InvalidInput("dim", dim, "must be 2, 3 or 4 (2 for Theorem two)", name)
    found, near = Hunted(), dict[str, Near]()
    for number in range(MOST_TRIALS):
        if clock.over():
            break
        trials = _next_trials(name, dynamics, rng, near, number)
        if dim is not None and trials.starts.shape[1] != dim:
            continue
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            measured = slacks(trials, dynamics)
        count = len(trials.starts)
        found.instances += count
        longest = (trials.reach.max() + AFTER / trials.signal[-1]) / trials.eta
        found.steps += count * math.ceil(longest)
        broken = np.zeros(count, dtype=np.bool_)
        for bound, values in measured.items():
            broken |= ~(values >= 0)
            finite = np.where(np.isnan(values), np.inf, values)
            place = int(np.argmin(finite))
            slack = float(finite[place]) - ROUNDING
            if slack >= -ROUNDING and (bound not in near or slack < near[bound].slack):
                near[bound] = Near(slack, trials, place)
        found.closest = _closest(near, dynamics)
        if broken.any() and _decide(name, dynamics, trials, np.flatnonzero(broken), clock, found):
            return found
        if number % 20 == 19:
            clock.report(f"{name}, {dynamics}: {found.instances} instances")
    return found


def _next_trials(
    name: str, dynamics: str, rng: np.random.Generator, near: dict[str, Near], number: int
) -> Trials:
    telling = [near[bound] for bound in TELLING if bound in near and near[bound].trials.keeps]
    if not telling or number % 2 == 0:
        return DRAWS[name](PER_SETTING, rng, dynamics, False)
    one = telling[int(rng.integers(len(telling)))]
    old = one.trials
    d, omega = len(old.signal), math.exp(old.log_omega)
    other = omega * initial_matrices(d, old.beta, old.rho, len(old.starts), rng)
    share = (10 ** rng.uniform(-3, -0.3, size=len(other)))[:, None, None]
    # Means keep w_ii <= beta omega, and pivots at least rho omega: a pivot is concave.
    return replace(old, starts=(1 - share) * old.starts[one.place] + share * other)


def _closest(near: dict[str, Near], dynamics: str) -> Closest | None:
    bounds = [bound for bound in TELLING if bound in near]
    if not bounds:
        return None
    bound = min(bounds, key=lambda name: near[name].slack)
    one = near[bound]
    others = "; ".join(f"{name} {max(near[name].slack, 0.0):.3g}" for name in bounds)
    values = {"dynamics": dynamics, "setting": one.trials.text}
    values |= {"W(0)": repr(one.trials.starts[one.place].tolist())}
    text = f"{TELLING[bound]} (smallest slacks: {others})"
    return Closest(max(one.slack, 0.0), one.trials.text, text, values)


def _decide(
    name: str, dynamics: str, trials: Trials, places: Any, clock: Clock, found: Hunted
) -> bool:
    found.unconfirmed += len(places)
    if dynamics == "flow":
        clock.report(f"{name}: {len(places)} violations in floats, {trials.text}")
        return False
    for place in map(int, places[:MOST_CONFIRMED]):
        promises = promises_of(trials, place, dynamics)
        if promises is None:
            continue
        clock.report(f"{name}, {dynamics}: a violation is looked at in balls")
        first = find_breach(promises, BITS[0])
        if first is None:
            continue
        second = find_breach(promises, BITS[1])
        if second is not None and first == second:
            witness = _witness(name, dynamics, trials, promises, second)
            line = f"{second.relation} fails at step {second.step}"
            found.judged = Judged(Finding.REFUTED, "trajectory in balls", (line,), witness)
            found.again = partial(still_breaks, promises, witness)
            found.unconfirmed -= 1
            return True
        if clock.over():
            break
    return False


@dataclass(frozen=True)
class Promises:
    """A trajectory of euler or gd, and what is promised of it.

    `log_peaks`: natural logarithm of the bound on w_ij. `times`: eta times steps by which w_ii
    reaches 0.8. `keeps`: whether it is promised to stay above.
    """

    dynamics: str
    signal: tuple[Fraction, ...]
    eta: Fraction
    W0: tuple[tuple[Fraction, ...], ...]
    log_peaks: dict[tuple[int, int], Fraction]
    times: tuple[Fraction, ...]
    keeps: bool


@dataclass(frozen=True)
class Breach:
    """A broken promise on entry (i, j), from 0; both sides with 30 digits."""

    relation: str
    i: int
    j: int
    step: int
    left: str = field(compare=False)
    right: str = field(compare=False)


def promises_of(trials: Trials, place: int, dynamics: str) -> Promises | None:
    """One of some trials with exact numbers; None unless certainly inside the hypotheses."""
    start = trials.starts[place]
    d = len(start)
    if trials.keeps:
        middle = np.exp(trials.log_omega) * (trials.beta + trials.rho) / 2
        start = (1 - INWARDS) * start + INWARDS * middle * np.eye(d)
    W0 = tuple(tuple(map(Fraction, row)) for row in ((start + start.T) / 2).tolist())
    signal, eta = tuple(map(Fraction, trials.signal.tolist())), Fraction(trials.eta)
    pivots = instances.pivots(W0)
    if min(pivots) <= 0 or (trials.keeps and not _inside(trials, W0, pivots)):
        return None
    logs = {pair: float(trials.log_peaks[place][pair]) for pair in combinations(range(d), 2)}
    peaks = {pair: Fraction(log) for pair, log in logs.items() if math.isfinite(log)}
    times = tuple(map(Fraction, trials.reach[place].tolist()))
    return Promises(dynamics, signal, eta, W0, peaks, times, trials.keeps)


def _inside(trials: Trials, W0: Sequence[Sequence[Fraction]], pivots: Sequence[Fraction]) -> bool:
    with precision(256):
        omega = balls.ball(Fraction(trials.log_omega)).exp()
        most = balls.ball(Fraction(trials.beta)) * omega
        least = balls.ball(Fraction(trials.rho)) * omega
        return all(balls.ball(row[k]) <= most for k, row in enumerate(W0)) and all(
            balls.ball(pivot) >= least for pivot in pivots
        )


def find_breach(promises: Promises, bits: int) -> Breach | None:
    """The first promise that a ball run breaks for certain."""

    def steps(time: Fraction) -> int:
        """The first whole step at or after a time."""
        return math.ceil(time / promises.eta)

    last = steps(max(promises.times) + Fraction(12) / promises.signal[-1])
    if last > MOST_STEPS:
        return None
    with precision(bits):
        peaks = {
            pair: (balls.ball(log) + balls.ball(_CLEARLY)).exp()
            for pair, log in promises.log_peaks.items()
        }
        waiting = [steps(time * (1 + _CLEARLY)) for time in promises.times]
        level, below = balls.ball(LEVEL), [True] * len(promises.signal)
        learned = [False] * len(promises.signal)
        for state in follow(promises.signal, promises.W0, promises.eta, promises.dynamics, last):
            for (i, j), bound in peaks.items():
                if abs(state.W[i][j]) > bound:
                    name = f"Abs(w_{i + 1}{j + 1}(t)) <= its bound"
                    return _breach(name, i, j, state, bound)
            for i, row in enumerate(state.W):
                name = f"w_{i + 1}{i + 1}"
                below[i] = below[i] and bool(row[i] < level)
                if learned[i] and promises.keeps and row[i] < level:
                    return _breach(f"{name}(t) >= 4/5 once it was", i, i, state, level)
                learned[i] = learned[i] or bool(row[i] >= level)
                if below[i] and state.step >= waiting[i]:
                    by = f"{name} >= 4/5 by eta t = {float(promises.times[i]):.6g}"
                    return _breach(by, i, i, state, level)
    return None


def _breach(relation: str, i: int, j: int, state: BallState, right: flint.arb) -> Breach:
    left = state.W[i][j]
    sides = (str(side.str(30, radius=False)) for side in (abs(left) if i != j else left, right))
    return Breach(relation, i, j, state.step, *sides)


def still_breaks(promises: Promises, witness: Witness) -> bool:
    """Whether a trajectory breaks the promise of a theorem that its witness names."""
    breach = find_breach(promises, BITS[2])
    said = witness.relation, witness.values["t"]
    return breach is not None and (breach.relation, str(breach.step)) == said


def _witness(
    name: str, dynamics: str, trials: Trials, promises: Promises, breach: Breach
) -> Witness:
    values = {"dynamics": dynamics, "a": ", ".join(str(float(a)) for a in promises.signal)}
    values |= {"eta": repr(trials.eta)}
    if trials.keeps:
        values |= {"beta": repr(trials.beta), "rho": repr(trials.rho)}
        values |= {"log omega": repr(trials.log_omega)}
    for i, row in enumerate(promises.W0):
        values |= {f"w_{i + 1}{j + 1}(0)": repr(float(row[j])) for j in range(i + 1)}
    values |= {"t": str(breach.step), "eta t": f"{float(promises.eta * breach.step):.10g}"}
    checked = tuple(f"balls of {bits} bits" for bits in BITS[:2])
    checked += (f"the hypotheses of {name} on W(0), in balls",)
    return Witness(values, breach.relation, breach.left, breach.right, checked)
