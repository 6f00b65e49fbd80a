"""Figure 7: losses at all test points while two layers with ReLU learn four concepts."""

from __future__ import annotations

from swingby.figures.figure import Figure
from swingby.figures.topology import (
    follows_the_order,
    graph_picture,
    learned_in_order,
    order_editions,
    train_points,
)

FIGURE = Figure(
    number="7",
    title="loss at every test point, four concepts",
    claim="A combination of concepts is learned only after all that it is made of.",
    source="App. B",
    editions=order_editions(),
    compute=train_points,
    criteria=(follows_the_order, learned_in_order),
    draw=graph_picture,
)
