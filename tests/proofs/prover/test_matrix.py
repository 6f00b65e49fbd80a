"""The prover of matrix identities: known identities, wrong ones, and changed lines of the text."""

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy

from swingby.proofs.language.claim import Claim
from swingby.proofs.language.conclusions import (
    EntryIdentity,
    GradientIdentity,
    MatrixIdentity,
    MeanIdentity,
)
from swingby.proofs.language.matrices import (
    A,
    I,
    U,
    Ut,
    W,
    Wt,
    a,
    delta,
    i,
    j,
    k,
    over_samples,
    rest,
    root,
    squared_norm,
    transpose,
    w,
    x,
    xt,
)
from swingby.proofs.language.reader import packaged
from swingby.proofs.prover.algebra import matrix, words
from swingby.proofs.prover.algebra.matrix import judge_matrix
from swingby.proofs.prover.prove import judge
from tests.forked import FULL
from tests.proofs.letters import d

SYMMETRIC = ((Wt, W),)


def judged(conclusion, where=()):
    return judge_matrix(Claim("test", "identity", "", conclusion, where=where))


TRUE = [
    MatrixIdentity((W + I) ** 2, W**2 + 2 * W + I),
    MatrixIdentity(W * A, A * W, trace=True),
    MatrixIdentity(A * W * A, A * Wt * A, trace=True),
    MatrixIdentity(squared_norm(W * A), W * A * A * Wt, trace=True),
    MatrixIdentity(root * W * root, A * W, trace=True),
    MatrixIdentity(over_samples(xt * W * x), over_samples(x * xt) * W, trace=True),
    MatrixIdentity(transpose(U * Ut * A), A * U * Ut),
]

# text-book identities that fail: noncommuting factors, a transpose, a sign, a missing square
FALSE = [
    (MatrixIdentity(A * W, W * A), 2),
    (MatrixIdentity(W * Wt, Wt * W), 2),
    (MatrixIdentity(A * W * W * Wt, A * W * Wt * W, trace=True), 2),
    (MatrixIdentity(A * W * A * W, A**2 * W**2, trace=True), 2),
    (MatrixIdentity((A + W) * (A - W), A**2 - W**2), 2),
    (MatrixIdentity((W + I) ** 2, W**2 + I), 1),
    (MatrixIdentity(W - I, I - W), 1),
    (MatrixIdentity(over_samples(x * xt), x * xt), 1),
    (MatrixIdentity(squared_norm(W), W * W, trace=True), 2),
]


@pytest.mark.parametrize("conclusion", TRUE)
def test_known_identities_are_proved(conclusion):
    assert judged(conclusion).verdict == "proved"


@pytest.mark.parametrize(("conclusion", "size"), FALSE)
def test_wrong_identities_have_a_witness_of_least_size(conclusion, size):
    result = judged(conclusion)
    assert result.verdict == "refuted"
    assert result.witness.values["d"] == str(size)
    assert result.witness.left != result.witness.right
    assert len(result.witness.checked) == 2


def test_commutativity_needs_d_2(monkeypatch):
    """At d = 1 every product commutes: the argument in words must then withhold the proof."""
    monkeypatch.setattr(matrix, "PROOF_SIZES", (1,))
    assert judged(MatrixIdentity(A * W, W * A)).verdict == "undecided"


def test_a_wrong_argument_in_words_proves_nothing(monkeypatch):
    monkeypatch.setattr(words, "objection", lambda *_: "")
    assert judged(MatrixIdentity(W * Wt, Wt * W)).verdict == "refuted"
    monkeypatch.setattr(matrix, "nonzero_point", lambda *_: None)
    assert judged(MatrixIdentity(W * Wt, Wt * W)).verdict == "undecided"


def test_a_disagreeing_second_evaluation_is_no_witness(monkeypatch):
    monkeypatch.setattr(matrix, "second_evaluation", lambda *_: (Fraction(0), Fraction(0)))
    assert judged(MatrixIdentity(W, 2 * W)).verdict == "undecided"


@pytest.mark.parametrize("sides", [(U * A, U * A + W), (U * Ut, Ut * U), (W, W + U - U * I)])
def test_shapes_that_do_not_fit_are_not_judged(sides):
    assert judged(MatrixIdentity(*sides)).verdict == "undecided"


@pytest.mark.parametrize(("first", "second"), [(1, 2), (6, 7), (0, 1), (i, 1)])
def test_a_sum_that_does_not_begin_at_1_is_no_sum_from_1(first, second):
    """a_6 is left out of the second sum of the second pair: that is seen from d = 6 on."""
    sides = (sympy.Sum(a[k], (k, start, d)) for start in (first, second))
    assert judged(EntryIdentity(*sides)).verdict == "undecided"


def test_the_rest_of_a_sum_leaves_out_both_indices_also_where_one_is_not_named():
    without = sympy.Sum(w[k, i], (k, 1, d)) - w[i, i]
    assert judged(EntryIdentity(rest(w[k, i], k), without)).verdict == "refuted"
    without -= (1 - delta(i, j)) * w[j, i]
    assert judged(EntryIdentity(rest(w[k, i], k), without)).verdict == "proved"
    assert judged(EntryIdentity(rest(sympy.Integer(1), k), d - 2)).verdict == "refuted"


@pytest.mark.parametrize(
    ("form", "verdict"),
    [
        ((W - I) * A, "proved"),
        (A * (W - I), "refuted"),
        (2 * (W - I) * A, "refuted"),
        ((W + I) * A, "refuted"),
    ],
)
def test_gradient_of_the_loss(form, verdict):
    """The gradient of |(W - I) A^(1/2)|^2 / 2 is (W - I) A, from matrix calculus."""
    result = judged(GradientIdentity(squared_norm((W - I) * root) / 2, W, form))
    assert result.verdict == verdict


def test_gradient_of_a_cubic_trace():
    """The gradient of Tr W^3 is 3 (W^T)^2."""
    assert judged(GradientIdentity(W**3, W, 3 * Wt**2)).verdict == "proved"
    assert judged(GradientIdentity(W**3, W, 3 * W**2)).verdict == "refuted"


TURN = w[i, k] * a[k] * w[k, j]
FIRST, SECOND = w[i, i] * a[i] * w[i, j], w[i, j] * a[j] * w[j, j]

ENTRIES_TRUE = [
    EntryIdentity(W * W, sympy.Sum(w[i, k] * w[k, j], (k, 1, d))),
    EntryIdentity(W * A * W, FIRST + (1 - delta(i, j)) * SECOND + rest(TURN, k)),
    EntryIdentity(A, delta(i, j) * a[i]),
    EntryIdentity(W * A, w[i, j] * a[j]),
]

ENTRIES_FALSE = [
    EntryIdentity(W * W, sympy.Sum(w[i, k] * w[k, j], (k, 1, d)) + w[i, j]),
    # the summand k = i = j counted twice
    EntryIdentity(W * A * W, FIRST + SECOND + rest(TURN, k)),
    EntryIdentity(W * A, w[i, j] * a[i]),
    EntryIdentity(W * W, rest(w[i, k] * w[k, j], k)),
]


@pytest.mark.parametrize("conclusion", ENTRIES_TRUE + ENTRIES_FALSE)
def test_entries_of_products(conclusion):
    """Entry (i, j) of a product, by the definition of the product."""
    expected = "proved" if conclusion in ENTRIES_TRUE else "refuted"
    assert judged(conclusion, SYMMETRIC).verdict == expected


def test_an_inverse_is_no_product():
    assert "indices by cases, every d and s" not in judged(EntryIdentity(W**-1, delta(i, j))).tried


LINES = [
    line
    for name in ("main_text", "loss", "one_layer", "two_layer", "initialization")
    for claim in packaged(name).values()
    for line in claim
    if isinstance(line.conclusion, MatrixIdentity | EntryIdentity | MeanIdentity)
]


@pytest.mark.parametrize(
    "line", LINES if FULL else LINES[::2], ids=lambda line: f"{line.id} {line.edition}"
)
def test_no_line_survives_a_doubled_side(line, verdict):
    """Twice a side that is not zero is never equal to what the side was equal to."""
    if verdict(line).verdict == "proved":
        changed = replace(line.conclusion, right=2 * line.conclusion.right)
        assert judge(line.but(conclusion=changed)).verdict == "refuted"
