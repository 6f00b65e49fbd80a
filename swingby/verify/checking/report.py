"""The report of a check: verdict, margin and reason of each assumption, as table and picture."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import mpmath

from swingby.errors import InvalidInput, named
from swingby.hints import Hinted
from swingby.report import Grid
from swingby.report.entry_pictures import entry_name
from swingby.report.number_text import as_typed, rounded, scientific, steps_text
from swingby.report.picture_style import COLORS
from swingby.report.pictures import Size, drawn
from swingby.theory import balls
from swingby.theory.balls import precision
from swingby.theory.gaussian import share_text
from swingby.theory.initial import Initial
from swingby.theory.statement import Statement
from swingby.theory.task import SIMTask
from swingby.theory.verdict import Verdict
from swingby.verify.checking.feasibility import AssumptionConstants
from swingby.verify.checking.verdicts import AssumptionVerdicts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from swingby.verify.schedule import Schedule


@dataclass(frozen=True)
class AssumptionResult(Hinted):
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
    statement: Statement = field(repr=False)

    def __str__(self) -> str:
        return f"{self.id} {self.verdict}, margin {_margin_text(self.margin)}: {self.reason}"


@dataclass(frozen=True)
class TheoremVerdict(Hinted):
    """Whether a theorem for gradient descent applies at the given numbers.

    `theorem`: ``"G-gd"``, ``"two-gd"``, ``"R-gd"`` or ``"S-gd"``.
    `verdict`: holds where its hypotheses do; fails where it is silent.
    `margin`: log10 of the slack of the condition that binds, positive inside; infinite where no
    number of the user can break or mend it.
    `binding`: that condition.
    `reason`: what the theorem says here, or what it asks for.
    """

    theorem: str
    verdict: Verdict
    margin: float
    binding: str
    reason: str

    def __str__(self) -> str:
        sign = f"{self.margin:+.3f}" if math.isfinite(self.margin) else "none"
        applies = "applies" if self.verdict == Verdict.HOLDS else "does not apply"
        condition = any(order in self.binding for order in ("<=", " > ", " of full rank"))
        asks = "" if self.verdict == Verdict.HOLDS or not condition else "it asks for "
        return f"{self.theorem} {applies} ({asks}{self.binding}, margin {sign}): {self.reason}"


class ConstantsWitness(Mapping[str, mpmath.mpf]):
    """The constants as mpmath numbers, by name: ``constants.P`` or ``constants["P"]``.

    `exact`: the same as exact rationals (P by its decimal logarithm).
    """

    def __init__(
        self, values: dict[str, mpmath.mpf], exact: AssumptionConstants | None = None
    ) -> None:
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
            names = ", ".join(self._values)
            raise AttributeError(f"no constant is called {name}; there are {names}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        constants = ", ".join(f"{name}={mpmath.nstr(value, 6)}" for name, value in self.items())
        return f"ConstantsWitness({constants})"


_EDITION_LINE = {
    "printed": "Assumptions D.1-D.5 as printed (text audited: the anonymous ICLR submission)",
    "corrected": "Assumptions D.1-D.5 corrected (P^2 in D.4; nothing added)",
    "repaired": "Assumptions of the repaired theorem (ours, not the paper's)",
}


@dataclass(frozen=True)
class Report(AssumptionVerdicts[AssumptionResult]):
    """The verdict of :func:`swingby.check` on each assumption, with margins and limits.

    Parameters
    ----------
    omega, eta, beta : Fraction
        The numbers judged. With a W(0), `initial`, omega and beta are computed from it.
    results : tuple of Result
        In the order of the paper; `verdict` is the verdict on all of them together.
    tried : Witness
        The constants at which margins and reasons were evaluated.
    omega_limit : mpmath.mpf or None
        Supremum of omega at this task and beta, once eta is small enough.
    largest_eta : mpmath.mpf
        Largest eta that the step-size assumption admits; infinite for the flow.
    binding : str
        Id of the assumption to look at first. If one fails: one that no omega or eta can mend (D.1,
        or D.5 for signals that are too close), else the one that fails by the most, D.5 last. If
        all hold: the first to fail when omega or eta grows.
    notes : tuple of str
        Further facts, such as the proof that no omega exists.
    theorems : tuple of TheoremVerdict
        Repaired edition under gd: which theorem applies, its margin, and its binding condition.
    """

    task: SIMTask
    edition: str
    omega: Fraction
    eta: Fraction
    beta: Fraction
    dynamics: str
    initial: Initial | None
    results: tuple[AssumptionResult, ...]
    tried: ConstantsWitness
    omega_limit: mpmath.mpf | None
    largest_eta: mpmath.mpf
    binding: str
    notes: tuple[str, ...] = ()
    theorems: tuple[TheoremVerdict, ...] = ()

    @property
    def _all(self) -> tuple[AssumptionResult, ...]:
        return self.results

    @property
    def constants(self) -> ConstantsWitness | None:
        """Values that make every inequality true, confirmed by plain evaluation; None otherwise."""
        return self.tried if self.verdict == Verdict.HOLDS else None

    @property
    def largest_omega(self) -> mpmath.mpf | None:
        """Supremum of omega for which everything holds at this task, eta and beta; None without."""
        return None if "D.2" in self.failing else self.omega_limit

    @property
    def nearest(self) -> tuple[mpmath.mpf, mpmath.mpf] | None:
        """The nearest omega and eta up to which all assumptions hold; None when none exist."""
        if self.omega_limit is None:
            return None
        with precision(256):
            omega, eta = (balls.midpoint(balls.ball(number)) for number in (self.omega, self.eta))
        bounded = mpmath.isfinite(self.largest_eta)
        return min(self.omega_limit, omega), min(self.largest_eta, eta) if bounded else mpmath.inf

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
            f"omega={as_typed(self.omega)}, eta={as_typed(self.eta)}>"
        )

    def to_frame(self) -> Any:
        """One row per assumption: id, title, verdict, margin, reason."""
        return self._frame(["id", "title", "verdict", "margin", "reason"])

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, ready for JSON; what may lie outside the float range is text."""

        def number_text(value: Any) -> str | None:
            return None if value is None else mpmath.nstr(value, 15)

        return {
            "edition": self.edition,
            "verdict": str(self.verdict),
            "signal": [str(value) for value in self.task.exact_signal],
            "omega": scientific(self.omega, 15),
            "beta": scientific(self.beta, 15),
            "eta": scientific(self.eta, 15),
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
            else {name: number_text(value) for name, value in self.constants.items()},
            "largest_omega": number_text(self.largest_omega),
            "largest_eta": number_text(self.largest_eta),
            "binding": self.binding,
            "notes": list(self.notes),
            "theorems": [
                {"theorem": row.theorem, "verdict": str(row.verdict), "binding": row.binding}
                | {"margin": row.margin if math.isfinite(row.margin) else str(row.margin)}
                | {"reason": row.reason}
                for row in self.theorems
            ],
        }

    @named
    def plot(self, ax: Axes | None = None, *, size: Size = None) -> Axes:
        """The margin of each assumption, in decades of slack: inside to the right of 0.

        An infinite margin ends at the edge; its verdict is written there, and at a bar too short
        to be seen.

        `size`: {"column", "text"}, a width or (width, height), in inches or as ``"240pt"``, of a
        new figure for a paper.
        """
        return drawn(self._draw, ax, size)

    def _draw(self, ax: Axes) -> None:
        rows = self.results[::-1]
        finite = [abs(row.margin) for row in rows if math.isfinite(row.margin)]
        edge = 1.25 * max([1.0, *finite])
        colors = {"holds": COLORS[2], "fails": COLORS[1], "undecided": COLORS[5]}
        for position, row in enumerate(rows):
            length = 0.0 if math.isnan(row.margin) else max(-edge, min(edge, row.margin))
            ax.barh(position, length, color=colors[str(row.verdict)], height=0.6)
            if not math.isfinite(row.margin) or abs(length) < 0.02 * edge:
                side = "left" if length <= 0 else "right"
                ax.text(0, position, f"  {row.verdict}  ", ha=side, va="center")
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set_yticks(range(len(rows)), [row.id for row in rows])
        ax.set_xlim(-edge, edge)
        ax.set_xlabel("margin: decades of slack")
        ax.set_title(f"{self.edition} edition: {self.verdict}")

    def to_grid(self) -> Grid:
        """Every assumption with its margin, and the predicted half-times below."""
        quantities = [f"a = ({', '.join(map(as_typed, self.task.exact_signal))})"]
        for name in ("omega", "beta", "eta"):
            quantities.append(f"{name} = {as_typed(getattr(self, name))}")
        if self.initial is not None:
            quantities.append("omega and beta from W(0)")
        return Grid(
            title=_EDITION_LINE[self.edition],
            columns=["", "assumption", "verdict", ">margin", "why"],
            rows=[
                [
                    result.id,
                    result.title,
                    str(result.verdict),
                    _margin_text(result.margin),
                    result.reason,
                ]
                for result in self.results
            ],
            above=[", ".join(quantities)],
            below=[*self._summary_lines(), *self._schedule_lines()],
        )

    def _summary_lines(self) -> list[str]:
        summary = self._verdict_sentence("the numbers lie on the boundary to within the precision")
        sentences = [summary, f"Binding: {self.binding}."]
        if self.largest_omega is not None:
            sentences.append(f"Largest omega: {rounded(self.largest_omega)}.")
        elif self.omega_limit is not None:
            sentences.append(
                f"Largest omega once eta is small enough: {rounded(self.omega_limit)}."
            )
        else:
            sentences.append("No omega is small enough.")
        if mpmath.isfinite(self.largest_eta):
            sentences.append(f"Largest eta: {rounded(self.largest_eta)}.")
        lines = ["", " ".join(sentences), "Margins are log10 of the slack, positive inside."]
        if self.constants is not None and len(self.constants):
            constants = ", ".join(
                f"{name} = {rounded(value)}" for name, value in self.constants.items()
            )
            lines.append(f"Witness: {constants}.")
        return lines + list(self.notes)

    def _schedule_lines(self) -> list[str]:
        try:
            schedule = self.schedule
        except InvalidInput as refusal:
            return ["", f"No stages are predicted: {refusal}."]
        head = (
            "Predicted half-times in steps, from W(0)"
            if self.initial is not None
            else "Predicted half-times in steps (median and 5 %-95 % over Gaussian initializations)"
        )
        lines = ["", f"{head}, {self.dynamics}:"]
        for k in self.task.order:
            time, bar = schedule.half_times[k], schedule.error[k]
            tail = ""
            if self.initial is None and math.isfinite(time):
                low, high = (steps_text(side[k], 0) for side in schedule.spread)
                tail = f"  ({low} to {high})"
            elif math.isfinite(time) and math.isfinite(bar):
                tail = f"  +- {steps_text(bar)}"
            if self.initial is None and self.task.exact_signal[k] and schedule.never[k] > 0:
                tail += f"  {share_text(schedule.never[k], schedule.never_error[k])} never"
            if self.initial is not None or not math.isfinite(time):
                trapped = "  trapped" if schedule.trapped[k] else ""
                tail += "  undecided" if schedule.undecided[k] else trapped
            lines.append(f"  {entry_name(k, k)}: {steps_text(time, 0)}{tail}")
        return lines + [f"  {reason}" for reason in schedule.warnings]


def _margin_text(margin: float) -> str:
    """A log10 margin with its sign; ``any`` where no number of the user can break it."""
    if math.isinf(margin):
        return "any" if margin > 0 else "none"
    return f"{margin:+.3f}" if abs(margin) < 100 else f"{margin:+.1f}"
