"""Lines that are proved, turned round: with the same hypotheses the opposite is never proved.

Of a <= b the opposite is a > b. Hypotheses that contradict each other would prove both, and so
would a prover that proves too much.
"""

from functools import cache

import pytest
import sympy

from swingby.theory.claim import Claim
from swingby.theory.derivations import (
    after_initial_growth,
    assumptions,
    final_band,
    initial_growth,
    initial_lower_bound,
    off_diagonal,
    suppression,
)
from swingby.theory.derivations.repaired import lemma_two
from swingby.verify.prover.scalar.dispatch import judge_scalar

MODULES = (
    assumptions,
    initial_growth,
    initial_lower_bound,
    after_initial_growth,
    final_band,
    suppression,
    off_diagonal,
    lemma_two,
)
#: They take longest; what they rest on is reversed too.
LONG = {"Corollary D.1 (its sum)", "D.24", "D.29", "D.47"}
CLAIMS = {
    f"{claim.id}, {claim.edition}": claim
    for module in MODULES
    for start in module.CLAIMS
    for claim in start
    if claim.id not in LONG and claim.quantifier == "for all"
}
OPPOSITE = {"<=": sympy.Gt, "<": sympy.Gt, ">=": sympy.Lt, ">": sympy.Lt}
REVERSIBLE = [name for name, claim in CLAIMS.items() if claim.conditions[0].rel_op in OPPOSITE]


@pytest.fixture(scope="module")
def judge():
    return cache(lambda name: judge_scalar(CLAIMS[name]))


def opposite(claim: Claim) -> Claim:
    first = claim.conditions[0]
    relation = OPPOSITE[first.rel_op](first.lhs, first.rhs, evaluate=False)
    return claim.but(conclusion=relation, edition=claim.edition)


@pytest.mark.parametrize("name", REVERSIBLE)
def test_the_opposite_of_a_proved_line_is_not_proved(name, judge):
    if judge(name).verdict != "proved":
        pytest.skip("not proved as it stands")
    assert judge_scalar(opposite(CLAIMS[name])).verdict != "proved"


def test_most_lines_are_proved_and_reversed(judge):
    """The test above is not empty: 87 lines at the time of writing."""
    assert sum(judge(name).verdict == "proved" for name in REVERSIBLE) > 80
