"""The head of App. D as claims: the update of W = U U^T, (D.1) to (D.6)."""

from __future__ import annotations

import sympy

from swingby.theory.claim import Claim, Flaw, MatrixIdentity
from swingby.theory.derivations.conclusions import EntryIdentity
from swingby.theory.derivations.main_text import (
    GRADIENT,
    GROWTH,
    HALF,
    NOISE,
    NOISE_SUMMAND,
    SUPPRESSION,
    SYMMETRIC,
    TRUE_GRADIENT,
)
from swingby.theory.derivations.matrices import (
    A,
    U,
    U_next,
    U_nextt,
    Ut,
    W,
    Wt,
    cited,
    d,
    eta,
    gradient,
    gradientt,
    k,
    rest,
)

_STEP = (U_next, U - eta * gradient)
_CHANGE = (U_next * U_nextt - U * Ut) / eta
_FIRST_ORDER = -U * gradientt - gradient * Ut
_DRIFT = W * A + A * W - HALF * (A * W**2 + W**2 * A + 2 * W * A * W)
_SUM = sympy.Sum(NOISE_SUMMAND, (k, 1, d))
#: W is symmetric, which is all that the entries need.
_SYMMETRIC_W = (Wt, W)

_D1_REPAIRED = Claim(
    id="D.1",
    kind="identity",
    about="change of W = U U^T under a gradient step of U, over eta",
    conclusion=MatrixIdentity(_CHANGE, _FIRST_ORDER + eta * gradient * gradientt),
    given=cited(GRADIENT),
    where=(_STEP, TRUE_GRADIENT, SYMMETRIC),
    edition="corrected",
    reference="App. D, (D.1)",
)
D1 = _D1_REPAIRED.but(
    conclusion=MatrixIdentity(_CHANGE, _FIRST_ORDER),
    edition="printed",
    reading="Judged for U(t+1) = U(t) - eta grad L(U(t)) and W = U U^T at both times. As a mere"
    " definition of W(t+1) the line cannot be false; but then W(t+1) need not be positive"
    " semidefinite, and there need not be a U(t+1).",
    flaw=Flaw(
        "missing term",
        "local",
        "The term eta grad L grad L^T is missing. It is what keeps W positive semidefinite.",
    ),
    repair=_D1_REPAIRED,
)

_D2_REPAIRED = Claim(
    id="D.2",
    kind="step",
    about="the gradient put in",
    conclusion=MatrixIdentity(
        _FIRST_ORDER, 2 * W * A + 2 * A * W - A * W**2 - W**2 * A - 2 * W * A * W
    ),
    given=cited(GRADIENT, D1),
    where=(TRUE_GRADIENT, SYMMETRIC),
    edition="corrected",
    reference="App. D, (D.2)",
)
D2 = _D2_REPAIRED.but(
    conclusion=MatrixIdentity(_FIRST_ORDER, _DRIFT),
    edition="printed",
    reading="With the gradient of the loss (4.1). Where eta stands for twice the rate of the"
    " gradient step, the printed line is right.",
    flaw=Flaw(
        "wrong constant",
        "local",
        "The right side of (D.1) is twice the printed expression: a choice of clock that the text"
        " does not state.",
    ),
    repair=_D2_REPAIRED,
)

D3 = Claim(
    id="D.3",
    kind="step",
    about="entry (i, j) of (D.2)",
    conclusion=EntryIdentity(_DRIFT, GROWTH - _SUM / 2),
    given=cited(D2),
    where=(_SYMMETRIC_W,),
    reference="App. D, (D.3)",
    reading="As a step from (D.2) as printed.",
)

D4 = Claim(
    id="D.4",
    kind="step",
    about="growth term G_ij: the linear part of (D.2)",
    conclusion=EntryIdentity(W * A + A * W, GROWTH),
    given=cited(D3),
    where=(_SYMMETRIC_W,),
    reference="App. D, (D.4)",
)

D5 = Claim(
    id="D.5",
    kind="step",
    about="suppression term S_ij: the summands k = i and k = j of (D.3)",
    conclusion=EntryIdentity((_SUM - rest(NOISE_SUMMAND, k)) / 2, SUPPRESSION),
    given=cited(D3),
    where=(_SYMMETRIC_W,),
    reference="App. D, (D.5)",
)

D6 = Claim(
    id="D.6",
    kind="step",
    about="noise term N_ij: (D.3) is G_ij - S_ij - N_ij",
    conclusion=EntryIdentity(GROWTH - _SUM / 2, GROWTH - SUPPRESSION - NOISE),
    given=cited(D3, D4, D5),
    where=(_SYMMETRIC_W,),
    reference="App. D, (D.6)",
)

CLAIMS: tuple[Claim, ...] = (D1, D2, D3, D4, D5, D6)
