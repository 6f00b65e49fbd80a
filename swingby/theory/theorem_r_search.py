r"""Search for the largest omega at which the theorem for distinct concepts has a witness.

For a given theta and omega, the right sides of C2, C2' and C4 (see
:mod:`swingby.theory.theorem_r`) grow with (E, N, M). So if a witness exists, the least fixed
point lies below it, and iterating the right sides, raised by a factor 1 + 1e-4, from the bottom
finds one, unless it lies closer to the edge than that factor. The iteration runs in floats, in
logarithms of E, for many omega and theta at once; solvability is monotone in omega [R.16], so
sections around the edge close in on omega_0. Nothing of this has to be trusted: what is returned
has been certified in balls.

**A closed form** (Corollary R1, [R.18]). theta = 4/5, E_ij = e, N_i = M_i = 1/4, with e just
below the smallest of, over i < j where these occur,

- (0.16 a_i/sum_(k != i) (a_i+a_k))^(1/2), which gives C5 and C1;
- for i >= 2, (h/(2 Y))^(1/2), h = (1/20) a_i/sum_(k<i) (a_i+a_k),
  Y = 3/2 + log 4 + l + (i-2) l + max(0, log(1/h)): half of C2', because 2 Y <= exp(Y);
- for d >= 3, (theta^2 (a_i-a_j)/(4 s sum_(k != i,j) (a_i+a_k)))^(1/2), so that
  rate_ij >= theta (a_i-a_j)/4 (C3), and
  theta^(1+s) (a_i-a_j)/(8 sum_(k != i,j) (a_k + (a_i+a_j)/2)), so that the sum in C4 is <= e/2.

Then omega_0 is the smallest of 4/(5 beta) (C0) and the omega at which P_ij is the smaller of
0.49 e (C4) and the square root of
2 a_j min(1/(4 nu_ij (d-i)), 1/(32 (a_i+a_j) (d-i))) (C2 and the other half of C2'; X_ij <= P_ij^2).
Both are read by a person; every value is certified like any other, so that a slip could only
cost omega, not truth. It proves that an omega_0 > 0 exists for every (a, beta, rho), and is what
remains when the search leaves the float range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import flint
import numpy as np

from swingby.theory import balls, numbers
from swingby.theory.theorem_r import Setting, Witness, certify
from swingby.theory.theorem_two import round_down

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
ITERATIONS = 400


@dataclass(frozen=True)
class Certified:
    """An omega with a certified witness: the theorem holds there and below.

    Parameters
    ----------
    log_omega_0 : Fraction
        Natural logarithm.
    witness : Witness
    """

    log_omega_0: Fraction
    witness: Witness


@dataclass(frozen=True)
class _State:
    """Candidates (E, N, M) at n points (theta, log omega), as arrays with n rows."""

    log_E: Floats
    N: Floats
    M: Floats

    def rows(self, chosen: NDArray[np.intp]) -> _State:
        return _State(self.log_E[chosen], self.N[chosen], self.M[chosen])


def log_omega_0(signal: tuple[Fraction, ...], beta: Fraction, rho: Fraction) -> Fraction:
    """Find a certified lower value of log omega_0.

    Parameters
    ----------
    signal : tuple of Fraction
        Distinct and positive, in any order, at least two, per unit of eta times steps.
    beta, rho : Fraction
        0 < rho <= beta.

    Returns
    -------
    Fraction
        Natural logarithm.

    Raises
    ------
    InvalidInput
        If an argument is out of range.

    Examples
    --------
    >>> found = log_omega_0((Fraction(16), Fraction(4), Fraction(1)), Fraction(2), Fraction(1, 10))
    >>> round(float(found) / math.log(10), 2)
    -4.47
    """
    return search(Setting(tuple(sorted(signal, reverse=True)), beta, rho)).log_omega_0


def search(setting: Setting, thetas: tuple[Fraction, ...] = THETAS) -> Certified:
    """Find the largest omega with a certified witness, to about :data:`TOLERANCE`.

    Parameters
    ----------
    setting : Setting
    thetas : tuple of Fraction
        Values of theta to try.

    Returns
    -------
    Certified
        At least as large as :func:`closed_form`.
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

    Parameters
    ----------
    setting : Setting
    log_omega : Fraction
        Natural logarithm.
    thetas : tuple of Fraction

    Returns
    -------
    Witness or None
        None when the search finds none, which does not mean that there is none.
    """
    L = float(log_omega)
    if not _in_float_range(setting) or math.isinf(L):
        return None
    levels = np.array([float(theta) for theta in thetas])
    solved, state = _solve(setting, levels, np.full(levels.size, L))
    for place in np.argsort(state.log_E.max(axis=(1, 2)), kind="stable"):
        if solved[place]:
            witness = Witness(
                thetas[place],
                tuple(tuple(map(Fraction, row)) for row in _symmetric(state.log_E[place])),
                tuple(map(Fraction, state.N[place].tolist())),
                tuple(map(Fraction, state.M[place].tolist())),
            )
            if certify(setting, log_omega, witness):
                return witness
    return None


def closed_form(setting: Setting) -> Certified:
    """Evaluate Corollary R1 and certify it.

    Parameters
    ----------
    setting : Setting

    Returns
    -------
    Certified

    Raises
    ------
    ArithmeticError
        If 2048 bits are not enough to certify it.
    """

    def attempt() -> Certified | None:
        log_e = _log_entry(setting)
        if not log_e.rad() < flint.arb(2) ** -70:
            return None
        log_e = balls.ball(round_down(log_e))
        L = _log_limit(setting, log_e)
        if not L.rad() < flint.arb(2) ** -70:
            return None
        row = (round_down(log_e),) * setting.d
        quarter = (Fraction(1, 4),) * setting.d
        witness = Witness(Fraction(4, 5), (row,) * setting.d, quarter, quarter)
        # Off the edge, where C0 would be an equality.
        found = Certified(round_down(L) - Fraction(1, 2**30), witness)
        return found if certify(setting, found.log_omega_0, witness) else None

    certified = balls.with_rising_precision(attempt, lambda value: value is not None)
    if certified is None:
        raise ArithmeticError("the signals are too close for 2048 bits")
    return certified


def _log_entry(setting: Setting) -> flint.arb:
    """Take log e of the closed form, a little below its bound."""
    a = [balls.ball(value) for value in setting.signal]
    log_theta, spread = balls.ball(Fraction(4, 5)).log(), balls.ball(setting.beta / setting.rho).log()
    bounds = []
    for i in range(setting.d):
        others = [k for k in range(setting.d) if k != i]
        total = sum((a[i] + a[k] for k in others), flint.arb(0))
        bounds.append((balls.ball(Fraction(4, 25)) * a[i] / total).log() / 2)
        if i:
            before = sum((a[i] + a[k] for k in range(i)), flint.arb(0))
            h = (a[i] / (20 * before)).log()
            Y = balls.ball(Fraction(3, 2)) + flint.arb(4).log() + i * spread + (-h).max(flint.arb(0))
            bounds.append((h - (2 * Y).log()) / 2)
        for j in range(i + 1, setting.d if setting.d > 2 else 0):
            s, gap, mean = (1 + a[j] / a[i]) / 2, a[i] - a[j], (a[i] + a[j]) / 2
            rest = [a[k] for k in others if k != j]
            noise = sum((a[i] + value for value in rest), flint.arb(0))
            source = sum((mean + value for value in rest), flint.arb(0))
            bounds.append(log_theta + (gap / (4 * s * noise)).log() / 2)
            bounds.append((1 + s) * log_theta + (gap / (8 * source)).log())
    smallest = bounds[0]
    for bound in bounds:
        smallest = smallest.min(bound)
    return smallest - balls.ball(Fraction(1, 10**6))


def _log_limit(setting: Setting, log_e: flint.arb) -> flint.arb:
    """Take log omega_0 of the closed form."""
    a, d = [balls.ball(value) for value in setting.signal], setting.d
    log_theta, log_beta = balls.ball(Fraction(4, 5)).log(), balls.ball(setting.beta).log()
    log_rho, quarter = balls.ball(setting.rho).log(), balls.ball(Fraction(1, 4))
    limit = log_theta - log_beta
    for i in range(d):
        root = flint.arb(1)
        if i:
            growth = balls.ball(Fraction((i + 1) ** (i + 1), i**i)).log()
            root = ((growth + i * (log_beta - log_rho) + quarter) / 2).exp()
        for j in range(i + 1, d):
            r = a[j] / a[i]
            nu = (a[0] + a[i]) / 2 + (a[0] - a[i]) / 2 * root + a[j]
            X = 2 * a[j] * (1 / (4 * nu)).min(1 / (32 * (a[i] + a[j]))) / (d - i - 1)
            target = (balls.ball(Fraction(49, 100)).log() + log_e).min(X.log() / 2)
            growth = flint.arb(4).log() - log_rho + max(i - 1, 0) * (log_beta - log_rho) + 2 * quarter
            at_one = (-r * log_theta + log_beta + r * growth) / 2  # log P_ij at omega = 1
            limit = limit.min(2 * (target - at_one) / (1 - r))
    return limit
