"""A promise of a repaired theorem that a trajectory of euler or gd breaks, decided in balls.

A counterexample followed once more, from its printed place, at a third precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from swingby.simulate.state import Floats
from swingby.theory import balls
from swingby.theory.balls import precision
from swingby.theory.claim import Claim
from swingby.verify.certification.ball_run import BallState, follow
from swingby.verify.prover.evidence import Witness
from swingby.verify.prover.judge import judge
from swingby.verify.prover.repaired.trials import Trials
from swingby.verify.prover.trajectories.instances import TrajectoryInstance
from swingby.verify.prover.trajectories.instances import pivots as pivots_of
from swingby.verify.prover.trajectories.judge import confirm, states_at, steps_needed
from swingby.verify.prover.trajectories.violation import Violation, parts

#: The level at which a concept counts as learned.
LEVEL = Fraction(4, 5)
#: Bounds are floats; a violation has to be larger than this, relatively.
ROUNDING = Fraction(1, 10**9)
#: How far W(0) is moved into its range, so that rounding leaves it there.
INWARDS = 1e-8
#: At most so many steps are followed in balls.
MOST_STEPS = 300_000
BITS = (192, 320, 512)


@dataclass(frozen=True)
class Promises:
    """A trajectory, and what is promised of it.

    `dynamics` in {"euler", "gd"}. `log_peaks`: natural logarithm of the bound on w_ij. `times`: eta
    times steps by which w_ii reaches 0.8. `keeps`: whether it is promised to stay above.
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
    """A broken promise.

    `i`, `j`, `step`: the entry, from 0, and the step. `left`, `right`: both sides, with 30 digits.
    """

    relation: str
    i: int
    j: int
    step: int
    left: str
    right: str


def promises_of(trials: Trials, place: int, dynamics: str) -> Promises | None:
    """One of some trials with exact numbers, certainly inside the hypotheses.

    Returns None where the hypotheses are not certain.
    """
    start = trials.starts[place]
    d = len(start)
    if trials.keeps:
        middle = np.exp(trials.log_omega) * (trials.beta + trials.rho) / 2
        start = (1 - INWARDS) * start + INWARDS * middle * np.eye(d)
    W0 = tuple(tuple(map(Fraction, row)) for row in ((start + start.T) / 2).tolist())
    signal, eta = tuple(map(Fraction, trials.signal.tolist())), Fraction(trials.eta)
    pivots = pivots_of(W0)
    if min(pivots) <= 0 or (trials.keeps and not _inside(trials, W0, pivots)):
        return None
    peaks = {
        (i, j): Fraction(float(trials.log_peaks[place, i, j]))
        for i, j in combinations(range(d), 2)
        if np.isfinite(trials.log_peaks[place, i, j])
    }
    times = tuple(map(Fraction, trials.reach[place].tolist()))
    return Promises(dynamics, signal, eta, W0, peaks, times, trials.keeps)


def find_breach(promises: Promises, bits: int) -> Breach | None:
    """The first promise that a ball run breaks for certain.

    `bits`: working precision.
    """
    last = _last_step(promises)
    if last > MOST_STEPS:
        return None
    with precision(bits):
        peaks = {
            pair: (balls.ball(log) + balls.ball(ROUNDING)).exp()
            for pair, log in promises.log_peaks.items()
        }
        waiting = [_steps(time * (1 + ROUNDING), promises.eta) for time in promises.times]
        level, below = balls.ball(LEVEL), [True] * len(promises.signal)
        learned = [False] * len(promises.signal)
        for state in follow(promises.signal, promises.W0, promises.eta, promises.dynamics, last):
            breach = _peak(state, peaks)
            if breach is not None:
                return breach
            for i, row in enumerate(state.W):
                below[i] = below[i] and bool(row[i] < level)
                if learned[i] and promises.keeps and row[i] < level:
                    return _breach(f"w_{i + 1}{i + 1}(t) >= 4/5 once it was", i, i, state, level)
                learned[i] = learned[i] or bool(row[i] >= level)
                if below[i] and state.step >= waiting[i]:
                    relation = f"w_{i + 1}{i + 1} >= 4/5 by eta t = {float(promises.times[i]):.6g}"
                    return _breach(relation, i, i, state, level)
    return None


def _inside(trials: Trials, W0: Sequence[Sequence[Fraction]], pivots: Sequence[Fraction]) -> bool:
    with precision(256):
        omega = balls.ball(Fraction(trials.log_omega)).exp()
        most = balls.ball(Fraction(trials.beta)) * omega
        least = balls.ball(Fraction(trials.rho)) * omega
        return all(balls.ball(row[k]) <= most for k, row in enumerate(W0)) and all(
            balls.ball(pivot) >= least for pivot in pivots
        )


def _peak(state: BallState, peaks: dict[tuple[int, int], Any]) -> Breach | None:
    for (i, j), bound in peaks.items():
        if abs(state.W[i][j]) > bound:
            relation = f"Abs(w_{i + 1}{j + 1}(t)) <= its bound"
            return _breach(relation, i, j, state, bound)
    return None


def _breach(relation: str, i: int, j: int, state: BallState, right: Any) -> Breach:
    left = state.W[i][j]
    sides = (str(side.str(30, radius=False)) for side in (abs(left) if i != j else left, right))
    return Breach(relation, i, j, state.step, *sides)


def _steps(time: Fraction, eta: Fraction) -> int:
    """The first whole step at or after a time."""
    return -int(-(time / eta) // 1)


def _last_step(promises: Promises) -> int:
    after = Fraction(12) / promises.signal[-1]
    return _steps(max(promises.times) + after, promises.eta)


def shown_matrix(W0: Sequence[Sequence[Fraction]]) -> dict[str, str]:
    """The entries of W(0) as floats that read back exactly."""
    return {
        f"w_{i + 1}{j + 1}(0)": repr(float(entry))
        for i, row in enumerate(W0)
        for j, entry in enumerate(row[: i + 1])
    }


def mixed(starts: Floats, other: Floats, share: Floats) -> Floats:
    """Matrices between others: means keep w_ii <= beta omega, and pivots at least rho omega.

    A pivot is a concave function of the matrix.

    `starts`, `other` (n, d, d). `share` (n,): of `other`.
    """
    weights = share[:, None, None]
    return np.asarray((1 - weights) * starts + weights * other)


def place_of(claim: Claim, witness: Witness) -> Violation:
    """Where a witness breaks a claim, read back from its values.

    `claim`: with an AlongTrajectory as conclusion.
    """
    values = witness.values
    relations = parts(claim.conclusion.relation)
    relation = next(one for one in relations if str(one) == witness.relation)
    lam = Fraction(values["lambda"]) if "lambda" in values else None
    anchor, step = int(values.get("t_0", 0)), int(values["t"])
    return Violation(relation, int(values["i"]) - 1, int(values["j"]) - 1, anchor, step, 0.0, lam)


def third_precision(bits: int) -> int:
    """Bits above those of both runs that confirmed a violation.

    `bits`: of the first run.
    """
    return bits + 2 * max(256, bits // 8) + 64


def still_violates(
    claim: Claim, witness: Witness, instance: TrajectoryInstance, dynamics: str
) -> bool:
    """Whether a trajectory breaks a claim where its witness says so."""
    violation = place_of(claim, witness)
    bits = third_precision(instance.bits)
    states = states_at(instance, dynamics, bits, steps_needed(claim, violation))
    with precision(bits):
        sides = confirm(claim, violation, instance, states)
    return sides is not None and instance.is_admissible()


def still_breaks(promises: Promises, witness: Witness) -> bool:
    """Whether a trajectory breaks the promise of a theorem that its witness names."""
    breach = find_breach(promises, BITS[2])
    if breach is None:
        return False
    return (breach.relation, str(breach.step)) == (witness.relation, witness.values["t"])


def still_refuted(claim: Claim) -> bool:
    """Whether the prover refutes a line when asked again."""
    return judge(claim).witness is not None
