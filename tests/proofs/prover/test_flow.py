"""The prover of derivatives along the flow, traces of blocks and inequalities on an interval."""

from dataclasses import replace

import numpy as np
import pytest
import sympy

from swingby.proofs.language import repaired_conclusions as conclusions
from swingby.proofs.language.claim import Claim
from swingby.proofs.language.reader import Proof, packaged
from swingby.proofs.prover.repaired import step_tests, trial_runs
from swingby.proofs.prover.repaired.flow import decide_flow
from swingby.proofs.prover.repaired.step_tests import TESTS
from swingby.theory import dynamics
from tests.proofs.letters import le, lt

R = sympy.Symbol("r", positive=True)
X, A_1, Y = conclusions.X, conclusions.A_1, conclusions.Y


def judged(conclusion, **more):
    return decide_flow(Claim("a claim", "step", "", conclusion, edition="repaired"), **more)


def test_wrong_derivative_is_refuted_with_exact_rationals():
    A, W, _ = dynamics.symbols(2)
    a, w = A[0, 0], W[0, 0]
    decision = judged(conclusions.FlowIdentity(((2, w, 2 * a * w * (1 - w)),)))
    assert decision.verdict == "refuted"
    values = {
        sympy.Symbol(name): sympy.Rational(text) for name, text in decision.witness.values.items()
    }
    # What is missing is -(a_1 + a_2) w_12^2.
    missing = (values[sympy.Symbol("a_1")] + values[sympy.Symbol("a_2")]) * values[
        sympy.Symbol("w_12")
    ] ** 2
    assert sympy.Rational(decision.witness.right) - sympy.Rational(decision.witness.left) == missing


def test_powers_with_a_symbolic_exponent_keep_their_exponent():
    (d, quantity, derivative), *_ = packaged("theorem_r")["Theorem R [R.8]"].conclusion.cases
    assert judged(conclusions.FlowIdentity(((d, quantity, derivative),))).verdict == "proved"
    _, W, _ = dynamics.symbols(d)
    off = conclusions.FlowIdentity(((d, quantity * W[0, 0], derivative * W[0, 0]),))
    assert judged(off).verdict == "refuted"


def test_a_formula_says_that_it_speaks_of_where_it_is_defined():
    line = Proof("letters real: x\nstep 1: a quotient\n  then formula: x/x = 1")["1"]
    decision = judged(line.conclusion)
    assert decision.evidence[-1] == "an identity of functions: equal where both sides are defined"
    line = Proof("letters real: x\nstep 1: a square\n  then formula: x x = x^2")["1"]
    assert "defined" not in str(judged(line.conclusion).evidence)
    logs = "letters real: x\nstep 1: logs\n  then formula: (log(x + 7) + 1)^2 - 1 = {} log(x + 7)"
    for factor, verdict in (("(log(x + 7) + 2)", "proved"), ("(log(x + 7) + 1)", "refuted")):
        assert judged(Proof(logs.format(factor))["1"].conclusion).verdict == verdict


def test_every_case_of_a_family_is_looked_at():
    good, *rest = packaged("theorem_r")["Theorem R [R.8]"].conclusion.cases
    bad = (rest[0][0], rest[0][1], 2 * rest[0][2])
    assert judged(conclusions.FlowIdentity((good, bad))).verdict == "refuted"


def test_trace_identity_in_every_dimension_and_its_refutation():
    inverse, flipped = conclusions.X_inverse, conclusions.Y_transposed
    turned = conclusions.BlockTrace(X * A_1 * inverse + Y * flipped * X, A_1 + X * Y * flipped)
    decision = judged(turned)
    assert decision.verdict == "proved"
    assert "every dimension" in decision.method
    # True for numbers, false for matrices: A X A X against A A X X.
    false = judged(conclusions.BlockTrace(A_1 * X * A_1 * X, A_1**2 * X**2))
    assert false.verdict == "refuted"
    assert set(false.witness.values) == {"A_1", "A_2", "X", "X^-1", "Y", "Y^T"}


def test_interval_by_its_pieces():
    third = sympy.Rational(1, 3)
    inside = conclusions.OnInterval(le(R * (1 - R), third), R, sympy.Integer(0), sympy.Integer(1))
    assert judged(inside).verdict == "proved"
    tight = replace(inside, relation=lt(R * (1 - R), sympy.Rational(6, 25)))
    decision = judged(tight)
    assert decision.verdict == "refuted"
    value = sympy.Rational(decision.witness.values["r"])
    assert value * (1 - value) >= sympy.Rational(6, 25)


@pytest.mark.parametrize(
    ("relation", "verdict"),
    [
        (sympy.Ge(R, sympy.Rational(-1, 9), evaluate=False), "proved"),
        (sympy.Gt(R, 2, evaluate=False), "refuted"),
        # at an end, or with equality there
        (lt(R**2, R), "refuted"),
        (le(R**2, R), "proved"),
        (le(R * (1 - R), sympy.Rational(1, 4)), "proved"),
        (lt(R, 1), "refuted"),
        (lt(0, R), "proved"),
        (lt(0, 1 / R), "proved"),
        (sympy.Ge(1, 2, evaluate=False), "refuted"),
        (sympy.Eq(R, 2, evaluate=False), "refuted"),
        (sympy.Ne(R, 2, evaluate=False), "proved"),
        # 0/(r - 1/2) has no value at 1/2
        (le(sympy.Mul(0, 1 / (R - sympy.Rational(1, 2)), evaluate=False), 1), "refuted"),
    ],
)
def test_every_sign_is_judged_on_an_interval(relation, verdict):
    claimed = conclusions.OnInterval(relation, R, sympy.Integer(0), sympy.Integer(1))
    assert judged(claimed).verdict == verdict


def test_interval_that_touches_the_bound_is_not_proved():
    # Equality at r = 1/3, which no piece around it can exclude.
    touching = lt(-((R - sympy.Rational(1, 3)) ** 2), 0)
    decision = judged(conclusions.OnInterval(touching, R, sympy.Integer(0), sympy.Integer(1)))
    assert (decision.verdict, decision.witness.values) == ("refuted", {"r": "1/3"})


def test_what_is_left_to_a_reader_is_never_proved():
    alone = judged(conclusions.ByHand("it follows", "by reading"))
    assert (alone.verdict, alone.tried) == (
        "undecided",
        ("derived by hand; followed by the authors alone",),
    )
    decision = judged(
        conclusions.ByHand("it follows", "by reading", "Theorem G: det"), instances=10
    )
    assert (decision.verdict, decision.cases) == ("tested", 10)


def test_a_step_that_fails_its_test_is_refuted(monkeypatch):
    monkeypatch.setitem(TESTS, "Theorem G: det", lambda trials, rng: 0 * trials.reach[:, 0] - 1e-3)
    decision = judged(
        conclusions.ByHand("it follows", "by reading", "Theorem G: det"), instances=10
    )
    assert decision.verdict == "refuted"
    assert float(decision.witness.left) == -1e-3


@pytest.mark.parametrize("name", sorted(step_tests.TESTS))
def test_every_step_and_theorem_holds_under_the_flow(name):
    instances = 40 if name in trial_runs.BOUNDS else 3
    cases, slack, witness = step_tests.try_step(name, instances, np.random.default_rng(1))
    assert (cases, witness) == (instances, None)
    assert slack >= -trial_runs.ROUNDING
