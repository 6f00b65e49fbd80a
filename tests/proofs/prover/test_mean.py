"""The prover of expectations: moments of Gaussians, of the mixture, and changed lines."""

import math

import pytest
import sympy

from swingby.proofs.language.claim import Claim
from swingby.proofs.language.claims import by_id
from swingby.proofs.language.conclusions import EmpiricalLimit, MeanIdentity, SameDistribution
from swingby.proofs.language.matrices import (
    cluster,
    d_prime,
    delta,
    i,
    inside,
    j,
    k,
    mean,
    mu,
    p,
    q,
    s,
    sigma,
    tau,
    u,
    x_entry,
    xi,
)
from swingby.proofs.prover.algebra.cases import raw_moment
from swingby.proofs.prover.algebra.mean import judge_mean
from tests.proofs.letters import d


def verdict(conclusion):
    return judge_mean(Claim("test", "identity", "", conclusion)).verdict


def test_raw_moments():
    """E x^m = sum over pairings; for standard Gaussians (m - 1)!! (closed form)."""
    for order in range(0, 9, 2):
        assert raw_moment(order, 0, 1) == math.prod(range(1, order, 2))
        assert raw_moment(order + 1, 0, 1) == 0
    # E x^3 = m^3 + 3 m v, E x^4 = m^4 + 6 m^2 v + 3 v^2
    assert raw_moment(3, 2, 5) == 8 + 30
    assert raw_moment(4, 2, 5) == 16 + 6 * 4 * 5 + 3 * 25


GRAM = sympy.Sum(u[i, k] * u[j, k], (k, 1, d_prime))

TRUE = [
    MeanIdentity(mean(xi[p] ** 2 * xi[q] ** 2), 1 + 2 * delta(p, q)),
    MeanIdentity(mean(xi[p] ** 3 * xi[q]), 3 * delta(p, q)),
    MeanIdentity(mean(delta(cluster, p)), inside(p) / s),
    MeanIdentity(mean(x_entry[p]), inside(p) * mu[p] / s),
    MeanIdentity(
        mean(x_entry[p] ** 4),
        inside(p) * (mu[p] ** 4 / s + 6 * mu[p] ** 2 * sigma[p] ** 2 / s + 3 * sigma[p] ** 4),
    ),
    MeanIdentity(
        mean(sympy.Sum(u[i, k] ** 2 * u[j, k] ** 2, (k, 1, d_prime))),
        d_prime * tau**4 * (1 + 2 * delta(i, j)),
    ),
]

FALSE = [
    MeanIdentity(mean(xi[p] ** 2 * xi[q] ** 2), 1 + delta(p, q)),
    MeanIdentity(mean(delta(cluster, p)), inside(p)),
    MeanIdentity(mean(x_entry[p] * x_entry[q]), delta(p, q) * (sigma[p] ** 2 + mu[p] ** 2)),
    MeanIdentity(mean(x_entry[p] * x_entry[q]), delta(p, q) * (sigma[p] ** 2 + mu[p] ** 2 / s**2)),
    MeanIdentity(mean(x_entry[p] * x_entry[q]), sigma[p] ** 2 + mu[p] ** 2 / s),
    MeanIdentity(mean(GRAM), d_prime * tau**2),
    MeanIdentity(mean(GRAM), delta(i, j) * d_prime * tau),
    MeanIdentity(mean(GRAM), delta(i, j) * d * tau**2),
]


@pytest.mark.parametrize("conclusion", TRUE)
def test_known_means_are_proved(conclusion):
    assert verdict(conclusion) == "proved"


@pytest.mark.parametrize("conclusion", FALSE)
def test_wrong_means_are_refuted(conclusion):
    judged = judge_mean(Claim("test", "identity", "", conclusion))
    assert judged.verdict == "refuted"
    assert judged.witness.left != judged.witness.right
    assert len(judged.witness.checked) == 2


def test_a_product_of_means_is_not_taken_for_a_mean():
    """E[xi_p]^2 = 0, while E[xi_p^2] = 1."""
    assert verdict(MeanIdentity(mean(xi[p]) ** 2, sympy.Integer(1))) != "proved"


def test_the_law_of_a_sample_needs_its_spread():
    right = by_id("C.7").conclusion
    assert verdict(right) == "proved"
    wrong = SameDistribution(right.representation, right.location, delta(p, q) * sigma[p])
    assert verdict(wrong) == "refuted"
    square = mu[p] * delta(cluster, p) + sigma[p] * (xi[p] ** 2 - 1)
    assert verdict(SameDistribution(square, right.location, 2 * right.covariance)) != "proved"


def test_the_variance_of_the_data_matrix():
    right = by_id("C.8").conclusion
    assert verdict(right) == "proved"
    assert verdict(EmpiricalLimit(right.sample, right.limit, 2 * right.constant)) != "proved"
