"""The letters of a claim along a trajectory: constants, entries of W, their noise, and the time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from swingby.proofs.prover.scalar.relation import Relation, relation_from
from swingby.proofs.prover.trajectories.instances import TrajectoryInstance
from swingby.proofs.prover.trajectories.signed_log import SignedLog, from_floats, from_fraction
from swingby.theory.numbers import Integers


@dataclass(frozen=True, eq=False)
class RecordedPath:
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


def inequality(relation: Any) -> Relation:
    """An inequality, the smaller side first; TypeError for any other relation."""
    ordered = relation_from(relation)
    if ordered.kind not in ("<=", "<"):
        raise TypeError(f"not an inequality: {relation}")
    return ordered


def letters_in(*expressions: Any) -> frozenset[str]:
    """The names of the letters in some expressions and relations."""
    return frozenset(
        letter.name for expression in expressions for letter in expression.free_symbols
    )


def exact_letters(instance: TrajectoryInstance, lam: Fraction | None) -> dict[str, Fraction]:
    """The letters with an exact rational value, the same for every entry: all constants but P."""
    names = ("alpha", "gamma", "beta", "K", "kappa", "C")
    letters = {name: getattr(instance.constants, name) for name in names}
    letters |= {"eta": instance.eta, "d": Fraction(instance.d), "omega": instance.problem.omega}
    letters |= {"pi_k(0)/w_kk(0)": instance.pivot_share}
    return letters | ({} if lam is None else {"lambda": lam})


def noise(
    instance: TrajectoryInstance,
    i: int,
    j: int,
    W: Callable[[int, int], Any],
    number: Callable[[Fraction], Any],
) -> Any:
    """N_ij(t) as a number of some kind; `W` gives an entry."""
    signal, total = instance.signal, number(Fraction(0))
    for k, a_k in enumerate(signal):
        if k not in (i, j):
            total = total + W(k, i) * W(k, j) * number((signal[i] + signal[j] + 2 * a_k) / 2)
    return total


def letters_at(at: str, time: Any, W: Callable[[int, int], Any], i: int, j: int) -> dict[str, Any]:
    """The letters of entry (i, j) at "0", "t_0", "t" or "t+1"; `W` gives an entry."""
    by_index = {"ij": W(i, j), "ii": W(i, i), "jj": W(j, j)}
    return {f"w_{name}({at})": entry for name, entry in by_index.items()} | {at: time}


def letters_along(
    wanted: frozenset[str],
    instance: TrajectoryInstance,
    recorded: RecordedPath,
    i: int,
    j: int,
    lam: Fraction | None,
) -> dict[str, SignedLog]:
    """The letters of a claim about entry (i, j), at all recorded steps; the dear letters if wanted.

    Letters of t_0 are the same arrays as those of t, to be read at the anchors.
    """
    W, steps, time = recorded.W, recorded.steps, from_floats(recorded.steps)

    def entry(p: int, q: int) -> SignedLog:
        return W[:, p, q]

    exact = exact_letters(instance, lam) | {"a_i": instance.signal[i], "a_j": instance.signal[j]}
    letters = {name: from_fraction(exact[name]) for name in exact.keys() & wanted}
    log_P = float(instance.constants.log10_P) * float(np.log(10))
    letters["P"] = SignedLog(np.asarray(1.0), np.asarray(log_P))
    letters |= letters_at("0", time, lambda p, q: W[0, p, q], i, j)
    letters |= letters_at("t", time, entry, i, j) | letters_at("t_0", time, entry, i, j)
    if "N_ij(t)" in wanted:
        letters["N_ij(t)"] = noise(instance, i, j, entry, from_fraction)
    if wanted & _LATER:
        following = np.append(np.diff(steps) == 1, False)
        after = np.minimum(np.arange(len(steps)) + 1, len(steps) - 1)

        def later(p: int, q: int) -> SignedLog:
            return SignedLog(np.where(following, W.sign[after, p, q], np.nan), W.log[after, p, q])

        letters |= letters_at("t+1", time, later, i, j)
    return letters


#: Letters that are read at t_0, at t + 1, and at t or t + 1.
ANCHORS = frozenset({"w_ij(t_0)", "w_ii(t_0)", "w_jj(t_0)", "t_0"})
_LATER = frozenset({"w_ij(t+1)", "w_ii(t+1)", "w_jj(t+1)"})
PRESENT = _LATER | {"w_ij(t)", "w_ii(t)", "w_jj(t)", "N_ij(t)"}
