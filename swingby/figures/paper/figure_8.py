"""Figure 8: triple descent."""

from __future__ import annotations

from functools import partial

from swingby.figures.criteria import alignment, ends_at_zero, grows_in_turn, number_of_descents
from swingby.figures.figure import Criterion, Data, Figure, Measured, under_every_reading
from swingby.figures.panels import stages_picture
from swingby.figures.theory import editions, theory_data

#: What "close to 1" may mean.
_CLOSE = (0.5, 0.9)


def _judge_turn(data: Data) -> Measured:
    step = next(step for i, j, step, *_ in data["peaks"] if (i, j) == (1, 2))
    value = float(data["W"][step, 1, 1])
    return Measured(
        f"w_22 = {value:.2f}",
        under_every_reading({str(one): value >= one for one in _CLOSE}),
        f"w_12 peaks at step {step}, when w_22 = {value:.3f}.",
        {"w_22": value, "step": step},
    )


TURN = Criterion(
    "turn",
    "w_12 starts to decay after w_22 is close to 1.",
    "w_22 close to 1",
    "w_22 at the peak of w_12 is at least 0.5, and again at least 0.9: both",
    _judge_turn,
)

FIGURE = Figure(
    number="8",
    title="triple descent of the test loss, three concepts",
    claim="The test loss descends three times; each major entry starts to grow only after a minor "
    "one is suppressed, and every stage of the loss is a stage of the entries.",
    source="App. E.1",
    editions=editions("Fig. 8"),
    compute=theory_data,
    criteria=(number_of_descents(3), alignment, grows_in_turn, TURN, ends_at_zero),
    draw=partial(stages_picture, logarithmic=True),
)
