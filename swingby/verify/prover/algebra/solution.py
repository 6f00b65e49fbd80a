"""Closed forms of scalar linear differential equations."""

from __future__ import annotations

import itertools
import re
from fractions import Fraction
from typing import Any

import flint
import sympy

from swingby.theory.balls import ball, evaluate
from swingby.theory.claim import Claim
from swingby.theory.derivations.conclusions import FlowSolution
from swingby.theory.verdict import Finding
from swingby.verify.prover.evidence import Judged, Witness
from swingby.verify.prover.scalar.definedness import conditions, is_plain

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


def _witness(name: str, what: str, left: Any, right: Any, time: Any) -> Witness | None:
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
