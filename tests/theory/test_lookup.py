"""One line by its id: the ways in which a reader may write it, by hand."""

import pytest

from swingby.errors import InvalidInput
from swingby.theory.derivations.ledger import find

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
        ("Equation D.61", "D.61"),
        ("display D.4", "D.4"),
        ("line d.6", "D.6"),
        ("Ass. D.4", "Assumption D.4"),
        ("cor. d.1", "Corollary D.1"),
        ("Def.D.1", "Definition D.1"),
        ("before (D.29)", "before D.29"),
        ("K ≥ 9", "K >= 9"),
        # The only one that begins so.
        ("t_0", "t_0 (Lemma D.8)"),
    ],
)
def test_a_line_is_found_however_it_is_written(text, name):
    assert find(text, IDS) == name


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
        find(text, IDS)
