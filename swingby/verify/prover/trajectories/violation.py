"""Where along a trajectory a claim is violated: a scan of all recorded steps at once.

The relation of the claim is data. It is evaluated on sign-and-logarithm arrays, so that one rule
serves every claim; what it finds is confirmed by
:mod:`swingby.verify.prover.trajectories.judge`.

A relation with w_ij(t_0) or t_0 has to hold for every t_0 up to t. Where that side holds no
letter of time t but t, and the order of anchors does not depend on t, the tightest so far is
enough.

Real numbers as sign and logarithm, in arrays, and sympy expressions evaluated on them.

Entries of W reach from 1e-140 to beyond the float range within one run, and a relation is wanted at
tens of thousands of steps at once. Rounding is that of floats in the logarithm, about 1e-13 in
relative size: a comparison that is closer than that is not one.

Values of a claim's letters along a recorded trajectory, as sign and logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from swingby.theory import numbers
from swingby.theory.claim import AlongTrajectory, Claim
from swingby.verify.prover.trajectories.instances import TrajectoryInstance

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

    def __neg__(self) -> SignedLog:
        return SignedLog(-self.sign, self.log)

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

    Raises KeyError if a letter has no value; TypeError if the expression has a function that no
    statement uses.

    Examples
    --------
    >>> import sympy
    >>> x = sympy.Symbol("x")
    >>> float(evaluate(sympy.exp(x) - 3, {"x": from_floats(2.0)}).floats().round(6))
    4.389056
    """
    if expression.is_Symbol:
        return values[str(expression)]
    if expression.is_Rational:
        return from_fraction(Fraction(int(expression.p), int(expression.q)))
    arguments = [evaluate(argument, values) for argument in expression.args]
    name = expression.func.__name__
    first = arguments[0]
    if name == "Add":
        return math_fold(arguments, SignedLog.__add__)
    if name == "Mul":
        return math_fold(arguments, SignedLog.__mul__)
    if name == "Pow":
        return _power(first, expression.args[1])
    if name == "exp":
        exponent = first.floats()
        return SignedLog(np.ones_like(exponent), exponent)
    if name == "log":
        return from_floats(np.where(first.sign > 0, first.log, np.nan))
    if name == "Abs":
        return SignedLog(np.abs(first.sign), first.log)
    if name in ("Min", "Max"):
        return math_fold(arguments, _smaller if name == "Min" else _larger)
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
    found = np.where((small_sign == large_sign) & (small_sign != 0), ratio, apart)
    return np.where(np.isnan(small_sign) | np.isnan(large_sign), np.nan, found)


def math_fold(arguments: list[SignedLog], combine: Any) -> SignedLog:
    """Combine some numbers from left to right."""
    result = arguments[0]
    for argument in arguments[1:]:
        result = combine(result, argument)
    return result


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


def _smaller(first: SignedLog, second: SignedLog) -> SignedLog:
    return _choose(first, second, excess(first, second) <= 0)


def _larger(first: SignedLog, second: SignedLog) -> SignedLog:
    return _choose(first, second, excess(first, second) > 0)


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
        small, large = (evaluate(side, letters) for side in small_and_large(relation))
        over = excess(small, large)
        found &= over < 0 if isinstance(relation, sympy.Lt | sympy.Gt) else over <= 0
    return found


#: A scan does not tell sides apart that differ by less, relatively: rounding of the logarithms.
LEAST_EXCESS = 1e-9
#: Preferred is the first step at which the sides differ by a factor of 1000, or else of 2.
CLEAR = (math.log(1000), math.log(2))

#: Letters that are read at t_0, and those that are read at t.
ANCHORS = frozenset({"w_ij(t_0)", "w_ii(t_0)", "t_0"})
PRESENT = frozenset({"w_ij(t)", "w_ii(t)", "w_jj(t)", "w_ij(t+1)", "w_ii(t+1)", "N_ij(t)"})


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


def scan(claim: Claim, instance: TrajectoryInstance, recorded: Recorded) -> Violation | None:
    """The violation of a claim that is easiest to see in a recorded trajectory, if any.

    The first by a factor of 1000; failing that, the first by a factor of 2; failing that, the
    largest.
    """
    found = [
        violation
        for measured in measure(claim, instance, recorded)
        if (violation := measured.at(_easiest(measured.excess))).excess > LEAST_EXCESS
    ]
    for factor in CLEAR:
        clear = [violation for violation in found if violation.excess >= factor]
        if clear:
            return min(clear, key=lambda violation: violation.step)
    return max(found, key=lambda violation: violation.excess, default=None)


@dataclass(frozen=True, eq=False)
class Measured:
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


def measure(
    claim: Claim, instance: TrajectoryInstance, recorded: Recorded, *, earlier: bool = False
) -> Iterator[Measured]:
    """How far each relation of a claim is from being true at every recorded step.

    Yields one per lambda, entry and relation.
    """
    for lam in lambdas(claim):
        for i, j in entries(claim.conclusion.entries, instance.d):
            yield from _measure_entry(claim, instance, recorded, i, j, lam, earlier)


def _measure_entry(
    claim: Claim,
    instance: TrajectoryInstance,
    recorded: Recorded,
    i: int,
    j: int,
    lam: Fraction | None,
    earlier: bool,
) -> Iterator[Measured]:
    conclusion: AlongTrajectory = claim.conclusion
    steps = recorded.steps
    letters = letters_along(claim, instance, recorded, i, j, lam)
    begins = all_true(conclusion.when, letters, len(steps))
    if not conclusion.when:
        begins[1:] = False
    continues = all_true(conclusion.during, letters, len(steps))
    if conclusion.until is not None:
        last = evaluate(conclusion.until, letters).floats()
        continues &= steps <= float(np.max(last))
    for relation in parts(conclusion.relation):
        anchor = _tightest(relation, letters, begins & continues, continues, steps)
        if earlier:
            before = np.concatenate(([-1], anchor[:-1]))
            anchor = np.where(anchor >= 0, before, -1)
        inside = anchor >= 0
        if not inside.any():
            continue
        at = np.where(inside, anchor, 0)
        anchored = {name: letters[name][at] for name in ANCHORS}
        small, large = (evaluate(side, letters | anchored) for side in small_and_large(relation))
        over = np.broadcast_to(excess(small, large), steps.shape)
        over = np.where(inside & ~np.isnan(over), over, -np.inf)
        yield Measured(relation, i, j, lam, steps, anchor, over)


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
        value = evaluate(bound, letters | {"t": from_floats(reference)})
        lowest = float(np.min(value.log, where=np.isfinite(value.log), initial=0.0))
        key = np.broadcast_to(value.order(lowest), steps.shape)
        found.append(np.asarray(key if upper else -key, dtype=np.float64))
    if np.argmin(found[0]) != np.argmin(found[1]):
        tie = found[0][np.argmin(found[1])] - np.min(found[0])
        if tie > LEAST_EXCESS * (1 + np.abs(found[0]).max()):
            raise TypeError(f"the order of the anchors depends on t: {relation}")
    return found[0]
