"""The search on the repaired theorems: what they promise, put to the test where it is tightest.

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
from swingby.proofs.hunt.trajectory_search import Clock, Closest, Hunted
from swingby.proofs.prover.evidence import ClaimVerdict, Witness
from swingby.proofs.prover.repaired.random_trials import DRAWS, Trials, initial_matrices
from swingby.proofs.prover.repaired.trial_runs import AFTER, ROUNDING, slacks
from swingby.proofs.prover.trajectories import instances
from swingby.proofs.prover.trajectories.instances import Matrix
from swingby.theory import balls
from swingby.theory.balls import precision
from swingby.theory.verdict import Finding

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
        W0 = exact_start(trials, place)
        if W0 is None:
            continue
        clock.report(f"{name}, {dynamics}: a violation is looked at in balls")
        search = partial(find_breach, trials, place, dynamics, W0)
        first = search(BITS[0])
        if first is None:
            continue
        second = search(BITS[1])
        if second is not None and first[:2] == second[:2]:
            witness = _witness(name, dynamics, trials, W0, second)
            line = f"{second.relation} fails at step {second.step}"
            found.judged = ClaimVerdict(Finding.REFUTED, "trajectory in balls", (line,), witness)
            found.again = partial(_still_breaks, search, second)
            found.unconfirmed -= 1
            return True
        if clock.over():
            break
    return False


class Breach(NamedTuple):
    """A broken promise, and both sides with 30 digits."""

    relation: str
    step: int
    left: str
    right: str


def exact_start(trials: Trials, place: int) -> Matrix | None:
    """W(0) of one of some trials as exact numbers; None unless certainly inside the hypotheses."""
    start = trials.starts[place]
    if trials.keeps:
        middle = np.exp(trials.log_omega) * (trials.beta + trials.rho) / 2
        start = (1 - INWARDS) * start + INWARDS * middle * np.eye(len(start))
    W0 = tuple(tuple(map(Fraction, row)) for row in ((start + start.T) / 2).tolist())
    pivots = instances.pivots(W0)
    if min(pivots) <= 0:
        return None
    if not trials.keeps:
        return W0
    with precision(256):
        omega = balls.ball(Fraction(trials.log_omega)).exp()
        most, least = (balls.ball(Fraction(edge)) * omega for edge in (trials.beta, trials.rho))
        inside = all(balls.ball(row[k]) <= most for k, row in enumerate(W0)) and all(
            balls.ball(pivot) >= least for pivot in pivots
        )
    return W0 if inside else None


def find_breach(trials: Trials, place: int, dynamics: str, W0: Matrix, bits: int) -> Breach | None:
    """The first promise of a trial under euler or gd that a ball run breaks for certain."""
    signal, eta = tuple(map(Fraction, trials.signal.tolist())), Fraction(trials.eta)
    times = [Fraction(time) for time in trials.reach[place].tolist()]

    def steps(time: Fraction) -> int:
        """The first whole step at or after a time."""
        return math.ceil(time / eta)

    last = steps(max(times) + Fraction(AFTER) / signal[-1])
    if last > MOST_STEPS:
        return None
    with precision(bits):
        logs = {
            pair: float(trials.log_peaks[place][pair]) for pair in combinations(range(len(W0)), 2)
        }
        peaks = {
            pair: (balls.ball(Fraction(log)) + balls.ball(_CLEARLY)).exp()
            for pair, log in logs.items()
            if math.isfinite(log)
        }
        waiting = [steps(time * (1 + _CLEARLY)) for time in times]
        level, below, learned = balls.ball(LEVEL), [True] * len(W0), [False] * len(W0)
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


def _breach(relation: str, step: int, *sides: flint.arb) -> Breach:
    return Breach(relation, step, *(str(side.str(30, radius=False)) for side in sides))


def _still_breaks(search: Callable[[int], Breach | None], known: Breach) -> bool:
    """Whether a search at a third precision breaks the same promise at the same step."""
    breach = search(BITS[2])
    return breach is not None and breach[:2] == known[:2]


def _witness(name: str, dynamics: str, trials: Trials, W0: Matrix, breach: Breach) -> Witness:
    values = {"dynamics": dynamics, "a": ", ".join(map(str, trials.signal.tolist()))}
    values |= {"eta": repr(trials.eta)}
    if trials.keeps:
        values |= {"beta": repr(trials.beta), "rho": repr(trials.rho)}
        values |= {"log omega": repr(trials.log_omega)}
    for i, row in enumerate(W0):
        values |= {f"w_{i + 1}{j + 1}(0)": repr(float(row[j])) for j in range(i + 1)}
    time = float(Fraction(trials.eta) * breach.step)
    values |= {"t": str(breach.step), "eta t": f"{time:.10g}"}
    checked = tuple(f"balls of {bits} bits" for bits in BITS[:2])
    checked += (f"the hypotheses of {name} on W(0), in balls",)
    return Witness(values, breach.relation, breach.left, breach.right, checked)
