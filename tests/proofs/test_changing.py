"""What is known of one t, or of one outcome, is not quoted as if it were known of every one."""

import pytest

from swingby.errors import InvalidInput
from swingby.proofs.language.reader import Proof
from tests.proofs.audited import audit_text, states

LETTERS = """letters nonnegative integer: t, k, i, s
letters real: f(t), h(s), b(i), c, u, v
letters nonnegative: n, e(t)
letters vector: g(i), x(t), star, move
letters matrix: S(t) is p x p, X is p x p
letters random real: Y, Z(t), R
"""
UNCHECKED, STANDS = "quoted, not checked", "stands"


def last_line(lines, tmp_path):
    """The state of the last line of a file, and what is not matched in its quotations."""
    ledger = audit_text(LETTERS + lines, tmp_path)
    record = ledger[len(ledger) - 1]
    return states(ledger)[record.id], " ".join([*map(str, record.quotations), *record.tried])


#: A theorem for all t, with a case; then a line that knows the case at one t.
ONE_TIME = """theorem every: at every t
  given f(t+1) <= f(t) + {size}  [recursion]; f(0) <= 0  [start]; {case}  [case]
  for all t
  then f(t) <= 0
step user: at one t
  given (every); {case}  [{source}]
  then f(t) <= 0
"""


@pytest.mark.parametrize("source", ["case", "hypothesis"])
@pytest.mark.parametrize(
    ("size", "case"),
    [
        ("b(t)", "b(t) <= 0"),
        ("e(t)", "e(t) <= 0"),
        ("|g(t)|²", "|g(t)|² <= 0"),
        ("E((Z(t) - b(t))²)", "E((Z(t) - b(t))²) <= 0"),
        ("sum(b(i), i, 0, t)", "sum(b(i), i, 0, t) <= 0"),
        ("t b(t)", "t b(t) <= 0"),
    ],
)
def test_a_case_at_one_time_is_none_at_every_time(size, case, source, tmp_path):
    lines = ONE_TIME.format(size=size, case=case, source=source)
    state, words = last_line(lines, tmp_path)
    assert (state, "is not known here at every t" in words) == (UNCHECKED, True)


def test_a_case_of_a_constant_is_one_at_every_time(tmp_path):
    lines = ONE_TIME.format(size="c", case="c <= 0", source="case")
    assert last_line(lines, tmp_path)[0] == STANDS


@pytest.mark.parametrize(
    ("known", "state"),
    [
        ("given (each); b(i) <= 0  [case]", UNCHECKED),
        ("given (each); u <= 0  [case]\n  where u = b(i)", UNCHECKED),
        ("given (each); u <= 0, u = b(i)  [case]", UNCHECKED),
        ("given (each); b(i) <= 0 for i from 0 to k  [case]", STANDS),
        ("given (each); b(t) <= 0 for t from 0 to k  [case]", STANDS),
        ("given (each); b(i) <= u for i from 0 to k  [x]; u <= 0  [x]", STANDS),
    ],
)
def test_a_case_at_one_value_is_none_at_each_value(known, state, tmp_path):
    lines = f"""lemma each: at each value
  given b(i) <= 0 for i from 0 to k  [case]; c = sum(b(i), i, 0, k)  [sum]
  then c <= 0
lemma user: what is known here
  {known}
  then c <= 0
"""
    assert last_line(lines, tmp_path)[0] == state


def test_a_sequence_with_another_index_moves_with_the_time(tmp_path):
    """With f(t) = b(t) at every t, f(t) = f(0) is false for b(0) = 0, b(1) = 1."""
    text = (
        "theorem every: b is no constant\n  given f(t) = b(t)  [x]\n  for all t\n  then f(t) = {}"
    )
    assert last_line(text.format("f(0)"), tmp_path)[0] == "open"
    assert last_line(text.format("b(t)"), tmp_path)[0] == STANDS


@pytest.mark.parametrize(
    ("line", "said", "wrong"),
    [
        ("given u = f(t)  [definition]", "f(t) = u", "sum(f(t), t, 0, k) = (k + 1) u"),
        ("given u = f(t)  [definition of u]", "f(t) = u", "sum(f(t), t, 0, k) = (k + 1) u"),
        ("given f(t) = u  [definition]", "f(t) = u", "sum(f(t), t, 0, k) = (k + 1) u"),
        ("given 2 u = f(t)  [definition]", "f(t) = 2 u", "sum(f(t), t, 0, k) = 2 (k + 1) u"),
        ("given n² = e(t)  [definition]", "e(t) = n²", "sum(e(t), t, 0, k) = (k + 1) n²"),
        ("where u = f(t)", "f(t) = u", "sum(f(t), t, 0, k) = (k + 1) u"),
        ("given v = f(t), u = v²  [definition]", "f(t)² = u", "sum(f(t)², t, 0, k) = (k + 1) u"),
        (
            "given u = f(t)  [definition]; u <= 1  [case]",
            "f(t) <= 1",
            "sum(f(t), t, 0, k) <= k + 1\n  given (a) for t from 0 to k; u <= 1  [case]",
        ),
        (
            "given move = -g(t)  [definition]",
            "dot(g(t), move) = -|g(t)|²",
            "sum(dot(g(t), move), t, 0, k) = -sum(|g(t)|², t, 0, k)",
        ),
        (
            "given s = t  [definition]; h(s) = s  [recursion]",
            "h(s) = t",
            "sum(t, t, 0, k) = (k + 1) h(s)",
        ),
    ],
)
def test_a_letter_for_a_value_at_one_time_is_no_constant(line, said, wrong, tmp_path):
    """Quoted as it is, and through a line without some of its letters."""
    line = f"lemma a: of one t\n  {line}\n  then {said}\n"
    given = "" if "given" in wrong else "\n  given ({}) for t from 0 to k"
    user = f"theorem user: of every t{given}\n  then {wrong}\n"
    state, words = last_line(line + user.format("a"), tmp_path)
    assert state == UNCHECKED
    assert "is of one t, and" in words
    if given:
        through = f"lemma through: quoted\n  given (a)\n  then {said}\n"
        assert last_line(line + through + user.format("through"), tmp_path)[0] == UNCHECKED


@pytest.mark.parametrize(
    ("line", "said", "summed"),
    [
        # The letter is in no relation that is quoted.
        ("given u = f(t)  [definition]", "f(t)² >= 0", "sum(f(t)², t, 0, k) >= 0"),
        # It is defined by what is the same at every t, or changes with t itself.
        ("given u = v²  [definition]", "f(t)² + u >= 0", "sum(f(t)² + u, t, 0, k) >= 0"),
        ("given f(t) = t u  [definition]", "f(t) = t u", "sum(f(t) - t u, t, 0, k) = 0"),
        # A vector that is defined, beside one that is the same at every t.
        (
            "given x(t+1) = x(t) - g(t)  [definition]",
            "dot(x(t+1), star) = dot(x(t), star) - dot(g(t), star)",
            "sum(dot(x(t+1), star) - dot(x(t), star) + dot(g(t), star), t, 0, k) = 0",
        ),
        (
            "given move = x(t) - g(t)  [definition]; |move - star|² <= 1  [bounded]",
            "|x(t) - g(t) - star|² <= 1",
            "sum(|x(t) - g(t) - star|², t, 0, k) <= k + 1",
        ),
    ],
)
def test_other_definitions_serve_at_every_time(line, said, summed, tmp_path):
    lines = f"lemma a: of one t\n  {line}\n  then {said}\n"
    lines += f"theorem user: of every t\n  given (a) for t from 0 to k\n  then {summed}\n"
    assert last_line(lines, tmp_path)[0] == STANDS


#: An induction whose step defines the slope u, or what stands in its place.
LINEAR = """step base: nothing has happened yet
  then f(0) = f(0) + 0 u
lemma slope: a letter
  given v = b(t), u = v  [definition]
  then u = b(t)
step once: one step more
  given f(t+1) = f(t) + b(t)  [recursion]
        f(t) = f(0) + t u  [induction]
        {}
  then f(t+1) = f(0) + (t + 1) u
theorem linear: false for b(0) = 0, b(1) = 1
  for all t
  base (base)
  step (once)
  then f(t) = f(0) + t u
"""


@pytest.mark.parametrize("defined", ["u = b(t)  [definition]", "(slope)", "u = b(t)  [case]"])
def test_the_step_of_an_induction_defines_no_constant(defined, tmp_path):
    assert last_line(LINEAR.format(defined), tmp_path)[0] == "open"


def test_matrices_too_are_no_constants_of_an_induction(tmp_path):
    lines = """step base: start
  given X = S(0)  [start]
  then S(0) = X
step once: one
  given X = S(t+1)  [definition]; S(t) = X  [induction]
  then S(t+1) = X
theorem every: S is no constant
  for all t
  base (base)
  step (once)
  then S(t) = X
"""
    state, words = last_line(lines, tmp_path)
    assert (state, "X = S(t+1) is of one t" in words) == ("open", True)


def test_a_letter_inside_a_step_may_change(tmp_path):
    lines = """step start: nothing has happened yet
  then f(0) >= f(0)
step once: v is of this step alone
  given v = b(t)²  [definition]; f(t+1) = f(t) + v  [recursion]; f(t) >= f(0)  [induction]
  then f(t+1) >= f(0)
theorem grows: at every t
  for all t
  base (start)
  step (once)
  then f(t) >= f(0)
theorem user: with another use of v
  given (grows); v <= c  [case]
  then f(t) + c >= f(0) + v
"""
    assert last_line(lines, tmp_path)[0] == STANDS


@pytest.mark.parametrize("definition", ["u = b(t)", "u = b(t) + c", "n² = e(t)", "n² = b(t)²"])
def test_a_theorem_for_all_t_defines_no_constant_by_a_sequence(definition):
    text = (
        f"{LETTERS}theorem 1: a\n  given {definition}  [definition]\n  for all t\n  then f(t) = u"
    )
    with pytest.raises(InvalidInput, match="must be the same at every t"):
        Proof(text, "my.proof")["1"]


@pytest.mark.parametrize(
    "given",
    [
        "u = f(t)  [definition]",
        "u = v, v = f(t)  [definition]",
        "(letter)",
    ],
)
def test_the_constant_of_a_theorem_for_all_t_is_not_defined_at_one_t(given, tmp_path):
    lines = f"""theorem linear: for every slope
  given e(0) = 0  [start]; e(t+1) = e(t) + u  [recursion]
  for all t
  then e(t) = t u
lemma letter: a letter
  given v = f(t), u = v  [definition]
  then u = f(t)
lemma user: the slope is of one t
  given (linear); {given}
  then e(t) = t f(t)
"""
    state, words = last_line(lines, tmp_path)
    assert (state, "u is the same at every t" in words) == (UNCHECKED, True)


def test_a_definition_is_inherited_with_those_it_uses(tmp_path):
    """Without u, v = u² would be the same at x = 0 and at x = 1."""
    lines = """lemma a: of c
  given u = c + 1, v = u²  [definition]
  then v = (c + 1)²
lemma through: without u
  given (a)
  then v = (c + 1)²
theorem user: at 0
  given (through) with c = 0
  then v = 1
"""
    state, words = last_line(lines, tmp_path)
    assert (state, "u = 1 is not known here" in words) == (UNCHECKED, True)


#: A line with a sum, and one that quotes it with something in place of a letter.
SUMMED = """lemma a: summed
  then {said}
theorem user: with another letter
  given (a) with {instance}
  then {then}
"""


def test_an_instance_reaches_into_a_sum(tmp_path):
    """Half of a vector has half of an inner product, in every term of a sum."""
    lines = """lemma each: of one t
  then dot(g(t), star)² <= |g(t)|² |star|²
lemma summed: of every t
  given (each) for t from 0 to k
  then sum(dot(g(t), star)², t, 0, k) <= |star|² sum(|g(t)|², t, 0, k)
theorem user: of half of it
  given (summed) with star = star/2
  then {}
"""
    halves = "sum(dot(g(t), star)²/4, t, 0, k) <= (|star|²/4) sum(|g(t)|², t, 0, k)"
    assert last_line(lines.format(halves), tmp_path)[0] == STANDS
    state, _ = last_line(lines.format(halves.replace("²/4, t", "², t")), tmp_path)
    assert state not in (STANDS, "stands by z3")


@pytest.mark.parametrize(
    ("said", "instance", "words"),
    [
        ("sum(c b(t), t, 0, k) = c sum(b(t), t, 0, k)", "c = f(t)", "the index of a sum"),
        ("sum(b(t+1) - b(t), t, 0, k) = b(k+1) - b(0)", "b(0) = c", "whose terms are summed"),
        ("sum(|g(t)|², t, 0, k) >= -|g(k)|²", "g(k) = star", "whose terms are summed"),
    ],
)
def test_an_instance_does_not_change_what_is_summed(said, instance, words):
    text = LETTERS + SUMMED.format(said=said, instance=instance, then="c = c")
    with pytest.raises(InvalidInput, match=words):
        Proof(text, "my.proof")["user"]


#: A line of one outcome, and one that quotes it in the mean.
OUTCOME = """lemma outcome: for every outcome
  given {case}  [case]
  then {case}
lemma user: in the mean
  given (outcome) in the mean{instance}
        {given}
  then {then}
"""


@pytest.mark.parametrize(
    ("case", "instance", "given", "then", "state"),
    [
        ("Y <= c", "", "Y <= c  [case]", "E(Y) <= c", UNCHECKED),
        ("Y <= c", "", "Y <= c  [hypothesis]", "E(Y) <= c", UNCHECKED),
        ("Y <= c", "", "(outcome); Y <= c  [case]", "E(Y) <= c", UNCHECKED),
        ("Y <= c", " with c = c + 1", "Y <= c  [case]", "E(Y) <= c + 1", UNCHECKED),
        ("Y <= c", " with c = R", "Y <= R  [case]", "E(Y) <= E(R)", UNCHECKED),
        ("Y <= c", "", "Y <= c  [bounded]", "E(Y) <= c", STANDS),
        ("Y <= c", "", "Y <= c  [bounded]; c <= 1  [case]", "E(Y) <= 1", STANDS),
        ("Y <= c", "", "Y <= u  [bounded]; u <= c  [case]", "E(Y) <= c", STANDS),
        ("Y <= c", " for t from 0 to k", "Y <= c  [case]", "(k + 1) (c - E(Y)) >= 0", UNCHECKED),
        ("Y <= c", " for t from 0 to k", "Y <= c  [bounded]", "(k + 1) (c - E(Y)) >= 0", STANDS),
        (
            "Z(t) <= c",
            " for t from 0 to k",
            "Z(t) <= c for t from 0 to k  [case]",
            "sum(E(Z(t)), t, 0, k) <= (k + 1) c",
            UNCHECKED,
        ),
        (
            "Z(t) <= c",
            " for t from 0 to k",
            "Z(t) <= c for t from 0 to k  [bounded]",
            "sum(E(Z(t)), t, 0, k) <= (k + 1) c",
            STANDS,
        ),
    ],
)
def test_a_case_of_one_outcome_serves_no_mean(case, instance, given, then, state, tmp_path):
    lines = OUTCOME.format(case=case, instance=instance, given=given, then=then)
    found, words = last_line(lines, tmp_path)
    assert found == state
    assert ("is not known here for every outcome" in words) == (state == UNCHECKED)


@pytest.mark.parametrize(
    ("definition", "said", "then"),
    [
        ("Y = c", "Y² = c²", "E(Y²) = c²"),
        ("2 c = Y + R", "(Y + R)² = 4 c²", "E((Y + R)²) = 4 c²"),
    ],
)
def test_a_number_for_an_outcome_is_none_in_the_mean(definition, said, then, tmp_path):
    lines = f"""lemma a: of one outcome
  given {definition}  [definition]
  then {said}
lemma user: in the mean
  given (a) in the mean
  then {then}
"""
    state, words = last_line(lines, tmp_path)
    assert (state, "one letter: declare it random" in words) == (UNCHECKED, True)


def test_a_random_letter_of_one_time_is_none_of_every_time(tmp_path):
    lines = """lemma a: of one t
  given R = Z(t)  [definition]
  then Z(t) = R
lemma user: in the mean
  given (a) in the mean for t from 0 to k
  then sum(E(Z(t)), t, 0, k) = (k + 1) E(R)
"""
    assert last_line(lines, tmp_path)[0] == UNCHECKED


def test_a_definition_of_a_used_file_is_of_one_time_too(tmp_path):
    letters = "letters nonnegative integer: t, k\nletters real: f(t), u, v\n"
    used = f"{letters}lemma a: a\n  given v = f(t), u = v²  [definition]\n  then f(t)² = u\n"
    (tmp_path / "used.proof").write_text(used, encoding="utf-8")
    text = "use used\ntheorem 1: a\n  given (a) for t from 0 to k\n"
    ledger = audit_text(f"{text}  then sum(f(t)², t, 0, k) = (k + 1) u\n", tmp_path)
    assert states(ledger) == {"1": UNCHECKED}


def test_a_sequence_with_a_longer_name_is_printed_with_its_place():
    """Else it would be one number: what is not printed at t does not change with it."""
    with pytest.raises(InvalidInput, match=r"must have a name that ends in \(t\), got foo"):
        Proof('letters nonnegative integer: t\nletters real: f(t) = "foo"', "my.proof")
    assert Proof('letters real: f(t) = "w_ij(t)"', "my.proof").names["f(t)"].name == "w_ij(t)"
