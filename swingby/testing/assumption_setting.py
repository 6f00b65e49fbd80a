"""A task with the numbers that a check of the assumptions asks for, and a W(0) that has them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any

from swingby.errors import MISSING, InvalidInput
from swingby.hints import Hinted
from swingby.report.number_text import python_text
from swingby.theory import numbers
from swingby.theory.growth import require_dynamics
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask
from swingby.verify.check import EDITIONS, check
from swingby.verify.checking.report import Report


def choice(value: Any, argument: str, words: tuple[str, ...]) -> str:
    """Read a word from a short list."""
    if not isinstance(value, str) or value not in words:
        raise InvalidInput(argument, value, f"must be one of {', '.join(words)}")
    return value


#: The numbers of a setting, and where they come from.
_NUMBERS = {"omega": "Assumption D.4", "eta": "Assumption D.2", "beta": "Assumption D.1"}


@dataclass(frozen=True, repr=False)
class Setting(Hinted):
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
        If you make a setting by hand, you must ensure this.
    edition : {"printed", "corrected", "repaired"}
    dynamics : {"gd", "euler", "flow"}

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
    omega: Any
    eta: Any
    beta: Any
    rho: Any = None
    W0: Scaled = field(kw_only=True)
    edition: str = field(default="printed", kw_only=True)
    dynamics: str = field(default="euler", kw_only=True)

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if not isinstance(self.task, SIMTask):
            raise InvalidInput("task", self.task, "must be a SIMTask")
        if not isinstance(self.W0, Scaled):
            raise InvalidInput("W0", self.W0, "must be a swingby.Scaled")
        shape, actual = (self.task.dim, self.task.dim), self.W0.matrix.shape
        if actual != shape:
            raise InvalidInput("W0", f"shape {actual}", f"must have shape {shape}")
        choice(self.edition, "edition", EDITIONS)
        repaired, has_rho = self.edition == "repaired", self.rho is not None
        if repaired != has_rho:
            reported = self.rho if has_rho else MISSING
            requirement = "must be given for the repaired edition, and for it alone"
            raise InvalidInput("rho", reported, requirement, "D.3'")
        require_dynamics(self.dynamics)
        for name, source in (_NUMBERS | ({"rho": "D.3'"} if has_rho else {})).items():
            self.__dict__[name] = numbers.positive(getattr(self, name), name, source)

    def check(self) -> Report:
        """Check the assumptions with W(0), which gives omega and beta itself."""
        edition, dynamics = self.edition, self.dynamics
        return check(self.task, None, self.eta, None, edition, W0=self.W0, dynamics=dynamics)

    def check_numbers(self) -> Report:
        """Check the assumptions with omega and beta (and rho), without W(0)."""
        arguments = (self.task, self.omega, self.eta, self.beta, self.edition)
        return check(*arguments, rho=self.rho, dynamics=self.dynamics)

    def __repr__(self) -> str:
        arguments = [repr(self.task)]
        for attribute in fields(self)[1:]:
            value = getattr(self, attribute.name)
            if isinstance(value, Scaled) or value != attribute.default:
                number = isinstance(value, Fraction)
                text = python_text(value) if number else repr(value).replace("'", '"')
                arguments.append(f"{attribute.name}={text}")
        return f"Setting({', '.join(arguments)})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        # Hypothesis shows a failing example through this; field by field it would lose digits.
        printer.text(repr(self))
