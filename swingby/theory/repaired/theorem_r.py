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
C0 to C6 themselves are decided in balls by :func:`conditions`. For gradient descent there is
:mod:`swingby.theory.repaired.theorem_r_gd`. :func:`closed_form` shows that there is an omega_0 for
every (a, beta, rho), and :func:`search` finds the largest.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import flint
import numpy as np

from swingby.errors import InvalidInput
from swingby.theory import balls, numbers
from swingby.theory.balls import precision
from swingby.theory.numbers import Booleans, Floats
from swingby.theory.repaired.repaired_setting import LEVEL, RepairedSetting, found_in_balls

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class TheoremWitness:
    """Constants of the statement, exact.

    `log_peaks` (d, d): natural logarithms of E_ij, symmetric; the diagonal means nothing.
    """

    theta: Fraction
    log_peaks: tuple[tuple[Fraction, ...], ...]
    N: tuple[Fraction, ...]
    M: tuple[Fraction, ...]


@dataclass(frozen=True)
class _Sides:
    """The sums of the statement as arrays of floats or of balls; their last axes are i and j.

    `log_X`, `rate`: for i < j. `N`, `M`: the right sides of C2 and C2'.
    """

    log_X: Any
    H: Any
    N: Any
    M: Any
    rate: Any


def _sides(a: Any, spread: Any, log_b: Any, theta: Any, log_E: Any, N: Any, M: Any) -> _Sides:
    """The sides of C1 to C4 at (E, N, M); theta and log b have a last axis of length 1."""
    after, level = _after(a), theta[..., None]
    sums = a[:, None] + a
    Z = _exponents(spread, theta, N, M)
    log_X = _log_X(a, log_b, Z)
    X = np.where(after, np.exp(log_X), 0) / (2 * a)
    squares = _squares(a, log_E)
    H = squares.sum(axis=-1)
    longest = Z[..., None] - 2 * log_E
    early = np.where(after.T, squares * (1 + (longest + np.abs(longest)) / 2), 0).sum(axis=-1)
    rest = H[..., None] - squares
    return _Sides(
        log_X,
        H,
        (_nu(a, spread, N) * X).sum(axis=-1),
        ((sums * X).sum(axis=-1) * theta + early / (2 * a)) / (1 - theta),
        level * (a[:, None] - a) / 2 - (1 + a / a[:, None]) / (2 * level) * rest,
    )


def _squares(a: Any, log_E: Any) -> Any:
    """(a_i + a_k) E_ik^2, whose sums over k are H_i."""
    return np.where(np.eye(len(a)), 0, (a[:, None] + a) * np.exp(2 * log_E))


def _after(a: Any) -> Booleans:
    """Where i < j."""
    return np.triu(np.ones((len(a), len(a)), dtype=bool), 1)


def _exponents(spread: Any, theta: Any, N: Any, M: Any) -> Any:
    """Z_i = 2 a_i T_i + log b, with any level in the place of theta."""
    waits = 1 + np.maximum(np.arange(N.shape[-1]) - 1, 0)
    return np.log(theta / (1 - theta)) + waits * spread + N + M


def _log_X(a: Any, log_b: Any, Z: Any) -> Any:
    """Logarithms of X_ij for i < j."""
    slope = np.where(_after(a), a / a[:, None], 1)
    return log_b[..., None] + slope * (Z - log_b)[..., None]


def _nu(a: Any, spread: Any, N: Any) -> Any:
    """The factors nu_ij."""
    index = np.arange(len(a))
    root = np.where(index > 0, 2 * np.exp((index * spread + N) / 2), 1)
    return ((a[0] + a) / 2 + (a[0] - a) / 2 * root)[..., None] + a


def _balls(values: Iterable[Fraction]) -> NDArray[np.object_]:
    """Exact numbers as an array of balls."""
    return np.array([balls.ball(value) for value in values])


def conditions(
    setting: RepairedSetting, log_omega: Fraction | flint.arb, witness: TheoremWitness
) -> Iterator[tuple[str, flint.arb]]:
    """C0 to C6 at the current working precision: names, and slacks that are positive inside.

    ``"range"`` stands for theta in (0, 1), E symmetric, N, M >= 0.
    """
    indices = range(setting.d)
    in_range = 0 < witness.theta < 1 and min(*witness.N, *witness.M) >= 0
    in_range &= all(
        witness.log_peaks[i][j] == witness.log_peaks[j][i] for i in indices for j in range(i)
    )
    yield "range", flint.arb(1 if in_range else -1)
    if not in_range:
        return
    a, N, M = map(_balls, (setting.signal, witness.N, witness.M))
    theta = balls.ball(witness.theta)
    log_b = setting.log_b(log_omega)
    spread = setting.log_ratio()
    log_E = np.array([_balls(row) for row in witness.log_peaks])
    E = np.exp(log_E)
    sides = _sides(a, spread, np.array([log_b]), np.array([theta]), log_E, N, M)
    yield "C0", theta.log() - log_b
    for i in indices:
        yield "C1", 2 * a[i] * theta * (1 - theta) - sides.H[i]
        yield "C5", balls.ball(Fraction(4, 25)) * a[i] - sides.H[i]
        # C6 alone is not strict.
        yield "C6", flint.arb(1 if witness.N[i] + witness.M[i] <= 1 else -1)
        if i < setting.d - 1:
            yield "C2", N[i] - sides.N[i]
        yield "C2'", M[i] - sides.M[i]
        for j in range(i + 1, setting.d):
            yield "C3", sides.rate[i, j]
            r = a[j] / a[i]
            mean = (a[i] + a[j]) / 2
            rest = (k for k in indices if k not in (i, j))
            source = sum(((a[k] + mean) * E[i, k] * E[k, j] for k in rest), flint.arb(0))
            P = ((sides.log_X[i, j] - r * theta.log()) / 2).exp()
            noise = source / sides.rate[i, j] * (-(1 + r) / 2 * theta.log()).exp()
            yield "C4", E[i, j] - P - noise


def failing(
    setting: RepairedSetting, log_omega: Fraction | flint.arb, witness: TheoremWitness
) -> tuple[str, ...]:
    """Names of the conditions that do not certainly hold at the highest precision tried."""

    def signs() -> dict[str, list[int | None]]:
        by_name: dict[str, list[int | None]] = {}
        for name, slack in conditions(setting, log_omega, witness):
            by_name.setdefault(name, []).append(balls.sign(slack))
        return by_name

    final = balls.with_rising_precision(
        signs, lambda found: all(None not in values for values in found.values())
    )
    return tuple(name for name, values in final.items() if any(value != 1 for value in values))


def certify(
    setting: RepairedSetting, log_omega: Fraction | flint.arb, witness: TheoremWitness
) -> bool:
    """True if C0 to C6 certainly hold, hence the statement at every omega up to this."""
    return not failing(setting, log_omega, witness)


def time_bounds(
    setting: RepairedSetting,
    log_omega: Fraction | flint.arb,
    witness: TheoremWitness,
    level: Fraction = LEVEL,
) -> tuple[float, ...]:
    """Bound the times by which w_11, ..., w_dd have reached a level for good, by (c).

    `witness`: certified at this omega or a larger one. Raises InvalidInput unless H_i < 2 a_i
    level (1 - level) certainly.
    """
    with precision(256):
        a, N, M = map(_balls, (setting.signal, witness.N, witness.M))
        theta, aim = witness.theta, balls.ball(level)
        log_b = setting.log_b(log_omega)
        spread = setting.log_ratio()
        Z = _exponents(spread, _balls([min(theta, level)]), N, M)
        g = balls.ball(min(theta * (1 - theta), level * (1 - level)))
        climb = (aim / (1 - aim)).log() - balls.ball(theta / (1 - theta)).log()
        H = _squares(a, np.array([_balls(row) for row in witness.log_peaks])).sum(axis=-1)
        if not all(2 * a * aim * (1 - aim) - H > 0):
            raise InvalidInput("level", level, "must be one that w_ii keeps", "[R.14]")
        bounds = (Z - log_b) / (2 * a)
        if level > theta:
            bounds += climb / (2 * a - H / g)
        return tuple(balls.float_above(bound.max(flint.arb(0))) for bound in bounds)


@dataclass(frozen=True)
class Certified:
    """An omega with a certified witness: the theorem holds there and below."""

    log_omega_0: Fraction
    witness: TheoremWitness


def closed_form(setting: RepairedSetting) -> Certified:
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
        witness = TheoremWitness(Fraction(4, 5), (row,) * setting.d, quarter, quarter)
        # Off the edge, where C0 would be an equality.
        certified = Certified(balls.round_down(L) - Fraction(1, 2**30), witness)
        return certified if certify(setting, certified.log_omega_0, witness) else None

    return found_in_balls(attempt, setting)


def _log_entry(setting: RepairedSetting) -> flint.arb:
    """Log e of the closed form, a little below its bound."""
    d, a = setting.d, [balls.ball(value) for value in setting.signal]
    log_theta = balls.ball(Fraction(4, 5)).log()
    spread = setting.log_ratio()
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


def _log_limit(setting: RepairedSetting, log_e: flint.arb) -> flint.arb:
    """Log omega_0 of the closed form."""
    a, d = _balls(setting.signal), setting.d
    theta, quarters = balls.ball(Fraction(4, 5)), _balls([Fraction(1, 4)] * d)
    log_beta = balls.ball(setting.beta).log()
    spread = setting.log_ratio()
    nu = _nu(a, spread, quarters)
    Z = _exponents(spread, np.array([theta]), quarters, quarters)
    at_one = _log_X(a, np.array([log_beta]), Z)  # log X_ij at omega = 1
    limit = theta.log() - log_beta
    for i, j in itertools.combinations(range(d), 2):
        r = a[j] / a[i]
        X = 2 * a[j] * (1 / (4 * nu[i, j])).min(1 / (32 * (a[i] + a[j]))) / (d - i - 1)
        target = (balls.ball(Fraction(49, 100)).log() + log_e).min(X.log() / 2)
        limit = limit.min((2 * target - at_one[i, j] + r * theta.log()) / (1 - r))
    return limit


#: Candidates (log E, N, M) at n points (theta, log omega): arrays with n rows.
_State = tuple[Floats, Floats, Floats]
#: Values of theta that are tried, in percent.
_THETAS = tuple(
    Fraction(percent, 100) for percent in (50, 55, 60, 65, 70, 74, 78, 82, 86, 90, 93, 96)
)
#: How far the right sides are raised, relative, so that strict inequalities survive rounding.
_MARGIN = 1e-4
#: How closely log omega_0 is bracketed, absolute or relative to its size over 1e6.
_TOLERANCE = 1e-4
#: Omegas per section of the search, and iterations after which a fixed point is given up.
_SECTIONS = 12
_ITERATIONS = 200


def search(setting: RepairedSetting, thetas: tuple[Fraction, ...] = _THETAS) -> Certified:
    """The largest omega with a certified witness, to about :data:`_TOLERANCE`.

    For a given theta and omega, the right sides of C2, C2' and C4 grow with (E, N, M). So if a
    witness exists, the least fixed point lies below it, and iterating the right sides, raised by a
    factor 1 + :data:`_MARGIN`, from the bottom finds one, unless it lies closer to the edge than
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
    tolerance = max(_TOLERANCE, _TOLERANCE * 1e-6 * abs(low))
    while high - low > tolerance:
        grid = np.linspace(low, high, _SECTIONS + 2)[1:-1]
        points = np.repeat(tried, _SECTIONS), np.tile(grid, tried.size)
        solved = _solve(setting, *points)[0].reshape(tried.size, _SECTIONS)
        reached = np.flatnonzero(solved.any(axis=0))
        if reached.size:
            best = int(reached[-1])
            # A theta that fails here fails at every larger omega.
            tried = tried[solved[:, best]]
            low, high = grid[best], grid[best + 1] if best + 1 < _SECTIONS else high
        else:
            high = grid[0]
    solvable = tuple(theta for theta in thetas if float(theta) in tried)
    back = tolerance
    while low > fallback.log_omega_0:
        witness = find_witness(setting, Fraction(float(low)), solvable)
        if witness is not None:
            return Certified(Fraction(float(low)), witness)
        low, back = low - back, 2 * back
    return fallback


def find_witness(
    setting: RepairedSetting, log_omega: Fraction, thetas: tuple[Fraction, ...] = _THETAS
) -> TheoremWitness | None:
    """The certified witness with the smallest peak that the search finds at an omega."""
    L = float(log_omega)
    if not _in_float_range(setting) or math.isinf(L):
        return None
    levels = np.array([float(theta) for theta in thetas])
    solved, (log_E, N, M) = _solve(setting, levels, np.full(levels.size, L))
    for index in np.argsort(log_E.max(axis=(1, 2)), kind="stable"):
        if solved[index]:
            rows = np.where(np.eye(setting.d), 0, log_E[index]).tolist()
            witness = TheoremWitness(
                thetas[index],
                tuple(tuple(map(Fraction, row)) for row in rows),
                tuple(map(Fraction, N[index].tolist())),
                tuple(map(Fraction, M[index].tolist())),
            )
            if certify(setting, log_omega, witness):
                return witness
    return None


def scaled(setting: RepairedSetting, log_omega: Fraction, certified: Certified) -> TheoremWitness:
    """Scale the entries of a witness down to a smaller omega, by [R.17]."""
    neighbours = zip(setting.signal, setting.signal[1:], strict=False)
    q = max(small / large for large, small in neighbours)
    shift = (1 - q) / 2 * (log_omega - certified.log_omega_0)
    rows = certified.witness.log_peaks
    return replace(
        certified.witness, log_peaks=tuple(tuple(value + shift for value in row) for row in rows)
    )


def _in_float_range(setting: RepairedSetting) -> bool:
    """True if ratios of signals and of beta to rho survive in floats, with room for squares."""
    smallest = setting.signal[-1] / setting.signal[0]
    return min(smallest, setting.rho / setting.beta) > Fraction(1, 10**100)


def _solve(setting: RepairedSetting, theta: Floats, log_omega: Floats) -> tuple[Booleans, _State]:
    """Iterate the raised right sides at n points; tell which points reach a fixed point."""
    n, d = theta.size, setting.d
    raised = _raised(setting)
    state: _State = (np.full((n, d, d), -np.inf), np.zeros((n, d)), np.zeros((n, d)))
    solved, open_points = np.zeros(n, dtype=bool), np.arange(n)
    everything = tuple(array.copy() for array in state)
    for _ in range(_ITERATIONS):
        new, alive = raised(theta[open_points], log_omega[open_points], state)
        with np.errstate(invalid="ignore"):
            moved = [np.nan_to_num(np.abs(x - y)) for x, y in zip(new, state, strict=True)]
        change = np.max([array.reshape(len(array), -1).max(axis=1) for array in moved], axis=0)
        done = alive & (change < _MARGIN / 10)
        solved[open_points[done]] = True
        for solution, array in zip(everything, new, strict=True):
            solution[open_points[done]] = array[done]
        going = np.flatnonzero(alive & ~done)
        if not going.size:
            break
        open_points = open_points[going]
        state = new[0][going], new[1][going], new[2][going]
    return solved, (everything[0], everything[1], everything[2])


def _raised(
    setting: RepairedSetting,
) -> Callable[[Floats, Floats, _State], tuple[_State, Booleans]]:
    """The map (E, N, M) -> raised right sides of C4, C2, C2', with C1, C3, C5, C6 checked.

    Signals are measured in units of a_1, which changes no condition.
    """
    a = np.array([float(value / setting.signal[0]) for value in setting.signal])
    log_beta = numbers.log_of(setting.beta)
    spread = log_beta - numbers.log_of(setting.rho)
    after, ratio = _after(a), a / a[:, None]
    with np.errstate(divide="ignore"):
        # log(a_k + (a_i + a_j)/2), absent for k = i, k = j and i = j.
        weights = np.log(((a[:, None] + a) / 2)[:, :, None] + a)
    for k in range(setting.d):
        weights[k, :, k] = weights[:, k, k] = weights[k, k, :] = -np.inf

    def apply(theta: Floats, log_omega: Floats, state: _State) -> tuple[_State, Booleans]:
        level, log_b = theta[:, None], (log_beta + log_omega)[:, None]
        log_E, log_theta = state[0], np.log(level)[:, :, None]
        with np.errstate(over="ignore"):
            sides = _sides(a, spread, log_b, level, np.maximum(log_E, -1e9), *state[1:])
        terms = weights + log_E[:, :, None, :] + log_E[:, None, :, :]
        top = np.maximum(terms.max(axis=3), -1e300)
        alive = ((sides.rate > 0) | ~after).all(axis=(1, 2)) & (log_b < np.log(level))[:, 0]
        room = np.minimum(2 * a * level * (1 - level), 0.16 * a)
        alive &= (room - sides.H > 0).all(axis=1)
        P = (sides.log_X - ratio * log_theta) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            log_source = top + np.log(np.exp(terms - top[..., None]).sum(axis=3))
            noise = log_source - (1 + ratio) / 2 * log_theta - np.log(sides.rate)
            raised = np.logaddexp(P, noise) + math.log1p(_MARGIN)
        upper = np.where(after, raised, -np.inf)
        N, M = (side * (1 + _MARGIN) + _MARGIN / 10 for side in (sides.N, sides.M))
        alive &= (N + M <= 1).all(axis=1) & (upper < 0).all(axis=(1, 2))
        return (np.maximum(upper, upper.transpose(0, 2, 1)), N, M), alive

    return apply
