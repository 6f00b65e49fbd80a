"""Steps of the repaired theorems that are decided: entries of W, blocks, intervals.

Entries are those along the flow, or after a step of gradient descent. Identities are decided twice:
by expansion, as rational functions of the entries, and at random rational points. A power with a
symbolic exponent, such as w_ii^(-s), is one letter of its own, which is exact because no step adds
powers of different exponents. An identity between blocks is decided on words, hence in every
dimension, and at random rational matrices. Inequalities on an interval are decided by its pieces,
as :mod:`swingby.proofs.checkers.check_witness` does, or as those between numbers. What is left to a
reader is at most *tested*, or *read*.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import sympy

from swingby.proofs.checkers import check_witness
from swingby.proofs.language.claim import Claim, Given
from swingby.proofs.language.definedness import needs
from swingby.proofs.language.repaired_conclusions import (
    A_1,
    A_2,
    BlockIdentity,
    ByHand,
    EntryFormula,
    FlowIdentity,
    OnInterval,
    Read,
    SlopeIdentity,
    StepIdentity,
    X,
    X_inverse,
    Y,
    Y_transposed,
    after_step,
    along_flow,
)
from swingby.proofs.prover.algebra import words
from swingby.proofs.prover.evidence import ClaimVerdict, Witness, undecided
from swingby.proofs.prover.repaired.step_tests import TESTS, try_step
from swingby.proofs.prover.scalar.counterexample import Search, counterexample
from swingby.proofs.prover.scalar.preparation import normal_form
from swingby.proofs.prover.scalar.proof_strategies import by_expansion
from swingby.proofs.prover.scalar.relation import Relation, Sequent, relation_from
from swingby.proofs.prover.scalar.scalar_claims import decide_scalar
from swingby.theory.verdict import Finding

#: Of processor time for an inequality on an interval that its pieces do not decide.
_SECONDS = 60.0


def decide_flow(claim: Claim, *, instances: int = 200) -> ClaimVerdict | None:
    """The verdict on a claim of the repaired edition; None if it is of another kind.

    `instances`: random instances for what only a person can read.
    """
    conclusion, rng = claim.conclusion, np.random.default_rng(0)
    if isinstance(conclusion, FlowIdentity):
        cases = [(d, along_flow(first, d), second) for d, first, second in conclusion.cases]
        return _decide_identities(cases)
    if isinstance(conclusion, StepIdentity):
        cases = [(d, after_step(first, d), second) for d, first, second in conclusion.cases]
        return _decide_identities(cases)
    if isinstance(conclusion, SlopeIdentity):
        slope = sympy.diff(conclusion.quantity, conclusion.letter)
        if slope.has(sympy.sign, sympy.Heaviside, sympy.Derivative):
            reason = "a slope that jumps: split abs, max and min by cases"
            return undecided("no prover", reason)
        return _decide_identities([(1, slope, conclusion.slope)])
    if isinstance(conclusion, EntryFormula):
        return _decide_identities(list(conclusion.cases))
    if isinstance(conclusion, BlockIdentity):
        return _decide_blocks(conclusion, rng)
    if isinstance(conclusion, OnInterval):
        return _decide_interval(conclusion)
    if isinstance(conclusion, ByHand):
        return _test_by_hand(conclusion, instances, rng)
    return None


def _decide_identities(cases: list[tuple[int, Any, Any]]) -> ClaimVerdict:
    sizes = sorted({d for d, _, _ in cases})
    within = f"d = {sizes[0]}" if len(sizes) == 1 else f"d = {sizes[0]} to {sizes[-1]}"
    for d, first, second in cases:
        if _has_branches(sympy.Tuple(first, second)):
            reason = "a logarithm, a root or a size of a letter that is not real has several values"
            return undecided("no prover", reason)
        lettered_first, lettered_second = _with_letters(sympy.Tuple(first, second))
        if by_expansion(
            normal_form(Sequent((), Relation(lettered_first, lettered_second, "==")))
        ).proved:
            continue
        witness = counterexample(Search(Sequent((), Relation(first, second, "=="))))
        if witness is not None:
            return ClaimVerdict(Finding.REFUTED, f"counterexample, d = {d}", witness=witness)
        # Logarithms of sums and the like, which are letters to sympy alone.
        if sympy.expand(sympy.fraction(sympy.together(lettered_first - lettered_second))[0]) != 0:
            return undecided("no prover", f"expansion, d = {d}", "search for a counterexample")
    evidence: tuple[str, ...] = (
        f"{len(cases)} identities: left - right = 0 after expansion",
        "no difference at random rational points",
    )
    if any(any(needs(side)) for _, *sides in cases for side in sides):
        evidence += ("an identity of functions: equal where both sides are defined",)
    method = f"exact expansion, entrywise {within}; rational points agree"
    return ClaimVerdict(Finding.PROVED, method, evidence)


def _has_branches(expression: Any) -> bool:
    """Whether an expression has a logarithm, a power or a size of a letter that is not real."""
    many = expression.atoms(sympy.log, sympy.Abs, sympy.Max, sympy.Min)
    many |= {power for power in expression.atoms(sympy.Pow) if not power.exp.is_integer}
    return not all(x.is_real for each in many for x in each.free_symbols)


def _with_letters(expression: Any) -> Any:
    """An expression in which w^e, with e no number, is a letter times a power of w.

    The symbolic part e of all such exponents of one base must be the same up to integers.
    """
    split = expression.replace(
        lambda power: power.is_Pow and not power.exp.is_number,
        lambda power: sympy.expand_power_exp(power.base ** sympy.expand(power.exp)),
    )
    powers = {power for power in split.atoms(sympy.Pow) if not power.exp.is_Integer}
    return split.xreplace({power: sympy.Dummy(positive=True) for power in powers})


def _decide_blocks(conclusion: BlockIdentity, rng: np.random.Generator) -> ClaimVerdict:
    for size, other_size in ((1, 1), (2, 1), (2, 2), (3, 2)):
        blocks = _random_blocks(size, other_size, rng)
        sides = [
            _evaluate(side, blocks, conclusion.trace)
            for side in (conclusion.left, conclusion.right)
        ]
        if sides[0] != sides[1]:
            values = {str(letter): str(block.tolist()) for letter, block in blocks.items()}
            witness = Witness(
                values, "left = right", str(sides[0]), str(sides[1]), ("exact rationals",)
            )
            return ClaimVerdict(Finding.REFUTED, "rational matrices", witness=witness)
    under = " under the trace" * conclusion.trace
    if words.objection(conclusion):
        return undecided("no prover", f"words{under}", "rational matrices")
    return ClaimVerdict(
        Finding.PROVED,
        f"words{under}, every dimension; rational matrices agree",
        (f"all words cancel after X X^-1 = 1{', rotation and transposition' * bool(under)}",),
    )


def _random_blocks(size: int, other_size: int, rng: np.random.Generator) -> dict[Any, Any]:
    def entry(low: int = -9) -> Any:
        return sympy.Rational(int(rng.integers(low, 10)), int(rng.integers(1, 10)))

    root = sympy.Matrix(size, size, lambda i, j: entry())
    block = root * root.T + sympy.eye(size)
    column = sympy.Matrix(size, other_size, lambda i, j: entry())
    return {
        A_1: sympy.diag(*(entry(1) for _ in range(size))),
        A_2: sympy.diag(*(entry(1) for _ in range(other_size))),
        X: block,
        X_inverse: block.inv(),
        Y: column,
        Y_transposed: column.T,
    }


def _evaluate(expression: Any, blocks: dict[Any, Any], trace: bool) -> Any:
    """A polynomial in the blocks, or its trace."""
    total: Any = None
    number = sympy.Integer(0)
    for term in sympy.Add.make_args(sympy.expand(expression)):
        coefficient, factors = term.args_cnc()
        powers = (factor.as_base_exp() for factor in factors)
        word = [blocks[base] for base, power in powers for _ in range(int(power))]
        if word:
            product = sympy.Mul(*coefficient) * math.prod(word[1:], start=word[0])
            value = product.trace() if trace else product
            total = value if total is None else total + value
        else:
            number += sympy.Mul(*coefficient)
    if total is None or trace:
        return number + (total or 0)
    return total + number * sympy.eye(total.rows) if number else total


def _decide_interval(conclusion: OnInterval) -> ClaimVerdict:
    """Piece by piece, as in its file; or else as a relation between numbers with two hypotheses."""
    if not check_witness.judge_shown({"id": "", "line": ""} | on_interval(conclusion)):
        cover = f"pieces that cover [{conclusion.low}, {conclusion.high}]: the sides lie apart"
        return ClaimVerdict(Finding.PROVED, "decimals over the whole interval", (cover,))
    judged = decide_scalar(between(Claim("", "step", "", conclusion)), seconds=_SECONDS)
    if judged.verdict is Finding.UNDECIDED:
        return replace(judged, tried=("decimals over the interval", *judged.tried))
    return replace(judged, method=f"{judged.method}, between the ends", proof=())


def on_interval(conclusion: OnInterval) -> dict[str, Any]:
    """A relation on an interval as ``check.py`` reads it."""
    on = [str(expression) for expression in (conclusion.letter, conclusion.low, conclusion.high)]
    return {
        "format": check_witness.FORMAT,
        "holds": str(relation_from(conclusion.relation)),
        "on": on,
    }


def between(claim: Claim) -> Claim:
    """A claim on an interval as a claim about numbers, the ends among its hypotheses."""
    on = claim.conclusion
    ends = (on.low, on.letter), (on.letter, on.high)
    hypotheses = (Given(sympy.Le(*pair, evaluate=False), "case") for pair in ends)
    return replace(claim, conclusion=on.relation, given=(*claim.given, *hypotheses))


def _test_by_hand(conclusion: ByHand, instances: int, rng: np.random.Generator) -> ClaimVerdict:
    derived = "derived by hand; followed by the authors alone"
    if isinstance(conclusion, Read):
        needed = f"a machine would need: {conclusion.needs}"
        return ClaimVerdict(Finding.READ, "a person's reading", (conclusion.why, needed))
    if conclusion.test not in TESTS:
        return undecided("by hand", derived)
    cases, slack, witness = try_step(conclusion.test, instances, rng)
    evidence = (derived, conclusion.why, f"smallest slack {slack:.3g}")
    if witness is not None:
        return ClaimVerdict(Finding.REFUTED, "random instances", evidence, witness, cases=cases)
    return ClaimVerdict(Finding.TESTED, "by hand; random instances", evidence, cases=cases)
