"""Figure 7: losses at all test points while two layers with ReLU learn four concepts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swingby.figures.figure import Data, Figure
from swingby.figures.topology import (
    follows_the_order,
    learned_in_order,
    order_editions,
    train_points,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


def draw(data: Data, title: str) -> Picture:
    """The test points as a graph, and how many pairs are out of order."""
    from swingby.figures.topology import graph_picture

    return graph_picture(data, title)


FIGURE = Figure(
    number="7",
    title="loss at every test point, four concepts",
    claim="A combination of concepts is learned only after all that it is made of.",
    source="App. B",
    editions=order_editions(),
    compute=train_points,
    criteria=(follows_the_order(), learned_in_order()),
    draw=draw,
)
