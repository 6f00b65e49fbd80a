"""Closed forms of scalar linear differential equations."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import flint
import sympy

from swingby.theory.balls import ball, evaluate
from swingby.theory.claim import Claim
from swingby.theory.derivations.conclusions import FlowSolution
from swingby.theory.verdict import Finding
from swingby.verify.prover.evidence import Judged, Witness

#: Values that a witness may have.
SMALL = (0, 1, 2, -1)


def judge_solution(claim: Claim) -> Judged:
    """The verdict on a solution: it satisfies the equation and starts where it should.

    Parameters
    ----------
    claim : Claim
        With a FlowSolution as its conclusion.

    Returns
    -------
    Judged
        *proved* rests on the uniqueness of solutions of a linear equation.
    """
    conclusion: FlowSolution = claim.conclusion
    evidence = []
    for name, case in conclusion.cases:
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
                witness = _witness(name, what, left, right, conclusion.time)
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


def _witness(name: str, what: str, left: Any, right: Any, time: Any) -> Witness | None:
    # at time 0 every exponential is 1, so both sides are rational
    left, right = left.subs(time, 0), right.subs(time, 0)
    symbols = sorted((left - right).free_symbols | left.free_symbols, key=str)
    for values in itertools.product(SMALL, repeat=len(symbols)):
        point = dict(zip(symbols, values, strict=True))
        if name.endswith("> 0") and any(str(at) in name and point[at] <= 0 for at in symbols):
            continue
        pair = [side.subs(point) for side in (left, right)]
        if not all(side.is_Rational for side in pair) or pair[0] == pair[1]:
            continue
        with flint.ctx.workprec(128):
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
