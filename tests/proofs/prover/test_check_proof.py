"""Exported proofs: accepted by the standard library alone, and no edit that makes them false."""

import copy
import random

import pytest

from swingby.proofs.audit.witness_files import files
from swingby.proofs.checkers.check_proof import FORMAT
from swingby.proofs.language.claims import by_id
from tests.proofs.shown import judge

#: Plain sums, equations put in, sizes, exponentials, logarithms, two equal sides, denominators.
LINES = ("D.59", "D.37", "D.82", "D.61", "D.24", "D.60", "D.62", "D.48")


@pytest.fixture(scope="module")
def proofs(record):
    """The exported files of the lines, or of their repairs."""
    contents = {}
    for name in LINES:
        for claim in by_id(name):
            contents |= dict(files(record(claim), f"{name} {claim.edition}"))
    return {name: content for name, content in contents.items() if content["format"] == FORMAT}


def test_each_line_has_a_proof_that_is_accepted(proofs):
    assert len(proofs) == len(LINES)
    assert all(judge(content) == "" for content in proofs.values())


def test_edits_that_break_the_sum_are_rejected(proofs):
    """Another factor, fact, relation; one piece or hypothesis less."""
    rng, rejected = random.Random(0), 0
    for name, content in proofs.items():
        for _ in range(20):
            edited = copy.deepcopy(content)
            step = rng.choice(edited["shows"])
            certificate = rng.choice(step["certificates"])
            piece = rng.choice(certificate["pieces"]) if certificate["pieces"] else None
            way = rng.choice(["factor", "fact", "less", "relation"] if piece else ["relation"])
            if way == "factor":
                piece[0] = rng.choice(["0", "-7/5"])  # a proof of one piece may have any above 0
            elif way == "less":
                certificate["pieces"].remove(piece)
            elif way == "relation":
                step["relation"] += rng.choice([" - 1", " + 1"])
            elif certificate["facts"]:
                fact = rng.choice(certificate["facts"])
                fact[0] = f"{fact[0]} + 1"
            if edited != content:
                assert judge(edited), (name, way, edited)
                rejected += 1
    assert rejected > 100


def test_a_proof_without_a_hypothesis_that_it_uses_is_rejected(proofs):
    rejected = 0
    for content in proofs.values():
        for certificate in (choice for step in content["shows"] for choice in step["certificates"]):
            if certificate["facts"] and not certificate["replaced"]:
                rejected += bool(judge({**content, "given": []}))
    assert rejected > 3


def made(relation, *given, fact=(), pieces=None, **others):
    """A line with one certificate; a fact is a difference and its sign, and the piece is the first.

    A piece: a factor, a product of letters, the places of facts, and what is squared.
    """
    facts = [clause.rsplit(" ", 1) for clause in ([fact] if isinstance(fact, str) else fact)]
    pieces = [("1", "1", [0], "1")] * bool(facts) if pieces is None else pieces
    certificate = {"cases": [], "replaced": [], "tangents": [], "turned": False, "facts": facts}
    certificate |= {"pieces": list(map(list, pieces))} | others
    step = {"relation": relation, "certificates": [certificate]}
    signs = {"x": "positive", "y": "real", "n": "nonnegative"}
    head = {"format": FORMAT, "id": "", "line": "", "signs": signs, "whole": []}
    return head | {"given": list(given), "shows": [step]}


def square_of(root):
    return {"pieces": [("1", "1", [], root)]}


def product(factors):
    return {"pieces": [("1", factors, [], "1")]}


NEGATIVE = {"pieces": [("-1", "1", [0], "1")]}
#: A true line with its proof, and one beside it that is false or does not follow.
PAIRS = [
    # a square of a real letter; the letter itself
    (made("0 <= y^2", **product("y^2")), made("0 <= y", **product("y"))),
    (
        made("2*x*y <= x^2 + y^2", **square_of("x - y")),
        made("2*x*y < x^2 + y^2", **square_of("x - y")),
    ),
    # strictly positive, and only not negative
    (made("0 < x", **product("x")), made("0 < n", **product("n"))),
    # x/x is 1, y/y is not defined at 0
    (made("x/x = 1"), made("y/y = 1")),
    (made("1/(1/x) = x"), made("1/(1/y) = y")),
    (made("1/(1/(1 + x)) = 1 + x"), made("1/(1/(1 + y)) = 1 + y")),
    (made("(x/y)^(-1)*0 = (1/y)*0", "0 < y"), made("(x/y)^(-1)*0 = 0")),
    (made("(1/x)^0 = 1"), made("(1/y)^0 = 1")),
    (made("sqrt(x)^2 = x"), made("sqrt(y^2) = y")),
    (made("log(x^2) = 2*log(x)"), made("log(y^2) = 2*log(y)")),
    (made("log(exp(y)) = y"), made("log(Abs(y)) = y")),
    (made("x^(-1/2)*sqrt(x) = 1"), made("n^(-1/2)*sqrt(n) = 1")),
    (made("exp(2*y) = exp(y)^2"), made("exp(2*y) = exp(y)*2")),
    (made("8^(1/2) = 2*2^(1/2)"), made("8^(1/2) = 3*2^(1/2)")),
    (made("1/(1 + x) + x/(1 + x) = 1"), made("1/(1 + y) + y/(1 + y) = 1")),
    # a hypothesis, and its opposite
    (made("1 <= y", "1 <= y", fact="y - 1 <="), made("y <= 1", "1 <= y", fact="1 - y <=")),
    (made("1 < y", "1 < y", fact="y - 1 <"), made("1 < y", "1 <= y", fact="y - 1 <")),
    # an equation may have any factor, an inequality none below 0
    (
        made("y <= -3", "y = -3", fact="y + 3 =", **NEGATIVE),
        made("y <= 1", "1 <= y", fact="y - 1 <=", **NEGATIVE),
    ),
    (
        made("y <= x", "Abs(y) <= x", fact="x - y <="),
        made("x <= y", "x <= Abs(y)", fact="y - x <="),
    ),
    # 1 + y lies below the exponential, and 1 + 2 y need not
    (
        made("1 + y <= exp(y)", tangents=["y"], fact="exp(y) - 1 - y <="),
        made("1 + 2*y <= exp(y)", tangents=["y"], fact="exp(y) - 1 - 2*y <="),
    ),
    # numbers between decimals
    (
        made("log(2) <= 7/10", fact="7/10 - log(2) <="),
        made("log(2) <= 69/100", fact="69/100 - log(2) <="),
    ),
    (
        made("3/2 <= sqrt(x)", "9/4 <= x", fact="x^(1/2) - 3/2 <="),
        made("8/5 <= sqrt(x)", "9/4 <= x", fact="x^(1/2) - 8/5 <="),
    ),
    # a letter by what an equation says
    (
        made("y = 3", "y = x + 1", "x = 2", replaced=[["y", "x + 1"], ["x", "2"]]),
        made("y = 3", "y = x + 1", "x <= 2", replaced=[["y", "x + 1"], ["x", "2"]]),
    ),
    # the product of two hypotheses, and their sum
    (
        made("0 < (1 - y)^2", "y < 1", fact="1 - 2*y + y^2 <"),
        made("0 < (1 - y)^2", "y <= 1", fact="1 - 2*y + y^2 <"),
    ),
    (
        made("y < 1", "y <= x", "x < 1", fact="1 - y <"),
        made("y < 1", "y <= x", "x <= 1", fact="1 - y <"),
    ),
    (made("2*y <= 3", "y <= 1", fact="3 - 2*y <="), made("2*y <= 1", "y <= 1", fact="1 - 2*y <=")),
    # a bound on a power is one on a root of its inverse
    (
        made("1/sqrt(x) < 1", "1 < x", fact="1 - x^(-1/2) <"),
        made("1/sqrt(x) < 1", "9/10 < x", fact="1 - x^(-1/2) <"),
    ),
    (
        made("1 < 1/sqrt(x)", "x < 1", fact="x^(-1/2) - 1 <"),
        made("1 < 1/sqrt(x)", "1 < x", fact="x^(-1/2) - 1 <"),
    ),
    # a piece with a denominator, the size of a product
    (
        made("0 <= x/(1 - y)", "y < 1", **product("x/(1 - y)")),
        made("0 <= x/(1 - y)", "1 < y", **product("x/(1 - y)")),
    ),
    (made("Abs(y*(x + n)) = Abs(y)*(x + n)"), made("Abs(y*(x - n)) = Abs(y)*(x - n)")),
    # a contradiction needs a piece above 0
    (
        made(
            *("y <= 1", "y <= 1"),
            turned=True,
            fact=("y - 1 <", "1 - y <="),
            pieces=[("1", "1", [0], "1"), ("1", "1", [1], "1")],
        ),
        made("y <= 1", "1 <= y", turned=True, fact="y - 1 <=", pieces=[("1", "1", [0], "0")]),
    ),
    # a denominator of either sign
    (
        made("1 <= 1/y", "0 < y", "y <= 1", fact="1 - y <=", pieces=[("1", "y^-1", [0], "1")]),
        made("1 <= 1/y", "y <= 1", fact="1 - y <="),
    ),
]


@pytest.mark.parametrize("pair", PAIRS)
def test_a_proof_is_accepted_and_one_like_it_is_not(pair):
    accepted, refused = pair
    assert judge(accepted) == ""
    assert judge(refused) != ""


def test_that_a_letter_is_not_1_does_not_make_it_positive():
    """n^3 = n^3 proves n^3 >= 0 of an n >= 0 that is not 1, and not n^3 > 0: there is n = 0."""
    cube = product("n^3")
    assert judge(made("0 <= n^3", "1 - n != 0", **cube)) == ""
    assert "no piece is certainly positive" in judge(made("0 < n^3", "1 - n != 0", **cube))
    assert judge(made("0 < n^3", "1 <= n", **cube)) == ""


def test_what_is_no_proof_is_refused_in_a_line():
    good = made("0 <= y^2", **product("y^2"))
    assert judge(good) == ""
    for key, value in [
        ("shows", []),
        ("shows", [{"relation": "1 <= 0", "certificates": []}]),
        ("shows", [{"relation": "0 <= 1", "certificates": ["no object"]}]),
        ("signs", {"y": "negative"}),
        ("signs", None),
        ("given", None),
        ("more", 1),
    ]:
        assert judge({**good, key: value}), key
    tower = "(" * 6 + "9" + "^64)" * 6
    wrong = ("y", "0 <= ", "0 <= (y", "0 <= z", "0 <= y^y", "0 <= y^99999", "0 <= Max(y)")
    for relation in (*wrong, f"0 <= {tower}"):
        assert judge(made(relation, **product("y^2"))), relation
    for piece in [(), ("1",), ("x", "1", [], "1"), ("1", "y^2", [3], "1"), ("1", "0", [], "1")]:
        assert judge(made("0 <= y^2", pieces=[piece])), piece
