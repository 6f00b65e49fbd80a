"""Figure 15: Figure 2c with its training points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from swingby.figures.figure import Data, Figure, Tell
from swingby.figures.trained import train_cells, with_points
from swingby.figures.turning import deep_editions, nearest_is_far, stronger_in_low_dimension

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


def compute(parameters: Mapping[str, Any], tell: Tell) -> Data:
    """The runs of Figure 2c, and their training points."""
    return with_points(parameters, train_cells(parameters, tell))


def draw(data: Data, title: str) -> Picture:
    """Outputs at the test point, and the training points."""
    from swingby.figures.panels import outputs_picture, plane_of

    return outputs_picture(data, title, [(plane_of(data), "")], points=True)


FIGURE = Figure(
    number="15",
    title="output at the test point with the training points",
    claim="The turn happens although no training point is close to the test point.",
    source="App. F.3",
    editions=deep_editions(),
    compute=compute,
    criteria=(nearest_is_far(), stronger_in_low_dimension()),
    draw=draw,
)
