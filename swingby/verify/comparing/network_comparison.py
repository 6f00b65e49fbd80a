"""The result of a comparison with the recorded weights of a linear network, mode by mode."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.hints import Hinted
from swingby.report import Grid
from swingby.report.entry_pictures import draw_half_time, finish_entries
from swingby.report.number_text import counted, steps_text
from swingby.report.pictures import Pictured
from swingby.report.result_formats import Framed, ReadOnly
from swingby.theory.numbers import Floats, Integers
from swingby.theory.verdict import Verdict, all_hold
from swingby.verify.network_schedule import NetworkSchedule, percent
from swingby.verify.schedule import json_ready

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Steps from the first one of a picture on which the predicted curves are drawn.
_POINTS = 300
#: Records up to which each is a point, and no line.
_MARKED = 80


@dataclass(frozen=True)
class ModeRow(Hinted):
    """The half-time of a mode, predicted and observed, in steps of the record."""

    mode: int
    explained: float
    #: First step at which it is learned; inf for never, nan for undecided. `low` and `high`: the
    #: first and the last step in its bar.
    predicted: float
    low: float
    high: float
    #: It was learned after the one step and by the other: two recorded steps, between which nothing
    #: is known; both at the first record, and inf where no record shows it.
    after: float
    by: float
    #: The last recorded step.
    last: float
    #: Whether the law has it lost again before the next record, and shown by the same as observed.
    lost_between: bool = False

    @property
    def off_by(self) -> float:
        """Steps from the observed interval to the prediction; 0 inside it, nan without both."""
        if self.lost_between or math.isinf(self.by) or not math.isfinite(self.predicted):
            return math.nan
        earliest = min(self.after + 1, self.by)
        return self.predicted - min(max(self.predicted, earliest), self.by)

    @property
    def tested(self) -> bool:
        """Whether the record is long enough to say something."""
        return math.isfinite(self.by) or self.high <= self.last

    @property
    def word(self) -> str:
        """The verdict, or *not yet* where the record ends before it says something."""
        return str(self.verdict) if self.tested or self.verdict == "fails" else "not yet"

    @property
    def verdict(self) -> Verdict:
        """*holds* where a step in the bar lies in the observed interval, or beyond the record."""
        if math.isnan(self.predicted) or math.isinf(self.high) > math.isinf(self.predicted):
            return Verdict.UNDECIDED
        agree = self.low <= self.by and self.high >= min(self.after + 1, self.by)
        return Verdict.HOLDS if agree or self.lost_between else Verdict.FAILS


@dataclass(frozen=True)
class NetworkComparison(Pictured, Framed, ReadOnly):
    """Recorded weights of a linear network beside its law. Made by :func:`compare_network`."""

    schedule: NetworkSchedule
    #: Recorded steps (n,), and a_k at each, (n, m); of a task the diagonal of W.
    steps: Integers
    levels: Floats
    #: In the order of the modes.
    rows: tuple[ModeRow, ...]
    title: str = ""
    #: What speaks against the weights being trained as stated.
    warnings: tuple[str, ...] = ()

    @property
    def half_times(self) -> Floats:
        """First recorded step with a_k >= 1/2, shape (m,); inf where there is none."""
        return np.array([row.by for row in self.rows])

    @property
    def verdict(self) -> Verdict:
        """*fails* where a mode does; *undecided* where one is, or the record is too short."""
        if not any(row.tested for row in self.rows):
            return Verdict.UNDECIDED
        return all_hold(row.verdict for row in self.rows)

    @property
    def largest_error(self) -> float:
        """The largest :attr:`ModeRow.off_by` as a share of the prediction; nan without any."""
        shares = [abs(row.off_by) / max(row.predicted, 1.0) for row in self.rows]
        return max((share for share in shares if not math.isnan(share)), default=math.nan)

    def __repr__(self) -> str:
        return f"<NetworkComparison to step {self.steps[-1]}: {self.verdict}>"

    def to_grid(self) -> Grid:
        """A row for each mode, in the predicted order of learning."""
        schedule, rows = self.schedule, [self._cells(k) for k in self.schedule.shown_order()]
        apart = np.unique(np.diff(self.steps))
        spaced = counted(apart[0], "step").removeprefix("1 ") if len(apart) == 1 else "few steps"
        span = f"steps {self.steps[0]} to {self.steps[-1]}"
        above = [", ".join(schedule.facts()), f"{len(self.steps)} records, every {spaced}: {span}."]
        above += [f"Warning: {text[0].upper()}{text[1:]}." for text in self.warnings]
        columns = ["mode", ">predicted", ">+-", ">observed", ">off by", "verdict"]
        if schedule.task is None:
            columns.insert(1, ">variance")
        return Grid(
            self.title or "Predicted against recorded weights",
            columns,
            rows,
            above=above,
            below=[f"{self.verdict}{': ' if self._reasons else ''}{'; '.join(self._reasons)}"],
            minor=["variance"],
        )

    @property
    def _reasons(self) -> list[str]:
        reasons = list(self.schedule.reasons)
        if not any(row.tested for row in self.rows):
            reasons.append("the record ends before a mode is learned")
        failing = [self.schedule.label(row.mode) for row in self.rows if row.verdict == "fails"]
        if failing:
            reasons.insert(0, f"outside the bar: {', '.join(failing)}")
        lost = [self.schedule.label(row.mode) for row in self.rows if row.lost_between]
        if lost:
            reasons.append(f"learned and lost again between records, by the law: {', '.join(lost)}")
        if failing and self.schedule.batch is not None:
            reasons.append("bars are two standard deviations over the orders of samples")
        return reasons

    def _cells(self, k: int) -> list[str]:
        row, schedule = self.rows[k], self.schedule
        observed = f"not by {row.last:.0f}"
        if math.isfinite(row.by):
            begin = "by" if row.lost_between else f"{row.after + 1:.0f} to"
            observed = f"{begin} {row.by:.0f}" if row.by - row.after > 1 else f"{row.by:.0f}"
        predicted = "undecided" if math.isnan(row.predicted) else steps_text(row.predicted, 0)
        off = "-" if math.isnan(row.off_by) else f"{row.off_by:+.0f}" if row.off_by else "0"
        shares = [] if schedule.task is not None else [percent(row.explained)]
        return [schedule.label(k), *shares, predicted, schedule.bar(k), observed, off, row.word]

    def records(self) -> Iterator[Mapping[str, Any]]:
        """Mode, explained, predicted, error, observed_after, observed_by, off_by, verdict."""
        for row in self.rows:
            yield {
                "mode": row.mode + 1,
                "explained": row.explained,
                "predicted": row.predicted,
                "error": self.schedule.error[row.mode],
                "observed_after": row.after,
                "observed_by": row.by,
                "off_by": row.off_by,
                "verdict": row.word,
            }

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, ready for JSON; inf and nan as text."""
        rows = [{name: json_ready(row[name]) for name in row} for row in self.records()]
        return {
            "title": self.title,
            "steps": self.steps.tolist(),
            "rows": rows,
            "verdict": str(self.verdict),
            "reasons": self._reasons,
            "warnings": list(self.warnings),
            "predicted": self.schedule.to_dict(),
        }

    def draw(self, ax: Axes) -> None:
        """Draw recorded a_k as points, the law as a wide pale line, half-times with their bars."""
        schedule, begin, end = self.schedule, int(self.steps[0]), int(self.steps[-1])
        ends = [row.by for row in self.rows if math.isfinite(row.by) and row.by > begin]
        first = max(1.0, float(begin), min(ends, default=float(self.steps[1])) / 8)
        last = max(float(end), 2 * first)
        grid = np.unique(np.geomspace(first, last, _POINTS))
        curves = schedule.modes.levels(schedule.evaluate(grid - begin))
        for i, k, color, label in schedule.drawn_modes():
            ax.plot(grid, curves[:, i], color=color, linewidth=3.4, alpha=0.25, zorder=1)
            # A line between few records would claim a path that nobody has seen.
            style = "o" if len(self.steps) <= _MARKED else "-"
            inside = self.steps >= first
            looks: dict[str, Any] = {
                "color": color,
                "label": label,
                "markersize": 4,
                "linewidth": 0.7,
            }
            ax.plot(self.steps[inside], self.levels[inside, k], style, **looks)
            row = self.rows[k]
            if math.isfinite(row.high) and first <= row.predicted <= last:
                time, low, high = row.predicted, max(row.low, first), min(row.high, last)
                draw_half_time(ax, time, max(time - low, 0), max(high - time, 0), color)
        ax.plot([], [], color="0.5", linewidth=3.4, alpha=0.4, label="predicted")
        title, low = self.title or "recorded weights and their law", float(self.levels.min())
        finish_entries(ax, first, last, title, low)
        ax.set_ylabel("$a_k$")
