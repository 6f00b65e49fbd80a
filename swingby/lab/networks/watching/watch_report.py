"""What a watch prints: a row for each component, with its forecasts and how they came out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from swingby.lab.networks.watching.watched_training import WatchedTraining
from swingby.report import Grid
from swingby.report.number_text import counted

#: So many forecasts of a component are written out.
_MOST_FORECASTS = 4
#: How a grade introduces itself.
_TITLES = {
    "law": "law: that of linear chains under SGD",
    "copy": "copy: coarse copies of this training, no theory",
    "none": "none: no forecast, only what was learned",
}


def watch_grid(watch: WatchedTraining) -> Grid:
    """The table of a watch."""
    rows = []
    shares = watch.shares[-1]
    for k, learned in enumerate(watch.learned):
        phrases = [forecast.phrase(k, learned) for forecast in watch.forecasts]
        phrases = _shortened([phrase for phrase in phrases if phrase])
        silent = watch.grade != "none" and math.isnan(learned) and not phrases
        rows.append(
            [
                str(k + 1),
                f"{100 * watch.explained[k]:.3g} %",
                f"{shares[k]:.3g}",
                learned_text(watch, k),
                "; ".join(phrases) if phrases else "not within the horizon" if silent else "-",
            ]
        )
    above = [_TITLES[watch.grade]]
    if watch.reason:
        above.append(f"Why: {watch.reason}.")
    where = f"Step {watch.step}{', closed' if watch.closed else ''}"
    above.append(f"{where}; learned: first step with a share of {watch.level:g} or more.")
    below = [f"{note[0].upper()}{note[1:]}." for note in watch.notes]
    if omitted := watch.omitted:
        each = "explains" if omitted == 1 else "each explain"
        below.append(f"{counted(omitted, 'further component')} {each} less than 0.1 %.")
    columns = [">component", ">explains", ">share now", ">learned at", "forecasts"]
    return Grid("Watch", columns, rows, above=above, below=below)


def _shortened(phrases: list[str]) -> list[str]:
    """The first and the last of many forecasts, and how many there are between them."""
    if len(phrases) <= _MOST_FORECASTS:
        return phrases
    between = counted(len(phrases) - _MOST_FORECASTS + 1, "forecast")
    return [phrases[0], f"{between} more", *phrases[2 - _MOST_FORECASTS :]]


def learned_text(watch: WatchedTraining, k: int) -> str:
    """The step at which a component was learned, or the steps between which it was."""
    learned, before = watch.learned[k], watch.not_before[k]
    if math.isnan(learned):
        return "-"
    if learned - before > 1 and before >= 0:
        return f"{before + 1:.0f} to {learned:.0f}"
    return f"{learned:.0f}"


def watch_records(watch: WatchedTraining) -> list[Mapping[str, Any]]:
    """A row for each component and forecast, and one for components without."""
    return list(_records(watch))


def _records(watch: WatchedTraining) -> Iterator[Mapping[str, Any]]:
    shares = watch.shares[-1]
    for k, learned in enumerate(watch.learned):
        common = {
            "component": k + 1,
            "explained": watch.explained[k],
            "share": shares[k],
            "learned": learned,
            "not_before": watch.not_before[k],
        }
        nothing = {"grade": "none", "made_at": math.nan, "forecast": math.nan, "error": math.nan}
        nothing |= {"void_from": math.nan, "off_by": math.nan, "inside": None}
        # What is made once a component is learned says nothing of it.
        forecasts = [made for made in watch.forecasts if not learned <= made.made_at]
        if not forecasts:
            yield common | nothing
        for forecast in forecasts:
            answerable = bool(forecast.compared(watch.learned)[k])
            void = forecast.void_from
            yield common | {
                "grade": forecast.grade,
                "made_at": forecast.made_at,
                "forecast": forecast.half_times[k],
                "error": forecast.error[k],
                "void_from": math.nan if void is None else void,
                "off_by": forecast.half_times[k] - learned if answerable else math.nan,
                "inside": bool(forecast.inside(watch.learned)[k]) if answerable else None,
            }
