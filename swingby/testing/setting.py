"""A task with the numbers that a check of the assumptions asks for, and a W(0) that has them.

Where omega has to lie for a setting to be inside, or outside in one way only. Only ratios of
signals matter, so signals come in units of the smallest one, descending. What
:func:`swingby.check` reports where constants do not exist depends on the constants it then tries
(:func:`swingby.verify.checking.feasibility.nearest_attempt`); the limits below stay off its edges.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint

from swingby.errors import MISSING, InvalidInput
from swingby.theory import balls, numbers
from swingby.theory.balls import precision
from swingby.theory.growth import require_dynamics
from swingby.theory.initial import Scaled
from swingby.theory.repaired import largest_omega, theorem_r, theorem_two
from swingby.theory.task import SIMTask
from swingby.verify.check import EDITIONS, check
from swingby.verify.checking import feasibility
from swingby.verify.checking.feasibility import Box, Problem
from swingby.verify.checking.report import Report


def choice(value: Any, argument: str, known: tuple[str, ...]) -> str:
    """Read a word that has to be one of a few."""
    if not isinstance(value, str) or value not in known:
        raise InvalidInput(argument, value, f"must be one of {', '.join(known)}")
    return value


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
        choice(edition, "edition", EDITIONS)
        if edition == "repaired" and rho is None:
            raise InvalidInput("rho", MISSING, "must be given for the repaired edition", "D.3'")
        if edition != "repaired" and rho is not None:
            raise InvalidInput("rho", rho, "must be left out: only the repaired edition has it")
        require_dynamics(dynamics)
        self.__dict__.update(
            task=task,
            omega=numbers.positive(omega, "omega", "Assumption D.4"),
            eta=numbers.positive(eta, "eta", "Assumption D.2"),
            beta=numbers.positive(beta, "beta", "Assumption D.1"),
            rho=None if rho is None else numbers.positive(rho, "rho", "D.3'"),
            W0=W0,
            edition=edition,
            dynamics=dynamics,
        )

    def check(self) -> Report:
        """Check the assumptions with W(0), which says itself what omega and beta are."""
        edition, dynamics = self.edition, self.dynamics
        return check(self.task, None, self.eta, 1, edition, W0=self.W0, dynamics=dynamics)

    def check_numbers(self) -> Report:
        """Check the assumptions with omega and beta (and rho), without W(0)."""
        rho = Fraction(1) if self.rho is None else self.rho
        given = (self.task, self.omega, self.eta, self.beta, self.edition)
        return check(*given, rho=rho, dynamics=self.dynamics)

    def __repr__(self) -> str:
        parts = [repr(self.task)]
        for name in ("omega", "eta", "beta", "rho"):
            if (value := getattr(self, name)) is not None:
                parts.append(f"{name}={numbers.python_text(value)}")
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


@functools.lru_cache(maxsize=4096)
def largest(signal: Signal, beta: Fraction, power: int = 1) -> tuple[Fraction, Fraction]:
    """Both sides of the supremum of omega, off by less than 1e-40 of its size.

    `signal`: neighbours apart by more than 3. `power`: 2 for the corrected edition of one concept.
    """
    problem = Problem(signal, Fraction(1), Fraction(1), beta, power)

    def supremum() -> Any:
        return feasibility.largest_omega(problem)

    ball = balls.with_rising_precision(supremum, lambda found: found.rel_accuracy_bits() > 160)
    return _exact(ball.lower()), _exact(ball.upper())


@functools.lru_cache(maxsize=4096)
def with_failing_D1(signal: Signal, beta: Fraction) -> Fraction:
    """An omega up to which D.1 fails alone, through a zero signal or a zero in W(0).

    `signal`: at least two; the last may be 0. Neighbours apart by more than 3.
    """
    problem = Problem(signal, Fraction(1), Fraction(1), max(beta, 1 + _STEP))
    with precision(256):
        ball = (-feasibility.threshold(problem, feasibility.KAPPA + _STEP)).exp()
        return _OFF * _exact(ball.lower())


def with_failing_D4(signal: Signal, beta: Fraction) -> Fraction:
    r"""The omega up to which D.4 fails alone, once it fails.

    With the smallest P that (D.10) admits, :math:`P\omega\beta \le 2/5` reads

    .. math:: \log\frac1\omega \ge b + \frac{\varrho b + (1 - \varrho + Q)\log 2.5}{1 - \varrho}

    in the notation of :mod:`swingby.verify.checking.feasibility`; for one concept, P = 2.
    Returns a power of ten, or for one concept a number near 0.2/beta.
    """
    if len(signal) == 1:
        return _OFF / (5 * beta)
    problem = Problem(signal, Fraction(1), Fraction(1), beta)
    rho, b = float(Box.at(problem).rho[0]), numbers.log_of(max(beta, 1 + _STEP))
    Q = 10 * rho * 1.1001**2
    u = b + (rho * b + (1 - rho + Q) * math.log(2.5)) / (1 - rho)
    return Fraction(10) ** math.floor(-u / math.log(10) - 0.01)


def with_failing_D5(signal: Signal, beta: Fraction, power: int) -> Fraction:
    """An omega up to which D.5 fails alone, where signals are too close: P = 2 in D.4."""
    room = Fraction(465, 10**4)  # below 1 - kappa^(-1/2) at kappa = 1.1
    d, gamma = len(signal), signal[0] / signal[-1]
    steps = 2**power * feasibility.K * gamma * d * max(beta, 1 + _STEP) ** 2
    return Fraction(_OFF * room / steps)


@functools.lru_cache(maxsize=4096)
def repaired(signal: Signal, beta: Fraction, rho: Fraction) -> Fraction:
    """An omega that the repaired edition covers for all such W(0), without a search."""
    # W(0) has beta omega and rho omega only: omega goes like 1/beta at a fixed rho/beta.
    one, share = Fraction(1), rho / beta
    if len(signal) == 1:
        return one / beta
    setting = theorem_two.Setting(signal, one, share)
    if len(signal) == 2:
        log = theorem_two.log_omega_0(setting) - Fraction(1, 2**50)
    else:
        log = theorem_r.closed_form(setting).log_omega_0 - Fraction(1, 1000)
    with precision(256):
        return _exact(balls.ball(log).exp().lower()) / beta


@functools.lru_cache(maxsize=256)
def repaired_by_search(signal: Signal, beta: Fraction, rho: Fraction) -> tuple[Fraction, Fraction]:
    """Both sides of the largest omega that a check of the repaired edition accepts.

    The search is decided by floats at its edge, so a check with W(0), which has beta = 1, may find
    another value than one with omega and beta. Both lie in between.
    """
    one = Fraction(1)
    scaled = largest_omega(signal, one, rho / beta)
    plain = largest_omega(signal, beta, rho)
    found = numbers.exact(scaled, "omega") / beta, numbers.exact(plain, "omega")
    return min(found) * (1 - Fraction(1, 10**6)), max(found) * (1 + Fraction(1, 10**6))


def _exact(number: flint.arb) -> Fraction:
    """The number of a ball without a radius."""
    return numbers.exact(balls.midpoint(number), "omega")
