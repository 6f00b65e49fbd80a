"""Figure 17: the training loss of Figure 5."""

from __future__ import annotations

from functools import partial

import numpy as np

from swingby.figures.criteria import legs
from swingby.figures.figure import Criterion, Data, Figure, Measured
from swingby.figures.panels import stages_picture
from swingby.figures.theory import SWINGS, editions, theory_data
from swingby.theory.verdict import Verdict

#: Increases of the training loss that count as rounding, in units of its start.
_ROUNDING = 1e-13


def _judge_train(data: Data) -> Measured:
    loss = data["train_loss"]
    change = np.diff(loss) / loss[0]
    step = int(change.argmax())
    largest = float(change[step])
    return Measured(
        f"{largest:.1e} per step",
        Verdict.HOLDS if largest <= _ROUNDING else Verdict.FAILS,
        f"The largest change in a step is {largest:.2e} of the start, at step {step + 1}; the "
        f"loss goes from {loss[0]:.4f} to {loss[-1]:.4f}.",
        {"largest": largest},
    )


def _judge_test(data: Data) -> Measured:
    rises = [leg for leg in legs(data, 0.0) if leg.change > 0]
    largest = max(rises, key=lambda leg: leg.change, default=None)
    if largest is None:
        return Measured("falls", Verdict.FAILS, "The test loss falls in every step.")
    share = largest.change / data["start_loss"]
    other = data["controls"]["other_rates"]
    return Measured(
        f"rises by {share:.2g}",
        Verdict.HOLDS if share >= SWINGS[0] else Verdict.FAILS,
        f"The test loss rises by {share:.2g} of its start from step {largest.start} to "
        f"{largest.end}; with rates {other['rates']}, all else equal, it has "
        f"{other['descents'][str(SWINGS[0])]} descents by {SWINGS[0]} of the start.",
        {"rise": share},
    )


FIGURE = Figure(
    number="17",
    title="training loss in the setting of Fig. 5",
    claim="The training loss falls monotonically, unlike the test loss.",
    source="App. F.4",
    editions=editions("Fig. 5"),
    compute=theory_data,
    criteria=(
        Criterion(
            "monotone",
            "The training loss falls in every step.",
            "monotone",
            f"no step raises the loss (4.1) on the data by more than {_ROUNDING} of its start",
            _judge_train,
        ),
        Criterion(
            "test",
            "The test loss does not: it rises in between.",
            "rises",
            f"by at least {SWINGS[0]} of the start",
            _judge_test,
        ),
    ),
    draw=partial(stages_picture, logarithmic=False, train=True),
)
