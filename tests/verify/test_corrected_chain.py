"""App. D with P^2 in Corollary D.1 and Assumption D.4: the chain stands, the assumptions do not.

Expected: a line in which the noise enters follows again once D.4 beats the larger noise; derived by
hand, since D.4 is made for exactly that.
"""

import pytest
import sympy

import swingby
from swingby.theory.assumptions import P, d
from swingby.theory.derivations import (
    after_initial_growth,
    final_band,
    initial_growth,
    initial_lower_bound,
    suppression,
)
from swingby.theory.derivations.squared import corrected_chain, with_squared_P
from swingby.verify.prover.scalar.dispatch import judge_scalar

CHAIN = corrected_chain(
    claim
    for module in (
        initial_growth,
        initial_lower_bound,
        after_initial_growth,
        final_band,
        suppression,
    )
    for claim in module.CLAIMS
)


def speaks_of_the_noise(claim):
    return any(
        product.has(P) and d in product.args
        for relation in claim.conditions
        for product in relation.atoms(sympy.Mul)
    )


NOISY = [claim for claim in CHAIN if speaks_of_the_noise(claim)]


def test_many_lines_speak_of_the_noise():
    assert len(NOISY) >= 20


@pytest.mark.parametrize("claim", NOISY, ids=[claim.id for claim in NOISY])
def test_line_stands_with_squared_P(claim):
    assert judge_scalar(claim).verdict == "proved"


def test_only_P_beside_d_is_squared():
    line = with_squared_P(suppression.D66)
    assert line.conditions[0].rhs.has(P**2)
    phase = with_squared_P(initial_growth.D12).given[1].relation
    assert phase == initial_growth.D12.given[1].relation


def test_no_omega_satisfies_the_assumptions_with_squared_P():
    task = swingby.SIMTask.from_signal([4, 1])
    report = swingby.check(task, omega="1e-1000", eta="1e-9", edition="corrected")
    assert report.verdict == "fails"
    assert report.largest_omega is None
