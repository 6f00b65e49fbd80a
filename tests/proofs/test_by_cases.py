"""Proofs by cases: what lines give together, and that no case is missing."""

import pytest

from swingby.errors import InvalidInput
from swingby.proofs.language.reader import Proof
from swingby.proofs.language.writer import proof_text
from tests.proofs.audited import audit_text, states

LETTERS = "letters real: x, y\n"
LEFT = "step left: l\n  given x <= y  [case]\n  then max(x, y) <= |x| + |y|\n"
RIGHT = "step right: r\n  given {}  [case]\n  then max(x, y) <= |x| + |y|\n"
BOTH = "theorem both: b\n  cases (left), (right)\n  then max(x, y) <= |x| + |y|\n"


def audited(text, tmp_path):
    return audit_text(LETTERS + text, tmp_path)


def test_two_cases_are_put_together(tmp_path):
    ledger = audited(LEFT + RIGHT.format("x >= y") + BOTH, tmp_path)
    assert (ledger["both"].verdict, ledger["both"].method) == ("proved", "cases")
    assert ledger["both"].rests_on == ("left", "right")
    assert states(ledger)["both"] == "stands"
    # The case of a line is no promise of the theorem.
    assert ledger.standing()[2].assumes == ()
    assert "by the cases of (left) and (right)" in ledger["both"].to_text()


@pytest.mark.parametrize(
    ("case", "verdict"),
    [
        ("x > y", "proved"),
        ("x != y", "proved"),
        ("x >= y - 1", "proved"),
        ("x >= y + 1", "undecided"),
        ("x >= y [case]; x >= 0", "undecided"),
        ("x = y", "undecided"),
    ],
)
def test_no_case_may_be_missing(tmp_path, case, verdict):
    record = audited(LEFT + RIGHT.format(case) + BOTH, tmp_path)["both"]
    assert record.verdict == verdict
    assert any("no case holds at" in line for line in record.tried) == (verdict == "undecided")


def test_what_is_given_narrows_the_cases(tmp_path):
    lines = "step up: u\n  given x > 0  [case]; x <= 1  [case]\n  then x² >= x³\n"
    lines += "step down: d\n  given x <= 0  [case]\n  then x² >= x³\n"
    theorem = "theorem all: a\n{}  cases (up), (down)\n  then x² >= x³\n"
    open_line = audited(lines + theorem.format(""), tmp_path)["all"]
    assert open_line.verdict == "undecided"
    ledger = audited(lines + theorem.format("  given x <= 1  [hypothesis]\n"), tmp_path)
    assert states(ledger)["all"] == "stands"
    assert ledger.standing()[-1].assumes == ("hypothesis",)


def test_each_line_has_to_give_the_conclusion(tmp_path):
    more = BOTH.replace("then max", "then max(x, y) >= 0, max")
    record = audited(LEFT + RIGHT.format("x >= y") + more, tmp_path)["both"]
    assert record.verdict == "undecided"
    assert any("by left" in line for line in record.tried)


def test_another_hypothesis_of_a_line_has_to_be_known(tmp_path):
    right = RIGHT.format("x >= y  [case]; y >= 0").replace("y >= 0  [case]", "y >= 0  [hypothesis]")
    record = audited(LEFT + right + BOTH, tmp_path)["both"]
    assert record.verdict == "undecided"
    assert any("is not known here" in line for line in record.tried)


def test_an_error_in_a_case_reaches_the_theorem_and_its_repair_too(tmp_path):
    wrong = "step right: r\n  given x >= y  [case]\n  then max(x, y) <= |x| + |y| - 1\n{}"
    repair = "  flaw wrong constant, local: w\n  repair\n    then max(x, y) <= |x| + |y|\n"
    ledger = audited(LEFT + wrong.format(repair) + BOTH, tmp_path)
    assert ledger["right"].verdict == "refuted"
    assert states(ledger)["both"] == "falls"
    assert ledger["both"].rests_on_refuted == ("right",)
    assert ledger["right"].downstream == (("both", "still follows"),)


def test_cases_are_lines_above_and_written_as_they_are_read():
    for cases in ("(left)", "(left), (left)", "(left), (other)", "left, right"):
        text = LETTERS + LEFT + RIGHT.format("x >= y") + BOTH.replace("(left), (right)", cases)
        with pytest.raises(InvalidInput, match=r"lines? above"):
            Proof(text)["both"]
    proof = Proof(LETTERS + LEFT + RIGHT.format("x >= y") + BOTH)
    assert Proof(proof_text(proof.values()))["both"] == proof["both"]
