"""Plain evaluation of D.1 to D.5 at given constants: both sides of every inequality.

The statements are those of :mod:`swingby.theory.assumptions`; nothing is derived here, so a
witness found by :mod:`swingby.verify.feasibility` is confirmed by the very text it claims to
satisfy. Rational inequalities are compared exactly, the others in ball arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint

from swingby.theory import assumptions as text
from swingby.theory import balls
from swingby.theory.initial import Initial
from swingby.theory.statement import Condition, Statement
from swingby.verify.feasibility import Constants, Problem


@dataclass(frozen=True)
class Instance:
    """One inequality of a statement, at one choice of its free indices.

    `place`: ``"i = 2, j = 1"`` in the user's concept numbers, or empty. `values`: from sympy
    symbols to Fractions: all numbers but P.
    """

    statement: Statement
    condition: Condition
    place: str
    values: dict[Any, Fraction]
    log10_P: Fraction

    @property
    def is_gap(self) -> bool:
        """Whether this is D.5's a_i - 3 a_j >= alpha/C: it has a C > 1 exactly if a_i > 3 a_j."""
        return text.C in self.condition.relation.free_symbols

    def sides(self) -> tuple[flint.arb, flint.arb]:
        """Left and right side as balls, at the current working precision."""
        filled = {symbol: balls.ball(value) for symbol, value in self.values.items()}
        filled[text.P] = flint.arb(10) ** balls.ball(self.log10_P)
        relation = self.condition.relation
        return balls.evaluate(relation.lhs, filled), balls.evaluate(relation.rhs, filled)

    def small_and_large(self) -> tuple[flint.arb, flint.arb]:
        """The side that has to be the smaller one, then the larger one."""
        left, right = self.sides()
        return (left, right) if self.condition.relation.rel_op in ("<=", "<") else (right, left)

    def sign(self) -> int | None:
        """1 inside, 0 on the edge of a closed inequality, -1 outside, None if undecided."""
        relation = self.condition.relation
        exact = balls.rational(relation.lhs - relation.rhs, self.values)
        if exact is not None:
            side: int | None = (exact > 0) - (exact < 0)
            if relation.rel_op in ("<=", "<"):
                side = -side if side else 0
        else:

            def compute() -> int | None:
                small, large = self.small_and_large()
                return balls.sign(large - small)

            side = balls.with_rising_precision(compute, lambda found: found is not None)
        return -1 if side == 0 and relation.rel_op in ("<", ">") else side

    def log10_slack(self) -> float:
        """log10 of the larger side over the smaller: positive inside, -inf without a log."""
        with flint.ctx.workprec(128):
            small, large = self.small_and_large()
            if not large > 0 or not large.is_finite() or not small.is_finite():
                return float("-inf")
            if not small > 0:
                return float("inf")
            return float((large / small).log() / flint.arb(10).log())


def instances(
    statements: Iterable[Statement],
    problem: Problem,
    constants: Constants,
    initial: Initial | None = None,
    *,
    neighbours: bool = False,
) -> Iterator[Instance]:
    """Every inequality of some statements, over all choices of its indices.

    `initial`: W(0), for the conditions on its entries; without it they are a promise and left out.
    `neighbours`: pairs of neighbouring signals only, where both inequalities of D.5 are tightest.
    """
    shared = {
        getattr(text, name): getattr(constants, name)
        for name in ("alpha", "gamma", "beta", "K", "kappa", "C")
    }
    shared |= {text.omega: problem.omega, text.eta: problem.eta, text.d: Fraction(problem.d)}
    for statement in statements:
        for condition in statement.conditions:
            for place, extra in _choices(condition, problem, initial, neighbours=neighbours):
                yield Instance(statement, condition, place, shared | extra, constants.log10_P)


def _choices(
    condition: Condition, problem: Problem, initial: Initial | None, *, neighbours: bool
) -> Iterator[tuple[str, dict[Any, Fraction]]]:
    signal = problem.signal
    if condition.over == "concept":
        for k, value in enumerate(signal, 1):
            yield f"k = {k}", {text.a_k: value}
    elif condition.over == "pair":
        order = sorted(range(len(signal)), key=lambda k: -signal[k])
        for rank, i in enumerate(order):
            for j in order[rank + 1 : rank + 2 if neighbours else None]:
                pair = {text.a_i: signal[i], text.a_j: signal[j]}
                yield f"i = {i + 1}, j = {j + 1}", pair
    elif condition.over == "entry":
        if initial is not None:
            for i, row in enumerate(initial.entries, 1):
                for j, entry in enumerate(row[:i], 1):
                    yield f"i = {i}, j = {j}", {text.w_ij: entry}
    else:
        yield "", {}


def about_numbers(statement: Statement, problem: Problem, constants: Constants) -> list[Instance]:
    """The inequalities of D.2 to D.5 that decide a margin: those about the user's numbers.

    Signals too close for D.5 fail at every P; (D.10) at the P tried would only distract, so that
    only their own inequality is left.

    `statement`, `problem`, `constants`: as in :func:`instances`. Returns over neighbouring signals,
    where both inequalities of D.5 are tightest.
    """
    found = [
        instance
        for instance in instances([statement], problem, constants, neighbours=True)
        if instance.condition.about == "numbers"
    ]
    gaps = [instance for instance in found if instance.is_gap]
    return gaps if gaps and not problem.separated else found


def confirms(
    statements: Iterable[Statement],
    problem: Problem,
    constants: Constants,
    initial: Initial | None = None,
) -> bool:
    """Whether plain evaluation certainly confirms every inequality.

    `statements`, `problem`, `constants`, `initial`: as in :func:`instances`. Returns False also
    where the highest precision does not decide an inequality.
    """
    # All pairs where that is quick; many dimensions have half a million of them.
    neighbours = problem.d > 64
    found = instances(statements, problem, constants, initial, neighbours=neighbours)
    return all(instance.sign() in (0, 1) for instance in found)
