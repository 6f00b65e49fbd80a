"""Figure 9: quadruple descent."""

from __future__ import annotations

from functools import partial

from swingby.figures.criteria import alignment, ends_at_zero, grows_in_turn, number_of_descents
from swingby.figures.figure import Figure
from swingby.figures.panels import stages_picture
from swingby.figures.theory import editions, theory_data

FIGURE = Figure(
    number="9",
    title="quadruple descent of the test loss, four concepts",
    claim="The test loss descends four times; each major entry starts to grow only after a minor "
    "one is suppressed, and every stage of the loss is a stage of the entries.",
    source="App. E.1",
    editions=editions("Fig. 9"),
    compute=theory_data,
    criteria=(number_of_descents(4), alignment, grows_in_turn, ends_at_zero),
    draw=partial(stages_picture, logarithmic=True),
)
