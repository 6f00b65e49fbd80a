"""A line is proved only where it has a value: in sums, vectors, means and matrices; of reals alone.

The verdicts are by hand. Each false line is true wherever it has a value, and sympy simplifies it.
"""

import re

import pytest

from swingby.errors import InvalidInput
from swingby.proofs.language.reader import Proof
from swingby.proofs.prover.prove import decide
from tests.proofs.audited import audit_text, states

LETTERS = """letters real: a, b, c
letters positive: p
letters nonnegative integer: t, k
letters real: f(t), h(t)
letters nonnegative: u(t)
letters vector: V, U, W(t)
letters random real: X, Y
letters random positive: P
letters random vector: R
letters symmetric matrix: S is n x n
letters matrix: M is n x m
letters complex: z, w, e(t)
letters random complex: Z
let q = a (1/a)
"""


def line(text):
    """A line, ``hypothesis; hypothesis |- conclusion``, or ``|- conclusion``."""
    given, _, then = text.rpartition("|-")
    listed = [f"  given {given.strip().replace(';', ' [case];')}  [case]"] * bool(given.strip())
    return Proof("\n".join([LETTERS + "step 1: it", *listed, f"  then {then}"]), "my.proof")["1"]


@pytest.mark.parametrize(
    "text",
    [
        # Sums: a logarithm, a quotient, a root, and what 0 is multiplied by.
        "f(t) = -1 for t from 0 to k |- sum(exp(log(f(t))), t, 0, k) < 0",
        "sum(t (1/t), t, 0, k) = k + 1",
        "sum((t - k) (1/(t - k)), t, 0, k) = k + 1",
        "f(t) <= 0 for t from 0 to k |- sum(sqrt(f(t))^2, t, 0, k) <= 0",
        "sum(0 (1/t), t, 0, k) = 0",
        "sum(u(t)/u(t), t, 0, k) = k + 1",
        "sum(1/(1/f(t)), t, 0, k) = sum(f(t), t, 0, k)",
        "sum(f(t)^a f(t)^(-a), t, 0, k) = k + 1",
        "sum(sqrt(f(t)) - sqrt(f(t)), t, 0, k) = 0",
        "sum(q f(t), t, 0, k) = sum(f(t), t, 0, k)",
        "sum(((-1)^(1/2))^2, t, 0, k) = -k - 1",
        "0 sum(1/t, t, 0, k) = 0",
        "sum(f(t), t, 0, k)/sum(f(t), t, 0, k) = 1",
        "sqrt(a)^2 + sum(f(t), t, 0, k) = a + sum(f(t), t, 0, k)",
        # Vectors: equations, inner products, norms.
        "a = -1 |- exp(log(a)) V = -V",
        "dot(a (1/a) V, U) = dot(V, U)",
        "|sqrt(a)^2 V|^2 = a^2 |V|^2",
        "0 (1/a) V = 0 V",
        "V/a - V/a = 0 V",
        "|q V|^2 = |V|^2",
        "|V|^2 ((-1)^(1/2))^2 = -|V|^2",
        "|V|/|V| = 1",
        # Means.
        "E(X/X) = 1",
        "E(sqrt(X)^2) = E(X)",
        "E(exp(log(X))) = E(X)",
        "E(0 (1/X)) = 0",
        "E(a (1/a) X) = E(X)",
        "E(X Y/Y) = E(X)",
        # Matrices.
        "trace(S) = -1 |- sqrt(trace(S))^2 = -1",
        "sqrt(trace(S))^4 = trace(S)^2",
        "exp(log(a)) S = a S",
        "trace(q S) = trace(S)",
    ],
)
def test_what_has_no_value_somewhere_is_not_proved(text):
    assert decide(line(text)).verdict in ("refuted", "undecided")


@pytest.mark.parametrize(
    "text",
    [
        "sum(t (1/t), t, 1, k) = k",
        "f(t) > 0 for t from 0 to k |- sum(exp(log(f(t))), t, 0, k) = sum(f(t), t, 0, k)",
        "f(t) != 0 for t from 0 to k |- sum(f(t)/f(t), t, 0, k) = k + 1",
        "sum(f(t)^0, t, 0, k) = k + 1",
        "a > 0 |- exp(log(a)) V = a V",
        "a != 0 |- a (V/a) = V",
        "Y > 0 |- E(X Y/Y) = E(X)",
        "E(X P/P) = E(X)",
        "p (1/p) S = S",
        "|S|^2 = trace(S^2)",
        "|S M|^2 = trace(M^T S^2 M)",
        # A hypothesis holds only where it has a value.
        "exp(log(a)) V = V |- a > 0",
        "f(t)/f(t) = 1 for t from 0 to k |- sum(f(t)/f(t), t, 0, k) = k + 1",
        "E(exp(log(X))) >= 0 |- E(X) >= 0",
    ],
)
def test_what_has_a_value_is_proved(text):
    assert decide(line(text)).verdict == "proved"


@pytest.mark.parametrize(
    "text",
    [
        "sum(f(t)/f(t), t, 0, k) = k + 1 |- f(0) != 0",
        "sum(exp(log(f(t))), t, 0, k) >= 0 |- f(0) > 0",
        "f(t)/f(t) >= 1 for t from 0 to k |- f(0) != 0",
    ],
)
def test_no_numbers_refute_a_line_that_its_hypotheses_have_no_value_at(text):
    assert decide(line(text)).verdict != "refuted"


def test_the_evidence_says_why_terms_have_a_value():
    judged = decide(line("sum(t (1/t), t, 1, k) = k"))
    assert "defined, as t != 0 for t from 1 to k" in judged.evidence
    judged = decide(line("sum(t (1/t), t, 0, k) = k + 1"))
    assert "whether t != 0 for t from 0 to k, which a sum needs to be defined" in judged.tried
    assert str(line("dot(a (1/a) V, U) = dot(V, U)").conditions[0]) == "Ne(a, 0)"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("dot(a (1/a) S, S) = |S|^2", "a ≠ 0"),
        ("|sqrt(a)^2 M|^2 = a^2 |M|^2", "a ≥ 0"),
        ("(a (1/a) M)^T = M^T", "a ≠ 0"),
        ("E(a (1/a) R) = E(R)", "a ≠ 0"),
        ("sum(|f(t) (1/f(t)) W(t)|^2, t, 0, k) >= 0", "f(t) ≠ 0"),
    ],
)
def test_what_would_be_simplified_unseen_is_refused(text, part):
    with pytest.raises(InvalidInput, match=re.escape(f"a value only where {part}")):
        line(text)


DEFINED = """step 1: a vector that there may not be
  given U = V/a  [definition]
  then a U = V
step 2: where there is none
  given (1); a = 0  [case]
  then |V|^2 = 0
step 3: what a definition cancels
  where b = 1/a, c = a b
  then sum(c f(t), t, 0, k) = sum(f(t), t, 0, k)
step 4: what the definition of a vector needs
  given U = V/a  [definition]
  then a != 0
step 5: known
  given p = a  [case]; U = V/a  [definition]
  then a U = V
"""


def test_a_definition_has_a_value(tmp_path):
    text = LETTERS.replace("letters complex: z, w, e(t)\n", "") + DEFINED
    ledger = audit_text(text, tmp_path)
    assert states(ledger) == {
        **dict.fromkeys(("1", "2"), "quoted, not checked"),
        **{"3": "open", "4": "stands", "5": "stands"},
    }
    assumes = {each.id: each.assumes for each in ledger.standing()}
    assert "a ≠ 0, by definition" in assumes["4"]


@pytest.mark.parametrize(
    "text",
    [
        "z^2 + 1 != 0",
        "z^2 >= 0",
        "|z|^2 = z^2",
        "z^2 = a |- a >= 0",
        "z^2 = -1 |- 1 <= 0",
        "z^2 + w^2 = 0 |- z = 0",
        "exp(z) > 0",
        "sum(e(t)^2, t, 0, k) >= 0",
        "sum(e(t), t, 0, k)^2 >= 0",
        "|z V|^2 >= 0",
        "E(Z)^2 >= 0",
        "E(Z^2) >= 0",
        "trace(z^2 S^2) >= 0",
    ],
)
def test_a_complex_letter_is_not_judged_as_a_real_one(text):
    assert decide(line(text)).verdict == "undecided"


def test_an_identity_of_complex_letters_is_a_formula():
    identity = "(z + w)^2 = z^2 + 2 z w + w^2"
    (tried,) = decide(line(identity)).tried
    assert "formula:" in tried
    assert decide(line(f"formula: {identity}")).verdict == "proved"
    exists = Proof(f"{LETTERS}step 1: i\n  for some numbers\n  then z^2 = -1", "my.proof")["1"]
    assert decide(exists).verdict == "undecided"


def test_an_instance_at_which_a_line_divides_by_0_is_refused():
    lemma = f"{LETTERS}step 1: it\n  given a != 0  [case]\n  then a/a = 1\n"
    with pytest.raises(InvalidInput, match=r"line 19.*divides by 0"):
        Proof(f"{lemma}step 2: at 0\n  given (1) with a = 0\n  then 0 <= 1", "my.proof")["2"]


@pytest.mark.parametrize(
    "text",
    [
        "|V|^2 = 1 |- a >= 0, |sqrt(a) V|^2 >= 0",
        "|V|^2 = 1 |- a >= 0, |a^(1/4) V|^4 >= 0",
        "a != 0, |V/a|^2 >= 0",
        "|V/a|^2 >= 0",
        "|V|^2/a + 2 dot(U, V)/a + |U|^2/a >= 0",
    ],
)
def test_that_a_norm_is_not_negative_does_not_say_that_it_has_a_value(text):
    assert decide(line(text)).verdict == "refuted"


@pytest.mark.parametrize(
    "text",
    [
        "a > 0 |- |V|^2/a + 2 dot(U, V)/a + |U|^2/a >= 0",
        "a >= 0 |- |sqrt(a) V + U|^2 >= 0",
        "|sqrt(a) V + U|^2 <= 0 |- U = -sqrt(a) V",
        # By |a V + U|^2, not by |V + U/a|^2.
        "a > 0; a b >= 1 |- a |V|^2 + 2 dot(U, V) + b |U|^2 >= 0",
    ],
)
def test_norms_are_not_negative_where_they_have_a_value(text):
    assert decide(line(text)).verdict == "proved"


PUT_IN = """step 1: a root that there may not be
  given |V|^2 = 1  [case]
  where b = sqrt(a)
  then a >= 0, |b V + U|^2 >= 0
step 2: in a line with a sum
  given |V|^2 = 1  [case]
  where b = sqrt(a)
  then a >= 0, |b V + U|^2 + sum(f(t)^2, t, 0, k) >= 0
step 3: a root that there is
  given a > 0  [case]
  where b = sqrt(a)
  then |b V + U|^2 >= 0
"""


def test_that_a_norm_is_not_negative_does_not_say_that_a_definition_has_a_value():
    proof = Proof(LETTERS + PUT_IN, "my.proof")
    verdicts = [decide(proof[name]).verdict for name in "123"]
    assert verdicts == ["refuted", "refuted", "proved"]
