"""The pictures of the network figures: outputs in the plane of two concepts, and losses."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.figures.figure import Data
from swingby.figures.shares import cut
from swingby.report.pictures import COLORS, DASHES, PAGE, titled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

_SIGNS = ("o", "s", "^", "D", "v")
#: Epochs between two signs on a path.
_EVERY = 2.0


def outputs_picture(
    data: Data, title: str, parts: Sequence[tuple[slice, str]], *, points: bool = False
) -> Picture:
    """Outputs at the test point in the plane of the two concepts, one panel per part.

    Parameters
    ----------
    data : mapping
        From :func:`swingby.figures.trained.train_cells`.
    title : str
    parts : sequence of (slice, str)
        Cells of each panel, and what is written above it.
    points : bool
        Draw training points too.
    """
    picture = titled(title, PAGE if len(parts) > 1 else 0.78 * PAGE, 3.7)
    panels = np.atleast_1d(picture.subplots(1, len(parts)))
    for ax, (cells, above) in zip(panels, parts, strict=True):
        _outputs(ax, cut(data, cells), points=points)
        ax.set_title(above, loc="left")
    return picture


def _outputs(ax: Axes, data: Data, *, points: bool) -> None:
    epochs = data["epochs"]
    if points:
        _clouds(ax, data)
    styles = zip(
        itertools.cycle(COLORS), itertools.cycle(DASHES), itertools.cycle(_SIGNS), strict=True
    )
    for label, path, mu, (color, dash, sign) in zip(
        data["labels"], data["output"], data["mu"], styles, strict=False
    ):
        ax.plot(*path.T, color=color, linestyle=dash, linewidth=1.1)
        even = np.searchsorted(epochs, np.arange(0.0, epochs[-1] + 0.5 * _EVERY, _EVERY))
        even = even[even < len(path)]
        ax.plot(
            *path[even].T,
            color=color,
            marker=sign,
            markersize=3.2,
            linestyle="none",
            markeredgecolor="white",
            markeredgewidth=0.3,
        )
        ax.plot([], [], color=color, linestyle=dash, marker=sign, markersize=3.6, label=label)
        ax.plot(*path[0], ".", color="0.4", markersize=5, zorder=5)
        ax.plot([mu[0], 0], [0, mu[1]], "o", color="0.35", markerfacecolor="white", markersize=5)
        ax.plot(*mu, "*", color="black", markersize=9, zorder=7)
    ax.plot([], [], "*", color="black", markersize=8, linestyle="none", label="test point")
    ax.plot(
        [],
        [],
        "o",
        color="0.35",
        markerfacecolor="white",
        markersize=5,
        linestyle="none",
        label="training cluster",
    )
    ax.axhline(0, color="0.85", linewidth=0.6, zorder=0)
    ax.axvline(0, color="0.85", linewidth=0.6, zorder=0)
    ax.set_xlabel("output, concept 1")
    ax.set_ylabel("output, concept 2")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=2.4)


def _clouds(ax: Axes, data: Data) -> None:
    x, y = data["points"][0].T
    ax.scatter(x, y, s=2, color="0.75", linewidths=0, rasterized=True, zorder=1)


def losses_picture(data: Data, title: str) -> Picture:
    """Test losses against epochs, both axes logarithmic."""
    picture = titled(title, 0.75 * PAGE, 3.2)
    ax = picture.subplots()
    epochs = data["epochs"]
    styles = zip(itertools.cycle(COLORS), itertools.cycle(DASHES), strict=True)
    for label, loss, (color, dash) in zip(data["labels"], data["loss"], styles, strict=False):
        shown = epochs > 0
        ax.plot(
            epochs[shown], loss[shown] / loss[0], color=color, linestyle=dash, lw=1.1, label=label
        )
    ax.set_xscale("log")
    ax.set_yscale("log")
    low = min(float(np.min(loss / loss[0])) for loss in data["loss"])
    ax.set_ylim(max(low, 1e-6) / 1.5, 2.5)
    ax.set_xlabel("epoch")
    ax.set_ylabel("test loss / start")
    ax.legend(loc="lower left")
    return picture


def plane_of(data: Data) -> Any:
    """The whole of the cells, for pictures with one panel."""
    return slice(0, len(data["labels"]))
