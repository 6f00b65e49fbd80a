"""Verdicts on algebraic claims, and which judge a conclusion goes to.

Here are the order of the losses at the test points of (B.1) and closed forms of scalar linear
differential equations, which become claims of other kinds, and several conclusions in one display.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import sympy

from swingby.proofs.language.claim import Claim, Given
from swingby.proofs.language.conclusions import (
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
from swingby.proofs.language.matrices import i, mu, v, w
from swingby.proofs.prover.algebra.matrix import judge_matrix
from swingby.proofs.prover.algebra.mean import judge_mean
from swingby.proofs.prover.evidence import Judged, undecided
from swingby.proofs.prover.scalar.counterexample import Search, counterexample
from swingby.proofs.prover.scalar.relation import Relation, Sequent
from swingby.proofs.prover.scalar.scalar_claims import judge_scalar
from swingby.theory.assumptions import d
from swingby.theory.verdict import Finding


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
    loss_v, loss_u = (sympy.Sum((residual * one[i]) ** 2, (i, 1, d)) for one in (v, u))
    squares = sympy.Sum(residual**2 * (v[i] - u[i]) * (v[i] + u[i]), (i, 1, d))
    judged = judge_matrix(Claim("", "identity", "", EntryIdentity(loss_v - loss_u, squares)))
    if judged.verdict is not Finding.PROVED:
        return undecided("sum of squares", "the identity does not hold")
    return replace(
        judged,
        method=f"sum of squares; {judged.method}",
        evidence=(
            "2 l(x^(v)) - 2 l(x^(u)) = sum_i (w_ii - 1)^2 mu_i^2 (v_i - u_i) (v_i + u_i)",
            "every factor is nonnegative where u <= v componentwise",
        ),
    )


def _judge_order() -> Judged:
    """A positive semidefinite W of two concepts at which the order fails."""
    first, cross, second = sympy.symbols("w_11 w_12 w_22", nonnegative=True)
    signals = sympy.symbols("mu_1 mu_2", positive=True)
    residual = sympy.Matrix([[first - 1, cross], [cross, second - 1]])

    def loss(index: tuple[int, ...]) -> Any:
        away = residual * sympy.Matrix([mu_k * on for mu_k, on in zip(signals, index, strict=True)])
        return sum(entry**2 for entry in away) / 2

    given = (Relation(cross**2, first * second, "<="),)
    corners = list(itertools.product((0, 1), repeat=2))
    for lower, upper in itertools.permutations(corners, 2):
        if any(one > two for one, two in zip(lower, upper, strict=True)):
            continue
        goal = Relation(loss(lower), loss(upper), "<=")
        witness = counterexample(Search(Sequent(given, goal)))
        if witness is not None:
            place = {"d": "2", "s": "2", "t": "0", "u": str(lower), "v": str(upper)}
            witness = replace(witness, values=place | witness.values)
            return Judged(Finding.REFUTED, "small rationals", (), witness)
    return undecided("search", "no witness for d = s = 2")


def judge_solution(claim: Claim) -> Judged:
    """The verdict on a solution: it satisfies the equation and starts where it should.

    Each case is judged as two equations between numbers. *Proved* rests on the uniqueness of
    solutions of a linear equation. What divides by a letter that may be zero in one of the cases is
    *refuted*: it is not defined there.
    """
    conclusion: FlowSolution = claim.conclusion
    solution, (linear, constant), time = conclusion.solution, conclusion.rate, conclusion.time
    value, evidence = sympy.Symbol("w", real=True), []
    equation = sympy.Eq(sympy.diff(solution, time), linear * value + constant, evaluate=False)
    start = sympy.Eq(solution.subs(time, 0), conclusion.start, evaluate=False)
    letters = sorted(solution.free_symbols, key=str)
    for name, case in conclusion.cases:
        positive = re.findall(r"(\S+) > 0", name)
        known = [sympy.Eq(*pair, evaluate=False) for pair in case]
        known += [letter > 0 for letter in letters if letter.name in positive]
        line = Claim(
            f"{claim.id}, {name}",
            "identity",
            "",
            sympy.Tuple(equation, start),
            tuple(Given(one, "case") for one in known if one is not sympy.true),
            where=((value, solution),),
        )
        judged = judge_scalar(line)
        if judged.witness is not None:
            values = {"case": name} | judged.witness.values
            return replace(judged, witness=replace(judged.witness, values=values))
        if judged.verdict is not Finding.PROVED:
            return judged
        shown = [part.subs(case) for part in (linear, constant, conclusion.start)]
        evidence.append("{}: dw/dt = {} w + {} and w(0) = {}, exactly".format(name, *shown))
    return Judged(
        Finding.PROVED,
        "derivative and initial value by sympy, case by case; uniqueness for linear equations",
        tuple(evidence),
    )
