"""App. C.2 as claims: gradient flow of the one-layer model and its solution, (C.14) to (C.21)."""

from __future__ import annotations

from typing import Any

import sympy

from swingby.theory.claim import Claim, Flaw, MatrixIdentity
from swingby.theory.derivations.conclusions import (
    Both,
    EntryIdentity,
    FlowSolution,
    GradientIdentity,
)
from swingby.theory.derivations.main_text import (
    EMPIRICAL,
    GROWTH_TERM,
    LINEAR_LOSS,
    MATRIX_LOSS,
    OUTPUT,
    SQUARE_LOSS,
    TRACE_LOSS,
)
from swingby.theory.derivations.matrices import (
    A,
    I,
    W,
    W_startt,
    Wt,
    a,
    a_inverse,
    cited,
    d,
    decay,
    delta,
    exp_decay,
    f,
    i,
    inverse,
    k,
    n,
    p,
    t,
    transpose,
    unit,
    unitt,
    w_start,
    x,
    z,
    z_entry,
    zt,
)

C14 = Claim(
    id="C.14",
    kind="identity",
    about="loss (4.1) of the one-layer model f(x) = W x",
    conclusion=MatrixIdentity(SQUARE_LOSS, MATRIX_LOSS, trace=True),
    given=cited(LINEAR_LOSS),
    where=((f, W * x), EMPIRICAL),
    reference="App. C.2, (C.14)",
    reading="The Jacobian of W x is W itself.",
)

C15 = Claim(
    id="C.15",
    kind="identity",
    about="gradient of the loss in W",
    conclusion=Both(
        (
            GradientIdentity(TRACE_LOSS, W, (W - I) * A),
            MatrixIdentity((W - I) * A, W * A - A),
        )
    ),
    given=cited(C14),
    reference="App. C.2, (C.15)",
)

C16 = Claim(
    id="C.16",
    kind="step",
    about="gradient flow of the k-th row of W, as a column",
    conclusion=MatrixIdentity(-transpose((W - I) * A) * unit, -A * Wt * unit + A * unit),
    given=cited(C15),
    reference="App. C.2, (C.16)",
)

_a, _b, _w = sympy.symbols("a_p a_p^-1 w_kp(0)", real=True)
_same = sympy.Symbol("1{k=p}", real=True)
_fixed = _b * _a * _same
C17 = Claim(
    id="C.17",
    kind="identity",
    about="solution of (C.16)",
    conclusion=FlowSolution(
        sympy.exp(-_a * t) * (_w - _fixed) + _fixed,
        (-_a, _a * _same),
        _w,
        t,
        (("a_p > 0", ((_b, 1 / _a),)), ("a_p = 0", ((_a, 0), (_b, 0)))),
    ),
    given=cited(C16),
    reference="App. C.2, (C.17)",
    reading="Entry p, for diagonal A and with the text's convention that a_p^-1 = 0 where a_p = 0.",
)

C18 = Claim(
    id="C.18",
    kind="identity",
    about="output of the one-layer model as an inner product",
    conclusion=MatrixIdentity(unitt * W * z, zt * Wt * unit, trace=True),
    reference="App. C.2, (C.18)",
)

_TWO_PARTS = zt * (I - decay) * inverse * A * unit + zt * decay * W_startt * unit
C19 = Claim(
    id="C.19",
    kind="step",
    about="(C.17) put into (C.18)",
    conclusion=MatrixIdentity(OUTPUT, _TWO_PARTS),
    given=cited(C17, C18),
    reference="App. C.2, (C.19)",
)


def _growth_sum(upper: Any) -> Any:
    summand = (1 - exp_decay[p]) * a_inverse[p] * delta(k, p) * a[p] * z_entry[p]
    return sympy.Sum(summand, (p, 1, upper))


def _noise_sum(upper: Any) -> Any:
    return sympy.Sum(exp_decay[i] * w_start[k, i] * z_entry[i], (i, 1, upper))


_BOUND = (
    "n is the number of samples of a cluster everywhere else; here the sums run over the d"
    " directions. For n > d the printed sums have no meaning, for n < d they are too short."
)
_C20_REPAIRED = Claim(
    id="C.20",
    kind="step",
    about="both inner products as sums over the directions",
    conclusion=EntryIdentity(_TWO_PARTS, _growth_sum(d) + _noise_sum(d)),
    given=cited(C19),
    edition="corrected",
    reference="App. C.2, (C.20)",
)
C20 = _C20_REPAIRED.but(
    conclusion=EntryIdentity(_TWO_PARTS, _growth_sum(n) + _noise_sum(n)),
    edition="printed",
    reading=_BOUND,
    flaw=Flaw("typo", "cosmetic", "The sums run to n, the number of samples, for d."),
    repair=_C20_REPAIRED,
)

_C21_REPAIRED = Claim(
    id="C.21",
    kind="step",
    about="the first sum has one term",
    conclusion=EntryIdentity(_TWO_PARTS, GROWTH_TERM + _noise_sum(d)),
    given=cited(_C20_REPAIRED),
    edition="corrected",
    reference="App. C.2, (C.21)",
)
C21 = _C21_REPAIRED.but(
    conclusion=EntryIdentity(_TWO_PARTS, GROWTH_TERM + _noise_sum(n)),
    edition="printed",
    reading=_BOUND + " (4.2) has s in the same place.",
    flaw=Flaw(
        "typo",
        "cosmetic",
        "The sum runs to n, the number of samples, for d. The display is said to prove (4.2), which"
        " sums to s.",
    ),
    repair=_C21_REPAIRED,
)

CLAIMS: tuple[Claim, ...] = (C14, C15, C16, C17, C18, C19, C20, C21)
