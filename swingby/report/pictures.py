"""Pictures: how a figure is made, shown and written.

``plot()`` without axes draws into a figure of pyplot, as pandas and seaborn do: a notebook shows it
once at the end of the cell, a script at ``plt.show()``. What goes to a file is a figure outside
pyplot.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swingby.errors import InvalidInput, named
from swingby.report.files import whole
from swingby.report.paper_sizes import PAPER_WIDTHS, Width, paper_width
from swingby.report.picture_style import styled
from swingby.report.result_formats import Drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENDINGS = (".png", ".pdf", ".svg")
#: Heights of figures in inches, as wide as a column and as the text of a paper.
_LOW, _HIGH = 2.4, 3.0
#: How ``plot()`` is given a size.
Size = Width | tuple[Width, Width] | None


def new_figure(width: float, height: float) -> Figure:
    """A figure outside pyplot, in inches: for files."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def shown_figure(width: float, height: float) -> Figure:
    """A figure of pyplot, in inches, into which ``plot()`` draws without axes."""
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure

    class Picture(Figure):
        """Shown once, also where a cell ends in the figure itself."""

        def savefig(self, *positional: Any, **keywords: Any) -> None:
            with styled():  # fonts are embedded at this moment, not when the figure is drawn
                super().savefig(*positional, **keywords)

        def _ipython_display_(self) -> None:
            # Else the end of the cell would show what its last line has shown.
            plt.close(self)
            notebook = importlib.import_module("IPython.display")
            image = _encoded(self, "png", 200)  # for a fine screen
            notebook.display(notebook.Image(data=image, format="png", retina=True))

    return plt.figure(figsize=(width, height), layout="constrained", FigureClass=Picture)


def _encoded(figure: Figure, kind: str, dpi: int) -> bytes:
    """The bytes of a figure as a file of some kind."""
    stream = BytesIO()
    figure.savefig(stream, format=kind, dpi=dpi)
    return stream.getvalue()


def drawn(
    draw: Callable[[Axes], object],
    ax: Axes | None,
    size: Size = None,
    usual: tuple[float, float] = (6.4, 3.6),
) -> Axes:
    """The axes given, or those of a new figure that is shown, after `draw` has drawn into them.

    A figure with a `size` is for a paper: it has no title.
    """
    if ax is not None and size is not None:
        raise InvalidInput("size", size, "must not be given together with ax")
    if ax is not None and not hasattr(ax, "plot"):
        raise InvalidInput("ax", ax, "must be axes; plot().figure.savefig(path) writes a file")
    with styled():
        ax = shown_figure(*inches(size, usual)).add_subplot() if ax is None else ax
        draw(ax)
        if size is not None:
            for side in ("left", "center"):
                ax.set_title("", loc=side)
    return ax


class Pictured(Drawn):
    """A result with a picture; a class gives :meth:`draw`."""

    def draw(self, ax: Axes) -> None:
        """Draw into axes."""
        raise NotImplementedError

    @named
    def plot(self, ax: Axes | None = None, *, size: Size = None) -> Axes:
        """Draw the result over time.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Default: a new figure.
        size : {"column", "text"}, width, or (width, height), optional
            Of the new figure, which is then for a paper: it has no title. A width or a height is a
            number of inches, or has a unit, as in ``"240pt"`` or ``"83mm"``.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return drawn(self.draw, ax, size)


def inches(size: Size, usual: tuple[float, float] = (6.4, 3.6)) -> tuple[float, float]:
    """Width and height of a figure, in inches."""
    if size is None:
        return usual
    with suppress(InvalidInput, TypeError, ValueError):
        if isinstance(size, (str, Real)):
            width, (narrow, wide) = paper_width(size, "size"), PAPER_WIDTHS.values()
            height = _LOW + (_HIGH - _LOW) * (width - narrow) / (wide - narrow)
            return width, max(_LOW, min(_HIGH, height))
        pair: Any = size
        across, up = (paper_width(side, "size", most=100) for side in pair)
        return across, up
    requirement = 'must be "column", "text", a width or (width, height), in inches or as "240pt"'
    raise InvalidInput("size", size, requirement)


def titled(title: str, width: float, height: float) -> Figure:
    """An empty figure for a file, in inches, with its title on the left."""
    picture = new_figure(width, height)
    picture.suptitle(title, x=0.01, ha="left", fontsize=9)
    return picture


def save_figure(draw: Callable[[], Figure], path: str | Path, argument: str = "out") -> None:
    """Write the figure of `draw` to a .png, .pdf or .svg; a refused path costs no drawing."""
    if Path(path).suffix not in ENDINGS:
        raise InvalidInput(argument, path, "must end in .png, .pdf or .svg")
    with styled(), whole(path) as target:
        figure = draw()
        try:
            # In memory first: where a PDF cannot be written, matplotlib breaks with other words.
            target.write_bytes(_encoded(figure, Path(path).suffix[1:], 160))
        finally:
            # A figure that was made to be shown is not shown as well.
            if hasattr(figure, "number"):
                import matplotlib.pyplot as plt

                plt.close(figure)
