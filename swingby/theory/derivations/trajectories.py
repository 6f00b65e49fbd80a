r"""Lemmas D.1 to D.8, Assertion D.1 and Corollaries D.1 and D.2: what App. D says of trajectories.

Each speaks of every trajectory whose W(0), eta and constants satisfy Assumptions D.1 to D.5. Their
repairs add two hypotheses:

.. math:: \pi_k(0) \ge w_{kk}(0)/2 \quad\text{for all } k, \qquad
          \eta\gamma\alpha \log\frac{1}{\omega} \le \frac12,

where pi_k(0) are the pivots of W(0) in descending order of the signal. The second is about (D.2)
alone: under it w_ij grows faster than the root of w_ii w_jj, by a factor of about
:math:`e^{\eta (a_i - a_j)^2 t/2}`, until W is no longer positive semidefinite, from any W(0) with a
correlated pair if only omega is small enough. Gradient descent on U does not need it.
"""

from __future__ import annotations

from typing import Any

import sympy

from swingby.theory.assumptions import K, P, alpha, beta, eta, gamma, kappa, omega
from swingby.theory.assumptions import w_ij as w_initial
from swingby.theory.claim import AlongTrajectory, Claim, Flaw, Given
from swingby.theory.derivations import letters as the
from swingby.theory.derivations.letters import a_i, a_j, both, ge, given, gt, le, lt, t, v, w

_exp, _log, _abs = sympy.exp, sympy.log, sympy.Abs

#: w_ii(0) and w_ii(t_0) without a sign: D.1 to D.5 bound sizes alone.
v_initial = sympy.Symbol("w_ii(0)", real=True)
v_anchor = sympy.Symbol("w_ii(t_0)", real=True)
#: The smallest pivot of W(0), in descending order of the signal, in units of its diagonal entry.
pivot_share = sympy.Symbol("pi_k(0)/w_kk(0)", nonnegative=True)

#: The hypotheses that D.1 to D.5 lack: full rank, and few enough steps for (D.2).
NOT_DEGENERATE = given("case", ge(pivot_share, sympy.Rational(1, 2)))
FEW_STEPS = given("case", le(eta * gamma * alpha * _log(1 / omega), sympy.Rational(1, 2)))

_PHASE = P * beta * omega
_BAND = 2 / K
_ASKS_RANK = (
    "D.1 to D.5 bound the entries of W(0) but not its pivots: W(0) = omega 1 1^T satisfies them."
)
_ROTATES = (
    "D.1 to D.5 allow a W(0) of rank two in three dimensions: the network learns concept 3, "
    "then turns it into concept 2, and w_23 passes through 1/2."
)


def _along(
    id: str,
    kind: str,
    about: str,
    relation: Any,
    entries: str,
    reference: str,
    *,
    hypotheses: tuple[Given, ...] = (),
    **others: Any,
) -> Claim:
    """A claim about trajectories; `others` are fields of AlongTrajectory or of Claim."""
    own = {name: others.pop(name) for name in ("when", "during", "until") if name in others}
    others |= {"indices": "any" if entries == "all" else entries, "reference": reference}
    conclusion = AlongTrajectory(relation, entries, **own)
    return Claim(id, kind, about, conclusion, hypotheses, in_force=True, **others)


def _nondegenerate(claim: Claim, relation: Any = None) -> Claim:
    """The claim with the missing hypotheses as its repair, and another relation if one is given."""
    conclusion = claim.conclusion
    if relation is not None:
        conclusion = AlongTrajectory(
            relation, conclusion.entries, conclusion.when, conclusion.during, conclusion.until
        )
    return claim.mended(conclusion=conclusion, given=(*claim.given, *NOT_DEGENERATE, *FEW_STEPS))


_ASSERTION: dict[str, Any] = {
    "about": "off-diagonal entries stay in the initial phase",
    "relation": le(_abs(w), _PHASE),
    "entries": "off-diagonal",
    "flaw": Flaw(
        "missing hypothesis",
        "fatal",
        f"{_ASKS_RANK} Under (D.2) a concept then runs to minus infinity and takes the minor "
        f"entries along. Under gradient descent too: {_ROTATES}",
    ),
}
ASSERTION = _nondegenerate(_along("Assertion D.1", "lemma", reference="App. D.2", **_ASSERTION))
LEMMA_8 = _nondegenerate(_along("Lemma D.8", "lemma", reference="App. D.2", **_ASSERTION))

COROLLARY_1 = _nondegenerate(
    _along(
        "Corollary D.1",
        "corollary",
        "the noise term is bounded at all times",
        le(_abs(the.N), the.NOISE),
        "all",
        "App. D.2",
        flaw=Flaw(
            "wrong power",
            "fatal",
            "N_ij is a sum of products of two entries, each at most P beta omega: the bound "
            "carries P^2. N_11 exceeds the printed bound at the peak of w_12, with a W(0) of full "
            "rank too.",
        ),
    ),
    le(_abs(the.N), the.NOISE_CORRECTED),
)
COROLLARY_2 = _nondegenerate(
    _along(
        "Corollary D.2",
        "corollary",
        "a diagonal entry moves by at most 1/K per step",
        le(_abs(the.v_next - v), 1 / K),
        "diagonal",
        "App. D.2",
        flaw=Flaw(
            "missing hypothesis",
            "local",
            f"{_ASKS_RANK} Under (D.2) the second pivot turns negative and w_22 runs away.",
        ),
    )
)

_GROWTH = eta * t * (a_i + a_j) * kappa
_UPPER: dict[str, Any] = {
    "about": "entries grow at most at the linear rate times kappa",
    "relation": le(_abs(w), _abs(w_initial) * _exp(_GROWTH)),
    "entries": "all",
    "flaw": Flaw(
        "missing hypothesis",
        "local",
        "The noise can lift a small entry above its own linear growth: w_23 starts at omega, and "
        "when concept 1 is learned it takes the value of w_23 - w_12 w_13/w_11, several times as "
        "large. The proof uses the bound of Corollary D.1. Near a degenerate W(0) (D.2) diverges.",
    ),
}
_UPPER_MENDED = le(_abs(w), beta * omega * _exp(_GROWTH))
LEMMA_1 = _nondegenerate(
    _along("Lemma D.1", "lemma", reference="App. D.2", **_UPPER), _UPPER_MENDED
)
D11 = _nondegenerate(_along("D.11", "step", reference="Lemma D.1", **_UPPER), _UPPER_MENDED)

_OWN_PROOF = (
    "The printed proof breaks at (D.24). Records Lemma D.2 [1] to [7] are a proof for (D.2) that "
    "needs no more than the printed assumptions: its steps are machine-checked, its induction is "
    "read by a person."
)
_LOWER = ge(_abs(w), _abs(w_initial) * _exp(eta * t * (a_i + a_j) / kappa))
_T_1 = _log(P) / (2 * eta * gamma * alpha * kappa)
LEMMA_2 = _along(
    "Lemma D.2",
    "lemma",
    "until T_1 entries are in the initial phase, grow and keep their sign",
    both(le(_abs(w), _PHASE), _LOWER, gt(w * w_initial, 0)),
    "all",
    "App. D.2",
    until=_T_1,
    reading=_OWN_PROOF,
)
D23 = _along(
    "D.23",
    "step",
    "entries grow at least at the linear rate over kappa",
    _LOWER,
    "all",
    "Lemma D.2",
    until=_T_1,
    reading=_OWN_PROOF,
)

_DIAGONAL_GROWTH = _exp(2 * eta * t * a_i / kappa)
_T_1_I = _log(_PHASE / v_initial) / (2 * eta * a_i * kappa)
_LEMMA_3_FLAW = Flaw(
    "missing hypothesis",
    "fatal",
    "When a faster concept is learned, w_ii falls to its pivot, which D.1 to D.5 do not bound: it "
    "is 0 for W(0) = omega 1 1^T. T_1 is longer than the time of Lemma D.2, so that its proof "
    "does not carry over.",
)
_LEMMA_3_MENDED = ge(v, v_initial / 10 * _DIAGONAL_GROWTH)
LEMMA_3 = _nondegenerate(
    _along(
        "Lemma D.3",
        "lemma",
        "until T_1 a diagonal entry is in the initial phase and grows",
        both(le(v, _PHASE), ge(v, v_initial * _DIAGONAL_GROWTH)),
        "diagonal",
        "App. D.2",
        until=_T_1_I,
        flaw=_LEMMA_3_FLAW,
    ),
    both(le(v, _PHASE), _LEMMA_3_MENDED),
)
D35 = _nondegenerate(
    _along(
        "D.35",
        "step",
        "a diagonal entry grows at least at the linear rate over kappa",
        ge(v, v_initial * _DIAGONAL_GROWTH),
        "diagonal",
        "Lemma D.3",
        until=_T_1_I,
        flaw=_LEMMA_3_FLAW,
    ),
    _LEMMA_3_MENDED,
)

_AFTER = ge(v, v_anchor * _exp(2 * eta * (t - the.t_0) * a_i * (1 - the.lam) / kappa))
_AFTER_INITIAL: dict[str, Any] = {
    "entries": "diagonal",
    "when": (ge(_abs(v_anchor), _PHASE),),
    "during": (lt(v, the.lam),),
    "hypotheses": given("definition", gt(the.lam, _PHASE), lt(the.lam, 1 - 1 / K)),
    "flaw": Flaw(
        "missing hypothesis",
        "fatal",
        f"{_ASKS_RANK} Under (D.2) w_22 runs to minus infinity. Under gradient descent w_33 falls "
        "from 1 back to 0 while the network turns concept 3 into concept 2.",
    ),
    "reading": "lambda takes the values 1/2 and 9/10.",
}
LEMMA_4 = _nondegenerate(
    _along(
        "Lemma D.4",
        "lemma",
        "after the initial phase a diagonal entry below lambda grows",
        both(_AFTER, ge(v_initial, 0), ge(v_anchor, 0), ge(v, 0)),
        reference="App. D.2",
        **_AFTER_INITIAL,
    )
)
D36 = _nondegenerate(
    _along(
        "D.36",
        "step",
        "a diagonal entry below lambda grows",
        _AFTER,
        reference="Lemma D.4",
        **_AFTER_INITIAL,
    )
)

LEMMA_5 = _nondegenerate(
    _along(
        "Lemma D.5",
        "lemma",
        "diagonal entries lie between 0 and 1 + 2/K",
        both(ge(v, 0), le(v, 1 + _BAND)),
        "diagonal",
        "App. D.2",
        flaw=Flaw(
            "missing hypothesis",
            "fatal",
            f"{_ASKS_RANK} (D.2) does not keep W positive semidefinite, which the proof uses: "
            "w_22 turns negative, for a small enough omega from a W(0) of full rank too.",
        ),
    )
)
LEMMA_6 = _nondegenerate(
    _along(
        "Lemma D.6",
        "lemma",
        "a learned diagonal entry stays above 1 - 2/K",
        ge(v, 1 - _BAND),
        "diagonal",
        "App. D.2",
        when=(ge(v_anchor, 1 - _BAND),),
        flaw=Flaw("missing hypothesis", "fatal", f"{_ROTATES} w_33 falls from 1 to 0."),
    )
)

_SUPPRESSION: dict[str, Any] = {
    "about": "once the larger concept is learned, the minor entry stays small",
    "relation": le(_abs(w), sympy.Max(_abs(the.w_anchor), omega)),
    "entries": "larger first",
    "when": (gt(v_anchor, sympy.Rational(4, 5)),),
    "flaw": Flaw(
        "missing hypothesis",
        "local",
        f"{_ASKS_RANK} Under (D.2) w_22 then runs to minus infinity and w_12 grows with it.",
    ),
    "reading": "i is the concept with the larger signal; 0.8 is read as 4/5.",
}
LEMMA_7 = _nondegenerate(_along("Lemma D.7", "lemma", reference="App. D.2", **_SUPPRESSION))
D57 = _nondegenerate(_along("D.57", "step", reference="Lemma D.7", **_SUPPRESSION))

CLAIMS = (
    ASSERTION,
    COROLLARY_1,
    LEMMA_1,
    D11,
    LEMMA_2,
    D23,
    LEMMA_3,
    D35,
    LEMMA_4,
    D36,
    LEMMA_5,
    COROLLARY_2,
    LEMMA_6,
    LEMMA_7,
    D57,
    LEMMA_8,
)
