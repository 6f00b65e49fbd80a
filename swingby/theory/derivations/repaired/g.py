"""The proof of Theorem G, step by step: convergence from every positive definite W(0).

The steps are those of :mod:`swingby.theory.theorem_g`. Letters: w = w_ii, f = f_i, Lambda =
-log det C(0), e and m small numbers. Time t is eta times steps.
"""

from __future__ import annotations

from typing import Any

import sympy

from swingby.theory import dynamics
from swingby.theory.claim import Claim
from swingby.theory.derivations.letters import a_i, a_k, ge, given, gt, le, lt
from swingby.theory.derivations.repaired.conclusions import (
    A_1,
    BlockTrace,
    ByHand,
    EntryFormula,
    FlowIdentity,
    X,
    X_inverse,
    Y,
    Y_transposed,
    block_speed,
)

PLACE = "swingby.theory.theorem_g"

w, level, e, m = sympy.symbols("w_ii level e m", positive=True)
f = sympy.Symbol("f_i", nonnegative=True)
w_ik = sympy.Symbol("w_ik", real=True)
c_12, c_13, c_23 = sympy.symbols("c_12 c_13 c_23", real=True)


def noise(dimension: int, i: int) -> Any:
    """The sum f_i over k != i of (a_i + a_k) w_ik^2 / w_ii.

    Parameters
    ----------
    dimension : int
    i : int
        Counted from 0.
    """
    A, W, _ = dynamics.symbols(dimension)
    others = (k for k in range(dimension) if k != i)
    return sum((A[i, i] + A[k, k]) * W[i, k] ** 2 for k in others) / W[i, i]


def _log_det_cases() -> tuple[tuple[int, Any, Any], ...]:
    cases = []
    for d in (2, 3):
        _, W, _ = dynamics.symbols(d)
        quantity = sympy.log(W.det()) - sum(sympy.log(W[i, i]) for i in range(d))
        cases.append((d, quantity, sum(noise(d, i) for i in range(d))))
    return tuple(cases)


def _log_entry_cases(odds: bool) -> tuple[tuple[int, Any, Any], ...]:
    cases = []
    for d in (2, 3, 4):
        A, W, _ = dynamics.symbols(d)
        for i in range(d):
            v = W[i, i]
            if odds:
                right = 2 * A[i, i] - noise(d, i) / (1 - v)
                cases.append((d, sympy.log(v / (1 - v)), right))
            else:
                cases.append((d, sympy.log(v), 2 * A[i, i] * (1 - v) - noise(d, i)))
    return tuple(cases)


def _step(id: str, about: str, conclusion: Any, hypotheses: Any = (), **more: Any) -> Claim:
    more = {"edition": "repaired", "reference": f"{PLACE} {id}"} | more
    return Claim(f"Theorem G {id}", more.pop("kind", "step"), about, conclusion, hypotheses, **more)


G1 = _step(
    "[G.1]",
    "the correlation determinant: (log det C)' = sum_i f_i",
    FlowIdentity(_log_det_cases()),
    kind="identity",
    reading="For every d it follows from [G.1.1] and [G.3]: log det C = log det W - sum log w_ii.",
)
G1_TRACE = _step(
    "[G.1.1]",
    "Tr(W^-1 W') = 2 Tr B for every d",
    BlockTrace(
        (X_inverse * block_speed()).subs({Y: 0, Y_transposed: 0}),
        2 * A_1 - 2 * A_1 * X,
    ),
    kind="identity",
    reading="W is the block X, Y is empty; (log det W)' = Tr(W^-1 W') is Jacobi's formula.",
)
G2_SIGN = _step(
    "[G.2.1]",
    "every term of f_i is at least 0",
    ge((a_i + a_k) * w_ik**2 / w, 0),
)
G2_TWO = _step("[G.2.2]", "det C <= 1 for two concepts", le(1 - c_12**2, 1))
G2_THREE = _step(
    "[G.2.3]",
    "det C <= 1 for three concepts",
    le(1 - c_12**2 - c_13**2 - c_23**2 + 2 * c_12 * c_13 * c_23, 1),
    given("PSD", le(c_12**2, 1), le(c_13**2, 1), le(c_23**2, 1)),
    reading="The determinant of a 3 x 3 correlation matrix written out.",
)
G2 = _step(
    "[G.2]",
    "the integrals of the f_i add up to at most Lambda",
    ByHand(
        "det C never falls and stays at most 1, so the integrals of the f_i over all time add up "
        "to at most Lambda",
        "[G.1] integrated; det C <= 1 is Hadamard's inequality ([G.2.2], [G.2.3] for d = 2, 3)",
        "Theorem G: det",
    ),
)
G3 = _step(
    "[G.3]",
    "(log w_ii)' = 2 a_i (1-w_ii) - f_i",
    FlowIdentity(_log_entry_cases(odds=False)),
    kind="identity",
    reading="Both sides times w_ii have monomials in i and one more index only, so d = 2 settles "
    "every d.",
)
G3_BELOW = _step(
    "[G.3.1]",
    "below 1 the logarithm falls at most as fast as f_i",
    ge(2 * a_i * (1 - w) - f, -f),
    given("case", le(w, 1)),
)
G3_ABOVE = _step(
    "[G.3.2]",
    "above 1 it falls",
    le(2 * a_i * (1 - w) - f, 0),
    given("case", ge(w, 1)),
)
G3_BOUNDS = _step(
    "[G.3.3]",
    "bounds on w_ii",
    ByHand(
        "exp(-Lambda) min(1, w_ii(0)) <= w_ii(t) <= max(1, w_ii(0))",
        "[G.3.1] integrated from the last time at which w_ii was 1 (or from 0), with [G.2]; "
        "[G.3.2] forbids a rise above 1",
        "Theorem G: range",
    ),
)
G4 = _step(
    "[G.4]",
    "w_ik -> 0",
    ByHand(
        "w_ik(t) -> 0 for all i != k",
        "w_ik^2 has a finite integral by [G.2], [G.3.3] and a bounded derivative, because W is "
        "bounded (Barbalat's lemma)",
        "Theorem G: end",
    ),
)
G5_CORE = _step(
    "[G.5.1]",
    "a rate of rise away from 0 and from 1",
    ge(2 * a_i * w * (1 - w) - w * f, 2 * a_i * m * e - w * f),
    given("Theorem G [G.3.3]", ge(w, m)) + given("case", le(w, 1 - e)),
)
G5 = _step(
    "[G.5]",
    "w_ii -> 1",
    ByHand(
        "w_ii enters [1-e, infinity) for good, for every e > 0, and from above it is bounded by a "
        "logistic: w_ii -> 1",
        "[G.5.1] with w_ii f_i -> 0 from [G.4], and w_ii' <= 2 a_i w_ii (1-w_ii)",
        "Theorem G: end",
    ),
)
G6 = _step(
    "[G.6]",
    "(logit w_ii)' = 2 a_i - f_i/(1-w_ii)",
    FlowIdentity(_log_entry_cases(odds=True)),
    kind="identity",
)
G6_CORE = _step(
    "[G.6.1]",
    "below the level the loss of speed is at most f_i/(1-level)",
    ge(2 * a_i - f / (1 - w), 2 * a_i - f / (1 - level)),
    given("case", le(w, level), lt(level, 1)),
)
_T, _L0, _L1, _Lambda = sympy.symbols("T logit_start logit_level Lambda", real=True)
G6_TIME = _step(
    "[G.6.2]",
    "solved for the time",
    ge(_L0 + 2 * a_i * _T - _Lambda / (1 - level), _L1),
    given("case", lt(level, 1))
    + given("definition", ge(_T, (_L1 - _L0 + _Lambda / (1 - level)) / (2 * a_i))),
)
G6_REACH = _step(
    "[G.6.3]",
    "the time to a level",
    ByHand(
        "a w_ii(0) below a level in (0, 1) reaches it by "
        "[logit level - logit w_ii(0) + Lambda/(1 - level)]/(2 a_i)",
        "[G.6.1] integrated as long as w_ii is below the level, with [G.2] and [G.6.2]",
        "Theorem G: reach",
    ),
)


def _definite_cases() -> tuple[tuple[int, Any, Any], ...]:
    """The determinant of W as a product of Schur complements: why a pivot never exceeds w_kk."""
    cases = []
    for d in (2, 3):
        _, W, _ = dynamics.symbols(d)
        block, column = W[: d - 1, : d - 1], W[: d - 1, d - 1]
        inner = (column.T * block.adjugate() * column)[0] if d > 2 else column[0] ** 2
        head = block.det()
        cases.append((d, W.det() / head, W[d - 1, d - 1] - inner / head))
    return tuple(cases)


G2_SCHUR = _step(
    "[G.2.4]",
    "det W is the leading determinant times w_dd less a square form",
    EntryFormula(_definite_cases()),
    kind="identity",
    reading="The square form is at least 0, so det W <= det W_[d-1] w_dd: Hadamard by induction.",
)

THEOREM = Claim(
    "Theorem G",
    "theorem",
    "convergence from every positive definite W(0)",
    ByHand(
        "if all a_i > 0 and W(0) is positive definite, the flow has W(t) -> I, and a w_ii(0) "
        "below a level in (0, 1) reaches it by "
        "[logit level - logit w_ii(0) + Lambda/(1 - level)]/(2 a_i), Lambda = -log det C(0)",
        "steps [G.1] to [G.6]",
        "Theorem G",
    ),
    given("Theorem G", gt(a_i, 0)),
    edition="repaired",
    reference=PLACE,
)

CLAIMS = (
    THEOREM,
    G1,
    G1_TRACE,
    G2_SIGN,
    G2_TWO,
    G2_THREE,
    G2_SCHUR,
    G2,
    G3,
    G3_BELOW,
    G3_ABOVE,
    G3_BOUNDS,
    G4,
    G5_CORE,
    G5,
    G6,
    G6_CORE,
    G6_TIME,
    G6_REACH,
)
