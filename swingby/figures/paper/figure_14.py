"""Figure 14: test loss of the networks of Figure 13."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swingby.figures.figure import Data, Figure
from swingby.figures.trained import train_with_twins
from swingby.figures.turning import loss_descends_twice, small_editions

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


def draw(data: Data, title: str) -> Picture:
    """Test losses."""
    from swingby.figures.panels import losses_picture

    return losses_picture(data, title)


FIGURE = Figure(
    number="14",
    title="test loss, three layers, d = 3",
    claim="The test loss of these networks is not monotone.",
    source="App. F.2",
    editions=small_editions(),
    compute=train_with_twins,
    criteria=(loss_descends_twice(0), loss_descends_twice(1)),
    draw=draw,
)
