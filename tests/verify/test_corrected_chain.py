"""App. D with P^2 in Corollary D.1 and Assumption D.4: the chain stands, the assumptions do not.

Expected: a line in which the noise enters follows again once D.4 beats the larger noise; derived by
hand, since D.4 is made for exactly that.
"""

import pytest
import sympy

import swingby
from swingby.theory.assumptions import P, d
from swingby.theory.claims.claim import Claim, Given
from swingby.theory.claims.ledger import by_id, corrected_chain, with_squared_P
from swingby.theory.proofs.reader import packaged

CHAIN = corrected_chain(
    claim
    for name in (
        *("initial_growth", "initial_lower_bound", "after_initial_growth"),
        *("final_band", "suppression"),
    )
    for claim in packaged(name).values()
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
def test_line_stands_with_squared_P(claim, verdict):
    assert verdict(claim).verdict == "proved"


def test_only_P_beside_d_is_squared():
    line = with_squared_P(by_id("D.66"))
    assert line.conditions[0].rhs.has(P**2)
    phase = with_squared_P(by_id("D.12")).given[1].relation
    assert phase == by_id("D.12").given[1].relation


def test_a_line_rests_on_the_corrected_form_of_what_it_cites():
    """By hand: the first is repaired, the second cites it, the third both, and is repaired too.

    A relation that merely names the line as its source, and is not its conclusion, stays.
    """
    x, y, z = sympy.symbols("x y z", positive=True)
    first = Claim("X.1", "step", "", sympy.Le(x, 1)).mended(conclusion=sympy.Le(x, 2))
    second = Claim("X.2", "step", "", sympy.Le(y, 1), first.cite())
    others = (Given(sympy.Le(x, 5), "Assumption D.4"), Given(sympy.Le(x, 7), "X.1"))
    given = (*first.cite(), *second.cite(), *others)
    third = Claim("X.3", "step", "", sympy.Le(z, 1), given).mended(conclusion=sympy.Le(z, 3))
    chain = corrected_chain([first, second, third])
    assert [line.conclusion for line in chain] == [sympy.Le(x, 2), sympy.Le(y, 1), sympy.Le(z, 3)]
    mended = Given(sympy.Le(x, 2), "X.1")
    assert chain[1].given == (mended,)
    assert chain[2].given == (mended, *second.cite(), *others)
    assert {line.edition for line in chain} == {"corrected"}


def test_no_omega_satisfies_the_assumptions_with_squared_P():
    task = swingby.SIMTask.from_signal([4, 1])
    report = swingby.check(task, omega="1e-1000", eta="1e-9", edition="corrected")
    assert report.verdict == "fails"
    assert report.largest_omega is None
