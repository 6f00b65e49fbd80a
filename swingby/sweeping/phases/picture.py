"""The picture of a phase diagram: which panels, where they stand, and their legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from swingby.errors import InvalidInput
from swingby.report.pictures import shown_figure as new_figure
from swingby.report.pictures import styled
from swingby.sweeping.phases.legend import draw_legend
from swingby.sweeping.phases.lines import draw_points, stack_labels
from swingby.sweeping.phases.panels import LABELS, MEASURES, draw_labels, draw_measure
from swingby.sweeping.phases.report import caption
from swingby.sweeping.phases.ticks import dress_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from swingby.sweeping.phases.diagram import PhaseDiagram

PANELS = (*LABELS, *MEASURES)
#: Inches of a panel.
WIDTH, HEIGHT = 2.75, 2.45


def phase_figure(diagram: PhaseDiagram, panels: Sequence[str] | None = None) -> Figure:
    """A diagram as a figure, a panel for each question.

    Parameters
    ----------
    diagram : PhaseDiagram
    panels : sequence of str, optional
        Of :data:`PANELS`. Default: see :func:`default_panels`.

    Raises
    ------
    InvalidInput
        For an unknown panel.
    """
    chosen = default_panels(diagram) if panels is None else _checked(panels)
    across = {1: 1, 2: 2, 3: 3, 4: 2}.get(len(chosen), 4 if len(chosen) > 6 else 3)
    down = -(-len(chosen) // across)
    with styled():
        figure = new_figure(WIDTH * across + 0.4, HEIGHT * down + 0.75)
        grid = figure.subplots(
            down, across, squeeze=False, sharex=True, sharey=diagram.y is not None
        )
        axes = list(grid.ravel())
        for ax, name in zip(axes, chosen, strict=False):
            _draw(diagram, name, ax)
        for ax in axes[len(chosen) :]:
            ax.remove()
        for place, ax in enumerate(axes[: len(chosen)]):
            last = place + across >= len(chosen)
            ax.tick_params(labelbottom=last, labelleft=place % across == 0 or diagram.y is None)
            ax.set_xlabel(ax.get_xlabel() if last else "")
            if place % across and (diagram.y is not None or chosen[place] in LABELS):
                ax.set_ylabel("")
        text = caption(diagram)
        if text:
            figure.suptitle(text, fontsize=9, x=0.01, ha="left")
        draw_legend(diagram, chosen, figure)
    return figure


def default_panels(diagram: PhaseDiagram) -> tuple[str, ...]:
    """Panels that the rows have numbers for.

    Returns
    -------
    tuple of str
        Six; with the predicted halves of swing-by and descents eight.
    """
    if diagram.cells.told.any():
        return (
            *("predicted", "observed", "disagreement", "margin"),
            *("predicted_swing_by", "swing_by", "predicted_descents", "descents"),
        )
    return ("predicted", "observed", "disagreement", "margin", "swing_by", "descents")


def _checked(panels: Sequence[str]) -> list[str]:
    found = [panels] if isinstance(panels, str) else list(panels)
    if not found:
        raise InvalidInput("panels", "an empty list", "must not be empty")
    for name in found:
        if name not in PANELS:
            raise InvalidInput("panels", name, f"must be of {', '.join(PANELS)}")
    return found


def _draw(diagram: PhaseDiagram, name: str, ax: Axes) -> None:
    labels = name in LABELS
    ax.set_title(LABELS[name] if labels else MEASURES[name].title, loc="left")
    if diagram.y is None:
        (stack_labels if labels else draw_points)(diagram, name, ax)
    else:
        (draw_labels if labels else draw_measure)(diagram, name, ax)
        dress_axis(ax, diagram.y, "y")
        for spine in ax.spines.values():
            spine.set_visible(True)
    dress_axis(ax, diagram.x, "x")
    ax.tick_params(length=2.5, labelsize=8)
