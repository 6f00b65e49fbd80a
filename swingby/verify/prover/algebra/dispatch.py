"""Verdicts on algebraic claims: matrices, entries, means, solutions, and several in one display.

The order of the losses at the test points of (B.1), for the linear model.

Closed forms of scalar linear differential equations.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import flint
import sympy

from swingby.theory.balls import ball, evaluate, precision
from swingby.theory.claim import Claim, MatrixIdentity, MeanIdentity
from swingby.theory.derivations.conclusions import (
    Both,
    EmpiricalLimit,
    EntryIdentity,
    FlowSolution,
    GradientIdentity,
    LossOrder,
    SameDistribution,
    to_text,
)
from swingby.theory.derivations.letters import d
from swingby.theory.derivations.matrices import i, mu, v, w
from swingby.theory.verdict import Finding
from swingby.verify.prover.algebra import words
from swingby.verify.prover.algebra.matrix import judge_matrix
from swingby.verify.prover.algebra.mean import judge_mean
from swingby.verify.prover.algebra.ring import Constant, Number, polynomials
from swingby.verify.prover.evidence import Judged, Witness
from swingby.verify.prover.scalar.relation import conditions, is_plain

Index = tuple[int, ...]

#: Entries of W(0) and of mu that are tried for a witness: small, and strongly unequal.
ENTRIES = (Fraction(1, 10), Fraction(1, 20), Fraction(1, 5))
SIGNALS = (1, 2, 10)

#: Sizes at which the proof for diagonal W is written out.
LARGEST = 4


def judge_order(claim: Claim) -> Judged:
    """The verdict on the order of the losses at the test points."""
    conclusion: LossOrder = claim.conclusion
    if conclusion.jacobian == "diagonal":
        return _judge_diagonal()
    witness = _witness()
    if witness is None:
        return Judged(Finding.UNDECIDED, "search", tried=("no witness on a grid for d = s = 2",))
    return Judged(Finding.REFUTED, "small rationals", (), witness)


def _judge_diagonal() -> Judged:
    u = sympy.IndexedBase("u_index")
    # (W - I) x^(v) has entry (w_ii - 1) v_i mu_i
    residual = (w[i, i] - 1) * mu[i]
    left = sympy.Sum((residual * v[i]) ** 2, (i, 1, d)) - sympy.Sum(
        (residual * u[i]) ** 2, (i, 1, d)
    )
    right = sympy.Sum(residual**2 * (v[i] - u[i]) * (v[i] + u[i]), (i, 1, d))
    general = words.agree(left, right)
    small = all(
        polynomial == 0
        for size in range(1, LARGEST + 1)
        for lower, upper in _pairs(size)
        for polynomial in polynomials(lambda *ring: _defect(lower, upper, *ring))  # noqa: B023
    )
    if not (general and small):
        return Judged(Finding.UNDECIDED, "sum of squares", tried=("the identity does not hold",))
    return Judged(
        Finding.PROVED,
        f"sum of squares, every d and s, and entrywise for d = s = 1 to {LARGEST}",
        (
            "2 l(x^(v)) - 2 l(x^(u)) = sum_i (w_ii - 1)^2 mu_i^2 (v_i - u_i) (v_i + u_i)",
            "every factor is nonnegative where u <= v componentwise",
        ),
    )


def _pairs(size: int) -> Iterator[tuple[Index, Index]]:
    every = list(itertools.product((0, 1), repeat=size))
    for lower, upper in itertools.product(every, repeat=2):
        if lower != upper and all(one <= two for one, two in zip(lower, upper, strict=True)):
            yield lower, upper


def _defect(lower: Index, upper: Index, number: Number, constant: Constant) -> list[object]:
    """Difference of the losses minus the squares of the residuals that are added."""
    residuals = [
        (number(f"w_{at}") - constant(1, 1)) * number(f"mu_{at}") for at in range(len(lower))
    ]
    zero = constant(0, 1)

    def loss(index: Index) -> object:
        return sum((r * r for r, on in zip(residuals, index, strict=True) if on), zero)

    added = sum(
        (r * r for r, one, two in zip(residuals, lower, upper, strict=True) if two > one), zero
    )
    return [loss(upper) - loss(lower) - added]  # type: ignore[operator]


def _witness() -> Witness | None:
    for signals in itertools.product(SIGNALS, repeat=2):
        for first, second, cross in itertools.product(ENTRIES, repeat=3):
            if first * second < cross**2:
                continue
            jacobian = ((first, cross), (cross, second))
            for lower, upper in _pairs(2):
                small, large = (_loss(jacobian, signals, index) for index in (lower, upper))
                if small <= large:
                    continue
                again = [_second_loss(jacobian, signals, index) for index in (lower, upper)]
                if again != [small, large]:
                    continue
                return Witness(
                    {"d": "2", "s": "2", "t": "0", "u": str(lower), "v": str(upper)}
                    | {f"mu_{k}": str(value) for k, value in enumerate(signals, 1)}
                    | {"w_11": str(first), "w_12": str(cross), "w_22": str(second)},
                    " <= ".join(map(_written, (lower, upper))),
                    str(small),
                    str(large),
                    ("exact rationals", "rational matrices of flint"),
                )
    return None


def _written(index: Index) -> str:
    """The loss |(W - I) x|^2 / 2 at one of the points, written out."""
    on = [place for place, value in enumerate(index, 1) if value]
    rows = [[f"{_entry(row, k)}*mu_{k}" for k in on] for row in (1, 2)]
    return "(" + " + ".join(f"({' + '.join(row)})^2" for row in rows) + ")/2" if on else "0"


def _entry(row: int, column: int) -> str:
    name = f"w_{min(row, column)}{max(row, column)}"
    return f"({name} - 1)" if row == column else name


def _loss(
    jacobian: tuple[tuple[Fraction, ...], ...], signals: tuple[int, ...], index: Index
) -> Fraction:
    point = [value * on for value, on in zip(signals, index, strict=True)]
    output = [sum(entry * at for entry, at in zip(row, point, strict=True)) for row in jacobian]
    squares = [(one - two) ** 2 for one, two in zip(output, point, strict=True)]
    return Fraction(1, 2) * sum(squares, Fraction(0))


def _second_loss(
    jacobian: tuple[tuple[Fraction, ...], ...], signals: tuple[int, ...], index: Index
) -> Fraction:
    rows = [flint.fmpq(item.numerator, item.denominator) for row in jacobian for item in row]
    away = flint.fmpq_mat(2, 2, rows) - flint.fmpq_mat(2, 2, [1, 0, 0, 1])
    point = flint.fmpq_mat(2, 1, [value * on for value, on in zip(signals, index, strict=True)])
    residual = away * point
    value = (residual.transpose() * residual)[0, 0] / 2
    return Fraction(int(value.p), int(value.q))


#: Values that a witness may have.
SMALL = (0, 1, 2, -1)


def judge_solution(claim: Claim) -> Judged:
    """The verdict on a solution: it satisfies the equation and starts where it should.

    Returns *proved* rests on the uniqueness of solutions of a linear equation. What divides by a
    letter that may be zero in one of the cases is *refuted*: it is not defined there.
    """
    conclusion: FlowSolution = claim.conclusion
    evidence = []
    for name, case in conclusion.cases:
        undefined = _undefined(conclusion, name, case)
        if undefined is not None:
            return undefined
        solution, linear, constant, start = (
            part.subs(case)
            for part in (
                conclusion.solution,
                *conclusion.rate,
                conclusion.start,
            )
        )
        slope = sympy.diff(solution, conclusion.time)
        sides = {
            "dw/dt": (slope, linear * solution + constant),
            "w(0)": (solution.subs(conclusion.time, 0), start),
        }
        for what, (left, right) in sides.items():
            if sympy.expand(left - right) != 0:
                witness = _witness_solution(name, what, left, right, conclusion.time)
                if witness is None:
                    return Judged(
                        Finding.UNDECIDED, "sympy", tried=(f"{what} does not reduce, {name}",)
                    )
                return Judged(Finding.REFUTED, "small integers", (), witness)
        evidence.append(f"{name}: dw/dt = {linear} w + {constant} and w(0) = {start}, exactly")
    return Judged(
        Finding.PROVED,
        "derivative and initial value by sympy, case by case; uniqueness for linear equations",
        tuple(evidence),
    )


def _positive(name: str) -> frozenset[str]:
    """The letters that the name of a case calls positive."""
    return frozenset(re.findall(r"(\S+) > 0", name))


def _undefined(
    conclusion: FlowSolution, name: str, case: tuple[tuple[Any, Any], ...]
) -> Judged | None:
    """What is said of a solution that has no value somewhere in a case; None where it has."""
    written = (conclusion.solution, *conclusion.rate, conclusion.start)
    used = frozenset().union(*(part.free_symbols for part in written))
    for part in (*written, *(value for letter, value in case if letter in used)):
        for needed in conditions(sympy.sympify(part)):
            here = needed.substitute({letter: sympy.sympify(v) for letter, v in case})
            letters = sorted(here.symbols, key=str)
            known = {
                letter: sympy.Dummy(positive=True)
                for letter in letters
                if letter.name in _positive(name)
            }
            if is_plain(here.substitute(known)):
                continue
            for values in itertools.product(SMALL, repeat=len(letters)):
                point = dict(zip(letters, values, strict=True))
                at = here.substitute({letter: sympy.Integer(v) for letter, v in point.items()})
                if any(point[letter] <= 0 for letter in known) or is_plain(at):
                    continue
                if not (at.small.is_Rational and at.large.is_Rational):
                    continue
                witness = Witness(
                    {"case": name} | {str(letter): str(value) for letter, value in point.items()},
                    f"{here}, or it is not defined",
                    str(at.small),
                    str(at.large),
                    ("exact rationals",),
                )
                return Judged(Finding.REFUTED, "small integers: not defined there", (), witness)
            tried = (f"whether {here}, which it needs to be defined, {name}",)
            return Judged(Finding.UNDECIDED, "sympy", tried=tried)
    return None


def _witness_solution(name: str, what: str, left: Any, right: Any, time: Any) -> Witness | None:
    # at time 0 every exponential is 1, so both sides are rational
    left, right = left.subs(time, 0), right.subs(time, 0)
    symbols = sorted((left - right).free_symbols | left.free_symbols, key=str)
    for values in itertools.product(SMALL, repeat=len(symbols)):
        point = dict(zip(symbols, values, strict=True))
        if any(at.name in _positive(name) and point[at] <= 0 for at in symbols):
            continue
        pair = [side.subs(point) for side in (left, right)]
        if not all(side.is_Rational for side in pair) or pair[0] == pair[1]:
            continue
        with precision(128):
            balls = {at: ball(Fraction(value)) for at, value in point.items()}
            again = evaluate(left, balls) - evaluate(right, balls)
            if again.contains(0):
                continue
        return Witness(
            {"case": name, str(time): "0"} | {str(at): str(value) for at, value in point.items()},
            f"{what}: left = right",
            str(pair[0]),
            str(pair[1]),
            ("exact rationals", "balls of 128 bits"),
        )
    return None


def judge_algebra(claim: Claim) -> Judged | None:
    """The verdict on a claim whose conclusion is algebraic.

    Returns None where the conclusion is of another kind, such as an inequality.
    """
    conclusion = claim.conclusion
    if isinstance(conclusion, MatrixIdentity | EntryIdentity | GradientIdentity):
        return judge_matrix(claim)
    if isinstance(conclusion, MeanIdentity | SameDistribution | EmpiricalLimit):
        return judge_mean(claim)
    if isinstance(conclusion, FlowSolution):
        return judge_solution(claim)
    if isinstance(conclusion, LossOrder):
        return judge_order(claim)
    if isinstance(conclusion, Both):
        return _judge_both(claim)
    return None


def _judge_both(claim: Claim) -> Judged | None:
    parts: dict[str, Judged] = {}
    for conclusion in claim.conclusion.parts:
        judged = judge_algebra(replace(claim, conclusion=conclusion))
        if judged is None:
            return None
        parts[to_text(conclusion)] = judged
    verdicts = [part.verdict for part in parts.values()]
    for decisive in (Finding.REFUTED, Finding.UNDECIDED):
        for part in parts.values():
            if part.verdict is decisive:
                return replace(part, parts=parts)
    method = "; ".join(dict.fromkeys(part.method for part in parts.values()))
    evidence = tuple(line for part in parts.values() for line in part.evidence)
    finding = Finding.PROVED if set(verdicts) == {Finding.PROVED} else Finding.UNDECIDED
    return Judged(finding, method, evidence, parts=parts)
