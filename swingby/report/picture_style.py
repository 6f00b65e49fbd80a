"""The common style of pictures: colours, dashes, fonts, and where a legend goes.

Colours are distinguishable for colour-blind readers, and lines also differ in dash.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Okabe-Ito, without yellow, which is too light on white.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)))
#: Width of a text page, in inches.
PAGE = 7.0
#: Width of a column of a paper, and of its text, in inches.
PAPER_WIDTHS = {"column": 3.3, "text": 6.75}
#: Below this width a legend beside the axes would leave them no room.
_NARROW = 5.0

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


def legend_above(ax: Axes, narrow: float = _NARROW, **legend: Any) -> bool:
    """Put the legend above axes alone in a narrow figure; False where the figure is wide."""
    figure = ax.figure
    if len(figure.axes) > 1 or figure.bbox.width / figure.dpi >= narrow:
        return False
    small: dict[str, Any] = {"ncols": 3, "handlelength": 1.4, "handletextpad": 0.5}
    if figure.bbox.width / figure.dpi < PAPER_WIDTHS["column"]:
        small["fontsize"] = 6
    figure.legend(loc="outside upper center", columnspacing=0.8, **(small | legend))
    return True
