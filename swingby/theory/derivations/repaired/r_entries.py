"""The proof of Theorem R, second half: entries off the diagonal, passage times, smaller omega.

The steps are [R.8] to [R.17] of :mod:`swingby.theory.theorem_r`. Letters: w = w_ii, F the sum over
k != i, j of (a_i+a_k) w_ik^2, P_sum and P_peak that sum with w_ik and with E_ik; capital L stands
for logarithms. Time t is eta times steps.
"""

from __future__ import annotations

from typing import Any

import sympy

from swingby.theory.claim import Claim
from swingby.theory.derivations.letters import a_i, a_j, both, eq, ge, given, gt, le, lt
from swingby.theory.derivations.repaired.conclusions import ByHand, FlowIdentity
from swingby.theory.derivations.repaired.r_identities import logit_cases, scaled_cases

PLACE = "swingby.theory.theorem_r"

w, w_jj, b, theta, level, s, rate, source, y_0 = sympy.symbols(
    "w_ii w_jj b theta level s rate source y_0", positive=True
)
w_ij = sympy.Symbol("w_ij", real=True)
N_i, M_i, T_i, F, H = sympy.symbols("N_i M_i T_i F H_i", nonnegative=True)
peaks = sympy.Symbol("F_E", nonnegative=True)
L_b, L_E, L_X, L_theta, L_1theta, L_w0, loss, late, Z, spread, r, q, L_c, L_rho, L_logit = (
    sympy.symbols(
        "L_b L_E L_X L_theta L_1theta L_w0 loss late Z l r q L_c L_rho L_logit", real=True
    )
)
decay = sympy.Symbol("decay", nonnegative=True)
a_k = sympy.Symbol("a_k", positive=True)
g = sympy.Symbol("g", positive=True)
p_1, p_2, h_1, h_2 = sympy.symbols("p_1 p_2 h_1 h_2", nonnegative=True)
E_sq, share = sympy.symbols("E_sq share", positive=True)


def rho_step(id: str, about: str, conclusion: Any, hypotheses: Any = (), **more: Any) -> Claim:
    """A step of the proof of Theorem R as a claim.

    Parameters
    ----------
    id : str
        ``"[R.8]"``.
    about : str
    conclusion
    hypotheses : tuple of Given
    **more
        Further fields of Claim.
    """
    more = {"edition": "repaired", "reference": f"{PLACE} {id}"} | more
    return Claim(f"Theorem R {id}", more.pop("kind", "step"), about, conclusion, hypotheses, **more)


_s = (1 + a_j / a_i) / 2
_top = theta + p_1 + p_2
_ends = p_1 * (theta * (1 - theta) - g) + p_2 * (_top * (1 - _top) - g)
ORDER = given("Assumption D.1'", gt(a_i, a_j))
START = given("definition", lt(L_theta, 0), lt(L_1theta, 0))

STEPS = (
    rho_step(
        "[R.8]",
        "the scaled entry y = w_ij w_ii^-s",
        FlowIdentity(scaled_cases()),
        kind="identity",
        reading="Times w_ii, both sides have monomials in i, j and one more index, so d = 3 "
        "settles every d.",
    ),
    rho_step(
        "[R.9.1]",
        "the coefficient of w_jj that is left",
        eq((a_i + 3 * a_j) / 2 - _s * (a_i + a_j), a_j * (a_i - a_j) / (2 * a_i)),
        kind="identity",
    ),
    rho_step(
        "[R.9]",
        "the bracket without the pair's own noise",
        le(
            -(a_i - a_j) / 2 * w
            - (a_i + 3 * a_j) / 2 * w_jj
            + _s * ((a_i + a_j) * w_ij**2 + F) / w,
            -(a_i - a_j) / 2 * w + _s * F / w,
        ),
        ORDER + given("PSD", le(w_ij**2, w * w_jj)),
    ),
    rho_step(
        "[R.10.1]",
        "T_i > 0",
        gt(L_theta - L_1theta + spread + N_i + M_i - L_b, 0),
        START + given("C0", lt(L_b, L_theta)) + given("definition", ge(spread, 0)),
        reading="Without max(i-2, 0) l, which only adds.",
    ),
    rho_step(
        "[R.10.2]",
        "b < (theta b)^(1/2) <= P_ij, in logarithms",
        both(
            lt(L_b, (L_theta + L_b) / 2),
            le((L_theta + L_b) / 2, -r / 2 * L_theta + L_X / 2),
        ),
        START
        + given("C0", lt(L_b, L_theta))
        + given("Theorem R [R.10.1]", le(L_b, L_X))
        + given("definition", ge(r, 0)),
    ),
    rho_step(
        "[R.10]",
        "the bounds hold for some time",
        ByHand(
            "|w_ij(0)| < E_ij, so that t* > 0",
            "|w_ij(0)| <= b by positive definiteness, [R.10.2], C4, and continuity",
            "Theorem R: start",
        ),
    ),
    rho_step(
        "[R.11.1]",
        "(logit w_ii)' with f_i taken out",
        FlowIdentity(logit_cases()),
        kind="identity",
    ),
    rho_step(
        "[R.11.2]",
        "the integral of min(E^2, b exp(2 a_i t)) when it is cut",
        le(
            (E_sq - b) / (2 * a_i) + E_sq * (T_i - share),
            E_sq / (2 * a_i) * (1 + 2 * a_i * T_i - 2 * a_i * share),
        ),
        reading="share is the time at which b exp(2 a_i t) = E^2: 2 a_i share = 2 log E - log b, "
        "and 2 a_i T_i + log b = Z_i.",
    ),
    rho_step(
        "[R.11.3]",
        "and when it is not cut",
        le((b * decay - b) / (2 * a_i), E_sq / (2 * a_i)),
        given("case", le(b * decay, E_sq)),
        reading="decay is exp(2 a_i T_i).",
    ),
    rho_step(
        "[R.11.4]",
        "what is lost and won up to T_i",
        gt(L_w0 + Z - L_b - loss - late, L_logit),
        given("Theorem R [R.6]", le(loss, L_c + N_i))
        + given("Theorem R [R.7]", le(-L_w0 + L_c, -L_rho + q))
        + given("definition", eq(Z, L_logit + spread + q + N_i + M_i), eq(L_b, L_rho + spread))
        + given("C2'", lt(late, M_i)),
        reading="L_w0 = logit w_ii(0), L_c = -log det C_[i](0), L_rho = log(rho omega), "
        "q = max(i-2, 0) l, L_logit = logit theta; loss is the integral of f_i, late that of the "
        "rest.",
    ),
    rho_step(
        "[R.11]",
        "min(tau_i, t*) <= T_i",
        ByHand(
            "w_ii reaches theta by T_i, unless t* comes first",
            "otherwise [R.11.1] integrated to T_i, with w_ik^2 <= theta b exp(2 a_k t), k > i, and "
            "w_ik^2 <= min(E_ik^2, b exp(2 a_i t)), k < i; C2', [R.6], [R.11.2] to [R.11.4]",
            "Theorem R: theta",
        ),
    ),
    rho_step(
        "[R.12.1]",
        "at theta, w_ii rises",
        gt(2 * a_i * theta * (1 - theta) - F, 0),
        given("case", le(F, H)) + given("C1", lt(H, 2 * a_i * theta * (1 - theta))),
        reading="F is the sum over all k != i here.",
    ),
    rho_step(
        "[R.12]",
        "from tau_i to t*, w_ii >= theta",
        ByHand(
            "w_ii stays at or above theta from tau_i to t*",
            "a barrier: by [R.12.1] it cannot cross theta downwards",
            "Theorem R: keep",
        ),
    ),
    rho_step(
        "[R.13.1]",
        "before tau_i, w_ij^2 stays below P_ij^2, in logarithms",
        lt(L_theta + L_X, -r * L_theta + L_X),
        START + given("definition", gt(r, 0)),
    ),
    rho_step(
        "[R.13.2]",
        "after tau_i the bracket is at most -rate_ij",
        le(
            -(a_i - a_j) / 2 * w + s * F / w,
            -theta * (a_i - a_j) / 2 + s * peaks / theta,
        ),
        ORDER + given("Theorem R [R.12]", ge(w, theta)) + given("case", le(F, peaks)),
    ),
    rho_step(
        "[R.13.3]",
        "the solution of y' = -rate y + source stays below y(0) + source/rate",
        le(y_0 * decay + source * (1 - decay) / rate, y_0 + source / rate),
        given("definition", le(decay, 1)),
        reading="decay is exp(-rate t).",
    ),
    rho_step(
        "[R.13.4]",
        "the powers of theta: (theta X)^(1/2) theta^-s = P_ij",
        eq((L_theta + L_X) / 2 - (1 + r) / 2 * L_theta, -r / 2 * L_theta + L_X / 2),
        kind="identity",
    ),
    rho_step(
        "[R.13]",
        "|w_ij(t*)| < E_ij, a contradiction: (a) and (b)",
        ByHand(
            "|w_ij(t)| < E_ij for all t and i < j",
            "up to tau_i by [R.13.1]; from tau_i on by [R.8], [R.9], [R.13.2], [R.13.3], [R.13.4] "
            "with w_ii^-s <= theta^-s, w_ii < 1, and C4",
            "Theorem R: peak",
        ),
    ),
    rho_step(
        "[R.14.1]",
        "w (1-w) on [theta, level] is at least its smaller end",
        both(
            eq(
                (p_1 + p_2) * ((theta + p_2) * (1 - theta - p_2) - g),
                _ends + (p_1 + p_2) * p_1 * p_2,
            ),
            ge(p_1 * h_1 + p_2 * h_2 + (p_1 + p_2) * p_1 * p_2, 0),
        ),
        reading="p_1 = level - w, p_2 = w - theta; h_1 = theta (1-theta) - g and "
        "h_2 = level (1-level) - g are at least 0 by the definition of g.",
    ),
    rho_step(
        "[R.14]",
        "(c)",
        ByHand(
            "w_ii reaches 0.8 by the time of (c) and stays above",
            "(logit w_ii)' >= 2 a_i - H_i/g by [R.14.1], integrated from tau_i; the barrier of "
            "[R.12] at 0.8 by C5",
            "Theorem R: reach",
        ),
    ),
    rho_step(
        "[R.15]",
        "(d)",
        ByHand("W(t) -> I", "Theorem G", "Theorem R: end"),
    ),
    rho_step(
        "[R.16]",
        "X_ij is a multiple of omega^(1-r_ij), so smaller omega makes every condition easier",
        both(
            eq(L_b + r * (Z - L_b), (1 - r) * L_b + r * Z),
            le((1 - r) * (L_b - q), (1 - r) * L_b),
        ),
        given("definition", lt(r, 1), ge(q, 0)),
        reading="q is by how much log omega falls.",
    ),
    rho_step(
        "[R.17.1]",
        "P_ij falls by more than c = (omega/omega_0)^((1-q)/2)",
        le(-(1 - r) / 2 * L_c, -(1 - q) / 2 * L_c),
        given("definition", ge(L_c, 0), le(r, q)),
        reading="L_c = log(omega_0/omega).",
    ),
    rho_step(
        "[R.17.2]",
        "e (1 + max(0, Z - log e)) grows with e",
        both(
            eq(sympy.diff(y_0 * (1 + Z - sympy.log(y_0)), y_0), Z - sympy.log(y_0)),
            ge(Z - L_E, 0),
        ),
        given("case", le(L_E, Z)),
        reading="Where the maximum is Z - log e; where it is 0, e itself grows.",
    ),
    rho_step(
        "[R.17]",
        "a certified witness serves every smaller omega, scaled by c",
        ByHand(
            "the witness with entries c E_ij satisfies C0 to C6 at every smaller omega",
            "[R.16], [R.17.1], [R.17.2]; the sums in C4 fall by c^2 <= c",
            "Theorem R: scaled",
        ),
    ),
)
