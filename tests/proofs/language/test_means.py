"""Means over random letters: linear, and quoted of what holds for every outcome."""

import pytest

import swingby
from swingby.errors import InvalidInput
from swingby.proofs.language.reader import Proof

LETTERS = """letters random vector: g
letters random real: r
letters vector: x
letters real: c
letters positive: η
"""


def verdict(fields, tmp_path):
    file = tmp_path / "my.proof"
    file.write_text(f"{LETTERS}step 1: a line\n  {fields}\n", encoding="utf-8")
    return swingby.audit(file, cache=False, progress=False)[0].verdict


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("then E(c r + c) = c E(r) + c", "proved"),
        ("then E(|g - x|^2) = E(|g|^2) - 2 dot(E(g), x) + |x|^2", "proved"),
        ("then E((r - c)²) = E(r²) - 2 c E(r) + c²", "proved"),
        ("then E(r²) >= E(r)²", "proved"),
        ("given E(g) = x [unbiased]\n  then E(|g - x|^2) = E(|g|^2) - |x|^2", "proved"),
        ("then E(|η g|^2) >= η² |E(g)|²", "proved"),
        ("then E(r²) = E(r)²", "refuted"),
        ("then E(r) >= r", "refuted"),
        ("then E(|g|^2) <= |E(g)|²", "refuted"),
    ],
)
def test_claims_about_means(fields, expected, tmp_path):
    assert verdict(fields, tmp_path) == expected


MEAN = f"""{LETTERS}step every: for every outcome
  given r >= 0  [case]
  then (r + c)² >= c²  {{more}}
step user: in the mean
  given (every) in the mean{{given}}
  then E(r²) + 2 c E(r) >= 0
"""


@pytest.mark.parametrize(
    ("given", "states"),
    [
        ("", ["falls", "falls"]),
        ("; c >= 0  [case]", ["falls", "falls"]),
    ],
)
def test_a_refuted_line_falls_with_its_mean(given, states, tmp_path):
    file = tmp_path / "my.proof"
    file.write_text(MEAN.format(more="", given=given), encoding="utf-8")
    ledger = swingby.audit(file, cache=False, progress=False)
    assert [line.state for line in ledger.standing()] == states


def test_what_a_line_needs_holds_for_every_outcome_where_its_mean_is_quoted(tmp_path):
    """That r is not negative in the mean is not enough for r² >= 0 to be used as if it were."""
    text = f"""{LETTERS}step every: for every outcome
  given r >= 1  [case]
  then r² >= r
step mean: it holds in the mean only
  given (every) in the mean
        E(r) >= 1  [case]
  then E(r²) >= 1
step one: it holds for one outcome
  given (every) in the mean
        r >= 1  [case]
  then E(r²) >= E(r)
step sure: it holds for every outcome
  given (every) in the mean
        r >= 1  [bounded below]
  then E(r²) >= E(r)
"""
    file = tmp_path / "my.proof"
    file.write_text(text, encoding="utf-8")
    ledger = swingby.audit(file, cache=False, progress=False)
    states = [line.state for line in ledger.standing()]
    assert states == ["stands", "quoted, not checked", "quoted, not checked", "stands"]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ("then E(r g) = x", "a random number times a vector"),
        ("then E(E(r)) = c", "a mean of a mean"),
    ],
)
def test_what_has_no_mean_is_refused(fields, says):
    with pytest.raises(InvalidInput, match=says):
        Proof(f"{LETTERS}step 1: a line\n  {fields}", "my.proof")["1"]


def test_that_numbers_differ_is_not_quoted_in_the_mean():
    text = f"{LETTERS}step 1: a\n  then r != c\nstep 2: b\n  given (1) in the mean\n  then c > 0"
    with pytest.raises(InvalidInput, match="numbers that differ may agree there"):
        Proof(text)["2"]
