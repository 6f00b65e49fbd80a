"""How training runs read: a table, and its rows as plain values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.report import Grid

if TYPE_CHECKING:
    from swingby.training.result import TrainingRun

#: Rows of the table before the rest is summed up.
_MOST_ROWS = 24


def run_grid(run: TrainingRun) -> Grid:
    """A table of half-times, descents and losses."""
    first = run.settings[0]
    networks = "1 network" if len(run) == 1 else f"{len(run)} networks"
    title = f"{networks}: {_shared(run, _shape)}; {_shared(run, _steps)}"
    order, descents, outcomes = run.order(), run.descents(), run.outcomes
    rows = []
    for k in range(min(len(run), _MOST_ROWS)):
        times = run.half_times[k] / run.settings[k].steps_per_epoch
        rows.append(
            [
                str(k),
                str(run.settings[k].seed),
                outcomes[k],
                " ".join("-" if one < 0 else str(one + 1) for one in order[k]),
                " ".join("never" if np.isnan(one) else f"{one:.3f}" for one in times),
                str(descents[k]),
                f"{run.test_loss[k, -1]:.3g}",
                f"{run.train_loss[k, -1]:.3g}",
            ]
        )
    below = [f"{int(run.steps[-1])} steps, {first.steps_per_epoch} to an epoch."]
    if len(run) > _MOST_ROWS:
        below.insert(0, f"... and {len(run) - _MOST_ROWS} more networks.")
    if len(run) > 1:
        below.append(_summary(run))
    names = ("network", "seed", "outcome", "order", "half-times (epochs)", "descents", "test loss")
    columns = [f">{name}" for name in (*names, "train loss")]
    return Grid(title=title, columns=columns, rows=rows, below=below)


def run_rows(run: TrainingRun) -> Iterator[dict[str, Any]]:
    """One row of plain values per network and concept."""
    descents, outcomes = run.descents(), run.outcomes
    for place, setting in enumerate(run.settings):
        for concept in range(setting.task.s):
            half = float(run.half_times[place, concept])
            yield {
                "network": place,
                "seed": setting.seed,
                "outcome": outcomes[place],
                "concept": concept + 1,
                "mu": float(setting.task.mu[concept]),
                "sigma": float(setting.task.sigma[concept]),
                "half_time": half,
                "half_time_epochs": half / setting.steps_per_epoch,
                "descents": int(descents[place]),
                "test_loss": float(run.test_loss[place, -1]),
                "train_loss": float(run.train_loss[place, -1]),
            }


def storable(row: dict[str, Any]) -> dict[str, Any]:
    """The row as JSON can hold it, which has neither nan nor infinity.

    Parameters
    ----------
    row : dict
        Of numbers and words.
    """
    return {
        key: value if isinstance(value, str) or math.isfinite(value) else None
        for key, value in row.items()
    }


def _shared(run: TrainingRun, words: Any) -> str:
    """What is said of all networks, or that they differ."""
    found = sorted({words(one) for one in run.settings})
    return found[0] if len(found) == 1 else f"{len(found)} kinds, first {words(run.settings[0])}"


def _shape(setting: Any) -> str:
    network = setting.network
    layers = "1 layer" if network.depth == 1 else f"{network.depth} layers"
    kind = "U U^T" if network.symmetric else f"{layers}, {network.activation}"
    return f"{kind}, d = {setting.task.dim}"


def _steps(setting: Any) -> str:
    chosen = setting.optimizer
    return f"{chosen.kind}, lr {chosen.lr:g}, {chosen.loss} loss"


def _summary(run: TrainingRun) -> str:
    """Mean half-times over the networks that have them."""
    steps = np.array([one.steps_per_epoch for one in run.settings])[:, None]
    times = run.half_times / steps
    shown = []
    for concept, column in enumerate(times.T, 1):
        known = column[~np.isnan(column)]
        if known.size:
            spread = f" \N{PLUS-MINUS SIGN} {known.std(ddof=1):.3f}" if known.size > 1 else ""
            shown.append(f"{concept}: {known.mean():.3f}{spread} ({known.size} of {len(times)})")
        else:
            shown.append(f"{concept}: never")
    return f"Half-times by concept, mean and spread: {'; '.join(shown)}."


def as_text(run: TrainingRun, *, width: int = 110, color: bool = False) -> str:
    """The table of :func:`run_grid` for a terminal."""
    return run_grid(run).to_text(width=width, color=color)
