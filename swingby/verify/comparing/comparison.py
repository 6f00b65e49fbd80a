"""The result of a comparison: rows of predicted against observed, as table, file and picture."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from swingby.errors import MissingExtra, named
from swingby.hints import Hinted
from swingby.report import Grid
from swingby.report.entry_pictures import finish_entries
from swingby.report.files import whole, write_csv
from swingby.report.number_text import as_typed, percent_text
from swingby.report.picture_style import COLORS, styled
from swingby.report.pictures import Pictured, new_figure, save_figure
from swingby.report.result_formats import Timed
from swingby.simulate.trajectory import Run
from swingby.verify.schedule import (
    NumberText,
    Schedule,
    bar_text,
    closed_form_text,
    given_text,
    in_unit,
    json_ready,
    number_in,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = (
    *("entry", "event", "predicted", "observed", "relative_error"),
    *("lower", "upper", "inside", "closed_form"),
)


@dataclass(frozen=True)
class Row(Hinted):
    """One event, predicted and observed.

    `predicted`, `observed`: steps (for ``peak height`` the size of the entry); inf for never, nan
    for no statement.
    `lower`, `upper`: Lemma window, same unit, or nan.
    `error_bar`: half-width that the law gives its own prediction; inf where it is out of its range.
    `closed_form`: the closed form of a half-time, in real steps; nan for other events.
    `state`: what is predicted in place of a half-time: undecided, trapped or cut off.
    `proved`: whole steps between which the half-time provably lies, as text.
    """

    entry: str
    event: str
    predicted: float
    observed: float
    lower: float
    upper: float
    error_bar: float
    closed_form: float = math.nan
    state: str = ""
    proved: str = ""

    def __str__(self) -> str:
        bar = f" +- {self.error_bar:.3g}" if math.isfinite(self.error_bar) else ""
        return (
            f"{self.entry} {self.event}: predicted {self.state or f'{self.predicted:.6g}'}{bar}, "
            f"observed {self.observed:.6g}, error {percent_text(self.relative_error)}"
        )

    @property
    def relative_error(self) -> float:
        """predicted/observed - 1; 0 when both say never, nan when one side has no number."""
        if math.isinf(self.predicted) and math.isinf(self.observed):
            return 0.0
        if not (math.isfinite(self.predicted) and math.isfinite(self.observed)):
            return math.nan
        if self.observed == 0:
            return 0.0 if self.predicted == 0 else math.nan
        return self.predicted / self.observed - 1

    @property
    def inside(self) -> bool | None:
        """Whether the observation lies in the lemma window; None where there is no window."""
        if math.isnan(self.lower) or math.isnan(self.upper) or math.isnan(self.observed):
            return None
        return self.lower <= self.observed <= self.upper

    def cells(self, number: NumberText, *, windows: bool) -> list[str]:
        """The event in a table, with its lemma window if asked for."""
        values = (self.predicted, self.observed, self.lower, self.upper)
        predicted, observed, *window = (number(self.event, value) for value in values)
        bar = bar_text(self.event, self.predicted, self.error_bar, number)
        error, inside = percent_text(self.relative_error), {True: "yes", False: "NO", None: "-"}
        closed = closed_form_text(self.event, self.closed_form, number)
        cells = [self.entry, self.event, closed, self.state or predicted, bar, observed, error]
        return [*cells, *window, inside[self.inside]] if windows else cells


@dataclass(frozen=True)
class Comparison(Timed, Pictured):
    """Predicted against observed in a setting.

    Parameters
    ----------
    schedule : Schedule
    run : Run
    rows : tuple of Row
    title : str
    warnings : tuple of str
        What speaks against the observed trajectory being one of the setting.
    """

    schedule: Schedule
    run: Run
    rows: tuple[Row, ...]
    title: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def median_error(self) -> float:
        """Median of |relative error| over half-times; nan when none is comparable."""
        return self._summary_of("half", np.median)

    @property
    def largest_error(self) -> float:
        """Largest |relative error| over half-times; nan when none is comparable."""
        return self._summary_of("half", np.max)

    def _summary_of(self, event: str, reduce: Any) -> float:
        errors = [abs(row.relative_error) for row in self.rows if row.event == event]
        finite = [error for error in errors if math.isfinite(error)]
        return float(reduce(finite)) if finite else math.nan

    def __repr__(self) -> str:
        return (
            f"<Comparison {self.title or self.run.dynamics}: {len(self.rows)} events, "
            f"half-times off by {100 * self.median_error:.3g} % median>"
        )

    def to_grid(self, unit: str = "step") -> Grid:
        """Predicted against observed, with lemma windows; `unit`: step or eta t, of all times."""
        number, run = number_in(unit, self.schedule.eta), self.run
        windows = any(not math.isnan(row.lower) for row in self.rows)
        columns = ["entry", "event", ">closed form", ">predicted", ">+-", ">observed", ">error"]
        rows = [row.cells(number, windows=windows) for row in self.rows]
        if self.schedule.theorem is not None:
            columns.insert(5, ">proved")
            for cells, row in zip(rows, self.rows, strict=True):
                cells.insert(5, row.proved)
        eta = f"eta = {as_typed(self.schedule.eta)}"
        setting_line = given_text(
            run.task.exact_signal, eta, run.dynamics, f"{run.last_step} steps"
        )
        notes = [f"Signal: {run.task.note}"] if run.task.note else []
        notes += [] if unit == "step" else [f"Times in {unit}."]
        notes += [f"Warning: {_sentence(warning)}" for warning in self.warnings]
        return Grid(
            title=self.title or "Predicted against observed",
            columns=columns + ([">lower", ">upper", "inside"] if windows else []),
            rows=rows,
            above=[setting_line, *notes],
            below=["", *self._summary_lines()],
            minor=["closed form", "error", "lower", "upper", "inside"],
        )

    def _summary_lines(self) -> list[str]:
        """The comparison in a few lines."""
        run = self.run
        rows = [row for row in self.rows if row.event == "half"]
        learned = sum(math.isfinite(row.observed) for row in rows)
        predicted = sum(row.predicted <= run.last_step for row in rows)
        error = (
            f"half-times off by {100 * self.median_error:.2g} % (median), "
            f"{100 * self.largest_error:.2g} % (largest)"
            if math.isfinite(self.median_error)
            else "no half-time to compare"
        )
        lines = [
            f"Stages predicted within the run: {predicted}, observed: {learned}; {error}.",
            f"Outcome: {run.outcome}. {_sentence(run.reason)}",
        ]
        if self.schedule.theorem is not None:
            lines.append(self._proved_line(self.schedule.theorem.intervals))
        lines += list(self.schedule.warnings)
        if self.schedule.window_reason:
            lines.append(_sentence(self.schedule.window_reason))
        return lines + self._outside_lines()

    def _proved_line(self, intervals: tuple[tuple[int, int] | None, ...]) -> str:
        """How many half-times are theorems, and whether those that the run has are inside."""
        observed = self.run.half_times
        pairs = [
            (interval, time)
            for interval, time in zip(intervals, observed, strict=True)
            if interval is not None
        ]
        if not pairs:
            return f"Proved half-times: none of {len(intervals)} is covered by the theorem."
        # What the run had to show by its end counts, whether it did or not.
        due = [
            low <= time <= high
            for (low, high), time in pairs
            if math.isfinite(time) or high <= self.run.last_step
        ]
        verdict = "none was due within the run"
        if due:
            verdict = "the observed lie inside" if all(due) else "NOT all observed lie inside"
        if due and len(due) < len(pairs):
            verdict += f", {len(pairs) - len(due)} not due within the run"
        return f"Proved half-times: {len(pairs)} of {len(intervals)}; {verdict}."

    def _outside_lines(self) -> list[str]:
        """Observations outside a lemma window, and whether the corrected window has them."""
        outside = {(row.entry, row.event): row for row in self.rows if row.inside is False}
        if not outside:
            return []
        names = ", ".join(f"{entry} {event}" for entry, event in outside)
        lines = [f"Outside the window: {names}."]
        printed = self.schedule.windows
        if printed.scale is not None and printed.edition == "printed":
            corrected = replace(printed, edition="corrected")
            windows = [
                f"{event.lower:.0f} to {event.upper:.0f} "
                f"({'inside' if event.lower <= row.observed <= event.upper else 'outside too'})"
                for event in map(corrected.beside, self.schedule.events)
                if (row := outside.get((event.label, event.event))) is not None
            ]
            lines.append(
                "Lemma D.3's printed T_1 has kappa in the denominator, where its own growth bound "
                f"(D.35) puts it in the numerator; corrected windows: {', '.join(windows)}."
            )
        return lines

    @named
    def to_frame(self, unit: str = "step") -> Any:
        """A pandas DataFrame, one row per event; ``inside`` is True, False or missing.

        `unit` in {"step", "eta t"}: of all times. Columns entry, event, predicted, observed,
        relative_error, lower, upper, inside, closed_form; with ``proved=True`` also proved, as text
        and in steps.
        """
        import pandas

        frame = pandas.DataFrame(
            [[getattr(row, name) for name in COLUMNS] for row in self.rows], columns=list(COLUMNS)
        )
        if self.schedule.theorem is not None:
            frame["proved"] = [row.proved for row in self.rows]
        return in_unit(frame.astype({"inside": "boolean"}), unit, self.schedule.eta)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, ready for JSON; inf and nan as text."""
        return {
            "title": self.title,
            "dynamics": self.run.dynamics,
            "outcome": str(self.run.outcome),
            "reason": self.run.reason,
            "rows": [
                {name: json_ready(getattr(row, name)) for name in COLUMNS} for row in self.rows
            ],
            "warnings": [*self.warnings, *self.schedule.warnings],
        }

    @named
    def to_csv(self, path: str | Path | IO[Any] | None = None) -> str | None:
        """The frame as CSV, written to a path or stream, or returned as text without one.

        A path that ends in ``.gz`` is compressed. Raises InvalidInput if it cannot be written.
        """
        frame = self.to_frame()
        if path is None:
            return str(frame.to_csv(index=False))
        write_csv(frame, path)
        return None

    @named
    def to_parquet(self, path: str | Path) -> None:
        """The frame as Parquet.

        Raises InvalidInput if the path cannot be written, MissingExtra without pyarrow (extra
        ``report``).
        """
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise MissingExtra("pyarrow", "report") from None
        with whole(path) as target:
            self.to_frame().to_parquet(target, index=False)

    def draw(self, ax: Axes) -> None:
        """Draw major and minor entries and the test loss, with the predicted stage times as marks.

        Major entries are solid, minor entries dashed; the test loss is black, in units of its
        start. A wide pale line of the same colour is the predicted composite, a triangle the
        predicted half-time, with its error bar.
        """
        run, schedule = self.run, self.schedule
        # Ten decades of waiting before anything moves would hide the stages on a log axis.
        first, last = self._span()
        low = run.draw_steps(ax, first, last)
        schedule.draw_curves(ax, first, last, float(run.test_loss[0]))
        ax.plot([], [], color="0.5", linewidth=3.2, alpha=0.4, label="predicted")
        ax.plot([], [], "v", color="0.35", markersize=6, label="half-time")
        turns = [row.predicted for row in self.rows if row.event.startswith("loss")]
        for rank, turn in enumerate(filter(math.isfinite, turns)):
            name = "_" if rank else "turn of loss"
            ax.axvline(turn, color="black", linewidth=0.6, linestyle=":", zorder=0, label=name)
        finish_entries(ax, first, last, self.title, low)

    def _span(self) -> tuple[float, float]:
        """The first and the last step of the picture."""
        run = self.run
        times = [row.observed for row in self.rows if row.event in ("half", "peak")]
        times += [row.predicted for row in self.rows if row.event == "half"]
        finite = [time for time in times if math.isfinite(time) and time > 0]
        first = max(1.0, min(finite, default=1.0) / 8)
        end = float(run.end) * 1.5 if run.end is not None else float(run.last_step)
        return first, max(min(float(run.last_step), end), 2 * first)

    @named
    def save_picture(self, path: str | Path) -> None:
        """Entries and loss over time on the left, the output trajectory on the right.

        The suffix of `path` gives the format: png, pdf or svg. Raises InvalidInput if it cannot be
        written or the format is unknown.
        """

        def figure() -> Figure:
            with styled():
                picture = new_figure(10.4, 3.6)
                entries_axes, output_axes = picture.subplots(1, 2, width_ratios=[1.75, 1])
                self.draw(entries_axes)
                self._draw_output(output_axes)
            return picture

        save_figure(figure, path)

    def _draw_output(self, ax: Axes) -> None:
        """The output trajectory in the plane of the two strongest concepts, with the test point."""
        run, schedule = self.run, self.schedule
        concepts = [k for k in run.task.order if k < run.task.s]
        if len(concepts) < 2:
            ax.set_axis_off()
            return
        across, up = sorted(concepts[:2])
        point = run.task.test_point
        output = run.output[np.isfinite(run.output).all(axis=1)]
        ax.plot(output[:, across], output[:, up], color=COLORS[1], label="observed")
        if schedule.stages is not None:
            grid = np.concatenate([[0.0], np.geomspace(1, max(run.last_step, 2), 600)])
            predicted = schedule.evaluate(grid) @ point
            ax.plot(
                predicted[:, across],
                predicted[:, up],
                color=COLORS[1],
                linewidth=3.4,
                alpha=0.25,
                label="predicted",
                zorder=1,
            )
        corners = np.array([[0, 0], [point[across], 0], [0, point[up]]])
        ax.plot(corners[1:, 0], corners[1:, 1], "o", color=COLORS[0], label="training clusters")
        ax.plot(point[across], point[up], "*", color="black", markersize=10, label="test point")
        ax.set_xlabel(f"output along concept {across + 1}")
        ax.set_ylabel(f"output along concept {up + 1}")
        ax.set_xlim(-0.08 * point[across], 1.17 * point[across])
        ax.set_ylim(-0.08 * point[up], 1.25 * point[up])
        ax.legend(loc="best")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
