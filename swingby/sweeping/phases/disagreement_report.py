"""How the table of disagreements looks."""

from __future__ import annotations

import math
from itertools import zip_longest
from typing import TYPE_CHECKING

from swingby.report import Grid
from swingby.report.numbers import steps_text

if TYPE_CHECKING:
    from swingby.sweeping.phases.disagreement import Disagreement
    from swingby.sweeping.phases.disagreements import Disagreements
    from swingby.sweeping.point import Point

#: Columns of :meth:`Disagreements.to_frame`, also of an empty one.
FIELDS = (
    "key",
    "place",
    "point",
    "predicted",
    "observed",
    "margin",
    "smallest_pivot",
    "predicted_half_times",
    "error",
    "half_times",
    "descents",
    "predicted_descents",
    "why",
)


def disagreement_grid(found: Disagreements) -> Grid:
    """The table of disagreements.

    Returns
    -------
    swingby.report.Grid
        Half-times as predicted +- error bar -> observed, concept by concept.
    """
    shown = len(found.rows)
    head = f"{found.total} disagreements" if found.total != 1 else "1 disagreement"
    above = [f"{head}, the {shown} of largest margin" if shown < found.total else head]
    return Grid(
        title=f"Predicted otherwise than observed, {found.store.name}",
        columns=["point", "predicted", "observed", ">margin", ">pivot", "half-times", "why"],
        rows=[_cells(row) for row in found.rows],
        above=above if found.agreement.decided else [],
        below=found.agreement.lines(),
    )


def _cells(row: Disagreement) -> list[str]:
    times = zip_longest(row.predicted_half_times, row.error, row.half_times, fillvalue=math.nan)
    return [
        point_text(row.point),
        row.predicted,
        row.observed,
        _number(row.margin),
        _number(row.smallest_pivot),
        "; ".join(_times(*one) for one in times),
        row.why,
    ]


def _times(said: float, bar: float, seen: float) -> str:
    error = f" +- {bar:.2g}" if math.isfinite(said) and math.isfinite(bar) else ""
    return f"{steps_text(said, 0)}{error} -> {steps_text(seen, 0)}"


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3g}"


def point_text(point: Point) -> str:
    """A point in one line, exactly.

    Examples
    --------
    >>> from swingby.sweeping.point import Point
    >>> point_text(Point(("4", "1"), None, None, "1e-3", 2, 0, "0.01", "gd"))
    "gd a=(4,1) omega=1e-3 eta=0.01 d'=2 seed=0"
    """
    vectors = {"a": point.signal, "mu": point.mu, "sigma": point.sigma}
    parts = [point.dynamics]
    parts += [f"{name}=({','.join(one)})" for name, one in vectors.items() if one is not None]
    parts += [f"omega={point.omega}", f"eta={point.eta}", f"d'={point.width}"]
    parts += [] if point.steps is None else [f"steps={point.steps}"]
    return " ".join([*parts, f"seed={point.seed}"])
