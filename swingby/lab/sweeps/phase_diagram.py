"""The picture of a phase diagram: panels of pixels or signs, and their legend.

Labels differ in lightness and in hatch (or in the shape of a sign), so that a grey print reads.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.lab.sweeps.axis import Axis, tick_text, ticks
from swingby.lab.sweeps.label import Label
from swingby.lab.sweeps.phases import Diagram, pooled_text
from swingby.lab.sweeps.quantity import quantity
from swingby.report.picture_style import styled
from swingby.report.pictures import Size, inches, save_figure, shown_figure
from swingby.theory.numbers import Booleans, Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches of a panel, and of an entry of the legend.
_WIDTH, _HEIGHT, _ENTRY = 2.75, 2.45, 1.3
#: Least inches of a panel in a figure whose size is given.
_LEAST = (1.6, 1.9)
#: More pixels are drawn as an image also in a vector format; more have no room for a number.
_MOST_VECTORS, _MOST_NUMBERS = 2_500, 144
#: Ends of the colours of a margin.
_MARGINS = (0.01, 1e4)
#: How much of its colour a pixel keeps whose points all differ; up to which share it counts as
#: pale.
PALEST, _PALE = 0.42, 0.7
#: Of numbers over one quantity.
_BLUE = "#00699E"


class PhaseDiagram(Diagram):
    """Predictions and observations per pixel. Made by ``SweepResult.phase_diagram``.

    `x` and `y` are the axes; `y` is None for a diagram over one quantity. Where `scattered`, every
    draw of a random design is a pixel of its own, and the axes have one value per draw; otherwise
    the pixels are all pairs of their values. `cells` has arrays of shape (y, x); (x,) without y;
    (draws,) where scattered. `agreement` is over all points shown. `fixed` has one value at all
    points, or was asked for; `pooled` differs between points of one pixel, and says how many values
    it has. `left_out` points lack one of the two quantities, as a_3 with two concepts. `frame` has
    the points, with the number of their `pixel`.
    """

    def plot(self, panels: Sequence[str] | None = None, *, size: Size = None) -> Figure:
        """Draw the diagram, a panel for each question.

        Parameters
        ----------
        panels : sequence of str, optional
            Of ``predicted``, ``observed``: the majority label of every pixel, paler where seeds
            differ; ``disagreement``: share of the decided points not observed as predicted;
            ``margin``: the median, with a line around the pixels where it is above 1;
            ``swing_by``, ``descents``: observed; ``predicted_swing_by``,
            ``predicted_descents``: where the law tells them; ``trapped``, ``diverged``: share of
            the observed labels; any other column of numbers: its median. Default: those that the
            rows have numbers for, without ``trapped`` and ``diverged``; of these, with a size,
            as many as there is room for.
        size : {"column", "text"}, width, or (width, height), optional
            Of a figure for a paper, in inches or as ``"240pt"``: no line above the panels says
            what is fixed.

        Returns
        -------
        matplotlib.figure.Figure
            Made without pyplot. Pixels without points are white, failed ones grey.

        Raises
        ------
        InvalidInput
            For an unknown panel, a size that is none, or more panels than it has room for.
        """
        return _figure(self, panels, size)

    def save_picture(self, path: str | Path, panels: Sequence[str] | None = None) -> None:
        """Draw the diagram into a file.

        Parameters
        ----------
        path : str or Path
            Ending in png, pdf or svg. The file appears complete or not at all.
        panels : sequence of str, optional
            See :meth:`plot`.

        Raises
        ------
        InvalidInput
            If the path cannot be written or has another ending.
        """
        save_figure(lambda: self.plot(panels), path)


# Styles

#: A name of matplotlib, or red, green and blue from 0 to 1.
_Color = Any


@dataclass(frozen=True)
class Style:
    """How a label looks: colour of the pixel, lines over it and their ink, sign of a draw."""

    color: _Color
    hatch: str
    ink: _Color
    marker: str

    @property
    def dark(self) -> _Color:
        """Colour of the lines on a pale pixel: that of the label, if it is darker than them."""
        return min(self.color, self.ink, key=lightness)


def mixed(color: _Color, keep: Any = 1.0) -> Any:
    """A colour mixed with white; `keep` is its share, of any shape."""
    from matplotlib.colors import to_rgb

    share = np.asarray(keep)[..., None]
    return share * np.array(to_rgb(color)) + (1 - share)


def lightness(color: _Color) -> float:
    """How light a colour prints in grey, from 0 to 1 (Rec. 601)."""
    return float(np.dot([0.299, 0.587, 0.114], mixed(color)))


#: From light to dark.
STYLES = {
    str(Label.UNDECIDED): Style("#F4F4F4", "....", "#8A8A8A", "D"),
    str(Label.IN_ORDER): Style("#A9DFC8", "", "#2F7F62", "o"),
    str(Label.OUT_OF_ORDER): Style("#EFA02C", "////", "#8F5600", "^"),
    str(Label.TRAPPED): Style("#00699E", "\\\\\\\\", "#8CC7E6", "s"),
    str(Label.DIVERGED): Style("#3B0F3A", "xxxx", "#B98AB8", "X"),
    str(Label.UNFINISHED): Style("#D9D9D9", "----", "#7A7A7A", "v"),
}
FAILED = Style("#9B9B9B", "", "#4D4D4D", "P")
#: Pixels that have points, of which none says anything.
_NOTHING = Style("#E4E4E4", "", "#E4E4E4", ".")
#: Pixels without points.
_NO_RUN = Style("#FFFFFF", "", "#808080", ".")
#: For labels of the user, in turn.
_OWN = (
    Style("#D8C58F", "++", "#605030", "*"),
    Style("#7FA6D6", "", "#1F4E8C", "p"),
    Style("#C76B8F", "oo", "#6B1F3E", "h"),
    Style("#5B8C3A", "||", "#D5E8C5", "<"),
)


def _styles(diagram: Diagram) -> dict[str, Style]:
    """The styles of the labels of a diagram; labels of the user get a style in turn."""
    labels = diagram.cells.labels
    added = [label for label in labels if label not in STYLES]
    return {label: STYLES.get(label) or _OWN[added.index(label) % len(_OWN)] for label in labels}


# Panels: labels, or a number per pixel with its title, its kind, and its colours

_LABELS = {"predicted": "predicted label", "observed": "observed label"}
_MEASURES = {
    "disagreement": ("disagreement, share of decided", "share", "OrRd"),
    "margin": ("predicted margin, median", "margin", "YlGnBu"),
    "least_margin": ("predicted margin, least", "margin", "YlGnBu"),
    "predicted_swing_by": ("swing-by predicted, share", "share", "BuPu"),
    "swing_by": ("swing-by observed, share", "share", "BuPu"),
    "predicted_descents": ("descents predicted, mean", "count", "YlGn"),
    "descents": ("descents observed, mean", "count", "YlGn"),
    "trapped": ("trapped, share", "share", "PuBu"),
    "diverged": ("diverged, share", "share", "RdPu"),
}
PANELS = (*_LABELS, *_MEASURES)


def _measure(name: str) -> tuple[str, str, str]:
    """Title, kind and colours of a number; of any other column it is the median."""
    return _MEASURES.get(name, (f"{name.replace('_', ' ')}, median", "number", "YlGnBu"))


def _values(diagram: Diagram, name: str) -> Floats:
    if name in ("trapped", "diverged"):
        return diagram.cells.share("observed", name)
    values: Floats = getattr(diagram.cells, name) if name in _MEASURES else diagram.median(name)
    return values


def default_panels(diagram: Diagram) -> tuple[str, ...]:
    """Panels that the rows have numbers for: six, or eight with the predicted halves."""
    swings: tuple[str, ...] = ("swing_by", "descents")
    if diagram.cells.told.any():
        swings = ("predicted_swing_by", "swing_by", "predicted_descents", "descents")
    return ("predicted", "observed", "disagreement", "margin", *swings)


def _checked(diagram: Diagram, panels: Sequence[str]) -> list[str]:
    if not isinstance(panels, Iterable):
        raise InvalidInput("panels", panels, "must be a list of names")
    names = [panels] if isinstance(panels, str) else list(panels)
    if not names:
        raise InvalidInput("panels", "an empty list", "must not be empty")
    columns = diagram.frame.select_dtypes(["number", "bool"]).columns
    for name in names:
        if name not in PANELS and name not in list(columns):
            requirement = f"must be of {', '.join(PANELS)}, or a column of numbers"
            raise InvalidInput("panels", name, requirement)
    return names


def _figure(diagram: Diagram, panels: Sequence[str] | None, size: Size) -> Figure:
    """A diagram as a figure, a panel for each question; of a size, as many as there is room for."""
    chosen = default_panels(diagram) if panels is None else _checked(diagram, panels)
    across = {1: 1, 2: 2, 3: 3, 4: 2}.get(len(chosen), 4 if len(chosen) > 6 else 3)
    if size is not None:
        sides = zip(inches(size), _LEAST, strict=True)
        room = [max(1, int(inch / smallest)) for inch, smallest in sides]
        if panels is not None and len(chosen) > math.prod(room):
            requirement = f"must be at most {math.prod(room)} where size is {size!r}"
            raise InvalidInput("panels", len(chosen), requirement)
        chosen = chosen[: math.prod(room)]
        across = min(room[0], len(chosen))
    down = -(-len(chosen) // across)
    with styled():
        figure = shown_figure(*inches(size, (_WIDTH * across + 0.4, _HEIGHT * down + 0.75)))
        grid = figure.subplots(
            down, across, squeeze=False, sharex=True, sharey=diagram.y is not None
        )
        axes = list(grid.ravel())
        for ax in axes[len(chosen) :]:
            ax.remove()
        for number, (ax, name) in enumerate(zip(axes, chosen, strict=False)):
            _draw(diagram, name, ax)
            if size is not None:
                ax.set_title(ax.get_title(loc="left").replace(", ", ",\n"), loc="left", fontsize=7)
            last = number + across >= len(chosen)
            ax.tick_params(labelbottom=last, labelleft=number % across == 0 or diagram.y is None)
            ax.set_xlabel(ax.get_xlabel() if last else "")
            if number % across and (diagram.y is not None or name in _LABELS):
                ax.set_ylabel("")
        text = _caption(diagram)
        if text and size is None:
            figure.suptitle(text, fontsize=9, x=0.01, ha="left")
        _draw_legend(diagram, chosen, figure)
    return figure


def _draw(diagram: Diagram, name: str, ax: Axes) -> None:
    labels = name in _LABELS
    ax.set_title(_LABELS[name] if labels else _measure(name)[0], loc="left")
    if diagram.y is None:
        (_stack_labels if labels else _draw_points)(diagram, name, ax)
    else:
        (_draw_labels if labels else _draw_measure)(diagram, name, ax)
        _dress_axis(ax, diagram.y, "y")
        for spine in ax.spines.values():
            spine.set_visible(True)
    _dress_axis(ax, diagram.x, "x")
    ax.tick_params(length=2.5, labelsize=9)


def _dress_axis(ax: Axes, axis: Axis, side: str) -> None:
    """Set the ticks, the label and the ends of an axis of a panel."""
    if len(axis.edges) > 1:
        low, high = axis.edges[0], axis.edges[-1]
    else:
        low, high = min(axis.places, default=0.0), max(axis.places, default=1.0)
        room = 0.04 * (high - low) or 0.5
        low, high = (low - room, high + room) if axis.places else (low, high)
    marks = ticks(axis, low, high, across=side == "x")
    ax.set(**{f"{side}lim": (low, high), f"{side}label": axis.symbol})
    getattr(ax, f"set_{side}ticks")([*marks], [*marks.values()])


def _caption(diagram: Diagram) -> str:
    """The fixed and the pooled quantities in a line, with the symbols of the paper."""
    words: list[str] = []
    for name, value in diagram.fixed.items():
        fixed = quantity(name, diagram.frame)
        symbol = name if fixed is None else fixed.symbol
        if name == "dynamics":
            words.insert(0, value)
        else:
            words.append(f"{symbol} = {tick_text(value)}")
    if diagram.pooled:
        symbols = {name: fixed.symbol for name in diagram.pooled if (fixed := quantity(name))}
        each = "draw" if diagram.scattered else "pixel"
        words.append(f"each {each}: {pooled_text(diagram.pooled, symbols)}")
    return ",  ".join(words)


# Over two quantities: pixels, or a sign for every draw


def _draw_labels(diagram: Diagram, which: str, ax: Axes) -> None:
    """The most common label of every pixel, paler the more its points differ."""
    label, share = diagram.cells.majority(which)
    colors = np.ones((*diagram.shape, 3))
    # A share of one in two of two labels is as mixed as can be.
    keep = PALEST + (1 - PALEST) * np.clip(2 * share - 1, 0, 1)
    kinds = [(label == number, style) for number, style in enumerate(_styles(diagram).values())]
    for here, style in kinds:
        colors[here] = mixed(style.color, keep[here])
    _paint(diagram, ax, colors, kinds)
    for here, style in kinds:
        _hatch(diagram, ax, here & (share > _PALE), style.hatch, style.ink)
        _hatch(diagram, ax, here & (share <= _PALE), style.hatch, style.dark)


def _draw_measure(diagram: Diagram, name: str, ax: Axes) -> None:
    """A number per pixel, with its colour bar."""
    import matplotlib as mpl
    from matplotlib.cm import ScalarMappable
    from matplotlib.ticker import MaxNLocator

    _, kind, map_of = _measure(name)
    values = _values(diagram, name)
    # Predicted and observed numbers of one kind share a colour bar.
    quantity = name.removeprefix("predicted_")
    names = {
        name,
        *(measure for measure in _MEASURES if measure.removeprefix("predicted_") == quantity),
    }
    norm = _norm(kind, np.concatenate([_values(diagram, measure).ravel() for measure in names]))
    shades = mpl.colormaps[map_of]
    defined = ~np.isnan(values)
    nothing = ~defined & (diagram.cells.done > 0)
    colors = np.ones((*diagram.shape, 3))
    colors[defined] = shades(norm(np.clip(values[defined], norm.vmin, norm.vmax)))[..., :3]
    colors[nothing] = mixed(_NOTHING.color)
    _paint(diagram, ax, colors, [(defined, STYLES["in_order"]), (nothing, _NOTHING)])
    options: dict[str, Any] = {"pad": 0.02, "aspect": 22}
    if kind == "margin":
        options["extend"] = "both"
    elif kind == "count":
        options["ticks"] = MaxNLocator(6, integer=True)
    bar = ax.figure.colorbar(ScalarMappable(norm, shades), ax=ax, **options)
    bar.outline.set_linewidth(0.5)
    bar.ax.tick_params(length=2, labelsize=9)
    bar.ax.minorticks_off()
    if kind == "margin":
        bar.ax.axhline(1, color="black", linewidth=1.4)
        _outline(diagram, ax, values)


def _norm(kind: str, values: Floats) -> Any:
    """The ends of the colours of a kind of number."""
    from matplotlib.colors import LogNorm, Normalize

    finite = values[np.isfinite(values)]
    if kind == "margin":
        low, high = finite[finite > 0].min(initial=0.1), finite.max(initial=10)
        return LogNorm(max(low, _MARGINS[0]), min(high, _MARGINS[1]))
    floor, ceiling = {"share": (0, 1), "count": (1, 2)}.get(kind, (math.inf, -math.inf))
    low, high = finite.min(initial=floor), finite.max(initial=ceiling)
    return Normalize(*((float(low), float(high)) if low < high else (0, 1)))


def _paint(
    diagram: Diagram, ax: Axes, colors: Floats, kinds: Sequence[tuple[Booleans, Style]]
) -> None:
    """Colours on pixels, or on a sign per draw, of the shape of its kind; failed points grey."""
    cells, x, y = diagram.cells, diagram.x, diagram.y
    failed = (cells.done == 0) & (cells.failed > 0)
    colors[failed] = mixed(FAILED.color)
    look: dict[str, Any] = {"rasterized": failed.size > _MOST_VECTORS}
    if y is None or not failed.size:
        return
    across, up = np.array(x.places), np.array(y.places)
    if diagram.scattered:
        look |= {"s": max(7.0, min(42.0, 8000 / failed.size)), "edgecolors": "0.2"}
        for here, style in [*kinds, (failed, FAILED)]:
            look |= {"c": colors[here], "marker": style.marker, "linewidths": 0.35}
            ax.scatter(across[here], up[here], zorder=2, **look)
        return
    # Exact ends, and nothing between neighbours.
    look |= {"antialiased": False, "linewidth": 0, "zorder": 1}
    ax.pcolormesh(x.edges, y.edges, colors, shading="flat", **look)
    middle: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 7, "zorder": 4}
    for row, column in np.argwhere(failed & (failed.size <= _MOST_NUMBERS)):
        ax.text(across[column], up[row], str(cells.failed[row, column]), **middle)


def _hatch(diagram: Diagram, ax: Axes, here: Booleans, hatch: str, ink: str) -> None:
    """One hatched area for all pixels of a kind, so that lines go on from pixel to pixel."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if not hatch or diagram.y is None or diagram.scattered or not here.any():
        return
    across, up = np.array(diagram.x.edges), np.array(diagram.y.edges)
    row, column = np.nonzero(here)
    west, east, south, north = across[column], across[column + 1], up[row], up[row + 1]
    corners = np.stack([west, south, east, south, east, north, west, north], axis=-1)
    area = Path.make_compound_path_from_polys(corners.reshape(-1, 4, 2))
    look: dict[str, Any] = {"edgecolor": ink, "hatch": hatch, "linewidth": 0}
    ax.add_patch(PathPatch(area, facecolor="none", zorder=2, **look))


def _outline(diagram: Diagram, ax: Axes, values: Floats) -> None:
    """Draw a line between pixels with values on both sides of 1, never to a pixel without any."""
    if diagram.y is None or diagram.scattered:
        return
    x, y = np.array(diagram.x.edges), np.array(diagram.y.edges)
    look: dict[str, Any] = {"colors": "black", "linewidths": 1.4, "capstyle": "projecting"}
    row, k = np.nonzero(_parted(values[:, 1:], values[:, :-1]))
    ax.vlines(x[k + 1], y[row], y[row + 1], zorder=3, **look)
    row, k = np.nonzero(_parted(values[1:], values[:-1]))
    ax.hlines(y[row + 1], x[k], x[k + 1], zorder=3, **look)


def _parted(first: Floats, second: Floats) -> Booleans:
    return ((first > 1) & (second <= 1)) | ((first <= 1) & (second > 1))


# Over one quantity


def _stack_labels(diagram: Diagram, which: str, ax: Axes) -> None:
    """Stack the shares of the labels; failed points are grey, missing points left open."""
    cells = diagram.cells
    total = np.maximum(cells.done + cells.failed + cells.missing, 1)
    edges = np.array(diagram.x.edges)
    foot = np.zeros(diagram.shape)
    counts = np.moveaxis(cells.counts(which), -1, 0)
    for style, count in [
        *zip(_styles(diagram).values(), counts, strict=True),
        (FAILED, cells.failed),
    ]:
        if count.any():
            look: dict[str, Any] = {"color": style.color, "edgecolor": style.ink, "linewidth": 0}
            look |= {"hatch": style.hatch, "align": "edge"}
            ax.bar(edges[:-1], count / total, np.diff(edges), bottom=foot, **look)
            foot = foot + count / total
    ax.set_ylim(0, 1)
    ax.set_ylabel("share of points")


def _draw_points(diagram: Diagram, name: str, ax: Axes) -> None:
    """Draw a bar as wide as its pixel per value of the quantity, at most at the end of the axis."""
    from matplotlib.ticker import MaxNLocator

    kind, values = _measure(name)[1], _values(diagram, name)
    norm, edges = _norm(kind, values), np.array(diagram.x.edges)
    room = 0.04 * (norm.vmax - norm.vmin)
    if kind == "margin":
        room = 0
        ax.set_yscale("log")
        ax.axhline(1, color="black", linewidth=1.0)
    elif kind == "count":
        ax.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    heights = np.clip(values, norm.vmin, norm.vmax)
    ax.hlines(heights, edges[:-1], edges[1:], color=_BLUE, linewidth=3, clip_on=False)
    ax.set_ylim(norm.vmin - room, norm.vmax + room)


# Legend: what pixels can mean, as far as it happens


def _draw_legend(diagram: Diagram, chosen: Sequence[str], figure: Figure) -> None:
    cells, flat, styles = diagram.cells, diagram.y is None, _styles(diagram)
    panels = [which for which in _LABELS if which in chosen]
    # Labels that are seen: the majority of some pixel, or any share of a stack.
    visible = set[int]()
    for which in panels:
        any_of = np.flatnonzero(cells.counts(which).any(axis=0))
        visible.update((any_of if flat else cells.majority(which)[0]).ravel().tolist())
    entries = {
        name.replace("_", " "): style
        for number, (name, style) in enumerate(styles.items())
        if number in visible
    }
    # A stack of shares says more than a pale pixel.
    if not flat and any((cells.majority(which)[1] <= _PALE).any() for which in panels):
        style = min(entries.values(), key=lambda style: lightness(style.color))
        paled = Style(mixed(style.color, PALEST), style.hatch, style.dark, style.marker)
        entries["pale: points differ"] = paled
    failed, done = cells.failed > 0, cells.done > 0
    measured = [_values(diagram, name) for name in chosen if name not in _LABELS]
    if not flat and any((np.isnan(values) & done).any() for values in measured):
        entries["no number"] = _NOTHING
    if (failed if flat else failed & ~done).any():
        entries["failed"] = FAILED
    if not flat and not diagram.scattered and (~failed & ~done).any():
        entries["no run"] = _NO_RUN
    if entries:
        lines = -(-len(entries) // max(2, int(figure.get_figwidth() / _ENTRY)))
        figure.legend(
            handles=[_entry(style, text, diagram) for text, style in entries.items()],
            loc="outside lower center",
            ncols=-(-len(entries) // lines),
            handlelength=2.2,
            handleheight=1.5,
        )


def _entry(style: Style, text: str, diagram: Diagram) -> Any:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if diagram.scattered:
        look = {"markerfacecolor": style.color, "markeredgecolor": "0.2", "markeredgewidth": 0.5}
        return Line2D([], [], ls="", marker=style.marker, label=text, markersize=7, **look)
    width = 0.5 * (style is _NO_RUN)
    return Patch(fc=style.color, ec=style.ink, hatch=style.hatch, linewidth=width, label=text)
