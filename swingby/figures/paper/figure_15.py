"""Figure 15: Figure 2c with its training points."""

from __future__ import annotations

from functools import partial

from swingby.figures.figure import Figure
from swingby.figures.panels import outputs_picture
from swingby.figures.trained import train_with_points
from swingby.figures.turning import deep_editions, nearest_is_far, stronger_in_low_dimension

FIGURE = Figure(
    number="15",
    title="output at the test point with the training points",
    claim="The turn happens although no training point is close to the test point.",
    source="App. F.3",
    editions=deep_editions(),
    compute=train_with_points,
    criteria=(nearest_is_far, stronger_in_low_dimension),
    draw=partial(outputs_picture, points=True),
)
