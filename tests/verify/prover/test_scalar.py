"""Claims about numbers: lines of Appendix D spoiled, chains, existence, hypotheses that contradict.

The lines of the ledger as they stand are judged in ../test_verdicts.py, and made a thousandth too
strong in ../test_perturbed.py.
"""

import pytest
import sympy

from swingby.errors import InvalidInput
from swingby.theory.claims.claim import Claim
from swingby.theory.proofs.reader import packaged
from swingby.verify.prover.scalar.dispatch import judge_scalar
from tests.theory.letters import (
    NOISE,
    ROOT_RATE,
    C,
    K,
    P,
    a_i,
    a_j,
    alpha,
    beta,
    eq,
    eta,
    gamma,
    ge,
    given,
    gt,
    kappa,
    le,
    lt,
    omega,
    t,
    w,
    w_start,
    x,
)

GROUPS = packaged("letters").groups
D1_ENTRY, D4_ROOT = GROUPS["D1_ENTRY"], GROUPS["D4_ROOT"]

exp, log, Rational = sympy.exp, sympy.log, sympy.Rational
HALF, TENTH = Rational(1, 2), Rational(1, 10)
NOT_NEGATIVE = (ge(x, 0),)
signals = given("D.1", le(alpha, a_i), le(alpha, a_j))
above = given("D.4", gt(kappa, Rational(11, 10)))
held = given("case", ge(w, omega))
started = given("D.1", ge(w_start, omega))
y = eta * (a_i + a_j)
T_1 = sympy.Symbol("T_1", positive=True)
WHERE = ((T_1, log(P) / (2 * eta * gamma * alpha * kappa)),)


def claim(conclusion, *hypotheses, **options):
    return Claim("line", "step", "", conclusion, tuple(hypotheses), **options)


def growth(sign=1):
    """D.18, whose last difference is a sum."""
    small = y + 2 * (kappa - 1) * eta * alpha
    return claim(le(small, kappa * eta * (a_i + sign * a_j)), *signals, *above)


def noise(power=1, root=HALF):
    """D.42."""
    rate = ROOT_RATE if root == HALF else 1 - kappa**-root
    return claim(le(eta * NOISE / omega, 2 * rate * eta * alpha / K**power), *D4_ROOT)


def decay(sign=1):
    """D.27."""
    size = w_start * exp(sign * eta * t * (a_i + a_j) / kappa)
    return claim(le(NOISE * omega / size, NOISE), *started)


def above_tangent(end=TENTH, low=NOT_NEGATIVE):
    """Before D.29."""
    line = ge(kappa ** Rational(-1, 2) * x + 1, exp(x / kappa))
    return claim(line, *above, *given("case", lt(x, end), *low))


def induction(steps=1):
    """D.31."""
    before = given("induction", ge(w, w_start * exp(t * y / kappa)))
    return claim(ge(w * exp(y / kappa), w_start * exp((t + steps) * y / kappa)), *before)


def inside(relation=le):
    """D.34."""
    size = beta * omega * exp(2 * eta * T_1 * gamma * alpha * kappa)
    return claim(relation(size, P * beta * omega), where=WHERE)


def product(etas=1):
    """D.26."""
    size = w_start * exp(t * y)
    rate = y if etas else a_i + a_j
    return claim(eq(size * (rate - NOISE / size), y * size - NOISE))


#: Each line as it is true, and with a sign, power, range or factor lost.
SPOILED = {
    "D.18, sign": (growth(), growth(sign=-1)),
    "D.42, power": (noise(), noise(power=2)),
    "D.42, root": (noise(), noise(root=Rational(1, 4))),
    "D.27, sign": (decay(), decay(sign=-1)),
    "before D.29, range": (above_tangent(), above_tangent(end=Rational(11, 100))),
    "before D.29, negative": (above_tangent(), above_tangent(low=())),
    "D.31, power": (induction(), induction(steps=2)),
    "D.34, strict": (inside(), inside(lt)),
    "D.26, eta": (product(), product(etas=0)),
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
