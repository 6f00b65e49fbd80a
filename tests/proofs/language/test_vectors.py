"""Vectors: what a formula says of them in numbers, against numpy, and what holds of those."""

import numpy as np
import pytest
import sympy

import swingby
from swingby.errors import InvalidInput
from swingby.proofs.language.reader import Proof
from swingby.proofs.language.vectors import GRAM, are_vectors, factors
from swingby.proofs.language.writer import proof_text

LETTERS = """letters vector: x, y, g, z(t)
letters positive: η, L
letters real: c
"""


def claim(fields):
    return Proof(f"{LETTERS}step 1: a line\n  {fields}", "my.proof")["1"]


def value(expression, vectors, numbers):
    """An expression of inner products where vectors and numbers have values."""
    swaps = {}
    for letter in expression.free_symbols:
        pair = factors(letter)
        product = np.dot(*(vectors[str(each)] for each in pair)) if pair else numbers[letter.name]
        swaps[letter] = product
    return float(expression.xreplace(swaps))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("|x + 2 y - c g|^2", lambda x, y, g, z, c, η: np.sum((x + 2 * y - c * g) ** 2)),
        ("dot(x - y, η g)", lambda x, y, g, z, c, η: np.dot(x - y, η * g)),
        ("dot(x, x)", lambda x, y, g, z, c, η: np.dot(x, x)),
        ("|x|³ |y| - |c|", lambda x, y, g, z, c, η: np.sum(x**2) ** 1.5 * np.sqrt(y @ y) - abs(c)),
        ("|z(t+1)|² - dot(y, x)/η", lambda x, y, g, z, c, η: z @ z - x @ y / η),
    ],
)
def test_a_formula_is_what_numpy_says(written, meant):
    rng = np.random.default_rng(1)
    x, y, g, z = rng.normal(size=(4, 3))
    side = claim(f"then {written} <= 9").conclusion.lhs
    numbers = {"c": -0.7, "eta": 0.3}
    got = value(side, {"x": x, "y": y, "g": g, "z(t+1)": z}, numbers)
    assert got == pytest.approx(meant(x, y, g, z, -0.7, 0.3), rel=1e-12)


@pytest.mark.parametrize(
    "fields",
    [
        "then 2 dot(x, y) <= |x|^2/η + η |y|^2",
        "then |x + y + g|^2 <= 3 |x|^2 + 3 |y|^2 + 3 |g|^2",
        "given y = x - η g [definition]\n  then |y|^2 + c dot(y, g) <= |x|^2",
        "then c |x|^2 + 2 dot(x, y) + |y|^2 >= 0",
        "then |x| |y| >= |dot(x, y)|",
    ],
)
def test_what_is_added_holds_of_any_vectors(fields):
    """Nor does it ask for more than the line: its denominators are positive."""
    line, rng = claim(fields), np.random.default_rng(2)
    added = [given.relation for given in line.given if given.source == GRAM]
    assert added
    for relation in added:
        assert sympy.fraction(sympy.together(relation.lhs - relation.rhs))[1].is_positive
        for _ in range(20):
            vectors = dict(zip("xyg", rng.normal(size=(3, 2)), strict=True))
            vectors["y"] = vectors["x"] - 0.3 * vectors["g"] if "y = x" in fields else vectors["y"]
            numbers = {"c": rng.normal(), "eta": 0.3}
            difference = value(relation.lhs, vectors, numbers) - value(
                relation.rhs, vectors, numbers
            )
            assert difference * (1 if relation.rel_op == ">=" else -1) >= -1e-9


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ("then |x + y|^2 + |x - y|^2 = 2 |x|^2 + 2 |y|^2", "proved"),
        ("then 2 dot(x, y) <= |x|^2/η + η |y|^2", "proved"),
        ("then |x + y + g|^2 <= 3 |x|^2 + 3 |y|^2 + 3 |g|^2", "proved"),
        ("then |x + y|^2 <= 2 |x|^2 + 2 |y|^2, |dot(x, y)| <= |x| |y|", "proved"),
        (
            "given y = x - η g [definition]\n  then |y|^2 = |x|^2 - 2 η dot(g, x) + η² |g|^2",
            "proved",
        ),
        (
            "given y = x - η g [definition]\n  then |y|^2 = |x|^2 - η dot(g, x) + η² |g|^2",
            "refuted",
        ),
        ("then |x + y|^2 <= |x|^2 + |y|^2", "refuted"),
        ("then |x + y + g|^2 <= 2 |x|^2 + 2 |y|^2 + 2 |g|^2", "refuted"),
        ("then |x|^2 + |y|^2 <= 3 dot(x, y)", "refuted"),
        # Numbers that refute it are the inner products of no vectors.
        (
            "given y = x - η g  [definition]\n"
            "        c <= dot(z(t), y - x) + (L/2) |y - x|²  [case]\n"
            "  then c <= -η dot(z(t), g) + (L η²/4) |g|²",
            "refuted",
        ),
    ],
)
def test_claims_about_vectors(fields, verdict, tmp_path):
    file = tmp_path / "my.proof"
    file.write_text(f"{LETTERS}step 1: a line\n  {fields}\n", encoding="utf-8")
    record = swingby.audit(file, cache=False, progress=False)[0]
    assert record.verdict == verdict
    if verdict == "refuted":
        assert are_vectors(record.witness.values)


def test_numbers_that_no_vectors_have_are_seen():
    values = {"|x|^2": "1", "|y|^2": "1", "|g|^2": "1", "<x, y>": "-9/10", "<g, x>": "-9/10"}
    assert not are_vectors(values | {"<g, y>": "-9/10"})
    assert are_vectors(values | {"<g, y>": "9/10", "η": "3"})


def test_an_instance_puts_vectors_in(tmp_path):
    text = f"""{LETTERS}step young: Young
  then 2 dot(x, y) <= |x|^2/η + η |y|^2
step user: at other vectors
  given (young) with x = g, y = x - y, η = L
  then 2 dot(g, x - y) <= |g|^2/L + L |x - y|^2
"""
    file = tmp_path / "my.proof"
    file.write_text(text, encoding="utf-8")
    ledger = swingby.audit(file, cache=False, progress=False)
    assert [line.state for line in ledger.standing()] == ["stands", "stands"]
    claims = list(Proof(text).values())
    again = list(Proof(proof_text(claims)).values())
    assert [each.conclusion for each in again] == [each.conclusion for each in claims]
    assert again[1].given[0] == claims[1].given[0]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ("then dot(x, c) <= 1", "a vector is a sum of vectors"),
        ("then |x + 1|^2 <= 1", "a vector is a sum of vectors"),
        ("then |x y|^2 <= 1", "a vector is a sum of vectors"),
        ("then x <= y", "must be about vectors"),
    ],
)
def test_what_is_no_vector_is_refused(fields, says):
    with pytest.raises(InvalidInput, match=says):
        claim(fields)


def test_a_number_for_a_vector_is_refused():
    text = f"{LETTERS}step 1: a\n  then |x| >= 0\nstep 2: b\n  given (1) with x = c\n  then c >= 0"
    with pytest.raises(InvalidInput, match="must be a vector for a vector, got x"):
        Proof(text)["2"]
