"""Verdicts on algebraic claims, and which judge a conclusion goes to.

Here are the order of the losses at the test points of (B.1), closed forms of scalar linear
differential equations, and several conclusions in one display.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import flint
import sympy

from swingby.theory.balls import ball, evaluate, precision
from swingby.theory.claims.claim import Claim
from swingby.theory.claims.conclusions import (
    Both,
    EmpiricalLimit,
    EntryIdentity,
    FlowSolution,
    GradientIdentity,
    LossOrder,
    MatrixIdentity,
    MeanIdentity,
    SameDistribution,
)
from swingby.theory.claims.matrices import d, i, mu, v, w
from swingby.theory.claims.verdict import Finding
from swingby.verify.prover.algebra import cases
from swingby.verify.prover.algebra.entries import Number, polynomials
from swingby.verify.prover.algebra.matrix import judge_matrix
from swingby.verify.prover.algebra.mean import judge_mean
from swingby.verify.prover.evidence import Judged, Witness, undecided
from swingby.verify.prover.scalar.exact_value import fraction
from swingby.verify.prover.scalar.relation import conditions, is_plain

Index = tuple[int, ...]
Rows = tuple[tuple[Fraction, ...], ...]

#: Entries of W(0) and of mu that are tried for a witness: small, and strongly unequal.
ENTRIES = (Fraction(1, 10), Fraction(1, 20), Fraction(1, 5))
SIGNALS = (1, 2, 10)
#: Sizes at which the proof for diagonal W is written out.
LARGEST = 4
#: Values that the letters of a solution may have in a witness.
SMALL = (0, 1, 2, -1)


def judge_algebra(claim: Claim) -> Judged | None:
    """The verdict on a claim whose conclusion is algebraic; None where it is of another kind."""
    conclusion = claim.conclusion
    matrices = isinstance(conclusion, MatrixIdentity | EntryIdentity | GradientIdentity)
    if matrices or isinstance(conclusion, MeanIdentity | SameDistribution | EmpiricalLimit):
        for index in _strange_indices(conclusion):
            return undecided("algebra", f"the index {index} must be a letter for a whole number")
        return judge_matrix(claim) if matrices else judge_mean(claim)
    if isinstance(conclusion, FlowSolution):
        return judge_solution(claim)
    if isinstance(conclusion, LossOrder):
        return _judge_diagonal() if conclusion.jacobian == "diagonal" else _judge_order()
    if isinstance(conclusion, Both):
        return _judge_both(claim)
    return None


def _strange_indices(conclusion: Any) -> Iterator[Any]:
    """Indices of entries that no argument by cases knows: numbers, and letters that are not whole.

    An index that is summed over may be any letter.
    """
    whole = [part for part in vars(conclusion).values() if isinstance(part, sympy.Basic)]
    parts = {one for part in whole for one in part.atoms(sympy.Indexed, sympy.Function, sympy.Sum)}
    bound = {one.args[1][0] for one in parts if isinstance(one, sympy.Sum)}
    for one in sorted(parts, key=str):
        word = one.func.__name__
        indices = one.args[1:] if isinstance(one, sympy.Indexed) else ()
        indices = one.args if word in ("KroneckerDelta", "inside") else indices
        yield from (x for x in indices if not (x.is_Symbol and (x.is_integer or x in bound)))


def _judge_both(claim: Claim) -> Judged | None:
    parts: dict[str, Judged] = {}
    for conclusion in claim.conclusion.parts:
        judged = judge_algebra(replace(claim, conclusion=conclusion))
        if judged is None:
            return None
        parts[conclusion.lines()] = judged
    for decisive in (Finding.REFUTED, Finding.UNDECIDED):
        for part in parts.values():
            if part.verdict is decisive:
                return replace(part, parts=parts)
    method = "; ".join(dict.fromkeys(part.method for part in parts.values()))
    evidence = tuple(line for part in parts.values() for line in part.evidence)
    return Judged(Finding.PROVED, method, evidence, parts=parts)


def _judge_diagonal() -> Judged:
    u = sympy.IndexedBase("u_index")
    # (W - I) x^(v) has entry (w_ii - 1) v_i mu_i
    residual = (w[i, i] - 1) * mu[i]
    left = sympy.Sum((residual * v[i]) ** 2, (i, 1, d)) - sympy.Sum(
        (residual * u[i]) ** 2, (i, 1, d)
    )
    right = sympy.Sum(residual**2 * (v[i] - u[i]) * (v[i] + u[i]), (i, 1, d))
    small = all(
        polynomial == 0
        for size in range(1, LARGEST + 1)
        for lower, upper in _pairs(size)
        for polynomial in polynomials(functools.partial(_defect, lower, upper))[1]
    )
    if not (cases.agree(left, right) and small):
        return undecided("sum of squares", "the identity does not hold")
    return Judged(
        Finding.PROVED,
        f"sum of squares, every d and s, and entrywise for d = s = 1 to {LARGEST}",
        (
            "2 l(x^(v)) - 2 l(x^(u)) = sum_i (w_ii - 1)^2 mu_i^2 (v_i - u_i) (v_i + u_i)",
            "every factor is nonnegative where u <= v componentwise",
        ),
    )


def _pairs(size: int) -> Iterator[tuple[Index, Index]]:
    every = itertools.product((0, 1), repeat=size)
    for lower, upper in itertools.product(list(every), repeat=2):
        if lower != upper and all(one <= two for one, two in zip(lower, upper, strict=True)):
            yield lower, upper


def _defect(lower: Index, upper: Index, number: Number) -> list[Any]:
    """Difference of the losses minus the squares of the residuals that are added."""
    squares = [((number(f"w_{at}") - 1) * number(f"mu_{at}")) ** 2 for at in range(len(lower))]
    pairs = zip(squares, lower, upper, strict=True)
    return [sum(square * (two - one - (two > one)) for square, one, two in pairs)]


def _judge_order() -> Judged:
    """A symmetric W of two concepts at which the order fails, small rationals first."""
    matrices = itertools.product(ENTRIES, repeat=3)
    grid = itertools.product(itertools.product(SIGNALS, repeat=2), matrices, list(_pairs(2)))
    for signals, (first, second, cross), (lower, upper) in grid:
        if first * second < cross**2:
            continue
        rows = ((first - 1, cross), (cross, second - 1))
        small, large = (_loss(rows, signals, index) for index in (lower, upper))
        again = [_second_loss(rows, signals, index) for index in (lower, upper)]
        if small <= large or again != [small, large]:
            continue
        witness = Witness(
            {"d": "2", "s": "2", "t": "0", "u": str(lower), "v": str(upper)}
            | {f"mu_{k}": str(value) for k, value in enumerate(signals, 1)}
            | {"w_11": str(first), "w_12": str(cross), "w_22": str(second)},
            " <= ".join(map(_written, (lower, upper))),
            str(small),
            str(large),
            ("exact rationals", "rational matrices of flint"),
        )
        return Judged(Finding.REFUTED, "small rationals", (), witness)
    return undecided("search", "no witness on a grid for d = s = 2")


def _written(index: Index) -> str:
    """The loss |(W - I) x|^2 / 2 at one of the points, written out."""
    names = (("(w_11 - 1)", "w_12"), ("w_12", "(w_22 - 1)"))
    on = [place for place, value in enumerate(index) if value]
    rows = [" + ".join(f"{row[k]}*mu_{k + 1}" for k in on) for row in names]
    return "(" + " + ".join(f"({row})^2" for row in rows) + ")/2" if on else "0"


def _loss(rows: Rows, signals: Index, index: Index) -> Fraction:
    x, y = (value * on for value, on in zip(signals, index, strict=True))
    return sum(((row[0] * x + row[1] * y) ** 2 for row in rows), Fraction(0)) / 2


def _second_loss(rows: Rows, signals: Index, index: Index) -> Fraction:
    residual = [flint.fmpq(x.numerator, x.denominator) for row in rows for x in row]
    point = flint.fmpq_mat(2, 1, [value * on for value, on in zip(signals, index, strict=True)])
    away = flint.fmpq_mat(2, 2, residual) * point
    return fraction((away.transpose() * away)[0, 0] / 2)


def judge_solution(claim: Claim) -> Judged:
    """The verdict on a solution: it satisfies the equation and starts where it should.

    *Proved* rests on the uniqueness of solutions of a linear equation. What divides by a letter
    that may be zero in one of the cases is *refuted*: it is not defined there.
    """
    conclusion: FlowSolution = claim.conclusion
    time, evidence = conclusion.time, []
    for name, case in conclusion.cases:
        undefined = _undefined(conclusion, name, case)
        if undefined is not None:
            return undefined
        written = (conclusion.solution, *conclusion.rate, conclusion.start)
        solution, linear, constant, start = (part.subs(case) for part in written)
        sides = {
            "dw/dt": (sympy.diff(solution, time), linear * solution + constant),
            "w(0)": (solution.subs(time, 0), start),
        }
        for what, (left, right) in sides.items():
            if sympy.expand(left - right) != 0:
                witness = _witness_solution(name, what, left, right, time)
                if witness is not None:
                    return Judged(Finding.REFUTED, "small integers", (), witness)
                return undecided("sympy", f"{what} does not reduce, {name}")
        evidence.append(f"{name}: dw/dt = {linear} w + {constant} and w(0) = {start}, exactly")
    return Judged(
        Finding.PROVED,
        "derivative and initial value by sympy, case by case; uniqueness for linear equations",
        tuple(evidence),
    )


def _small_points(case: str, letters: Any) -> Iterator[dict[Any, int]]:
    """Small integers for some letters; above 0 where the name of the case calls a letter so."""
    ordered, positive = sorted(letters, key=str), _positive(case)
    for values in itertools.product(SMALL, repeat=len(ordered)):
        point = dict(zip(ordered, values, strict=True))
        if all(value > 0 for at, value in point.items() if at.name in positive):
            yield point


def _positive(case: str) -> frozenset[str]:
    """The letters that the name of a case calls positive."""
    return frozenset(re.findall(r"(\S+) > 0", case))


def _undefined(
    conclusion: FlowSolution, name: str, case: tuple[tuple[Any, Any], ...]
) -> Judged | None:
    """What is said of a solution that has no value somewhere in a case; None where it has."""
    written = (conclusion.solution, *conclusion.rate, conclusion.start)
    used = frozenset().union(*(part.free_symbols for part in written))
    for part in (*written, *(value for letter, value in case if letter in used)):
        for needed in conditions(sympy.sympify(part)):
            here = needed.substitute({letter: sympy.sympify(v) for letter, v in case})
            known = {
                letter: sympy.Dummy(positive=True)
                for letter in here.symbols
                if letter.name in _positive(name)
            }
            if is_plain(here.substitute(known)):
                continue
            for point in _small_points(name, here.symbols):
                at = here.substitute({letter: sympy.Integer(x) for letter, x in point.items()})
                if is_plain(at) or not (at.small.is_Rational and at.large.is_Rational):
                    continue
                witness = Witness(
                    {"case": name} | {str(letter): str(value) for letter, value in point.items()},
                    f"{here}, or it is not defined",
                    str(at.small),
                    str(at.large),
                    ("exact rationals",),
                )
                return Judged(Finding.REFUTED, "small integers: not defined there", (), witness)
            return undecided("sympy", f"whether {here}, which it needs to be defined, {name}")
    return None


def _witness_solution(name: str, what: str, left: Any, right: Any, time: Any) -> Witness | None:
    # at time 0 every exponential is 1, so both sides are rational
    left, right = left.subs(time, 0), right.subs(time, 0)
    for point in _small_points(name, (left - right).free_symbols | left.free_symbols):
        pair = [side.subs(point) for side in (left, right)]
        if not all(side.is_Rational for side in pair) or pair[0] == pair[1]:
            continue
        with precision(128):
            balls = {at: ball(value) for at, value in point.items()}
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
