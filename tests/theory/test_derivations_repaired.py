"""The repaired theorems as claims: every step is there, judged, and none is proved by a reader."""

import re

import pytest
import sympy

from swingby.theory import theorem_r, theorem_two
from swingby.theory.claim import Claim
from swingby.theory.derivations.conclusions import ByHand, OnInterval
from swingby.theory.proofs.reader import packaged
from swingby.verify.prover.repaired.flow import judge_flow
from swingby.verify.prover.repaired.theorems import TESTS
from swingby.verify.prover.scalar.dispatch import judge_scalar

PROOFS = {
    "Theorem two": (packaged("theorem_two"), theorem_two),
    "Theorem G": (packaged("theorem_g"), theorem_two),
    "Theorem R": (packaged("theorem_r"), theorem_r),
}
CLAIMS = [claim for proof, _ in PROOFS.values() for claim in proof.values()]


@pytest.mark.parametrize("name", PROOFS)
def test_every_step_of_the_docstring_is_a_claim(name):
    text = PROOFS[name][1]
    steps = set(re.findall(r"^- (\[.*?\](?:, \[.*?\])*) \(", text.__doc__, flags=re.MULTILINE))
    named = {step for listed in steps for step in listed.split(", ")}
    # Two theorems stand in one file: a step is one of either.
    claimed = {
        step.removeprefix(f"{one} ")
        for one, (other, of) in PROOFS.items()
        if of is text
        for step in other
    }
    # A step is there itself, or in parts such as [1.13.1].
    missing = {
        step
        for step in named
        if step not in claimed and not any(c.startswith(step[:-1] + ".") for c in claimed)
    }
    assert missing == set()


def test_the_edition_is_repaired_and_cited_steps_exist():
    ids = {claim.id for claim in CLAIMS}
    assert {claim.edition for claim in CLAIMS} == {"repaired"}
    assert {claim.kind for claim in CLAIMS} == {"theorem", "step", "identity"}
    for source in {source for claim in CLAIMS for source in claim.rests_on}:
        assert source in ids or re.fullmatch(r"C\d'?|Assumption D\.\d'|Theorem G|case", source)


def test_every_reading_step_has_a_numerical_test():
    for claim in CLAIMS:
        if isinstance(claim.conclusion, ByHand):
            assert claim.conclusion.test in TESTS, claim.id
            assert claim.conclusion.why


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_verdict(claim):
    judged = judge_flow(claim, instances=4) or judge_scalar(claim)
    expected = "tested" if isinstance(claim.conclusion, ByHand) else "proved"
    assert judged.verdict == expected


MUTATIONS = {
    "Theorem two [1.5.1]": lambda left, right: (left + sympy.Symbol("p", positive=True) * 9, right),
    "Theorem two [1.12.1]": lambda left, right: (left, right - sympy.Symbol("G", nonnegative=True)),
    "Theorem G [G.6.1]": lambda left, right: (left - 1, right),
    "Theorem R [R.9]": lambda left, right: (left, right - sympy.Symbol("w_ii", positive=True)),
    "Theorem R [R.13.2]": lambda left, right: (left + sympy.Symbol("theta", positive=True), right),
}


@pytest.mark.parametrize("id_", MUTATIONS)
def test_changed_steps_are_not_proved(id_):
    (claim,) = (claim for claim in CLAIMS if claim.id == id_)
    relation = claim.conclusion
    changed = relation.func(*MUTATIONS[id_](*relation.args), evaluate=False)
    judged = judge_scalar(claim.but(conclusion=changed))
    assert judged.verdict in ("refuted", "undecided")


def test_simpler_constants_are_close_to_the_edge():
    """[1.13.2] with 1/10 in place of 1/2 is false: the interval prover is not vacuous."""
    (claim,) = (claim for claim in CLAIMS if claim.id == "Theorem two [1.13.2]")
    left, _ = claim.conclusion.relation.args
    tighter = OnInterval(
        sympy.Lt(left, sympy.Rational(1, 10), evaluate=False),
        *list(vars(claim.conclusion).values())[1:],
    )
    judged = judge_flow(Claim("x", "step", "", tighter))
    assert judged.verdict == "refuted"
