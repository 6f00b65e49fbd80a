"""Induction over t: what two lines give together, and what they do not."""

import pytest

from swingby.errors import InvalidInput
from swingby.proofs.language.reader import Proof
from swingby.proofs.language.writer import proof_text
from tests.proofs.audited import audit_text, states

LETTERS = """letters positive: q, c
letters nonnegative: gap(t)
letters nonnegative integer: t
letters real: v
"""
LINES = (
    LETTERS
    + """step start: at the start
  then gap(0) <= q^0 gap(0)
step once: one step
  given gap(t+1) <= {rate} gap(t)  [contraction]
        gap(t) <= q^t gap(0)  [induction]
  then gap(t+1) <= q^(t + 1) gap(0)
theorem rate: at every time
  for all t
  base (start)
  step (once)
  then gap(t) <= q^t gap(0)
"""
)


def test_base_and_step_are_put_together(tmp_path):
    ledger = audit_text(LINES.format(rate="q"), tmp_path)
    assert ledger["rate"].verdict == "proved"
    assert ledger["rate"].rests_on == ("start", "once")
    assert states(ledger)["rate"] == "stands"
    # The induction hypothesis is no promise of the theorem.
    assert ledger.standing()[2].assumes == ("contraction",)
    assert "for t = 0, 1, 2, ..., by induction from (start) and (once)" in ledger["rate"].to_text()


def test_an_error_in_the_step_reaches_the_theorem(tmp_path):
    ledger = audit_text(LINES.format(rate="2 q"), tmp_path)
    assert ledger["once"].verdict == "refuted"
    assert states(ledger)["rate"] == "falls"
    assert ledger["rate"].rests_on_refuted == ("once",)


@pytest.mark.parametrize(
    ("lines", "verdict", "words"),
    [
        # Without lines the prover is asked at 0, and at t + 1.
        ("then gap(t) <= q^t gap(0)\n  given gap(t+1) <= q gap(t)  [contraction]", "proved", ""),
        ("then gap(t) <= q^t gap(0)", "undecided", "from t to t + 1: refuted"),
        # What is given of two times is not moved: gap(t+1) <= gap(t+1)/2 would be too much.
        (
            "given gap(t+1) <= gap(t)/2, q <= 1/4  [x]\n  then gap(t) <= q^t gap(0)",
            "undecided",
            "from t to t + 1: ",
        ),
        ("given gap(t+1) <= gap(t)/2  [x]\n  then gap(t) <= (1/2)^t gap(0)", "proved", ""),
        # At 0 it is false.
        (
            "given gap(t+1) <= gap(t)  [x]\n  then gap(t) <= gap(0) - c",
            "undecided",
            "at t = 0: refuted",
        ),
        # The step needs more than the statement at t.
        ("step (more)\n  then gap(t) <= c", "undecided", "q ≤ 1 is not known here"),
        ("step (more)\n  given q <= 1, gap(0) <= c  [case]\n  then gap(t) <= c", "proved", ""),
        # Its induction hypothesis is not the statement.
        ("step (other)\n  then gap(t) <= 2 c", "undecided", "gap(t) ≤ c is not known here"),
        # It says it of another letter.
        ("base (elsewhere)\n  then gap(t) >= 0", "undecided", "v ≤ c is not known here"),
        ("base (elsewhere)\n  then gap(t) <= c", "undecided", "at t = 0 by elsewhere"),
        # A sum of the first numbers: t alone.
        ("given v = 1/2  [definition]\n  then v t (t + 1) >= t", "proved", ""),
    ],
)
def test_what_lines_give_together(lines, verdict, words, tmp_path):
    text = f"""{LETTERS}step more: needs q <= 1
  given gap(t+1) <= q gap(t)  [contraction]
        q <= 1  [case]
        gap(t) <= c  [induction]
  then gap(t+1) <= c
step other: for c alone
  given gap(t+1) <= gap(t) + c  [contraction]
        gap(t) <= c  [induction]
  then gap(t+1) <= 2 c
step elsewhere: of v
  given v <= c [case]
  then v <= c + 1
lemma whole: for every t
  for all t
  {lines}
"""
    record = audit_text(text, tmp_path)["whole"]
    assert record.verdict == verdict
    assert words in record.to_text(width=200)


@pytest.mark.parametrize(
    ("source", "state"), [("hypothesis", "quoted, not checked"), ("contraction", "stands")]
)
def test_what_a_line_needs_at_every_t_is_not_known_at_one(source, state, tmp_path):
    text = f"""{LETTERS}lemma every: at every t
  for all t
  given gap(t+1) <= gap(t)  [{source}]
  then gap(t) <= gap(0)
step user: at one t
  given (every)
        gap(t+1) <= gap(t)  [{source}]
  then gap(t+1) <= gap(0)
"""
    assert states(audit_text(text, tmp_path)) == {"every": "stands", "user": state}


@pytest.mark.parametrize(
    ("lines", "line", "column", "says"),
    [
        ("base (start)\n  then c <= 1", 11, 8, "must stand beside: for all t, got base"),
        ("for all t\n  base start\n  then gap(t) <= c", 12, 8, "must be a line above in brackets"),
        ("for all t\n  step (none)\n  then gap(t) <= c", 12, 8, "must be a line above in brackets"),
        ("for all t\n  then c <= q", 12, 8, "must change with t"),
        ("for all t\n  then gap(t+1) <= gap(t)", 12, 8, "must be about time t alone"),
        ("for all t\n  then by hand: it is\n  because so", 12, 8, "must be about numbers"),
        ("given (whole) with t = t + 1\n  then c > 0", 11, 22, "must not change the time"),
    ],
)
def test_a_mistake_is_named_with_its_place(lines, line, column, says):
    text = (
        f"{LETTERS}step start: s\n  then c > 0\nlemma whole: w\n  for all t\n  then gap(t) >= -t\n"
    )
    with pytest.raises(InvalidInput) as caught:
        Proof(f"{text}lemma last: l\n  {lines}", "my.proof")["last"]
    assert str(caught.value).startswith(f"my.proof, line {line}, column {column}: ")
    assert says in str(caught.value)


def test_the_time_counts():
    text = "letters nonnegative: t\nlemma a: b\n  for all t\n  then 2 t >= t"
    with pytest.raises(InvalidInput, match="must count: letters nonnegative integer: t"):
        Proof(text)["a"]


def test_it_is_written_as_it_is_read():
    claims = list(Proof(LINES.format(rate="q")).values())
    assert list(Proof(proof_text(claims)).values()) == claims


SEQUENCE = """letters nonnegative: a(t), c
letters nonnegative integer: t, s
step zero: at 0
  given a(0) = 1  [initial value]
  then a(0) <= 2^0
step one: at 1
  given a(1) = 1  [initial value]
  then a(1) <= 2^1
step both: from two values
  given a(t+2) = a(t+1) + {} a(t)  [recurrence]
        a(t) <= 2^t  [induction]
        a(t+1) <= 2^(t+1)  [induction]
  then a(t+2) <= 2^(t+2)
theorem bound: at every time
  for all t
  base {}
  step (both)
  then a(t) <= 2^t
"""


@pytest.mark.parametrize(
    ("factor", "base", "verdict"),
    [
        ("1", "(zero), (one)", "proved"),
        ("2", "(zero), (one)", "proved"),
        ("1", "(zero)", "undecided"),
        ("1", "(one), (zero)", "undecided"),
        ("1", "(zero), (zero)", "undecided"),
    ],
)
def test_a_step_from_two_times_has_two_bases(tmp_path, factor, base, verdict):
    ledger = audit_text(SEQUENCE.format(factor, base), tmp_path)
    assert ledger["bound"].verdict == verdict
    if verdict == "proved":
        assert ledger["bound"].rests_on == ("zero", "one", "both")
        assert states(ledger)["bound"] == "stands"


def test_an_error_in_a_step_from_two_times_reaches_the_theorem(tmp_path):
    ledger = audit_text(SEQUENCE.format("3", "(zero), (one)"), tmp_path)
    assert ledger["both"].verdict == "refuted"
    assert states(ledger)["bound"] == "falls"


STRONG = """letters nonnegative: a(t), c
letters nonnegative integer: t, s
step zero: at 0
  given a(0) <= c  [initial value]
  then a(0) <= c
step next: from all times before
  given a(t+1) <= sum(a(s), s, 0, t)/(t + 1)  [recurrence]
        {} for s from 0 to t  [induction]
  then a(t+1) <= c
theorem bound: at every time
  for all t
  base (zero)
  step (next)
  then a(t) <= c
"""


@pytest.mark.parametrize(
    ("hypothesis", "state"),
    [
        ("a(s) <= c", "stands"),
        ("a(s) <= c/2", "quoted, not checked"),
        ("a(s+1) <= c", "open"),
    ],
)
def test_a_step_may_rest_on_all_times_before(tmp_path, hypothesis, state):
    ledger = audit_text(STRONG.format(hypothesis), tmp_path)
    proved = state == "stands"
    assert ledger["bound"].verdict == ("proved" if proved else "undecided")
    assert (states(ledger)["bound"] == "stands") == proved


def test_two_bases_are_written_as_they_are_read():
    proof = Proof(SEQUENCE.format("1", "(zero), (one)"))
    assert Proof(proof_text(proof.values()))["bound"] == proof["bound"]


RESTRICTED = """letters nonnegative integer: t, k
letters real: f(t), h(t), w(t), c
letters nonnegative: g(t)
letters vector: x(t), v(t)
letters positive: q
lemma zero: at 0
  given f(0) <= c  [start]
  then f(0) <= c
lemma small: true at t = 0 alone
  given w(t) = t  [definition]
  {small}
  then w(t) <= 0
lemma next: one step
  given {step}
        f(t) <= c  [induction]
  then f(t+1) <= c
theorem all: at every time
  given f(0) <= c  [start]; {theorem}
  for all t
  base (zero)
  step (next)
  then f(t) <= c
"""
GROWS, LATE = "f(t+1) <= f(t) + t  [rule]", "f(t+1) <= f(t) + max(t - k, 0)  [rule]"


def restricted(tmp_path, hypothesis, rule=GROWS, small="given t <= 0  [start]", theorem=""):
    """An induction whose step needs a hypothesis beside the rule that the theorem is given."""
    text = RESTRICTED.format(
        small=small, step="; ".join(filter(None, (rule, hypothesis))), theorem=theorem or rule
    )
    return audit_text(text.replace("definition]\n  given", "definition]\n       "), tmp_path)


@pytest.mark.parametrize(
    ("hypothesis", "says"),
    [
        ("t = 0  [start]", "t = 0 is not known for each value"),
        ("t = 0  [definition]", "t = 0 is not known for each value"),
        ("0 = t  [definition]", "0 = t is not known for each value"),
        ("t + h(t) = h(t)  [start]", "is not known for each value"),
        ("t (1 + h(t)^2) <= 0  [start]", "is not known for each value"),
        ("h(t) = h(t) + t  [definition]", "is not known for each value"),
        ("q^t <= 1, q > 1  [start]", "q^t ≤ 1 is not known for each value"),
        ("g(t) <= -t  [start]", "−t ≥ 0 is not known for each value"),
        ("g(t) = -t  [definition]", "−t ≥ 0 is not known for each value"),
        ("|v(t)|² <= -t  [start]", "−t ≥ 0 is not known for each value"),
        ("w(t) = t  [definition]; (small)", "t ≤ 0 is not known for each value"),
    ],
)
def test_what_a_step_is_given_restricts_no_t(hypothesis, says, tmp_path):
    ledger = restricted(tmp_path, hypothesis)
    assert ledger["next"].verdict == "proved"
    assert ledger["all"].verdict == "undecided"
    assert says in "; ".join(ledger["all"].tried)


@pytest.mark.parametrize("small", ["given t = 0  [definition]", "where t = 0"])
def test_a_definition_of_t_below_a_step_is_no_way_round(small, tmp_path):
    rule = "f(t+1) <= f(t) + w(t)  [rule]"
    ledger = restricted(tmp_path, "(small)", rule, small, theorem=f"{rule}; w(t) = t  [definition]")
    assert states(ledger)["next"] == "stands"
    assert ledger["all"].verdict == "undecided"
    assert "t = 0 is not known for each value" in "; ".join(ledger["all"].tried)


@pytest.mark.parametrize("source", ["definition", "start"])
def test_what_a_step_is_given_has_a_value_at_each_t(source, tmp_path):
    ledger = restricted(tmp_path, f"h(t) = log(k - t) + f(t)  [{source}]", LATE)
    assert ledger["all"].verdict == "undecided"
    assert "k − t > 0 is not known for each value" in "; ".join(ledger["all"].tried)


@pytest.mark.parametrize(
    "rule",
    [
        "f(t+1) <= f(t) - g(t)/(t + 1)  [rule]",
        "(t + 1) f(t+1) <= (t + 1) f(t)  [rule]",
        "f(t+1) <= f(t) + h(t)/(t + 1), h(t) <= 0  [rule]",
        "f(t+1) <= f(t), t >= 0, t + 1 != 0  [rule]",
        "f(t+1) <= f(t) - |v(t)|²/(t + 1), v(t) = x(t)/(t + 1)  [rule]",
        "f(t+1) <= f(t)  [rule]; h(t) = t + 1  [definition]",
    ],
)
def test_what_leaves_every_t_possible_is_inherited(rule, tmp_path):
    ledger = restricted(tmp_path, "", rule, theorem="c >= 0  [start]")
    assert states(ledger)["all"] == "stands"


def test_a_theorem_may_say_what_its_step_needs_of_t(tmp_path):
    needed = "t <= k  [range]"
    assert restricted(tmp_path, needed, LATE)["all"].verdict == "undecided"
    ledger = restricted(tmp_path, needed, LATE, theorem=f"{LATE}; {needed}")
    assert ledger["all"].verdict == "proved"


def test_a_line_for_all_t_defines_no_t():
    text = "letters nonnegative integer: t\nlemma a: b\n  {}\n  for all t\n  then t <= 0"
    for definition in ("where t = 0", "given t = 0  [definition]"):
        with pytest.raises(InvalidInput, match="must hold for all t"):
            Proof(text.format(definition))["a"]
