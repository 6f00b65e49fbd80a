"""Pictures: one style, one way to show them, one way to write them.

``plot()`` without axes draws into a figure of pyplot, as pandas and seaborn do: a notebook shows it
once at the end of the cell, a script at ``plt.show()``. What goes to a file is a figure outside
pyplot. Colours are distinguishable for colour-blind readers, and lines also differ in dash.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swingby.errors import InvalidInput
from swingby.report.files import whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Okabe-Ito, without yellow, which is too light on white.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)))
#: Width of a text page, in inches.
PAGE = 7.0
ENDINGS = (".png", ".pdf", ".svg")

STYLE: dict[str, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.titlesize": 9,
    "legend.frameon": False,
    "legend.fontsize": 8,
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
    before = {name: settings[name] for name in STYLE}
    settings.update(STYLE)
    try:
        yield
    finally:
        settings.update(before)


def new_figure(width: float, height: float) -> Figure:
    """A figure outside pyplot, in inches: for files."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def shown_figure(width: float, height: float) -> Figure:
    """A figure of pyplot, in inches: what ``plot()`` draws into where it is given no axes."""
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure

    class Picture(Figure):
        """Shown once, also where a cell ends in the figure itself."""

        def _ipython_display_(self) -> None:
            # Else the end of the cell would show what its last line has shown.
            plt.close(self)
            notebook = importlib.import_module("IPython.display")
            notebook.display(notebook.Image(data=png(self), format="png", retina=True))

    return plt.figure(figsize=(width, height), layout="constrained", FigureClass=Picture)


def png(figure: Figure) -> bytes:
    """The bytes of a figure as PNG, for a fine screen."""
    from io import BytesIO

    stream = BytesIO()
    figure.savefig(stream, format="png", dpi=200)
    return stream.getvalue()


def titled(title: str, width: float, height: float) -> Figure:
    """An empty figure for a file, in inches, with its title on the left."""
    picture = new_figure(width, height)
    picture.suptitle(title, x=0.01, ha="left", fontsize=9)
    return picture


def save_figure(draw: Callable[[], Figure], path: str | Path, argument: str = "out") -> None:
    """Write what `draw` makes to a .png, .pdf or .svg; a path that is refused costs no drawing."""
    if Path(path).suffix not in ENDINGS:
        raise InvalidInput(argument, path, "must end in .png, .pdf or .svg")
    with styled(), whole(path) as target:
        figure = draw()
        try:
            figure.savefig(target, dpi=160)
        finally:
            # One that was made to be shown is not shown as well.
            if hasattr(figure, "number"):
                import matplotlib.pyplot as plt

                plt.close(figure)
