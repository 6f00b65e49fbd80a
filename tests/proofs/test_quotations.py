"""Quotations: a line says what is quoted of it, at the instance, under what it needs."""

import pytest

import swingby
from swingby.errors import InvalidInput
from swingby.proofs.audit.audit import Judgements
from swingby.proofs.audit.quotations import MATCHES, MISQUOTED, READ, UNCHECKED, quotations
from swingby.proofs.audit.standing import FALLS, OPEN, QUOTED, STANDS
from swingby.proofs.language.claims import Claims
from swingby.proofs.language.reader import Proof
from swingby.proofs.language.writer import proof_text

SMALL = """letters positive: x, y
letters nonnegative: n
letters real: v
step small: a line
  given x <= 1  [case]
  then x^2 <= x
step user: it quotes the line above
"""


def audited(text, tmp_path):
    file = tmp_path / "my.proof"
    file.write_text(text, encoding="utf-8")
    return swingby.audit(file, cache=False, progress=False, assume="")


def states(ledger, *, corrected=False):
    return {line.id: line.state for line in ledger.standing(corrected=corrected)}


def quoted(fields):
    """The quotations of the last line of a file."""
    proof = Proof(SMALL + fields, "my.proof")
    judgements = Judgements(proof, False, False, "my.proof")
    return quotations(proof[list(proof)[-1]], proof, judgements.judged)


@pytest.mark.parametrize(
    ("fields", "state", "words"),
    [
        ("given x^2 <= x/100 [small]\n  then x <= 1/100", MISQUOTED, "it does not say"),
        ("given (small); x <= 1 [case]\n  then x <= 1", MATCHES, ""),
        ("given (small)\n  then x <= 1", UNCHECKED, "x ≤ 1 is not known here"),
        # It follows from what is given, without being the same.
        ("given (small); x <= 1/2 [case]\n  then x <= 1", MATCHES, ""),
        ("given 2 x^2 < 2 x + y [small]; x <= 1 [case]\n  then x <= 9", MATCHES, ""),
        ("given (small) with x = y\n        y <= 1 [case]\n  then y <= 1", MATCHES, ""),
        ("given y^2 <= y [small with x = y]; y <= 1 [case]\n  then y <= 1", MATCHES, ""),
        # What an instance says is not what the line says of its own letter.
        ("given x^2 <= x [small with x = y]; x <= 2, y <= 1 [case]\n  then x <= 1", MISQUOTED, ""),
        ("given (small) with x = y; x <= 1 [case]\n  then y <= 1", UNCHECKED, "y ≤ 1 is not"),
        # Signs: x is positive, n may be 0, v may be negative.
        ("given (small) with x = n; n <= 1 [case]\n  then n <= 1", UNCHECKED, "n > 0 is not"),
        ("given (small) with x = v; 0 < v <= 1 [case]\n  then v <= 1", MATCHES, ""),
        ("given (small) with x = x - y; x <= 1 [case]\n  then x >= y", UNCHECKED, "x − y > 0"),
        ("given y >= x [smal with x = y]\n  then y >= x", UNCHECKED, "no such line"),
        # What is taken away on both sides has to have a value, too.
        ("given log(v) = log(v) [small]\n  then v > 0", MISQUOTED, ""),
        ("given x^2 + 1/v <= x + 1/v [small]; x <= 1 [case]\n  then v != 0", MISQUOTED, ""),
        (
            "given x^2 + log(n) <= x + log(n) [small]; x <= n [case]; x <= 1 [case]\n  then n > 0",
            MATCHES,
            "",
        ),
    ],
)
def test_what_a_quotation_is_worth(fields, state, words):
    (quotation,) = quoted(f"  {fields}")
    assert quotation.state == state
    assert words in str(quotation)


def test_a_hypothesis_that_divides_by_0_at_an_instance_is_not_known():
    (quotation,) = quoted("""  given 1/v <= 2 [case]
  then |x v| = x |v|
step last: at 0
  given (user) with v = 0
  then 0 = 0""")
    assert quotation.state == UNCHECKED


@pytest.mark.parametrize("source", ["(small)", "by small", "small repaired", "small in the mean"])
def test_a_source_that_means_a_line_is_its_id(source):
    with pytest.raises(InvalidInput, match="must be written as the id that is meant: small"):
        quoted(f"  given x <= 9 [{source}]\n  then x <= 9")


def test_a_repair_for_some_numbers_is_quoted_of_no_others(tmp_path):
    lines = """letters real: x, y
step first: wrong, and repaired to what says nothing of all numbers
  then x >= 1
  repair
    for some numbers
step user: of all numbers
  given (first)
  then x >= 1
step repaired: likewise
  given (first) repaired
  then x >= 1
step instance: likewise
  given (first) with x = y
  then y >= 1
"""
    ledger = audited(lines, tmp_path)
    assert states(ledger) == {
        "first": FALLS,
        **dict.fromkeys(("user", "repaired", "instance"), FALLS),
    }


def test_the_repair_of_a_line_that_is_not_refuted_stands_for_itself(tmp_path):
    """The line is true and its repair is not: what says the repair falls with it."""
    lines = """letters real: x, y
step first: true as it is, and wrong as it is repaired
  then x^2 >= 0
  repair
    then x >= 1
step other: in its case alone, but for the repair
  given x >= 1  [case]
  then x >= 0
  repair
    given nothing
step by id: the repair
  given x >= 1  [first]
  then x >= 1
step repaired: the repair
  given (first) repaired with x = y
  then y >= 1
step itself: the line
  given (first)
  then x^2 >= 0
step without: the case is not known here
  given (other)
  then x >= 0
"""
    ledger = audited(lines, tmp_path)
    wrong = ("by id", "repaired", "without")
    assert {name: states(ledger)[name] for name in wrong} == dict.fromkeys(wrong, FALLS)
    assert states(ledger)["itself"] == STANDS


def test_lines_are_put_together_as_they_are_and_not_as_repaired(tmp_path):
    """The repair of a line does without a hypothesis, and is wrong."""
    lines = """letters nonnegative integer: t
letters real: f(t), x
step other: in its case, from what is not known below
  given x >= 0  [case]; f(0) <= 1  [hypothesis]
  then f(0) <= 1
  repair
    given x >= 0  [case]
step next: by what is assumed
  given x < 0  [case]; f(0) <= 1  [start]
  then f(0) <= 1
theorem all: from both
  cases (other), (next)
  then f(0) <= 1
step base: at 0, likewise
  given f(0) <= 1  [hypothesis]
  then f(0) <= 1
  repair
    given nothing
step rise: one step
  given f(t) <= 1  [induction]; f(t+1) <= f(t)  [rule]
  then f(t+1) <= 1
theorem always: from both
  given f(t+1) <= f(t)  [rule]
  for all t
  base (base)
  step (rise)
  then f(t) <= 1
"""
    ledger = audited(lines, tmp_path)
    assert [ledger[name].verdict for name in ("all", "always")] == ["undecided"] * 2


def test_definitions_of_two_lines_that_are_put_in_go_in_no_circle(tmp_path):
    """Of y = x^2 and x = y + 1 there are no real numbers, and of x = y + 1 alone x may be 0."""
    lines = """letters real: x, y
step first: a square
  where y = x^2
  then y >= 0
step same: as above
  where y = x^2
  given (first)
  then y + 1 >= 1
step user: the circle
  where x = y + 1
  given (first)
  then x >= 1
"""
    assert states(audited(lines, tmp_path)) == {"first": STANDS, "same": STANDS, "user": FALLS}


def test_the_misquoted_line_of_a_proof_does_not_stand(tmp_path):
    ledger = audited(f"{SMALL}  given x^2 <= x/100 [small]\n  then x <= 1/100\n", tmp_path)
    assert ledger["user"].verdict == "proved"
    assert states(ledger) == {"small": STANDS, "user": FALLS}
    assert "misquoted (it does not say x² ≤ x/100)" in ledger["user"].to_text()
    assert "1 line quotes what the quoted line does not say" in str(ledger)
    ledger = audited(f"{SMALL}  given (small)\n  then x <= 1\n", tmp_path)
    assert states(ledger) == {"small": STANDS, "user": QUOTED}


def test_two_lines_do_not_prove_each_other(tmp_path):
    """Each has what the other needs; neither is shown."""
    lines = """letters positive: x
step one: from the other
  given x^2 <= 4 [two]
  then x <= 2
step two: from the one
  given x <= 2 [one]
  then x^2 <= 4
"""
    ledger = audited(lines, tmp_path)
    assert [record.verdict for record in ledger] == ["proved", "proved"]
    assert set(states(ledger).values()) == {OPEN}


def test_hypotheses_do_not_come_in_a_circle():
    """The first line holds if y <= 1 does, the second if x <= 1 does: neither is known."""
    text = """  given y <= 1  [case]
  then x <= 9
step first: x
  given y <= 1  [case]
  then x <= 1
step second: y
  given x <= 1  [case]
  then y <= 1
step both: from both
  given x <= 1  [first]
        y <= 1  [second]
  then x + y <= 2
"""
    assert [each.state for each in quoted(text)] == [UNCHECKED, UNCHECKED]


def test_a_definition_is_the_same_everywhere(tmp_path):
    lines = """letters positive: g, h
letters real: m, q
step first: a move
  given m = -h g  [definition]
  then m < 0
step same: written otherwise
  given 2 m + 2 h g = 0, q = -h, m = q g  [definition]
  then m < 0
step wrong: twice as far
  given m = -2 h g  [definition]
  then m < 0
"""
    ledger = audited(lines, tmp_path)
    assert [record.verdict for record in ledger] == ["proved"] * 3
    assert states(ledger) == {"first": STANDS, "same": STANDS, "wrong": FALLS}
    assert "it defines m = −g h, and here m = −2 g h" in ledger["wrong"].to_text()


def test_a_letter_that_two_quoted_lines_define_otherwise_is_seen():
    text = """  where v = x + y
  then v > 0
step first: v is a sum
  where v = x + y
  then v > x
step second: v is a difference
  where v = x - y
  then v < x
step both: a contradiction
  given (first); (second)
  then x > y
"""
    first, second = quoted(text)
    assert (first.state, second.state) == (MATCHES, UNCHECKED)


#: Gradient descent on a smooth convex f: `gap`, `gap_next` of f, `square` of the gradient.
SMOOTH = """letters positive: L
letters nonnegative: gap, gap_next, square
step lemma: a step of size 1/L from any point
  given gap_next <= gap - square/L + square/(2 L)  [L-smoothness]
  then gap_next <= gap - {factor} square/L
step theorem: the same, at another point
  given (lemma) with gap = gap_next, gap_next = gap
        gap - gap_next <= -square/(2 L)  [L-smoothness]
  then gap <= gap_next
"""


def test_a_planted_error_reaches_the_theorem_that_quotes_an_instance(tmp_path):
    ledger = audited(SMOOTH.format(factor="1/2"), tmp_path)
    assert states(ledger) == {"lemma": STANDS, "theorem": STANDS}
    ledger = audited(SMOOTH.format(factor=""), tmp_path)
    assert [record.verdict for record in ledger] == ["refuted", "proved"]
    assert states(ledger) == {"lemma": FALLS, "theorem": FALLS}
    assert ledger["theorem"].rests_on_refuted == ("lemma",)
    mended = "\n  repair\n    then gap_next <= gap - square/(2 L)\nstep theorem"
    ledger = audited(SMOOTH.format(factor="").replace("\nstep theorem", mended), tmp_path)
    assert ledger["lemma"].downstream == (("theorem", "still follows"),)
    assert states(ledger, corrected=True) == {"lemma": STANDS, "theorem": STANDS}


@pytest.mark.parametrize(
    ("cited", "column", "says"),
    [
        ("(small) with y = x", 22, "must be a letter of (small): x, got y"),
        ("(small) with x = y, x = x", 22, "must say once what stands for a letter, got x"),
        ("(small) with x <= y", 22, "must say what stands for letters"),
        ("x <= y  [small with x + 1 = y]", 29, "must say what stands for letters"),
        ("(large) with x = y", 9, "or a line above in brackets"),
    ],
)
def test_a_mistake_in_an_instance_is_named_with_its_place(cited, column, says):
    with pytest.raises(InvalidInput) as caught:
        Proof(f"{SMALL}  given {cited}\n  then x <= 1", "my.proof")["user"]
    assert str(caught.value).startswith(f"my.proof, line 8, column {column}: ")
    assert says in str(caught.value)


def test_an_instance_and_a_reading_are_written_as_they_are_read():
    text = f"{SMALL}  given (small) with x = y + x\n  then x <= 1\n  quoted as x <= 2"
    claims = list(Proof(text).values())
    assert list(Proof(proof_text(claims)).values()) == claims
    assert claims[1].given[0].instance


def test_what_a_person_reads_is_among_what_a_line_rests_on(tmp_path):
    lines = """letters positive: x
step hand: a limit
  then by hand: x tends to 0
  because it does
  quoted as x <= 1
step user: so
  given x <= 1  [hand]
  then x^2 <= 1
"""
    ledger = audited(lines, tmp_path)
    assert ledger["user"].quotations[0].state == READ
    assert "hand as read" in ledger.standing()[1].assumes


def test_every_quotation_of_the_package_matches():
    claims = dict(Claims())
    judge = Judgements(claims, False, True).judged
    unmatched = [
        (version.id, version.edition, str(quotation))
        for claim in claims.values()
        for version in claim
        for quotation in quotations(version, claims, judge)
        if quotation.open
    ]
    assert unmatched == []
