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
|w_ij(t)| < (omega/omega_0)^((1-q)/2) E_ij.

The proof is ``proofs/theorem_r.proof``, step by step, each step judged like a line of the paper;
C0 to C6 themselves are decided in balls by :func:`conditions`. Nothing is proved for the discrete
dynamics. :func:`closed_form` shows that there is an omega_0 for every (a, beta, rho), and
:func:`search` finds the largest.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import flint
import numpy as np

from swingby.errors import InvalidInput
from swingby.theory import balls, numbers
from swingby.theory.balls import precision
from swingby.theory.numbers import Booleans, Floats
from swingby.theory.repaired.theorem_two import LEVEL, Setting, found_in_balls

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Witness:
    """Constants of the statement, exact.

    `log_peaks` (d, d): natural logarithms of E_ij, symmetric; the diagonal means nothing.
    """

    theta: Fraction
    log_peaks: tuple[tuple[Fraction, ...], ...]
    N: tuple[Fraction, ...]
    M: tuple[Fraction, ...]


def conditions(
    setting: Setting, log_omega: Fraction | flint.arb, witness: Witness
) -> Iterator[tuple[str, flint.arb]]:
    """C0 to C6 at the current working precision: names, and slacks that are positive inside.

    ``"range"`` stands for theta in (0, 1), E symmetric, N, M >= 0.
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
    log_b = balls.ball(setting.beta).log() + balls.ball(log_omega)
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
    """Names of the conditions that do not certainly hold at the highest precision tried."""

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

    `witness`: certified at this omega or a larger one. Raises InvalidInput unless H_i < 2 a_i
    level (1 - level) certainly.
    """
    bounds = []
    with precision(256):
        a, theta, aim = [balls.ball(x) for x in setting.signal], witness.theta, balls.ball(level)
        log_b = balls.ball(setting.beta).log() + balls.ball(log_omega)
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
            bounds.append(balls.float_above(bound.max(flint.arb(0))))
    return tuple(bounds)


def _exponents(setting: Setting, witness: Witness, theta: flint.arb) -> list[flint.arb]:
    """Z_i = 2 a_i T_i + log b, with any level in the place of theta."""
    spread = balls.ball(setting.beta / setting.rho).log()
    logit = (theta / (1 - theta)).log()
    return [
        logit + (1 + max(i - 1, 0)) * spread + balls.ball(witness.N[i] + witness.M[i])
        for i in range(setting.d)
    ]


@dataclass(frozen=True)
class Certified:
    """An omega with a certified witness: the theorem holds there and below."""

    log_omega_0: Fraction
    witness: Witness


def closed_form(setting: Setting) -> Certified:
    """An omega_0 in closed form (Corollary R1), certified.

    It takes theta = 4/5, E_ij = e and N_i = M_i = 1/4, with e just below the smallest of, over
    i < j where these occur,

    - (0.16 a_i/sum_(k != i) (a_i+a_k))^(1/2), which gives C5 and C1;
    - for i >= 2, (h/(2 Y))^(1/2), h = (1/20) a_i/sum_(k<i) (a_i+a_k),
      Y = 3/2 + log 4 + l + (i-2) l + max(0, log(1/h)): half of C2', because 2 Y <= exp(Y);
    - for d >= 3, (theta^2 (a_i-a_j)/(4 s sum_(k != i,j) (a_i+a_k)))^(1/2), so that
      rate_ij >= theta (a_i-a_j)/4 (C3), and
      theta^(1+s) (a_i-a_j)/(8 sum_(k != i,j) (a_k + (a_i+a_j)/2)), so that the sum in C4 is <= e/2.

    Then omega_0 is the smallest of 4/(5 beta) (C0) and the omega at which P_ij is the smaller of
    0.49 e (C4) and the square root of
    2 a_j min(1/(4 nu_ij (d-i)), 1/(32 (a_i+a_j) (d-i))) (C2 and the other half of C2', as
    X_ij <= P_ij^2). A person has to read why; a slip could only cost omega, not truth, because the
    value is certified like any other. It is what remains where the search would leave the float
    range.
    """

    def attempt() -> Certified | None:
        log_e = _log_entry(setting)
        if not balls.is_narrow(log_e):
            return None
        log_e = balls.ball(balls.round_down(log_e))
        L = _log_limit(setting, log_e)
        if not balls.is_narrow(L):
            return None
        row = (balls.round_down(log_e),) * setting.d
        quarter = (Fraction(1, 4),) * setting.d
        witness = Witness(Fraction(4, 5), (row,) * setting.d, quarter, quarter)
        # Off the edge, where C0 would be an equality.
        found = Certified(balls.round_down(L) - Fraction(1, 2**30), witness)
        return found if certify(setting, found.log_omega_0, witness) else None

    return found_in_balls(attempt, setting)


def _log_entry(setting: Setting) -> flint.arb:
    """Log e of the closed form, a little below its bound."""
    d, a = setting.d, [balls.ball(value) for value in setting.signal]
    log_theta = balls.ball(Fraction(4, 5)).log()
    spread = balls.ball(setting.beta / setting.rho).log()
    zero, bounds = flint.arb(0), []
    for i in range(d):
        others = [k for k in range(d) if k != i]
        total = sum((a[i] + a[k] for k in others), zero)
        bounds.append((balls.ball(Fraction(4, 25)) * a[i] / total).log() / 2)
        if i:
            h = (a[i] / (20 * sum((a[i] + a[k] for k in range(i)), zero))).log()
            Y = balls.ball(Fraction(3, 2)) + flint.arb(4).log() + i * spread + (-h).max(zero)
            bounds.append((h - (2 * Y).log()) / 2)
        for j in range(i + 1, d if d > 2 else 0):
            s, gap, mean = (1 + a[j] / a[i]) / 2, a[i] - a[j], (a[i] + a[j]) / 2
            rest = [a[k] for k in others if k != j]
            noise = sum((a[i] + value for value in rest), zero)
            source = sum((mean + value for value in rest), zero)
            bounds.append(log_theta + (gap / (4 * s * noise)).log() / 2)
            bounds.append((1 + s) * log_theta + (gap / (8 * source)).log())
    return functools.reduce(flint.arb.min, bounds) - balls.ball(Fraction(1, 10**6))


def _log_limit(setting: Setting, log_e: flint.arb) -> flint.arb:
    """Log omega_0 of the closed form."""
    a, d = [balls.ball(value) for value in setting.signal], setting.d
    log_theta, log_beta = balls.ball(Fraction(4, 5)).log(), balls.ball(setting.beta).log()
    log_rho, quarter = balls.ball(setting.rho).log(), balls.ball(Fraction(1, 4))
    spread, limit = log_beta - log_rho, log_theta - log_beta
    for i in range(d):
        root = 2 * ((i * spread + quarter) / 2).exp() if i else flint.arb(1)
        growth = flint.arb(4).log() - log_rho + max(i - 1, 0) * spread + 2 * quarter
        for j in range(i + 1, d):
            r = a[j] / a[i]
            nu = (a[0] + a[i]) / 2 + (a[0] - a[i]) / 2 * root + a[j]
            X = 2 * a[j] * (1 / (4 * nu)).min(1 / (32 * (a[i] + a[j]))) / (d - i - 1)
            target = (balls.ball(Fraction(49, 100)).log() + log_e).min(X.log() / 2)
            at_one = (-r * log_theta + log_beta + r * growth) / 2  # log P_ij at omega = 1
            limit = limit.min(2 * (target - at_one) / (1 - r))
    return limit


#: Values of theta that are tried, in percent.
THETAS = tuple(
    Fraction(percent, 100) for percent in (50, 55, 60, 65, 70, 74, 78, 82, 86, 90, 93, 96)
)
#: How far the right sides are raised, relative, so that strict inequalities survive rounding.
MARGIN = 1e-4
#: How closely log omega_0 is bracketed, absolute or relative to its size over 1e6.
TOLERANCE = 1e-4
#: Omegas per section of the search, and iterations after which a fixed point is given up.
SECTIONS = 12
ITERATIONS = 200


@dataclass(frozen=True)
class _State:
    """Candidates (E, N, M) at n points (theta, log omega), as arrays with n rows."""

    log_entries: Floats
    N: Floats
    M: Floats

    def rows(self, chosen: NDArray[np.intp]) -> _State:
        return _State(self.log_entries[chosen], self.N[chosen], self.M[chosen])


def search(setting: Setting, thetas: tuple[Fraction, ...] = THETAS) -> Certified:
    """The largest omega with a certified witness, to about :data:`TOLERANCE`.

    For a given theta and omega, the right sides of C2, C2' and C4 grow with (E, N, M). So if a
    witness exists, the least fixed point lies below it, and iterating the right sides, raised by a
    factor 1 + :data:`MARGIN`, from the bottom finds one, unless it lies closer to the edge than
    that factor. The iteration runs in floats, in logarithms of E, for many omega and theta at once;
    solvability is monotone in omega [R.16], so sections around the edge close in on omega_0.
    Nothing of this has to be trusted: what is returned has been certified in balls.
    """
    fallback = closed_form(setting)
    low = float(fallback.log_omega_0)
    if not _in_float_range(setting) or math.isinf(low):
        return fallback
    tried = np.array([float(theta) for theta in thetas])
    high = math.log(max(thetas)) - numbers.log_of(setting.beta)
    tolerance = max(TOLERANCE, TOLERANCE * 1e-6 * abs(low))
    while high - low > tolerance:
        grid = np.linspace(low, high, SECTIONS + 2)[1:-1]
        points = np.repeat(tried, SECTIONS), np.tile(grid, tried.size)
        solved = _solve(setting, *points)[0].reshape(tried.size, SECTIONS)
        reached = np.flatnonzero(solved.any(axis=0))
        if reached.size:
            best = int(reached[-1])
            # A theta that fails here fails at every larger omega.
            tried = tried[solved[:, best]]
            low, high = grid[best], grid[best + 1] if best + 1 < SECTIONS else high
        else:
            high = grid[0]
    kept = tuple(theta for theta in thetas if float(theta) in tried)
    back = tolerance
    while low > fallback.log_omega_0:
        found = find_witness(setting, Fraction(float(low)), kept)
        if found is not None:
            return Certified(Fraction(float(low)), found)
        low, back = low - back, 2 * back
    return fallback


def find_witness(
    setting: Setting, log_omega: Fraction, thetas: tuple[Fraction, ...] = THETAS
) -> Witness | None:
    """The certified witness with the smallest peak that the search finds at one omega."""
    L = float(log_omega)
    if not _in_float_range(setting) or math.isinf(L):
        return None
    levels = np.array([float(theta) for theta in thetas])
    solved, state = _solve(setting, levels, np.full(levels.size, L))
    for place in np.argsort(state.log_entries.max(axis=(1, 2)), kind="stable"):
        if solved[place]:
            witness = Witness(
                thetas[place],
                _exact(state.log_entries[place]),
                tuple(map(Fraction, state.N[place].tolist())),
                tuple(map(Fraction, state.M[place].tolist())),
            )
            if certify(setting, log_omega, witness):
                return witness
    return None


def scaled(setting: Setting, log_omega: Fraction, certified: Certified) -> Witness:
    """Scale the entries of a witness down to a smaller omega, by [R.17]."""
    neighbours = zip(setting.signal, setting.signal[1:], strict=False)
    q = max(small / large for large, small in neighbours)
    shift = (1 - q) / 2 * (log_omega - certified.log_omega_0)
    rows = certified.witness.log_peaks
    return replace(
        certified.witness, log_peaks=tuple(tuple(value + shift for value in row) for row in rows)
    )


def _exact(log_entries: Floats) -> tuple[tuple[Fraction, ...], ...]:
    """Exact rationals, 0 on the diagonal."""
    finite = np.where(np.eye(len(log_entries)) > 0, 0.0, log_entries)
    return tuple(tuple(map(Fraction, row)) for row in finite.tolist())


def _in_float_range(setting: Setting) -> bool:
    """Whether ratios of signals and of beta to rho survive in floats, with room for squares."""
    smallest = setting.signal[-1] / setting.signal[0]
    return min(smallest, setting.rho / setting.beta) > Fraction(1, 10**100)


def _solve(setting: Setting, theta: Floats, log_omega: Floats) -> tuple[Booleans, _State]:
    """Iterate the raised right sides at n points; tell which points reach a fixed point."""
    n, d = theta.size, setting.d
    raise_right_sides = _right_sides(setting)
    everything = _State(np.full((n, d, d), -np.inf), np.zeros((n, d)), np.zeros((n, d)))
    solved, open_points = np.zeros(n, dtype=bool), np.arange(n)
    state = everything
    for _ in range(ITERATIONS):
        new, alive = raise_right_sides(theta[open_points], log_omega[open_points], state)
        with np.errstate(invalid="ignore"):
            change = np.nan_to_num(np.abs(new.log_entries - state.log_entries), nan=0.0).max(
                axis=(1, 2)
            )
        change = np.maximum(change, np.abs(new.N - state.N).max(axis=1, initial=0))
        change = np.maximum(change, np.abs(new.M - state.M).max(axis=1, initial=0))
        done = alive & (change < MARGIN / 10)
        places = open_points[done]
        solved[places] = True
        everything.log_entries[places], everything.N[places] = new.log_entries[done], new.N[done]
        everything.M[places] = new.M[done]
        going = np.flatnonzero(alive & ~done)
        if not going.size:
            break
        open_points, state = open_points[going], new.rows(going)
    return solved, everything


def _right_sides(
    setting: Setting,
) -> Callable[[Floats, Floats, _State], tuple[_State, Booleans]]:
    """Prepare the map (E, N, M) -> raised right sides of C4, C2, C2', with C1, C3, C5, C6 checked.

    Signals are measured in units of a_1, which changes no condition.
    """
    d = setting.d
    a = np.array([float(value / setting.signal[0]) for value in setting.signal])
    log_beta = numbers.log_of(setting.beta)
    spread = log_beta - numbers.log_of(setting.rho)
    place = np.arange(d)
    after, before = np.triu(np.ones((d, d)), 1), np.tril(np.ones((d, d)), -1)
    sums, means, ratio = a[:, None] + a, (a[:, None] + a) / 2, a / a[:, None]
    slope = np.where(after > 0, ratio, 1.0)
    s = (1 + ratio) / 2
    # 4^(1/2) of kappa_n, in logarithms; kappa_1 = 1.
    growth = np.where(place > 0, math.log(2), 0.0)
    per_N = np.where(place > 0, 0.5, 0.0)
    with np.errstate(divide="ignore"):
        # log(a_k + (a_i + a_j)/2), absent for k = i, k = j and i = j.
        weights = np.log(means[:, :, None] + a)
    for k in place:
        weights[k, :, k] = weights[:, k, k] = weights[k, k, :] = -np.inf

    def apply(theta: Floats, log_omega: Floats, state: _State) -> tuple[_State, Booleans]:
        level, log_b = theta[:, None], (log_beta + log_omega)[:, None]
        log_entries, N, M = state.log_entries, state.N, state.M
        wide = theta[:, None, None]
        Z = np.log(level / (1 - level)) + (1 + np.maximum(place - 1, 0)) * spread + N + M
        log_X = log_b[:, :, None] + slope * (Z - log_b)[:, :, None]
        X = np.exp(np.minimum(log_X, 50)) * after / (2 * a)
        root = np.exp(growth + place * spread / 2 + per_N * N)
        nu = ((a[0] + a) / 2 + (a[0] - a) / 2 * root)[:, :, None] + a
        squares = np.exp(2 * log_entries)
        H = (sums * squares).sum(axis=2)
        longest = 1 + np.maximum(Z[:, :, None] - 2 * np.maximum(log_entries, -1e9), 0)
        early = (before * sums * squares * longest).sum(axis=2) / (2 * a)
        new_N = (nu * X).sum(axis=2)
        new_M = ((sums * X).sum(axis=2) * level + early) / (1 - level)
        rate = wide * (a[:, None] - a) / 2 - s / wide * (H[:, :, None] - sums * squares)
        terms = weights + log_entries[:, :, None, :] + log_entries[:, None, :, :]
        top = np.maximum(terms.max(axis=3), -1e300)
        with np.errstate(divide="ignore"):
            log_source = top + np.log(np.exp(terms - top[..., None]).sum(axis=3))
        kept = after > 0
        alive = ((rate > 0) | ~kept).all(axis=(1, 2)) & (log_b < np.log(level))[:, 0]
        room = np.minimum(2 * a * level * (1 - level), 0.16 * a)
        alive &= (room - H > 0).all(axis=1)
        log_theta = np.log(wide)
        noise = log_source - s * log_theta - np.log(np.where(kept & (rate > 0), rate, 1.0))
        raised = np.logaddexp(log_X / 2 - ratio / 2 * log_theta, noise) + math.log1p(MARGIN)
        upper = np.where(kept, raised, -np.inf)
        new = _State(
            np.maximum(upper, upper.transpose(0, 2, 1)),
            new_N * (1 + MARGIN) + MARGIN / 10,
            new_M * (1 + MARGIN) + MARGIN / 10,
        )
        alive &= (new.N + new.M <= 1).all(axis=1) & (upper < 0).all(axis=(1, 2))
        return new, alive

    return apply
