"""Verdicts on algebraic claims: each conclusion goes to the prover of its kind.

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
from swingby.proofs.prover.algebra.matrix import decide_matrix
from swingby.proofs.prover.algebra.mean import decide_mean
from swingby.proofs.prover.evidence import ClaimVerdict, undecided
from swingby.proofs.prover.scalar.counterexample import Search, counterexample
from swingby.proofs.prover.scalar.relation import Relation, Sequent
from swingby.proofs.prover.scalar.scalar_claims import decide_scalar
from swingby.theory.assumptions import d
from swingby.theory.verdict import Finding


def decide_algebra(claim: Claim) -> ClaimVerdict | None:
    """The verdict on a claim whose conclusion is algebraic; None if it is of another kind."""
    conclusion = claim.conclusion
    matrices = isinstance(conclusion, MatrixIdentity | EntryIdentity | GradientIdentity)
    if matrices or isinstance(conclusion, MeanIdentity | SameDistribution | EmpiricalLimit):
        for index in _strange_indices(conclusion):
            return undecided("algebra", f"the index {index} must be a letter for a whole number")
        return decide_matrix(claim) if matrices else decide_mean(claim)
    if isinstance(conclusion, FlowSolution):
        return decide_solution(claim)
    if isinstance(conclusion, LossOrder):
        return _decide_diagonal() if conclusion.jacobian == "diagonal" else _decide_order()
    if isinstance(conclusion, Both):
        return _decide_all(claim)
    return None


def _strange_indices(conclusion: Any) -> Iterator[Any]:
    """Indices of entries that no argument by cases knows: numbers, and letters that are not whole.

    An index that is summed over may be any letter.
    """
    formulas = [
        formula for formula in vars(conclusion).values() if isinstance(formula, sympy.Basic)
    ]
    nodes = {
        node
        for formula in formulas
        for node in formula.atoms(sympy.Indexed, sympy.Function, sympy.Sum)
    }
    bound = {node.args[1][0] for node in nodes if isinstance(node, sympy.Sum)}
    for node in sorted(nodes, key=str):
        word = node.func.__name__
        indices = node.args[1:] if isinstance(node, sympy.Indexed) else ()
        indices = node.args if word in ("KroneckerDelta", "inside") else indices
        yield from (x for x in indices if not (x.is_Symbol and (x.is_integer or x in bound)))


def _decide_all(claim: Claim) -> ClaimVerdict | None:
    judgements: dict[str, ClaimVerdict] = {}
    for conclusion in claim.conclusion.parts:
        judged = decide_algebra(replace(claim, conclusion=conclusion))
        if judged is None:
            return None
        judgements[conclusion.lines()] = judged
    for decisive in (Finding.REFUTED, Finding.UNDECIDED):
        for judged in judgements.values():
            if judged.verdict is decisive:
                return replace(judged, parts=judgements)
    method = "; ".join(dict.fromkeys(judged.method for judged in judgements.values()))
    evidence = tuple(line for judged in judgements.values() for line in judged.evidence)
    return ClaimVerdict(Finding.PROVED, method, evidence, parts=judgements)


def _decide_diagonal() -> ClaimVerdict:
    u = sympy.IndexedBase("u_index")
    # (W - I) x^(v) has entry (w_ii - 1) v_i mu_i
    residual = (w[i, i] - 1) * mu[i]
    loss_v, loss_u = (sympy.Sum((residual * point[i]) ** 2, (i, 1, d)) for point in (v, u))
    squares = sympy.Sum(residual**2 * (v[i] - u[i]) * (v[i] + u[i]), (i, 1, d))
    judged = decide_matrix(Claim("", "identity", "", EntryIdentity(loss_v - loss_u, squares)))
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


def _decide_order() -> ClaimVerdict:
    """A positive semidefinite W of two concepts at which the order fails."""
    first, cross, second = sympy.symbols("w_11 w_12 w_22", nonnegative=True)
    signals = sympy.symbols("mu_1 mu_2", positive=True)
    residual = sympy.Matrix([[first - 1, cross], [cross, second - 1]])

    def loss(index: tuple[int, ...]) -> Any:
        offset = residual * sympy.Matrix(
            [mu_k * on for mu_k, on in zip(signals, index, strict=True)]
        )
        return sum(entry**2 for entry in offset) / 2

    hypotheses = (Relation(cross**2, first * second, "<="),)
    corners = list(itertools.product((0, 1), repeat=2))
    for lower, upper in itertools.permutations(corners, 2):
        if any(low > high for low, high in zip(lower, upper, strict=True)):
            continue
        goal = Relation(loss(lower), loss(upper), "<=")
        witness = counterexample(Search(Sequent(hypotheses, goal)))
        if witness is not None:
            setting = {"d": "2", "s": "2", "t": "0", "u": str(lower), "v": str(upper)}
            witness = replace(witness, values=setting | witness.values)
            return ClaimVerdict(Finding.REFUTED, "small rationals", (), witness)
    return undecided("search", "no witness for d = s = 2")


def decide_solution(claim: Claim) -> ClaimVerdict:
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
    if any(x.subs(time, 0).has(sympy.zoo, sympy.nan) for x in (linear, constant)):
        return undecided("no prover", "a rate without a value at 0: solutions may be many")
    letters = sorted(solution.free_symbols, key=str)
    for name, case in conclusion.cases:
        positive = re.findall(r"(\S+) > 0", name)
        hypotheses = [sympy.Eq(*pair, evaluate=False) for pair in case]
        hypotheses += [letter > 0 for letter in letters if letter.name in positive]
        line = Claim(
            f"{claim.id}, {name}",
            "identity",
            "",
            sympy.Tuple(equation, start),
            tuple(
                Given(hypothesis, "case")
                for hypothesis in hypotheses
                if hypothesis is not sympy.true
            ),
            where=((value, solution),),
        )
        judged = decide_scalar(line)
        if judged.witness is not None:
            values = {"case": name} | judged.witness.values
            return replace(judged, witness=replace(judged.witness, values=values))
        if judged.verdict is not Finding.PROVED:
            return judged
        coefficients = [
            coefficient.subs(case) for coefficient in (linear, constant, conclusion.start)
        ]
        evidence.append("{}: dw/dt = {} w + {} and w(0) = {}, exactly".format(name, *coefficients))
    return ClaimVerdict(
        Finding.PROVED,
        "derivative and initial value by sympy, case by case; uniqueness for linear equations",
        tuple(evidence),
    )
