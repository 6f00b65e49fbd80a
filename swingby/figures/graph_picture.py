"""The picture of Figure 7: the test points as a graph whose colours are their losses."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.figures.figure import Data
from swingby.figures.topology import CUT, SHOWN
from swingby.report.pictures import PAGE, titled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture
    from numpy.typing import NDArray


def graph_picture(data: Data, title: str) -> Picture:
    """Graphs of the test points after some epochs, and violated pairs against epochs.

    Parameters
    ----------
    data : mapping
        From :func:`swingby.figures.topology.train_points`.
    title : str
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    picture = titled(title, PAGE, 4.6)
    sides: Any = picture.subfigures(2, 1, height_ratios=[1.5, 1], squeeze=False)
    graphs = sides[0, 0].subplots(1, len(SHOWN))
    shade = ScalarMappable(Normalize(0.0, CUT), "cividis")
    for ax, epoch in zip(graphs, SHOWN, strict=True):
        _graph(ax, data["index"], data["loss"][0, epoch], shade)
        ax.set_title("before training" if epoch == 0 else f"after {epoch} epochs")
    sides[0, 0].colorbar(shade, ax=graphs, label=f"loss, cut at {CUT:g}", shrink=0.8, pad=0.01)
    below = sides[1, 0].subplots()
    _violations(below, data)
    return picture


def _graph(ax: Axes, index: Any, loss: NDArray[np.float64], shade: Any) -> None:
    places = _places(index)
    for (a, u), (b, v) in itertools.combinations(enumerate(index), 2):
        if sum(x != y for x, y in zip(u, v, strict=True)) == 1:
            ax.plot(*np.array([places[a], places[b]]).T, color="0.75", linewidth=0.6, zorder=1)
    for (x, y), point, value in zip(places, index, loss, strict=True):
        color = shade.to_rgba(min(value, CUT))
        dark = 0.3 * color[0] + 0.59 * color[1] + 0.11 * color[2] < 0.5
        ax.text(
            x,
            y,
            "".join(map(str, point)),
            ha="center",
            va="center",
            fontsize=6,
            color="white" if dark else "black",
            bbox={"boxstyle": "round,pad=0.25", "facecolor": color, "edgecolor": "none"},
            zorder=3,
        )
    ax.set_xlim(-0.5, len(index[0]) + 0.5)
    ax.set_axis_off()


def _places(index: Any) -> list[tuple[float, float]]:
    """A column for each number of concepts, test points from top to bottom."""
    found = []
    for point in index:
        column = [one for one in index if sum(one) == sum(point)]
        found.append((float(sum(point)), (len(column) - 1) / 2 - column.index(point)))
    return found


def _violations(ax: Axes, data: Data) -> None:
    violated = data["violated"]
    epochs = np.arange(violated.shape[1])
    low, middle, high = np.quantile(violated, [0.1, 0.5, 0.9], axis=0)
    ax.fill_between(epochs, low, high, color="0.88", linewidth=0, label="10 % to 90 % of the runs")
    ax.plot(epochs, middle, color="black", label="median of the runs")
    ax.plot(epochs, violated[0], color="black", linestyle=(0, (1, 1)), label="the run above")
    ax.set_xlim(0, epochs[-1])
    ax.set_ylim(0, None)
    ax.set_xlabel("epoch")
    ax.set_ylabel(f"violated pairs of {data['pairs']}")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
