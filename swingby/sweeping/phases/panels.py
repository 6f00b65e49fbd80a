"""The panels of a phase diagram, over two quantities: pixels of a grid, or signs of draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.sweeping.labels import Label
from swingby.sweeping.phases.marks import failures, hatch, outline, pixels, signs
from swingby.sweeping.phases.style import FAILED, NOTHING, PALE, PALEST, mixed, style_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from swingby.sweeping.phases.cells import Cells
    from swingby.sweeping.phases.diagram import PhaseDiagram

    Floats = NDArray[np.float64]
    Booleans = NDArray[np.bool_]

#: Ends of the colours of a margin.
MARGINS = (0.01, 1e4)


@dataclass(frozen=True)
class Measure:
    """A number per pixel.

    Parameters
    ----------
    title : str
    values : callable
        From the cells to the numbers.
    kind : {"share", "margin", "count"}
    colors : str
        Name of a colour map of matplotlib, from light to dark.
    """

    title: str
    values: Callable[[Cells], Floats]
    kind: str
    colors: str


MEASURES = {
    "disagreement": Measure(
        "disagreement, share of decided", lambda cells: cells.disagreement, "share", "OrRd"
    ),
    "margin": Measure("predicted margin, median", lambda cells: cells.margin, "margin", "YlGnBu"),
    "least_margin": Measure(
        "predicted margin, least", lambda cells: cells.least_margin, "margin", "YlGnBu"
    ),
    "predicted_swing_by": Measure(
        "swing-by predicted, share", lambda cells: cells.predicted_swing_by, "share", "BuPu"
    ),
    "swing_by": Measure("swing-by observed, share", lambda cells: cells.swing_by, "share", "BuPu"),
    "predicted_descents": Measure(
        "descents predicted, mean", lambda cells: cells.predicted_descents, "count", "YlGn"
    ),
    "descents": Measure("descents observed, mean", lambda cells: cells.descents, "count", "YlGn"),
    "trapped": Measure(
        "trapped, share", lambda cells: cells.share("observed", Label.TRAPPED), "share", "PuBu"
    ),
    "diverged": Measure(
        "diverged, share", lambda cells: cells.share("observed", Label.DIVERGED), "share", "RdPu"
    ),
}
LABELS = {"predicted": "predicted label", "observed": "observed label"}


def draw_labels(diagram: PhaseDiagram, which: str, ax: Axes) -> None:
    """The most common label of every pixel, paler the more its points differ."""
    cells = diagram.cells
    label, share = cells.majority(which)
    colors = np.ones((*diagram.shape, 3))
    # A share of one in two of two labels is as mixed as can be.
    keep = PALEST + (1 - PALEST) * np.clip(2 * share - 1, 0, 1)
    for place, name in enumerate(cells.labels):
        here = label == place
        colors[here] = mixed(style_of(name).color, keep[here])
    colors[(cells.done == 0) & (cells.failed > 0)] = mixed(FAILED.color, 1)
    if diagram.scattered:
        for place, name in enumerate(cells.labels):
            signs(diagram, label == place, colors, style_of(name), ax)
    else:
        pixels(diagram, colors, ax)
        for place, name in enumerate(cells.labels):
            style = style_of(name)
            hatch(diagram, (label == place) & (share > PALE), style, style.ink, ax)
            hatch(diagram, (label == place) & (share <= PALE), style, style.dark, ax)
    failures(diagram, colors, ax)


def draw_measure(diagram: PhaseDiagram, name: str, ax: Axes) -> None:
    """A number per pixel, with its colour bar."""
    import matplotlib as mpl
    from matplotlib.cm import ScalarMappable

    measure, cells = MEASURES[name], diagram.cells
    values = measure.values(cells)
    norm, ticks, extend = scale_of(measure.kind, _all_values(diagram, name))
    shades = mpl.colormaps[measure.colors]
    some = ~np.isnan(values)
    colors = np.ones((*diagram.shape, 3))
    colors[some] = shades(norm(np.clip(values[some], *_ends(norm))))[..., :3]
    nothing = ~some & (cells.done > 0)
    colors[nothing] = mixed(NOTHING.color, 1)
    colors[~some & (cells.done == 0) & (cells.failed > 0)] = mixed(FAILED.color, 1)
    if diagram.scattered:
        signs(diagram, some, colors, style_of(Label.IN_ORDER), ax, values[some])
        signs(diagram, nothing, colors, NOTHING, ax)
    else:
        pixels(diagram, colors, ax)
        hatch(diagram, nothing, NOTHING, NOTHING.ink, ax)
        if measure.kind == "margin":
            outline(diagram, values, ax)
    failures(diagram, colors, ax)
    figure = ax.figure
    bar = figure.colorbar(
        ScalarMappable(norm, shades), ax=ax, ticks=ticks, extend=extend, pad=0.02, aspect=22
    )
    bar.outline.set_linewidth(0.5)
    bar.ax.tick_params(length=2, labelsize=8)
    bar.ax.minorticks_off()
    if measure.kind == "margin":
        bar.ax.axhline(1, color="black", linewidth=1.4)


def _all_values(diagram: PhaseDiagram, name: str) -> Floats:
    """Values that share a colour bar: predicted and observed numbers of one kind."""
    names = [
        other
        for other in MEASURES
        if other.removeprefix("predicted_") == name.removeprefix("predicted_")
    ]
    return np.concatenate([MEASURES[other].values(diagram.cells).ravel() for other in names])


def scale_of(kind: str, values: Floats) -> tuple[Any, Any, str]:
    """Colours of a kind of number: their norm, ticks, and ends."""
    from matplotlib.colors import LogNorm, Normalize

    if kind == "share":
        return Normalize(0, 1), [0, 0.25, 0.5, 0.75, 1], "neither"
    finite = values[np.isfinite(values)]
    if kind == "count":
        most = int(np.ceil(finite.max(initial=2)))
        least = min(1, int(np.floor(finite.min(initial=1))))
        ticks = list(range(least, most + 1, max(1, (most - least) // 6)))
        return Normalize(least, most), ticks, "neither"
    positive = finite[finite > 0]
    low = 10 ** np.floor(np.log10(positive.min(initial=0.1)))
    high = 10 ** np.ceil(np.log10(positive.max(initial=10.0)))
    low, high = max(low, MARGINS[0]), min(high, MARGINS[1])
    below, above = (values < low).any(), (values > high).any()
    extend = {(0, 0): "neither", (1, 0): "min", (0, 1): "max", (1, 1): "both"}[below, above]
    return LogNorm(low, high), None, extend


def _ends(norm: Any) -> tuple[float, float]:
    return float(norm.vmin), float(norm.vmax)
