"""Exported identities and examples: accepted by the standard library alone, and no false edit."""

import copy
import random
import re

import pytest
import sympy

from swingby.proofs.audit.witness_files import files
from swingby.proofs.checkers.check_identity import FORMAT, WORDS, after_step, flow
from swingby.proofs.language.claims import by_id
from swingby.theory import dynamics
from tests.proofs.shown import judge

#: Sums over samples with definitions, two gradients, a definition put in, blocks, an entry of the
#: flow, determinants, logarithms, powers with letters, an equation in time, a step of gradient
#: descent, a slope; examples.
PROVED = {
    WORDS: (
        *("4.1", "before 4.3", "C.5", "C.15", "C.19", "D.2", "Theorem G [G.1.1]"),
        *("Theorem G-gd [1.2.2]", "Theorem R-gd [4.2.1]"),
    ),
    FORMAT: (
        *("Theorem R [0.1]", "Theorem G [G.1]", "Theorem R [R.8]", "Theorem R [R.4.1]"),
        *("Theorem two [1.12.4]", "C.17", "Theorem two-gd [3.1.4]", "Theorem two-gd [3.6.0]"),
    ),
    "swingby witness 1": ("Assumption D.1", "D.9", "D.10"),
}
NUMBERS = re.compile(r"(?<![\w(])\d+(?![\w^}])")


@pytest.fixture(scope="module")
def exported(record):
    """The files of the lines, or of their repairs."""
    contents = {}
    for name in (line for names in PROVED.values() for line in names):
        for claim in by_id(name):
            record_of_claim = record(claim)
            if record_of_claim.verdict == "proved":
                ((_, contents[name]),) = files(record_of_claim)
    return contents


def test_every_kind_has_a_file(exported):
    kinds = {
        kind: [n for n in names if exported[n]["format"] == kind] for kind, names in PROVED.items()
    }
    assert kinds == {kind: list(names) for kind, names in PROVED.items()}
    assert all(judge(content) == "" for content in exported.values())


def edits(content, rng):
    """The same with one number of a formula raised, or 1 added to a side."""
    formulas = content.get("cases") or content["says"]
    for _ in range(12):
        edited = copy.deepcopy(content)
        formula = rng.choice(edited.get("cases") or edited["says"])
        side = rng.choice(["left", "right"])
        places = list(NUMBERS.finditer(formula[side]))
        if places:
            at = rng.choice(places)
            text = formula[side]
            formula[side] = f"{text[: at.start()]}{int(at[0]) + 1}{text[at.end() :]}"
            yield edited
    for index, _ in enumerate(formulas):
        for sign in ("+", "-"):
            edited = copy.deepcopy(content)
            formula = (edited.get("cases") or edited["says"])[index]
            formula["right"] += f" {sign} 1"
            yield edited


def test_edits_of_its_numbers_are_rejected(exported):
    rng, rejected = random.Random(1), 0
    for name, content in exported.items():
        if content["format"] == "swingby witness 1":
            continue
        edited_contents = list(edits(content, rng))
        for edited in edited_contents[:: max(1, len(edited_contents) // 12)]:
            assert judge(edited), (name, edited)
            rejected += 1
    assert rejected > 100


def test_hypotheses_that_an_identity_uses_are_needed(exported):
    """Rules, definitions, the trace, the rates, and which letter is whose transpose."""
    words = {n: file for n, file in exported.items() if file["format"] == WORDS}
    for name, content in words.items():
        if content["rules"]:
            assert judge({**content, "rules": []}), name
        if content["where"]:
            assert judge({**content, "where": content["where"][:-1]}), name
    untraced = copy.deepcopy(words["4.1"])
    untraced["says"][0]["trace"] = False
    assert judge(untraced)
    transposed = copy.deepcopy(words["D.2"])
    transposed["letters"]["U"][0] = "W"
    assert judge(transposed)
    for name in ("Theorem R [0.1]", "Theorem G [G.1]", "C.17"):
        still = copy.deepcopy(exported[name])
        still["cases"][0]["rates"] = {}
        assert judge(still), name
    # No direction may stand in what is differentiated.
    along = copy.deepcopy(words["before 4.3"])
    along["says"][0]["right"] += " + F - F + F"
    assert "direction" in judge(along)


def test_an_example_that_breaks_a_condition_is_rejected(exported):
    for name in PROVED["swingby witness 1"]:
        content = exported[name]
        assert content["holds"]
        rejected = 0
        for letter in content["values"]:
            for value in ("-1", "0", "10^200"):
                changed = content["values"] | {letter: value}
                rejected += bool(judge({**content, "values": changed}))
            missing = {n: text for n, text in content["values"].items() if n != letter}
            rejected += bool(judge({**content, "values": missing}))
        assert rejected > 2 * len(content["values"]), name
        assert judge({**content, "holds": ["1 <= 0"]})
        assert judge({**content, "holds": []})


INTERVALS = ("Theorem two [1.13.1]", "Theorem two [1.13.2]", "Theorem two [1.13.3]")


@pytest.mark.parametrize("name", INTERVALS)
def test_a_relation_on_an_interval_is_decided_over_all_of_it(name, record):
    ((_, content),) = files(record(by_id(name)))
    assert judge(content) == ""
    small, large = content["holds"].split(" < ")
    letter, low, high = content["on"]
    for holds in (f"{large} < {small}", f"{small} + {large} < {large}", f"{small} <= 0", small):
        assert judge({**content, "holds": holds}), holds
    for on in ([letter, high, low], ["q", low, high], [letter, "-2", high], [letter, low]):
        assert judge({**content, "on": on}), on


def test_a_relation_that_fails_at_one_point_of_an_interval_is_rejected():
    content = {"format": "swingby witness 1", "id": "", "line": "", "on": ["x", "0", "1"]}
    assert judge({**content, "holds": "x*(1 - x) < 26/100"}) == ""
    assert "x = 0.497" in judge({**content, "holds": "x*(1 - x) < 1/4"})
    assert "x = 0.33" in judge({**content, "holds": "0 < Abs(x - 1/3)"})


LONG = pytest.param("D.9 (its other bounds)", marks=pytest.mark.full)


@pytest.mark.parametrize("name", ["before D.47", "Lemma D.2 [7]", "Theorem R [R.5.1]", LONG])
def test_what_boxes_prove_has_a_sum_where_a_short_one_does_as_well(name, record):
    """Hypotheses are needed, and the relation cannot be sharpened by 1."""
    ((_, content),) = files(record((*by_id(name),)[-1]))
    assert judge(content) == ""
    if any(
        certificate["facts"] for step in content["shows"] for certificate in step["certificates"]
    ):
        assert bool(judge({**content, "given": []})) == bool(content["given"])
    last = content["shows"][-1]
    assert judge({**content, "shows": [last | {"relation": f"{last['relation']} - 1"}]})


def test_the_flow_of_the_checker_is_that_of_the_paper():
    for d in (1, 2, 3, 4):
        A, W, _ = dynamics.symbols(d)
        right = dynamics.right_side(A, W)
        letters = {str(letter): letter for letter in (*A.free_symbols, *W.free_symbols)}
        rates = flow(d)
        assert len(rates) == d * (d + 1) // 2
        for i in range(d):
            for j in range(i, d):
                rate = sympy.sympify(rates[str(W[i, j])].replace("^", "**"), letters)
                assert sympy.expand(rate - right[i, j]) == 0


def test_the_step_of_the_checker_is_that_of_the_simulation():
    for d in (1, 2, 3):
        A, W, eta = dynamics.symbols(d)
        after = dynamics.step("gd", A, W, eta)
        letters = {str(letter): letter for letter in (*A.free_symbols, *W.free_symbols, eta)}
        entries = after_step(d)
        assert len(entries) == d * (d + 1) // 2
        for i in range(d):
            for j in range(i, d):
                entry = sympy.sympify(entries[str(W[i, j])], letters)
                assert sympy.expand(entry - after[i, j]) == 0


@pytest.mark.parametrize(
    ("change", "accepted"),
    [
        ({}, True),
        ({"rates": "gd 3"}, False),  # w_13 is no letter of the file
        ({"rates": "gd 1"}, False),
        ({"rates": 2}, False),  # along the flow it is another
        ({"rates": {}}, False),
        ({"rates": "gd 0"}, False),
        ({"rates": "gd 99"}, False),
        ({"rates": "gd  2"}, False),
        ({"rates": "euler 2"}, False),
        ({"left": "w_11*w_22"}, False),
        ({"right": "w_11*w_22 - w_12^2"}, False),
    ],
)
def test_the_determinant_after_a_step_in_a_file(change, accepted, record):
    """Theorem two-gd [3.1.3]: det W(t+1) = det W (det M)^2."""
    ((_, content),) = files(record(by_id("Theorem two-gd [3.1.3]")))
    (case,) = content["cases"]
    assert (judge({**content, "cases": [case | change]}) == "") is accepted


def test_a_slope_in_a_file_is_a_derivative(record):
    ((_, content),) = files(record(by_id("Theorem two-gd [3.6.0]")))
    (case,) = content["cases"]
    for rates, accepted in (({"X": "1"}, True), ({"x": "1"}, False), ({"X": "2"}, False)):
        assert (judge({**content, "cases": [case | {"rates": rates}]}) == "") is accepted


def test_identities_that_do_not_hold_make_no_file(record):
    for name in ("C.2", "D.1", "D.2"):
        refuted = record(by_id(name).repair)
        refuted.statement = by_id(name)
        assert list(files(refuted)) == [], name
