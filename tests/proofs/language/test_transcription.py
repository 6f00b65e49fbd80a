"""The transcription of the paper's lines stands still: every claim, word for word.

`tests/data/transcription.json` holds each claim of the ledger as text, as it was compared with the
paper line by line. Verdicts alone would not notice a line that was changed into another true one.
After a deliberate change, ``python tests/proofs/language/test_transcription.py`` writes the file
anew, and the difference is read against the paper before it is committed.
"""

import itertools
import json
from pathlib import Path

import pytest

from swingby.errors import InvalidInput
from swingby.proofs.language import claims as ledger
from swingby.proofs.language.claim_text import difference, to_latex, to_text

FILE = Path(__file__).parents[2] / "data" / "transcription.json"


def transcription():
    """Every claim as text, with its repairs."""
    by_section = {}
    for name, section in ledger.sections().items():
        claim = ledger.by_id(name)
        by_section[f"{claim.edition}: {claim.id}"] = {
            "part": section,
            "versions": [_written_out(version) for version in claim],
            "differences": [
                difference(earlier, later, latex=latex)
                for earlier, later in itertools.pairwise(claim)
                for latex in (False, True)
            ],
        }
    return by_section


def _written_out(claim):
    """A claim or its repair: the statement and everything that decides how it is judged."""
    words = ("kind", "about", "quantifier", "in_force", "indices", "edition", "reading")
    fields = {name: getattr(claim, name) for name in words}
    return fields | {
        "statement": to_text(claim).splitlines(),
        "latex": to_latex(claim).splitlines(),
        "conclusion": str(claim.conclusion),
        "given": [f"{hypothesis.relation} [{hypothesis.source}]" for hypothesis in claim.given],
        "where": [f"{symbol} := {value}" for symbol, value in claim.where],
        "flaw": None if claim.flaw is None else str(claim.flaw),
    }


KEPT = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


@pytest.fixture(scope="module")
def today():
    return transcription()


def test_no_line_is_missing(today):
    assert list(today) == list(KEPT)


@pytest.mark.parametrize("name", KEPT)
def test_a_line_says_what_it_said(today, name):
    # Through JSON once, where a tuple is a list.
    assert json.loads(json.dumps(today[name])) == KEPT[name]


#: The ways in which a reader may write an id, by hand.
IDS = (
    *("D.4", "D.61", "D.6", "before D.29", "Assumption D.4", "Corollary D.1", "Definition D.1"),
    *("Lemma D.3", "Lemma D.3 [2]", "t_0 (Lemma D.8)", "T_1 (Lemma D.1)", "T_1 (Lemma D.3)"),
    "K >= 9",
)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        *((f"  {name.upper().replace(' ', '   ')} ", name) for name in IDS),
        *((name, name) for name in IDS),
        ("(D.61)", "D.61"),
        ("Eq. (D.61)", "D.61"),
        ("display D.4", "D.4"),
        ("line d.6", "D.6"),
        ("Ass. D.4", "Assumption D.4"),
        ("cor. d.1", "Corollary D.1"),
        ("Def.D.1", "Definition D.1"),
        ("K ≥ 9", "K >= 9"),
        # The only one that begins so.
        ("t_0", "t_0 (Lemma D.8)"),
    ],
)
def test_a_line_is_found_however_it_is_written(text, name):
    assert ledger.find(text, IDS) == name


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        # Two begin so: both are named, and neither is taken.
        ("T_1", r"close to it: T_1 \(Lemma D\.1\), T_1 \(Lemma D\.3\)\)"),
        ("Lemma D.33", r"close to it: Lemma D\.3,"),
        ("xyzzy", "such as D.61, Lemma D.3 or Assumption D.4"),
        ("", "such as D.61"),
    ],
)
def test_what_names_no_line_is_refused(text, hint):
    with pytest.raises(InvalidInput, match=hint):
        ledger.find(text, IDS)


if __name__ == "__main__":
    text = json.dumps(transcription(), indent=1, ensure_ascii=False)
    FILE.write_text(text + "\n", encoding="utf-8")
