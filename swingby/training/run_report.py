"""How training runs look: a table to read, and output trajectories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.verify.plots import COLORS, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from swingby.training.result import TrainingRun

#: Rows of the table before the rest is summed up.
_MOST_ROWS = 24


def as_text(run: TrainingRun) -> str:
    """A table of half-times, descents and losses.

    Parameters
    ----------
    run : TrainingRun

    Returns
    -------
    str
    """
    from rich.console import Console
    from rich.table import Table

    first = run.settings[0]
    network, chosen = first.network, first.optimizer
    shape = "U U^T" if network.symmetric else f"{network.depth} layer(s), {network.activation}"
    title = (
        f"{len(run)} networks: {shape}, d = {first.task.dim}; {chosen.kind}, lr {chosen.lr:g},"
        f" {chosen.loss} loss, {int(run.steps[-1])} steps ({first.steps_per_epoch} an epoch)"
    )
    table = Table(box=None, pad_edge=False)
    names = ("network", "seed", "order", "half-times (epochs)", "descents", "test loss")
    for name in (*names, "train loss"):
        table.add_column(name, justify="right")
    order, descents = run.order(), run.descents()
    for k in range(min(len(run), _MOST_ROWS)):
        times = run.half_times[k] / run.settings[k].steps_per_epoch
        table.add_row(
            str(k),
            str(run.settings[k].seed),
            " ".join("-" if one < 0 else str(one + 1) for one in order[k]),
            " ".join("never" if np.isnan(one) else f"{one:.3f}" for one in times),
            str(descents[k]),
            f"{run.test_loss[k, -1]:.3g}",
            f"{run.train_loss[k, -1]:.3g}",
        )
    console = Console(width=110)
    with console.capture() as caught:
        console.print(table)
    text = f"{title}\n{caught.get().rstrip()}"
    if len(run) > _MOST_ROWS:
        text += f"\n... and {len(run) - _MOST_ROWS} more networks"
    return text


def plot_trajectories(run: TrainingRun, ax: Axes | None) -> Axes:
    """Output at the test point in the plane of the first two concepts.

    Parameters
    ----------
    run : TrainingRun
    ax : matplotlib Axes or None

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InvalidInput
        With a single concept.
    """
    if run.points.shape[2] < 2:
        raise InvalidInput("plot", "one concept", "needs two concepts to span a plane")
    with styled():
        if ax is None:
            ax = new_figure(3.6, 3.4).add_subplot()
        for k in range(len(run)):
            path = run.output[k, :, -1, :2]
            color = COLORS[k % len(COLORS)]
            ax.plot(*path.T, color=color, lw=1.0)
            ax.plot(*path[_even(path)].T, ls="none", marker="o", ms=2.2, color=color)
        for point in _distinct(run.points[:, -1, :2]):
            ax.plot(*point, marker="*", ms=9, color="black", ls="none")
        ax.set_xlabel("output along concept 1")
        ax.set_ylabel("output along concept 2")
    return ax


def _even(path: Any) -> Any:
    return np.linspace(0, len(path) - 1, min(len(path), 41)).round().astype(int)


def _distinct(points: Any) -> Any:
    return np.unique(points, axis=0)
