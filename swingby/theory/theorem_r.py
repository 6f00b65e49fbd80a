r"""Any number of distinct concepts: the repaired theorem and the certificate of its constants.

**Setting.** :math:`a_1 > \dots > a_d > 0`, d >= 2; the flow :math:`\dot W = BW + WB`,
:math:`B = A - (AW + WA)/2`, from a positive definite W(0) with
:math:`w_{ii}(0) \le \beta\omega =: b` and :math:`\pi_i(0) \ge \rho\omega`, where pi are the pivots
of W(0) = L diag(pi) L^T in the order of a. Time t is eta times steps. Write l = log(beta/rho) and,
for i < j, r_ij = a_j/a_i, s_ij = (1 + r_ij)/2; q is the largest r_ij. Sums over k leave out the
indices shown, and E is symmetric. Given theta in (0, 1), E_ij > 0, N_i, M_i >= 0, let

- Z_i = logit theta + l + max(i-2, 0) l + N_i + M_i and T_i = (Z_i - log b)/(2 a_i);
- X_ij = b exp(2 a_j T_i) and P_ij = theta^(-r_ij/2) X_ij^(1/2), for i < j;
- kappa_1 = 1 and kappa_i = 4 exp((i-1) l + N_i);
- nu_ij = (a_1+a_i)/2 + ((a_1-a_i)/2) kappa_i^(1/2) + a_j;
- H_i = sum_(k != i) (a_i+a_k) E_ik^2;
- rate_ij = theta (a_i-a_j)/2 - (s_ij/theta) sum_(k != i,j) (a_i+a_k) E_ik^2.

**Conditions.** C0: b < theta. C1: H_i < 2 a_i theta (1-theta).
C2, i < d: N_i > sum_(j>i) nu_ij X_ij/(2 a_j).
C2': (1-theta) M_i > sum_(k>i) (a_i+a_k) theta X_ik/(2 a_k)
+ sum_(k<i) (a_i+a_k) E_ik^2/(2 a_i) (1 + max(0, Z_i - 2 log E_ik)). C3: rate_ij > 0.
C4: E_ij > P_ij + theta^(-s_ij) sum_(k != i,j) (a_k + (a_i+a_j)/2) E_ik E_kj/rate_ij.
C5: H_i < 0.16 a_i. C6: N_i + M_i <= 1.

**Statement.** Under C0 to C4, for all t >= 0 and i < j: (a) |w_ij(t)| < E_ij; (b) w_ii reaches
theta by T_i and stays above; (c) the same for a level with H_i < 2 a_i level (1-level) (C5 gives
0.8): by T_i with the level for theta in its first term if level <= theta, otherwise by
T_i + [logit level - logit theta]/(2 a_i - H_i/g), g = min(theta (1-theta), level (1-level));
(d) W -> I. A witness (theta, E, N, M) at omega_0 serves every smaller omega, and there
|w_ij(t)| < (omega/omega_0)^((1-q)/2) E_ij. An omega_0 > 0 exists for every (a, beta, rho):
:mod:`swingby.theory.theorem_r_search`.

**Proof.** C is the correlation matrix of W, C_[i] its leading block, f_i = sum (a_i+a_k)
w_ik^2/w_ii >= 0. *sympy*: proved symbolically by the tests for d = 2 to 4 ([0.3], [R.3]: 2, 3);
*read*: by a person. C0 to C6 themselves are decided in balls by :func:`conditions`.

- [0.1], [0.2], [0.3] (sympy) w_ij' = (a_i+a_j) w_ij - sum_k w_ik w_kj (a_k + (a_i+a_j)/2), so
  w_ii' = 2 a_i w_ii (1-w_ii) - w_ii f_i; tr(W^-1 W') = 2 tr B.
- [R.1] (read) w_ii < 1 and w_ii <= b exp(2 a_i t), by [0.2] and b < 1.
- [R.2] (read) -log det C_[i](0) = sum_(2 <= k <= i) log(w_kk(0)/pi_k(0)) <= (i-1) l.
- [R.3] (sympy) With X = W_[i], y_j = (w_1j, ..., w_ij), A_i = diag(a_1, ..., a_i):
  (log det C_[i])' = sum_(k<=i) f_k - sum_(j>i) [y_j^T X^-1 A_i y_j + a_j y_j^T X^-1 y_j].
- [R.4] (read) y_j^T X^-1 y_j <= w_jj (Schur), and A_i is (a_1+a_i)/2 plus a matrix of norm
  (a_1-a_i)/2: the bracket is at most [(a_1+a_i)/2 + ((a_1-a_i)/2) cond^(1/2) + a_j] w_jj, cond
  the condition number of C_[i].
- [R.5] (read) For an n x n correlation matrix, n >= 2, cond <= 4/det: lambda_1/2 twice and all but
  lambda_1 and lambda_n are n numbers of sum at most n, so their product is at most 1 (AM-GM).
- [R.6] (read) For t <= T_i: log det C_[i] stays above its initial value minus N_i. While
  it does, cond <= kappa_i, and by [R.1] the brackets integrate to less than N_i (C2), so it
  continues to. Since det C_[i] <= 1, also int f_i <= -log det C_[i](0) + N_i.
- [R.7] (read) -logit w_ii(0) - log det C_[i](0) <= -log(rho omega) + max(i-2, 0) l, because for
  i >= 2 the factor w_ii(0) cancels and leaves pi_i(0).
- [R.8] (sympy) y = w_ij w_ii^-s has y' = y [-(a_i-a_j)/2 w_ii - (a_i+3a_j)/2 w_jj + s f_i]
  - w_ii^-s sum_(k != i,j) (a_k + (a_i+a_j)/2) w_ik w_kj.
- [R.9] (sympy, read) (a_i+3a_j)/2 - s (a_i+a_j) = a_j (a_i-a_j)/(2 a_i) >= 0, so the bracket is at
  most -(a_i-a_j)/2 w_ii + (s/w_ii) sum_(k != i,j) (a_i+a_k) w_ik^2.
- [R.10] (read) tau_i: when w_ii first is theta. t*: until when all |w_kl| < E_kl. At first
  |w_ij| <= b < (theta b)^(1/2) <= P_ij < E_ij, so t* > 0. Suppose t* is finite.
- [R.11] (read) min(tau_i, t*) <= T_i: otherwise integrate (logit w_ii)' = 2 a_i - f_i
  - sum (a_i+a_k) w_ik^2/(1-w_ii) to T_i with w_ik^2 <= theta b exp(2 a_k t) for k > i and
  w_ik^2 <= min(E_ik^2, b exp(2 a_i t)) for k < i. By C2', [R.6] and [R.7], w_ii(T_i) > theta.
- [R.12] (read) From tau_i to t*, w_ii >= theta: at theta, w_ii' >= 2 a_i theta (1-theta) - H_i > 0.
- [R.13] (read) |w_ij(t*)| < E_ij, a contradiction. If t* <= tau_i, w_ij^2 <= theta b
  exp(2 a_j T_i) < P_ij^2. Otherwise [R.8] from tau_i, with bracket <= -rate_ij, gives C4's right
  side. So t* is infinite: (a) and (b).
- [R.14] (read) (c): [R.11] with the level for theta, or, above theta, (logit w_ii)' >= 2 a_i
  - H_i/(w_ii (1-w_ii)), whose denominator is concave.
- [R.15] (read) (d) is :mod:`swingby.theory.theorem_g`.
- [R.16], [R.17] (read) X_ij and P_ij^2 are multiples of omega^(1-r_ij); nothing else depends on
  omega. So a witness serves smaller omega, even with E times c = (omega/omega_0)^((1-q)/2):
  P_ij falls by more than c, the sums in C4 by c^2, and e (1 + max(0, Z - log e)) grows with e.

Nothing is proved here for the discrete dynamics.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import flint

from swingby.errors import InvalidInput
from swingby.theory import balls
from swingby.theory.theorem_two import LEVEL, float_above


@dataclass(frozen=True)
class Setting:
    """What the theorem is about.

    `signal`: a_1 > ... > a_d > 0, d >= 2, per unit of eta times steps. `beta`, `rho`: 0 < rho <=
    beta.
    """

    signal: tuple[Fraction, ...]
    beta: Fraction
    rho: Fraction

    def __post_init__(self) -> None:
        pairs = zip(self.signal, self.signal[1:], strict=False)
        if self.d < 2 or self.signal[-1] <= 0 or any(large <= small for large, small in pairs):
            shown = ", ".join(map(str, self.signal))
            raise InvalidInput("signal", shown, "must be descending, distinct, positive", "D.1'")
        if not 0 < self.rho <= self.beta:
            raise InvalidInput("rho", self.rho, "must be positive and at most beta", "D.3'")

    @classmethod
    def of(cls, signal: tuple[Fraction, ...], beta: Fraction, rho: Fraction) -> Setting:
        """Sort a signal that comes in any order."""
        return cls(tuple(sorted(signal, reverse=True)), beta, rho)

    @property
    def d(self) -> int:
        """Number of concepts."""
        return len(self.signal)


@dataclass(frozen=True)
class Witness:
    """Constants of the statement, exact.

    `theta`: in (0, 1). `log_peaks` (d, d): natural logarithms of E_ij, symmetric; the diagonal
    means nothing. `N`, `M`: at least 0.
    """

    theta: Fraction
    log_peaks: tuple[tuple[Fraction, ...], ...]
    N: tuple[Fraction, ...]
    M: tuple[Fraction, ...]


def conditions(
    setting: Setting, log_omega: Fraction | flint.arb, witness: Witness
) -> Iterator[tuple[str, flint.arb]]:
    """Evaluate C0 to C6 at the current working precision.

    Yields `name` ``"C0"`` to ``"C6"``; ``"range"`` stands for theta in (0, 1), E symmetric, N, M >=
    0; `slack` the condition holds exactly when this is positive.
    """
    indices = range(setting.d)
    fits = 0 < witness.theta < 1 and min(*witness.N, *witness.M) >= 0
    fits &= all(
        witness.log_peaks[i][j] == witness.log_peaks[j][i] for i in indices for j in range(i)
    )
    yield "range", flint.arb(1 if fits else -1)
    if not fits:
        return
    a, theta = [balls.ball(value) for value in setting.signal], balls.ball(witness.theta)
    log_b = balls.ball(setting.beta).log() + _as_ball(log_omega)
    spread = balls.ball(setting.beta / setting.rho).log()
    log_peaks = [[balls.ball(value) for value in row] for row in witness.log_peaks]
    E = [[value.exp() for value in row] for row in log_peaks]
    Z = _exponents(setting, witness, theta)
    yield "C0", theta.log() - log_b
    for i in indices:
        after, others = range(i + 1, setting.d), [k for k in indices if k != i]
        X = {j: (log_b + a[j] / a[i] * (Z[i] - log_b)).exp() for j in after}
        H = sum(((a[i] + a[k]) * E[i][k] ** 2 for k in others), flint.arb(0))
        yield "C1", 2 * a[i] * theta * (1 - theta) - H
        yield "C5", balls.ball(Fraction(4, 25)) * a[i] - H
        # C6 alone is not strict.
        total = witness.N[i] + witness.M[i]
        yield "C6", flint.arb(1) if total <= 1 else flint.arb(-1)
        N, M = balls.ball(witness.N[i]), balls.ball(witness.M[i])
        root = flint.arb(1)
        if i:
            root = 2 * ((i * spread + N) / 2).exp()
        for j in after:
            N -= ((a[0] + a[i]) / 2 + (a[0] - a[i]) / 2 * root + a[j]) * X[j] / (2 * a[j])
            M -= (a[i] + a[j]) * theta * X[j] / (2 * a[j]) / (1 - theta)
        for k in range(i):
            longest = 1 + (Z[i] - 2 * log_peaks[i][k]).max(flint.arb(0))
            M -= (a[i] + a[k]) * E[i][k] ** 2 / (2 * a[i]) * longest / (1 - theta)
        if after:
            yield "C2", N
        yield "C2'", M
        for j in after:
            rest = [k for k in others if k != j]
            s = (1 + a[j] / a[i]) / 2
            noise = sum(((a[i] + a[k]) * E[i][k] ** 2 for k in rest), flint.arb(0))
            rate = theta * (a[i] - a[j]) / 2 - s / theta * noise
            yield "C3", rate
            mean = (a[i] + a[j]) / 2
            source = sum(((a[k] + mean) * E[i][k] * E[k][j] for k in rest), flint.arb(0))
            P = (-a[j] / a[i] / 2 * theta.log()).exp() * X[j].sqrt()
            yield "C4", E[i][j] - P - (-s * theta.log()).exp() * source / rate


def failing(setting: Setting, log_omega: Fraction | flint.arb, witness: Witness) -> tuple[str, ...]:
    """Name the conditions that do not certainly hold at the highest working precision tried.

    `setting`, `log_omega`, `witness`: as in :func:`conditions`.
    """

    def signs() -> dict[str, list[int | None]]:
        found: dict[str, list[int | None]] = {}
        for name, slack in conditions(setting, log_omega, witness):
            found.setdefault(name, []).append(balls.sign(slack))
        return found

    final = balls.with_rising_precision(
        signs, lambda found: all(None not in values for values in found.values())
    )
    return tuple(name for name, values in final.items() if any(value != 1 for value in values))


def certify(setting: Setting, log_omega: Fraction | flint.arb, witness: Witness) -> bool:
    """Decide whether C0 to C6 certainly hold, hence the statement at every omega up to this one."""
    return not failing(setting, log_omega, witness)


def time_bounds(
    setting: Setting,
    log_omega: Fraction | flint.arb,
    witness: Witness,
    level: Fraction = LEVEL,
) -> tuple[float, ...]:
    """Bound the times by which w_11, ..., w_dd have reached a level for good, by (c).

    `setting`, `log_omega`, `witness`: as in :func:`conditions`; the witness must be certified at
    this omega or a larger one.
    `level`: in (0, 1).
    Returns eta times steps, rounded up.
    Raises InvalidInput if the level is not certainly kept, that is H_i < 2 a_i level (1 - level)
    fails.
    """
    bounds = []
    with flint.ctx.workprec(256):
        a, theta, aim = [balls.ball(x) for x in setting.signal], witness.theta, balls.ball(level)
        log_b = balls.ball(setting.beta).log() + _as_ball(log_omega)
        Z = _exponents(setting, witness, balls.ball(min(theta, level)))
        g = balls.ball(min(theta * (1 - theta), level * (1 - level)))
        climb = (aim / (1 - aim)).log() - balls.ball(theta / (1 - theta)).log()
        for i, row in enumerate(witness.log_peaks):
            H = flint.arb(0)
            for k in range(setting.d):
                H += (a[i] + a[k]) * (2 * balls.ball(row[k])).exp() if k != i else 0
            if not 2 * a[i] * aim * (1 - aim) - H > 0:
                raise InvalidInput("level", level, "must be one that w_ii keeps", "[R.14]")
            bound = (Z[i] - log_b) / (2 * a[i])
            if level > theta:
                bound += climb / (2 * a[i] - H / g)
            bounds.append(float_above(bound.max(flint.arb(0))))
    return tuple(bounds)


def _as_ball(log_omega: Fraction | flint.arb) -> flint.arb:
    return log_omega if isinstance(log_omega, flint.arb) else balls.ball(log_omega)


def _exponents(setting: Setting, witness: Witness, theta: flint.arb) -> list[flint.arb]:
    """Z_i = 2 a_i T_i + log b, with any level in the place of theta."""
    spread = balls.ball(setting.beta / setting.rho).log()
    logit = (theta / (1 - theta)).log()
    return [
        logit + (1 + max(i - 1, 0)) * spread + balls.ball(witness.N[i] + witness.M[i])
        for i in range(setting.d)
    ]
