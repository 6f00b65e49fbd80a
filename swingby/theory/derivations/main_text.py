"""The displays of Sec. 2, Sec. 4 and App. B as claims: (2.1), (4.1) to (4.3), (B.1), (B.2)."""

from __future__ import annotations

from typing import Any

import sympy

from swingby.theory.claim import Claim, Flaw, MatrixIdentity, MeanIdentity
from swingby.theory.derivations.conclusions import (
    Both,
    EntryIdentity,
    GradientIdentity,
    LossOrder,
)
from swingby.theory.derivations.letters import given, le
from swingby.theory.derivations.matrices import (
    A,
    I,
    U,
    Ut,
    W,
    W_startt,
    Wt,
    a,
    cited,
    d,
    decay,
    delta,
    exp_decay,
    f,
    f_last,
    ft,
    gradient,
    gradientt,
    i,
    inside,
    inverse,
    j,
    k,
    mean,
    mu,
    n,
    over_samples,
    p,
    q,
    rest,
    root,
    s,
    sigma,
    squared_norm,
    unit,
    w,
    w_start,
    x,
    x_entry,
    x_last,
    xt,
    z_entry,
    zt,
)

HALF = sympy.Rational(1, 2)

#: A over the samples, and the mean square loss of f.
EMPIRICAL = (A, over_samples(x * xt) / (s * n))
SQUARE_LOSS = over_samples(squared_norm(f - x)) / (2 * s * n)
MATRIX_LOSS = squared_norm((W - I) * root) / 2

#: The gradient of (4.1) in U, and the loss it belongs to.
TRUE_GRADIENT = (gradient, ((W - I) * A + A * (W - I)) * U)
SYMMETRIC = (W, U * Ut)
TRACE_LOSS = root * (Wt - I) * (W - I) * root / 2

#: The three terms of (4.3).
GROWTH = w[i, j] * (a[i] + a[j])
SUPPRESSION = (
    w[i, j] * (w[i, i] * (3 * a[i] + a[j]) + (1 - delta(i, j)) * w[j, j] * (3 * a[j] + a[i])) / 2
)
NOISE_SUMMAND = w[k, i] * w[k, j] * (a[i] + a[j] + 2 * a[k])
NOISE = rest(NOISE_SUMMAND, k) / 2

#: f(W(t), z)_k = <w_k(t), z> with w_k(t) of (C.17).
OUTPUT = zt * (decay * (W_startt * unit - inverse * A * unit) + inverse * A * unit)
GROWTH_TERM = inside(k) * (1 - exp_decay[k]) * z_entry[k]


def _noise_term(upper: Any) -> Any:
    return sympy.Sum(exp_decay[i] * w_start[k, i] * z_entry[i], (i, 1, upper))


_LOSS = Claim(
    id="2.1",
    kind="definition",
    about="training loss: mean over the training set D",
    conclusion=MatrixIdentity(
        over_samples((ft - xt) * (f - x)) / (2 * s * n),
        over_samples(squared_norm(f_last - x_last)) / (2 * s * n),
        trace=True,
    ),
    reference="Sec. 2.1, (2.1)",
    reading="Judged as the mean over all of D, which (C.1) uses. The summand prints the upper index"
    " (s) where the cluster's index p is summed over.",
    flaw=Flaw("typo", "cosmetic", "The summand has (s) for (p), so only the last cluster enters."),
)
LOSS = _LOSS.but(
    conclusion=MatrixIdentity(over_samples((ft - xt) * (f - x)) / (2 * s * n), SQUARE_LOSS, True),
    reading="",
)

LINEAR_LOSS = Claim(
    id="4.1",
    kind="identity",
    about="loss of a linear model through the data matrix A",
    conclusion=MatrixIdentity(SQUARE_LOSS, MATRIX_LOSS, trace=True),
    given=cited(LOSS),
    where=((f, W * x), EMPIRICAL),
    reference="Sec. 4, (4.1); proof in App. C.1",
    reading="A^(1/2) is the symmetric root.",
)

SIGNAL = Claim(
    id="a_p (Sec. 4)",
    kind="identity",
    about="the data matrix is diagonal with a_p = sigma_p^2 + mu_p^2/s for p <= s, otherwise 0",
    conclusion=MeanIdentity(
        mean(x_entry[p] * x_entry[q]),
        delta(p, q) * inside(p) * (sigma[p] ** 2 + mu[p] ** 2 / s),
    ),
    reference="Sec. 4, below (4.1)",
    reading="sigma_p = 0 for p > s, as Sec. 2.1 says. The cluster at the origin that Sec. 2.1"
    " allows is left out; with it s + 1 stands for s.",
)

_OUTPUT = Claim(
    id="4.2",
    kind="identity",
    about="output of the one-layer model",
    conclusion=EntryIdentity(OUTPUT, GROWTH_TERM + _noise_term(s)),
    reference="Theorem 4.1, (4.2)",
    reading="For d = s the line is right, and for d > s it is right at inputs without a component"
    " along the free directions, such as the test point. It is claimed for every z.",
    flaw=Flaw(
        "wrong expression",
        "local",
        "The noise term sums over i <= s. For d > s an input along a free direction i > s keeps its"
        " term w_ki(0) z_i for ever, since a_i = 0.",
    ),
)
_OUTPUT_REPAIRED = _OUTPUT.but(conclusion=EntryIdentity(OUTPUT, GROWTH_TERM + _noise_term(d)))
_OUTPUT_SQUARE = _OUTPUT.but(
    id="4.2, d = s",
    about="output of the one-layer model without free directions",
    edition="printed",
    where=((s, d),),
    reading="The printed line in the special case d = s.",
)
_THEOREM = _OUTPUT.but(
    id="Theorem 4.1",
    kind="theorem",
    about="solution of the one-layer model from any W(0), for every z",
    edition="printed",
    reference="Theorem 4.1",
    reading="The theorem is its display (4.2): what holds of one holds of the other.",
    flaw=_OUTPUT.flaw,
    repair=_OUTPUT_REPAIRED.but(
        id="Theorem 4.1", kind="theorem", reference="Theorem 4.1", about="noise sum over all of [d]"
    ),
)

_a, _t = sympy.symbols("a_i t", nonnegative=True)
_mu = sympy.Symbol("mu_i", nonnegative=True)
_w = sympy.Symbol("w_ki(0)", real=True)
_BOUND = Claim(
    id="after 4.2 (iii)",
    kind="corollary",
    about="the noise term is bounded by the sum of w_ki(0) mu_i",
    conclusion=le(sympy.exp(-_a * _t) * _w * _mu, _w * _mu),
    given=given("definition", le(0, _a), le(0, _t), le(0, _mu)),
    reference="Sec. 4.1, property (iii) below Theorem 4.1",
    reading="Judged for one summand: s = 1.",
    flaw=Flaw(
        "missing term",
        "cosmetic",
        "Without absolute values it fails for a negative entry w_ki(0): the noise term starts at"
        " the bound and rises towards 0.",
    ),
)
_BOUND_REPAIRED = _BOUND.but(
    about="the noise term is bounded by the sum of |w_ki(0)| mu_i",
    conclusion=le(sympy.exp(-_a * _t) * sympy.Abs(_w) * _mu, sympy.Abs(_w) * _mu),
)

GRADIENT = Claim(
    id="before 4.3",
    kind="step",
    about="gradient of (4.1) in U for W = U U^T",
    conclusion=GradientIdentity(TRACE_LOSS, U, TRUE_GRADIENT[1]),
    given=cited(LINEAR_LOSS),
    where=(SYMMETRIC,),
    reference="Sec. 4.2; the text uses the gradient and does not print it",
)

_FLOW = Claim(
    id="4.3",
    kind="identity",
    about="gradient flow of an entry of W = U U^T: growth, suppression and noise term",
    conclusion=EntryIdentity(-(U * gradientt + gradient * Ut), GROWTH - SUPPRESSION - NOISE),
    given=cited(GRADIENT),
    where=(TRUE_GRADIENT, SYMMETRIC),
    reference="Sec. 4.2, (4.3)",
    reading="Gradient flow is dU/dt = -grad L(U) with L of (4.1), as in Theorem 4.1. With half the"
    " gradient, or in time 2t, the printed line is right: only the clock differs.",
    flaw=Flaw(
        "wrong constant",
        "local",
        "The gradient flow of (4.1) is exactly twice the right side: a choice of clock that the"
        " text does not state.",
    ),
)
_FLOW_REPAIRED = _FLOW.but(
    conclusion=EntryIdentity(
        -(U * gradientt + gradient * Ut), 2 * GROWTH - 2 * SUPPRESSION - 2 * NOISE
    )
)

_TEST_POINT = sympy.Sum(mu[p] * delta(p, i), (p, 1, s))
POINTS = Claim(
    id="B.1",
    kind="definition",
    about="test points x^(v): all of v gives the test point, a unit vector v a cluster centre",
    conclusion=Both(
        (
            EntryIdentity(_TEST_POINT, inside(i) * mu[i]),
            EntryIdentity(
                sympy.Sum(delta(p, q) * mu[p] * delta(p, i), (p, 1, s)),
                inside(q) * mu[q] * delta(q, i),
            ),
        )
    ),
    reference="App. B, (B.1)",
    reading="A definition; judged is what the text says of it: x^(1, ..., 1) is the test point of"
    " Sec. 2.1, and |v| = 1 gives the centre of a training cluster.",
)

_ORDER = Claim(
    id="B.2",
    kind="observation",
    about="the loss at the test points grows with their index at every time",
    conclusion=LossOrder("positive semidefinite"),
    given=cited(POINTS),
    reference="App. B, (B.2)",
    reading="The text states it as an empirical observation on MLPs during training, which no proof"
    " can decide. Judged is the same statement for the linear model f(x) = W x with any"
    " positive semidefinite W, such as W(0). The text's [n] in the order is read as [s], its tilde"
    " as a hat.",
    flaw=Flaw(
        "missing hypothesis",
        "local",
        "Not a property of the model: an off-diagonal entry times a strong signal can bring the"
        " output nearer to the larger point than to the smaller one.",
    ),
)
_ORDER_REPAIRED = _ORDER.but(
    about="the loss at the test points grows with their index for diagonal W",
    conclusion=LossOrder("diagonal"),
)


def _with(claim: Claim, repair: Claim) -> Claim:
    return claim.but(edition="printed", reading=claim.reading, flaw=claim.flaw, repair=repair)


CLAIMS: tuple[Claim, ...] = (
    _with(_LOSS, LOSS),
    LINEAR_LOSS,
    SIGNAL,
    _THEOREM,
    _with(_OUTPUT, _OUTPUT_REPAIRED),
    _OUTPUT_SQUARE,
    _with(_BOUND, _BOUND_REPAIRED),
    GRADIENT,
    _with(_FLOW, _FLOW_REPAIRED),
    POINTS,
    _with(_ORDER, _ORDER_REPAIRED),
)
