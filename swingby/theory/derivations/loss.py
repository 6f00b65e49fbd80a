"""App. C.1 as claims: the loss through the data matrix, and the limit of the data matrix."""

from __future__ import annotations

import sympy

from swingby.theory.claim import Claim, Flaw, MatrixIdentity, MeanIdentity
from swingby.theory.derivations.conclusions import EmpiricalLimit, SameDistribution
from swingby.theory.derivations.main_text import EMPIRICAL, LOSS, MATRIX_LOSS, SQUARE_LOSS
from swingby.theory.derivations.matrices import (
    I,
    W,
    Wt,
    cited,
    cluster,
    delta,
    f,
    inside,
    k,
    mean,
    mu,
    n,
    over_samples,
    p,
    q,
    root,
    s,
    sigma,
    squared_norm,
    x,
    x_entry,
    xi,
    xt,
)

_CLASH = "x_k^(p) without its sums stands for any one sample. "
_SCATTER = (Wt - I) * (W - I)
_INNER = xt * _SCATTER * x
_OUTER = _SCATTER * x * xt
_ROOTED = root * _SCATTER * root / 2

C1 = Claim(
    id="C.1",
    kind="identity",
    about="loss (2.1) of a linear model",
    conclusion=MatrixIdentity(
        SQUARE_LOSS, over_samples(squared_norm((W - I) * x)) / (2 * n * s), trace=True
    ),
    given=cited(LOSS),
    where=((f, W * x),),
    reference="App. C.1, (C.1)",
)

_C2_REPAIRED = C1.but(
    id="C.2",
    kind="step",
    about="each square as a trace",
    conclusion=MatrixIdentity(C1.conclusion.right, over_samples(_INNER) / (2 * n * s), True),
    given=cited(C1),
    where=(),
    reference="App. C.1, (C.2)",
)
C2 = _C2_REPAIRED.but(
    conclusion=MatrixIdentity(C1.conclusion.right, _INNER / (2 * n * s), True),
    edition="printed",
    reading=_CLASH + "From here to (C.4) the two sums are not printed.",
    flaw=Flaw("typo", "cosmetic", "The sums over p and k are dropped."),
    repair=_C2_REPAIRED,
)

C3 = Claim(
    id="C.3",
    kind="step",
    about="the factors rotated inside the trace",
    conclusion=MatrixIdentity(_INNER / (2 * n * s), _OUTER / (2 * n * s), True),
    given=cited(C2),
    reference="App. C.1, (C.3)",
    reading="As a step from (C.2): both sides lack the same sums.",
    repair=Claim(
        id="C.3",
        kind="step",
        about="the factors rotated inside the trace, with the sums",
        conclusion=MatrixIdentity(
            over_samples(_INNER) / (2 * n * s), over_samples(_OUTER) / (2 * n * s), True
        ),
        given=cited(_C2_REPAIRED),
        edition="corrected",
        reference="App. C.1, (C.3)",
    ),
)

_AVERAGE = over_samples(x * xt) / (n * s)
C4 = Claim(
    id="C.4",
    kind="step",
    about="1/(ns) moved to the samples",
    conclusion=MatrixIdentity(_OUTER / (2 * n * s), _SCATTER * (x * xt / (n * s)) / 2, True),
    given=cited(C3),
    reference="App. C.1, (C.4)",
    reading="As a step from (C.3): both sides lack the same sums.",
    repair=Claim(
        id="C.4",
        kind="step",
        about="1/(ns) and the sums moved to the samples",
        conclusion=MatrixIdentity(
            over_samples(_OUTER) / (2 * n * s), _SCATTER * _AVERAGE / 2, True
        ),
        given=cited(C3),
        edition="corrected",
        reference="App. C.1, (C.4)",
    ),
)

_C5_REPAIRED = Claim(
    id="C.5",
    kind="step",
    about="the mean of x x^T is A",
    conclusion=MatrixIdentity(_SCATTER * _AVERAGE / 2, _ROOTED, True),
    given=cited(C4),
    where=(EMPIRICAL,),
    edition="corrected",
    reference="App. C.1, (C.5)",
)
C5 = _C5_REPAIRED.but(
    conclusion=MatrixIdentity(_SCATTER * (x * xt / (n * s)) / 2, _ROOTED, True),
    edition="printed",
    reading=_CLASH + "Read as a step from (C.4); with the sums that (C.2) dropped it is right.",
    flaw=Flaw("typo", "cosmetic", "One sample stands where A is the mean over all of them."),
    repair=_C5_REPAIRED,
)

C6 = Claim(
    id="C.6",
    kind="step",
    about="the trace as a Frobenius norm",
    conclusion=MatrixIdentity(_ROOTED, MATRIX_LOSS, True),
    given=cited(_C5_REPAIRED),
    reference="App. C.1, (C.6)",
)

# From here on entry (p, q); mu^(eta) = mu_eta 1_eta has entry p equal to mu_p where eta = p.
_CENTRE_P, _CENTRE_Q = mu[p] * delta(cluster, p), mu[q] * delta(cluster, q)
_SPREAD_P, _SPREAD_Q = sigma[p] * xi[p], sigma[q] * xi[q]
_DIVERSITY = delta(p, q) * sigma[p] ** 2

C7 = Claim(
    id="C.7",
    kind="identity",
    about="a sample is its cluster's centre plus diag(sigma) times a standard Gaussian vector",
    conclusion=SameDistribution(_CENTRE_P + _SPREAD_P, _CENTRE_P, _DIVERSITY),
    reference="App. C.1, (C.7)",
    reading="An arbitrary sample: its cluster is uniform on [s]. mu^(p) = mu_p 1_p.",
)

_MOMENT = mean(x_entry[p] * x_entry[q])
C8 = Claim(
    id="C.8",
    kind="identity",
    about="the empirical A converges to E x x^T",
    conclusion=EmpiricalLimit(
        x_entry[p] * x_entry[q],
        _MOMENT,
        (1 + delta(p, q))
        * (
            sigma[p] ** 2 * sigma[q] ** 2 / s
            + (mu[p] ** 2 * sigma[q] ** 2 + mu[q] ** 2 * sigma[p] ** 2) / s**2
        ),
    ),
    reference="App. C.1, (C.8)",
    reading="Convergence in probability, by Chebyshev's inequality; the text does not say which.",
)

_PRODUCT = mean((_CENTRE_P + _SPREAD_P) * (_CENTRE_Q + _SPREAD_Q))
C9 = Claim(
    id="C.9",
    kind="step",
    about="(C.7) put into the second moment",
    conclusion=MeanIdentity(_MOMENT, _PRODUCT),
    given=cited(C7, C8),
    reference="App. C.1, (C.9)",
)

_SPLIT = mean(_CENTRE_P * _CENTRE_Q) + mean(_SPREAD_P * _SPREAD_Q)
C10 = Claim(
    id="C.10",
    kind="step",
    about="the mixed terms have mean zero",
    conclusion=MeanIdentity(_PRODUCT, _SPLIT),
    given=cited(C9),
    reference="App. C.1, (C.10)",
)

_CENTRES = sympy.Sum(mu[p] * delta(k, p) * mu[q] * delta(k, q), (k, 1, s)) / s
C11 = Claim(
    id="C.11",
    kind="step",
    about="both means",
    conclusion=MeanIdentity(_SPLIT, _CENTRES + _DIVERSITY),
    given=cited(C10),
    reference="App. C.1, (C.11)",
)

_SQUARES = sympy.Sum(mu[k] ** 2 * delta(k, p) * delta(k, q), (k, 1, s)) / s
C12 = Claim(
    id="C.12",
    kind="step",
    about="centres along the axes",
    conclusion=MeanIdentity(_CENTRES + _DIVERSITY, _SQUARES + _DIVERSITY),
    given=cited(C11),
    reference="App. C.1, (C.12)",
)

_C13_REPAIRED = Claim(
    id="C.13",
    kind="step",
    about="the data matrix is diagonal",
    conclusion=MeanIdentity(
        _SQUARES + _DIVERSITY, delta(p, q) * inside(p) * mu[p] ** 2 / s + _DIVERSITY
    ),
    given=cited(C12),
    edition="corrected",
    reference="App. C.1, (C.13)",
)
C13 = _C13_REPAIRED.but(
    conclusion=MeanIdentity(
        _SQUARES + _DIVERSITY, -delta(p, q) * inside(p) * mu[p] ** 2 / s + _DIVERSITY
    ),
    edition="printed",
    reading="The audited text has a minus sign after the equality sign; it may come from the"
    " extraction of the text. diag(mu) of size s is read as a d x d matrix filled up with zeros.",
    flaw=Flaw("typo", "cosmetic", "A leading minus sign makes the signal's part negative."),
    repair=_C13_REPAIRED,
)

CLAIMS: tuple[Claim, ...] = (C1, C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12, C13)
