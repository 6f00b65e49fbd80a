"""The theorem on two concepts: every step that a machine can check, and omega_0.

The constants are written a second time in docs/examples/test_theory.py.
"""

import math
from fractions import Fraction

import flint
import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from swingby.errors import InvalidInput
from swingby.theory import balls, dynamics, theorem_two

TWO, TENTH = Fraction(2), Fraction(1, 10)
A, W, _ = dynamics.symbols(2)
a1, a2 = A[0, 0], A[1, 1]
x, z, o = W[0, 0], W[1, 1], W[0, 1]
r = a2 / a1
u = o**2 / x
p = z - u


def speed(expression):
    """Time derivative along the flow."""
    right = dynamics.right_side(A, W)
    parts = ((x, right[0, 0]), (z, right[1, 1]), (o, right[0, 1]))
    return sum(sympy.diff(expression, entry) * change for entry, change in parts)


V = sympy.log(u) - r * sympy.log(x) - (1 - r) / 2 * sympy.log(1 - x)

IDENTITIES = {
    "1.1": (sympy.log(x), 2 * a1 * (1 - x) - (a1 + a2) * u),
    "1.2": (sympy.log(p), 2 * a2 * (1 - p) + (a1 - a2) * u),
    "1.3": (sympy.log(u), 2 * a2 * (1 - u) - (a1 + a2) * x - (a1 + 3 * a2) * p),
    "1.5": (
        V,
        -(a1 + 3 * a2) * p - a2 * (1 - r) * u - (1 - r) / 2 * (a1 + a2) * x * u / (1 - x),
    ),
    "1.9": (sympy.log(o**2 / (x * z - o**2)), -(a1 + a2) * (x + z)),
    "1.11": (x, 2 * a1 * x * (1 - x) * (1 - (1 + r) * u / (2 * (1 - x)))),
    "1.12": (sympy.log(x / (1 - x)), 2 * a1 - (a1 + a2) * u / (1 - x)),
}


@pytest.mark.parametrize("step", IDENTITIES)
def test_identity_of_the_proof(step):
    quantity, claimed = IDENTITIES[step]
    assert sympy.simplify(speed(quantity) - claimed) == 0


def test_step_1_7_maximum_of_the_peak_function():
    X, R = sympy.symbols("X R", positive=True)
    exponent = (1 + R) * sympy.log(X) + (1 - R) / 2 * sympy.log(1 - X)
    x_star = 2 * (1 + R) / (3 + R)
    assert sympy.simplify(sympy.diff(exponent, X).subs(X, x_star)) == 0
    # Strictly concave for 0 < R < 1, so the critical point is the maximum.
    curvature = -(1 + R) / X**2 - (1 - R) / (2 * (1 - X) ** 2)
    assert sympy.simplify(sympy.diff(exponent, X, 2) - curvature) == 0


def test_step_1_7_constants_are_the_maximum_in_balls():
    for numerator in range(1, 20):
        ratio = Fraction(numerator, 20)
        found = theorem_two.constants(Fraction(1), ratio, TWO, TENTH, Fraction(-20))
        R = balls.ball(ratio)

        def height(at, R=R):
            return at ** (1 + R) * (1 - at) ** ((1 - R) / 2)

        assert found.K.overlaps(height(found.x_star))
        assert found.K < 1
        for place in range(1, 40):
            at = balls.ball(Fraction(place, 40))
            assert not height(at) > found.K


@pytest.mark.parametrize(
    "ratio", [Fraction(1, 100), Fraction(1, 4), Fraction(3, 5), Fraction(9, 10)]
)
@pytest.mark.parametrize("start", [Fraction(1, 10**6), Fraction(1, 100), Fraction(1, 2)])
@pytest.mark.parametrize("theta", [Fraction(3, 5), Fraction(4, 5), Fraction(19, 20)])
def test_step_1_12_bound_on_the_integral(ratio, start, theta):
    R, level, low = (balls.ball(value) for value in (ratio, theta, start))
    # In s = log x, where the integrand is smooth down to small x.
    area = flint.acb.integral(
        lambda s, _: (R * s).exp() * (1 - s.exp()) ** (-(3 + R) / 2), low.log(), level.log()
    ).real
    near = (1 / R).min((level / low).log())
    far = ((1 - level) ** (-(3 + R) / 2) - 1) / (1 + R)
    assert area < level**R * (near + far)


def test_step_1_13_simpler_constants_follow_for_every_ratio():
    """E <= 0.1 implies E_1 < 1, e < 1/2 and the simpler peak, over balls that cover (0, 1]."""
    n = 400
    four, nine = flint.arb(4), balls.ball(Fraction(9, 10))
    theta = balls.ball(Fraction(4, 5))
    for i in range(n):
        R = balls.ball(Fraction(2 * i + 1, 2 * n)) + balls.ball(Fraction(1, 2 * n)) * flint.arb(
            0, 1
        )
        slack = nine ** (-(1 - R) / 2)
        k_over_r = balls.ball(Fraction(1, 5)) / (1 + R) * (-R * four.log() - R / 2).exp() * slack
        E1 = (1 + R) / 2 * R * k_over_r * theta**R * flint.arb(5) ** ((1 + R) / 2)
        assert E1 < 1
        far = R * (flint.arb(5) ** ((3 + R) / 2) - 1) / (1 + R)
        extra = (1 + R) / 2 * k_over_r * theta**R * (1 + far) / (1 - E1)
        assert extra < balls.ball(Fraction(1, 2))
        x_star = 2 * (1 + R) / (3 + R)
        # (1 - x*)^((1-r)/2) <= 1 closes the last ball, where 1 - x* touches 0.
        rest = ((1 - R) / (3 + R)).log() * (1 - R) / 2 if i + 1 < n else flint.arb(0)
        K = (x_star.log() * (1 + R) + rest).exp()
        assert K * slack < balls.ball(Fraction(4, 5)) * (R * four.log() + R / 2).exp()


positive = st.fractions(Fraction(1, 1000), Fraction(1000))


@given(
    a=positive,
    ratio=st.fractions(Fraction(1, 50), Fraction(49, 50)),
    beta=positive,
    share=st.fractions(Fraction(1, 10**6), 1),
)
def test_omega_0_is_certified_and_cannot_be_raised(a, ratio, beta, share):
    given_ = (a, a * ratio, beta, beta * max(share, Fraction(1, 10**6)))
    found = theorem_two.log_omega_0(*given_)
    with flint.ctx.workprec(256):
        assert theorem_two.certify(*given_, found)
        assert not theorem_two.certify(*given_, found + Fraction(1, 10**15))
        assert theorem_two.certify(*given_, found - 3)


def test_above_one_the_first_concept_waits_at_most_the_logarithm_of_beta_over_rho():
    found = theorem_two.constants(TWO, Fraction(1), TWO, TENTH, Fraction(-1))
    assert found.E1 > 1
    assert float(found.extra) == pytest.approx(5 * math.log(20))


def test_peak_is_sharp_for_small_omega():
    """The bound on w_12 is attained to leading order, so no smaller constant is true."""
    a, b, beta, rho, L = 4.0, 1.0, 2.0, 0.1, -16.0
    omega = math.exp(L)
    start = np.array([math.log(rho * omega), math.log(beta * omega), math.sqrt(1 - rho / beta)])

    def flow(_, state):
        w, c = np.exp(state[:2]), state[2]
        f = (a + b) * w[::-1] * c**2
        drop = -(a + b) / 2 * w.sum() + f.sum() / 2
        return [2 * a * (1 - w[0]) - f[0], 2 * b * (1 - w[1]) - f[1], c * drop]

    solved = solve_ivp(flow, (0, 5), start, rtol=1e-10, atol=1e-13, max_step=0.01)
    highest = (np.log(np.abs(solved.y[2])) + solved.y[:2].sum(axis=0) / 2).max()
    bound = theorem_two.log_peak(*map(Fraction, (a, b, beta)), TENTH, Fraction(L))
    assert bound - 1e-3 < highest <= bound + 1e-9


def test_bounds_grow_with_omega():
    logs = [Fraction(-40), Fraction(-20), Fraction(-10), Fraction(-4)]
    given_ = (Fraction(4), Fraction(1), TWO, TENTH)
    peaks = [theorem_two.log_peak(*given_, L) for L in logs]
    assert peaks == sorted(peaks)
    times = [theorem_two.time_bounds(*given_, L) for L in logs]
    assert times == sorted(times, reverse=True)


def test_beta_equal_to_rho_leaves_nothing_off_the_diagonal():
    given_ = (Fraction(4), Fraction(1), TWO, TWO)
    assert theorem_two.log_peak(*given_, Fraction(-3)) == -math.inf
    assert math.exp(theorem_two.log_omega_0(*given_)) == pytest.approx(1 / 4)
    assert theorem_two.constants(*given_, Fraction(-3)).extra == 0


@pytest.mark.parametrize("excess", [Fraction(1, 10**12), Fraction(1, 10**60)])
def test_signals_that_almost_agree(excess):
    found = theorem_two.log_omega_0(1 + excess, Fraction(1), TWO, TENTH)
    # r -> 1: E_1 = (beta/rho - 1) omega^(1-r) 0.8/0.2, set to 9/10.
    assert found * excess == pytest.approx(math.log(0.9 / 4 / 19), rel=1e-3)


@pytest.mark.parametrize("function", [theorem_two.log_omega_0, theorem_two.constants])
@pytest.mark.parametrize(
    ("signal", "beta", "rho", "named"),
    # The theorem asks for a_1 > a_2 > 0 and 0 < rho <= beta.
    [
        ((4, 0), 2, 1, "signal"),
        ((4, -1), 2, 1, "signal"),
        ((4, 4), 2, 1, "signal"),
        ((1, 4), 2, 1, "signal"),
        ((0, 0), 2, 1, "signal"),
        ((4, 1), 2, 0, "rho"),
        ((4, 1), 2, -1, "rho"),
        ((4, 1), 2, 3, "rho"),
    ],
)
def test_hypotheses_that_do_not_hold_are_refused(function, signal, beta, rho, named):
    numbers = [Fraction(value) for value in (*signal, beta, rho)]
    rest = [Fraction(-9)] if function is theorem_two.constants else []
    with pytest.raises(InvalidInput, match=f"{named} must be"):
        function(*numbers, *rest)


def test_what_is_refused():
    good = (Fraction(4), Fraction(1), TWO, TENTH)
    with pytest.raises(InvalidInput, match="beta omega < 1"):
        theorem_two.log_peak(*good, Fraction(0))
    with pytest.raises(InvalidInput, match="beta omega < theta"):
        theorem_two.time_bounds(*good, -Fraction(7, 10))
    with pytest.raises(InvalidInput, match="2048 bits"):
        theorem_two.log_omega_0(1 + Fraction(1, 10**700), Fraction(1), TWO, TENTH)
