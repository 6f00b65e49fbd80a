"""Exported proofs: accepted by the standard library alone, and no edit that makes them false."""

import copy
import json
import random
import subprocess
import sys

import pytest

from swingby.theory.claims.ledger import by_id
from swingby.verify.prover.check_proof import FORMAT
from swingby.verify.prover.check_witness import judge
from swingby.verify.prover.witness_files import export, files

#: Plain sums, equations put in, sizes, exponentials, logarithms, two equal sides, denominators.
LINES = ("D.59", "D.37", "D.82", "D.61", "D.24", "D.60", "D.62", "D.48")


@pytest.fixture(scope="module")
def proofs(record):
    """The exported files of the lines, or of their repairs."""
    found = {}
    for name in LINES:
        for claim in by_id(name):
            found |= dict(files(record(claim), f"{name} {claim.edition}"))
    return {name: content for name, content in found.items() if content["format"] == FORMAT}


def test_each_line_has_a_proof_and_a_program_of_its_own_accepts_it(proofs, record, tmp_path):
    assert len(proofs) == len(LINES)
    one = record(by_id("D.59"))
    one.repair = record(by_id("D.61").repair)
    assert export([one], tmp_path) == (["D.59", "D.61 (corrected)"], [])
    run = [sys.executable, "-I", str(tmp_path / "check.py"), str(tmp_path)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "accepted  D.59\naccepted  D.61 (corrected)\n2 of 2 accepted\n"
    path = tmp_path / "D.59.json"
    content = json.loads(path.read_text())
    small, large = content["shows"][0]["relation"].split(" <= ")
    content["shows"][0]["relation"] = f"{large} < {small}"
    path.write_text(json.dumps(content))
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert (done.returncode, "rejected  D.59.json" in done.stdout) == (1, True)


def test_edits_that_break_the_sum_are_rejected(proofs):
    """Another factor, fact, relation; one piece or hypothesis less."""
    rng, rejected = random.Random(0), 0
    for name, content in proofs.items():
        for _ in range(20):
            edited = copy.deepcopy(content)
            step = rng.choice(edited["shows"])
            one = rng.choice(step["certificates"])
            piece = rng.choice(one["pieces"]) if one["pieces"] else None
            way = rng.choice(["factor", "fact", "less", "relation"] if piece else ["relation"])
            if way == "factor":
                piece[0] = rng.choice(["0", "-7/5"])  # a proof of one piece may have any above 0
            elif way == "less":
                one["pieces"].remove(piece)
            elif way == "relation":
                step["relation"] += rng.choice([" - 1", " + 1"])
            elif one["facts"]:
                fact = rng.choice(one["facts"])
                fact[0] = f"{fact[0]} + 1"
            if edited != content:
                assert judge(edited), (name, way, edited)
                rejected += 1
    assert rejected > 100


def test_a_proof_without_a_hypothesis_that_it_uses_is_rejected(proofs):
    rejected = 0
    for content in proofs.values():
        for certificate in (one for step in content["shows"] for one in step["certificates"]):
            if certificate["facts"] and not certificate["replaced"]:
                rejected += bool(judge({**content, "given": []}))
    assert rejected > 3


def made(relation, *, given=(), facts=(), pieces=(), signs=None, **others):
    certificate = {"replaced": [], "tangents": [], "turned": False}
    certificate |= {"facts": list(map(list, facts)), "pieces": list(map(list, pieces))} | others
    signs = {"x": "positive", "y": "real", "n": "nonnegative"} if signs is None else signs
    step = {"relation": relation, "certificates": [certificate]}
    head = {"format": FORMAT, "id": "", "line": ""}
    return head | {"signs": signs, "given": list(given), "shows": [step]}


#: A piece that is the first fact.
PLAIN = ("1", "1", [0], "1")

#: A true line with its proof, and one beside it that is false or does not follow.
PAIRS = [
    # a square of a real letter; the letter itself
    (
        made("0 <= y^2", pieces=[("1", "y^2", [], "1")]),
        made("0 <= y", pieces=[("1", "y", [], "1")]),
    ),
    (
        made("2*x*y <= x^2 + y^2", pieces=[("1", "1", [], "x - y")]),
        made("2*x*y < x^2 + y^2", pieces=[("1", "1", [], "x - y")]),
    ),
    # strictly positive, and only not negative
    (made("0 < x", pieces=[("1", "x", [], "1")]), made("0 < n", pieces=[("1", "n", [], "1")])),
    # x/x is 1, y/y is not defined at 0
    (made("x/x = 1"), made("y/y = 1")),
    (made("1/(1/x) = x"), made("1/(1/y) = y")),
    (made("1/(1/(1 + x)) = 1 + x"), made("1/(1/(1 + y)) = 1 + y")),
    (made("(x/y)^(-1)*0 = (1/y)*0", given=["0 < y"]), made("(x/y)^(-1)*0 = 0")),
    (made("(1/x)^0 = 1"), made("(1/y)^0 = 1")),
    (made("sqrt(x)^2 = x"), made("sqrt(y^2) = y")),
    (made("log(x^2) = 2*log(x)"), made("log(y^2) = 2*log(y)")),
    (made("log(exp(y)) = y"), made("log(Abs(y)) = y")),
    (made("x^(-1/2)*sqrt(x) = 1"), made("n^(-1/2)*sqrt(n) = 1")),
    (made("exp(2*y) = exp(y)^2"), made("exp(2*y) = exp(y)*2")),
    (made("8^(1/2) = 2*2^(1/2)"), made("8^(1/2) = 3*2^(1/2)")),
    (made("1/(1 + x) + x/(1 + x) = 1"), made("1/(1 + y) + y/(1 + y) = 1")),
    # a hypothesis, and its opposite
    (
        made("1 <= y", given=["1 <= y"], facts=[("y - 1", "<=")], pieces=[PLAIN]),
        made("y <= 1", given=["1 <= y"], facts=[("1 - y", "<=")], pieces=[PLAIN]),
    ),
    (
        made("1 < y", given=["1 < y"], facts=[("y - 1", "<")], pieces=[PLAIN]),
        made("1 < y", given=["1 <= y"], facts=[("y - 1", "<")], pieces=[PLAIN]),
    ),
    # an equation may have any factor, an inequality none below 0
    (
        made("y <= -3", given=["y = -3"], facts=[("y + 3", "=")], pieces=[("-1", "1", [0], "1")]),
        made("y <= 1", given=["1 <= y"], facts=[("y - 1", "<=")], pieces=[("-1", "1", [0], "1")]),
    ),
    (
        made("y <= x", given=["Abs(y) <= x"], facts=[("x - y", "<=")], pieces=[PLAIN]),
        made("x <= y", given=["x <= Abs(y)"], facts=[("y - x", "<=")], pieces=[PLAIN]),
    ),
    # 1 + y lies below the exponential, and 1 + 2 y need not
    (
        made("1 + y <= exp(y)", tangents=["y"], facts=[("exp(y) - 1 - y", "<=")], pieces=[PLAIN]),
        made(
            "1 + 2*y <= exp(y)", tangents=["y"], facts=[("exp(y) - 1 - 2*y", "<=")], pieces=[PLAIN]
        ),
    ),
    # numbers between decimals
    (
        made("log(2) <= 7/10", facts=[("7/10 - log(2)", "<=")], pieces=[PLAIN]),
        made("log(2) <= 69/100", facts=[("69/100 - log(2)", "<=")], pieces=[PLAIN]),
    ),
    (
        made("3/2 <= sqrt(x)", given=["9/4 <= x"], facts=[("x^(1/2) - 3/2", "<=")], pieces=[PLAIN]),
        made("8/5 <= sqrt(x)", given=["9/4 <= x"], facts=[("x^(1/2) - 8/5", "<=")], pieces=[PLAIN]),
    ),
    # a letter by what an equation says
    (
        made("y = 3", given=["y = x + 1", "x = 2"], replaced=[["y", "x + 1"], ["x", "2"]]),
        made("y = 3", given=["y = x + 1", "x <= 2"], replaced=[["y", "x + 1"], ["x", "2"]]),
    ),
    # the product of two hypotheses, and their sum
    (
        made("0 < (1 - y)^2", given=["y < 1"], facts=[("1 - 2*y + y^2", "<")], pieces=[PLAIN]),
        made("0 < (1 - y)^2", given=["y <= 1"], facts=[("1 - 2*y + y^2", "<")], pieces=[PLAIN]),
    ),
    (
        made("y < 1", given=["y <= x", "x < 1"], facts=[("1 - y", "<")], pieces=[PLAIN]),
        made("y < 1", given=["y <= x", "x <= 1"], facts=[("1 - y", "<")], pieces=[PLAIN]),
    ),
    (
        made("2*y <= 3", given=["y <= 1"], facts=[("3 - 2*y", "<=")], pieces=[PLAIN]),
        made("2*y <= 1", given=["y <= 1"], facts=[("1 - 2*y", "<=")], pieces=[PLAIN]),
    ),
    # a bound on a power is one on a root of its inverse
    (
        made("1/sqrt(x) < 1", given=["1 < x"], facts=[("1 - x^(-1/2)", "<")], pieces=[PLAIN]),
        made("1/sqrt(x) < 1", given=["9/10 < x"], facts=[("1 - x^(-1/2)", "<")], pieces=[PLAIN]),
    ),
    (
        made("1 < 1/sqrt(x)", given=["x < 1"], facts=[("x^(-1/2) - 1", "<")], pieces=[PLAIN]),
        made("1 < 1/sqrt(x)", given=["1 < x"], facts=[("x^(-1/2) - 1", "<")], pieces=[PLAIN]),
    ),
    # a piece with a denominator, the size of a product
    (
        made("0 <= x/(1 - y)", given=["y < 1"], pieces=[("1", "x/(1 - y)", [], "1")]),
        made("0 <= x/(1 - y)", given=["1 < y"], pieces=[("1", "x/(1 - y)", [], "1")]),
    ),
    (made("Abs(y*(x + n)) = Abs(y)*(x + n)"), made("Abs(y*(x - n)) = Abs(y)*(x - n)")),
    # a contradiction needs a piece above 0
    (
        made(
            "y <= 1",
            given=["y <= 1"],
            turned=True,
            facts=[("y - 1", "<"), ("1 - y", "<=")],
            pieces=[("1", "1", [0], "1"), ("1", "1", [1], "1")],
        ),
        made(
            "y <= 1",
            given=["1 <= y"],
            turned=True,
            facts=[("y - 1", "<=")],
            pieces=[("1", "1", [0], "0")],
        ),
    ),
    # a denominator of either sign
    (
        made(
            "1 <= 1/y",
            given=["0 < y", "y <= 1"],
            facts=[("1 - y", "<=")],
            pieces=[("1", "y^-1", [0], "1")],
        ),
        made("1 <= 1/y", given=["y <= 1"], facts=[("1 - y", "<=")], pieces=[PLAIN]),
    ),
]


@pytest.mark.parametrize("pair", PAIRS)
def test_a_proof_is_accepted_and_one_like_it_is_not(pair):
    accepted, refused = pair
    assert judge(accepted) == ""
    assert judge(refused) != ""


def test_that_a_letter_is_not_1_does_not_make_it_positive():
    """n^3 = n^3 proves n^3 >= 0 of an n >= 0 that is not 1, and not n^3 > 0: there is n = 0."""
    sum_ = {"replaced": [], "tangents": [], "turned": False, "facts": []}
    cube = sum_ | {"pieces": [["1", "n^3", [], "1"]]}
    shown = {"relation": "0 <= n^3", "certificates": [cube]}
    head = {"format": FORMAT, "id": "n", "line": "", "signs": {"n": "nonnegative"}}
    content = {**head, "given": ["1 - n != 0"], "shows": [shown]}
    assert judge(content) == ""
    strict = [shown | {"relation": "0 < n^3"}]
    assert "no piece is certainly positive" in judge({**content, "shows": strict})
    assert judge({**content, "given": ["1 <= n"], "shows": strict}) == ""


def test_what_is_no_proof_is_refused_in_a_line():
    good = made("0 <= y^2", pieces=[("1", "y^2", [], "1")])
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
    for relation in ("y", "0 <= ", "0 <= (y", "0 <= z", "0 <= y^y", "0 <= y^99999", "0 <= Max(y)"):
        assert judge(made(relation, pieces=[("1", "y^2", [], "1")])), relation
    for piece in [(), ("1",), ("x", "1", [], "1"), ("1", "y^2", [3], "1"), ("1", "0", [], "1")]:
        assert judge(made("0 <= y^2", pieces=[piece])), piece
