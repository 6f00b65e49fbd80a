"""Panels of the pictures: loss, entries and outputs, in one style that reads in grey.

Major entries are solid and labelled at the curve; minor entries are dashed with a sign of their
own at the peak; descents of the test loss are shaded.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.figures.descents import legs
from swingby.figures.figure import Data
from swingby.report.pictures import COLORS, DASHES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Grey of the descents.
SHADE = "0.92"
_SIGNS = ("o", "s", "^", "D", "v", "P")


def entry_name(i: int, j: int) -> str:
    """The label of an entry, counted from 1."""
    return f"$w_{{{i}{j}}}$"


def first_step(data: Data) -> int:
    """Where a logarithmic axis begins: well before the first half-time."""
    halves = [one for one in data["half_times"] if one is not None]
    return max(1, min(halves, default=8) // 8)


def shade_descents(ax: Axes, data: Data) -> None:
    """Shade the steps over which the test loss falls."""
    for leg in legs(data):
        if leg.change < 0:
            ax.axvspan(leg.start, leg.end, color=SHADE, linewidth=0, zorder=0)


def draw_loss(ax: Axes, data: Data, *, train: bool = False) -> None:
    """The test loss in units of its start, with its turning points; the training loss."""
    start = data["start_loss"]
    ax.plot(data["steps"], data["test_loss"] / start, color="black", label="test loss")
    if train:
        ax.plot(
            data["steps"],
            data["train_loss"] / data["train_loss"][0],
            color=COLORS[1],
            linestyle=DASHES[1],
            label="training loss",
        )
        ax.legend(loc="upper right")
    draw_turns(ax, data, data["steps"], data["test_loss"] / start)
    ax.set_ylim(-0.04, 1.06)
    ax.set_ylabel("loss / start" if train else "test loss / start")


def draw_turns(ax: Axes, data: Data, across: Any, up: Any) -> None:
    """Signs on a curve where the test loss turns: down for a minimum, up for a maximum.

    Parameters
    ----------
    ax : matplotlib Axes
    data : mapping
    across, up : ndarray of shape (n,)
        The curve, one point per step.
    """
    for leg in legs(data)[:-1]:
        ax.plot(
            across[leg.end],
            up[leg.end],
            marker="v" if leg.change < 0 else "^",
            color="black",
            markersize=5.5,
            markeredgecolor="white",
            markeredgewidth=0.6,
            zorder=6,
        )


def draw_entries(ax: Axes, data: Data) -> None:
    """Major and minor entries over the steps.

    A minor entry has the colour of the major entry that suppresses it.
    """
    steps, W, order = data["steps"], data["W"], data["order"]
    colors = dict(zip(order, itertools.cycle(COLORS), strict=False))
    for k in order:
        color = colors[k]
        curve = W[:, k - 1, k - 1]
        ax.plot(steps, curve, color=color)
        half = data["half_times"][k - 1]
        if half is not None:
            ax.annotate(
                entry_name(k, k),
                (half, 0.5),
                (-3, 4) if k == order[0] else (4, -7),
                textcoords="offset points",
                ha="right" if k == order[0] else "left",
                color=color,
            )
        else:
            ax.annotate(
                entry_name(k, k),
                (steps[-1], curve[-1]),
                (3, 0),
                textcoords="offset points",
                va="center",
                color=color,
                annotation_clip=False,
            )
    signs = itertools.cycle(_SIGNS)
    for stage, k in enumerate(order):
        for later, dash in zip(order[stage + 1 :], itertools.cycle(DASHES[1:]), strict=False):
            i, j = min(k, later), max(k, later)
            curve = W[:, i - 1, j - 1]
            peak = int(np.abs(curve).argmax())
            style: dict[str, Any] = {"color": colors[k], "linestyle": dash, "linewidth": 1.1}
            sign: dict[str, Any] = {
                "marker": next(signs),
                "markersize": 4.5,
                "markerfacecolor": "white",
            }
            ax.plot(steps, curve, **style)
            at_peak: dict[str, Any] = {**style, "linestyle": "none", **sign}
            ax.plot(steps[peak], curve[peak], zorder=5, **at_peak)
            ax.plot([], [], label=entry_name(i, j), **style, **sign)
    ax.set_ylim(min(-0.06, float(W[-1].min()) - 0.04), 1.08)
    ax.set_ylabel("entry of W")
    ax.set_xlabel("step")


def draw_outputs(
    ax: Axes, data: Data, across: int, up: int, *, clusters: Sequence[int] = ()
) -> None:
    """The output at the test point, and at the centres of training clusters, in a plane.

    Parameters
    ----------
    ax : matplotlib Axes
    data : mapping
    across, up : int
        Concepts of the axes, from 1.
    clusters : sequence of int
        Concepts at whose cluster centres the output is drawn too.
    """
    x, y = across - 1, up - 1
    point, output = data["test_point"], data["output"]
    ax.plot(
        output[:, x],
        output[:, y],
        color=COLORS[1],
        label="output at the test point" if clusters else "test output",
    )
    draw_turns(ax, data, output[:, x], output[:, y])
    if len(legs(data)) > 1:
        ax.plot([], [], "v", color="black", markersize=5.5, label="turn of the loss")
    styles = itertools.cycle(((COLORS[0], DASHES[1]), (COLORS[2], DASHES[2])))
    for concept in clusters:
        color, dash = next(styles)
        path = data["W"][:, :, concept - 1] * point[concept - 1]
        label = f"output at cluster {concept}"
        ax.plot(path[:, x], path[:, y], color=color, linestyle=dash, label=label)
        ax.plot(path[0, x], path[0, y], ".", color="0.4", markersize=6, zorder=5)
        centre = np.where(np.arange(len(point)) == concept - 1, point, 0.0)
        ax.annotate(
            f"cluster {concept}",
            (centre[x], centre[y]),
            (0, 7) if centre[x] else (6, 5),
            textcoords="offset points",
            ha="center" if centre[x] else "left",
            fontsize=8,
        )
    ax.plot(output[0, x], output[0, y], ".", color="0.4", markersize=6, label="start", zorder=5)
    ax.plot(
        [point[x], 0],
        [0, point[y]],
        "o",
        color=COLORS[0],
        markerfacecolor="white",
        markersize=5.5,
        label="training cluster",
        clip_on=False,
        zorder=4,
    )
    star: dict[str, Any] = {"marker": "*", "markersize": 9, "linestyle": "none", "color": "black"}
    ax.plot(point[x], point[y], **star, label="test point", clip_on=False, zorder=7)
    ax.set_xlim(-0.06 * point[x], 1.12 * point[x])
    ax.set_ylim(-0.06 * point[y], 1.14 * point[y])
    ax.set_xlabel(f"output, concept {across}")
    ax.set_ylabel(f"output, concept {up}")
