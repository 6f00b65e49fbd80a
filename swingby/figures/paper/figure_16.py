"""Figure 16: Figure 2c with a truncated training distribution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from swingby.figures.criteria import within
from swingby.figures.figure import Data, Figure, Tell
from swingby.figures.trained import train_cells, with_points
from swingby.figures.turning import (
    stronger_in_low_dimension,
    survives_truncation,
    truncated_editions,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

_TRUNCATED = slice(0, 2)


def compute(parameters: Mapping[str, Any], tell: Tell) -> Data:
    """Runs with and without truncation, and their training points."""
    return with_points(parameters, train_cells(parameters, tell))


def draw(data: Data, title: str) -> Picture:
    """Outputs at the test point, and the training points; as they are on the right."""
    from swingby.figures.panels import outputs_picture

    parts = [(_TRUNCATED, "truncated"), (slice(2, 4), "as it is")]
    return outputs_picture(data, title, parts, points=True)


FIGURE = Figure(
    number="16",
    title="output at the test point, training distribution truncated",
    claim="Keeping training points away from the test point has little impact.",
    source="App. F.3",
    editions=truncated_editions(),
    compute=compute,
    criteria=(
        survives_truncation(),
        within(stronger_in_low_dimension(), _TRUNCATED, "truncated"),
    ),
    draw=draw,
)
