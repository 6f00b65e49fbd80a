"""The common style of pictures: colours, dashes, fonts, and where a legend goes.

Colours are distinguishable for colour-blind readers, and lines also differ in dash.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from swingby.report.paper_sizes import PAPER_WIDTHS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Okabe-Ito, without yellow, which is too light on white.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)))
#: Width of a text page, in inches.
PAGE = 7.0
#: Below this width a legend beside the axes would leave them no room.
_NARROW = 5.0
#: Share of the width of a figure that a legend above its axes may have.
_LEGEND_SHARE = 0.97

_STYLE: dict[str, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.titlesize": 9,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.4,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "mathtext.fontset": "cm",
}


@contextmanager
def styled() -> Iterator[None]:
    """The style of all pictures, for the length of a ``with`` block."""
    import matplotlib as mpl

    # Not mpl.rc_context: pyplot may be imported inside, and what its backend sets has to stay.
    settings: Any = mpl.rcParams
    before = {name: settings[name] for name in _STYLE}
    # It warns of the dates in the fonts that it embeds.
    fonts = logging.getLogger("fontTools")
    level = fonts.level
    fonts.setLevel(logging.ERROR)
    settings.update(_STYLE)
    try:
        yield
    finally:
        settings.update(before)
        fonts.setLevel(level)


def is_narrow(ax: Axes, narrow: float = _NARROW) -> bool:
    """Whether axes are alone in a figure of less than so many inches."""
    figure = ax.figure
    return len(figure.axes) == 1 and figure.bbox.width / figure.dpi < narrow


def legend_above(ax: Axes, narrow: float = _NARROW, **legend: Any) -> bool:
    """Put the legend above axes alone in a narrow figure; False where the figure is wide.

    It has as many columns as the figure has room for, as measured.
    """
    figure = ax.figure
    if not is_narrow(ax, narrow):
        return False
    style: dict[str, Any] = {"handlelength": 1.4, "handletextpad": 0.5, "columnspacing": 0.8}
    if figure.bbox.width / figure.dpi < PAPER_WIDTHS["column"]:
        style["fontsize"] = 6
    handles, labels = ax.get_legend_handles_labels()
    entries = {"handles": handles, "labels": labels} | style | legend
    count = len(entries["handles"])
    for lines in range(1, count + 1):
        columns = -(-count // lines)
        box = figure.legend(loc="outside upper center", ncols=columns, **entries)
        if columns == 1 or box.get_window_extent().width <= _LEGEND_SHARE * figure.bbox.width:
            break
        box.remove()
    return True
