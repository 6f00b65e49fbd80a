"""Pictures of a comparison: entries and loss over time with predicted marks, and the output."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from swingby.report.pictures import (
    COLORS,
    Size,
    draw_entries,
    drawn,
    finish_entries,
    new_figure,
    save_figure,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from swingby.verify.checking.report import Report
    from swingby.verify.compare import Comparison
    from swingby.verify.schedule import Schedule


def draw_comparison(comparison: Comparison, ax: Axes) -> None:
    """Major and minor entries and the test loss over time, predicted stage times as marks.

    Major entries are solid, minor entries dashed; the test loss is black, in units of its
    start. A wide pale line of the same colour is the predicted composite, a triangle the predicted
    half-time, with its error bar.
    """
    run, schedule = comparison.run, comparison.schedule
    order = [k for k in run.task.order if run.task.exact_signal[k] > 0]
    # Ten decades of waiting before anything moves would hide the stages on a log axis.
    first, last = _span(comparison)
    shown = (run.steps >= first) & (run.steps <= last)
    loss = run.test_loss[shown] / run.test_loss[0]
    draw_entries(ax, np.maximum(run.steps[shown], first), run.W[shown], order, loss)
    _draw_prediction(ax, schedule, order, first, last, float(run.test_loss[0]))
    for row in comparison.rows:
        if row.event.startswith("loss") and math.isfinite(row.predicted):
            ax.axvline(row.predicted, color="black", linewidth=0.6, linestyle=":", zorder=0)
    ax.plot([], [], color="0.5", linewidth=3.2, alpha=0.4, label="predicted curve")
    ax.plot([], [], "v", color="0.35", markersize=6, label="predicted half-time")
    ax.plot([], [], ":", color="black", linewidth=0.8, label="predicted turn of the loss")
    low = float(np.nanmin(np.clip(run.W[shown], -0.4, 0)))
    finish_entries(ax, first, last, comparison.title, low)


def _draw_prediction(
    ax: Axes, schedule: Schedule, order: Sequence[int], first: float, last: float, start: float
) -> None:
    """The predicted composite where there is one, and half-times with their bars."""
    if schedule.stages is not None:
        grid = np.unique(np.geomspace(first, last, 400))
        loss = schedule.test_loss(grid) / start
        draw_entries(ax, grid, schedule.evaluate(grid), order, loss, faint=True)
    for k, color in zip(order, itertools.cycle(COLORS), strict=False):
        time = schedule.half_times[k]
        if math.isfinite(time) and first <= time <= last:
            early, late = np.abs(schedule.spread[:, k] - time)
            width = schedule.error[k] if math.isfinite(schedule.error[k]) else 0.0
            ax.errorbar(
                [time],
                [0.5],
                xerr=[[min(max(width, early), time)], [max(width, late)]],
                color=color,
                marker="v",
                markersize=6,
                markeredgecolor="white",
                markeredgewidth=0.6,
                capsize=2,
                zorder=5,
            )


def draw_schedule(schedule: Schedule, ax: Axes) -> None:
    """The predicted entries and test loss, and each half-time with its bar or its quantiles."""
    order = [k for k in schedule.task.order if schedule.task.exact_signal[k] > 0]
    times = schedule.spread[np.isfinite(schedule.spread)]
    first = max(1.0, float(times.min(initial=np.inf)) / 8) if times.size else 1.0
    last = max(2 * first, 1.5 * float(times.max(initial=first)))
    start = 1.0 if schedule.stages is None else float(schedule.test_loss(np.zeros(1))[0])
    _draw_prediction(ax, schedule, order, first, last, start)
    for k, color in zip(order, itertools.cycle(COLORS), strict=False):
        ax.plot([], [], "v-", color=color, label=f"$w_{{{k + 1}{k + 1}}}$")
    if schedule.stages is not None:
        ax.plot([], [], color="black", alpha=0.3, linewidth=3.2, label="test loss / start")
    finish_entries(ax, first, last, f"predicted, {schedule.dynamics}")


def plot_report(report: Report, ax: Axes | None = None, size: Size = None) -> Axes:
    """The margin of each assumption, in decades of slack: inside to the right of 0.

    An infinite margin ends at the edge, and its verdict is written there.
    """
    rows = list(report)[::-1]
    finite = [abs(float(row.margin)) for row in rows if math.isfinite(float(row.margin))]
    edge = 1.25 * max([1.0, *finite])
    colors = {"holds": COLORS[2], "fails": COLORS[1], "undecided": COLORS[5]}

    def draw(axes: Axes) -> None:
        for place, row in enumerate(rows):
            margin = float(row.margin)
            shown = 0.0 if math.isnan(margin) else max(-edge, min(edge, margin))
            axes.barh(place, shown, color=colors[str(row.verdict)], height=0.6)
            if not math.isfinite(margin):
                side = "left" if shown <= 0 else "right"
                axes.text(0, place, f"  {row.verdict}  ", ha=side, va="center")
        axes.axvline(0, color="black", linewidth=0.8)
        axes.set_yticks(range(len(rows)), [row.id for row in rows])
        axes.set_xlim(-edge, edge)
        axes.set_xlabel("margin: decades of slack")
        axes.set_title(f"{report.edition} edition: {report.verdict}")

    return drawn(draw, ax, size)


def _span(comparison: Comparison) -> tuple[float, float]:
    run = comparison.run
    times = [row.observed for row in comparison.rows if row.event in ("half", "peak")]
    times += [row.predicted for row in comparison.rows if row.event == "half"]
    finite = [time for time in times if math.isfinite(time) and time > 0]
    first = max(1.0, min(finite, default=1.0) / 8)
    end = float(run.end) * 1.5 if run.end is not None else float(run.last_step)
    return first, max(min(float(run.last_step), end), 2 * first)


def _draw_output(comparison: Comparison, ax: Axes) -> None:
    """The output trajectory in the plane of the two strongest concepts, with the test point."""
    run, schedule = comparison.run, comparison.schedule
    concepts = [k for k in run.task.order if k < run.task.s]
    if len(concepts) < 2:
        ax.set_axis_off()
        return
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


def save_comparison(comparison: Comparison, path: str | Path) -> None:
    """Entries and loss on the left, output trajectory on the right, as a .png, .pdf or .svg."""

    def figure() -> Figure:
        with styled():
            made = new_figure(10.4, 3.6)
            left, right = made.subplots(1, 2, width_ratios=[1.75, 1])
            draw_comparison(comparison, left)
            _draw_output(comparison, right)
        return made

    save_figure(figure, path)
