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
from swingby.report.pictures import PAGE, titled

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


def stages_picture(
    data: Data,
    title: str,
    *,
    logarithmic: bool,
    planes: Sequence[tuple[int, int]] = (),
    train: bool = False,
) -> Picture:
    """Loss above entries, with an output trajectory beside them for each plane of concepts."""
    from matplotlib.patches import Patch

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
    shaded = Patch(facecolor=SHADE)
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
