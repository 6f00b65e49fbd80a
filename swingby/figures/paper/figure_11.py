"""Figure 11: two layers with linear activations, varied sigma and varied mu."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swingby.figures.figure import Data, Figure
from swingby.figures.learning_order import (
    MUS,
    along_mu,
    along_sigma,
    flips,
    flips_where_signals_cross,
    several,
)
from swingby.figures.shares import bulge_changes_side, order_follows_signal, within
from swingby.figures.trained import train_cells

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

_MU = slice(-len(MUS), None)
_SIGMA = slice(0, -len(MUS))


def draw(data: Data, title: str) -> Picture:
    """Outputs at the test point: sigma varied on the left, mu on the right."""
    from swingby.figures.network_picture import outputs_picture

    parts = [(_SIGMA, "\u03bc = (1, 2), \u03c3 varied"), (_MU, "\u03c3 = 0.05, \u03bc varied")]
    return outputs_picture(data, title, parts)


FIGURE = Figure(
    number="11",
    title="output at the test point, two layers, linear activations",
    claim="The order of learning follows mu and sigma as with one layer.",
    source="App. F.2",
    editions=several([along_sigma(2, "linear"), along_mu(2, "linear")]),
    compute=train_cells,
    criteria=(
        within(flips("App. F.2"), _SIGMA, "sigma"),
        within(flips_where_signals_cross(), _SIGMA, "sigma"),
        within(
            order_follows_signal(
                "The concept with the larger mu crosses one half first.", "larger mu first"
            ),
            _MU,
            "mu",
        ),
        within(bulge_changes_side(), _MU, "mu"),
    ),
    draw=draw,
)
