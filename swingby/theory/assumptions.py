"""Assumptions D.1 to D.5, as printed and as corrected, encoded once as sympy statements.

The indices of Assumption D.5 are read by value: the paper sorts the signal in descending order
in Sec. 4, where "for any i > j, a_i - 3 a_j >= ..." would contradict itself, so here concept i
is always the one with the larger signal. With that reading "for all pairs" is decided by
neighbouring signals alone, because both of its inequalities are tightest there.
"""

from __future__ import annotations

import sympy

from swingby.theory.statement import Condition, Statement

alpha, gamma, beta, P, K, kappa, C = CONSTANTS = sympy.symbols(
    "alpha gamma beta P K kappa C", positive=True
)
omega, eta, d = sympy.symbols("omega eta d", positive=True)
a_i, a_j, a_k = sympy.symbols("a_i a_j a_k", nonnegative=True)
w_ij = sympy.Symbol("w_ij(0)", real=True)


def _constants(*relations: sympy.Rel) -> tuple[Condition, ...]:
    return tuple(Condition(relation, about="constants") for relation in relations)


D1 = Statement(
    "D.1",
    "printed",
    "Bounded Initialization and Signal Strength",
    ("alpha > 0", "gamma > 1", "beta > 1"),
    (
        Condition(alpha <= a_k, "concept"),
        Condition(a_k <= gamma * alpha, "concept"),
        Condition(omega <= sympy.Abs(w_ij), "entry"),
        Condition(sympy.Abs(w_ij) <= beta * omega, "entry"),
        *_constants(gamma > 1, beta > 1),
    ),
    "(D.7), (D.8)",
    "k runs over all d directions, so a free direction (a_k = 0, p > s) violates it.",
)

D2 = Statement(
    "D.2",
    "printed",
    "Small Step Size",
    ("K",),
    (Condition(eta <= 1 / (9 * K * gamma * alpha)), *_constants(K >= 20)),
    "Assumption D.2",
)

D3 = Statement(
    "D.3",
    "printed",
    "Small Initial Phase",
    ("P",),
    (Condition(P * omega * beta <= sympy.Rational(2, 5)),),
    "Assumption D.3",
)


def _small_initialization(power: int) -> tuple[Condition, ...]:
    """(D.9), with the power of P that the bound on the noise term needs."""
    rate = sympy.Min(kappa - 1, 1 - 1 / sympy.sqrt(kappa))
    # Unevaluated, so that it prints as in the paper and not as sqrt(2)/(2 sqrt(beta)).
    root = sympy.Pow(2 * beta, -sympy.Rational(1, 2), evaluate=False)
    limit = sympy.Min(rate / (P**power * K * gamma * d * beta**2), root)
    return (
        Condition(omega <= limit),
        *_constants(kappa > sympy.Rational(11, 10), kappa <= 1 + K / (2 * C), P >= 2),
    )


D4 = Statement(
    "D.4",
    "printed",
    "Small Initialization",
    ("P", "K", "kappa", "C"),
    _small_initialization(1),
    "(D.9)",
)

D4_CORRECTED = Statement(
    "D.4",
    "corrected",
    "Small Initialization",
    ("P", "K", "kappa", "C"),
    _small_initialization(2),
    "(D.9)",
    "P^2 in place of P. Corollary D.1 bounds a sum of products of two entries, each at most "
    "P beta omega, so its bound is 2 P^2 gamma alpha d beta^2 omega^2; every use of D.4 then "
    "needs P^2.",
)

D5 = Statement(
    "D.5",
    "printed",
    "Significant Signal Strength Difference",
    ("P", "kappa", "C"),
    (
        Condition(
            (a_i + a_j) / (2 * a_i)
            <= sympy.log(P)
            / (10 * kappa**2 * sympy.log(1 / (P * beta * omega)) + sympy.log(P * beta)),
            "pair",
        ),
        Condition(a_i - 3 * a_j >= alpha / C, "pair"),
        *_constants(C > 1),
    ),
    "(D.10)",
    "i is the concept with the larger signal.",
)

PRINTED = (D1, D2, D3, D4, D5)
CORRECTED = (D1, D2, D3, D4_CORRECTED, D5)


def statements(edition: str) -> tuple[Statement, ...]:
    """The assumptions of an edition that shares the constants of D.1 to D.5."""
    return {"printed": PRINTED, "corrected": CORRECTED}[edition]
