"""Pictures of training runs: output trajectories, and losses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.report.pictures import COLORS, styled
from swingby.report.pictures import shown_figure as new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from swingby.training.result import TrainingRun

#: Networks that are told apart by colour and named; more are drawn alike, as a bundle.
_MOST_NAMED = len(COLORS)
#: Marks along a trajectory, at equal intervals of time.
_MARKS = 41
_DASHED = (0, (4, 2))


def plot_trajectories(run: TrainingRun, ax: Axes | None) -> Axes:
    """Output at the test point in the plane of the first two concepts.

    Raises
    ------
    InvalidInput
        With a single concept.
    """
    if run.points.shape[2] < 2:
        raise InvalidInput("plot", "one concept", "needs two concepts to span a plane")
    with styled():
        if ax is None:
            ax = new_figure(4.4, 4.4).add_subplot()
        marks = _even(run.steps)
        for k in range(len(run)):
            path = run.output[k, :, -1, :2]
            color, strength, name = _line(run, k)
            ax.plot(*path.T, color=color, lw=1.0, alpha=strength)
            if name:
                ax.plot([], [], color=color, lw=1.2, label=name)
            if len(run) <= _MOST_NAMED:
                ax.plot(*path[marks].T, ls="none", marker="o", ms=2.4, color=color)
        for place, point in enumerate(np.unique(run.points[:, -1, :2], axis=0)):
            known = place == 0
            corners = [[point[0], 0.0], [0.0, point[1]]]
            corners += [[0.0, 0.0]] if run.settings[0].data.center_cluster else []
            ax.plot(
                *np.transpose(corners),
                ls="none",
                marker="o",
                ms=7,
                mfc="none",
                mec="0.35",
                label="training clusters" if known else None,
                zorder=4,
            )
            ax.plot(
                *point,
                ls="none",
                marker="*",
                ms=11,
                color="black",
                label="test point" if known else None,
                zorder=5,
            )
        ax.set_aspect("equal", adjustable="datalim")
        ax.set_xlabel("output along concept 1")
        ax.set_ylabel("output along concept 2")
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3)
    return ax


def plot_losses(run: TrainingRun, ax: Axes | None) -> Axes:
    """Test loss (lines) and training loss (dashed) against epochs."""
    with styled():
        if ax is None:
            ax = new_figure(5.2, 3.4).add_subplot()
        epochs = run.train_loss_steps / run.settings[0].steps_per_epoch
        for k in range(len(run)):
            color, strength, name = _line(run, k)
            under = COLORS[1] if len(run) > _MOST_NAMED else color
            ax.plot(run.epochs, run.test_loss[k], color=color, alpha=strength, lw=1.2)
            ax.plot(epochs, run.train_loss[k], color=under, alpha=strength, lw=1.0, ls=_DASHED)
            if name and len(run) <= _MOST_NAMED:
                ax.plot([], [], color=color, lw=1.2, label=name)
        bundle = len(run) > _MOST_NAMED
        first, second = COLORS[:2] if bundle else ("0.4", "0.4")
        ax.plot([], [], color=first, lw=1.2, label="at the test point")
        ax.plot([], [], color=second, lw=1.0, ls=_DASHED, label="on the training set")
        ax.set_yscale("log")
        ax.set_xlabel("epoch" if run.settings[0].points else "step")
        ax.set_ylabel("loss (2.1)")
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3)
    return ax


def run_figure(run: TrainingRun) -> Figure:
    """Trajectories on the left where there is a plane to draw them in, losses on the right."""
    with styled():
        if run.points.shape[2] < 2:
            figure = new_figure(5.2, 3.6)
            plot_losses(run, figure.add_subplot())
            return figure
        figure = new_figure(9.6, 4.6)
        left, right = figure.subplots(1, 2)
        plot_trajectories(run, left)
        plot_losses(run, right)
    return figure


def _line(run: TrainingRun, k: int) -> tuple[str, float, str | None]:
    """Colour, opacity and name of a network."""
    if len(run) > _MOST_NAMED:
        name = f"{len(run)} networks" if k == 0 else None
        return COLORS[0], max(0.12, 3.0 / len(run)), name
    setting = run.settings[k]
    seeds = {one.seed for one in run.settings}
    name = f"seed {setting.seed}" if len(seeds) == len(run) else f"network {k}"
    return COLORS[k], 1.0, name


def _even(steps: Any) -> Any:
    """Places at about equal intervals of time, whatever was kept."""
    wanted = np.linspace(0, steps[-1], _MARKS)
    return np.unique(np.searchsorted(steps, wanted).clip(max=len(steps) - 1))
