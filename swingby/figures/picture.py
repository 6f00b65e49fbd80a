"""The pictures of the theory figures: loss above entries, output trajectories beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.figures.figure import Data
from swingby.figures.panels import (
    SHADE,
    draw_entries,
    draw_loss,
    draw_outputs,
    first_step,
    shade_descents,
)
from swingby.report.pictures import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

#: Width of a text page, in inches.
PAGE = 7.0


def titled(title: str, width: float, height: float) -> Picture:
    """An empty figure with its title on the left.

    Parameters
    ----------
    title : str
    width, height : float
        Inches.
    """
    picture = new_figure(width, height)
    picture.suptitle(title, x=0.01, ha="left", fontsize=9)
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

    Parameters
    ----------
    data : mapping
    title : str
    logarithmic : bool
        Of the steps.
    planes : sequence of (int, int)
        Concepts across and up of each output panel.
    train : bool
        Draw the training loss too.
    """
    picture = titled(title, PAGE, 4.2)
    parts = 2 if planes else 1
    # matplotlib types the squeezed array as a single panel.
    sides: Any = picture.subfigures(1, parts, width_ratios=[1.75, 1][:parts], squeeze=False)
    left = sides[0, 0]
    above, below = left.subplots(2, 1, sharex=True, height_ratios=[1.1, 1.25])
    for ax in (above, below):
        shade_descents(ax, data)
    draw_loss(above, data, train=train)
    draw_entries(below, data)
    first = first_step(data) if logarithmic else 0
    if logarithmic:
        below.set_xscale("log")
    below.set_xlim(first, data["last_step"])
    handles, labels = below.get_legend_handles_labels()
    shaded = _patch()
    left.legend(
        [*handles, shaded],
        [*labels, "test loss falls"],
        loc="outside lower center",
        ncols=4 if len(handles) > 3 else 5,
        handlelength=2.6,
        columnspacing=1.4,
    )
    if planes:
        right = sides[0, 1]
        panels = np.atleast_1d(right.subplots(len(planes), 1))
        for ax, (across, up) in zip(panels, planes, strict=True):
            draw_outputs(ax, data, across, up)
        right.legend(
            *panels[0].get_legend_handles_labels(),
            loc="outside lower center",
            ncols=2,
            handlelength=1.6,
            columnspacing=1.0,
        )
    return picture


def _patch() -> Any:
    from matplotlib.patches import Patch

    return Patch(facecolor=SHADE)
