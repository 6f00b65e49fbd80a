"""Do the constants of D.1-D.5 exist: the reduction against anchors and brute force."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import flint
import numpy as np
import pytest
from hypothesis import settings

from swingby.theory import assumptions
from swingby.theory.claims.verdict import Verdict
from swingby.verify.checking import evaluation, feasibility
from swingby.verify.checking.feasibility import Problem

#: 10,000 in the full profile.
SETS = min(10_000, 50 * settings.default.max_examples)


def problem(signal, omega, eta="1/100000", beta=1, power=1):
    return Problem(
        tuple(Fraction(a) for a in signal), Fraction(omega), Fraction(eta), Fraction(beta), power
    )


def brute_force(signal, log_omega, log_beta, kappas, shares, scales):
    """Best and worst case over a grid of (kappa, P, K, alpha): an independent transcription.

    Straight from the printed inequalities, in floats and logarithms; returns whether some grid
    point satisfies D.1 and D.3-D.5.
    """
    a = np.sort(np.array(signal, float))[::-1]
    d = len(a)
    kappa = kappas[:, None, None, None]
    log_P = (math.log(2) + shares * (-log_omega - math.log(2)))[None, :, None, None]
    K = np.array([20.0, 25.0, 60.0])[None, None, :, None]
    alpha = (a[-1] * scales)[None, None, None, :]
    gamma = a[0] / alpha
    ok = np.ones(np.broadcast_shapes(kappa.shape, log_P.shape, K.shape, alpha.shape), bool)
    log_phase = log_P + log_omega + log_beta
    ok &= log_phase <= math.log(0.4)
    room = np.minimum(kappa - 1, 1 - kappa**-0.5)
    ok &= log_omega <= np.log(room / (K * gamma * d)) - log_P - 2 * log_beta
    ok &= log_omega <= -0.5 * (math.log(2) + log_beta)
    C = np.full(alpha.shape, 1 + 1e-9)
    for i in range(d):
        for j in range(i + 1, d):
            gap = a[i] - 3 * a[j]
            if gap <= 0:
                return False
            C = np.maximum(C, alpha / gap)
            right = log_P / (10 * kappa**2 * -log_phase + log_P + log_beta)
            ok &= (a[i] + a[j]) / (2 * a[i]) <= np.where(log_phase < 0, right, -np.inf)
    ok &= kappa <= 1 + K / (2 * C)
    return bool(ok.any())


def test_random_parameter_sets_agree_with_brute_force():
    generator = np.random.default_rng(0)
    kappas = np.concatenate([1.1 + np.logspace(-7, -1, 9), np.linspace(1.25, 10, 6)])
    scales = np.array([1.0, 0.5, 0.1, 0.01])
    found = {"yes": 0, "no": 0, "too close to call": 0}
    for _ in range(SETS):
        d = int(generator.integers(1, 5))
        ratios = generator.uniform(2.5, 8, d - 1)
        signal = np.cumprod(np.concatenate([[1.0], ratios]))
        beta = float(generator.choice([1.0, generator.uniform(1, 5)]))
        log_omega = -math.log(10) * generator.uniform(0.5, 260)
        # Brute force sees beta > 1 only through its limit; stay a little above it.
        exact = [Fraction(float(value)) for value in signal]
        omega = Fraction(math.exp(log_omega))
        case = problem(exact, omega, beta=Fraction(beta))
        verdict = feasibility.omega_verdict(case)
        log_omega = float(flint.arb(flint.fmpq(omega.numerator, omega.denominator)).log())
        log_beta = max(math.log(beta), 1e-9)
        coarse = np.linspace(0, 1, 160)
        if brute_force(signal, log_omega, log_beta, kappas, coarse, scales):
            found["yes"] += 1
            assert verdict == Verdict.HOLDS
            continue
        # A grid that misses by less than its own spacing decides nothing.
        if verdict == Verdict.HOLDS:
            chosen = float(feasibility.witness(case).log10_P) * math.log(10)
            share = (chosen - math.log(2)) / (-log_omega - math.log(2))
            fine = share + np.linspace(-1, 1, 400) / 160
            fine_kappas = np.append(kappas, float(feasibility.witness(case).kappa))
            near = brute_force(signal, log_omega, log_beta, fine_kappas, fine, scales)
            found["yes" if near else "too close to call"] += 1
        else:
            found["no"] += 1
    assert found["yes"] > 0.2 * SETS
    assert found["no"] > 0.2 * SETS
    assert found["too close to call"] < 0.005 * SETS


@pytest.mark.parametrize("signal", [(4, 1), (Fraction(31, 10), 1), (1000, 1), (16, 4, 1)])
def test_threshold_increases_in_kappa_and_beta(signal):
    # Step 4 of the reduction, on a grid: the derivation itself is in the module's docstring.
    for kappa, beta in product(np.linspace(1.1, 10.9, 60), (1, 2, 50)):
        at = Fraction(kappa).limit_denominator(1000)
        here = feasibility.threshold(problem(signal, 1, beta=beta), at)
        assert feasibility.threshold(problem(signal, 1, beta=beta), at + Fraction(1, 100)) > here
        assert feasibility.threshold(problem(signal, 1, beta=beta + 1), at) > here


def test_pairs_are_all_pairs_or_neighbours():
    """Of four concepts: six pairs, three of them neighbours; (D.10) and the gap for each."""
    problem = Problem(
        tuple(map(Fraction, (64, 16, 4, 1))), Fraction(1, 10), Fraction(1), Fraction(2)
    )
    constants = feasibility.nearest_attempt(problem)
    for neighbours, pairs in ((False, 6), (True, 3)):
        found = evaluation.instances([assumptions.D5], problem, constants, neighbours=neighbours)
        assert len({one.place for one in found if one.place}) == pairs


@pytest.mark.parametrize(("gamma", "sign"), [("1", -1), ("3/2", 1)])
def test_the_edge_of_a_strict_inequality_between_constants_is_outside(gamma, sign):
    case = problem([4, 1], "1e-90")
    constants = replace(feasibility.nearest_attempt(case), gamma=Fraction(gamma))
    (found,) = (
        one.sign()
        for one in evaluation.instances([assumptions.D1], case, constants)
        if one.condition.relation == (assumptions.gamma > 1)
    )
    assert found == sign
