"""The legend of a phase diagram: what its pixels can mean, as far as it happens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.sweeping.phases.panels import LABELS, MEASURES
from swingby.sweeping.phases.style import (
    FAILED,
    NOTHING,
    PALE,
    PALEST,
    Style,
    lightness,
    mixed,
    style_of,
    words,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from swingby.sweeping.phases.diagram import PhaseDiagram

#: Inches that an entry takes.
ENTRY = 1.3


def draw_legend(diagram: PhaseDiagram, chosen: Sequence[str], figure: Figure) -> None:
    """The legend below all panels.

    Parameters
    ----------
    diagram : PhaseDiagram
    chosen : sequence of str
        Names of the panels that are drawn.
    figure : matplotlib Figure
    """
    seen = _labels(diagram, chosen)
    handles = [_entry(style_of(name), words(name), diagram) for name in seen]
    if any(_pale(diagram, which) for which in set(LABELS) & set(chosen)):
        handles.append(_entry(_paled(seen), "pale: points differ", diagram))
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


def _labels(diagram: PhaseDiagram, chosen: Sequence[str]) -> list[str]:
    """Labels that are seen: the majority of some pixel, or any share of a stack."""
    cells = diagram.cells
    found: set[int] = set()
    for which in set(LABELS) & set(chosen):
        if diagram.y is None:
            counts = cells.predicted if which == "predicted" else cells.observed
            found.update(np.nonzero(counts.any(axis=0))[0].tolist())
        else:
            found.update(np.unique(cells.majority(which)[0]).tolist())
    return [name for place, name in enumerate(cells.labels) if place in found]


def _pale(diagram: PhaseDiagram, which: str) -> bool:
    """Whether a pixel is pale; a stack of shares says more."""
    share = diagram.cells.majority(which)[1]
    return diagram.y is not None and bool((share <= PALE).any())


def _paled(seen: Sequence[str]) -> Style:
    """The darkest of the labels, as it looks where points differ."""
    from matplotlib.colors import to_hex

    style = min(map(style_of, seen), key=lambda one: lightness(one.color))
    return Style(str(to_hex(mixed(style.color, PALEST))), style.hatch, style.dark, style.marker)


def _entry(style: Style, text: str, diagram: PhaseDiagram) -> Any:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if diagram.scattered:
        return Line2D(
            [],
            [],
            linestyle="",
            marker=style.marker,
            markersize=7,
            markerfacecolor=style.color,
            markeredgecolor="0.2",
            markeredgewidth=0.5,
            label=text,
        )
    return Patch(
        facecolor=style.color, edgecolor=style.ink, hatch=style.hatch, linewidth=0, label=text
    )


def _others(diagram: PhaseDiagram, chosen: Sequence[str]) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    cells = diagram.cells
    flat, some = diagram.y is None, cells.done > 0
    failed = (cells.failed > 0) if flat else (cells.failed > 0) & ~some
    found = []
    measured = [MEASURES[name].values(cells) for name in chosen if name in MEASURES]
    if not flat and any((np.isnan(values) & some).any() for values in measured):
        found.append(_entry(NOTHING, "no number", diagram))
    if failed.any():
        found.append(_entry(FAILED, "failed", diagram))
    if not flat and not diagram.scattered:
        if ((cells.failed > 0) & some).any():
            cross = Line2D([], [], linestyle="", marker="x", color="black", markersize=4)
            cross.set_label("failed in part")
            found.append(cross)
        if ((cells.failed == 0) & ~some).any():
            found.append(Patch(facecolor="white", edgecolor="0.5", linewidth=0.5, label="no run"))
    return found
