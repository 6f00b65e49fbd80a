"""Where along a trajectory a claim is violated: a scan of all recorded steps at once.

The relation of the claim is data. It is evaluated on sign-and-logarithm arrays, so that one rule
serves every claim; what it finds is confirmed by
:mod:`swingby.verify.prover.trajectories.confirmation`.

A relation with w_ij(t_0) or t_0 has to hold for every t_0 up to t. Where that side holds no
letter of time t but t, and the order of anchors does not depend on t, the tightest so far is
enough.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from swingby.theory.claim import AlongTrajectory, Claim
from swingby.verify.prover.trajectories import signed_logs
from swingby.verify.prover.trajectories.instances import TrajectoryInstance
from swingby.verify.prover.trajectories.signed_logs import SignedLog, from_floats, from_fraction

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Booleans = NDArray[np.bool_]

#: Values of a lambda that a claim leaves free.
LAMBDAS = (Fraction(1, 2), Fraction(9, 10))
#: A scan does not tell sides apart that differ by less, relatively: rounding of the logarithms.
LEAST_EXCESS = 1e-9
#: Preferred is the first step at which the sides differ by a factor of 1000, or else of 2.
CLEAR = (math.log(1000), math.log(2))

#: Letters that are read at t_0, and those that are read at t.
ANCHORS = frozenset({"w_ij(t_0)", "w_ii(t_0)", "t_0"})
PRESENT = frozenset({"w_ij(t)", "w_ii(t)", "w_jj(t)", "w_ij(t+1)", "w_ii(t+1)", "N_ij(t)"})


@dataclass(frozen=True, eq=False)
class Recorded:
    """W at some steps of a trajectory.

    Parameters
    ----------
    steps : ndarray of int, shape (n,)
        Ascending, from 0.
    W : SignedLog of shape (n, d, d)
    """

    steps: Integers
    W: SignedLog


@dataclass(frozen=True)
class Violation:
    """A place at which a scan saw a relation broken.

    Parameters
    ----------
    relation : sympy relational
        The part of the claim's conclusion that is broken.
    i, j : int
        The entry, from 0.
    anchor, step : int
        t_0 and t.
    excess : float
        Logarithm of the ratio of the two sides; infinite where their signs differ.
    lam : Fraction or None
        The lambda.
    """

    relation: Any
    i: int
    j: int
    anchor: int
    step: int
    excess: float
    lam: Fraction | None


def entries(which: str, d: int) -> Iterator[tuple[int, int]]:
    """The entries that a claim speaks of, from 0; the signal is in descending order.

    Parameters
    ----------
    which : {"all", "diagonal", "off-diagonal", "larger first"}
    d : int

    Yields
    ------
    tuple of int
    """
    for i in range(d):
        for j in range(i, d):
            if which == "all" or (which == "diagonal") == (i == j):
                yield i, j


def parts(relation: Any) -> tuple[Any, ...]:
    """The relations of a conjunction."""
    return tuple(relation.args) if isinstance(relation, sympy.And | sympy.Tuple) else (relation,)


def small_and_large(relation: Any) -> tuple[Any, Any]:
    """The two sides of an inequality, the smaller first."""
    if isinstance(relation, sympy.Le | sympy.Lt):
        return relation.lhs, relation.rhs
    if isinstance(relation, sympy.Ge | sympy.Gt):
        return relation.rhs, relation.lhs
    raise TypeError(f"not an inequality: {relation}")


def lambdas(claim: Claim) -> tuple[Fraction | None, ...]:
    """The values of lambda to look at; None alone where the claim has no lambda."""
    conclusion = claim.conclusion
    free = conclusion.relation.free_symbols.union(
        *(part.free_symbols for part in conclusion.during)
    )
    return LAMBDAS if any(str(symbol) == "lambda" for symbol in free) else (None,)


def constant_letters(instance: TrajectoryInstance, lam: Fraction | None) -> dict[str, Fraction]:
    """The letters with an exact rational value at an instance: all but P and those of entries."""
    constants = instance.constants
    found = {name: getattr(constants, name) for name in ("alpha", "gamma", "beta", "K", "kappa")}
    found |= {"C": constants.C, "eta": instance.eta, "d": Fraction(instance.d)}
    found |= {"omega": instance.problem.omega, "pi_k(0)/w_kk(0)": instance.pivot_share}
    return found if lam is None else found | {"lambda": lam}


def scan(claim: Claim, instance: TrajectoryInstance, recorded: Recorded) -> Violation | None:
    """The violation of a claim that is easiest to see in a recorded trajectory, if any.

    Parameters
    ----------
    claim : Claim
        With an AlongTrajectory as conclusion.
    instance : TrajectoryInstance
    recorded : Recorded

    Returns
    -------
    Violation or None
        The first by a factor of 1000; failing that, the first by a factor of 2; failing that, the
        largest.
    """
    found = [
        violation
        for lam in lambdas(claim)
        for i, j in entries(claim.conclusion.entries, instance.d)
        for violation in _scan_entry(claim, instance, recorded, i, j, lam)
    ]
    for factor in CLEAR:
        clear = [violation for violation in found if violation.excess >= factor]
        if clear:
            return min(clear, key=lambda violation: violation.step)
    return max(found, key=lambda violation: violation.excess, default=None)


def _scan_entry(
    claim: Claim,
    instance: TrajectoryInstance,
    recorded: Recorded,
    i: int,
    j: int,
    lam: Fraction | None,
) -> Iterator[Violation]:
    conclusion: AlongTrajectory = claim.conclusion
    steps = recorded.steps
    letters = _letters(claim, instance, recorded, i, j, lam)
    begins = _all_true(conclusion.when, letters, len(steps))
    if not conclusion.when:
        begins[1:] = False
    continues = _all_true(conclusion.during, letters, len(steps))
    if conclusion.until is not None:
        last = signed_logs.evaluate(conclusion.until, letters).floats()
        continues &= steps <= float(np.max(last))
    for relation in parts(conclusion.relation):
        anchor = _tightest(relation, letters, begins & continues, continues, steps)
        inside = anchor >= 0
        if not inside.any():
            continue
        at = np.where(inside, anchor, 0)
        anchored = {name: letters[name][at] for name in ANCHORS}
        small, large = (
            signed_logs.evaluate(side, letters | anchored) for side in small_and_large(relation)
        )
        excess = np.broadcast_to(signed_logs.excess(small, large), steps.shape)
        excess = np.where(inside & ~np.isnan(excess), excess, -np.inf)
        where = _easiest(excess)
        if excess[where] > LEAST_EXCESS:
            yield Violation(
                relation, i, j, int(steps[at[where]]), int(steps[where]), float(excess[where]), lam
            )


def _easiest(excess: Floats) -> int:
    for factor in CLEAR:
        clear = np.flatnonzero(excess >= factor)
        if len(clear):
            return int(clear[0])
    return int(np.argmax(excess))


def _letters(
    claim: Claim,
    instance: TrajectoryInstance,
    recorded: Recorded,
    i: int,
    j: int,
    lam: Fraction | None,
) -> dict[str, SignedLog]:
    W, steps = recorded.W, recorded.steps
    found = {name: from_fraction(value) for name, value in constant_letters(instance, lam).items()}
    log_P = float(instance.constants.log10_P) * float(np.log(10))
    found["P"] = SignedLog(np.asarray(1.0), np.asarray(log_P))
    found |= {"a_i": from_fraction(instance.signal[i]), "a_j": from_fraction(instance.signal[j])}
    found |= {"w_ij(0)": W[0, i, j], "w_ii(0)": W[0, i, i]}
    found |= {"w_ij(t)": W[:, i, j], "w_ii(t)": W[:, i, i], "w_jj(t)": W[:, j, j]}
    found["t"] = from_floats(steps)
    # The same arrays, to be read at the anchors.
    found |= {"w_ij(t_0)": W[:, i, j], "w_ii(t_0)": W[:, i, i], "t_0": from_floats(steps)}
    conclusion = claim.conclusion
    names = {str(symbol) for symbol in conclusion.relation.free_symbols}
    if names & {"w_ij(t+1)", "w_ii(t+1)"}:
        following = np.append(np.diff(steps) == 1, False)
        after = np.minimum(np.arange(len(steps)) + 1, len(steps) - 1)
        for name, column in (("w_ij(t+1)", W[after, i, j]), ("w_ii(t+1)", W[after, i, i])):
            found[name] = SignedLog(np.where(following, column.sign, np.nan), column.log)
    if "N_ij(t)" in names:
        found["N_ij(t)"] = _noise(instance, W, i, j)
    return found


def _noise(instance: TrajectoryInstance, W: SignedLog, i: int, j: int) -> SignedLog:
    total = from_floats(np.zeros(len(W.sign)))
    for k, a_k in enumerate(instance.signal):
        if k not in (i, j):
            weight = (instance.signal[i] + instance.signal[j] + 2 * a_k) / 2
            total += W[:, k, i] * W[:, k, j] * from_fraction(weight)
    return total


def _all_true(relations: tuple[Any, ...], letters: dict[str, SignedLog], count: int) -> Booleans:
    found = np.ones(count, dtype=np.bool_)
    for relation in relations:
        small, large = (signed_logs.evaluate(side, letters) for side in small_and_large(relation))
        excess = signed_logs.excess(small, large)
        found &= excess < 0 if isinstance(relation, sympy.Lt | sympy.Gt) else excess <= 0
    return found


def _tightest(
    relation: Any,
    letters: dict[str, SignedLog],
    begins: Booleans,
    continues: Booleans,
    steps: Integers,
) -> Integers:
    """For every recorded step the index of the tightest anchor, -1 where there is none."""
    found = np.full(len(steps), -1)
    if not begins.any():
        return found
    keys = _anchor_keys(relation, letters, steps)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], continues, [False])).astype(int)))
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        key = np.where(begins[start:end], keys[start:end], np.inf)
        best = np.minimum.accumulate(key)
        at = np.maximum.accumulate(
            np.where((key == best) & np.isfinite(key), np.arange(end - start), -1)
        )
        found[start:end] = np.where(at >= 0, at + start, -1)
    return found


def _anchor_keys(relation: Any, letters: dict[str, SignedLog], steps: Integers) -> Floats:
    """Numbers that order the anchors, the tightest lowest."""
    sides = small_and_large(relation)
    names = [{str(symbol) for symbol in side.free_symbols} for side in sides]
    anchored = [bool(ANCHORS & found) for found in names]
    if not any(anchored):
        return np.arange(len(steps), dtype=np.float64)
    if all(anchored) or names[anchored.index(True)] & PRESENT:
        raise TypeError(f"w_ij(t) and w_ij(t_0) stand on one side: {relation}")
    bound, upper = sides[anchored.index(True)], anchored[1]
    found = []
    for reference in (0.0, float(steps[-1])):
        value = signed_logs.evaluate(bound, letters | {"t": from_floats(reference)})
        lowest = float(np.min(value.log, where=np.isfinite(value.log), initial=0.0))
        key = np.broadcast_to(value.order(lowest), steps.shape)
        found.append(np.asarray(key if upper else -key, dtype=np.float64))
    if np.argmin(found[0]) != np.argmin(found[1]):
        tie = found[0][np.argmin(found[1])] - np.min(found[0])
        if tie > LEAST_EXCESS * (1 + np.abs(found[0]).max()):
            raise TypeError(f"the order of the anchors depends on t: {relation}")
    return found[0]
