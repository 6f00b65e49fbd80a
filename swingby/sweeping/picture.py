"""The picture of a phase diagram: panels of pixels or signs, their ticks, and their legend.

Labels differ in lightness and in hatch (or in the shape of a sign), so that a grey print reads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.report.pictures import Size, inches, shown_figure, styled
from swingby.sweeping.cells import (
    Axis,
    Pixels,
    apart,
    around,
    pooled_text,
    tick_text,
    ticks_of,
)
from swingby.sweeping.frame import quantity
from swingby.sweeping.point import Label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Booleans = NDArray[np.bool_]

#: Inches of a panel, and of an entry of the legend.
WIDTH, HEIGHT, ENTRY = 2.75, 2.45, 1.3
#: Least inches of a panel in a figure whose size is given.
LEAST = (1.6, 1.9)
#: More pixels are drawn as an image also in a vector format; more have no room for a number.
MOST_VECTORS, MOST_NUMBERS = 2_500, 144
#: Ends of the colours of a margin.
MARGINS = (0.01, 1e4)
#: How much of its colour a pixel keeps whose points all differ; up to which share it counts as
#: pale.
PALEST, PALE = 0.42, 0.7
#: Of points and their pixels over one quantity.
BLUE = "#00699E"


# Styles


@dataclass(frozen=True)
class Style:
    """How a label looks: colour of the pixel, lines over it and their ink, sign of a draw."""

    color: str
    hatch: str
    ink: str
    marker: str

    @property
    def dark(self) -> str:
        """Colour of the lines on a pale pixel: that of the label, if it is darker than them."""
        return min(self.color, self.ink, key=lightness)


def _parts(color: str) -> list[float]:
    return [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]


def mixed(color: str, keep: Any) -> Any:
    """A colour mixed with white; `keep` is its share, of any shape."""
    kept = np.asarray(keep)[..., None]
    return kept * np.array(_parts(color)) + (1 - kept)


def lightness(color: str) -> float:
    """How light a colour prints in grey, from 0 to 1 (Rec. 601)."""
    return float(np.dot([0.299, 0.587, 0.114], _parts(color)))


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
NOTHING = Style("#FAFAFA", "//", "#B5B5B5", ".")
#: For labels of one's own, in turn.
OWN = (
    Style("#D8C58F", "++", "#605030", "*"),
    Style("#7FA6D6", "", "#1F4E8C", "p"),
    Style("#C76B8F", "oo", "#6B1F3E", "h"),
    Style("#5B8C3A", "||", "#D5E8C5", "<"),
)


def style_of(label: str, labels: Sequence[str] = ()) -> Style:
    """How a label looks; of one's own labels, each has its own look as long as there are some."""
    if label in STYLES:
        return STYLES[label]
    own = [one for one in labels if one not in STYLES]
    return OWN[own.index(label) % len(OWN) if label in own else 0]


# Panels


@dataclass(frozen=True)
class Measure:
    """A number per pixel: share, margin, count or number, in colours from light to dark."""

    title: str
    values: Callable[[Pixels], Floats]
    kind: str
    colors: str


def _cell(name: str) -> Callable[[Pixels], Floats]:
    return lambda diagram: getattr(diagram.cells, name)


def _share(label: Label) -> Callable[[Pixels], Floats]:
    return lambda diagram: diagram.cells.share("observed", label)


MEASURES = {
    name: Measure(title, values, kind, colors)
    for name, title, values, kind, colors in (
        ("disagreement", "disagreement, share of decided", None, "share", "OrRd"),
        ("margin", "predicted margin, median", None, "margin", "YlGnBu"),
        ("least_margin", "predicted margin, least", None, "margin", "YlGnBu"),
        ("predicted_swing_by", "swing-by predicted, share", None, "share", "BuPu"),
        ("swing_by", "swing-by observed, share", None, "share", "BuPu"),
        ("predicted_descents", "descents predicted, mean", None, "count", "YlGn"),
        ("descents", "descents observed, mean", None, "count", "YlGn"),
        ("trapped", "trapped, share", _share(Label.TRAPPED), "share", "PuBu"),
        ("diverged", "diverged, share", _share(Label.DIVERGED), "share", "RdPu"),
    )
    for values in (values or _cell(name),)
}
LABELS = {"predicted": "predicted label", "observed": "observed label"}
PANELS = (*LABELS, *MEASURES)


def measure_of(name: str) -> Measure:
    """What a panel shows that is not one of labels; of any other column, the median."""

    def median(diagram: Pixels) -> Floats:
        return diagram.median(name)

    return MEASURES.get(name) or Measure(
        f"{name.replace('_', ' ')}, median", median, "number", "YlGnBu"
    )


def default_panels(diagram: Pixels) -> tuple[str, ...]:
    """Panels that the rows have numbers for: six, or eight with the predicted halves."""
    if diagram.cells.told.any():
        return (
            *("predicted", "observed", "disagreement", "margin"),
            *("predicted_swing_by", "swing_by", "predicted_descents", "descents"),
        )
    return ("predicted", "observed", "disagreement", "margin", "swing_by", "descents")


def _checked(diagram: Pixels, panels: Sequence[str]) -> list[str]:
    found = [panels] if isinstance(panels, str) else list(panels)
    if not found:
        raise InvalidInput("panels", "an empty list", "must not be empty")
    columns = diagram.frame.select_dtypes(["number", "bool"])
    for name in found:
        if name not in PANELS and name not in columns:
            wanted = f"must be of {', '.join(PANELS)}, or a column of numbers"
            raise InvalidInput("panels", name, wanted)
    return found


def phase_figure(diagram: Pixels, panels: Sequence[str] | None = None, size: Size = None) -> Figure:
    """A diagram as a figure, a panel for each question; of a size, as many as there is room for."""
    chosen = default_panels(diagram) if panels is None else _checked(diagram, panels)
    across = {1: 1, 2: 2, 3: 3, 4: 2}.get(len(chosen), 4 if len(chosen) > 6 else 3)
    if size is not None:
        room = [max(1, int(one / least)) for one, least in zip(inches(size), LEAST, strict=True)]
        if panels is not None and len(chosen) > math.prod(room):
            wanted = f"must be at most {math.prod(room)} where size is {size!r}"
            raise InvalidInput("panels", len(chosen), wanted)
        chosen = chosen[: math.prod(room)]
        across = min(room[0], len(chosen))
    down = -(-len(chosen) // across)
    with styled():
        figure = shown_figure(*inches(size, (WIDTH * across + 0.4, HEIGHT * down + 0.75)))
        grid = figure.subplots(
            down, across, squeeze=False, sharex=True, sharey=diagram.y is not None
        )
        axes = list(grid.ravel())
        for ax in axes[len(chosen) :]:
            ax.remove()
        for place, (ax, name) in enumerate(zip(axes, chosen, strict=False)):
            _draw(diagram, name, ax)
            if size is not None:
                ax.set_title(ax.get_title(loc="left").replace(", ", ",\n"), loc="left", fontsize=7)
            last = place + across >= len(chosen)
            ax.tick_params(labelbottom=last, labelleft=place % across == 0 or diagram.y is None)
            ax.set_xlabel(ax.get_xlabel() if last else "")
            if place % across and (diagram.y is not None or name in LABELS):
                ax.set_ylabel("")
        text = _caption(diagram)
        if text and size is None:
            figure.suptitle(text, fontsize=9, x=0.01, ha="left")
        _draw_legend(diagram, chosen, figure)
    return figure


def _draw(diagram: Pixels, name: str, ax: Axes) -> None:
    labels = name in LABELS
    ax.set_title(LABELS[name] if labels else measure_of(name).title, loc="left")
    if diagram.y is None:
        (_stack_labels if labels else _draw_points)(diagram, name, ax)
    else:
        (_draw_labels if labels else _draw_measure)(diagram, name, ax)
        _dress_axis(ax, diagram.y, "y")
        for spine in ax.spines.values():
            spine.set_visible(True)
    _dress_axis(ax, diagram.x, "x")
    ax.tick_params(length=2.5, labelsize=8)


def _caption(diagram: Pixels) -> str:
    """What is fixed and what is pooled, in one line with the symbols of the paper."""
    parts: list[str] = []
    for name, value in diagram.fixed.items():
        one = quantity(name, diagram.frame)
        symbol = name if one is None else one.symbol
        if name == "dynamics":
            parts.insert(0, value)
        else:
            parts.append(f"{symbol} = {tick_text(value)}")
    if diagram.pooled:
        symbols = {name: one.symbol for name in diagram.pooled if (one := quantity(name))}
        each = "draw" if diagram.scattered else "pixel"
        parts.append(f"each {each}: {pooled_text(diagram.pooled, symbols)}")
    return ",  ".join(parts)


def _draw_labels(diagram: Pixels, which: str, ax: Axes) -> None:
    """The most common label of every pixel, paler the more its points differ."""
    cells = diagram.cells
    label, share = cells.majority(which)
    colors = np.ones((*diagram.shape, 3))
    # A share of one in two of two labels is as mixed as can be.
    keep = PALEST + (1 - PALEST) * np.clip(2 * share - 1, 0, 1)
    styles = [style_of(name, cells.labels) for name in cells.labels]
    for place, style in enumerate(styles):
        here = label == place
        colors[here] = mixed(style.color, keep[here])
    colors[(cells.done == 0) & (cells.failed > 0)] = mixed(FAILED.color, 1)
    if not diagram.scattered:
        _pixels(diagram, colors, ax)
    for place, style in enumerate(styles):
        if diagram.scattered:
            _signs(diagram, label == place, colors, style, ax)
        else:
            _hatch(diagram, (label == place) & (share > PALE), style, style.ink, ax)
            _hatch(diagram, (label == place) & (share <= PALE), style, style.dark, ax)
    _failures(diagram, colors, ax)


def _draw_measure(diagram: Pixels, name: str, ax: Axes) -> None:
    """A number per pixel, with its colour bar."""
    import matplotlib as mpl
    from matplotlib.cm import ScalarMappable

    measure, cells = measure_of(name), diagram.cells
    values = measure.values(diagram)
    norm, ticks, extend = _scale_of(measure.kind, _all_values(diagram, name))
    shades = mpl.colormaps[measure.colors]
    some = ~np.isnan(values)
    colors = np.ones((*diagram.shape, 3))
    colors[some] = shades(norm(np.clip(values[some], float(norm.vmin), float(norm.vmax))))[..., :3]
    nothing = ~some & (cells.done > 0)
    colors[nothing] = mixed(NOTHING.color, 1)
    colors[~some & (cells.done == 0) & (cells.failed > 0)] = mixed(FAILED.color, 1)
    if diagram.scattered:
        _signs(diagram, some, colors, style_of(Label.IN_ORDER), ax, values[some])
        _signs(diagram, nothing, colors, NOTHING, ax)
    else:
        _pixels(diagram, colors, ax)
        _hatch(diagram, nothing, NOTHING, NOTHING.ink, ax)
        if measure.kind == "margin":
            _outline(diagram, values, ax)
    _failures(diagram, colors, ax)
    bar = ax.figure.colorbar(
        ScalarMappable(norm, shades), ax=ax, ticks=ticks, extend=extend, pad=0.02, aspect=22
    )
    bar.outline.set_linewidth(0.5)
    bar.ax.tick_params(length=2, labelsize=8)
    bar.ax.minorticks_off()
    if measure.kind == "margin":
        bar.ax.axhline(1, color="black", linewidth=1.4)


def _all_values(diagram: Pixels, name: str) -> Floats:
    """Values that share a colour bar: predicted and observed numbers of one kind."""
    plain = name.removeprefix("predicted_")
    names = {name, *(other for other in MEASURES if other.removeprefix("predicted_") == plain)}
    return np.concatenate([measure_of(other).values(diagram).ravel() for other in names])


def _scale_of(kind: str, values: Floats) -> tuple[Any, Any, str]:
    """Colours of a kind of number: their norm, ticks, and ends."""
    from matplotlib.colors import LogNorm, Normalize

    if kind == "share":
        return Normalize(0, 1), [0, 0.25, 0.5, 0.75, 1], "neither"
    finite = values[np.isfinite(values)]
    if kind == "number":
        low, high = finite.min(initial=math.inf), finite.max(initial=-math.inf)
        return Normalize(*((low, high) if low < high else (0, 1))), None, "neither"
    if kind == "count":
        most = int(np.ceil(finite.max(initial=2)))
        least = min(1, int(np.floor(finite.min(initial=1))))
        ticks = list(range(least, most + 1, max(1, (most - least) // 6)))
        return Normalize(least, most), ticks, "neither"
    positive = finite[finite > 0]
    low = 10 ** np.floor(np.log10(positive.min(initial=0.1)))
    high = 10 ** np.ceil(np.log10(positive.max(initial=10.0)))
    low, high = max(low, MARGINS[0]), min(high, MARGINS[1])
    below, above = (values < low).any(), (values > high).any()
    extend = {(0, 0): "neither", (1, 0): "min", (0, 1): "max", (1, 1): "both"}[below, above]
    return LogNorm(low, high), None, extend


def _stack_labels(diagram: Pixels, which: str, ax: Axes) -> None:
    """Shares of the labels on top of each other; failed points grey, missing ones left open."""
    cells = diagram.cells
    counts = cells.predicted if which == "predicted" else cells.observed
    total = np.maximum(cells.done + cells.failed + cells.missing, 1)
    edges = np.array(diagram.x.edges)
    foot = np.zeros(diagram.shape)
    parts = [
        (style_of(name, cells.labels), counts[:, place]) for place, name in enumerate(cells.labels)
    ]
    for style, count in [*parts, (FAILED, cells.failed)]:
        if count.any():
            ax.bar(
                edges[:-1],
                count / total,
                np.diff(edges),
                bottom=foot,
                align="edge",
                color=style.color,
                edgecolor=style.ink,
                hatch=style.hatch,
                linewidth=0,
            )
            foot = foot + count / total
    ax.set_ylim(0, 1)
    ax.set_ylabel("share of points")


def _draw_points(diagram: Pixels, name: str, ax: Axes) -> None:
    """A number per value of the quantity, a bar as wide as its pixel."""
    from matplotlib.ticker import MaxNLocator

    measure = measure_of(name)
    values = measure.values(diagram)
    norm, _, _ = _scale_of(measure.kind, values)
    low, high = float(norm.vmin), float(norm.vmax)
    edges = np.array(diagram.x.edges)
    if measure.kind == "margin":
        ax.set_yscale("log")
        ax.axhline(1, color="black", linewidth=1.0, zorder=1)
        ax.set_ylim(low, high)
    else:
        ax.set_ylim(low - 0.04 * (high - low), high + 0.04 * (high - low))
    if measure.kind == "count":
        ax.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    shown = np.clip(values, low, high)
    ax.hlines(shown, edges[:-1], edges[1:], color=BLUE, linewidth=1.2, zorder=2)
    for sign, here in (
        ("o", (values >= low) & (values <= high)),
        ("v", values < low),
        ("^", values > high),
    ):
        places = np.array(diagram.x.places)[here]
        if len(places):  # an empty line without clipping would take room at the corner
            ax.plot(places, shown[here], sign, color=BLUE, markersize=4, zorder=3, clip_on=False)


# Marks


def _pixels(diagram: Pixels, colors: Floats, ax: Axes) -> None:
    """Colours on pixels: exact ends, nothing between neighbours."""
    if diagram.y is None or not colors.size:
        return
    ax.pcolormesh(
        diagram.x.edges,
        diagram.y.edges,
        colors,
        shading="flat",
        rasterized=colors[..., 0].size > MOST_VECTORS,
        antialiased=False,
        linewidth=0,
        zorder=1,
    )


def _hatch(diagram: Pixels, here: Booleans, style: Style, ink: str, ax: Axes) -> None:
    """One hatched area for all pixels of a kind, so that lines go on from pixel to pixel."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if not style.hatch or diagram.y is None or not here.any():
        return
    across, up = np.array(diagram.x.edges), np.array(diagram.y.edges)
    row, column = np.nonzero(here)
    left, right, low, high = across[column], across[column + 1], up[row], up[row + 1]
    corners = np.stack([left, low, right, low, right, high, left, high], axis=-1).reshape(-1, 4, 2)
    area = Path.make_compound_path_from_polys(corners)
    ax.add_patch(
        PathPatch(area, facecolor="none", edgecolor=ink, hatch=style.hatch, linewidth=0, zorder=2)
    )


def _outline(diagram: Pixels, values: Floats, ax: Axes) -> None:
    """A line between pixels whose values lie on the two sides of 1; none to one without a value."""
    from matplotlib.collections import LineCollection

    if diagram.y is None:
        return
    across, up = diagram.x.edges, diagram.y.edges
    lines = [
        [(across[column + 1], up[row]), (across[column + 1], up[row + 1])]
        for row, column in np.argwhere(_parted(values[:, 1:], values[:, :-1]))
    ]
    lines += [
        [(across[column], up[row + 1]), (across[column + 1], up[row + 1])]
        for row, column in np.argwhere(_parted(values[1:], values[:-1]))
    ]
    ax.add_collection(
        LineCollection(lines, colors="black", linewidths=1.4, capstyle="projecting", zorder=3),
        autolim=False,
    )


def _parted(one: Floats, other: Floats) -> Booleans:
    return ((one > 1) & (other <= 1)) | ((one <= 1) & (other > 1))


def _signs(
    diagram: Pixels,
    here: Booleans,
    colors: Floats,
    style: Style,
    ax: Axes,
    order: Floats | None = None,
) -> None:
    """A sign for every draw, those of the largest `order` on top."""
    if diagram.y is None or not here.any():
        return
    places = np.nonzero(here)[0]
    if order is not None:
        places = places[np.argsort(order, kind="stable")]
    ax.scatter(
        np.array(diagram.x.places)[places],
        np.array(diagram.y.places)[places],
        c=colors[places],
        marker=style.marker,
        s=max(7.0, min(42.0, 8000 / here.size)),
        edgecolors="0.2",
        linewidths=0.35,
        rasterized=here.size > MOST_VECTORS,
        zorder=2,
    )


def _failures(diagram: Pixels, colors: Floats, ax: Axes) -> None:
    """How many points failed, where a whole pixel did; a cross where some of it did."""
    cells = diagram.cells
    if diagram.y is None:
        return
    failed, partly = (cells.failed > 0) & (cells.done == 0), (cells.failed > 0) & (cells.done > 0)
    if diagram.scattered:
        _signs(diagram, failed, colors, FAILED, ax)
        return
    across, up = np.array(diagram.x.places), np.array(diagram.y.places)
    rows, columns = np.nonzero(partly)
    ax.plot(across[columns], up[rows], "x", color="black", markersize=3.5, zorder=4)
    if cells.failed.size <= MOST_NUMBERS:
        for row, column in np.argwhere(failed):
            count = str(cells.failed[row, column])
            ax.text(across[column], up[row], count, ha="center", va="center", fontsize=7, zorder=4)


def _dress_axis(ax: Axes, axis: Axis, side: str) -> None:
    """Ticks, label and ends of one axis of a panel."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    across = side == "x"
    target = ax.xaxis if across else ax.yaxis
    low, high = (axis.edges[0], axis.edges[-1]) if len(axis.edges) > 1 else around(axis.places)
    (ax.set_xlim if across else ax.set_ylim)(low, high)
    (ax.set_xlabel if across else ax.set_ylabel)(axis.symbol)
    ticks = apart(ticks_of(axis, low, high), high - low, across=across)
    target.set_minor_locator(NullLocator())
    target.set_major_locator(FixedLocator([place for place, _ in ticks]))
    target.set_major_formatter(FixedFormatter([text for _, text in ticks]))


# Legend: what pixels can mean, as far as it happens


def _draw_legend(diagram: Pixels, chosen: Sequence[str], figure: Figure) -> None:
    from matplotlib.colors import to_hex

    cells = diagram.cells
    shown = [which for which in LABELS if which in chosen]
    seen = _seen(diagram, shown)
    styles = [style_of(name, cells.labels) for name in seen]
    handles = [
        _entry(style, name.replace("_", " "), diagram)
        for style, name in zip(styles, seen, strict=True)
    ]
    # A stack of shares says more than a pale pixel.
    if diagram.y is not None and any((cells.majority(which)[1] <= PALE).any() for which in shown):
        style = min(styles, key=lambda one: lightness(one.color))
        paled = str(to_hex(mixed(style.color, PALEST)))
        darkest = Style(paled, style.hatch, style.dark, style.marker)
        handles.append(_entry(darkest, "pale: points differ", diagram))
    handles += _others(diagram, chosen)
    if handles:
        columns = max(2, int(figure.get_figwidth() / ENTRY))
        lines = -(-len(handles) // columns)
        figure.legend(
            handles=handles,
            loc="outside lower center",
            ncols=-(-len(handles) // lines),
            handlelength=2.2,
            handleheight=1.5,
        )


def _seen(diagram: Pixels, shown: Sequence[str]) -> list[str]:
    """Labels that are seen: the majority of some pixel, or any share of a stack."""
    cells = diagram.cells
    found: set[int] = set()
    for which in shown:
        if diagram.y is None:
            counts = cells.predicted if which == "predicted" else cells.observed
            found.update(np.nonzero(counts.any(axis=0))[0].tolist())
        else:
            found.update(np.unique(cells.majority(which)[0]).tolist())
    return [name for place, name in enumerate(cells.labels) if place in found]


def _entry(style: Style, text: str, diagram: Pixels) -> Any:
    from matplotlib.patches import Patch

    if diagram.scattered:
        return _sign(
            style.marker,
            text,
            markersize=7,
            markerfacecolor=style.color,
            markeredgecolor="0.2",
            markeredgewidth=0.5,
        )
    return Patch(
        facecolor=style.color, edgecolor=style.ink, hatch=style.hatch, linewidth=0, label=text
    )


def _sign(marker: str, text: str, **look: Any) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="", marker=marker, label=text, **look)


def _others(diagram: Pixels, chosen: Sequence[str]) -> list[Any]:
    from matplotlib.patches import Patch

    cells = diagram.cells
    flat, some = diagram.y is None, cells.done > 0
    failed = (cells.failed > 0) if flat else (cells.failed > 0) & ~some
    found = []
    measured = [measure_of(name).values(diagram) for name in chosen if name not in LABELS]
    if not flat and any((np.isnan(values) & some).any() for values in measured):
        found.append(_entry(NOTHING, "no number", diagram))
    if failed.any():
        found.append(_entry(FAILED, "failed", diagram))
    if not flat and not diagram.scattered:
        if ((cells.failed > 0) & some).any():
            found.append(_sign("x", "failed in part", color="black", markersize=4))
        if ((cells.failed == 0) & ~some).any():
            found.append(Patch(facecolor="white", edgecolor="0.5", linewidth=0.5, label="no run"))
    return found
