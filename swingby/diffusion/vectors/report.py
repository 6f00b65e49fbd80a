"""How runs read: a table, and its rows as plain values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from swingby.report import Grid

if TYPE_CHECKING:
    from swingby.diffusion.vectors.result import VectorRun

#: Rows of the table before the rest is summed up.
_MOST_ROWS = 24


def run_grid(run: VectorRun) -> Grid:
    """A table of half-times, descents and losses."""
    first = run.settings[0]
    order, descents = run.order(), run.descents()
    rows = []
    for k in range(min(len(run), _MOST_ROWS)):
        times = " ".join("never" if math.isnan(one) else f"{one:.0f}" for one in run.half_times[k])
        rows.append(
            [
                str(k),
                str(run.settings[k].seed),
                " ".join("-" if one < 0 else str(one + 1) for one in order[k]),
                times,
                "ran away" if descents[k] < 0 else str(descents[k]),
                f"{run.test_loss[k, -1]:.3g}",
            ]
        )
    below = [f"{first.steps} steps of {first.points} points."]
    if len(run) > _MOST_ROWS:
        below.insert(0, f"... and {len(run) - _MOST_ROWS} more.")
    names = ("run", "seed", "order", "half-times (steps)", "descents", "test loss")
    runs = "1 denoiser" if len(run) == 1 else f"{len(run)} denoisers"
    return Grid(
        title=f"{runs}: {first.denoiser}, reads {first.reads}, s = {first.task.s}",
        columns=[f">{name}" for name in names],
        rows=rows,
        below=below,
    )


def run_rows(run: VectorRun) -> Iterator[dict[str, Any]]:
    """One row of plain values per run and concept."""
    descents = run.descents()
    for place, setting in enumerate(run.settings):
        for concept in range(setting.task.s):
            yield {
                "run": place,
                "seed": setting.seed,
                "denoiser": setting.denoiser,
                "reads": setting.reads,
                "concept": concept + 1,
                "mu": float(setting.task.mu[concept]),
                "sigma": float(setting.task.sigma[concept]),
                "half_time": float(run.half_times[place, concept]),
                "descents": int(descents[place]),
                "test_loss": float(run.test_loss[place, -1]),
            }


def storable(row: dict[str, Any]) -> dict[str, Any]:
    """The row as JSON can hold it, which has neither nan nor infinity."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in row.items()
    }
