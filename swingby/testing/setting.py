"""A setting: all numbers that a check of the assumptions asks for, with a W(0) that has them.

Where omega has to lie for a setting to be inside, or outside in one way only.

Only ratios of signals matter, so signals come in units of the smallest one, descending. What
:func:`swingby.check` reports where constants do not exist depends on the constants it then tries
(:func:`swingby.verify.checking.feasibility.nearest_attempt`); the limits below stay off its edges.

Settings inside and outside the repaired edition: positive definite W(0), everyday omega.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from swingby.errors import MISSING, InvalidInput
from swingby.testing import draw_matrices, draw_tasks
from swingby.testing.draw_matrices import Dimensions
from swingby.testing.draw_tasks import LARGEST_STEP, below
from swingby.theory import balls, numbers, theorem_r, theorem_two, written
from swingby.theory.balls import precision
from swingby.theory.growth import require_dynamics
from swingby.theory.initial import Scaled
from swingby.theory.repaired import largest_omega as largest_repaired_omega
from swingby.theory.task import SIMTask
from swingby.theory.theorem_r import closed_form
from swingby.verify.check import EDITIONS, check
from swingby.verify.checking import feasibility
from swingby.verify.checking.feasibility import Problem
from swingby.verify.checking.report import Report


@dataclass(frozen=True, repr=False)
class Setting:
    r"""A task, the numbers of the assumptions, and an initial matrix that agrees with them.

    Parameters
    ----------
    task : SIMTask
    omega, eta : number or text
        Positive; kept as exact rationals.
    beta : number or text
        At least 1 in the editions with existential constants.
    rho : number or text, optional
        Repaired edition only, and required there: the pivots of W(0) are at least rho omega.
    W0 : Scaled
        W(0), of shape (d, d). Agrees with omega and beta:
        :math:`\omega \le |w_{ij}(0)| \le \beta\omega` (printed, corrected), or
        :math:`w_{ii}(0) \le \beta\omega` and pivots at least :math:`\rho\omega` (repaired).
        Whoever makes a setting by hand sees to that.
    edition : {"printed", "corrected", "repaired"}
    dynamics : {"euler", "gd", "flow"}

    Raises
    ------
    InvalidInput
        If a number is missing, not positive, or of another edition.

    Examples
    --------
    >>> setting = Setting(
    ...     SIMTask.from_signal([4, 1]), "1e-90", "1/1000", 2, W0=Scaled([[2, 1], [1, 2]], "1e-90")
    ... )
    >>> setting.check().holds, setting.check_numbers().holds
    (True, True)
    >>> setting
    Setting(SIMTask.from_signal([4, 1]), omega="1e-90", eta="0.001", beta=2,
            W0=Scaled([[2.0, 1.0], [1.0, 2.0]], "1e-90"))
    """

    task: SIMTask
    omega: Fraction
    eta: Fraction
    beta: Fraction
    rho: Fraction | None
    W0: Scaled
    edition: str
    dynamics: str

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        task: SIMTask,
        omega: Any,
        eta: Any,
        beta: Any,
        rho: Any = None,
        *,
        W0: Scaled,
        edition: str = "printed",
        dynamics: str = "euler",
    ) -> None:
        if not isinstance(task, SIMTask):
            raise InvalidInput("task", task, "must be a SIMTask")
        if not isinstance(W0, Scaled):
            raise InvalidInput("W0", W0, "must be a swingby.Scaled")
        if W0.matrix.shape != (task.dim, task.dim):
            shape = f"({task.dim}, {task.dim})"
            raise InvalidInput("W0", f"shape {W0.matrix.shape}", f"must have shape {shape}")
        if edition not in EDITIONS:
            raise InvalidInput("edition", edition, f"must be one of {', '.join(EDITIONS)}")
        if edition == "repaired" and rho is None:
            raise InvalidInput("rho", MISSING, "must be given for the repaired edition", "D.3'")
        if edition != "repaired" and rho is not None:
            raise InvalidInput("rho", rho, "must be left out: only the repaired edition has it")
        require_dynamics(dynamics)
        object.__setattr__(self, "task", task)
        object.__setattr__(self, "omega", numbers.positive(omega, "omega", "Assumption D.4"))
        object.__setattr__(self, "eta", numbers.positive(eta, "eta", "Assumption D.2"))
        object.__setattr__(self, "beta", numbers.positive(beta, "beta", "Assumption D.1"))
        exact_rho = None if rho is None else numbers.positive(rho, "rho", "D.3'")
        object.__setattr__(self, "rho", exact_rho)
        object.__setattr__(self, "W0", W0)
        object.__setattr__(self, "edition", edition)
        object.__setattr__(self, "dynamics", dynamics)

    def check(self) -> Report:
        """Check the assumptions with W(0), which says itself what omega and beta are.

        Returns
        -------
        Report
        """
        return check(
            self.task,
            eta=self.eta,
            W0=self.W0,
            edition=self.edition,
            dynamics=self.dynamics,
        )

    def check_numbers(self) -> Report:
        """Check the assumptions with omega and beta (and rho), without W(0).

        Returns
        -------
        Report
        """
        rho = Fraction(1) if self.rho is None else self.rho
        return check(
            self.task,
            self.omega,
            self.eta,
            self.beta,
            self.edition,
            rho=rho,
            dynamics=self.dynamics,
        )

    def __repr__(self) -> str:
        parts = [
            repr(self.task),
            f"omega={written.number(self.omega)}",
            f"eta={written.number(self.eta)}",
            f"beta={written.number(self.beta)}",
        ]
        if self.rho is not None:
            parts.append(f"rho={written.number(self.rho)}")
        parts.append(f"W0={self.W0!r}")
        if self.edition != "printed":
            parts.append(f'edition="{self.edition}"')
        if self.dynamics != "euler":
            parts.append(f'dynamics="{self.dynamics}"')
        return f"Setting({', '.join(parts)})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        # Hypothesis shows a failing example through this; field by field it would lose digits.
        printer.text(repr(self))


Signal = tuple[Fraction, ...]

#: kappa and beta of the constants tried are this far off the corner.
_STEP = Fraction(1, 10**6)
#: Relative distance from an edge that is decided by the constants tried.
_OFF = Fraction(999, 1000)
_LN10 = math.log(10)


@functools.lru_cache(maxsize=4096)
def largest(signal: Signal, beta: Fraction, power: int = 1) -> tuple[Fraction, Fraction]:
    """Enclose the supremum of omega in the printed or, for one concept, the corrected edition.

    `signal`: positive, neighbours apart by more than 3. `power`: 2 for the corrected edition.
    Returns `below, above` off by less than 1e-40 of their size.
    """
    problem = Problem(signal, Fraction(1), Fraction(1), beta, power)

    def supremum() -> Any:
        return feasibility.largest_omega(problem)

    ball = balls.with_rising_precision(supremum, lambda found: found.rel_accuracy_bits() > 160)
    return _exact(ball.lower()), _exact(ball.upper())


@functools.lru_cache(maxsize=4096)
def with_failing_D1(signal: Signal, beta: Fraction) -> Fraction:
    """Find an omega up to which D.1 fails alone, through a zero signal or a zero in W(0).

    `signal`: at least two; the last may be 0. Neighbours apart by more than 3.
    """
    problem = Problem(signal, Fraction(1), Fraction(1), max(beta, 1 + _STEP))
    with precision(256):
        ball = (-feasibility.threshold(problem, feasibility.KAPPA + _STEP)).exp()
        return _OFF * _exact(ball.lower())


def with_failing_D4(signal: Signal, beta: Fraction) -> Fraction:
    r"""Find the omega up to which D.4 fails alone, once it fails.

    With the smallest P that (D.10) admits, :math:`P\omega\beta \le 2/5` reads

    .. math:: \log\frac1\omega \ge b + \frac{\varrho b + (1 - \varrho + Q)\log 2.5}{1 - \varrho}

    in the notation of :mod:`swingby.verify.checking.feasibility`; for one concept, P = 2.

    Returns a power of ten, or for one concept a number near 0.2/beta.
    """
    if len(signal) == 1:
        return _OFF / (5 * beta)
    problem = Problem(signal, Fraction(1), Fraction(1), beta)
    rho, b = float(problem.rho), numbers.log_of(max(beta, 1 + _STEP))
    Q = 10 * rho * 1.1001**2
    u = b + (rho * b + (1 - rho + Q) * math.log(2.5)) / (1 - rho)
    return Fraction(10) ** math.floor(-u / _LN10 - 0.01)


def with_failing_D5(signal: Signal, beta: Fraction, power: int) -> Fraction:
    """Find an omega up to which D.5 fails alone, where signals are too close: P = 2 in D.4.

    `signal`: positive, some neighbours within a factor of 3. `power`: 1 as printed, 2 as corrected.
    """
    room = Fraction(465, 10**4)  # below 1 - kappa^(-1/2) at kappa = 1.1
    d, gamma = len(signal), signal[0] / signal[-1]
    limit: Fraction = (
        _OFF * room / (2**power * feasibility.K * gamma * d * max(beta, 1 + _STEP) ** 2)
    )
    return limit


@functools.lru_cache(maxsize=4096)
def repaired(signal: Signal, beta: Fraction, rho: Fraction) -> Fraction:
    """Find an omega that the repaired edition covers, in closed form but for two concepts.

    `signal`: positive and distinct. `beta`, `rho`: 0 < rho <= beta. Returns covered for every W(0)
    with w_ii(0) <= beta omega and pivots of at least rho omega.
    """
    # W(0) has beta omega and rho omega only: omega goes like 1/beta at a fixed rho/beta.
    return _times_beta(signal, rho / beta) / beta


@functools.lru_cache(maxsize=4096)
def _times_beta(signal: Signal, share: Fraction) -> Fraction:
    one = Fraction(1)
    if len(signal) == 1:
        return one
    if len(signal) == 2:
        log = theorem_two.log_omega_0(*signal, one, share) - Fraction(1, 2**50)
    else:
        log = closed_form(theorem_r.Setting(signal, one, share)).log_omega_0 - Fraction(1, 1000)
    with precision(256):
        return _exact(balls.ball(log).exp().lower())


@functools.lru_cache(maxsize=256)
def repaired_by_search(signal: Signal, beta: Fraction, rho: Fraction) -> tuple[Fraction, Fraction]:
    """Enclose the largest omega that a check of the repaired edition accepts.

    The search is decided by floats at its edge, so a check with W(0), which has beta = 1, may find
    another value than one with omega and beta. Both lie in the interval given.

    `signal`, `beta`, `rho`: as in :func:`repaired`. Returns `below, above` about 1e-3 apart,
    relative.
    """
    one = Fraction(1)
    scaled = largest_repaired_omega(signal, one, rho / beta)
    plain = largest_repaired_omega(signal, beta, rho)
    found = numbers.exact(scaled, "omega") / beta, numbers.exact(plain, "omega")
    return min(found) * (1 - Fraction(1, 10**6)), max(found) * (1 + Fraction(1, 10**6))


def _exact(number: Any) -> Fraction:
    mantissa, exponent = number.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


#: Where a search tells the largest omega, it runs for these ratios of signals only.
SEARCHED_RATIOS = (4, 2)
#: More concepts than this, and the search takes a second.
MOST_SEARCHED = 3

_PLACES = st.sampled_from(
    (
        (0, 0),
        *((0, decades) for decades in (1, 2, 3, 5, 10, 30, 300, 2000)),
        *((digits, 0) for digits in (1, 2, 3, 6, 9, 12, 15)),
    )
)
_TO_SEARCH = st.sampled_from((False, False, False, True))
_COIN = st.booleans()
_RATIOS = st.sampled_from(SEARCHED_RATIOS)
_DIGITS = st.sampled_from((0, 1, 2, 3, 6, 9, 12))
_EXCESS = st.sampled_from((0, 1, 2, 3))


@dataclass(frozen=True)
class _Start:
    """A task, a positive definite matrix for W(0)/omega, and the beta and rho it has."""

    task: SIMTask
    matrix: draw_matrices.Floats
    beta: Fraction
    rho: Fraction
    searched: bool


@st.composite
def repaired_inside(draw: st.DrawFn, sizes: Dimensions) -> Setting:
    """Draw settings in which the repaired edition holds."""
    start = _start(draw, sizes)
    shape, beta, rho = draw_tasks.shape(start.task), start.beta, start.rho
    loose = draw(_COIN)
    if start.searched:
        limit, _ = repaired_by_search(shape, beta, rho)
    else:
        if loose:
            beta, rho = _next_power_of_4(beta), 1 / _next_power_of_4(1 / rho)
        limit = repaired(shape, beta, rho)
    digits, decades = draw(_PLACES)
    omega = draw_tasks.down(limit, digits) * draw_tasks.power_of_ten(-decades)
    return _setting(draw, start, omega, beta, rho)


@st.composite
def repaired_outside(draw: st.DrawFn, sizes: Dimensions) -> Setting:
    """Draw settings whose omega is too large for the repaired edition, and nothing else fails."""
    start = _start(draw, sizes)
    digits, excess = draw(_DIGITS), draw(_EXCESS)
    if start.searched:
        shape = draw_tasks.shape(start.task)
        limit, excess = repaired_by_search(shape, start.beta, start.rho)[1], 0
    else:
        # Every theorem asks for beta omega <= 1 at least.
        limit = Fraction(1001, 1000) / start.beta
    omega = draw_tasks.up(limit, digits) * draw_tasks.power_of_ten(excess)
    return _setting(draw, start, omega, start.beta, start.rho)


def _next_power_of_4(number: Fraction) -> Fraction:
    """The smallest power of 4 that is at least a number of at least 1/4."""
    return Fraction(4) ** ((math.ceil(number) - 1).bit_length() + 1 >> 1)


def _setting(
    draw: st.DrawFn, start: _Start, omega: Fraction, beta: Fraction, rho: Fraction
) -> Setting:
    eta = draw(below(LARGEST_STEP / max(start.task.exact_signal)))
    return Setting(
        start.task,
        omega,
        eta,
        beta,
        rho,
        W0=Scaled(start.matrix, omega),
        edition="repaired",
        dynamics="flow",
    )


def _start(draw: st.DrawFn, sizes: Dimensions) -> _Start:
    d, most = draw(sizes.strategy), sizes.most
    searched = draw(_TO_SEARCH) and 1 < d <= MOST_SEARCHED
    ratio, staircase = draw(_RATIOS), draw(_COIN)
    task = draw_tasks.distinct(draw, d, most)
    matrix, pivots = draw_matrices.definite(draw, task.order, most)
    if not searched:
        beta, rho = Fraction(float(np.diag(matrix).max())), Fraction(float(pivots.min()))
        return _Start(task, matrix, beta, rho, searched)
    # One of the few cases whose largest omega is searched for.
    task = draw_tasks.with_ratio(task, ratio)
    if staircase:
        # Pivots 1; the diagonal is 1, 2, ..., d in descending order of the signal.
        L = np.tril(np.ones((d, d)))
        matrix = draw_matrices.in_place(L @ L.T, task.order)
        return _Start(task, matrix, Fraction(d), Fraction(1), searched)
    # Pivots (k + 1)/k.
    return _Start(task, np.eye(d) + 1, Fraction(2), Fraction(d + 1, d), searched)
