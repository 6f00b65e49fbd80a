"""Panels of the pictures of figures, in a style that reads in grey.

Of the theory figures: loss above entries, output trajectories beside them. Major entries are solid
and labelled at the curve; minor entries are dashed with a sign of their own at the peak; descents
of the test loss are shaded. Of the network figures: outputs in the plane of two concepts, and
losses.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.lab.figures.figure import Data
from swingby.lab.figures.run_criteria import cut
from swingby.lab.figures.stage_criteria import legs
from swingby.report.entry_pictures import entry_label
from swingby.report.picture_style import COLORS, DASHES, PAGE
from swingby.report.pictures import titled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

#: Grey of the descents.
SHADE = "0.92"
_MARKERS = ("o", "s", "^", "D", "v", "P")
#: How the places that every plane of outputs shows are drawn.
_START: dict[str, Any] = {"color": "0.4", "marker": ".", "linestyle": "none", "zorder": 5}
_CLUSTER: dict[str, Any] = {"marker": "o", "linestyle": "none", "markerfacecolor": "white"}
_TEST: dict[str, Any] = {"color": "black", "marker": "*", "linestyle": "none", "zorder": 7}


def draw_loss(ax: Axes, data: Data, *, train: bool = False) -> None:
    """The test loss in units of its start, with its turning points; the training loss."""
    steps, loss = data["steps"], data["test_loss"] / data["start_loss"]
    ax.plot(steps, loss, color="black", label="test loss")
    if train:
        share = data["train_loss"] / data["train_loss"][0]
        ax.plot(steps, share, color=COLORS[1], linestyle=DASHES[1], label="training loss")
        ax.legend(loc="upper right")
    draw_turns(ax, data, steps, loss)
    ax.set(ylim=(-0.04, 1.06), ylabel="loss / start" if train else "test loss / start")


def draw_turns(ax: Axes, data: Data, across: Any, up: Any) -> None:
    """Signs on a curve at turns of the test loss: down for a minimum, up for a maximum.

    `across`, `up` (n,): the curve, one point per step.
    """
    edge: dict[str, Any] = {"markeredgecolor": "white", "markeredgewidth": 0.6, "zorder": 6}
    for leg in legs(data)[:-1]:
        sign = "v" if leg.change < 0 else "^"
        ax.plot(across[leg.end], up[leg.end], sign, color="black", markersize=5.5, **edge)


def draw_entries(ax: Axes, data: Data) -> None:
    """Major and minor entries over the steps.

    A minor entry has the colour of the major entry that suppresses it.
    """
    steps, W, order = data["steps"], data["W"], data["order"]
    colors = dict(zip(order, itertools.cycle(COLORS), strict=False))
    for k in order:
        curve, half = W[:, k - 1, k - 1], data["half_times"][k - 1]
        ax.plot(steps, curve, color=colors[k])
        label: dict[str, Any] = {"textcoords": "offset points", "color": colors[k]}
        if half is None:
            label |= {"va": "center", "annotation_clip": False}
            ax.annotate(entry_label(k - 1, k - 1), (steps[-1], curve[-1]), (3, 0), **label)
        else:
            away, side = ((-3, 4), "right") if k == order[0] else ((4, -7), "left")
            ax.annotate(entry_label(k - 1, k - 1), (half, 0.5), away, ha=side, **label)
    signs = itertools.cycle(_MARKERS)
    for stage, k in enumerate(order):
        for later, dash in zip(order[stage + 1 :], itertools.cycle(DASHES[1:]), strict=False):
            i, j = min(k, later) - 1, max(k, later) - 1
            curve = W[:, i, j]
            peak = int(np.abs(curve).argmax())
            style: dict[str, Any] = {"color": colors[k], "linestyle": dash, "linewidth": 1.1}
            sign: dict[str, Any] = {
                "marker": next(signs),
                "markersize": 4.5,
                "markerfacecolor": "white",
            }
            ax.plot(steps, curve, **style)
            ax.plot(steps[peak], curve[peak], zorder=5, **style | sign | {"linestyle": "none"})
            ax.plot([], [], label=entry_label(i, j), **style, **sign)
    ax.set(xlabel="step", ylabel="entry of W", ylim=(min(-0.06, float(W[-1].min()) - 0.04), 1.08))


def draw_outputs(
    ax: Axes, data: Data, across: int, up: int, *, clusters: Sequence[int] = ()
) -> None:
    """The output at the test point, and at the centres of some clusters, in a plane.

    `across`, `up`, `clusters`: concepts, from 1.
    """
    plane = [across - 1, up - 1]
    point, output = data["test_point"], data["output"][:, plane]
    x, y = point[plane]
    name = "output at the test point" if clusters else "test output"
    ax.plot(*output.T, color=COLORS[1], label=name)
    draw_turns(ax, data, *output.T)
    if len(legs(data)) > 1:
        ax.plot([], [], "v", color="black", markersize=5.5, label="turn of the loss")
    styles = itertools.cycle(((COLORS[0], DASHES[1]), (COLORS[2], DASHES[2])))
    for concept, (color, dash) in zip(clusters, styles, strict=False):
        path = data["W"][:, plane, concept - 1] * point[concept - 1]
        ax.plot(*path.T, color=color, linestyle=dash, label=f"output at cluster {concept}")
        ax.plot(*path[0], markersize=6, **_START)
        centre = np.where(np.arange(len(point)) == concept - 1, point, 0.0)[plane]
        away, side = ((0, 7), "center") if centre[0] else ((6, 5), "left")
        words: dict[str, Any] = {"textcoords": "offset points", "ha": side, "fontsize": 8}
        ax.annotate(f"cluster {concept}", tuple(centre), away, **words)
    ax.plot(*output[0], markersize=6, label="start", **_START)
    ring: dict[str, Any] = {"color": COLORS[0], "markersize": 5.5, "clip_on": False, "zorder": 4}
    ax.plot([x, 0], [0, y], label="training cluster", **ring, **_CLUSTER)
    ax.plot(x, y, markersize=9, label="test point", clip_on=False, **_TEST)
    ax.set(xlim=(-0.06 * x, 1.12 * x), ylim=(-0.06 * y, 1.14 * y))
    ax.set(xlabel=f"output, concept {across}", ylabel=f"output, concept {up}")


#: Epochs between two signs on a path.
_EVERY = 2.0


def outputs_picture(
    data: Data,
    title: str,
    parts: Sequence[tuple[slice, str]] = ((slice(None), ""),),
    *,
    points: bool = False,
) -> Picture:
    """Outputs at the test point in the plane of the two concepts, a few runs beside the typical.

    `parts`: cells of each panel and what is written above it; by default all in one. `points`:
    draw training points too.
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
        x, y = data["points"][0].T
        ax.scatter(x, y, s=2, color="0.75", linewidths=0, rasterized=True, zorder=1)
    ring: dict[str, Any] = {"color": "0.35", "markersize": 5, **_CLUSTER}
    every = np.searchsorted(epochs, np.arange(0.0, epochs[-1] + 0.5 * _EVERY, _EVERY))
    edge: dict[str, Any] = {"markeredgecolor": "white", "markeredgewidth": 0.3}
    styles = map(itertools.cycle, (COLORS, DASHES, _MARKERS[:5]))
    cells = zip(*(data[name] for name in ("labels", "output", "paths", "mu")), strict=True)
    for (label, path, faint_paths, mu), color, dash, sign in zip(cells, *styles, strict=False):
        for faint_path in faint_paths:
            ax.plot(*faint_path.T, color=color, linewidth=0.5, alpha=0.25, zorder=1)
        ax.plot(*path.T, color=color, linestyle=dash, linewidth=1.1)
        marked = path[every[every < len(path)]]
        ax.plot(*marked.T, sign, color=color, markersize=3.2, **edge)
        ax.plot([], [], color=color, linestyle=dash, marker=sign, markersize=3.6, label=label)
        ax.plot(*path[0], markersize=5, **_START)
        ax.plot([mu[0], 0], [0, mu[1]], **ring)
        ax.plot(*mu, markersize=9, **_TEST)
    ax.plot([], [], markersize=8, label="test point", **_TEST)
    ax.plot([], [], label="training cluster", **ring)
    for line in (ax.axhline, ax.axvline):
        line(0, color="0.85", linewidth=0.6, zorder=0)
    ax.set(xlabel="output, concept 1", ylabel="output, concept 2")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=2.4)


def losses_picture(data: Data, title: str) -> Picture:
    """Test losses against epochs, both axes logarithmic: a typical run, and a band of all."""
    picture = titled(title, 0.75 * PAGE, 3.2)
    ax = picture.subplots()
    after_start = data["epochs"] > 0
    epochs = data["epochs"][after_start]
    styles = map(itertools.cycle, (COLORS, DASHES))
    cells = zip(data["labels"], data["loss"], data["loss_band"], strict=True)
    for (label, loss, band), color, dash in zip(cells, *styles, strict=False):
        share = loss[after_start] / loss[0]
        ax.fill_between(epochs, *band[:, after_start], color=color, alpha=0.15, linewidth=0)
        ax.plot(epochs, share, color=color, linestyle=dash, lw=1.1, label=label)
    ax.fill_between([], [], color="0.85", linewidth=0, label="10 % to 90 % of the runs")
    low = min(float(np.min(loss / loss[0])) for loss in data["loss"])
    ax.set(xscale="log", xlabel="epoch", yscale="log", ylabel="test loss / start")
    ax.set_ylim(max(low, 1e-6) / 1.5, 2.5)
    ax.legend(loc="lower left")
    return picture


def stages_picture(
    data: Data,
    title: str,
    *,
    logarithmic: bool,
    planes: Sequence[tuple[int, int]] = (),
    train: bool = False,
) -> Picture:
    """Loss above entries, and output trajectories beside them.

    `logarithmic`: of the steps. `planes`: concepts across and up of each output panel. `train`:
    draw the training loss too.
    """
    from matplotlib.patches import Patch

    picture = titled(title, PAGE, 4.2)
    ratios = [1.75, 1] if planes else [1]
    # matplotlib types the array as a single panel.
    sides: Any = picture.subfigures(1, len(ratios), width_ratios=ratios, squeeze=False)
    left_side = sides[0, 0]
    above, below = left_side.subplots(2, 1, sharex=True, height_ratios=[1.1, 1.25])
    for ax, leg in itertools.product((above, below), legs(data)):
        if leg.change < 0:
            ax.axvspan(leg.start, leg.end, color=SHADE, linewidth=0, zorder=0)
    draw_loss(above, data, train=train)
    draw_entries(below, data)
    first = 0
    if logarithmic:
        # Well before the first half-time.
        halves = [half for half in data["half_times"] if half is not None]
        first = max(1, min(halves, default=8) // 8)
        below.set_xscale("log")
    below.set_xlim(first, data["last_step"])
    handles, labels = below.get_legend_handles_labels()
    handles, labels = [*handles, Patch(facecolor=SHADE)], [*labels, "test loss falls"]
    columns, position = 4 if len(handles) > 4 else 5, "outside lower center"
    left_side.legend(
        handles, labels, loc=position, ncols=columns, handlelength=2.6, columnspacing=1.4
    )
    if planes:
        right_side = sides[0, 1]
        panels = np.atleast_1d(right_side.subplots(len(planes), 1))
        for ax, (across, up) in zip(panels, planes, strict=True):
            draw_outputs(ax, data, across, up)
        entries = panels[0].get_legend_handles_labels()
        right_side.legend(*entries, loc=position, ncols=2, handlelength=1.6, columnspacing=1.0)
    return picture
