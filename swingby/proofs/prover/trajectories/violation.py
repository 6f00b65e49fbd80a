"""Where along a trajectory a claim is violated: a scan of all recorded steps at once.

The relation of the claim is data. It is evaluated on real numbers as sign and logarithm, in arrays,
since entries of W reach from 1e-140 to beyond the float range within one run, and a relation is
wanted at tens of thousands of steps at once. Rounding is that of floats in the logarithm, about
1e-13 in relative size: a comparison that is closer than that is not one. What a scan finds is
decided by :mod:`swingby.proofs.prover.trajectories.trajectory_claims`.

A relation with w_ij(t_0) or t_0 has to hold for every t_0 up to t. Where that side holds no
letter of time t but t, and the order of anchors does not depend on t, the tightest so far is
enough.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.proofs.language.claim import AlongTrajectory, Claim
from swingby.proofs.prover.scalar.rational_bounds import fraction
from swingby.proofs.prover.scalar.relation import Relation, relation_from
from swingby.proofs.prover.trajectories.instances import TrajectoryInstance
from swingby.theory import numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Booleans = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SignedLog:
    """The numbers ``sign * exp(log)``, entry by entry.

    `sign`: -1, 0 or 1. `log`: natural logarithm of the size; -inf where the sign is 0.
    """

    sign: Floats
    log: Floats

    def __getitem__(self, key: Any) -> SignedLog:
        return SignedLog(self.sign[key], self.log[key])

    def __mul__(self, other: SignedLog) -> SignedLog:
        sign = self.sign * other.sign
        return SignedLog(sign, np.where(sign == 0, -np.inf, self.log + other.log))

    def __add__(self, other: SignedLog) -> SignedLog:
        largest = np.maximum(self.log, other.log)
        shift = np.where(np.isfinite(largest), largest, 0.0)
        total = self.sign * np.exp(self.log - shift) + other.sign * np.exp(other.log - shift)
        with np.errstate(divide="ignore"):
            return SignedLog(np.sign(total), np.log(np.abs(total)) + shift)

    def order(self, lowest: float) -> Floats:
        """A float that is larger where the number is larger."""
        return np.where(
            self.sign == 0, 0.0, self.sign * (np.maximum(self.log, lowest) - lowest + 1)
        )

    def floats(self) -> Floats:
        """The numbers as floats; infinite beyond their range."""
        with np.errstate(over="ignore"):
            return np.asarray(self.sign * np.exp(self.log), dtype=np.float64)


def from_floats(values: Any) -> SignedLog:
    """Floats as sign and logarithm."""
    array = np.asarray(values, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return SignedLog(np.sign(array), np.log(np.abs(array)))


def from_fraction(value: Fraction | int) -> SignedLog:
    """An exact rational of any size as sign and logarithm."""
    exact = Fraction(value)
    if not exact:
        return from_floats(0.0)
    sign = 1.0 if exact > 0 else -1.0
    return SignedLog(np.asarray(sign), np.asarray(float(numbers.log_of(abs(exact)))))


def evaluate(expression: Any, values: Mapping[str, SignedLog]) -> SignedLog:
    """A sympy expression, at all entries of its letters at once.

    Raises TypeError if the expression has a function that no statement uses.
    """
    if expression.is_Symbol:
        return values[expression.name]
    if expression.is_Rational:
        return from_fraction(fraction(expression))
    arguments = [evaluate(argument, values) for argument in expression.args]
    name, first = expression.func.__name__, arguments[0]
    if name == "Pow":
        return _power(first, expression.args[1])
    if name == "exp":
        exponent = first.floats()
        return SignedLog(np.ones_like(exponent), exponent)
    if name == "log":
        return from_floats(np.where(first.sign > 0, first.log, np.nan))
    if name == "Abs":
        return SignedLog(np.abs(first.sign), first.log)
    if name in _FOLDED:
        return functools.reduce(_FOLDED[name], arguments)
    raise TypeError(f"no evaluation of {name} on logarithms")


def excess(small: SignedLog, large: SignedLog) -> Floats:
    """How far ``small <= large`` is from being true: above 0 where it is violated.

    Returns the logarithm of the ratio of the two sides where both have one sign, else plus or minus
    infinity; nan where a side is not a number.
    """
    small_sign, large_sign = np.broadcast_arrays(small.sign, large.sign)
    small_log, large_log = np.broadcast_arrays(small.log, large.log)
    with np.errstate(invalid="ignore"):
        ratio = small_sign * (small_log - large_log)
    apart = np.where(small_sign > large_sign, np.inf, -np.inf)
    excesses = np.where((small_sign == large_sign) & (small_sign != 0), ratio, apart)
    return np.where(np.isnan(small_sign) | np.isnan(large_sign), np.nan, excesses)


def _power(base: SignedLog, exponent: Any) -> SignedLog:
    if not exponent.is_Rational:
        raise TypeError("only rational powers are evaluated on logarithms")
    power = float(exponent)
    if exponent.is_Integer:
        sign = base.sign ** (2 if int(exponent) % 2 == 0 else 1)
    else:
        sign = np.where(base.sign >= 0, base.sign, math.nan)
    return SignedLog(sign, base.log * power)


def _choose(first: SignedLog, second: SignedLog, where: Any) -> SignedLog:
    return SignedLog(
        np.where(where, first.sign, second.sign), np.where(where, first.log, second.log)
    )


_FOLDED: dict[str, Callable[[SignedLog, SignedLog], SignedLog]] = {
    "Add": SignedLog.__add__,
    "Mul": SignedLog.__mul__,
    "Min": lambda first, second: _choose(first, second, excess(first, second) <= 0),
    "Max": lambda first, second: _choose(first, second, excess(first, second) > 0),
}


#: Values of a lambda that a claim leaves free.
_LAMBDAS = (Fraction(1, 2), Fraction(9, 10))


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
    """The letters of a claim about entry (i, j), at all recorded steps; the dear ones if wanted.

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


def all_true(relations: tuple[Any, ...], letters: dict[str, SignedLog], count: int) -> Booleans:
    """Where all of some relations hold."""
    holds = np.ones(count, dtype=np.bool_)
    for relation in map(inequality, relations):
        over = excess(*(evaluate(side, letters) for side in relation.sides))
        holds &= over < 0 if relation.kind == "<" else over <= 0
    return holds


#: A scan does not tell sides apart that differ by less, relatively: rounding of the logarithms.
_LEAST_EXCESS = 1e-9
#: Preferred is the first step at which the sides differ by a factor of 1000, or else of 2.
CLEAR = (math.log(1000), math.log(2))

#: Letters that are read at t_0, at t + 1, and at t or t + 1.
ANCHORS = frozenset({"w_ij(t_0)", "w_ii(t_0)", "w_jj(t_0)", "t_0"})
_LATER = frozenset({"w_ij(t+1)", "w_ii(t+1)", "w_jj(t+1)"})
_PRESENT = _LATER | {"w_ij(t)", "w_ii(t)", "w_jj(t)", "N_ij(t)"}


@dataclass(frozen=True)
class Violation:
    """A place at which a scan saw a relation broken.

    `relation`: the part of the claim's conclusion that is broken.
    `i`, `j`: the entry, from 0.
    `anchor`, `step`: t_0 and t.
    `excess`: logarithm of the ratio of the two sides; infinite where their signs differ.
    `lam`: the lambda.
    """

    relation: Any
    i: int
    j: int
    anchor: int
    step: int
    excess: float
    lam: Fraction | None


def scan(claim: Claim, instance: TrajectoryInstance, recorded: RecordedPath) -> Violation | None:
    """The violation of a claim that is easiest to see in a recorded trajectory, if any.

    The first by a factor of 1000; failing that, the first by a factor of 2; failing that, the
    largest.
    """
    violations = [
        violation
        for measured in excess_paths(claim, instance, recorded)
        if (violation := measured.at(_easiest(measured.excess))).excess > _LEAST_EXCESS
    ]
    for factor in CLEAR:
        clear = [violation for violation in violations if violation.excess >= factor]
        if clear:
            return min(clear, key=lambda violation: violation.step)
    return max(violations, key=lambda violation: violation.excess, default=None)


@dataclass(frozen=True, eq=False)
class ExcessPath:
    """How far one relation of a claim is from being true along a trajectory.

    `i`, `j`: the entry, from 0.
    `steps` (n,).
    `anchors` (n,): index of the tightest t_0 of every step; -1 where the claim says nothing.
    `excess` (n,): logarithm of the ratio of the two sides, above 0 where the relation is broken;
    minus infinity where the claim says nothing.
    """

    relation: Any
    i: int
    j: int
    lam: Fraction | None
    steps: Integers
    anchors: Integers
    excess: Floats

    def at(self, where: int) -> Violation:
        """What is seen at the recorded step of an index; no violation unless excess is above 0."""
        anchor, step = int(self.steps[max(self.anchors[where], 0)]), int(self.steps[where])
        excess = float(self.excess[where])
        return Violation(self.relation, self.i, self.j, anchor, step, excess, self.lam)


def excess_paths(
    claim: Claim, instance: TrajectoryInstance, recorded: RecordedPath, *, earlier: bool = False
) -> Iterator[ExcessPath]:
    """How far each relation of a claim is from being true at every recorded step.

    Yields one per lambda, entry and relation. `earlier`: t_0 lies before t.
    """
    conclusion: AlongTrajectory = claim.conclusion
    until = () if conclusion.until is None else (conclusion.until,)
    names = letters_in(conclusion.relation, *conclusion.when, *conclusion.during, *until)
    for lam in _LAMBDAS if "lambda" in names else (None,):
        for i, j in entries(conclusion.entries, instance.d):
            letters = letters_along(names, instance, recorded, i, j, lam)
            for relation, anchors, over in _excesses(claim, letters, recorded.steps, earlier):
                yield ExcessPath(relation, i, j, lam, recorded.steps, anchors, over)


def _excesses(
    claim: Claim, letters: dict[str, SignedLog], steps: Integers, earlier: bool
) -> Iterator[tuple[Any, Integers, Floats]]:
    conclusion: AlongTrajectory = claim.conclusion
    begins = all_true(conclusion.when, letters, len(steps))
    if not conclusion.when:
        begins[1:] = False
    continues = all_true(conclusion.during, letters, len(steps))
    if conclusion.until is not None:
        last = evaluate(conclusion.until, letters).floats()
        continues &= steps <= float(np.max(last))
    for relation in claim.conditions:
        anchors = _tightest(relation, letters, begins & continues, continues, steps)
        if earlier:
            before = np.concatenate(([-1], anchors[:-1]))
            anchors = np.where(anchors >= 0, before, -1)
        inside = anchors >= 0
        if not inside.any():
            continue
        at = np.where(inside, anchors, 0)
        anchored = {name: letters[name][at] for name in ANCHORS & letters_in(relation)}
        sides = (evaluate(side, letters | anchored) for side in inequality(relation).sides)
        over = np.broadcast_to(excess(*sides), steps.shape)
        yield relation, anchors, np.where(inside & ~np.isnan(over), over, -np.inf)


def _easiest(excess: Floats) -> int:
    for factor in CLEAR:
        clear = np.flatnonzero(excess >= factor)
        if len(clear):
            return int(clear[0])
    return int(np.argmax(excess))


def _tightest(
    relation: Any,
    letters: dict[str, SignedLog],
    begins: Booleans,
    continues: Booleans,
    steps: Integers,
) -> Integers:
    """For every recorded step the index of the tightest anchor, -1 where there is none."""
    anchors = np.full(len(steps), -1)
    if not begins.any():
        return anchors
    keys = _anchor_keys(relation, letters, steps)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], continues, [False])).astype(int)))
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        key = np.where(begins[start:end], keys[start:end], np.inf)
        best = np.minimum.accumulate(key)
        at = np.maximum.accumulate(
            np.where((key == best) & np.isfinite(key), np.arange(end - start), -1)
        )
        anchors[start:end] = np.where(at >= 0, at + start, -1)
    return anchors


def _anchor_keys(relation: Any, letters: dict[str, SignedLog], steps: Integers) -> Floats:
    """Numbers that order the anchors, the tightest lowest."""
    sides = inequality(relation).sides
    names = [letters_in(side) for side in sides]
    anchored = [bool(ANCHORS & side_names) for side_names in names]
    if not any(anchored):
        return np.arange(len(steps), dtype=np.float64)
    if all(anchored) or names[anchored.index(True)] & _PRESENT:
        raise TypeError(f"w_ij(t) and w_ij(t_0) stand on one side: {relation}")
    bound, upper = sides[anchored.index(True)], anchored[1]
    orders = []
    references = (0.0, float(steps[-1])) if "t" in letters_in(bound) else (0.0,)
    for reference in references:
        value = evaluate(bound, letters | {"t": from_floats(reference)})
        lowest = float(np.min(value.log, where=np.isfinite(value.log), initial=0.0))
        key = np.broadcast_to(value.order(lowest), steps.shape)
        orders.append(np.asarray(key if upper else -key, dtype=np.float64))
    if np.argmin(orders[0]) != np.argmin(orders[-1]):
        tie = orders[0][np.argmin(orders[-1])] - np.min(orders[0])
        if tie > _LEAST_EXCESS * (1 + np.abs(orders[0]).max()):
            raise TypeError(f"the order of the anchors depends on t: {relation}")
    return orders[0]
