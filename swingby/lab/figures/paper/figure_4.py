"""Figure 4: the kinds of entries of the Jacobian."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.lab.figures.figure import Data, Figure, Measured, criterion, under_every_reading
from swingby.lab.figures.theory_runs import editions, theory_data
from swingby.report.entry_pictures import entry_label
from swingby.report.picture_style import COLORS
from swingby.report.pictures import titled
from swingby.theory.verdict import yes

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

#: The kinds, as :func:`kinds` counts them, and how they are drawn.
KINDS = {"major": COLORS[0], "minor": COLORS[1], "irrelevant": "0.8"}
#: So that names can be read on the colours.
_PALE = 0.6


def kinds(size: int, concepts: int) -> Any:
    """0 for major, 1 for minor and 2 for irrelevant entries, (d, d)."""
    grid = np.full((size, size), 2)
    grid[:concepts] = grid[:, :concepts] = 1
    np.fill_diagonal(grid[:concepts, :concepts], 0)
    return grid


@criterion(
    "irrelevant",
    "Irrelevant entries do not contribute to the output at the test point.",
    "no part",
    "with any other values in their place the output is the same to the last bit in every step",
)
def _irrelevant(data: Data) -> Measured:
    W, x = data["W"], data["test_point"]
    away = kinds(len(x), data["concepts"]) == 2
    moved = float(np.abs(np.where(away, 1e3, W) @ x - W @ x).max())
    reason = f"With 1000 in place of {away.sum()} entries the output moves by {moved:g} at most."
    return Measured("no part" if moved == 0 else f"{moved:.2g}", yes(moved == 0), reason)


@criterion(
    "groups",
    "A minor entry belongs to the group of its row and to that of its column: to two.",
    "two each",
    "there is a group for each of the s concepts, and again: for each of the d rows: both",
)
def _groups(data: Data) -> Measured:
    size, concepts = len(data["test_point"]), data["concepts"]
    minor = np.argwhere(kinds(size, concepts) == 1)
    single = int((minor >= concepts).any(axis=1).sum())
    return Measured(
        f"{len(minor) - single} of {len(minor)}",
        under_every_reading({"s groups": single == 0, "d groups": True}),
        f"With s = {concepts} groups, {single} of {len(minor)} minor entries lie in the row or "
        f"column of no concept and belong to one; with d = {size} groups each belongs to two.",
        {"single": single, "minor": len(minor)},
    )


def draw(data: Data, title: str) -> Picture:
    """The entries as a matrix."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    picture = titled(title, 5.0, 3.0)
    ax = picture.subplots()
    grid = kinds(len(data["test_point"]), data["concepts"])
    ax.imshow(grid, cmap=ListedColormap(list(KINDS.values())), vmin=0, vmax=2, alpha=_PALE)
    for i, j in np.ndindex(*grid.shape):
        ax.text(j, i, entry_label(i, j), ha="center", va="center")
    ax.set_axis_off()
    handles = [Patch(facecolor=color, label=name, alpha=_PALE) for name, color in KINDS.items()]
    picture.legend(handles=handles, loc="outside right center")
    return picture


FIGURES = (
    Figure(
        number="4",
        title="the kinds of entries of the Jacobian",
        claim="Major entries are learned, minor ones come in groups, irrelevant ones play no part.",
        source="Sec. 4.2.1",
        editions=editions("Fig. 5"),
        compute=theory_data,
        criteria=(_irrelevant, _groups),
        draw=draw,
    ),
)
