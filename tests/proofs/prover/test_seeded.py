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
from swingby.proofs.prover.scalar import counterexample
from swingby.proofs.prover.scalar import scalar_claims as dispatch
from swingby.proofs.prover.scalar.branch_and_bound import prove_on_boxes
from swingby.proofs.prover.scalar.exact_value import mpmath_agrees
from swingby.proofs.prover.scalar.relation import Relation, Sequent
from swingby.proofs.prover.trajectories import trajectory_claims as judge
from swingby.proofs.prover.trajectories.instances import candidates
from swingby.proofs.prover.trajectories.trajectory_claims import Runs, ball_run, confirm
from swingby.proofs.prover.trajectories.violation import Violation
from tests.proofs.letters import a_i, alpha, ge, given, gt, le, t, v, v_start, w, x

FULL_RANK = replace(tuple(candidates())[1], steps=3)


class Short(Runs):
    """Three steps of one instance, and none at random: what is not refuted stays undecided."""

    candidates = (FULL_RANK,)
    random = ()


def diagonal(relation, **more):
    return Claim("a line", "lemma", "", AlongTrajectory(relation, "diagonal"), **more)


#: w_ii grows from the first step on, and by less than a factor of 2.
SHRINKS = diagonal(le(v, v_start))


def test_z3_alone_proves_nothing(monkeypatch):
    """2 alpha <= a_i is false for a_i = alpha, whatever z3 says."""
    monkeypatch.setattr(dispatch, "opinion", lambda *_, **__: ("unsat", {}))
    sequent = Sequent((Relation(alpha, a_i, "<="),), Relation(2 * alpha, a_i, "<="))
    attempt = dispatch.by_certificate(sequent)
    assert not attempt.proved
    assert any("no proof by itself" in line for line in attempt.tried)


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


def test_a_box_whose_edge_touches_zero_proves_no_strict_goal():
    """On [0, 1], x >= 0 and not x > 0."""
    zero, one = sympy.Integer(0), sympy.Integer(1)
    box = (Relation(zero, x, "<="), Relation(x, one, "<="))
    assert prove_on_boxes(Sequent(box, Relation(zero, x, "<=")))[0]
    assert not prove_on_boxes(Sequent(box, Relation(zero, x, "<")))[0]


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
def test_a_violation_needs_the_second_ball_run(monkeypatch, dynamics):
    """W(0) in place of every later state of the second run: it shows no violation."""
    found = judge.judge_trajectory(SHRINKS, runs=Short()).parts[dynamics]
    assert found.verdict == "refuted"
    states_at = judge.states_at

    def standing_still(instance, rule, bits, steps):
        return dict.fromkeys(steps, states_at(instance, rule, bits, {0})[0])

    monkeypatch.setattr(judge, "states_at", standing_still)
    found = judge.judge_trajectory(SHRINKS, runs=Short()).parts[dynamics]
    assert found.verdict == "undecided"


def test_a_violation_needs_the_hypotheses_and_disjoint_balls():
    """Of w_ii(t) <= w_ii(0), w_ii(t) <= w_ii(t) and w_ii(t) <= 1 only the first is broken."""
    run = ball_run(FULL_RANK, "euler")
    with flint.ctx.workprec(FULL_RANK.bits):

        def confirmed(claim):
            relation = claim.conclusion.relation
            seen = Violation(relation, 0, 0, 0, 1, 1.0, None)
            return confirm(claim, seen, FULL_RANK, run.states)

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
        root / f"{one}.py"
        for one in ("theory/balls", "proofs/language/claim", "theory/assumptions")
    } <= read
