"""How a Survival looks: a row per outcome, or per cell."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from swingby.report import Grid
from swingby.training import judging as rules

if TYPE_CHECKING:
    from swingby.training.judging import Outcome
    from swingby.training.survival import Survival

_DEFINITIONS = (
    f"holds: the 95 % Wilson interval of the share of runs as predicted lies above"
    f" {rules.THRESHOLD}; fails: below; else undecided",
    "order: all concepts in the predicted order; descents: number of falls of the test loss by"
    f" {100 * rules.SWING:.0f} % of its start",
    f"transient: whether a minor entry of the Jacobian reaches {rules.TRANSIENT}; size: the"
    f" largest one, within {100 * rules.NEAR:.0f} %",
    f"times: all half-times of a run within {100 * rules.NEAR:.0f} %, after one factor per cell",
    "control: share of runs that match the prediction for another run (order: a random order);"
    " * where that is as good: nothing was at stake",
    "typical W(0): share of runs with two descents or more (with a transient), against the share"
    f" that the theory gives (as control), within {rules.TOLERANCE}",
)


def survival_grid(found: Survival) -> Grid:
    """A row per cell and prediction."""
    columns = ("network", "prediction", "from", ">share [95 %]", ">control", "verdict", "")
    rows = [
        [
            one.cell,
            one.prediction,
            one.source,
            str(one.share),
            "-" if math.isnan(one.control) else f"{one.control:.2f}",
            _verdict(one),
            one.note,
        ]
        for one in found.outcomes
    ]
    return Grid("What survives, in full", columns, rows, below=_DEFINITIONS)


def overview_grid(found: Survival) -> Grid:
    """A row per cell."""
    cells = list(dict.fromkeys(one.cell for one in found.outcomes))
    known = {(one.cell, one.prediction): one for one in found.outcomes}
    rows = []
    for cell in cells:
        row = [cell, known[cell, "order"].source]
        for prediction in rules.PREDICTIONS:
            one = known.get((cell, prediction))
            row.append("-" if one is None else _short(one))
        rows.append([*row, known[cell, "times"].note])
    columns = ("network", "from", *rules.PREDICTIONS, "half-times")
    return Grid("What survives", columns, rows, below=_DEFINITIONS)


def _verdict(one: Outcome) -> str:
    return str(one.verdict) + ("" if one.risky else "*")


def _short(one: Outcome) -> str:
    typical = one.source == "typical W(0)" and one.prediction in ("descents", "transient")
    if typical:
        return f"{_verdict(one)} {one.share.value:.2f} ({one.control:.2f})"
    return f"{_verdict(one)} {one.share.value:.2f}"
