"""The picture of a watch: shares, forecasts with bars, the loss and its staircase."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from swingby.lab.networks.watching.watched_training import WatchedTraining
from swingby.report.picture_style import COLORS, legend_above
from swingby.theory.numbers import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_watch(watch: WatchedTraining, ax: Axes) -> None:
    """Shares a_k and the loss over steps; each forecast of a half-time at the level, with its bar.

    Forecasts that became void are pale. The staircase is the loss if each component were learned
    at once when the last forecast says so.
    """
    steps = watch.steps
    last = float(max(steps[-1], 1))
    for k, color in zip(range(len(watch.learned)), itertools.cycle(COLORS), strict=False):
        name = f"component {k + 1} ({100 * watch.explained[k]:.2g} %)"
        label = name if k < len(COLORS) else "_"  # colours repeat from here on
        ax.plot(steps, watch.shares[:, k], color=color, label=label)
        for forecast in watch.forecasts:
            if not np.isfinite(forecast.half_times[k]):
                continue
            last = max(last, float(forecast.half_times[k]))
            ax.errorbar(
                forecast.half_times[k],
                watch.level,
                xerr=forecast.error[k],
                color=color,
                marker="o",
                ms=4,
                mfc="white",
                capsize=2,
                lw=1.0,
                alpha=1.0 if forecast.void_from is None else 0.3,
                zorder=5,
            )
    ax.axhline(watch.level, color="0.7", lw=0.6, zorder=0)
    loss = watch.train_loss / watch.train_loss[0]
    ax.plot(steps, loss, color="black", lw=1.1, label="loss / start")
    stairs = staircase(watch)
    if stairs is not None:
        ax.step(*stairs, where="post", color="black", lw=0.9, ls="--", label="staircase")
        last = max(last, float(stairs[0][-1]))
    ax.set(xlim=(0, 1.05 * last), ylim=(min(-0.05, float(watch.shares.min())), 1.12))
    ax.set(xlabel="step", ylabel="share, loss / start", title=f"Watch: {watch.grade}")
    if not legend_above(ax):
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def staircase(watch: WatchedTraining) -> tuple[Floats, Floats] | None:
    """Steps and losses over the start, where the loss is a multiple of the squared error.

    Of the last forecast; components that it does not time, and those it came too late for, fall
    when they were learned.
    """
    falls = watch.falls
    if falls is None or not watch.forecasts:
        return None
    times = np.where(np.isnan(watch.learned), watch.forecasts[-1].half_times, watch.learned)
    forecast = watch.forecasts[-1].half_times
    times = np.where(np.isfinite(forecast), forecast, times)
    order = [int(k) for k in np.argsort(times, kind="stable") if np.isfinite(times[k])]
    start = float(watch.train_loss[0])
    losses = start - np.cumsum([0.0, *(falls[k] for k in order)])
    return np.array([0.0, *(times[k] for k in order)]), losses / start
