"""The proof of the theorem on two concepts, step by step.

The steps are those of :mod:`swingby.theory.theorem_two`. Letters: x = w_11, z = w_22,
u = w_12^2/x, p = z - u, r = a_2/a_1, b = beta omega; capital L stands for logarithms (L_x = log x,
L_1x = log(1-x)), so that products of powers become linear. Time t is eta times steps.
"""

from __future__ import annotations

import sympy

from swingby.theory.claim import Claim
from swingby.theory.derivations.letters import both, eq, ge, given, gt, le, lt
from swingby.theory.derivations.repaired.conclusions import ByHand, EntryFormula
from swingby.theory.derivations.repaired.two_identities import IDENTITIES
from swingby.theory.derivations.repaired.two_simpler import PLACE, SIMPLER, step

a_1, a_2, x, y, z, p, k, q, theta, h, K = sympy.symbols(
    "a_1 a_2 x y z p k q theta h K", positive=True
)
u, G, E_1 = sympy.symbols("u G E_1", nonnegative=True)
r, m = sympy.symbols("r m", positive=True)
T = sympy.Symbol("T", real=True)
L_u, L_x, L_1x, L_spread, L_rho, L_1b, L_theta, L_z, L_p, L_beta, L_omega = sympy.symbols(
    "L_u L_x L_1x L_spread L_rho L_1b L_theta L_z L_p L_beta L_omega", real=True
)
_log = sympy.log

ORDER = given("Assumption D.1'", gt(a_1, a_2))
RATIO = given("Assumption D.1'", lt(r, 1))
INSIDE = given("Theorem two [1.4]", lt(x, 1))


INVARIANT = (
    step(
        "[1.4.1]",
        "x' is at most that of the logistic",
        le(2 * a_1 * x * (1 - x) - (a_1 + a_2) * u * x, 2 * a_1 * x * (1 - x)),
    ),
    step(
        "[1.4.2]",
        "so log(1-x) falls at a rate of at most 2 a_1",
        ge(-(2 * a_1 * x * (1 - x) - (a_1 + a_2) * u * x) / (1 - x), -2 * a_1),
        INSIDE,
        reading="As long as x < 1; hence x < 1 for all t.",
    ),
    step(
        "[1.4]",
        "0 < x < 1 and 0 < z < 1 for all t",
        ByHand(
            "0 < w_11(t) < 1 and 0 < w_22(t) < 1 for all t",
            "[1.4.2] integrated, and W stays positive definite; z by exchanging the concepts",
            "Theorem two: range",
        ),
    ),
)

_V = L_u - r * L_x - (1 - r) / 2 * L_1x
LYAPUNOV = (
    step(
        "[1.5.1]",
        "V' <= 0",
        le(
            -(a_1 + 3 * a_2) * p - a_2 * (1 - r) * u - (1 - r) / 2 * (a_1 + a_2) * x * u / (1 - x),
            0,
        ),
        RATIO + INSIDE,
    ),
    step(
        "[1.6.1]",
        "V(0) <= log k",
        le(_V, L_spread + L_omega - r * (L_rho + L_omega) - (1 - r) / 2 * L_1b),
        given(
            "Assumption D.3'", le(L_u, L_spread + L_omega), ge(L_x, L_rho + L_omega), ge(L_1x, L_1b)
        )
        + RATIO,
        reading="L_spread = log(beta-rho), L_1b = log(1-b): u(0) = z(0) - p(0), x(0) <= b.",
    ),
    step(
        "[1.6]",
        "u <= k x^r (1-x)^((1-r)/2) for all t",
        ByHand(
            "w_12(t)^2/w_11(t) <= k w_11^r (1-w_11)^((1-r)/2) for all t",
            "[1.5], [1.5.1] integrated: V <= V(0) <= log k by [1.6.1]",
            "Theorem two: ceiling",
        ),
    ),
)

_star = 2 * (1 + r) / (3 + r)
_height = (1 + r) * _log(x) + (1 - r) / 2 * _log(1 - x)
PEAK = (
    step(
        "[1.7.1]",
        "x* is critical for x^(1+r) (1-x)^((1-r)/2)",
        eq(((1 + r) / x - (1 - r) / (2 * (1 - x))).subs(x, _star), 0),
        RATIO,
        kind="identity",
    ),
    step(
        "[1.7.2]",
        "the derivatives of its logarithm",
        both(
            eq(sympy.diff(_height, x), (1 + r) / x - (1 - r) / (2 * (1 - x))),
            eq(sympy.diff(_height, x, 2), -(1 + r) / x**2 - (1 - r) / (2 * (1 - x) ** 2)),
        ),
        INSIDE,
        kind="identity",
    ),
    step(
        "[1.7]",
        "its logarithm is strictly concave: x* is the maximum, K its value",
        lt(-(1 + r) / x**2 - (1 - r) / (2 * y**2), 0),
        RATIO,
        reading="The second derivative, with y = 1 - x; a critical point of a strictly concave "
        "function is its maximum.",
    ),
    step(
        "[1.8]",
        "w_12^2 = u x <= k K, which is (a)",
        le(u * x, k * K),
        given("Theorem two [1.6]", le(u, k * q)) + given("Theorem two [1.7]", le(q * x, K)),
        reading="q stands for x^r (1-x)^((1-r)/2).",
    ),
)

SECOND = (
    step(
        "[1.10.1]",
        "logit p grows at least at 2 a_2, and z >= p",
        ge(2 * a_2 + (a_1 - a_2) * u / (1 - p), 2 * a_2),
        ORDER + given("Theorem two [1.4]", lt(p, 1)),
    ),
    step(
        "[1.10.2]",
        "solved for the time",
        gt(L_p + 2 * a_2 * T, L_theta),
        given("definition", gt(T, (L_theta - L_rho) / (2 * a_2)), ge(L_p, L_rho)),
        reading="L stands for logits here: of p(0), rho omega and theta.",
    ),
    step(
        "[1.10.3]",
        "(b)",
        ByHand(
            "w_22(t) > theta for t > [logit theta - logit rho omega]/(2 a_2)",
            "[1.10], [1.10.1] integrated, [1.10.2], and z = p + u >= p",
            "Theorem two: second",
        ),
    ),
)

_power = (3 + r) / 2
FIRST = (
    step(
        "[1.11.1]",
        "g <= G(x)",
        le((1 + r) * u / (2 * (1 - x)), (1 + r) / 2 * k * h),
        given("Theorem two [1.6]", le(u, k * q)) + given("definition", le(q, h * (1 - x))) + INSIDE,
        reading="q = x^r (1-x)^((1-r)/2) and h = x^r (1-x)^(-(1+r)/2) = q/(1-x).",
    ),
    step(
        "[1.11.2]",
        "G grows with x",
        gt(r / x + (1 + r) / (2 * (1 - x)), 0),
        INSIDE,
        reading="The derivative of log G.",
    ),
    step(
        "[1.11.3]",
        "x' > 0 while x <= theta, if E_1 < 1",
        gt(2 * a_1 * x * (1 - x) * (1 - G), 0),
        INSIDE + given("Theorem two [1.11.2]", le(G, E_1)) + given("case", lt(E_1, 1)),
    ),
    step(
        "[1.12.1]",
        "1/(1-G) <= 1 + G/(1-E_1)",
        le(1 / (1 - G), 1 + G / (1 - E_1)),
        given("Theorem two [1.11.2]", le(G, E_1)) + given("case", lt(E_1, 1)),
    ),
    step(
        "[1.12.2]",
        "(1-x)^(-m) is convex: it lies below its chord on [0, theta]",
        gt(m * (m + 1) * sympy.exp(-(m + 2) * L_1x), 0),
        reading="The second derivative, with (1-x)^(-m-2) = exp(-(m+2) log(1-x)).",
    ),
    step(
        "[1.12.3]",
        "x^(r-1) <= theta^r/x on (0, theta]",
        le((r - 1) * L_x, r * L_theta - L_x),
        given("case", le(L_x, L_theta)),
    ),
    step(
        "[1.12.4]",
        "antiderivatives of x^(r-1) and of x^r",
        EntryFormula(
            (
                (1, sympy.diff(x**r / r, x), x ** (r - 1)),
                (1, sympy.diff(x ** (r + 1) / (r + 1), x), x**r),
            )
        ),
        kind="identity",
    ),
    step(
        "[1.12.5]",
        "the first value of e: X(theta)",
        ByHand(
            "if E_1(theta) < 1, 2 a_1 times the time to theta is at most "
            "logit theta - logit rho omega + X(theta)",
            "[1.11] to [1.11.3] with time as an integral over x, [1.12.1], the chord of [1.12.2] "
            "under the integral, [1.12.3], [1.12.4]",
            "Theorem two: reach",
        ),
    ),
    step(
        "[1.12.6]",
        "below theta the loss of speed is at most f/(1-theta)",
        le((a_1 + a_2) * u / (1 - x), (a_1 + a_2) * u / (1 - theta)),
        given("case", le(x, theta), lt(theta, 1)),
    ),
    step(
        "[1.12.8]",
        "log(z(0)/p(0)) <= log(beta/rho)",
        le(L_z - L_p, L_beta - L_rho),
        given("Assumption D.3'", le(L_z, L_beta + L_omega), ge(L_p, L_rho + L_omega)),
    ),
    step(
        "[1.12.9]",
        "the second value of e, hence (c)",
        ByHand(
            "w_11 reaches theta by [logit theta - logit rho omega + e]/(2 a_1), and stays above "
            "if E_1(theta) < 1",
            "[1.12], [1.12.6] integrated; the integral of f is at most log(x z/det W)(0) = "
            "log(z(0)/p(0)) by [1.12.7], and [1.12.8]; [1.11.3] at theta",
            "Theorem two: keep",
        ),
    ),
    step(
        "[1.12.10]",
        "(d)",
        ByHand(
            "W(t) -> I",
            "z lies between two logistic curves, so u = z - p -> 0, and x -> 1 by [1.11]; or "
            "Theorem G",
            "Theorem two: end",
        ),
    ),
)

THEOREM = Claim(
    "Theorem two",
    "theorem",
    "two concepts: peak of w_12, times, convergence",
    ByHand(
        "for omega <= omega_0: |w_12(t)|^2 <= K k for all t; w_22 > 0.8 from "
        "log(4 (1-rho omega)/(rho omega))/(2 a_2) on; w_11 >= 0.8 from "
        "[log(4 (1-rho omega)/(rho omega)) + e]/(2 a_1) on; W -> I",
        "steps [1.1] to [1.12]",
        "Theorem two",
    ),
    ORDER,
    edition="repaired",
    reference=PLACE,
)

CLAIMS = (THEOREM, *IDENTITIES, *INVARIANT, *LYAPUNOV, *PEAK, *SECOND, *FIRST, *SIMPLER)
