"""The hunt for counterexamples: found ones, by the float kernels and closed forms; shrinking."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import click
import numpy as np
import pytest
from click.testing import CliRunner

from swingby.cli.proofs import hunt as command
from swingby.errors import InvalidInput
from swingby.proofs.hunt import theorem_search as theorems
from swingby.proofs.hunt import trajectory_search as search
from swingby.proofs.hunt.draft import Draft, Requirements, draw, mutate
from swingby.proofs.hunt.hunt import hunt
from swingby.proofs.hunt.shrink import Followed, follow_draft, shrink
from swingby.proofs.hunt.theorem_search import exact_start, find_breach
from swingby.proofs.hunt.trajectory_search import closest_call, still_violates
from swingby.proofs.language.claim import AlongTrajectory, Claim
from swingby.proofs.language.claims import by_id
from swingby.proofs.language.reader import packaged
from swingby.proofs.prover.repaired.random_trials import DRAWS
from swingby.proofs.prover.trajectories import instances
from swingby.proofs.prover.trajectories.signed_log import from_floats
from swingby.proofs.prover.trajectories.trajectory_letters import RecordedPath
from swingby.proofs.prover.trajectories.violation import Violation
from swingby.simulate.run import simulate
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask
from tests.proofs.letters import ge, le, v, v_start, w

PLAIN = Requirements(full_rank=False, few_steps=False)


@pytest.fixture(scope="module")
def lemma_three():
    return hunt("lemma d.3", dynamics="gd", seconds=30, dim=2)


def rebuilt(values):
    """Signal, W(0)/omega and eta of a witness, from its text alone."""
    signal = [Fraction(a) for a in values["a"].split(", ")]
    d = len(signal)
    entries = [
        [float(Fraction(values[f"w_{max(i, j)}{min(i, j)}(0)/omega"])) for j in range(1, d + 1)]
        for i in range(1, d + 1)
    ]
    return signal, entries, Fraction(values["eta"])


def test_a_counterexample_to_lemma_three_holds_in_floats_too(lemma_three):
    """(D.35) from the printed numbers alone, by the kernels and numpy."""
    report = lemma_three
    assert report.found
    assert report.verdict == "refuted"
    assert len(report.checked) == 3
    values = report.violation.values
    signal, entries, eta = rebuilt(values)
    assert all(a > 3 * b for a, b in pairwise(signal))
    # It breaks on any W(0) of rank one: ones are the simplest.
    assert (entries, report.shrinks > 0) == ([[1, 1], [1, 1]], True)
    i, step = int(values["i"]) - 1, int(values["t"])
    start = Scaled(entries, values["omega"])
    run = simulate(SIMTask.from_signal(signal), start, eta, step, "gd", "none")
    w_0 = entries[i][i] * float(values["omega"])
    kappa = float(Fraction(values["kappa"]))
    bound = w_0 * np.exp(2 * float(eta) * step * float(signal[i]) / kappa)
    phase = 10.0 ** float(Fraction(values["log10 P"])) * float(Fraction(values["beta"]))
    phase *= float(values["omega"])
    until = np.log(phase / w_0) / (2 * float(eta * signal[i]) * kappa)
    assert step <= until
    assert run.W[-1, i, i] < bound / 2
    assert float(report.violation.left) == pytest.approx(run.W[-1, i, i], rel=1e-6)
    assert float(report.violation.right) == pytest.approx(bound, rel=1e-9)


def test_a_rerun_follows_the_witness(lemma_three):
    """The same place keeps the lemma as repaired, and another step is another place."""
    assert lemma_three.rerun()
    lemma, witness = by_id("Lemma D.3"), lemma_three.violation
    instance = lemma_three.again.args[2]
    early = replace(witness, values=witness.values | {"t": "50"})
    assert not still_violates(lemma, early, instance, "gd")
    weaker = replace(lemma, given=packaged("trajectories").groups["NOT_DEGENERATE"])
    assert not still_violates(weaker, witness, instance, "gd")


def test_what_holds_is_not_refuted(monkeypatch):
    """Lemma D.2 is proved for (D.2) by other means; the repaired lemma has survived searches."""
    monkeypatch.setattr(search, "MOST_INSTANCES", 6)
    for name, edition in (("Lemma D.2", "printed"), ("Lemma D.3", "corrected")):
        report, again, reseeded = (
            hunt(name, edition, seconds=600, dim=2, rng=seed) for seed in (0, 0, 1)
        )
        assert not report.found
        assert (report.verdict, report.instances) == ("tested", 6)
        assert report.closest.slack > 0
        assert "in 6 instances" in str(report)
        with pytest.raises(InvalidInput, match="counterexample"):
            report.rerun()
        # One seed gives one hunt.
        assert (report.closest, report.steps) == (again.closest, again.steps)
        assert report.closest != reseeded.closest


def test_a_claim_of_ones_own(monkeypatch):
    """w_ii grows from the first step on: it exceeds its start, and never 3."""
    shrinks = Claim("mine", "lemma", "", AlongTrajectory(le(v, v_start), "diagonal"))
    report = hunt(shrinks, seconds=10, dim=2)
    assert report.found
    assert float(report.violation.left) > float(report.violation.right)
    monkeypatch.setattr(search, "MOST_INSTANCES", 3)
    bounded = Claim("mine", "lemma", "", AlongTrajectory(le(v, 3), "diagonal"))
    assert not hunt(bounded, dynamics="gd", seconds=600, dim=2).found
    mixed = Claim("mine", "lemma", "", AlongTrajectory(le(w, ge(v, 1)), "diagonal"))
    with pytest.raises(InvalidInput, match="scan can evaluate"):
        hunt(mixed, seconds=1, dim=2)


def test_what_balls_do_not_confirm_is_not_reported(monkeypatch):
    monkeypatch.setattr(search, "confirm_violation", lambda *_: None)
    monkeypatch.setattr(search, "MOST_INSTANCES", 2)
    report = hunt("Corollary D.1", seconds=600, dim=2)
    assert not report.found
    assert report.unconfirmed > 0
    assert report.verdict == "undecided"
    assert "not confirmed" in str(report)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"statement": "Lemma D.9"}, "close to it"),
        ({"statement": "Lemma D.3", "edition": "repaired"}, "Theorem R"),
        ({"statement": "Lemma D.2", "edition": "corrected"}, "no other form"),
        ({"statement": "Theorem R"}, "repaired"),
        ({"statement": None}, "such as 'Lemma D.3'"),
        ({"statement": 7}, "Claim"),
        ({"statement": "Assumption D.4"}, "all cases"),
        ({"statement": "Lemma D.3", "dynamics": "flow"}, "euler or gd"),
        ({"statement": "Lemma D.3", "dynamics": "sgd"}, "euler"),
        ({"statement": "Lemma D.3", "dynamics": ["gd"]}, "euler"),
        ({"statement": "Lemma D.3", "seconds": float("nan")}, "seconds"),
        ({"statement": "Lemma D.3", "dim": 5}, "dim"),
        ({"statement": "Lemma D.3", "rng": "x"}, "rng"),
        ({"statement": "Lemma D.3", "progress": 1}, "progress"),
        ({"statement": "Theorem two", "edition": "repaired", "dim": 3}, "dim"),
    ],
)
def test_wrong_arguments_are_named(arguments, word):
    with pytest.raises(InvalidInput, match=word):
        hunt(**arguments)


def test_lines_about_numbers():
    """(D.61) is wrong by a factor of 5; with it, the line is proved."""
    report = hunt("(D.61)", seconds=20)
    assert report.found
    assert report.dynamics == ""
    assert report.rerun()
    mended = hunt("D.61", "corrected", seconds=20)
    assert (mended.found, str(mended.verdict)) == (False, "proved")


def test_the_repaired_theorems_keep_their_promises(monkeypatch):
    monkeypatch.setattr(theorems, "MOST_TRIALS", 3)
    report = hunt("theorem", "repaired", seconds=600)
    assert [single.statement for single in report.parts] == [
        "Theorem G",
        "Theorem two",
        "Theorem R",
    ]
    assert report.verdict == "tested"
    assert report.instances == sum(single.instances for single in report.parts)
    assert report.instances == 9 * theorems.PER_SETTING
    assert report.dynamics == "flow"


def test_a_theorem_about_the_flow_is_not_one_about_steps():
    """Under euler an entry grows by log(1 + 2 eta a) per step, less than 2 eta a: it comes late."""
    report = hunt("Theorem two", "repaired", "euler", 10)
    assert report.found
    assert "speaks of the flow" in report.note
    assert report.rerun()
    values = report.violation.values
    signal, eta = [float(a) for a in values["a"].split(", ")], float(values["eta"])
    W0 = [[float(values[f"w_{max(i, j)}{min(i, j)}(0)"]) for j in (1, 2)] for i in (1, 2)]
    task = SIMTask.from_signal(signal)
    run = simulate(task, W0, eta, int(values["t"]), "euler", "none")
    assert np.abs(run.W[-1] - float(report.violation.left)).min() < 1e-9


def test_no_promise_is_broken_that_is_not_made():
    """With twice the time and any peak, nothing is broken; with no time, everything is."""
    trials = DRAWS["Theorem two"](3, np.random.default_rng(1), "gd", False)
    W0 = exact_start(trials, 0)
    unbounded = np.full_like(trials.log_peaks, np.inf)
    generous = replace(trials, log_peaks=unbounded, reach=2 * trials.reach)
    assert find_breach(generous, 0, "gd", W0, 192) is None
    breach = find_breach(replace(generous, reach=0 * trials.reach), 0, "gd", W0, 192)
    assert (breach.relation, breach.step) == ("w_11 >= 4/5 by eta t = 0", 0)


def test_drawn_settings_lie_inside_the_assumptions_and_vary():
    rng = np.random.default_rng(2)
    drawn = [draft for _ in range(80) if (draft := draw(rng, None, PLAIN)) is not None]
    candidates = [candidate for draft in drawn if (candidate := draft.instance()) is not None]
    assert len(candidates) > 40
    assert all(candidate.is_admissible() for candidate in candidates)
    assert {candidate.d for candidate in candidates} == {2, 3, 4}
    assert {"rank one", "full rank", "nearly degenerate"} <= {
        candidate.name for candidate in candidates
    }
    entries = {entry > 0 for candidate in candidates for row in candidate.matrix for entry in row}
    assert entries == {True, False}
    assert min(candidate.omega for candidate in candidates) < Fraction(1, 10**200)
    changed = [mutate(draft, rng, PLAIN) for draft in drawn]
    usable = [
        candidate for draft in changed if draft is not None and (candidate := draft.instance())
    ]
    assert len(usable) > len(drawn) / 3


def test_the_closest_call_is_the_smallest_slack_off_the_start():
    """A path with two humps below 1 + 2/K = 11/10: the higher one, and the logarithm by hand."""
    instance = tuple(instances.candidates())[1]
    path = np.array([0.2, 0.5, 1.0, 0.7, 0.3, 0.8, 0.4])
    W = np.zeros((7, 2, 2))
    W[:, 0, 0] = path
    W[:, 1, 1] = 0.1
    call = closest_call(by_id("Lemma D.5"), instance, RecordedPath(np.arange(7), from_floats(W)))
    assert (call.i, call.step) == (0, 2)
    assert -call.excess == pytest.approx(np.log(1.1 / 1.0))


def test_a_hunt_as_plain_values(lemma_three):
    values = json.loads(json.dumps(lemma_three.to_dict(), allow_nan=False))
    assert values["found"] is True
    assert values["violation"]["left"] == lemma_three.violation.left
    assert repr(lemma_three) == (
        f"<Hunt Lemma D.3, printed, gd: refuted, {lemma_three.instances} instances>"
    )
    assert "<pre>" in lemma_three._repr_html_()
    assert "w_ii(t) ≥ w_ii(0) exp(2 η a_i t/κ)" in str(lemma_three)
    assert "checked by balls" in str(lemma_three)


def test_the_command(tmp_path, monkeypatch):
    """Exit codes 1 found, 0 none found; wrong input is named."""

    def run(*arguments):
        return command.main(list(arguments), "hunt", standalone_mode=False)

    target = tmp_path / "hunt.json"
    assert run("D.61", "--out", str(target)) == 1
    assert json.loads(target.read_text())["verdict"] == "refuted"
    monkeypatch.setattr(search, "MOST_INSTANCES", 2)
    result = CliRunner().invoke(
        command, ["Lemma D.2", "--dynamics", "gd", "--dim", "2", "--json"], standalone_mode=False
    )
    assert result.return_value == 0
    printed = json.loads(result.output)
    assert (printed["statement"], printed["dynamics"], printed["instances"]) == (
        "Lemma D.2",
        "gd",
        2,
    )
    assert printed["closest"]["instance"].count(", ") == 3  # a = (a_1, a_2), omega, eta
    for arguments in (["D.61", "--out", "x.png"], ["D.61", "--edition", "x"]):
        with pytest.raises((InvalidInput, click.ClickException)):
            run(*arguments)


# Shrinking: what is left is simple, and still a counterexample.


def whole(rows):
    return tuple(tuple(map(Fraction, row)) for row in rows)


LONG = Draft(
    (Fraction(2873, 50), Fraction(163, 20), Fraction(1)),
    whole([[9, -6, 3], [-6, 4, -2], [3, -2, 1]]),
    187,
    13127,
)


def seen(draft, step=1000):
    return Followed(draft, None, None, Violation(None, 0, 0, 0, step, 10.0, None))


def never():
    return False


def test_everything_that_plays_no_part_is_made_simple():
    """Nothing but omega <= 1e-150 is asked: two concepts, W(0) of ones, round numbers."""
    simple, changes = shrink(
        seen(LONG), lambda draft: seen(draft) if draft.decades >= 150 else None, never
    )
    draft = simple.draft
    assert draft.d == 2
    assert draft.matrix == whole([[1, 1], [1, 1]])
    assert draft.decades >= 150
    assert all(a.denominator == 1 for a in draft.signal)
    assert len(str(draft.inverse_eta).rstrip("0")) == 1
    assert changes > 2


def test_what_plays_a_part_is_kept():
    """A negative w_12 and three concepts are asked."""

    def look(draft):
        return seen(draft) if draft.d == 3 and draft.matrix[0][1] < 0 else None

    simple, _ = shrink(seen(LONG), look, never)
    assert look(simple.draft)
    assert simple.cost < seen(LONG).cost


def test_a_weaker_violation_is_no_gain():
    weak = replace(seen(LONG), violation=replace(seen(LONG).violation, excess=0.1))

    def look(draft):
        return replace(seen(draft), violation=weak.violation)

    assert shrink(seen(LONG), look, never)[1] == 0
    assert shrink(weak, look, never)[1] > 0


def test_what_keeps_the_claim_shows_no_violation():
    assert follow_draft(LONG, by_id("Lemma D.3"), "euler").violation is not None
    full = replace(LONG, matrix=whole([[2, 1, 1], [1, 2, 1], [1, 1, 2]])).feasible()
    assert follow_draft(full, by_id("Lemma D.2"), "euler").violation is None
    # Rank one does not meet the hypotheses of the repair.
    assert follow_draft(LONG, by_id("Lemma D.3").repair, "gd") is None
