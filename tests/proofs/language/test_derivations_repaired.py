"""The repaired theorems as claims: every step is there, judged, and none is proved by a reader."""

import inspect
import re

import pytest
import sympy

from swingby.proofs.language import claims as ledger
from swingby.proofs.language.claim import Claim
from swingby.proofs.language.reader import packaged
from swingby.proofs.language.repaired_conclusions import ByHand, OnInterval
from swingby.proofs.prover.repaired import step_tests
from swingby.proofs.prover.repaired.flow import decide_flow
from swingby.proofs.prover.scalar.scalar_claims import decide_scalar
from swingby.theory.repaired import theorem_r, theorem_two

CLAIMS = [claim for file in ledger.OF_FLOW.values() for claim in packaged(file).values()]


def test_every_step_that_the_code_cites_is_a_claim():
    steps = {claim.id.rpartition(" [")[2].rstrip("]") for claim in CLAIMS}
    for module in (theorem_r, theorem_two, step_tests):
        cited = set(re.findall(r"\[((?:[GR]|\d)\.[\d.]+)\]", inspect.getsource(module)))
        assert cited
        assert cited <= steps


def test_the_edition_is_repaired_and_cited_steps_exist():
    ids = {claim.id for claim in CLAIMS}
    assert {claim.edition for claim in CLAIMS} == {"repaired"}
    assert {claim.kind for claim in CLAIMS} == {"theorem", "step", "identity"}
    for source in {source for claim in CLAIMS for source in claim.rests_on}:
        assert source in ids or re.fullmatch(r"C\d'?|Assumption D\.\d'|Theorem G|case", source)


def test_every_reading_step_has_a_numerical_test():
    for claim in CLAIMS:
        if isinstance(claim.conclusion, ByHand):
            assert claim.conclusion.test in step_tests.TESTS, claim.id
            assert claim.conclusion.why


def on_four_instances(claim):
    return decide_flow(claim, instances=4) or decide_scalar(claim)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_verdict(claim, verdict):
    judged = verdict(claim, on_four_instances, "verdicts-on-four")
    assert judged.verdict == ("tested" if isinstance(claim.conclusion, ByHand) else "proved")


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
    judged = decide_scalar(claim.but(conclusion=changed))
    assert judged.verdict in ("refuted", "undecided")


def test_simpler_constants_are_close_to_the_edge():
    """[1.13.2] with 1/10 in place of 1/2 is false: the interval prover is not vacuous."""
    (claim,) = (claim for claim in CLAIMS if claim.id == "Theorem two [1.13.2]")
    left_side, _ = claim.conclusion.relation.args
    tighter = OnInterval(
        sympy.Lt(left_side, sympy.Rational(1, 10), evaluate=False),
        *list(vars(claim.conclusion).values())[1:],
    )
    judged = decide_flow(Claim("x", "step", "", tighter))
    assert judged.verdict == "refuted"
