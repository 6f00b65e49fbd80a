"""Figure 2c: four linear layers, in low and in high dimension."""

from __future__ import annotations

from swingby.figures.criteria import slows_down, within
from swingby.figures.figure import Figure
from swingby.figures.panels import outputs_picture
from swingby.figures.trained import train_cells
from swingby.figures.turning import (
    deep_editions,
    stronger_in_low_dimension,
    turns_in_every_cell,
)

FIGURE = Figure(
    number="2c",
    title="output at the test point, four layers, d = 2 and 64",
    claim="The output first heads for the test point, then turns to the stronger cluster.",
    source="Sec. 3.3",
    editions=deep_editions(),
    compute=train_cells,
    criteria=(
        within(
            turns_in_every_cell("In low dimension the output turns away and comes back."),
            slice(0, 1),
            "low",
        ),
        stronger_in_low_dimension,
        slows_down,
    ),
    draw=outputs_picture,
)
