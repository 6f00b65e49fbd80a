"""A setting: all numbers that a check of the assumptions asks for, with a W(0) that has them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from swingby.errors import MISSING, InvalidInput
from swingby.theory import numbers, written
from swingby.theory.growth import require_dynamics
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask
from swingby.verify.check import EDITIONS, check
from swingby.verify.judgement import Report


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
