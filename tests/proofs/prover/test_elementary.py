"""Elementary claims, true and false: what the prover of inequalities must and must not prove.

They stand in data/elementary_claims.txt, which says how they read and why they are true or false.
Five lines in six, and those with ! that take long, are left to the full profile.
"""

from pathlib import Path

import pytest
import sympy

from swingby.proofs.language.claim import Claim, Given
from swingby.proofs.prover.scalar.scalar_claims import decide_scalar

CLAIMS = Path(__file__).parents[2].joinpath("data", "elementary_claims.txt").read_text("utf-8")
TRUE, FALSE = CLAIMS.split("\nTRUE\n")[1].split("\nFALSE\n")

_SIGNS = {"pqrs": {"positive": True}, "lmn": {"nonnegative": True}, "k": {"integer": True}}
_SIGNS |= {"j": {"integer": True, "positive": True}, "t": {"integer": True, "nonnegative": True}}
LETTERS = {
    name: sympy.Symbol(name, **signs) for names, signs in _SIGNS.items() for name in names
} | {name: sympy.Symbol(name, real=True) for name in "uvwxyz"}
_RELATIONS = {
    "<=": sympy.Le,
    ">=": sympy.Ge,
    "!=": sympy.Ne,
    "<": sympy.Lt,
    ">": sympy.Gt,
    "=": sympy.Eq,
}


def relation(text):
    """One relation, nothing in it evaluated."""
    sign = next(sign for sign in _RELATIONS if sign in text)
    sides = [
        sympy.parse_expr(side.replace("^", "**"), local_dict=LETTERS, evaluate=False)
        for side in text.split(sign)
    ]
    return _RELATIONS[sign](*sides, evaluate=False)


def claim(text, **options):
    """A claim as the file writes it."""
    body = text.removeprefix("exists:")
    hypotheses, _, conclusion = body.rpartition("|-")
    goals = [relation(line) for line in conclusion.split(";")]
    return Claim(
        text,
        "step",
        "",
        goals[0] if len(goals) == 1 else sympy.Tuple(*goals),
        tuple(Given(relation(line), "case") for line in hypotheses.split(";") if line.strip()),
        quantifier="for all" if body == text else "exists",
        **options,
    )


def lines(text):
    """The claims of a list as parameters of a test."""
    parameters = []
    for index, line in enumerate(text.strip().splitlines()):
        if line and not line.startswith("#"):
            marks = [pytest.mark.full] if line.startswith("!") or index % 6 else []
            parameters.append(pytest.param(line.lstrip("! "), marks=marks, id=line.lstrip("! ")))
    return parameters


@pytest.mark.parametrize("line", lines(TRUE))
def test_true_claims_are_proved(line):
    judged = decide_scalar(claim(line), seconds=60)
    assert judged.verdict == "proved", judged
    if "|-" in line and not line.startswith("exists"):
        assert any("hypotheses" in evidence for evidence in judged.evidence), judged.evidence


@pytest.mark.parametrize("line", ["sqrt(x^2) = Abs(x)", "pi > 3; E < 11/4 |- pi*2 > 6"])
def test_what_the_checker_does_not_read_is_not_proved(line):
    """A certificate is there, and no file that check.py accepts: it knows no root of x^2, no pi."""
    judged = decide_scalar(claim(line), seconds=60)
    assert (judged.verdict, judged.method) == ("undecided", "no file")


@pytest.mark.parametrize("line", lines(FALSE))
def test_false_claims_are_not_proved(line):
    judged = decide_scalar(claim(line), seconds=60)
    assert judged.verdict in ("refuted", "undecided"), judged
    assert (judged.verdict == "refuted") or judged.tried


def test_the_lists_are_long_and_most_false_claims_have_a_witness():
    assert len(lines(TRUE)) >= 80
    assert len(lines(FALSE)) >= 160
