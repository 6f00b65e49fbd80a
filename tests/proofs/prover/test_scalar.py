"""Claims about numbers: lines of Appendix D spoiled, chains, existence, hypotheses that contradict.

The lines of the ledger as they stand are judged in ../test_verdicts.py, and made a thousandth too
strong in ../test_perturbed.py.
"""

import pytest
import sympy

from swingby.errors import InvalidInput
from swingby.proofs.language.claim import Claim
from swingby.proofs.language.reader import packaged
from swingby.proofs.prover.scalar.scalar_claims import judge_scalar
from tests.proofs.letters import (
    C,
    P,
    a_i,
    a_j,
    alpha,
    beta,
    eta,
    gamma,
    ge,
    given,
    gt,
    kappa,
    le,
    lt,
    omega,
    w,
    w_start,
    x,
)

D1_ENTRY = packaged("letters").groups["D1_ENTRY"]
exp, log, Rational = sympy.exp, sympy.log, sympy.Rational
TENTH = Rational(1, 10)
NOT_NEGATIVE = (ge(x, 0),)
above = given("D.4", gt(kappa, Rational(11, 10)))
held = given("case", ge(w, omega))
T_1 = sympy.Symbol("T_1", positive=True)
WHERE = ((T_1, log(P) / (2 * eta * gamma * alpha * kappa)),)


def claim(conclusion, *hypotheses, **options):
    return Claim("line", "step", "", conclusion, tuple(hypotheses), **options)


def above_tangent(end=TENTH, low=NOT_NEGATIVE):
    """Before D.29."""
    line = ge(kappa ** Rational(-1, 2) * x + 1, exp(x / kappa))
    return claim(line, *above, *given("case", lt(x, end), *low))


def inside(relation=le):
    """D.34."""
    size = beta * omega * exp(2 * eta * T_1 * gamma * alpha * kappa)
    return claim(relation(size, P * beta * omega), where=WHERE)


#: Each line as it is true, and with a range, a hypothesis or equality lost.
SPOILED = {
    "before D.29, range": (above_tangent(), above_tangent(end=Rational(11, 100))),
    "before D.29, negative": (above_tangent(), above_tangent(low=())),
    "D.34, strict": (inside(), inside(lt)),
}


@pytest.mark.parametrize("name", SPOILED)
def test_spoiled_lines_are_never_proved(name):
    line, spoiled = SPOILED[name]
    judged = judge_scalar(line)
    assert judged.verdict == "proved", judged
    assert judged.evidence
    assert judged.witness is None
    judged = judge_scalar(spoiled)
    assert judged.verdict == "refuted", judged
    assert len(judged.witness.checked) == 2


def test_an_existence_claim_is_refuted_by_its_negation():
    """a_i - 3 a_j >= alpha / C > 0 needs the larger signal first."""
    hypotheses = given("order", gt(a_j, a_i), gt(C, 1))
    judged = judge_scalar(claim(ge(a_i - 3 * a_j, alpha / C), *hypotheses, quantifier="exists"))
    assert judged.verdict == "refuted"
    assert "negation" in judged.evidence[0]


def test_an_existence_claim_is_proved_by_a_witness():
    judged = judge_scalar(
        claim(ge(a_i - 3 * a_j, alpha / C), *given("D.5", gt(C, 1)), quantifier="exists")
    )
    assert judged.verdict == "proved"
    values = {name: sympy.Rational(value) for name, value in judged.witness.values.items()}
    assert values["a_i"] - 3 * values["a_j"] >= values["alpha"] / values["C"]


def test_a_chain_reports_each_relation():
    """The first relation is the hypothesis, the second is false at w = omega."""
    judged = judge_scalar(claim(sympy.Tuple(ge(w, omega), gt(w, omega)), *held))
    assert judged.verdict == "refuted"
    assert [part.verdict.value for part in judged.parts.values()] == ["proved", "refuted"]


def test_an_entry_of_the_start_stays_inside_its_bounds_where_they_are_in_force():
    """w_ij(0) <= beta omega is true by (D.8), and no witness may violate it."""
    line = le(w_start, beta * omega)
    assert judge_scalar(claim(line, in_force=True)).verdict == "undecided"
    assert judge_scalar(claim(line, *D1_ENTRY)).verdict == "proved"


@pytest.mark.parametrize("power", [100, 3000])
def test_a_high_power_may_be_left_open_and_is_no_error(power):
    """y x^n >= 2 y follows from x^n >= 2, and with 2 y + 1 in place of 2 y it does not."""
    base, z = sympy.symbols("x y", positive=True)
    for more, verdict in ((0, "proved"), (1, "refuted")):
        line = claim(ge(base**power * z, 2 * z + more), *given("case", ge(base**power, 2)))
        found = judge_scalar(line, seconds=20).verdict
        assert found in {verdict, "undecided" if power > 500 else verdict}


def test_decided_relations_are_no_claims():
    with pytest.raises(InvalidInput, match="must be one of"):
        judge_scalar(claim(sympy.true))
