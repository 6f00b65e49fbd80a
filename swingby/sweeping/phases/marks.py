"""What the panels of a phase diagram are drawn with: pixels, hatches, lines, and signs of draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from swingby.sweeping.phases.style import FAILED, Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from swingby.sweeping.phases.diagram import PhaseDiagram

    Floats = NDArray[np.float64]
    Booleans = NDArray[np.bool_]

#: More pixels than this are drawn as an image also in a vector format.
MOST_VECTORS = 2_500
#: As many pixels as have room for a number.
MOST_NUMBERS = 144


def pixels(diagram: PhaseDiagram, colors: Floats, ax: Axes) -> None:
    """Colours on pixels: exact ends, nothing between neighbours."""
    if diagram.y is None or not colors.size:
        return
    ax.pcolormesh(
        diagram.x.edges,
        diagram.y.edges,
        colors,
        shading="flat",
        rasterized=colors[..., 0].size > MOST_VECTORS,
        antialiased=False,
        linewidth=0,
        zorder=1,
    )


def hatch(diagram: PhaseDiagram, here: Booleans, style: Style, ink: str, ax: Axes) -> None:
    """One hatched area for all pixels of a kind, so that lines go on from pixel to pixel.

    Parameters
    ----------
    diagram : PhaseDiagram
    here : ndarray of shape (y, x)
        Which pixels.
    style : Style
    ink : str
        Colour of the lines.
    ax : matplotlib Axes
    """
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if not style.hatch or diagram.y is None or not here.any():
        return
    across, up = diagram.x.edges, diagram.y.edges
    boxes = []
    for row, column, end in runs(here):
        left, right, low, high = across[column], across[end], up[row], up[row + 1]
        boxes.append([(left, low), (right, low), (right, high), (left, high), (left, low)])
    corners = np.array(boxes).reshape(-1, 2)
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * len(boxes)
    ax.add_patch(
        PathPatch(
            Path(corners, codes),
            facecolor="none",
            edgecolor=ink,
            hatch=style.hatch,
            linewidth=0,
            zorder=2,
        )
    )


def runs(here: Booleans) -> list[tuple[int, int, int]]:
    """Pixels side by side."""
    padded = np.pad(here.astype(np.int8), ((0, 0), (1, 1)))
    turns = np.diff(padded, axis=1)
    starts, stops = np.argwhere(turns == 1), np.argwhere(turns == -1)
    return [
        (int(row), int(first), int(last))
        for (row, first), (_, last) in zip(starts, stops, strict=True)
    ]


def outline(diagram: PhaseDiagram, values: Floats, ax: Axes) -> None:
    """A line between pixels whose values lie on the two sides of 1.

    Parameters
    ----------
    diagram : PhaseDiagram
    values : ndarray of shape (y, x)
        There is no line to a pixel without a value.
    ax : matplotlib Axes
    """
    from matplotlib.collections import LineCollection

    if diagram.y is None:
        return
    across, up = diagram.x.edges, diagram.y.edges
    lines = []
    for row, column in np.argwhere(_parted(values[:, 1:], values[:, :-1])):
        lines.append([(across[column + 1], up[row]), (across[column + 1], up[row + 1])])
    for row, column in np.argwhere(_parted(values[1:], values[:-1])):
        lines.append([(across[column], up[row + 1]), (across[column + 1], up[row + 1])])
    ax.add_collection(
        LineCollection(lines, colors="black", linewidths=1.4, capstyle="projecting", zorder=3),
        autolim=False,
    )


def _parted(one: Floats, other: Floats) -> Booleans:
    return ((one > 1) & (other <= 1)) | ((one <= 1) & (other > 1))


def signs(
    diagram: PhaseDiagram,
    here: Booleans,
    colors: Floats,
    style: Style,
    ax: Axes,
    order: Floats | None = None,
) -> None:
    """A sign for every draw.

    Parameters
    ----------
    diagram : PhaseDiagram
        Scattered.
    here : ndarray of shape (draws,)
        Which draws.
    colors : ndarray of shape (draws, 3)
    style : Style
        Its marker.
    ax : matplotlib Axes
    order : ndarray, optional
        One number for each of `here`: the largest are drawn on top.
    """
    if diagram.y is None or not here.any():
        return
    number = here.size
    places = np.nonzero(here)[0]
    if order is not None:
        places = places[np.argsort(order, kind="stable")]
    ax.scatter(
        np.array(diagram.x.places)[places],
        np.array(diagram.y.places)[places],
        c=colors[places],
        marker=style.marker,
        s=max(7.0, min(42.0, 8000 / number)),
        edgecolors="0.2",
        linewidths=0.35,
        rasterized=number > MOST_VECTORS,
        zorder=2,
    )


def failures(diagram: PhaseDiagram, colors: Floats, ax: Axes) -> None:
    """How many points failed, where a whole pixel did; a cross where some of it did."""
    cells = diagram.cells
    if diagram.y is None:
        return
    failed, partly = (cells.failed > 0) & (cells.done == 0), (cells.failed > 0) & (cells.done > 0)
    if diagram.scattered:
        signs(diagram, failed, colors, FAILED, ax)
        return
    across, up = np.array(diagram.x.places), np.array(diagram.y.places)
    rows, columns = np.nonzero(partly)
    ax.plot(across[columns], up[rows], "x", color="black", markersize=3.5, zorder=4)
    if cells.failed.size <= MOST_NUMBERS:
        for row, column in np.argwhere(failed):
            count = str(cells.failed[row, column])
            ax.text(across[column], up[row], count, ha="center", va="center", fontsize=7, zorder=4)
