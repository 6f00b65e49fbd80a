"""Figure 13: three linear layers of three units in three dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swingby.figures.figure import Data, Figure
from swingby.figures.panels import outputs_picture
from swingby.figures.trained import train_cells
from swingby.figures.turning import small_editions, turns_in_every_cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


def draw(data: Data, title: str) -> Picture:
    """Outputs at the test point, a panel for each mu."""
    parts = [(slice(k, k + 1), label) for k, label in enumerate(data["labels"])]
    return outputs_picture(data, title, parts)


FIGURE = Figure(
    number="13",
    title="output at the test point, three layers, d = 3",
    claim="Small deep networks show a strong transient memorization.",
    source="App. F.2",
    editions=small_editions(),
    compute=train_cells,
    criteria=(turns_in_every_cell("The output turns away and comes back."),),
    draw=draw,
)
