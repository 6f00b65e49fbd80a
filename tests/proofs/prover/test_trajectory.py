"""Claims about trajectories: the scan against all pairs, verdicts, and what makes them change."""

import functools
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import flint
import numpy as np
import pytest
import sympy

from swingby.proofs.audit.witness_files import files
from swingby.proofs.checkers import check_witness
from swingby.proofs.language.claim import AlongTrajectory
from swingby.proofs.language.claims import by_id
from swingby.proofs.prover.trajectories import instances, violation
from swingby.proofs.prover.trajectories.instances import random_instance
from swingby.proofs.prover.trajectories.signed_log import from_floats
from swingby.proofs.prover.trajectories.trajectory_claims import decide_trajectory
from swingby.proofs.prover.trajectories.trajectory_letters import RecordedPath
from swingby.proofs.prover.trajectories.trajectory_runs import (
    TrajectoryRuns,
    ball_run,
    float_run,
    states_at,
)
from swingby.proofs.prover.trajectories.violation import Violation, scan
from swingby.proofs.prover.trajectories.violation_check import confirm, meets_hypotheses
from swingby.simulate.run import simulate
from swingby.theory.assumptions import K, P
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask
from tests.forked import FULL
from tests.proofs import letters as the

RANK_ONE, FULL_RANK, FAR_APART, ONE_SMALL, MANY_STEPS, DELAYED = instances.candidates()


@pytest.fixture(scope="module")
def runs():
    return TrajectoryRuns()


def with_relation(claim, relation):
    return replace(claim, conclusion=replace(claim.conclusion, relation=relation))


def test_every_structured_instance_satisfies_the_assumptions():
    for instance in instances.candidates():
        assert instance.is_admissible(), instance.name
    assert [len(candidate.signal) for candidate in instances.candidates()] == [2, 2, 2, 3, 2, 3]
    # Outside: eta above 1/(180 max a), and a W(0) with an entry below omega in size.
    assert not replace(RANK_ONE, eta=Fraction(1, 719)).is_admissible()
    spoiled = ((Fraction(1), Fraction(1)), (Fraction(1), Fraction(10**9)))
    assert not replace(RANK_ONE, matrix=spoiled).is_admissible()
    indefinite = ((Fraction(1), Fraction(2)), (Fraction(2), Fraction(1)))
    assert not replace(FULL_RANK, matrix=indefinite).is_admissible()
    assert (FULL_RANK.pivot_share, RANK_ONE.pivot_share) == (Fraction(3, 4), 0)
    with pytest.raises(ArithmeticError, match="no constants"):
        instances.instance("too large", (4, 1), [[1, 1], [1, 1]], "1e-70", "1/1000")


@pytest.mark.parametrize("d", [2, 3, 4])
@pytest.mark.parametrize("degenerate", [False, True])
def test_random_instances_lie_inside_the_assumptions(d, degenerate):
    drawn = random_instance(np.random.default_rng(d), d, degenerate=degenerate)
    assert drawn.is_admissible()
    assert (drawn.pivot_share < Fraction(1, 10)) is degenerate
    assert meets_hypotheses(by_id("Lemma D.5").repair, drawn) is not degenerate
    assert meets_hypotheses(by_id("Lemma D.5"), drawn)


def test_signed_logarithms_agree_with_floats():
    # The same expression by numpy on ordinary numbers, with either sign of x.
    x, y = sympy.symbols("x y", real=True)
    expression = sympy.Max(sympy.Abs(x) * sympy.exp(y) - 3 * x**3, x / y) + sympy.log(y) ** 2
    values = {"x": np.array([-2.0, -0.1, 0.3, 5.0]), "y": np.array([0.2, 3.0, 1.5, 0.7])}
    evaluated = violation.evaluate(expression, {k: from_floats(v) for k, v in values.items()})
    X, Y = values["x"], values["y"]
    expected = np.maximum(np.abs(X) * np.exp(Y) - 3 * X**3, X / Y) + np.log(Y) ** 2
    np.testing.assert_allclose(evaluated.floats(), expected, rtol=1e-12)


@functools.cache
def slack(relation):
    """Names of the letters, and the larger minus the smaller side as a function of them."""
    letters = sorted(relation.free_symbols, key=str)
    more = relation.gts - relation.lts
    return [str(letter) for letter in letters], sympy.lambdify(letters, more, "math")


def all_pairs(claim, instance, recorded, lam=None):
    """Whether some pair of steps breaks a claim with one relation: every pair, in floats."""
    W, steps, conclusion = recorded.W.floats(), recorded.steps, claim.conclusion
    fixed = {"eta": instance.eta, "omega": instance.omega, "K": instance.constants.K}
    fixed |= {"kappa": instance.constants.kappa, "lambda": lam}
    fixed = {name: float(value) for name, value in fixed.items() if value is not None}
    fixed["P"] = 10.0 ** float(instance.constants.log10_P)
    fixed["beta"] = float(instance.constants.beta)

    def holds(relation, **entries):
        symbols, more = slack(relation)
        return more(*((fixed | entries)[name] for name in symbols)) >= -1e-12

    pairs = [(0, 0), (1, 1)] if conclusion.entries == "diagonal" else [(0, 1)]
    for i, j in pairs:
        for start in range(len(steps)):
            anchor = {"w_ij(t_0)": W[start, i, j], "w_ii(t_0)": W[start, i, i]}
            anchor |= {"t_0": float(steps[start]), "a_i": float(instance.signal[i])}
            if not all(holds(condition, **anchor) for condition in conclusion.when):
                continue
            for step in range(start, len(steps)):
                now = {"w_ij(t)": W[step, i, j], "w_ii(t)": W[step, i, i], "t": float(steps[step])}
                if not all(holds(condition, **now) for condition in conclusion.during):
                    break
                if not holds(conclusion.relation, **anchor, **now):
                    return True
    return False


@pytest.mark.parametrize("claim", [by_id("D.36"), by_id("Lemma D.6"), by_id("D.57")])
def test_the_tightest_anchor_finds_what_all_pairs_find(claim):
    # Smooth random paths of W; about half of them break each claim.
    rng = np.random.default_rng(5)
    low = 0.8 if claim is by_id("Lemma D.6") else 0.05
    instance = replace(FULL_RANK, omega=Fraction(1, 100))
    instance = replace(instance, constants=replace(instance.constants, log10_P=Fraction(1)))
    outcomes = set()
    for _ in range(24):
        W = low + np.abs(np.cumsum(rng.normal(0.04, 0.04, size=(14, 2, 2)), axis=0))
        W = (W + W.transpose(0, 2, 1)) / 2
        recorded = RecordedPath(np.arange(14) * 20, from_floats(W))
        violated = scan(claim, instance, recorded) is not None
        values = (Fraction(1, 2), Fraction(9, 10)) if claim is by_id("D.36") else (None,)
        assert violated == any(all_pairs(claim, instance, recorded, lam) for lam in values)
        outcomes.add(violated)
    assert outcomes == {True, False}


def test_an_anchor_is_read_at_t_0_and_refused_on_the_side_of_time_t():
    recorded = RecordedPath(
        np.arange(3), from_floats(np.multiply.outer([3, 2, 1], np.ones((2, 2))))
    )
    before, now = (sympy.Symbol(f"w_jj({at})", real=True) for at in ("t_0", "t"))
    rising = AlongTrajectory(the.le(before, now), "all")
    violated = scan(replace(by_id("Lemma D.6"), conclusion=rising), FULL_RANK, recorded)
    assert (violated.anchor, violated.step) == (0, 2)
    mixed = AlongTrajectory(the.le(the.w * the.w_anchor, 1), "all")
    with pytest.raises(TypeError, match="one side"):
        scan(replace(by_id("Lemma D.6"), conclusion=mixed), FULL_RANK, recorded)


def test_the_power_of_P_decides_corollary_one(runs):
    # The same trajectory breaks the printed bound at the peak of w_12 and keeps the one with P^2.
    for dynamics in ("euler", "gd"):
        recorded = float_run(FULL_RANK, dynamics)
        assert scan(by_id("Corollary D.1"), FULL_RANK, recorded) is not None
        raised = with_relation(by_id("Corollary D.1"), the.le(sympy.Abs(the.N), the.NOISE * P))
        assert scan(raised, FULL_RANK, recorded) is None


def test_the_constant_of_lemma_five_decides_it():
    recorded = float_run(FULL_RANK, "gd")
    assert scan(by_id("Lemma D.5"), FULL_RANK, recorded) is None
    halved = with_relation(by_id("Lemma D.5"), the.le(the.v, (1 + 2 / K) / 2))
    violated = scan(halved, FULL_RANK, recorded)
    assert violated is not None
    assert violated.i == violated.j
    # A clear violation is preferred to the first one: a factor of two is never reached here.
    assert violated.excess == pytest.approx(np.log(1 / 0.55), rel=1e-3)


def test_until_ends_the_promise():
    # Lemma D.3 fails after its T_1 already for a diagonal entry that has come to rest.
    recorded = float_run(FULL_RANK, "gd")
    assert scan(by_id("D.35"), FULL_RANK, recorded) is None
    unlimited = replace(by_id("D.35"), conclusion=replace(by_id("D.35").conclusion, until=None))
    assert scan(unlimited, FULL_RANK, recorded) is not None


def test_lemma_five_is_refuted_under_euler_and_its_witness_runs_again(runs):
    longer = ("D.36", "Lemma D.7") if FULL else ()
    claims = {name: by_id(name) for name in ("Lemma D.5", "Corollary D.1", *longer)}
    shared = RankOne()
    decisions = {name: decide_trajectory(claim, runs=shared) for name, claim in claims.items()}
    judged = decisions["Lemma D.5"]
    assert judged.verdict == "refuted"
    # As files, by the standard library: short trajectories are followed once more, in fixed point;
    # of the long ones it is told what balls say.
    cache, ball_states, steps = {}, {}, {}
    contents = [
        content
        for name, claim in claims.items()
        for content in dict(
            files(SimpleNamespace(id=name, about="", statement=claim, **vars(decisions[name])))
        ).values()
    ]
    assert len(contents) == 3 + len(longer)
    for content in contents:
        along = check_witness.Along(content["run"])
        if along.end < 20_000:
            steps.setdefault(along.key, set()).update(along.steps)
            continue
        states = states_at(RANK_ONE, content["run"]["dynamics"], 768, along.steps)
        entries = {t: [list(map(bounds, row)) for row in state.W] for t, state in states.items()}
        ball_states[along.key] = 768, along.end, entries
        assert check_witness.judge(content, None, ball_states) == ""
    short = [content for content in contents if content["run"]["t"] < 20_000]
    assert [check_witness.judge(content, steps, cache) for content in short] == [""] * len(short)
    assert (len(cache), len(ball_states)) == (2, 1)
    assert judged.parts["gd"].verdict == "undecided"
    decision = judged.parts["euler"]
    values = decision.witness.values
    assert values["omega"] == "1e-80"
    assert len(decision.witness.checked) == 3
    # The float kernels, from the numbers of the witness alone.
    signal = [Fraction(a) for a in values["a"].split(", ")]
    entries = {name: float(Fraction(value)) for name, value in values.items() if "/omega" in name}
    matrix = [[entries[f"w_{max(i, j)}{min(i, j)}(0)/omega"] for j in (1, 2)] for i in (1, 2)]
    run = simulate(
        SIMTask.from_signal(signal),
        Scaled(matrix, values["omega"]),
        values["eta"],
        steps=int(values["t"]),
        dynamics="euler",
        record="none",
    )
    i = int(values["i"]) - 1
    assert run.W[-1, i, i] < 0
    assert run.W[-1, i, i] == pytest.approx(float(decision.witness.left), rel=1e-6)
    assert float(decision.witness.right) == 0


def bounds(entry):
    """Two decimals that a ball of 768 bits lies between."""
    middle = Decimal(entry.str(28, radius=False))
    return tuple(middle + side * abs(middle) * Decimal("1e-20") for side in (-1, 1))


class RankOne(TrajectoryRuns):
    """Runs of one instance, and none at random: what is not refuted stays undecided."""

    candidates = (RANK_ONE if FULL else replace(RANK_ONE, steps=25_000),)
    random = ()


def test_lemma_one_fails_for_a_well_conditioned_start(runs):
    # w_23(0) = omega, but w_23 - w_12 w_13 / w_11 = -7 omega takes over under both maps.
    assert ONE_SMALL.pivot_share > Fraction(1, 2)
    run = ball_run(replace(ONE_SMALL, steps=80_000), "gd")
    violation = scan(by_id("D.11"), ONE_SMALL, run.recorded)
    assert (violation.i, violation.j) == (1, 2)
    assert scan(by_id("D.11").repair, ONE_SMALL, run.recorded) is None
    with flint.ctx.workprec(ONE_SMALL.bits):
        assert confirm(by_id("D.11"), violation, ONE_SMALL, run.states) is not None
        # What holds is not confirmed as broken, whatever a scan says.
        start = Violation(violation.relation, 1, 2, 0, 50, 1.0, None)
        assert confirm(by_id("D.11"), start, ONE_SMALL, run.states) is None
        # A hypothesis that the instance does not meet takes the witness away.
        pivot_share = sympy.Symbol("pi_k(0)/w_kk(0)", nonnegative=True)
        more = the.given("case", the.ge(pivot_share, sympy.Rational(3, 5)))
        claim = replace(by_id("D.11"), given=more)
        assert confirm(claim, violation, ONE_SMALL, run.states) is None
