"""A line is refuted by what it is about: a distribution, a sequence, numbers that define it."""

from fractions import Fraction

import pytest

import swingby
from swingby.errors import InvalidInput
from swingby.proofs.audit.witness_files import files
from swingby.proofs.language.reader import Proof
from swingby.proofs.prover.distributions import at_outcomes
from swingby.proofs.prover.sums.few_terms import statements
from tests.proofs.shown import judge

LETTERS = """letters random real: X, Y, X(t)
letters random positive: Z
letters random integer: N
letters random vector: g, h
letters vector: x, v(t)
letters real: c, f(t), a(t)
letters nonnegative integer: t, k
letters matrix: M(t) is n x n
letters positive: p
letters complex: z
"""


def ledger_of(text, folder):
    (folder / "my.proof").write_text(text, encoding="utf-8")
    return swingby.audit(folder / "my.proof", cache=False, progress=False)


def record(fields, folder):
    return ledger_of(f"{LETTERS}step 1: a line\n  {fields}\n", folder)[0]


#: What holds of every distribution, and is proved.
PROVED = [
    "then E(Z) > 0",
    "then E(X Y)^2 <= E(X^2) E(Y^2)",
    "then E(dot(g, h))^2 <= E(|g|^2) E(|h|^2)",
    "then E(1/Z) >= 1/E(Z)",
    "then |E(X)| <= E(|X|)",
    "then E(X^2)^2 <= E(X^4)",
    "then E(exp(X + Y))^2 <= E(exp(2 X)) E(exp(2 Y))",
    "then E(min{X, Y}) <= E(X), E(max{X, Y}) >= E(Y)",
    "then E(exp(X)) >= exp(E(X))",
    "then E(log(Z)) <= log(E(Z))",
    "then E(sqrt(Z)) <= sqrt(E(Z))",
    "then E(1/Z^2) >= 0",
    "given E(log(X)) >= 1  [c]\n  then E(log(X)) >= 0",
    "given X > 0  [c]\n  then E(log(X)) <= E(log(X)) + 1",
    "given E((X - c)^2) = 0  [c]\n  then E(X) = c",
]
#: What holds of every distribution too: numbers that are no means refute it, and nothing else does.
TRUE = [
    "then E(N^2) >= E(N)",
    "then E(min{X, Y}) + E(max{X, Y}) = E(X) + E(Y)",
    "then E(|X + Y|) <= E(|X|) + E(|Y|)",
    "then |E(g)| <= E(|g|)",
    "given E(X^2) = 0  [c]\n  then E(X Y) = 0",
    "given |X| <= 1  [c]\n  then E(X^2) <= 1",
    "given h = -g  [definition]\n  then |E(h)|^2 = |E(g)|^2",
    "given h = x - c g  [definition]; E(g) = x  [d]\n  then dot(E(h), x) = (1 - c) |x|^2",
    "where X = 2 Y\n  then E(X) = 2 E(Y)",
    "given t = 0  [case]\n  then E(X(t) X(0)) = E(X(0)^2)",
    "given t = 0  [case]\n  then M(t) = M(0)",
    "given t = 0  [case]; M(0) = I  [c]\n  then M(t) = I",
    "given t = 0  [case]\n  then dot(v(t), v(0)) = |v(0)|^2",
    "given k = 0  [case]\n  then f(k) + 1 >= f(0)",
    "given k = 10^8  [case]\n  then f(k) = f(100000000)",
    "given f(t) = 0 for t from 0 to k  [c]\n  then sum(f(t) (a(t)/f(t)), t, 0, k) = 0",
]
#: What fails at a distribution of few outcomes, or in a sequence.
FALSE = [
    "then E(Z) > 1",
    "then E(X Y)^2 >= E(X^2) E(Y^2)",
    "then E(X Y) = E(X) E(Y)",
    "then E(|X|) <= |E(X)|",
    "then E(exp(c X)) <= exp(c E(X))",
    "given E(X) = 0, E(X^2) = 1  [c]\n  then E(X^4) <= 2",
    "given |X| <= 1  [c]\n  then X^2 <= E(X^2)",
    "then E(X(t)) <= E(X(0))",
    "then sum(E(X(t)), t, 0, k) <= 0",
    "given E(g) = x  [unbiased]\n  then E(|g - x|^2) >= E(|g|^2)",
    "given h = x - c g  [definition]; E(g) = x  [d]\n  then dot(E(h), x) = (1 + c) |x|^2",
    "then M(t) = M(0)",
    "given t = 0  [case]\n  then M(t+1) = M(0)",
    "given t = 0  [case]\n  then M(t) M(0) = M(t)",
    "given f(t) = 1 for t from 0 to k  [c]\n  then sum(f(t) (a(t)/f(t)), t, 0, k) = 0",
]


@pytest.mark.parametrize("fields", PROVED)
def test_what_holds_of_every_distribution_is_proved(fields, tmp_path):
    judged = record(fields, tmp_path)
    assert judged.verdict == "proved"
    assert judged.method != "tautology"
    assert not any(judge(body) for _, body in files(judged))


@pytest.mark.parametrize("fields", TRUE)
def test_a_true_line_is_not_refuted(fields, tmp_path):
    assert record(fields, tmp_path).verdict == "undecided"


@pytest.mark.parametrize("fields", FALSE)
def test_a_false_line_is_refuted_by_what_it_is_about(fields, tmp_path):
    judged = record(fields, tmp_path)
    assert judged.verdict == "refuted"
    ((_, body),) = files(judged)
    assert not judge(body)
    assert judge(body | {"values": {**body["values"], next(iter(body["values"])): "x"}})


def test_the_means_of_a_witness_are_sums_over_its_outcomes(tmp_path):
    witness = record("then E(X^2) <= E(X)^2", tmp_path).witness
    chance, value = "chance of outcome {}", "X at outcome {}"
    p, x = (
        [float(Fraction(witness.values[name.format(n)])) for n in (1, 2)]
        for name in (chance, value)
    )
    assert sum(p) == 1
    assert p[0] * x[0] ** 2 + p[1] * x[1] ** 2 > (p[0] * x[0] + p[1] * x[1]) ** 2
    assert witness.relation == "E[X^2] <= E[X]^2"


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ("then E(X) = 0, E(X^2) = 1", "can be met"),
        ("then E(X^4) > 3 E(X^2)^2", "can be met"),
        ("then E(X^4) < E(X^2)^2", "refuted"),
        ("then E(X Y)^2 > E(X^2) E(Y^2)", "refuted"),
        ("then E(Z) E(1/Z) < 1", "refuted"),
        ("then E(max{X, Y}) < E(X)", "refuted"),
        ("then E(X) = 0, E(X^2) = 1, E(X^3) = 3, E(X^4) = 9", "undecided"),
        ("given X^2 = 4  [c]\n  then E(X) = 3", "undecided"),
        ("given k = 0  [case]\n  then f(k) != f(0)", "undecided"),
    ],
)
def test_only_a_distribution_and_a_sequence_are_an_example(fields, verdict, tmp_path):
    judged = record(f"for some numbers\n  {fields}", tmp_path)
    assert judged.verdict == verdict
    if verdict == "can be met":
        assert not any(judge(body) for _, body in files(judged))


def test_a_hypothesis_on_a_random_letter_holds_at_each_outcome():
    claim = Proof(f"{LETTERS}step 1: a\n  given X <= 1  [c]\n  then E(X) <= X\n")["1"]
    line = at_outcomes(claim, (1, 1), 1)
    given, (goal,) = statements(line)
    assert {str(each.lhs) for each in given} == {"X at outcome 1", "X at outcome 2"}
    assert {x.name for x in goal.free_symbols} == {"X at outcome 1", "X at outcome 2"}


def test_an_instance_reaches_the_letters_inside_a_mean(tmp_path):
    text = f"{LETTERS}letters real: d\nstep 1: a\n  given E(exp(c X)) <= c  [bound]\n"
    text += "  then E(exp(c X)) <= c + 1\n"
    user = "step 2: b\n  given (1) with c = d\n        E(exp({0} X)) <= d  [case]\n"
    user += "  then E(exp({0} X)) <= d + 1\n"
    states = [ledger_of(text + user.format(x), tmp_path).standing()[-1].state for x in "cd"]
    assert states[1] == "stands"
    assert states[0] != "stands"


def test_what_a_sum_needs_to_be_defined_is_named(tmp_path):
    judged = record(TRUE[-1], tmp_path)
    assert "it is defined only if f(t) != 0 for t from 0 to k" in judged.tried


#: What is refused, and what is said of it.
REFUSED = [
    ("then log c <= c", "must have brackets around its argument: log(x), got log"),
    ("then abs(c, c) <= c", "must have 1 argument in brackets, got abs"),
    ("then dot(x, x, x) <= c", "must have 2 arguments in brackets, got dot"),
    ("then E(M(t)) = M(t)", "E(M(t)) is of numbers alone"),
    ("then sum(trace(M(t)), t, 0, k) = 0", "sum(trace(M(t)), t, 0, k) is of numbers alone"),
    ("then dot(M(t), x) = 0", "x is a vector of no known size: letters matrix: x is n x 1"),
    ("then M(t) + |x|^2 = M(t)", "|x|^2"),
    ("then |x + c|^2 = 0", "and c is none"),
    ("then E(exp(t X)) <= 1", "a mean has no counting letter t inside a function"),
    ("then E(f(N)) <= 1", "a sequence has places such as 0, k, k + 1 and k - 1, where k counts"),
    ("where x = 2 x\n  then |x|^2 >= 0", "give a vector, with [definition]"),
    ("then c <= 10 000", "must have no space in a number, and * between two, got 10 000"),
    ("then c <= max{c, 0,5}", "must have a point in a number, or a space behind a comma, got 0,5"),
    ("then c 3 4.5 <= 1", "must have no space in a number, and * between two, got 3 4.5"),
    ("then f (t) <= 1", "must have its place: f(0), got f"),
    ("then slope in k: k^2 -> 2 k", "must be a letter for real numbers, and none that counts"),
    ("where c = f(0)^2\n  then formula: c = f(0)^2", "must be written out"),
    ("given f(0) = c^2  [definition]\n  then slope in c: f(0) -> 0", "must be written out"),
    ("given c = f(0)  [definition]\n  then solution: exp(-c) -> -1, 0, 1, c", "written out"),
    ("for some numbers, all t\n  then f(t) = 0", "must be for all t or for some numbers, not both"),
    # The source of the facts that hold of any vectors is named by no file.
    ("given c > 0  [vectors ]\n  then c > 0", "with no space at its ends, got vectors"),
    ("given c > 0  [case] [case]\n  then c > 0", "must be a source in brackets"),
    ("given c > 0  [case] c < 1 [case]\n  then c > 0", "must be a source in brackets"),
]


@pytest.mark.parametrize(("fields", "says"), REFUSED)
def test_what_cannot_be_read_says_what_to_write(fields, says):
    with pytest.raises(InvalidInput) as caught:
        Proof(f"{LETTERS}step 1: a\n  {fields}\n", "my.proof")["1"]
    assert says in str(caught.value)
    assert "SquaredNorm" not in str(caught.value)


@pytest.mark.parametrize(
    ("letters", "says"),
    [
        ("letters real: b(i)", "an index declared above: letters nonnegative integer: i, got b(i)"),
        ("letters matrix: B(i) is n x n", "must be at t, to be a sequence of matrices, got B(i)"),
        ("letters real: n", "must count rows and columns: letters positive integer: n"),
        ("letters real: m\nletters matrix: B is m x n", "letters positive integer: m, got m"),
    ],
)
def test_letters_that_cannot_be_say_why(letters, says):
    with pytest.raises(InvalidInput) as caught:
        Proof(f"{LETTERS}{letters}\n", "my.proof")
    assert says in str(caught.value)


def test_an_instance_of_another_kind_names_what_is_put_in():
    text = (
        f"{LETTERS}step 1: a\n  then |x|^2 >= 0\nstep 2: b\n  given (1) with x = c\n  then c >= 0\n"
    )
    with pytest.raises(InvalidInput, match="must be a vector for a vector, got x = c"):
        Proof(text, "my.proof")["2"]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ("where c = 0\n  then f(0)/c = 1", "a value of what is undefined: it divides by 0"),
        ("where c = -1\n  then sqrt(c) <= 1", "the root or logarithm of a negative number"),
        ("then slope in c: |c|^3 -> 3 c |c|", "split abs, max and min by cases"),
        (
            "then E(|X + Y|) <= E(|X|) + E(|Y|)",
            "next: a line for every outcome, quoted in the mean",
        ),
        ("then solution: p^2 -> 2/p, 0, 0, p", "a rate without a value at 0"),
        ("then formula: log(exp(z)) = z", "of a letter that is not real has several values"),
        ("then formula: (exp(z))^(1/2) = exp(z/2)", "that is not real has several values"),
    ],
)
def test_what_is_open_says_why(fields, says, tmp_path):
    judged = record(fields, tmp_path)
    assert judged.verdict == "undecided"
    assert judged.method != "the prover failed"
    assert says in " ".join(judged.tried)


def test_a_norm_inside_an_inner_product_needs_a_value():
    line = f"{LETTERS}step 1: a\n  then sum(dot(v(t)/|v(t)|, v(t)), t, 0, k) >= 0\n"
    with pytest.raises(InvalidInput, match="a sum has a value only where"):
        Proof(line)["1"]


@pytest.mark.parametrize("mean", ["E(1/X^2) >= 0", "E(log(X)) <= E(log(X)) + 1"])
def test_a_mean_without_a_value_is_refuted_where_it_has_none(mean, tmp_path):
    """As 1/x^2 >= 0 of a real x is, at 0."""
    judged = record(f"then {mean}", tmp_path)
    assert judged.verdict == "refuted"
    assert judged.witness.values["X at outcome 1"] == "0"
