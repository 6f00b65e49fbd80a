"""Lines that are proved, turned round: with the same hypotheses the opposite is never proved.

Of a <= b the opposite is a > b. Hypotheses that contradict each other would prove both, and so
would a prover that proves too much.

Which lines are proved as they stand is judged in test_verdicts.py: those of the record, and every
repair.
"""

from functools import cache

import pytest
import sympy

from swingby.proofs.language import claims as ledger
from swingby.proofs.language.claim import Claim
from swingby.proofs.language.reader import packaged
from swingby.proofs.prover.scalar.scalar_claims import judge_scalar
from swingby.testing.claim_assertions import ledger_verdicts
from tests.forked import FULL

FILES = (
    *("assumptions", "initial_growth", "initial_lower_bound", "after_initial_growth"),
    *("final_band", "suppression", "off_diagonal", "lemma_two"),
)
#: They take longest; what they rest on is reversed too.
LONG = {"Corollary D.1 (its sum)", "D.24", "D.29", "D.47"}
CLAIMS = {
    f"{claim.id}, {claim.edition}": claim
    for name in FILES
    for start in packaged(name).values()
    for claim in start
    if claim.id not in LONG and claim.quantifier == "for all"
}
REPAIRS = [line.repair for line in ledger.claims() if line.repair is not None]
#: Later relations of chains that are proved, by their places.
LATER = {"D.37": 1, "D.53": 2, "D.54": 1, "D.55": 1, "D.56": 1}
OPPOSITE = {"<=": sympy.Gt, "<": sympy.Gt, ">=": sympy.Lt, ">": sympy.Lt}
REVERSIBLE = [
    (name, place)
    for name, claim in CLAIMS.items()
    for place in {0, LATER.get(claim.id, 0) if claim.edition == "printed" else 0}
    if claim.conditions[place].rel_op in OPPOSITE
]
#: One in three, but for those that take eight seconds; all of them in the full profile.
SAMPLE = [one for one in REVERSIBLE if not one[0].startswith("D.81")][::3]


@cache
def stands(name: str) -> bool:
    """Whether the line is proved as it stands."""
    claim = CLAIMS[name]
    if claim.edition == "repaired":
        return judge_scalar(claim).verdict == "proved"
    if claim.edition == "corrected":
        return claim in REPAIRS
    return ledger_verdicts()[claim.id] == "proved"


def opposite(claim: Claim, place: int) -> Claim:
    one = claim.conditions[place]
    relation = OPPOSITE[one.rel_op](one.lhs, one.rhs, evaluate=False)
    return claim.but(conclusion=relation, edition=claim.edition)


@pytest.mark.parametrize(("name", "place"), REVERSIBLE if FULL else SAMPLE)
def test_the_opposite_of_a_proved_line_is_not_proved(name, place, verdict):
    if not stands(name):
        pytest.skip("not proved as it stands")
    assert verdict(opposite(CLAIMS[name], place)).verdict != "proved"


def test_most_lines_are_proved_and_reversed():
    """The test above is not empty: 90 lines at the time of writing."""
    tried = REVERSIBLE if FULL else SAMPLE
    assert len(REVERSIBLE) > 100
    assert sum(stands(name) for name, _ in tried) > 0.75 * len(tried)
