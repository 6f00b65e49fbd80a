"""False lines that a careless reading of a quotation or a definition would let stand."""

import pytest

import swingby
from swingby.errors import InvalidInput
from swingby.proofs.audit.standing import FALLS, OPEN, QUOTED, STANDS

LETTERS = "letters positive: x, y, m, q\n"
SMALL = "step small: true\n  given x <= 1 [case]\n  then x^2 <= x\n"
SUM = "step a: m\n  given m = x + y [definition]\n  then m >= x + y\n"


def ledger_of(text, folder, **others):
    for name, used in others.items():
        (folder / f"{name}.proof").write_text(used, encoding="utf-8")
    (folder / "my.proof").write_text(text, encoding="utf-8")
    return swingby.audit(folder / "my.proof", cache=False, progress=False)


def last(ledger):
    return ledger.standing()[-1]


#: What the line `bad` has to be, and the file.
FALSE = {
    "some numbers": (
        QUOTED,
        "step a: some\n  for some numbers\n  then x <= 1/2\n"
        "step bad: all\n  given (a)\n  then x <= 1",
    ),
    "some numbers at an instance": (
        QUOTED,
        "step a: some\n  for some numbers\n  given x >= 1 [case]\n  then x <= 2\n"
        "step bad: all\n  given (a) with x = y\n        y >= 1 [case]\n  then y <= 2",
    ),
    "a case of the repair": (
        FALLS,
        "step a: without its case\n  then x^2 <= x\n  repair\n    also given x <= 1 [case]\n"
        "step bad: all\n  given (a)\n  then x <= 1",
    ),
    "a case of the repair, at an instance": (
        FALLS,
        "step a: under another case\n  given x <= 2 [case]\n  then x^2 <= x\n"
        "  repair\n    given x <= 1 [case]\n"
        "step bad: all\n  given (a) repaired with x = y\n        y <= 2 [case]\n  then y <= 1",
    ),
    "a definition of the repair": (
        FALLS,
        "step a: as printed\n  given m = x [definition]\n  then m > x\n"
        "  repair\n    given m = 2 x [definition]\nstep bad: m\n  given (a)\n  then m > x",
    ),
    "a line that quotes itself": (OPEN, "step bad: itself\n  given x <= 1 [bad]\n  then x^2 <= 1"),
    "at an instance": (
        OPEN,
        "step bad: itself\n  given y <= 1 [bad with x = y]\n  then x <= 1\n".replace(
            "then x <= 1", "then x + y <= x + 1"
        ),
    ),
    "an assumption that misquotes": (
        FALLS,
        f"{SMALL}assumption A: it misquotes\n  given x <= 1/2 [small]\n  then x <= 1\n"
        "step bad: from it\n  given (A)\n  then x <= 1",
    ),
    "an assumption on a line that falls": (
        FALLS,
        "step a: false\n  then x <= 1\nassumption A: from it\n  given (a)\n  then x <= 1\n"
        "step bad: from it\n  given (A)\n  then x <= 1",
    ),
    "a reading that numbers refute": (
        FALLS,
        "step a: read wrongly\n  then x <= x^2 + 1\n  quoted as x <= 1\n"
        "step bad: as read\n  given x <= 1 [a]\n  then x <= 2",
    ),
    "a definition turned round": (
        FALLS,
        f"{SUM}step b: half\n  given x = m - y/2 [definition]\n  then m <= x + y/2\n"
        "step bad: half\n  given (b)\n  then m <= x + y/2",
    ),
    "a definition of twice the letter": (
        FALLS,
        f"{SUM}step bad: half\n  given 2 m = x + y [definition]\n  then m <= x + y/2",
    ),
    "a definition of a square": (
        FALLS,
        f"{SUM}step bad: 1\n  given m^2 = 1 [definition]\n  then m <= 1",
    ),
    "a definition that is put in": (
        FALLS,
        f"{SUM}step bad: half\n  where m = x\n  then m <= x",
    ),
    "one letter defined twice": (
        FALLS,
        "step a: m\n  given m = x + 1, m = 2 [definition]\n  then x <= 1\n"
        "step bad: so\n  given (a) with x = y\n  then y <= 1",
    ),
    "one letter defined twice, once put in": (
        FALLS,
        "step bad: m\n  given m = x [definition]\n  where m = x + y\n  then x <= 1",
    ),
    "a letter defined by itself": (
        FALLS,
        "step bad: m\n  given m = m^2 [definition]\n  then m <= 1",
    ),
    "the sign of a defined letter": (
        QUOTED,
        "step bad: q\n  given q = x - y [definition]\n  then x > y",
    ),
    "the sign of two defined letters": (
        QUOTED,
        "step bad: q\n  given q = x - y, m = x - y [definition]\n  then x > y",
    ),
    "a line with the name of the facts on vectors": (
        FALLS,
        "step vectors: false\n  then x <= 1\nstep bad: so\n  given x <= 1 [vectors]\n  then x <= 2",
    ),
}


@pytest.mark.parametrize("case", FALSE)
def test_a_false_line_does_not_stand(case, tmp_path):
    state, text = FALSE[case]
    assert last(ledger_of(LETTERS + text, tmp_path)).state == state


#: What must not be read, with the place and a part of what is said.
REFUSED = {
    "a name twice": ("let u = x\nlet u = x/2\n", "line 3, column 5", "a new name"),
    "a name of a letter": ("let y = 3 x\n", "line 2, column 5", "no letter"),
    "a letter of a name": ("let u = x\nletters real: u\n", "line 3", "declared once"),
    "a group twice": (
        "group G: x <= 1 [case]\ngroup G: x <= 5 [case]\n",
        "line 3, column 7",
        "one group alone",
    ),
    "another case": (
        "step Small: x\n  then x > 0\nstep b2: b\n  given x > 0 [small]\n  then x > 0\n",
        "line 5, column 16",
        "the id that is meant: Small",
    ),
    "another alphabet": (
        "step Small: x\n  then x > 0\nstep b2: b\n  given x > 0 [Sm\u0430ll]\n  then x > 0\n",
        "line 5, column 16",
        "the id that is meant: Small",
    ),
    "a space": (
        "step Small: x\n  then x > 0\nstep b2: b\n  given x > 0 [Small ]\n  then x > 0\n",
        "line 5, column 16",
        "the id that is meant: Small",
    ),
    "a word before it": (
        "step Small: x\n  then x > 0\nstep b2: b\n  given x > 0 [lemma small]\n  then x > 0\n",
        "line 5, column 16",
        "the id that is meant: Small",
    ),
    "a case in another case": (
        "step b2: b\n  given x > 0 [Case]\n  then x > 0\n",
        "line 3, column 16",
        "the id that is meant: case",
    ),
    "in a group": (
        "group G: x > 0 [small]\nstep Small: x\n  given G\n  then x > 0\n",
        "line 2, column 17",
        "the id that is meant: Small",
    ),
    "a formula as a number": (
        "step f: f\n  then formula: x/x = 1\nstep b2: b\n  given (f)\n  then x > 0\n",
        "line 4, column 6",
        "(f) is a formula",
    ),
    "one letter with two signs": (
        'letters real: b = "x"\nstep b2: b\n  given b >= -1 [case]\n  then x > 0\n',
        "line 3, column 6",
        "must use x with one sign",
    ),
    "a definition put in, and another": (
        "step a: a\n  where m = x + y\n  then m >= x\nstep b2: b\n  where m = x\n  then m > 0\n",
        "line 6, column 9",
        "must define m as (a) does",
    ),
    "the source of a case": ("step case: x\n  then x > 0\n", "line 2, column 6", "an id"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_name_means_one_thing(case, tmp_path):
    text, place, words = REFUSED[case]
    with pytest.raises(InvalidInput) as caught:
        ledger_of(LETTERS + text + "step b: b\n  then x > 0\n", tmp_path)
    assert f"my.proof, {place}" in str(caught.value)
    assert words in str(caught.value)


def test_the_name_of_the_facts_on_vectors_is_a_source_as_any_other(tmp_path):
    text = f"{LETTERS}step a: x\n  given x <= 1 [vectors]\n  then x^2 <= 1"
    standing = last(ledger_of(text, tmp_path))
    assert (standing.state, standing.assumes) == (STANDS, ("vectors",))


def test_a_line_for_some_numbers_may_quote_another(tmp_path):
    text = "step a: some\n  for some numbers\n  then x <= 1/2\n"
    text += "step b: some\n  for some numbers\n  given (a)\n  then x <= 1\n"
    assert last(ledger_of(LETTERS + text, tmp_path)).state == STANDS


OTHER = "letters positive: x\nstep small: a line\n  given x <= 1 [case]\n  then x^2 <= {bound}\n"
OTHER += "step next: it quotes that\n  given (small); x <= 1 [case]\n  then x^2 <= 1\n"


@pytest.mark.parametrize(
    ("bound", "fields", "state"),
    [
        ("x", "(small); x <= 1 [case]", STANDS),
        ("x", "(small)", QUOTED),
        ("x", "x^2 <= x [small]", QUOTED),
        ("x", "(small) with x = y", QUOTED),
        ("x/2", "(small); x <= 1 [case]", FALLS),
    ],
)
def test_a_line_of_another_file_is_compared_and_named(bound, fields, state, tmp_path):
    text = f"use other\nletters positive: y\nstep bad: so\n  given {fields}\n  then x + y > 0\n"
    standing = last(ledger_of(text, tmp_path, other=OTHER.format(bound=bound)))
    assert standing.state == state
    if state == STANDS:
        assert "small (other.proof), not judged here" in standing.assumes


def test_a_line_with_the_id_of_a_line_of_another_file_is_another(tmp_path):
    text = "use other\nstep small: mine\n  then x > 0\nstep bad: so\n"
    text += "  given x^2 <= x [small]\n  then x <= 1\n"
    assert last(ledger_of(text, tmp_path, other=OTHER.format(bound="x"))).state == FALLS


def test_what_defines_no_letter_is_named(tmp_path):
    text = f"{LETTERS}step bad: x\n  given x <= 1, 2 m = x + y [definition]\n  then 2 m <= 1 + y\n"
    standing = last(ledger_of(text, tmp_path))
    assert standing.state == STANDS
    assert {"x ≤ 1, by definition", "2 m = x + y, by definition"} <= {*standing.assumes}


@pytest.mark.parametrize(
    "fields",
    [
        "given q = x - y [definition]; y < x [case]\n  then q < x",
        "given m = 2 x, q = m + y [definition]\n  then q > x",
    ],
)
def test_a_definition_whose_sign_is_known_stands(fields, tmp_path):
    assert last(ledger_of(f"{LETTERS}step a: q\n  {fields}\n", tmp_path)).state == STANDS


def test_a_line_that_does_not_meet_a_repair_falls_with_it_corrected_too(tmp_path):
    text = "step a: x\n  then x^2 <= x/2\n  repair\n    also given x <= 1 [case]\n"
    text += "    then x^2 <= x\nstep bad: all\n  given (a)\n  then x <= 1\n"
    (standing,) = ledger_of(LETTERS + text, tmp_path).standing(corrected=True)[1:]
    assert standing.state != STANDS
