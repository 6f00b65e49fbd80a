"""The panels of a phase diagram over one quantity: stacked shares, and numbers as points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from swingby.sweeping.phases.panels import MEASURES, scale_of
from swingby.sweeping.phases.style import FAILED, style_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from swingby.sweeping.phases.diagram import PhaseDiagram

#: Of points and their pixels.
BLUE = "#00699E"


def stack_labels(diagram: PhaseDiagram, which: str, ax: Axes) -> None:
    """Shares of the labels on top of each other; failed points grey, missing ones left open."""
    cells = diagram.cells
    counts = cells.predicted if which == "predicted" else cells.observed
    total = np.maximum(cells.done + cells.failed + cells.missing, 1)
    edges = np.array(diagram.x.edges)
    foot = np.zeros(diagram.shape)
    parts = [(style_of(name), counts[:, place]) for place, name in enumerate(cells.labels)]
    for style, count in [*parts, (FAILED, cells.failed)]:
        if not count.any():
            continue
        share = count / total
        ax.bar(
            edges[:-1],
            share,
            np.diff(edges),
            bottom=foot,
            align="edge",
            color=style.color,
            edgecolor=style.ink,
            hatch=style.hatch,
            linewidth=0,
        )
        foot = foot + share
    ax.set_ylim(0, 1)
    ax.set_ylabel("share of points")


def draw_points(diagram: PhaseDiagram, name: str, ax: Axes) -> None:
    """A number per value of the quantity, a bar as wide as its pixel."""
    from matplotlib.ticker import MaxNLocator

    measure = MEASURES[name]
    values = measure.values(diagram.cells)
    norm, _, _ = scale_of(measure.kind, values)
    low, high = float(norm.vmin), float(norm.vmax)
    edges = np.array(diagram.x.edges)
    if measure.kind == "margin":
        ax.set_yscale("log")
        ax.axhline(1, color="black", linewidth=1.0, zorder=1)
        ax.set_ylim(low, high)
    else:
        ax.set_ylim(low - 0.04 * (high - low), high + 0.04 * (high - low))
    if measure.kind == "count":
        ax.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    shown = np.clip(values, low, high)
    ax.hlines(shown, edges[:-1], edges[1:], color=BLUE, linewidth=1.2, zorder=2)
    for sign, here in (
        ("o", (values >= low) & (values <= high)),
        ("v", values < low),
        ("^", values > high),
    ):
        places = np.array(diagram.x.places)[here]
        if len(places):  # an empty line without clipping would take room at the corner
            ax.plot(places, shown[here], sign, color=BLUE, markersize=4, zorder=3, clip_on=False)
