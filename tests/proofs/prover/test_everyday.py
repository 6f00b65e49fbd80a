"""Everyday claims of a theorist: true ones are proved, and none of their near misses is.

They stand in data/everyday_claims.txt; five in six are left to the full profile.
"""

import pytest

from benchmarks.claims import claims
from swingby.proofs.prover.scalar.scalar_claims import decide_scalar
from tests.proofs.prover.test_elementary import claim

#: Those that z3 alone proves so far.
BY_Z3 = (
    "p >= 1; q >= 1; u^2 <= (p-1)*(q-1) |- p*x^2 + 2*u*x*y + q*y^2 >= x^2 + y^2",
    "u^2 <= p*q; v^2 <= r*s |- (u+v)^2 <= (p+r)*(q+s)",
    "(sqrt(m)-sqrt(n))^2 <= Abs(m-n)",
    "p*q*r = 1 |- p*q + q*r + r*p >= 3",
)


@pytest.mark.parametrize(
    ("true", "false"),
    [
        pytest.param(true, false, marks=[pytest.mark.full] if index % 6 else [], id=true)
        for index, (_, true, false) in enumerate(claims())
    ],
)
def test_a_claim_is_proved_and_its_near_miss_is_not(true, false):
    expected = {"proved", "proved by z3"} if true in BY_Z3 else {"proved"}
    assert decide_scalar(claim(true), seconds=20).verdict in expected
    assert decide_scalar(claim(false), seconds=20).verdict in {"refuted", "undecided"}
