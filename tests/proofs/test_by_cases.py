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


def of_two_cases(tmp_path, letters, case, opposite, then, given="", extra=""):
    """The line that two cases prove, one where the other does not hold."""
    lines = "".join(
        f"step {name}: s\n  given {each}  [case]\n  then {then}\n"
        for name, each in (("1", case), ("2", opposite))
    )
    given = f"  given {given}  [hypothesis]\n" * bool(given)
    theorem = f"theorem all: a\n{given}  cases (1), (2){', (3)' * bool(extra)}\n  then {then}\n"
    return audit_text(f"letters {letters}\n{lines}{extra}{theorem}", tmp_path)["all"]


@pytest.mark.parametrize(
    ("letters", "case", "opposite", "then", "given", "says"),
    [
        ("real: x", "sqrt(x) >= 1", "sqrt(x) < 1", "x >= 0", "", "√x ≥ 1 has no value at x = -1"),
        ("real: x", "log(x) >= 0", "log(x) < 0", "x > 0", "", "has no value at x = 0"),
        ("nonnegative: x", "x log(x) > 1", "x log(x) <= 1", "x > 0", "", "has no value at x = 0"),
        ("real: x", "1/x^2 = 2", "1/x^2 != 2", "x^2 > 0", "", "has no value at x = 0"),
        ("real: x", "max{log(x), 0} > 1", "max{log(x), 0} <= 1", "x > 0", "", "at x = 0"),
        ("real: x", "|log(x)| > 1", "|log(x)| <= 1", "x > 0", "", "has no value at x = 0"),
        ("real: x, y", "x/y > 1", "x/y <= 1", "y^2 > 0", "", "has no value at y = 0"),
        ("real: x", "sqrt(x^3 - x) = 0", "sqrt(x^3 - x) != 0", "x^3 >= x", "", "has no value at"),
        ("real: x", "x^(1/3) > 0", "x^(1/3) <= 0", "x >= 0", "", "has no value at x = -1"),
        ("real: x, y", "x^y > 0", "x^y <= 0", "x >= 0", "", "it is not sure that x^y > 0 has"),
        ("real: x", "sqrt(x) >= 1", "sqrt(x) < 1", "x >= 0", "x >= -1", "has no value at x = -1"),
        ("vector: v, w", "log(dot(v, w)) > 1", "log(dot(v, w)) <= 1", "dot(v, w) > 0", "", "no v"),
        # Where each has a value no case is missing.
        ("real: x", "sqrt(x) >= 1", "sqrt(x) < 1", "x^2 >= 0", "x >= 0", ""),
        ("nonnegative: x", "sqrt(x) >= 1", "sqrt(x) < 1", "x^2 >= 0", "", ""),
        ("integer: k", "k >= 1", "k <= 0", "k^2 >= k", "", ""),
    ],
)
def test_what_a_case_says_has_a_value(tmp_path, letters, case, opposite, then, given, says):
    record = of_two_cases(tmp_path, letters, case, opposite, then, given)
    assert record.verdict == ("undecided" if says else "proved")
    assert says in "; ".join(record.tried)


def test_a_case_may_be_where_another_has_no_value(tmp_path):
    cases = ("real: x", "log(x) >= 0", "log(x) < 0", "x^2 >= 0")
    third = "step 3: s\n  given x <= {}  [case]\n  then x^2 >= 0\n"
    assert of_two_cases(tmp_path, *cases, extra=third.format(0)).verdict == "proved"
    assert of_two_cases(tmp_path, *cases, extra=third.format(-1)).verdict == "undecided"


def test_a_definition_that_the_cases_share_has_a_value(tmp_path):
    line = "step {}: s\n  given u {} 1  [case]\n  where u = sqrt(x)\n  then x >= 0\n"
    text = f"letters real: x, u\n{line.format(1, '>=')}{line.format(2, '<')}"
    text += "theorem all: a\n  cases (1), (2)\n  then x >= 0\n"
    text += "theorem own: a\n  where u = sqrt(x)\n  cases (1), (2)\n  then x >= 0\n"
    ledger = audit_text(text, tmp_path)
    assert [ledger[name].verdict for name in ("all", "own")] == ["undecided", "undecided"]
    assert "x ≥ 0 is not known here" in ledger["all"].tried[0]
    assert ledger["own"].tried == ("u ≥ 1 has no value at x = -1: add a case in which it has none",)


@pytest.mark.parametrize(
    ("case", "opposite", "then", "says"),
    [
        ("S >= 0", "S <= 0", "c <= 0", "S ≥ 0 and its opposite may both fail"),
        ("S >= T", "S < T", "trace(A A^T) >= 0", "S ≥ T and its opposite may both fail"),
        ("S <= c I", "S > c I", "trace(A A^T) >= 0", "and its opposite may both fail"),
        # Numbers are in an order, and matrices are equal or not.
        ("v^T S v >= 0", "v^T S v < 0", "(v^T S v)^2 >= 0", ""),
        ("trace(S) >= c", "trace(S) < c", "trace(S)^2 >= 0", ""),
        ("A = 0", "A != 0", "trace(A A^T) >= 0", ""),
    ],
)
def test_only_numbers_are_larger_or_not(tmp_path, case, opposite, then, says):
    letters = "symmetric matrix: S is n x n, T is n x n\nletters real: c\n"
    letters += "letters matrix: A is n x n, v is n x 1, w is n x 1\n"
    # With S >= 0 on one side of 0 and S <= 0 on the other: false at S = diag(1, -1).
    letters += "group C: c <= v^T S v, c <= -w^T S w  [hypothesis]"
    if then == "c <= 0":
        case, opposite = f"C; {case}", f"C; {opposite}"
    given = "c <= v^T S v, c <= -w^T S w" * (then == "c <= 0")
    record = of_two_cases(tmp_path, letters, case, opposite, then, given)
    assert record.verdict == ("undecided" if says else "proved")
    assert says in "; ".join(record.tried)


@pytest.mark.parametrize(
    ("term", "then", "verdict"),
    [
        ("sum(g(t), t, 0, k)", "c^2 >= 0", "proved"),
        ("sum(1/g(t), t, 0, k)", "c^2 >= 0", "proved"),
        ("E(X)", "E(X^2) >= 0", "proved"),
        ("sqrt(sum(f(t), t, 0, k))", "sum(f(t), t, 0, k) >= 0", "undecided"),
        ("sum(1/f(t), t, 0, k)", "c^2 >= 0", "undecided"),
    ],
)
def test_cases_of_sums_and_means(tmp_path, term, then, verdict):
    letters = "nonnegative integer: t, k\nletters real: f(t), c\nletters positive: g(t)\n"
    letters += "letters random real: X"
    record = of_two_cases(tmp_path, letters, f"{term} >= c", f"{term} < c", then)
    assert record.verdict == verdict
