"""Figure 2a: one layer, balanced sigma, varied mu."""

from __future__ import annotations

from swingby.figures.criteria import bulge_changes_side, order_follows_signal, slows_down
from swingby.figures.figure import Figure
from swingby.figures.learning_order import along_mu
from swingby.figures.panels import outputs_picture
from swingby.figures.trained import train_cells

FIGURE = Figure(
    number="2a",
    title="output at the test point against mu, one layer",
    claim="The concept with the larger mu is learned first, so the path bulges to its side.",
    source="Sec. 3.1, 3.2",
    editions=along_mu(1, "linear"),
    compute=train_cells,
    criteria=(
        order_follows_signal(
            "The concept with the larger mu crosses one half first.", "larger mu first"
        ),
        bulge_changes_side,
        slows_down,
    ),
    draw=outputs_picture,
)
