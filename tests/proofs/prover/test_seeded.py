"""What no other test would notice: second opinions that are not asked, evidence that is too thin.

Each test stands for one seeded bug of ``tests/mutants``. Expected: a verdict needs every one of its
legs, so that taking one away leaves the line undecided.
"""

from dataclasses import replace
from pathlib import Path

import flint
import pytest
import sympy

import swingby
from swingby.proofs.audit import cache as audit_cache
from swingby.proofs.language.claim import AlongTrajectory, Claim
from swingby.proofs.prover.prove import decide
from swingby.proofs.prover.scalar import counterexample, proof_strategies, scalar_claims
from swingby.proofs.prover.scalar.counterexample import mpmath_agrees
from swingby.proofs.prover.scalar.relation import Relation, Sequent
from swingby.proofs.prover.scalar.z3_check import Z3Answer
from swingby.proofs.prover.trajectories import trajectory_runs
from swingby.proofs.prover.trajectories.instances import candidates
from swingby.proofs.prover.trajectories.trajectory_claims import decide_trajectory
from swingby.proofs.prover.trajectories.trajectory_runs import TrajectoryRuns, ball_run
from swingby.proofs.prover.trajectories.violation import Violation
from swingby.proofs.prover.trajectories.violation_check import confirm
from tests.proofs.letters import a_i, alpha, ge, given, gt, le, t, v, v_start, w, x

FULL_RANK = replace(tuple(candidates())[1], steps=3)


class Short(TrajectoryRuns):
    """Three steps of one instance, and none at random: what is not refuted stays undecided."""

    candidates = (FULL_RANK,)
    random = ()


def diagonal(relation, **more):
    return Claim("a line", "lemma", "", AlongTrajectory(relation, "diagonal"), **more)


#: w_ii grows from the first step on, and by less than a factor of 2.
SHRINKS = diagonal(le(v, v_start))


def test_z3_alone_is_a_verdict_of_its_own(monkeypatch):
    """2 alpha <= a_i is false for a_i = alpha, whatever z3 says."""
    monkeypatch.setattr(proof_strategies, "ask_z3", lambda *_: Z3Answer("unsat"))
    sequent = Sequent((Relation(alpha, a_i, "<="),), Relation(2 * alpha, a_i, "<="))
    attempt = proof_strategies.by_certificate(sequent)
    assert attempt.by_z3
    assert not attempt.proved


def test_a_file_that_the_checker_refuses_is_no_proof(monkeypatch):
    line = Claim("a line", "step", "", le(alpha, 2 * alpha))
    assert decide(line).verdict == "proved"
    monkeypatch.setattr(scalar_claims.check_witness, "judge_shown", lambda content: "no")
    assert decide(line).verdict == "undecided"


def test_a_point_outside_the_hypotheses_is_no_witness():
    """Both evaluations have to see that w = 3 breaks w <= 1, not only that it breaks w <= 2."""
    hypothesis, goal = (Relation(w, sympy.Integer(bound), "<=") for bound in (1, 2))
    point = {"w_ij(t)": flint.fmpq(3)}
    assert counterexample.Search(Sequent((), goal)).refutes(point)
    assert not counterexample.Search(Sequent((hypothesis,), goal)).refutes(point)
    assert mpmath_agrees((), goal, point)
    assert not mpmath_agrees((hypothesis,), goal, point)


def test_a_side_that_cancels_is_told_from_its_rounding():
    """x^2 - y is exactly 0 at x = 1/7 and y = 1/49, and -10^-62 in arithmetic of 60 digits."""
    goal = Relation(x**2 - alpha, sympy.Integer(0), "<")
    for below, agrees in ((48, False), (49, True), (50, True)):
        point = {"x": flint.fmpq(1, 7), "alpha": flint.fmpq(1, below)}
        assert mpmath_agrees((), goal, point) is agrees


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
def test_a_violation_needs_the_second_ball_run(monkeypatch, dynamics):
    """W(0) in place of every later state of the second run: it shows no violation."""
    decision = decide_trajectory(SHRINKS, runs=Short()).parts[dynamics]
    assert decision.verdict == "refuted"
    states_at = trajectory_runs.states_at

    def standing_still(instance, rule, bits, steps):
        return dict.fromkeys(steps, states_at(instance, rule, bits, {0})[0])

    monkeypatch.setattr(trajectory_runs, "states_at", standing_still)
    decision = decide_trajectory(SHRINKS, runs=Short()).parts[dynamics]
    assert decision.verdict == "undecided"


def test_a_violation_needs_the_hypotheses_and_disjoint_balls():
    """Of w_ii(t) <= w_ii(0), w_ii(t) <= w_ii(t) and w_ii(t) <= 1 only the first is broken."""
    run = ball_run(FULL_RANK, "euler")
    with flint.ctx.workprec(FULL_RANK.bits):

        def confirmed(claim):
            relation = claim.conclusion.relation
            violation = Violation(relation, 0, 0, 0, 1, 1.0, None)
            return confirm(claim, violation, FULL_RANK, run.states)

        assert confirmed(SHRINKS) is not None
        assert confirmed(diagonal(le(v, v))) is None
        assert confirmed(diagonal(le(v, 1))) is None
        assert confirmed(replace(SHRINKS, given=given("case", ge(alpha, 2 * a_i)))) is None
        until = replace(SHRINKS.conclusion, until=sympy.Rational(1, 2))
        assert confirmed(replace(SHRINKS, conclusion=until)) is None
        during = replace(SHRINKS.conclusion, during=(gt(1, t),))
        assert confirmed(replace(SHRINKS, conclusion=during)) is None


def test_the_key_of_a_verdict_covers_every_module_of_the_provers(monkeypatch):
    """Every file below proofs/prover, and what the witnesses and balls come from."""
    read, read_bytes = set(), Path.read_bytes

    def noted(path):
        read.add(path)
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", noted)
    audit_cache.code_hash.__wrapped__()
    root = Path(swingby.__file__).parent
    sources = {
        path for path in (root / "proofs" / "prover").rglob("*.py") if path.name != "__init__.py"
    }
    assert len(sources) > 20
    assert sources <= read
    assert {
        root / f"{module}.py"
        for module in ("theory/balls", "proofs/language/claim", "theory/assumptions")
    } <= read
