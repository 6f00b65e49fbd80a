"""What a check is: a verdict and a margin per assumption, and the constants that witness it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import mpmath

from swingby.report import Drawn, Grid
from swingby.theory import numbers
from swingby.theory.assumptions import Statement
from swingby.theory.initial import Initial
from swingby.theory.task import SIMTask
from swingby.theory.verdict import Verdict
from swingby.verify.checking.feasibility import Constants

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from swingby.report.pictures import Size
    from swingby.verify.schedule import Schedule


@dataclass(frozen=True)
class Result:
    """One assumption at the given numbers.

    `id`: ``"D.4"``, or ``"D.4'"`` in the repaired edition.
    `margin`: log10 slack, positive inside; infinite where no number of the user can break or mend
    it.
    `reason`: one sentence with both sides evaluated.
    """

    id: str
    title: str
    verdict: Verdict
    margin: float
    reason: str
    statement: Statement


class Witness(Mapping[str, mpmath.mpf]):
    """The constants as mpmath numbers, by name: ``constants.P`` or ``constants["P"]``.

    `exact`: the same as exact rationals (P by its decimal logarithm).
    """

    def __init__(self, values: dict[str, mpmath.mpf], exact: Constants | None = None) -> None:
        self._values = values
        self.exact = exact

    def __getitem__(self, name: str) -> mpmath.mpf:
        return self._values[name]

    def __getattr__(self, name: str) -> mpmath.mpf:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(f"no constant is called {name}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={mpmath.nstr(value, 6)}" for name, value in self.items())
        return f"Witness({shown})"


@dataclass(frozen=True)
class Report(Drawn):
    """What :func:`check` found.

    Parameters
    ----------
    task : SIMTask
    edition : str
    omega, eta, beta : Fraction
        The numbers judged; omega and beta come from W(0) when one was given.
    dynamics : str
    initial : Initial or None
    results : tuple of Result
        In the order of the paper.
    verdict : Verdict
        On all assumptions together.
    constants : Witness or None
        Values that make every inequality true, confirmed by plain evaluation; None otherwise.
    tried : Witness
        The constants at which margins and reasons were evaluated.
    largest_omega : mpmath.mpf or None
        Supremum of omega for which everything holds at this task, eta and beta.
    largest_eta : mpmath.mpf or None
        Largest eta that the step-size assumption admits; infinite for the flow.
    omega_limit : mpmath.mpf or None
        The same supremum with eta left aside: it exists also when eta is too large.
    nearest : tuple of two mpmath.mpf, or None
        The nearest omega and eta up to which all assumptions hold; None when none exist.
    binding : str
        Id of the assumption that binds: the worst failing one or, inside, the one that a
        growing omega or eta breaks first.
    notes : tuple of str
        What a reader has to know besides, such as the certificate that no omega exists.
    """

    task: SIMTask
    edition: str
    omega: Fraction
    eta: Fraction
    beta: Fraction
    dynamics: str
    initial: Initial | None
    results: tuple[Result, ...]
    verdict: Verdict
    constants: Witness | None
    tried: Witness
    largest_omega: mpmath.mpf | None
    largest_eta: mpmath.mpf | None
    omega_limit: mpmath.mpf | None
    nearest: tuple[mpmath.mpf, mpmath.mpf] | None
    binding: str
    notes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """True or False; raises :class:`swingby.errors.Undecided` when the verdict is undecided."""
        return self.verdict.decided()

    def __getitem__(self, id: str) -> Result:
        for result in self.results:
            if result.id == id:
                return result
        known = ", ".join(result.id for result in self.results)
        raise KeyError(f"{id!r} is not an assumption of the {self.edition} edition ({known})")

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    @property
    def failing(self) -> tuple[str, ...]:
        """Ids of the assumptions that fail."""
        return tuple(result.id for result in self.results if result.verdict == Verdict.FAILS)

    @property
    def schedule(self) -> Schedule:
        """The stage timings that these numbers predict; see :func:`swingby.predict`."""
        from swingby.verify.predict import predict

        if self.initial is not None:
            return predict(self.task, self.initial, eta=self.eta, dynamics=self.dynamics)
        return predict(
            self.task, omega=self.omega, beta=self.beta, eta=self.eta, dynamics=self.dynamics
        )

    def __repr__(self) -> str:
        failing = f", failing {', '.join(self.failing)}" if self.failing else ""
        return (
            f"<Report {self.edition}: {self.verdict}{failing}; "
            f"omega={numbers.scientific(self.omega)}, eta={numbers.scientific(self.eta)}>"
        )

    def to_frame(self) -> Any:
        """One row per assumption: id, title, verdict, margin, reason."""
        import pandas

        columns = ("id", "title", "verdict", "margin", "reason")
        rows = [
            [
                str(getattr(result, name)) if name == "verdict" else getattr(result, name)
                for name in columns
            ]
            for result in self.results
        ]
        return pandas.DataFrame(rows, columns=list(columns))

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, ready for JSON.

        Returns
        -------
        dict
            Infinite margins are the text ``"inf"`` or ``"-inf"``, numbers that may lie outside
            the float range are text.
        """

        def shown(value: Any) -> str | None:
            return None if value is None else mpmath.nstr(value, 15)

        return {
            "edition": self.edition,
            "verdict": str(self.verdict),
            "signal": [str(value) for value in self.task.exact_signal],
            "omega": numbers.scientific(self.omega, 15),
            "beta": numbers.scientific(self.beta, 15),
            "eta": numbers.scientific(self.eta, 15),
            "dynamics": self.dynamics,
            "assumptions": [
                {
                    "id": result.id,
                    "title": result.title,
                    "verdict": str(result.verdict),
                    "margin": result.margin if math.isfinite(result.margin) else str(result.margin),
                    "reason": result.reason,
                }
                for result in self.results
            ],
            "constants": None
            if self.constants is None
            else {name: shown(value) for name, value in self.constants.items()},
            "largest_omega": shown(self.largest_omega),
            "largest_eta": shown(self.largest_eta),
            "binding": self.binding,
            "notes": list(self.notes),
        }

    def plot(self, ax: Axes | None = None, *, size: Size = None) -> Axes:
        """The margin of each assumption, in decades of slack.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Default: a new figure.
        size : {"column", "text"} or (width, height) in inches, optional
            Of the new figure, which is then for a paper: it has no title.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from swingby.verify.plots import plot_report

        return plot_report(self, ax, size)

    def to_grid(self) -> Grid:
        """Every assumption with its margin."""
        from swingby.verify.tables import report_grid

        return report_grid(self)
