"""Matrices with shapes: what does not fit is refused with both shapes and a way out."""

import pytest
import sympy

from swingby.errors import InvalidInput
from swingby.proofs.audit.cache import content
from swingby.proofs.language.reader import Proof
from swingby.proofs.language.shapes import Inverted, Matrix, Traced, Transposed, shape
from swingby.proofs.language.writer import proof_text

HEAD = """letters matrix: A is n x n, B is n x n, X is n x m, W1 is h x m, W2 is n x h
letters symmetric matrix: S is n x n
letters positive definite matrix: D is n x n
letters orthogonal matrix: O is n x n
letters real: c
step 1: a line
"""


def line(text):
    """The line with a conclusion."""
    return Proof(f"{HEAD}  then {text}\n", "shapes.proof")["1"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("W1 W2 = 0", "W1 is h x m, W2 is n x h: write W2 W1"),
        ("A X^T = 0", "A is n x n, X^T is m x n: write A X or X^T A"),
        ("A + X = 0", "A is n x n, X is n x m: terms have one shape"),
        ("X = X^T", "X is n x m, X^T is m x n: write X"),
        ("S <= X", "S is n x n, X is n x m"),
        ("X <= X", "only square matrices are in an order"),
        ("X + I = 0", "only a square matrix goes with I"),
        ("trace(X) = 0", "X is n x m: a trace is of a square matrix"),
        ("trace(I) = 0 A", "I is of any size"),
        ("A + 1 = 0", "a number times I is a matrix: write c I"),
        ("A <= 1", "a number times I is a matrix: write c I"),
        ("c = A", "a number times I is a matrix: write c I"),
        ("A^-1 = B", "declare an invertible or a positive definite matrix"),
        ("A/B = I", "B is a matrix, and no denominator: write B^-1"),
        ("A^c = B", "powers are 2, 3, ..., T for its transpose, -1"),
        ("exp(A) = B", "exp(A) is no matrix"),
        ("E(A) = B", "E(A) is of numbers alone"),
        ("dot(A, X) = 0", "an inner product is of one shape"),
        ("block(S, X, X, S) >= 0", "A and C are square, B has the rows of A"),
        ("block(S, A, A, S) >= 0", "is symmetric: block(A, B, B^T, C)"),
        ("block(S, A, A^T, S) = 0", "compared with 0 alone"),
        ("block(S, A, A^T, S) >= A", "compared with 0 alone"),
        ("block(S, A, A^T) >= 0", "has four blocks"),
    ],
)
def test_a_shape_that_does_not_fit_is_refused(text, words):
    with pytest.raises(InvalidInput) as refused:
        line(text)
    assert words in str(refused.value)
    assert "line 7, column" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("letters orthogonal matrix: A is n x m", "must be square to be orthogonal"),
        ("letters hermitian matrix: A is n x n", "one of symmetric, positive semidefinite"),
        ("letters matrix: A", "must be a letter and its shape: W is n x m"),
        ("letters matrix: A is n x n, A is m x m", "must be declared once"),
        (
            "letters symmetric matrix: A is n x n\nletters matrix: B is n x n\n"
            "step 1: a line\n  given A = B [definition]\n  then A = B",
            "must be a matrix with no trait",
        ),
        (
            "letters symmetric matrix: A is n x n\nletters matrix: B is n x n\n"
            "step 1: a line\n  where A = B\n  then A = B",
            "must be a matrix with no trait",
        ),
    ],
)
def test_a_declaration_is_refused(text, words):
    with pytest.raises(InvalidInput) as refused:
        list(Proof(text + "\n", "shapes.proof").values())
    assert words in str(refused.value)


def test_an_instance_has_the_shape_and_the_trait():
    text = (
        HEAD + "  then S = S, A = A, X = X\nstep 2: at another\n  given (1) with {}\n  then S = S\n"
    )
    for good in ("A = B", "A = B + S", "S = D", "X = A X", "A = X X^T"):
        assert Proof(text.format(good), "x.proof")["2"]
    for bad in ("A = X", "S = A", "S = S + S", "A = 1", "X = X^T"):
        with pytest.raises(InvalidInput, match=r"must be a matrix of its kind|must have shapes"):
            list(Proof(text.format(bad), "x.proof").values())


def test_transposes_are_carried_out():
    A, S, D = (
        Matrix("A", "n", "n"),
        Matrix("S", "n", "n", "symmetric"),
        Matrix("D", "n", "n", "definite"),
    )
    X = Matrix("X", "n", "m")
    assert Transposed(A * S * X) == Transposed(X) * S * Transposed(A)
    assert Transposed(Transposed(A) + 2 * S) == A + 2 * S
    assert Transposed(A**2) == Transposed(A) ** 2
    assert Transposed(Inverted(D)) == Inverted(D)
    assert Transposed(X).xreplace({X: A * X}) == Transposed(X) * Transposed(A)
    assert shape(Transposed(X) * X) == ("m", "m")
    assert shape(Traced(A)) == ("1", "1")


def test_letters_differ_by_their_shapes():
    """Also in the text that names a verdict in the cache."""
    letters = [Matrix("A", "n", "n"), Matrix("A", "n", "m"), Matrix("A", "n", "n", "symmetric")]
    assert len(set(letters)) == 3
    assert len({content(sympy.Eq(x, x, evaluate=False)) for x in letters}) == 3
    assert Matrix("A", "n", "n") == letters[0]


def test_the_writer_writes_what_is_read():
    text = HEAD + (
        "  given W2^T W2 = W1 W1^T [case]; S <= D [case]\n"
        "  then block(D, X, X^T, X^T X) >= 0, (A^T)^2 = (A B^T - 2 I)^T D^-1\n"
        "       |X|^2 - c dot(A, B) <= trace(O^-1)\n"
    )
    claim = Proof(text)["1"]
    assert Proof(proof_text([claim]))["1"] == claim


def test_a_letter_of_time_has_a_shape_at_each():
    proof = Proof("letters matrix: W(t) is n x m\nstep 1: a line\n  then W(t+1) = W(t) + W(0)\n")
    assert shape(proof["1"].conclusion.lhs) == ("n", "m")
