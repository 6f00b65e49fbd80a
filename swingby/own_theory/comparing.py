"""Predicted against observed at a setting of a theory, as a table and a picture."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.own_theory.family import Promise
from swingby.own_theory.kinds import Bound, Passage, Value
from swingby.own_theory.runs import Judged, judge, recorded
from swingby.own_theory.settings import Settings, at_numbers, last_step, least_margin, too_long
from swingby.own_theory.statement import Statement
from swingby.report import Framed, Grid
from swingby.report.picture_style import COLORS
from swingby.report.pictures import Pictured

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class TheoryRow:
    """A prediction at a setting. `ratio` is off/allowed; the verdict is kept, broken, undecided.

    `allowed`: what it may be off, over seeds with four standard errors.
    """

    prediction: str
    predicted: Any
    observed: Any
    allowed: float
    ratio: float
    step: float = math.nan

    @property
    def text(self) -> str:
        """``predicted 2, observed 3, off/allowed 4``; digits until the two differ."""
        if isinstance(self.predicted, str):
            return f"predicted {self.predicted}, observed {self.observed}"
        if math.isnan(self.observed):
            observed = "not by the end of the run"
        else:
            observed = _apart(self.observed, self.predicted)
        at = "" if math.isnan(self.step) else f" at step {self.step:.0f}"
        aim = _apart(self.predicted, self.observed)
        predicted = "" if math.isnan(self.predicted) else f"predicted {aim}, "
        return f"{predicted}observed {observed}{at}, off/allowed {off_text(self.ratio)}"

    @property
    def verdict(self) -> str:
        """*kept* up to a ratio of 1, *broken* above, *undecided* without."""
        if math.isnan(self.ratio):
            return "undecided"
        return "broken" if self.ratio > 1 else "kept"


@dataclass(frozen=True)
class TheoryTable(Framed, Pictured):
    """Predicted against observed at a setting of a theory.

    Parameters
    ----------
    theory, setting : str
    rows : tuple of TheoryRow
    inside : bool
        Whether the setting is inside the assumptions.
    """

    theory: str
    setting: str
    rows: tuple[TheoryRow, ...]
    inside: bool
    settings: Settings = field(repr=False)
    seed: int = 0

    @property
    def kept(self) -> bool:
        """Whether no prediction is broken or undecided."""
        return all(row.verdict == "kept" for row in self.rows)

    def records(self) -> list[dict[str, Any]]:
        """The rows of :meth:`to_frame`, by column."""
        return [{**vars(row), "verdict": row.verdict} for row in self.rows]

    def to_grid(self) -> Grid:
        """A row for each prediction."""
        heads = ["prediction", ">predicted", ">observed", ">allowed", ">off/allowed", "verdict"]
        rows = [
            [
                row.prediction,
                *map(_cell, (row.predicted, row.observed, row.allowed)),
                "-" if math.isnan(row.ratio) else off_text(row.ratio),
                row.verdict,
            ]
            for row in self.rows
        ]
        is_known = not np.isnan(least_margin(self.settings)[0])
        where = "is outside the assumptions" if is_known else "may be outside: that is not known"
        outside = [] if self.inside else [f"This setting {where}."]
        return Grid(self.theory, heads, rows, above=[self.setting, *outside])

    def draw(self, ax: Axes) -> None:
        """Draw every observable over steps, with predicted passages, values and bounds.

        Of runs of the user's own, which show no observables: observed passages over predicted ones.
        """
        if self.settings.family.statement.runs is not None:
            self._draw_times(ax)
            return
        steps, curves = recorded(self.settings, self.seed)
        colors = {name: COLORS[rank % len(COLORS)] for rank, name in enumerate(curves)}
        for name, curve in curves.items():
            for column, line in enumerate(curve.T):
                label = name if column == 0 else "_"
                ax.plot(steps, line, color=colors[name], label=label)
        for promise, row in zip(self.settings.family.promises, self.rows, strict=True):
            kind = vars(promise.prediction)
            name = f"{kind['stat']} of {kind['of']}" if kind.get("stat") else kind.get("of", "")
            self._mark(ax, promise, row, colors.get(name, "0.4"), steps)
        ax.set_xlabel("step" if self.settings.family.statement.flow is None else "t")
        ax.set_title(self.theory)
        ax.legend()

    def _draw_times(self, ax: Axes) -> None:
        pairs = zip(self.settings.family.promises, self.rows, strict=True)
        rows = [row for promise, row in pairs if isinstance(promise.prediction, Passage)]
        for rank, row in enumerate(rows):
            ax.errorbar(
                row.predicted,
                row.observed,
                xerr=row.allowed,
                fmt="o",
                color=COLORS[rank % len(COLORS)],
                label=row.prediction,
            )
        ends = [end for row in rows for end in (row.predicted, row.observed)]
        ax.plot([min(ends), max(ends)], [min(ends), max(ends)], color="0.7", zorder=0)
        ax.set_xlabel("predicted step")
        ax.set_ylabel("observed step")
        ax.set_title(self.theory)
        ax.legend()

    def _mark(self, ax: Axes, promise: Promise, row: TheoryRow, color: str, steps: Any) -> None:
        """The prediction with what is allowed, or a bound as a wide pale line."""
        kind, values = promise.prediction, self.settings.values
        style: dict[str, Any] = {"color": color, "markersize": 7, "capsize": 3}
        if isinstance(kind, Passage):
            level = float(promise.formulas["level"](values)[0])
            ax.errorbar(row.predicted, level, xerr=row.allowed, fmt="v", **style)
        elif isinstance(kind, Value):
            at = float(promise.formulas["at"](values)[0])
            ax.errorbar(at, row.predicted, yerr=row.allowed, fmt="s", **style)
        elif isinstance(kind, Bound):
            formula = promise.formulas["below" if "below" in promise.formulas else "above"]
            limits = [float(formula(values, step)[0]) for step in steps]
            ax.plot(steps, limits, color=color, linewidth=3.4, alpha=0.25)
            ax.set_yscale("log")


def off_text(ratio: float) -> str:
    """off/allowed in three digits, and more where these would hide that it is above 1.

    >>> off_text(1.0000004), off_text(2.5)
    ('1 + 4e-07', '2.5')
    """
    text = f"{ratio:.3g}"
    return f"1 + {ratio - 1:.1g}" if ratio > 1 and text == "1" else text


def _apart(x: float, other: float) -> str:
    """A number in five digits, or in all if the other one would look the same.

    >>> _apart(0.5, 0.25), _apart(0.5, 0.500000000001)
    ('0.5', '0.5')
    >>> _apart(0.500000000001, 0.5)
    '0.500000000001'
    """
    text = f"{x:.5g}"
    return repr(float(x)) if x != other and text == f"{other:.5g}" else text


def _cell(value: Any, digits: int = 6) -> str:
    if isinstance(value, str):
        return value or "-"
    return "-" if math.isnan(value) else f"{value:.{digits}g}"


def compare_theory(statement: Statement, /, *, rng: int = 0, **at: Any) -> TheoryTable:
    """Predict, run and compare at numbers of a theory; see :class:`swingby.Theory`."""
    settings = at_numbers(statement, at, rng)
    if last_step(settings)[0] > statement.longest:
        raise too_long(settings)
    rows = rows_of(settings, judge(settings, rng))
    inside = bool(least_margin(settings)[0] >= -1e-12)
    return TheoryTable(statement.name, settings.text(), rows, inside, settings, rng)


def rows_of(settings: Settings, results: dict[str, Judged]) -> tuple[TheoryRow, ...]:
    """The judgements of the first setting, in the order of the predictions."""
    return tuple(row_of(results[promise.name]) for promise in settings.family.promises)


def row_of(judged: Judged, index: int = 0) -> TheoryRow:
    """The judgement of a setting."""

    def first(column: Any) -> Any:
        if column is None:
            return math.nan
        return str(column[index]) if column.dtype == object else float(np.asarray(column)[index])

    columns = (judged.predicted, judged.observed, judged.allowed, judged.ratio, judged.step)
    return TheoryRow(judged.promise.name, *map(first, columns))
