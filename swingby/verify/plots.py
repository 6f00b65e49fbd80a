"""Pictures of a comparison: entries and loss over time with predicted marks, and the output."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.report.pictures import (
    COLORS,
    DASHES,
    new_figure,
    save_figure,
    shown_figure,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from swingby.verify.compare import Comparison


def plot_comparison(comparison: Comparison, ax: Axes | None = None) -> Axes:
    """Major and minor entries and the test loss over time, predicted stage times as marks.

    Major entries are solid, minor entries dashed; the test loss is black, in units of its
    start. A thin line of the same colour is the predicted composite, a triangle on the axis
    the predicted half-time, with its error bar.
    """
    with styled():
        if ax is None:
            ax = shown_figure(6.4, 3.6).add_subplot()
        _draw_entries(comparison, ax)
    return ax


def _draw_entries(comparison: Comparison, ax: Axes) -> None:
    run, schedule = comparison.run, comparison.schedule
    order = [k for k in run.task.order if run.task.exact_signal[k] > 0]
    # Ten decades of waiting before anything moves would hide the stages on a log axis.
    first, last = _span(comparison)
    shown = (run.steps >= first) & (run.steps <= last)
    steps = np.maximum(run.steps[shown], first)
    grid = np.unique(np.geomspace(first, last, 400))
    composite = schedule.evaluate(grid) if schedule.stages is not None else None

    def draw(values: Any, predicted: Any, color: str, dash: Any, label: str) -> None:
        ax.plot(steps, values, color=color, linestyle=dash, label=label)
        if predicted is not None:
            ax.plot(grid, predicted, color=color, linewidth=3.2, alpha=0.25, zorder=1)

    colors = itertools.cycle(COLORS)
    for k in order:
        color = next(colors)
        predicted = None if composite is None else composite[:, k, k]
        draw(run.W[shown, k, k], predicted, color, "-", f"$w_{{{k + 1}{k + 1}}}$")
        time, bar = schedule.half_times[k], schedule.error[k]
        if math.isfinite(time) and first <= time <= last:
            width = bar if math.isfinite(bar) else 0.0
            ax.errorbar(
                [time],
                [0.5],
                xerr=[[min(width, time)], [width]],
                color=color,
                marker="v",
                markersize=6,
                markeredgecolor="white",
                markeredgewidth=0.6,
                capsize=2,
                zorder=5,
            )
    for (left, right), dash in zip(
        itertools.combinations(sorted(order), 2), itertools.cycle(DASHES[1:])
    ):
        predicted = None if composite is None else composite[:, left, right]
        draw(
            run.W[shown, left, right],
            predicted,
            next(colors),
            dash,
            f"$w_{{{left + 1}{right + 1}}}$",
        )
    loss = run.test_loss[shown]
    start = run.test_loss[0]
    ax.plot(steps, loss / start, color="black", linewidth=1.1, label="test loss / start")
    for row in comparison.rows:
        if row.event.startswith("loss") and math.isfinite(row.predicted):
            ax.axvline(row.predicted, color="black", linewidth=0.6, linestyle=":", zorder=0)
    if schedule.stages is not None:
        predicted_loss = schedule.test_loss(grid) / start
        ax.plot(grid, predicted_loss, color="black", linewidth=3.2, alpha=0.18, zorder=1)
    ax.set_xscale("log")
    ax.set_xlim(first, last)
    ax.set_ylim(min(-0.05, float(np.nanmin(np.clip(run.W[shown], -0.4, 0))) - 0.03), 1.12)
    ax.set_xlabel("step")
    ax.set_ylabel("entry of W, loss / start")
    ax.set_title(comparison.title.replace("^2", "\N{SUPERSCRIPT TWO}"))
    ax.plot([], [], color="0.5", linewidth=3.2, alpha=0.4, label="predicted curve")
    ax.plot([], [], "v", color="0.35", markersize=6, label="predicted half-time")
    ax.plot([], [], ":", color="black", linewidth=0.8, label="predicted turn of the loss")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=2.6)


def _span(comparison: Comparison) -> tuple[float, float]:
    run = comparison.run
    times = [row.observed for row in comparison.rows if row.event in ("half", "peak")]
    times += [row.predicted for row in comparison.rows if row.event == "half"]
    finite = [time for time in times if math.isfinite(time) and time > 0]
    first = max(1.0, min(finite, default=1.0) / 8)
    end = float(run.end) * 1.5 if run.end is not None else float(run.last_step)
    return first, max(min(float(run.last_step), end), 2 * first)


def plot_output(comparison: Comparison, ax: Axes) -> Axes:
    """The output trajectory in the plane of the two strongest concepts, with the test point."""
    run, schedule = comparison.run, comparison.schedule
    concepts = [k for k in run.task.order if k < run.task.s]
    if len(concepts) < 2:
        ax.set_axis_off()
        return ax
    across, up = sorted(concepts[:2])
    point = run.task.test_point
    output = run.output[np.isfinite(run.output).all(axis=1)]
    ax.plot(output[:, across], output[:, up], color=COLORS[1], label="observed")
    if schedule.stages is not None:
        grid = np.concatenate([[0.0], np.geomspace(1, max(run.last_step, 2), 600)])
        predicted = schedule.evaluate(grid) @ point
        ax.plot(
            predicted[:, across],
            predicted[:, up],
            color=COLORS[1],
            linewidth=3.4,
            alpha=0.25,
            label="predicted",
            zorder=1,
        )
    corners = np.array([[0, 0], [point[across], 0], [0, point[up]]])
    ax.plot(corners[1:, 0], corners[1:, 1], "o", color=COLORS[0], label="training clusters")
    ax.plot(point[across], point[up], "*", color="black", markersize=10, label="test point")
    ax.set_xlabel(f"output along concept {across + 1}")
    ax.set_ylabel(f"output along concept {up + 1}")
    ax.set_xlim(-0.08 * point[across], 1.17 * point[across])
    ax.set_ylim(-0.08 * point[up], 1.25 * point[up])
    ax.legend(loc="best")
    return ax


def comparison_figure(comparison: Comparison) -> Figure:
    """Entries and loss on the left, output trajectory on the right."""
    with styled():
        figure = new_figure(10.4, 3.6)
        left, right = figure.subplots(1, 2, width_ratios=[1.75, 1])
        _draw_entries(comparison, left)
        plot_output(comparison, right)
    return figure


def save_comparison(comparison: Comparison, path: str | Path) -> None:
    """Write :func:`comparison_figure` to a .png, .pdf or .svg."""
    save_figure(lambda: comparison_figure(comparison), path)
