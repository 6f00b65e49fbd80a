r"""The proof of Lemma D.4: (D.37) to (D.46), and whether (D.2) keeps W positive semidefinite.

The proof wants :math:`w_{ii}(t_0 + t) \ge w_{ii}(t_0) e^{2\eta t a_i (1-\lambda)/\kappa}`. Here
w_ii(t) stands for the entry at time t_0 + t, and (1-lambda) is one letter, positive.
"""

from __future__ import annotations

import sympy

from swingby.theory.assumptions import K, P, alpha, beta, d, eta, gamma, kappa, omega
from swingby.theory.claim import Claim, Flaw, Given
from swingby.theory.derivations import letters as the
from swingby.theory.derivations.initial_growth import BOUNDED_NOISE
from swingby.theory.derivations.letters import (
    NOISE,
    NOISE_CORRECTED,
    G,
    N,
    S,
    a_i,
    a_j,
    both,
    eq,
    ge,
    given,
    gt,
    le,
    lt,
    t,
    u,
    u_next,
    v,
    v_anchor,
    v_next,
    w,
    w_next,
)

_PLACE = "proof of Lemma D.4"
_exp = sympy.exp
_decay = kappa ** sympy.Rational(-1, 2)

#: 1 - lambda as one positive letter: exponents stay monomials.
REST = sympy.Symbol("(1-lambda)", positive=True)
REST_RANGE = given("hypothesis", gt(REST, 1 / K), lt(REST, 1))

#: (D.4), (D.5) and one step of (D.2) at i = j.
DIAGONAL_G = (G, v * (a_i + a_i))
DIAGONAL_S = (S, v * (v * (3 * a_i + a_i)) / 2)
DIAGONAL_STEP = (v_next, v + eta * (G - S - N))

_READ_J = "The index j is not bound in Lemma D.4; read as i."
_grown = v_anchor * _exp(2 * eta * t * a_i * REST / kappa)
_induction = given("induction", ge(v, _grown))
_left_phase = given("hypothesis", ge(v_anchor, P * beta * omega))
_below = given("hypothesis", lt(v, 1 - REST))
_signals = tuple(
    Given(hypothesis.relation, hypothesis.source)
    for hypothesis in the.D1_SIGNAL
    if a_j not in hypothesis.relation.free_symbols
)

_a_1, _a_2 = sympy.symbols("a_1 a_2", positive=True)
_off = _a_1 + _a_2
_EULER = (
    (v_next, v + eta * (2 * _a_1 * v - (2 * _a_1 * v**2 + _off * w**2))),
    (u_next, u + eta * (2 * _a_2 * u - (2 * _a_2 * u**2 + _off * w**2))),
    (
        w_next,
        w + eta * (w * _off - w * (v * (3 * _a_1 + _a_2) + u * (3 * _a_2 + _a_1)) / 2),
    ),
)
_B = sympy.Matrix([[_a_1 * (1 - v), -_off * w / 2], [-_off * w / 2, _a_2 * (1 - u)]])
_W = sympy.Matrix([[v, w], [w, u]])
_STEP_U = sympy.eye(2) + eta * _B
_GD = _STEP_U * _W * _STEP_U
SEMIDEFINITE = Claim(
    "before D.37 (semidefinite)",
    "step",
    "W(t+1) is positive semidefinite if W(t) is (d = 2: its determinant)",
    ge(v_next * u_next - w_next**2, 0),
    given("PSD", gt(v, 0), gt(u, 0), eq(w**2, v * u)),
    _EULER,
    reference=_PLACE,
    reading="'since W = U U^T', for the map (D.2) and a W(t) of rank one.",
    flaw=Flaw(
        "missing hypothesis",
        "fatal",
        "(D.2) is an Euler step of W, not the image of a step of U: it can leave the positive "
        "semidefinite matrices. Gradient descent on U cannot.",
    ),
).mended(
    conclusion=eq(
        v_next * u_next - w_next**2,
        (v * u - w**2)
        * ((1 + eta * _a_1 * (1 - v)) * (1 + eta * _a_2 * (1 - u)) - (eta * _off * w / 2) ** 2)
        ** 2,
    ),
    given=(),
    where=((v_next, _GD[0, 0]), (u_next, _GD[1, 1]), (w_next, _GD[0, 1])),
    reading="For gradient descent on U, W(t+1) = (I + eta B) W (I + eta B): the determinant keeps "
    "its sign.",
)

D37 = Claim(
    "D.37",
    "step",
    "growth below the level lambda",
    both(eq(G - S, 2 * a_i * v * (1 - v)), ge(2 * a_i * v * (1 - v), 2 * a_i * v * REST)),
    (*given("PSD", ge(v, 0)), *_below),
    (DIAGONAL_G, DIAGONAL_S),
    indices="diagonal",
    reference=_PLACE,
    reading=_READ_J,
)

D38 = Claim(
    "D.38",
    "identity",
    "one step of a diagonal entry",
    eq(v_next - v, eta * (2 * a_i * v - 2 * a_i * v**2 - N)),
    (),
    (DIAGONAL_STEP, DIAGONAL_G, DIAGONAL_S),
    indices="diagonal",
    reference=_PLACE,
    reading="The left side of the chain (D.38) to (D.40), by (D.3).",
)

_bound = 2 * eta * a_i * REST * _grown
D39 = Claim(
    "D.39",
    "step",
    "one step, from below",
    ge(v_next - v, _bound - eta * NOISE),
    (*D37.cite(), *BOUNDED_NOISE, *_induction),
    (DIAGONAL_STEP,),
    indices="diagonal",
    reference=_PLACE,
    reading=f"{_READ_J} w_i(t_0) is read as w_ii(t_0).",
).mended(
    conclusion=ge(v_next - v, _bound - eta * NOISE_CORRECTED),
    given=(
        *D37.cite(),
        *given("Corollary D.1", le(sympy.Abs(N), NOISE_CORRECTED)),
        *_induction,
    ),
)

D40 = Claim(
    "D.40",
    "identity",
    "w_ii(t_0) exp(...) taken out",
    eq(_bound - eta * NOISE, _grown * (2 * eta * a_i * REST - eta * NOISE / _grown)),
    _left_phase,
    indices="diagonal",
    reference=_PLACE,
)

_noise_share = 2 * P * eta * gamma * alpha * d * beta**2 * omega
D41 = Claim(
    "D.41",
    "step",
    "w_ii(t_0) is at least omega",
    le(eta * NOISE / _grown, _noise_share),
    (*_left_phase, *the.D4_RANGE, *given("Assumption D.1", gt(beta, 1))),
    indices="diagonal",
    reference=_PLACE,
)

D42 = Claim(
    "D.42",
    "step",
    "Assumption D.4",
    le(_noise_share, 2 / K * (1 - _decay) * eta * alpha),
    the.D4_ROOT,
    indices="diagonal",
    reference=_PLACE,
)

D43 = Claim(
    "D.43",
    "step",
    "1/K is below 1 - lambda",
    le(2 / K * (1 - _decay) * eta * alpha, 2 * (1 - _decay) * eta * a_i * REST),
    (*REST_RANGE, *_signals, *the.D4_RANGE),
    indices="diagonal",
    reference=_PLACE,
)

SMALL_STEP = Claim(
    "before D.44 (step size)",
    "step",
    "the step size is below 1/(20 a_i (1 - lambda))",
    both(le(eta, 1 / (2 * K * a_i * REST)), le(1 / (2 * K * a_i * REST), 1 / (20 * a_i * REST))),
    (*_signals, *the.D2, *REST_RANGE),
    indices="diagonal",
    reference=_PLACE,
)

_line = v + v * (_decay * 2 * eta * a_i * REST)
D44 = Claim(
    "D.44",
    "step",
    "one step grows at least at the rate kappa^(-1/2)",
    ge(v_next, _line),
    (
        *D37.cite(),
        *BOUNDED_NOISE,
        *D42.cite(),
        *D43.cite(),
        *given("induction", ge(v, v_anchor)),
        *_left_phase,
        *the.D4_RANGE,
        *given("Assumption D.1", gt(beta, 1)),
    ),
    (DIAGONAL_STEP,),
    indices="diagonal",
    reference=_PLACE,
    reading="t here is t_0 + t of the lines above.",
)

D45 = Claim(
    "D.45",
    "step",
    "the line is above the exponential",
    ge(_line, v * _exp(2 * eta * a_i * REST / kappa)),
    (
        *given(
            "before D.29",
            ge(_decay * 2 * eta * a_i * REST + 1, _exp(2 * eta * a_i * REST / kappa)),
        ),
        *given("PSD", ge(v, 0)),
    ),
    indices="diagonal",
    reference=_PLACE,
)

D46 = Claim(
    "D.46",
    "step",
    "the induction closes",
    ge(v * _exp(2 * eta * a_i * REST / kappa), v_anchor * _exp(2 * eta * (t + 1) * REST / kappa)),
    _induction,
    in_force=True,
    indices="diagonal",
    reference=_PLACE,
    flaw=Flaw("typo", "cosmetic", "The factor a_i is missing in the exponent."),
).mended(
    conclusion=ge(
        v * _exp(2 * eta * a_i * REST / kappa),
        v_anchor * _exp(2 * eta * (t + 1) * a_i * REST / kappa),
    )
)

CLAIMS = (
    SEMIDEFINITE,
    D37,
    D38,
    D39,
    D40,
    D41,
    D42,
    D43,
    SMALL_STEP,
    D44,
    D45,
    D46,
)
