"""Figure 2b: one layer, mu = (1, 2), varied spread of the weaker concept."""

from __future__ import annotations

from swingby.figures.figure import Figure
from swingby.figures.learning_order import along_sigma, flips, flips_where_signals_cross
from swingby.figures.panels import outputs_picture
from swingby.figures.trained import train_cells

FIGURE = Figure(
    number="2b",
    title="output at the test point against sigma, one layer",
    claim="More diversity of the weaker concept turns the order of learning around.",
    source="Sec. 3.1",
    editions=along_sigma(1, "linear"),
    compute=train_cells,
    criteria=(flips(), flips_where_signals_cross),
    draw=outputs_picture,
)
