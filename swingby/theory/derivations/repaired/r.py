"""The proof of Theorem R, first half: the flow in entries, correlations, and their determinants.

The steps are [0.1] to [R.7] of :mod:`swingby.theory.theorem_r`; [R.8] to [R.17] are in
:mod:`swingby.theory.derivations.repaired.r_entries`. Capital L stands for logarithms. Time t is eta
times steps.
"""

from __future__ import annotations

import sympy

from swingby.theory.claim import Claim
from swingby.theory.derivations.letters import a_i, a_j, both, eq, ge, given, gt, le, lt
from swingby.theory.derivations.repaired import r_entries as entries
from swingby.theory.derivations.repaired.conclusions import (
    A_1,
    A_2,
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
from swingby.theory.derivations.repaired.r_entries import N_i, T_i, b, rho_step, w, w_jj
from swingby.theory.derivations.repaired.r_identities import (
    entry_cases,
    log_det_cases,
    pivot_cases,
    schur_cases,
)

n = sympy.Symbol("n", positive=True)
f = sympy.Symbol("f_i", nonnegative=True)
S, S_log, L_det, L_cond, L_n = sympy.symbols("S S_log L_det L_cond L_n", real=True)
L_w, L_1w, L_pi, L_beta, L_rho, L_omega = sympy.symbols(
    "L_w L_1w L_pi L_beta L_rho L_omega", real=True
)
spread = L_beta - L_rho
mean, half_gap, root, form = sympy.symbols("mean half_gap root form", nonnegative=True)
shifted = sympy.Symbol("shifted", real=True)
l_1 = sympy.Symbol("lambda_1", positive=True)
t = sympy.Symbol("t", nonnegative=True)
v_1, v_2, s_root = sympy.symbols("v_1 v_2 s", real=True)

AT_START = given(
    "Assumption D.3'",
    le(L_w, L_beta + L_omega),
    ge(L_pi, L_rho + L_omega),
)


_word = X_inverse * block_speed()
_bracket = X_inverse * A_1 * Y * Y_transposed + X_inverse * Y * A_2 * Y_transposed

FLOW = (
    rho_step("[0.1]", "the flow entry by entry", FlowIdentity(entry_cases(False)), kind="identity"),
    rho_step("[0.2]", "and on the diagonal", FlowIdentity(entry_cases(True)), kind="identity"),
    rho_step(
        "[0.3]",
        "Tr(X^-1 X') for a leading block X, in every dimension",
        BlockTrace(_word, 2 * A_1 - 2 * A_1 * X - _bracket),
        kind="identity",
        reading="With an empty Y it is (log det W)' = 2 Tr B, by Jacobi's formula.",
    ),
    rho_step(
        "[R.1.1]",
        "w_ii' is at most that of the logistic, and that at most 2 a_i w_ii",
        both(
            le(2 * a_i * w * (1 - w) - w * f, 2 * a_i * w * (1 - w)),
            le(2 * a_i * w * (1 - w) - w * f, 2 * a_i * w),
        ),
    ),
    rho_step(
        "[R.1]",
        "w_ii < 1 and w_ii <= b exp(2 a_i t)",
        ByHand(
            "w_ii(t) < 1 and w_ii(t) <= b exp(2 a_i t) for all t",
            "[0.2], [R.1.1] integrated from w_ii(0) <= b < 1",
            "Theorem R: range",
        ),
    ),
)

DETERMINANTS = (
    rho_step(
        "[R.2.1]",
        "det W is the product of the pivots",
        EntryFormula(pivot_cases()),
        kind="identity",
    ),
    rho_step(
        "[R.2]",
        "each factor: log(w_kk(0)/pi_k(0)) <= l",
        le(L_w - L_pi, spread),
        AT_START,
        reading="The first pivot is w_11 itself, so i - 1 factors are left.",
    ),
    rho_step(
        "[R.3]",
        "(log det C_[i])' is the sum of f_k less the brackets of the later concepts",
        FlowIdentity(log_det_cases()),
        kind="identity",
        reading="For every d it is [0.3] less the sum of (log w_kk)' of [0.2].",
    ),
    rho_step(
        "[R.4.1]",
        "w_jj - y^T X^-1 y is a quotient of determinants",
        EntryFormula(schur_cases()),
        kind="identity",
        reading="It is positive where W is positive definite.",
    ),
    rho_step(
        "[R.4.2]",
        "two concepts: the form with A_i less its mean",
        both(
            eq(
                4 * s_root * (s_root**3 * v_1**2 + s_root * v_2**2 - (s_root**2 + 1) * v_1 * v_2),
                (2 * s_root * v_2 - (s_root**2 + 1) * v_1) ** 2
                + v_1**2 * (4 * s_root**4 - (s_root**2 + 1) ** 2),
            ),
            ge(v_1**2 * (4 * s_root**4 - (s_root**2 + 1) ** 2), 0),
        ),
        given("definition", ge(s_root, 1)),
        reading="C = [[1, c], [c, 1]], c >= 0, s^2 = (1+c)/(1-c) its condition number. For y = S v "
        "and v_1, v_2 the difference and the sum of the entries of v, the claim [R.4] is "
        "(s^2+1) v_1 v_2 <= s^3 v_1^2 + s v_2^2.",
    ),
    rho_step(
        "[R.4.3]",
        "the mean, the deviation and a_j together",
        le(
            mean * form + shifted + a_j * form,
            (mean + half_gap * root + a_j) * w_jj,
        ),
        given("Theorem R [R.4.1]", le(form, w_jj))
        + given("Theorem R [R.4]", le(shifted, half_gap * root * form)),
    ),
    rho_step(
        "[R.4]",
        "y^T X^-1 (A_i - mean) y <= ((a_1-a_i)/2) cond^(1/2) y^T X^-1 y",
        ByHand(
            "y^T X^-1 (A_i - (a_1+a_i)/2) y <= ((a_1-a_i)/2) cond(C_[i])^(1/2) y^T X^-1 y",
            "with y = S v the form is v^T C^-1 D v, |D| = (a_1-a_i)/2, and C^(-1/2) D C^(1/2) has "
            "norm at most |D| cond(C)^(1/2)",
            "Theorem R: bracket",
        ),
    ),
    rho_step(
        "[R.5.1]",
        "log lambda lies below its tangent at n/(n-1)",
        both(
            eq((sympy.log(l_1) - l_1 / n).diff(l_1).subs(l_1, n), 0),
            lt(sympy.log(l_1).diff(l_1, 2), 0),
        ),
        reading="n stands for n/(n-1): log lambda <= lambda (n-1)/n - 1 + log(n/(n-1)).",
    ),
    rho_step(
        "[R.5.2]",
        "summed over n - 1 eigenvalues whose sum is at most n",
        le(S_log, (n - 1) * L_n),
        given(
            "Theorem R [R.5.1]",
            le(S_log, S * (n - 1) / n - (n - 1) + (n - 1) * L_n),
        )
        + given("definition", le(S, n), gt(n, 1)),
        reading="S and S_log are the sums of the eigenvalues and of their logarithms, all but the "
        "smallest; L_n = log(n/(n-1)). The trace of an n x n correlation matrix is n.",
    ),
    rho_step(
        "[R.5]",
        "log cond <= log n + (n-1) log(n/(n-1)) - log det",
        le(L_cond, sympy.Symbol("L_size", real=True) + (n - 1) * L_n - L_det),
        given(
            "definition",
            eq(L_cond, sympy.Symbol("L_top", real=True) + S_log - L_det),
            le(sympy.Symbol("L_top", real=True), sympy.Symbol("L_size", real=True)),
        )
        + given("Theorem R [R.5.2]", le(S_log, (n - 1) * L_n)),
        reading="det = lambda_min times the product of the others, so cond = lambda_max times "
        "that product over det; lambda_max <= n.",
    ),
    rho_step(
        "[R.6.1]",
        "cond <= kappa_i while log det C_[i] is above -(i-1) l - N_i",
        le(L_cond, L_n + (n - 1) * spread + N_i),
        given("Theorem R [R.5]", le(L_cond, L_n - L_det))
        + given("case", ge(L_det, -(n - 1) * spread - N_i)),
        reading="n = i here, and L_n = log(i (i/(i-1))^(i-1)).",
    ),
    rho_step(
        "[R.6.2]",
        "the integral of b exp(2 a_j t) up to T_i stays below X_ij/(2 a_j)",
        both(
            eq(sympy.diff(b * sympy.exp(2 * a_j * t) / (2 * a_j), t), b * sympy.exp(2 * a_j * t)),
            lt(
                b * sympy.exp(2 * a_j * T_i) / (2 * a_j) - b / (2 * a_j),
                b * sympy.exp(2 * a_j * T_i) / (2 * a_j),
            ),
        ),
    ),
    rho_step(
        "[R.6]",
        "log det C_[i] stays above its initial value less N_i up to T_i",
        ByHand(
            "for t <= T_i, log det C_[i](t) > log det C_[i](0) - N_i, and the integral of f_i up "
            "to t is at most -log det C_[i](0) + N_i",
            "[R.3] integrated as long as [R.6.1] holds; the brackets integrate to less than N_i by "
            "[R.4.3], [R.1], [R.6.2] and C2, so it never stops to hold",
            "Theorem R: block",
        ),
    ),
    rho_step(
        "[R.7]",
        "-logit w_ii(0) - log det C_[i](0) <= -log(rho omega) + (i-2) l",
        le(-L_w + L_1w + (L_w - L_pi) + S, -L_rho - L_omega + (n - 2) * spread),
        given("Assumption D.3'", ge(L_pi, L_rho + L_omega))
        + given("Theorem R [R.2]", le(S, (n - 2) * spread))
        + given("Theorem R [R.1]", le(L_1w, 0)),
        reading="n = i >= 2; S is the sum of log(w_kk/pi_k) over 2 <= k < i. For i = 1 the pivot "
        "is w_11 itself.",
    ),
)

THEOREM = Claim(
    "Theorem R",
    "theorem",
    "any number of distinct concepts: peaks, times, convergence",
    ByHand(
        "under C0 to C4, for all t and i < j: |w_ij(t)| < E_ij; w_ii reaches theta by T_i and "
        "stays above; the same for 0.8 by the time of (c) under C5; W -> I",
        "steps [0.1] to [R.17]",
        "Theorem R",
    ),
    given("Assumption D.1'", gt(a_i, a_j)),
    edition="repaired",
    reference=entries.PLACE,
)

CLAIMS = (THEOREM, *FLOW, *DETERMINANTS, *entries.STEPS)
