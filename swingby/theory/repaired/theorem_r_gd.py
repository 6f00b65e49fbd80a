r"""Any number of distinct concepts under gradient descent on U: Theorem R-gd and its certificate.

**Range.** :math:`a_1 > \dots > a_d > 0`, :math:`\eta a_1 \le 1/3`, o_d < 9/10, d >= 1; the map
W -> MWM, M = I + eta B, :math:`B = A - (AW + WA)/2`, from a positive definite W(0).

Write :math:`y_i = \eta a_i`, y = y_1, :math:`\lambda_i = 2\log(1+y_i)`, kappa = 1 + y/3, and for
i < j :math:`r_{ij} = \lambda_j/\lambda_i`, :math:`s_{ij} = (y_i+y_j)/2` and
:math:`\nu_{ij} = \tfrac12 (1 - y_j/y_i)(1-2y_i)/(1-y_i)`. Further
chi = (1 + y - y kappa/2)/(1+y)^2 - y, w = 1/((1 - y kappa) chi), and o_i is the root of the sum of
s_kl^2 over k != l <= i.

**W(0).** Numbers b_i >= w_ii(0) with sum b_i < kappa, and c_i >= -log det C_i(0), where C_i is the
correlation matrix of the first i concepts; l_1 = log(b_1/w_11(0)) at most, l_i = 0 for i > 1. Of
one W(0) that is b_i = w_ii(0), c_i = -sum_(k<=i) log(pi_k/w_kk(0)), l_1 = 0 (:func:`of_pivots`). Of
all with w_ii(0) <= beta omega and pivots of at least rho omega, l = log(beta/rho), it is
b_i = beta omega, c_i = (i-1) l, l_1 = l (:func:`of_class`).

**Constants.** Given theta in (0, 1), E_ij > 0 symmetric and N_i, M_i >= 0, let

- Z_i = logit theta + l_i + w (c_i + N_i) + M_i and T_i = (Z_i - log b_i)/lambda_i + 1;
- X_ij = b_j exp(lambda_j T_i) and P_ij = theta^(-r_ij/2) X_ij^(1/2), for i < j;
- kappa_1 = 1, kappa_i = 4 exp(c_i + N_i), Xi_i = sum_(j>i) X_ij, n_i = y kappa_i^(1/2)
  Xi_i/(1 - o_i);
- mu_ij = (hi+lo)/2 + kappa_i^(1/2) (hi-lo)/2 + 2 y kappa_i^(1/2) o_i/(1 - o_i)
  + y^2 kappa_i Xi_i/((1 - o_i)^2 (1 - n_i)), hi = y_1 + y_j, lo = (y_i + y_j)/(1 + y_i), for i = 1
  lo = hi;
- H_i = sum_(k != i) (y_i + y_k) E_ik^2;
- A_ik = (E_ik^2/(2 y_i)) (1 + y_i)^2 (1 + max(0, Z_i + lambda_i - 2 log E_ik)) for k < i;
- S_ij = sum_(k != i,j) E_ik [(1+y) (y_k + s_ij) E_kj + y^2 sum_(l != k,j) E_kl E_lj];
- den_ij = 1 - (H_i - (y_i + y_j) E_ij^2)/(2 theta (1 - s_ij)),
  rate_ij = 1 - exp(-nu_ij y_i theta) den_ij^(-1-r_ij) - s_ij (H_i + H_j)/(2 (1 - y kappa)^2).

**Conditions.** C0: b_i < theta, o_i < 9/10, n_i < 1/2, sum b_i < kappa.
C1: (1 + y_i (1-theta)) H_i < 2 y_i theta (1-theta). C2, i < d: N_i > sum_(j>i) mu_ij X_ij/(2 y_j).
C2': (1-theta)(1-2y_i) M_i > sum_(k>i) (y_i+y_k) theta X_ik/(2 y_k) + sum_(k<i) (y_i+y_k) A_ik.
C3: den_ij > 0, rate_ij > 0. C4: E_ij > P_ij + theta^(-(1+r_ij)/2) S_ij/rate_ij. For a level
v > theta, C5: (1 + y_i (1-v)) H_i < 2 y_i v (1-v) and
:math:`g_i = \lambda_i - H_i [1/(\theta(1-y\kappa)) + 1/((1-v)(1-2y_i))] > 0`.

**Statement.** Under C0 to C4, at all steps and for i < j: (a) |w_ij| < E_ij; (b) w_ii >= theta from
a step of at most T_i on, and not before a passage of the scalar map F
(:mod:`swingby.theory.repaired.scalar_map`); (c) under C5, w_ii >= v from a step of at most
T_i + ceil((logit v - logit theta)/g_i) on; (d) W -> I. A witness (E, N, M) at omega_0 gives one,
(cE, N, M) with c = (omega/omega_0)^((1-q)/2), q = max r_ij, at every smaller omega.

The proof is in outline on the page *Gradient descent*, ``docs/gradient_descent.md``. What has to be
trusted of this module is :func:`conditions`, which is evaluated in balls; the search is not.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import flint
import numpy as np

from swingby.errors import InvalidInput
from swingby.theory import balls
from swingby.theory.repaired.repaired_setting import LEVEL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Balls = NDArray[np.object_]

#: Largest eta a_1, and the bound of o_d.
LARGEST_STEP, LARGEST_O = Fraction(1, 3), Fraction(9, 10)
#: Values of theta that the search tries, in percent.
THETAS = tuple(Fraction(percent, 100) for percent in (35, 50, 58, 65, 72, 80, 86, 92))
#: How far right sides are raised, relative, so that strict inequalities survive rounding.
_MARGIN = 1e-5
_ITERATIONS = 300


@dataclass(frozen=True)
class StartBounds:
    """Bounds of W(0), as balls or floats (d,): log b_i, c_i and l_i of the statement."""

    log_b: Any
    defect: Any
    lead: Any

    def in_floats(self) -> StartBounds:
        """The midpoints."""
        return StartBounds(*(_floats(values) for values in (self.log_b, self.defect, self.lead)))


@dataclass(frozen=True)
class DescentWitness:
    """Constants of the statement, exact; `log_peaks` (d, d): natural logarithms of E_ij."""

    theta: Fraction
    log_peaks: tuple[tuple[Fraction, ...], ...]
    N: tuple[Fraction, ...]
    M: tuple[Fraction, ...]


@dataclass(frozen=True)
class StepRates:
    """What depends on the steps y_i = eta a_i alone, as balls or floats; y_1 is the largest.

    `stretch`: w. `s`, `ratio`, `decay` (d, d): s_ij, r_ij and nu_ij y_i.
    """

    y: Any
    growth: Any
    kappa: Any
    chi: Any
    stretch: Any
    s: Any
    o: Any
    ratio: Any
    decay: Any

    @classmethod
    def of(cls, y: Any) -> StepRates:
        """At the working precision of balls y, or in floats."""
        top = y[0]
        kappa = 1 + top / 3
        chi = (1 + top - top * kappa / 2) / (1 + top) ** 2 - top
        s = (y[:, None] + y) / 2
        squares = np.where(np.eye(len(y), dtype=bool), 0 * s, s * s)
        o = np.sqrt(np.array([squares[: i + 1, : i + 1].sum() for i in range(len(y))]))
        growth = 2 * np.log1p(y)
        decay = (y[:, None] - y) / 2 * ((1 - 2 * y) / (1 - y))[:, None]
        stretch = 1 / ((1 - top * kappa) * chi)
        ratio = growth / growth[:, None]
        return cls(y, growth, kappa, chi, stretch, s, o, ratio, decay)

    @property
    def room(self) -> Any:
        """1 - y kappa, below every eigenvalue of M."""
        return 1 - self.y[0] * self.kappa


def _floats(values: Any) -> NDArray[np.float64]:
    return np.array([float(value.mid()) for value in values])


def as_balls(values: Sequence[Fraction]) -> Balls:
    """Exact numbers as an array of balls."""
    return np.array([balls.ball(value) for value in values], dtype=object)


def of_class(d: int, beta: Fraction, rho: Fraction, log_omega: Fraction | flint.arb) -> StartBounds:
    """All W(0) with w_ii(0) <= beta omega and pivots of at least rho omega."""
    log_b = balls.ball(beta).log() + balls.ball(log_omega)
    spread = balls.ball(beta / rho).log()
    index, zero = np.arange(d), flint.arb(0)
    lead = np.array([spread] + [zero] * (d - 1), dtype=object)
    return StartBounds(np.array([log_b] * d, dtype=object), index * spread, lead)


def of_pivots(diagonal: Sequence[Fraction], pivots: Sequence[Fraction]) -> StartBounds:
    """A positive definite W(0), by its diagonal and its pivots in descending order of a."""
    shares = zip(pivots, diagonal, strict=True)
    defect = list(itertools.accumulate(-balls.ball(pi / w).log() for pi, w in shares))
    zero = np.array([flint.arb(0)] * len(pivots), dtype=object)
    return StartBounds(np.log(as_balls(diagonal)), np.array(defect, dtype=object), zero)


@dataclass(frozen=True)
class DescentSides:
    """The sums of the statement, as balls or floats; A, X, log_P, S, den, rate are (d, d)."""

    Z: Any
    log_X: Any
    X: Any
    root: Any
    Xi: Any
    n: Any
    mu: Any
    H: Any
    A: Any
    N: Any
    M: Any
    den: Any
    rate: Any
    log_P: Any


def sides(
    rates: StepRates, start: StartBounds, theta: Any, log_E: Any, N: Any, M: Any
) -> DescentSides:
    """Everything that the conditions compare, at a witness."""
    y, top, d = rates.y, rates.y[0], len(rates.y)
    diagonal, after = np.eye(d, dtype=bool), np.triu(np.ones((d, d), dtype=bool), 1)
    sums = y[:, None] + y
    Z = np.log(theta / (1 - theta)) + start.lead + rates.stretch * (start.defect + N) + M
    log_X = start.log_b + (Z - start.log_b + rates.growth)[:, None] * rates.ratio
    X = np.where(after, np.exp(np.where(after, log_X, 0 * log_X)), 0 * log_X)
    later = np.arange(d) > 0
    root = np.where(later, 2 * np.exp((start.defect + N) / 2), 1 + 0 * N)
    Xi, room = X.sum(axis=1), 1 - rates.o
    n = top * root * Xi / room
    high = top + y + 0 * sums
    low = np.where(later[:, None], sums / (1 + y)[:, None], high)
    tail = 2 * top * root * rates.o / room + top * top * root * root * Xi / (room * room * (1 - n))
    mu = (high + low) / 2 + (high - low) / 2 * root[:, None] + tail[:, None]
    squares = np.where(diagonal, 0 * sums, np.exp(2 * log_E))
    H = (sums * squares).sum(axis=1)
    wait = (Z + rates.growth)[:, None] - 2 * log_E
    A = squares / (2 * y[:, None]) * ((1 + y) ** 2)[:, None] * (1 + (wait + np.abs(wait)) / 2)
    A = np.where(after.T, A, 0 * A)
    early = (sums * X / (2 * y)).sum(axis=1) * theta + (sums * A).sum(axis=1)
    den = 1 - (H[:, None] - sums * squares) / (2 * theta * (1 - rates.s))
    slowed = -rates.decay * theta - (1 + rates.ratio) * np.log(den)
    rate = -np.expm1(slowed) - rates.s * (H[:, None] + H) / (2 * rates.room**2)
    return DescentSides(
        Z=Z,
        log_X=log_X,
        X=X,
        root=root,
        Xi=Xi,
        n=n,
        mu=mu,
        H=H,
        A=A,
        N=(mu * X / (2 * y)).sum(axis=1),
        M=early / ((1 - theta) * (1 - 2 * y)),
        den=den,
        rate=rate,
        log_P=(log_X - rates.ratio * np.log(theta)) / 2,
    )


def _sources(rates: StepRates, E: Any) -> Any:
    """S_ij off the diagonal, from E with zeros on it: these leave out k = i, k = j and m = k, j."""
    y, squares = rates.y, E @ E
    inner = np.where(np.eye(len(y), dtype=bool), 0 * E, squares)
    return (1 + y[0]) * ((E * y) @ E + rates.s * squares) + y[0] ** 2 * (E @ inner)


def conditions(
    rates: StepRates,
    start: StartBounds,
    witness: DescentWitness,
    level: Fraction | None = None,
) -> Iterator[tuple[str, flint.arb]]:
    """C0 to C4 in balls, and C5 for a level: names, and slacks that are positive inside.

    ``"range"`` stands for theta in (0, 1), E symmetric, N, M >= 0; that eta a_1 <= 1/3 is for
    :func:`at_precision`, as a ball does not decide an equality.
    """
    y, d, E_rows = rates.y, len(rates.y), witness.log_peaks
    symmetric = all(E_rows[i][j] == E_rows[j][i] for i in range(d) for j in range(i))
    in_range = 0 < witness.theta < 1 and min(*witness.N, *witness.M) >= 0 and symmetric
    yield "range", flint.arb(1 if in_range else -1)
    for i in range(d - 1):
        yield "D.1'", y[i] - y[i + 1]
    theta, log_E = balls.ball(witness.theta), np.array([as_balls(row) for row in E_rows])
    N, M = as_balls(witness.N), as_balls(witness.M)
    at = sides(rates, start, theta, log_E, N, M)
    yield "C0", rates.kappa - np.exp(start.log_b).sum()
    for i in range(d):
        yield "C0", theta.log() - start.log_b[i]
        yield "C0", balls.ball(LARGEST_O) - rates.o[i]
        yield "C0", balls.ball(Fraction(1, 2)) - at.n[i]
        yield "C1", _barrier(rates, at, theta, i)
        if i < d - 1:
            yield "C2", N[i] - at.N[i]
        yield "C2'", M[i] - at.M[i]
        if level is not None and level > witness.theta:
            aim = balls.ball(level)
            yield "C5", _barrier(rates, at, aim, i)
            yield "C5", _late_growth(rates, at, theta, aim)[i]
    E = np.where(np.eye(d, dtype=bool), 0 * log_E, np.exp(log_E))
    S = _sources(rates, E)
    for i, j in itertools.combinations(range(d), 2):
        yield "C3", at.den[i, j]
        yield "C3", at.rate[i, j]
        noise = S[i, j] / at.rate[i, j]
        noise *= (-(1 + rates.ratio[i, j]) / 2 * theta.log()).exp()
        yield "C4", E[i, j] - at.log_P[i, j].exp() - noise


def _barrier(rates: StepRates, at: DescentSides, level: Any, i: int) -> Any:
    """The slack of C1 at a level, over y_i: w_ii does not fall below it any more."""
    y = rates.y[i]
    return 2 * level * (1 - level) - (1 + y * (1 - level)) * at.H[i] / y


def _late_growth(rates: StepRates, at: DescentSides, theta: Any, level: Any) -> Any:
    """The g_i of C5."""
    return rates.growth - at.H * (1 / (theta * rates.room) + 1 / ((1 - level) * (1 - 2 * rates.y)))


def holds(
    rates: StepRates,
    start: StartBounds,
    witness: DescentWitness,
    level: Fraction | None = None,
) -> bool:
    """True if all conditions certainly hold at the working precision."""
    return all(bool(slack > 0) for _, slack in conditions(rates, start, witness, level))


def reach_by(
    rates: StepRates, start: StartBounds, witness: DescentWitness, level: Fraction = LEVEL
) -> Balls:
    """Bounds of the steps by which w_ii has reached a level for good, by (b) and (c).

    The largest whole number up to such a bound is a bound, too.
    """
    theta, log_E = balls.ball(witness.theta), np.array([as_balls(x) for x in witness.log_peaks])
    at = sides(rates, start, theta, log_E, as_balls(witness.N), as_balls(witness.M))
    bounds = (at.Z - start.log_b) / rates.growth + 1
    if level > witness.theta:
        aim = balls.ball(level)
        climb = (aim / (1 - aim)).log() - (theta / (1 - theta)).log()
        bounds = bounds + climb / _late_growth(rates, at, theta, aim) + 1
    return np.asarray(bounds)


def find_witness(
    rates: StepRates,
    start: StartBounds,
    thetas: Sequence[Fraction] = THETAS,
    level: Fraction | None = None,
) -> DescentWitness | None:
    """A witness with certified conditions, of the first theta that has any; None without.

    For a theta the right sides of C2, C2' and C4 grow with (E, N, M), so that iterating them,
    raised a little, from the bottom finds the least fixed point where there is one. The iteration
    runs in floats and is not trusted: what is returned has been certified in balls, at the working
    precision.
    """
    float_rates = StepRates.of(_floats(rates.y))
    float_start = start.in_floats()
    for theta in thetas:
        with np.errstate(all="ignore"):
            state = _fixed_point(float_rates, float_start, float(theta), level)
        if state is None:
            continue
        log_E, N, M = state
        witness = DescentWitness(
            theta,
            tuple(tuple(map(Fraction, row)) for row in log_E.tolist()),
            tuple(map(Fraction, N.tolist())),
            tuple(map(Fraction, M.tolist())),
        )
        if holds(rates, start, witness, level):
            return witness
    return None


def _fixed_point(
    rates: StepRates, start: StartBounds, theta: float, level: Fraction | None
) -> tuple[Any, Any, Any] | None:
    """The least (log E, N, M), each raised by the margin, that the conditions reproduce."""
    d = len(rates.y)
    upper, diagonal = np.triu(np.ones((d, d), dtype=bool), 1), np.eye(d, dtype=bool)
    log_E = np.where(diagonal, 0.0, -1e6)
    N, M = np.zeros(d), np.zeros(d)
    for _ in range(_ITERATIONS):
        at = sides(rates, start, theta, log_E, N, M)
        if not _alive(rates, start, at, theta, level, upper):
            return None
        log_noise = _log_source(rates, np.where(diagonal, -np.inf, log_E))
        log_noise = log_noise - (1 + rates.ratio) / 2 * math.log(theta) - np.log(at.rate)
        raised = np.where(upper, np.logaddexp(at.log_P, log_noise) + _MARGIN, -np.inf)
        new_E = np.where(diagonal, 0.0, np.maximum(raised, raised.T))
        new_N, new_M = (side * (1 + _MARGIN) + _MARGIN for side in (at.N, at.M))
        if not (np.isfinite(new_E).all() and (new_E[upper] < 0).all()):
            return None
        change = max(np.abs(new_E - log_E).max(), *np.abs(new_N - N), *np.abs(new_M - M))
        log_E, N, M = new_E, new_N, new_M
        if change < _MARGIN / 10:
            return log_E, N, M
    return None


def _alive(
    rates: StepRates,
    start: StartBounds,
    at: DescentSides,
    theta: float,
    level: Fraction | None,
    upper: Any,
) -> bool:
    """Whether the conditions without C2, C2' and C4 hold in floats; once false they stay so."""
    every = range(len(rates.y))
    good = (at.n < 0.5).all() and (start.log_b < math.log(theta)).all()
    good &= (rates.o < float(LARGEST_O)).all() and np.isfinite(at.Z).all() and at.M.max() < 50
    good &= (at.den[upper] > 0).all() and (at.rate[upper] > 0).all()
    good &= all(_barrier(rates, at, theta, i) > 0 for i in every)
    if level is not None and level > theta:
        good &= all(_barrier(rates, at, float(level), i) > 0 for i in every)
        good &= (_late_growth(rates, at, theta, float(level)) > 0).all()
    return bool(good)


def _log_source(rates: StepRates, log_E: Any) -> Any:
    """Logarithms of S_ij, with those of E minus infinity on the diagonal."""
    y, d = rates.y, len(rates.y)
    pairs = log_E[:, :, None] + log_E[None, :, :]  # k, m, j
    inner = np.logaddexp.reduce(pairs, axis=1)  # k, j
    weight = np.log((1 + y[0]) * (y[None, :, None] + rates.s[:, None, :]))  # i, k, j
    terms = log_E[:, :, None] + np.logaddexp(
        weight + log_E[None, :, :], 2 * np.log(y[0]) + inner[None, :, :]
    )
    every = np.arange(d)
    terms[every, every, :] = -np.inf
    terms[:, every, every] = -np.inf
    return np.logaddexp.reduce(terms, axis=1)


def at_precision(y: Sequence[Fraction]) -> StepRates:
    """Rates of exact steps y_i, at the working precision; InvalidInput for eta a_1 above 1/3."""
    if y[0] > LARGEST_STEP:
        raise InvalidInput("eta a_1", y[0], "must be at most 1/3", "Theorem R-gd")
    return StepRates.of(as_balls(y))
