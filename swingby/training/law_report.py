"""How the law does in training, as tables: the symmetric model, one layer, forecasts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from swingby.report import Grid
from swingby.training.shares import Share

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from swingby.training.forecast import Forecast
    from swingby.training.single_layer import OutputErrors
    from swingby.training.symmetric import LawErrors

    Floats = NDArray[np.float64]


def percent(values: Floats, levels: Sequence[float] = (0.5, 0.99, 1.0)) -> str:
    """Quantiles of errors in percent.

    Examples
    --------
    >>> percent(np.array([0.0, 0.001, 0.0125])), percent(np.array([]))
    ('0.1 / 1.23 / 1.25', '-')
    """
    known = values[~np.isnan(values)]
    if not known.size:
        return "-"
    return " / ".join(f"{100 * float(np.quantile(known, level)):.3g}" for level in levels)


def law_grid(rows: Sequence[tuple[str, LawErrors]]) -> Grid:
    """The stage law against trained U U^T."""
    cells = []
    for label, found in rows:
        right, wrong, open_ = found.descents
        cells.append(
            [
                label,
                str(found.runs),
                str(len(found.half_times)),
                percent(found.half_times),
                f"{np.nanmax(np.abs(found.off), initial=0):.0f}",
                " / ".join(map(str, found.traps)),
                str(len(found.peak_times)),
                percent(found.peak_times, (0.5, 0.99)),
                percent(found.peak_heights, (0.5, 0.99)),
                f"{right} / {wrong} / {open_}",
                percent(found.turns, (0.5, 1.0)),
            ]
        )
    columns = (
        "U U^T",
        ">runs",
        ">stages",
        ">half-times %",
        ">steps off",
        ">traps",
        ">peaks",
        ">peak times %",
        ">heights %",
        ">descents",
        ">turns %",
    )
    below = (
        "errors of predicted / observed: half-times median / p99 / max and the largest number of"
        " steps off; peaks median / p99; turns of the test loss median / max",
        "traps: foreseen / false / missed; descents: as predicted / not / undecided by the law",
    )
    return Grid("The stage law against trained networks", columns, cells, below=below)


def output_grid(rows: Sequence[tuple[str, OutputErrors]]) -> Grid:
    """Theorem 4.1 against one layer."""
    cells = []
    for label, found in rows:
        halves = [np.abs(one)[np.isfinite(one)] for one in (found.half_times, found.own_half_times)]
        cells.append(
            [
                label,
                str(len(found.own)),
                percent(found.population, (0.5, 0.99)),
                percent(found.own, (0.5, 0.99)),
                f"{np.nanmedian(found.times):.0f}",
                *(f"{np.median(one):.0f} / {np.quantile(one, 0.99):.0f}" for one in halves),
            ]
        )
    columns = (
        "one layer",
        ">runs",
        ">output, a of the task %",
        ">output, own moment %",
        ">half-time",
        ">steps off, a of the task",
        ">steps off, own moment",
    )
    below = (
        "output: largest error over the whole run, in units of mu; median / p99 over runs",
        "half-time: median in steps; steps off: median / p99",
    )
    return Grid("Theorem 4.1 against gradient descent", columns, cells, below=below)


def forecast_grid(rows: Sequence[tuple[str, Forecast]]) -> Grid:
    """Forecasts against what happened."""
    cells = []
    for label, found in rows:
        judged = found.judged
        best = Share(int((found.best & judged).sum()), int(judged.sum()))
        why = Counter(_short(one) for one in found.reason if one)
        shown = ", ".join(f"{count} {reason}" for reason, count in why.most_common(3))
        cells.append(
            [
                label,
                f"{int(judged.sum())} of {len(found)}",
                *(percent(found.errors(name), (0.5, 0.9)) for name in ("law", "alone", "ratio")),
                str(best),
                shown,
            ]
        )
    columns = (
        "network",
        ">judged",
        ">law %",
        ">alone %",
        ">ratio %",
        ">law best [95 %]",
        "no forecast, or not of all concepts",
    )
    below = (
        "error in units of the time left at the cut, median / p90 over the later concepts of which"
        " all three forecasts exist",
        "law best: share of the judged runs in which the largest error of the law is the smallest",
    )
    return Grid("Later half-times, forecast from the first stage", columns, cells, below=below)


def _short(reason: str) -> str:
    if "pivot" in reason:
        return "no positive pivot"
    return reason.removeprefix("undecided: ").split(",")[0]
