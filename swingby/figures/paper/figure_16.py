"""Figure 16: Figure 2c with a truncated training distribution."""

from __future__ import annotations

from functools import partial

from swingby.figures.criteria import within
from swingby.figures.figure import Figure
from swingby.figures.panels import outputs_picture
from swingby.figures.trained import train_with_points
from swingby.figures.turning import (
    stronger_in_low_dimension,
    survives_truncation,
    truncated_editions,
)

_TRUNCATED = slice(0, 2)
_PARTS = ((_TRUNCATED, "truncated"), (slice(2, 4), "as it is"))


FIGURE = Figure(
    number="16",
    title="output at the test point, training distribution truncated",
    claim="Keeping training points away from the test point has little impact.",
    source="App. F.3",
    editions=truncated_editions(),
    compute=train_with_points,
    criteria=(
        survives_truncation,
        within(stronger_in_low_dimension, _TRUNCATED, "truncated"),
    ),
    draw=partial(outputs_picture, parts=_PARTS, points=True),
)
