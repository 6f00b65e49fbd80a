"""App. D with P^2 in Corollary D.1 and Assumption D.4: the chain stands, the assumptions do not.

Expected: a line in which the noise enters follows again once D.4 beats the larger noise; derived by
hand, since D.4 is made for exactly that.
"""

import pytest
import sympy

import swingby
from swingby.theory.assumptions import P, d
from swingby.theory.claim import Claim, Given
from swingby.theory.derivations.ledger import by_id, corrected_chain, with_squared_P
from swingby.theory.proofs.reader import packaged
from swingby.verify.prover.scalar.dispatch import judge_scalar

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
def test_line_stands_with_squared_P(claim):
    assert judge_scalar(claim).verdict == "proved"


def test_only_P_beside_d_is_squared():
    line = with_squared_P(by_id("D.66"))
    assert line.conditions[0].rhs.has(P**2)
    phase = with_squared_P(by_id("D.12")).given[1].relation
    assert phase == by_id("D.12").given[1].relation


def test_a_line_rests_on_the_corrected_form_of_what_it_cites():
    # By hand, on three lines: the first is repaired, the second cites it, and so does the third,
    # which is repaired itself and cites the second and an assumption too.
    x, y, z = sympy.symbols("x y z", positive=True)
    first = Claim("X.1", "step", "", sympy.Le(x, 1)).mended(conclusion=sympy.Le(x, 2))
    second = Claim("X.2", "step", "", sympy.Le(y, 1), first.cite())
    third = Claim(
        "X.3",
        "step",
        "",
        sympy.Le(z, 1),
        (*first.cite(), *second.cite(), Given(sympy.Le(x, 5), "Assumption D.4")),
    ).mended(conclusion=sympy.Le(z, 3))
    one, two, three = corrected_chain([first, second, third])
    assert [line.conditions for line in (one, two, three)] == [
        (sympy.Le(x, 2),),
        (sympy.Le(y, 1),),
        (sympy.Le(z, 3),),
    ]
    assert two.given == (Given(sympy.Le(x, 2), "X.1"),)
    assert three.given == (
        Given(sympy.Le(x, 2), "X.1"),
        Given(sympy.Le(y, 1), "X.2"),
        Given(sympy.Le(x, 5), "Assumption D.4"),
    )
    assert {line.edition for line in (one, two, three)} == {"corrected"}


def test_what_is_cited_of_a_repaired_line_alone_is_replaced():
    # A relation that merely names the line as its source, and is not its conclusion, stays.
    x = sympy.Symbol("x", positive=True)
    first = Claim("X.1", "step", "", sympy.Le(x, 1)).mended(conclusion=sympy.Le(x, 2))
    other = Given(sympy.Le(x, 7), "X.1")
    _, found = corrected_chain([first, Claim("X.2", "step", "", sympy.Le(x, 8), (other,))])
    assert found.given == (other,)


def test_no_omega_satisfies_the_assumptions_with_squared_P():
    task = swingby.SIMTask.from_signal([4, 1])
    report = swingby.check(task, omega="1e-1000", eta="1e-9", edition="corrected")
    assert report.verdict == "fails"
    assert report.largest_omega is None
