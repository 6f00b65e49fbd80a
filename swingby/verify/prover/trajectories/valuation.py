"""Values of a claim's letters along a recorded trajectory, as sign and logarithm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from swingby.theory.claim import Claim
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


@dataclass(frozen=True, eq=False)
class Recorded:
    """W at some steps of a trajectory.

    `steps` (n,): ascending, from 0. `W` (n, d, d).
    """

    steps: Integers
    W: SignedLog


def entries(which: str, d: int) -> Iterator[tuple[int, int]]:
    """The entries that a claim speaks of, from 0; the signal is in descending order."""
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


def letters_along(
    claim: Claim,
    instance: TrajectoryInstance,
    recorded: Recorded,
    i: int,
    j: int,
    lam: Fraction | None,
) -> dict[str, SignedLog]:
    """Every letter of a claim about entry (i, j), at all recorded steps.

    Returns letters of t_0 are the same arrays as those of t, to be read at the anchors.
    """
    W, steps = recorded.W, recorded.steps
    found = {name: from_fraction(value) for name, value in constant_letters(instance, lam).items()}
    log_P = float(instance.constants.log10_P) * float(np.log(10))
    found["P"] = SignedLog(np.asarray(1.0), np.asarray(log_P))
    found |= {"a_i": from_fraction(instance.signal[i]), "a_j": from_fraction(instance.signal[j])}
    found |= {"w_ij(0)": W[0, i, j], "w_ii(0)": W[0, i, i]}
    found |= {"w_ij(t)": W[:, i, j], "w_ii(t)": W[:, i, i], "w_jj(t)": W[:, j, j]}
    found["t"] = from_floats(steps)
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


def all_true(relations: tuple[Any, ...], letters: dict[str, SignedLog], count: int) -> Booleans:
    """Where all of some relations hold."""
    found = np.ones(count, dtype=np.bool_)
    for relation in relations:
        small, large = (signed_logs.evaluate(side, letters) for side in small_and_large(relation))
        excess = signed_logs.excess(small, large)
        found &= excess < 0 if isinstance(relation, sympy.Lt | sympy.Gt) else excess <= 0
    return found
