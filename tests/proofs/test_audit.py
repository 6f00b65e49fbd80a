"""The audit: verdicts carried into records, what rests on what, and what a repair changes.

The provers have tests of their own. Here they are replaced by a rule with known answers, or asked
about lines whose verdict is a line of arithmetic.
"""

import io
from fractions import Fraction

import pytest
import sympy

from docs import make_ledger
from swingby.proofs.audit import audit as module
from swingby.proofs.audit.audit import audit
from swingby.proofs.audit.downstream import downstream, with_repaired
from swingby.proofs.language import claims as text
from swingby.proofs.language.claim import AlongTrajectory, Claim, Flaw, Given
from swingby.proofs.prover.evidence import Judged
from swingby.theory.verdict import Finding

x, y = sympy.symbols("x y", positive=True)


def at_least(left, right):
    return sympy.Ge(left, right, evaluate=False)


BASE = Claim(
    "D.1",
    "step",
    "a line that is too strong",
    at_least(x, 3),
    flaw=Flaw("wrong constant", "local", "It is 2."),
).with_repair(conclusion=at_least(x, 2))
USES = Claim("D.2", "step", "needs all of it", at_least(x, 3), BASE.cite()).with_repair(
    conclusion=at_least(x, 2), given=(Given(at_least(x, 2), "D.1"),)
)
ENOUGH = Claim("D.3", "step", "needs less", at_least(x, 1), BASE.cite())
OTHER = Claim("D.4", "step", "rests on nothing", at_least(y, 0))
LONG = Claim("Lemma D.1", "lemma", "all along", AlongTrajectory(at_least(x, 0), "all"))
ALL = (BASE, USES, ENOUGH, OTHER, LONG)


def rule(claim, **_):
    """Bounds on x below: proved if a hypothesis gives as much, or for 2 and less."""
    if isinstance(claim.conclusion, AlongTrajectory):
        return Judged(Finding.TESTED, "runs", cases=5)
    bound = claim.conclusion.rhs
    bounds = [hypothesis.relation.rhs for hypothesis in claim.given]
    largest = max(bounds, default=2)
    return Judged(Finding.PROVED if bound <= largest else Finding.REFUTED, "rule")


@pytest.fixture
def small(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(text, "Claims", lambda: {claim.id: claim for claim in ALL})
    monkeypatch.setattr(text, "sections", lambda: {claim.id: "Lemma D.1" for claim in ALL})
    calls = []

    def counted(claim, **options):
        calls.append((claim.id, claim.edition))
        return rule(claim)

    monkeypatch.setattr(module, "judge", counted)
    return calls


def test_a_record_holds_the_verdict_the_flaw_and_the_repair(small):
    record = audit("D.1", progress=False)["D.1"]
    assert record.verdict == "refuted"
    assert (record.breaks, record.severity) == ("wrong constant", "local")
    assert record.explanation == "It is 2."
    assert record.repair.verdict == "proved"
    assert record.statement is BASE


def test_a_flaw_shows_only_where_the_machine_refutes(small, monkeypatch):
    proved = Judged(Finding.PROVED, "rule")
    monkeypatch.setattr(module, "judge", lambda claim, **_: proved)
    record = audit("D.1", progress=False)[0]
    assert (record.breaks, record.severity, record.explanation) == ("", "", "")
    assert record.downstream == ()


def test_records_come_in_the_order_of_the_text_whatever_was_asked_first(small):
    assert [record.id for record in audit(["D.3", "(d.1)"], progress=False)] == ["D.1", "D.3"]


def test_a_repair_that_uses_the_corrected_line_rests_on_nothing_refuted(small):
    record = audit("D.2", progress=False)[0]
    assert record.rests_on == record.rests_on_refuted == ("D.1",)
    assert (record.repair.rests_on, record.repair.rests_on_refuted) == (("D.1",), ())


def test_downstream_is_judged_with_the_repaired_hypothesis(small):
    record = audit("D.1", progress=False)[0]
    assert record.downstream == (
        ("D.2", "no longer follows; follows in its corrected form"),
        ("D.3", "still follows"),
    )


def test_downstream_goes_on_where_a_later_line_starts_at_what_has_changed(monkeypatch):
    """y = 5 x + 1 <= 9 as corrected: the next line may no longer start at 4 x + 1."""
    old, new = 4 * x + 1, 5 * x + 1
    ends = Claim("D.1", "step", "", sympy.Le(y, old, evaluate=False)).with_repair(
        conclusion=sympy.Le(y, new, evaluate=False)
    )
    goes_on = Claim("D.2", "step", "", sympy.Le(old, 9, evaluate=False))
    elsewhere = Claim("D.3", "step", "", sympy.Le(y, 9, evaluate=False))
    judged = []

    claims = {claim.id: claim for claim in (ends, goes_on, elsewhere)}

    def judge(claim):
        judged.append(claim.conclusion)
        refuted = new in claim.conclusion.args
        return Judged(Finding.REFUTED if refuted else Finding.PROVED, "rule")

    (consequence,) = downstream(ends, claims, judge)
    assert consequence == ("D.2", "goes on from (D.1): no longer follows; it has no corrected form")
    assert judged == [sympy.Le(new, 9, evaluate=False)]


def test_a_repair_in_other_letters_is_not_put_in():
    foreign = BASE.with_repair(conclusion=at_least(y, 2))
    assert with_repaired(ENOUGH, foreign) is None
    assert with_repaired(ENOUGH, BASE).given == (Given(at_least(x, 2), "D.1"),)


def test_without_trajectories_such_lines_are_undecided(small):
    records = audit(trajectories=False, progress=False)
    assert records["Lemma D.1"].verdict == "undecided"
    assert ("Lemma D.1", "printed") not in small
    assert audit(progress=False)["Lemma D.1"].cases == 5


def test_every_statement_is_judged_once_and_then_kept(small):
    audit(progress=False)
    assert len(small) == len(set(small)) + 2  # the two lines judged again downstream
    before = len(small)
    audit(progress=False)
    assert len(small) == before
    audit(cache=False, progress=False)
    assert len(small) == 2 * before


def test_an_interrupted_audit_keeps_what_is_done(small, monkeypatch):
    def interrupt(name, done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        audit(progress=interrupt)
    done = len(small)
    audit(["D.1", "D.2"], progress=False)
    assert len(small) == done


def test_progress_is_called_with_every_line(small):
    calls = []
    audit(progress=lambda *arguments: calls.append(arguments))
    assert calls == [(claim.id, index + 1, 5) for index, claim in enumerate(ALL)]


def test_on_a_terminal_one_line_has_a_bar_too(small, monkeypatch):
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr", terminal)
    audit("D.1")
    assert "1/1" in terminal.getvalue()


def test_without_a_terminal_progress_is_lines_now_and_then(small, capsys, monkeypatch):
    monkeypatch.setattr("swingby.report.progress.EVERY", 0.0)
    audit(["D.1", "D.4"])
    assert capsys.readouterr().err == "swingby: 1 of 2: D.1\nswingby: 2 of 2: D.4\n"


def test_printed_d61_is_refuted_and_a_fifth_of_it_proved():
    """By hand: a = (4, 1), C = 2 and w = omega = 10^-100 give -omega/5 against -omega/2."""
    record = audit("D.61", cache=False, progress=False)[0]
    assert record.verdict == "refuted"
    assert record.repair.verdict == "proved"
    values = record.witness.values
    a_i, a_j, alpha, C = (Fraction(values[name]) for name in ("a_i", "a_j", "alpha", "C"))
    assert a_i - 3 * a_j >= alpha / C
    # w_ij(t) >= omega > 0, so the two sides compare as these do where both are equal.
    assert values["w_ij(t)"] == values["omega"]
    assert (3 * a_j - a_i) / 5 > -alpha / C


def test_a_prover_that_fails_gives_no_verdict_and_leaves_nothing_behind(small, monkeypatch):
    def fail(claim, **_):
        raise RuntimeError("two evaluations disagree")

    monkeypatch.setattr(module, "judge", fail)
    record = audit("D.1", progress=False)[0]
    assert record.verdict == "undecided"
    assert record.tried == ("RuntimeError: two evaluations disagree",)
    monkeypatch.setattr(module, "judge", rule)
    assert audit("D.1", progress=False)[0].verdict == "refuted"


def test_the_page_part_has_summary_corrections_and_every_line(small, tmp_path):
    page = make_ledger.main(tmp_path / "generated").read_text(encoding="utf-8")
    for heading in ("## Summary", "## What a corrected paper would say", "## Every line"):
        assert heading in page
    for claim in ALL:
        assert f"### {claim.id}\n" in page
    assert (tmp_path / "generated" / "ledger.png").stat().st_size > 10_000
