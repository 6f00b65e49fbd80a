"""Every line of the paper that is about numbers or matrices, against a verdict reached by hand.

The expected verdicts are those of ``tests/hand_verdicts.py``. Claims about whole trajectories are
in prover/test_trajectory.py.
"""

import pytest

from swingby.proofs.language import claims as text
from tests.hand_verdicts import AS_REFUTED, LINES

IDS = [claim.id for claim in LINES]
#: They take five seconds each: for the full profile alone.
LONG = {"D.20, printed", "D.81, corrected", "D.81 (with the right t_0), corrected"}


def each(lines):
    """The lines as parameters of a test."""
    marks = dict.fromkeys(LONG, pytest.mark.full)
    return [
        pytest.param(one, marks=marks.get(f"{one.id}, {one.edition}", ()), id=one.id)
        for one in lines
    ]


def test_the_list_names_lines_of_the_ledger():
    assert set(IDS) > AS_REFUTED


def test_all_numbered_displays_are_there():
    everything = set(text.Claims())
    numbered = {
        *(f"4.{number}" for number in (1, 2, 3)),
        *("B.2", "E.1", "Theorem 4.1", "Definition D.1", "Assertion D.1"),
        *(f"C.{number}" for number in range(1, 22)),
        *(f"D.{number}" for number in range(1, 83)),
        *(f"Assumption D.{number}" for number in range(1, 6)),
        *(f"Lemma D.{number}" for number in range(1, 9)),
        *("Corollary D.1", "Corollary D.2", "before D.29"),
        *("T_1 (Lemma D.1)", "T_1 (Lemma D.2)", "t_0 (Lemma D.8)", "t* (Lemma D.8)"),
    }
    assert numbered <= everything
    assert len(everything) >= 115


@pytest.mark.parametrize("line", each(LINES))
def test_verdict(line, verdict):
    expected = "refuted" if line.id in AS_REFUTED else "proved"
    judged = verdict(line)
    assert judged.verdict == expected, judged
    if expected == "refuted":
        assert line.flaw is not None
        assert judged.witness is not None or line.quantifier == "exists"


@pytest.mark.parametrize("repair", each(one.repair for one in LINES if one.repair))
def test_verdict_on_the_repair(repair, verdict):
    assert verdict(repair).verdict == "proved"


def test_a_refuted_line_has_a_repair_and_only_a_refuted_line_a_flaw():
    for line in LINES:
        assert (line.flaw is not None) == (line.id in AS_REFUTED), line.id
        assert line.repair is not None or line.id not in AS_REFUTED, line.id
