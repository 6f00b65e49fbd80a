r"""Search for the largest omega at which the theorem for distinct concepts has a witness.

For a given theta and omega, the right sides of C2, C2' and C4 (see
:mod:`swingby.theory.theorem_r`) grow with (E, N, M). So if a witness exists, the least fixed
point lies below it, and iterating the right sides, raised by a factor 1 + 1e-4, from the bottom
finds one, unless it lies closer to the edge than that factor. The iteration runs in floats, in
logarithms of E, for many omega and theta at once; solvability is monotone in omega [R.16], so
sections around the edge close in on omega_0. Nothing of this has to be trusted: what is returned
has been certified in balls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from swingby.theory import numbers
from swingby.theory.theorem_r import Setting, Witness, certify
from swingby.theory.theorem_r_closed import Certified, closed_form

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

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


def log_omega_0(signal: tuple[Fraction, ...], beta: Fraction, rho: Fraction) -> Fraction:
    """Find a certified lower value of log omega_0.

    `signal`: distinct and positive, in any order, at least two, per unit of eta times steps.
    `beta`, `rho`: 0 < rho <= beta.
    Returns natural logarithm.
    Raises InvalidInput if an argument is out of range.

    Examples
    --------
    >>> found = log_omega_0((Fraction(16), Fraction(4), Fraction(1)), Fraction(2), Fraction(1, 10))
    >>> round(float(found) / math.log(10), 2)
    -4.47
    """
    return search(Setting.of(signal, beta, rho)).log_omega_0


def search(setting: Setting, thetas: tuple[Fraction, ...] = THETAS) -> Certified:
    """Find the largest omega with a certified witness, to about :data:`TOLERANCE`.

    `thetas`: values of theta to try. Returns at least as large as :func:`closed_form`.
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
    """Find the certified witness with the smallest peak at one omega.

    Returns None when the search finds none, which does not mean that there is none.
    """
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
    """Scale a certified witness down to a smaller omega by [R.17].

    `log_omega`: natural logarithm, at most that of the certified omega. Returns its entries are
    those of the certified one times (omega/omega_0)^((1-q)/2).
    """
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


def _solve(setting: Setting, theta: Floats, log_omega: Floats) -> tuple[NDArray[np.bool_], _State]:
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
) -> Callable[[Floats, Floats, _State], tuple[_State, NDArray[np.bool_]]]:
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

    def apply(theta: Floats, log_omega: Floats, state: _State) -> tuple[_State, NDArray[np.bool_]]:
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
