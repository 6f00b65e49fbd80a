"""How a phase diagram reads: the counts behind the picture, and what it shows in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from swingby.sweeping.phases.quantity import quantity
from swingby.sweeping.phases.ticks import tick_text

if TYPE_CHECKING:
    from swingby.report import Grid
    from swingby.sweeping.phases.axis import Axis
    from swingby.sweeping.phases.diagram import PhaseDiagram

_PLURAL = {"seed": "seeds", "signal": "tasks", "steps": "numbers of steps", "dynamics": "dynamics"}


def diagram_grid(diagram: PhaseDiagram) -> Grid:
    """A diagram as a table: predicted labels down, observed labels across."""
    from swingby.report import Grid

    counts = diagram.agreement.to_grid()
    above = [_axis_line("x", diagram.x)]
    if diagram.y is not None:
        above.append(_axis_line("y", diagram.y))
    if diagram.fixed:
        above.append(", ".join(f"{name} = {value}" for name, value in diagram.fixed.items()))
    if diagram.pooled:
        above.append(f"pooled: {pooled_text(diagram.pooled)}")
    below = list(counts.below)
    clear = int((diagram.cells.margin > 1).sum())
    pixels = int((~np.isnan(diagram.cells.margin)).sum())
    below.append(f"median margin above 1: {clear} of {pixels} pixels")
    ended = int(diagram.cells.ended.sum())
    if ended:
        seen = round(float(np.nansum(diagram.cells.swing_by * diagram.cells.ended)))
        below.append(f"two descents or more: {seen} of {ended} runs that ended")
    if diagram.left_out:
        below.append(f"{diagram.left_out} points have no place on these axes")
    return Grid(
        title=f"Phase diagram of {diagram.store.name}",
        columns=counts.columns,
        rows=counts.rows,
        above=above,
        below=below,
    )


def pooled_text(pooled: dict[str, int], symbols: dict[str, str] | None = None) -> str:
    """What the points of one pixel differ in, in words.

    Parameters
    ----------
    pooled : dict from str to int
    symbols : dict from str to str, optional
        In place of the names.

    Examples
    --------
    >>> pooled_text({"eta": 2, "seed": 10})
    '2 eta, 10 seeds'
    """
    written = (symbols or {}) | _PLURAL
    return ", ".join(f"{count} {written.get(name, name)}" for name, count in pooled.items())


def caption(diagram: PhaseDiagram) -> str:
    """What is fixed and what is pooled, in one line with the symbols of the paper.

    Returns
    -------
    str
        For matplotlib.
    """
    parts: list[str] = []
    for name, value in diagram.fixed.items():
        if name == "dynamics":
            parts.insert(0, value)
            continue
        one = quantity(name)
        parts.append(f"{one.symbol if one is not None else name} = {tick_text(value)}")
    if diagram.pooled:
        symbols = {name: one.symbol for name in diagram.pooled if (one := quantity(name))}
        each = "draw" if diagram.scattered else "pixel"
        parts.append(f"each {each}: {pooled_text(diagram.pooled, symbols)}")
    return ",  ".join(parts)


def _axis_line(name: str, axis: Axis) -> str:
    values = list(dict.fromkeys(axis.values))
    if len(values) <= 4:
        return f"{name}: {axis.name} = {', '.join(values)}"
    order = np.argsort(axis.places)
    ends = axis.values[order[0]], axis.values[order[-1]]
    return f"{name}: {axis.name}, {len(values)} values from {ends[0]} to {ends[1]}"
