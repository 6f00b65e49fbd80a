"""Figure 3: test loss of four linear layers, in low and in high dimension."""

from __future__ import annotations

from swingby.figures.figure import Figure
from swingby.figures.panels import losses_picture
from swingby.figures.trained import train_with_twins
from swingby.figures.turning import deep_editions, loss_descends_twice, loss_falls

FIGURE = Figure(
    number="3",
    title="test loss, four layers, d = 2 and 64",
    claim="In low dimension the test loss has a double descent; in high dimension it slows down.",
    source="Sec. 3.3",
    editions=deep_editions(),
    compute=train_with_twins,
    criteria=(loss_descends_twice(0), loss_falls(1)),
    draw=losses_picture,
)
