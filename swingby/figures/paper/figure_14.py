"""Figure 14: test loss of the networks of Figure 13."""

from __future__ import annotations

from swingby.figures.figure import Figure
from swingby.figures.panels import losses_picture
from swingby.figures.trained import train_with_twins
from swingby.figures.turning import loss_descends_twice, small_editions

FIGURE = Figure(
    number="14",
    title="test loss, three layers, d = 3",
    claim="The test loss of these networks is not monotone.",
    source="App. F.2",
    editions=small_editions(),
    compute=train_with_twins,
    criteria=(loss_descends_twice(0), loss_descends_twice(1)),
    draw=losses_picture,
)
