"""Figures 5, 8, 9 and 17: the test loss descends in stages, and the training loss only falls."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from swingby.lab.figures.curves import dip_depth
from swingby.lab.figures.figure import Data, Figure, Measured, criterion, under_every_reading
from swingby.lab.figures.panels import stages_picture
from swingby.lab.figures.stage_criteria import (
    alignment,
    ends_at_zero,
    grows_in_turn,
    legs,
    number_of_descents,
)
from swingby.lab.figures.theory_runs import SWINGS, editions, theory_data
from swingby.simulate.series import first_reach
from swingby.theory.verdict import Verdict, yes

#: Least way back that counts, in units of mu.
_BACK = 0.01
#: What "close to 1" may mean.
_CLOSE = (0.5, 0.9)
#: Increases of the training loss that count as rounding, in units of its start.
_ROUNDING = 1e-13


def _scaled(data: Data) -> tuple[Any, Any, int, int]:
    """Outputs along the stronger and the weaker concept in units of mu, and the concepts."""
    strong, weak = data["order"][:2]
    outputs = data["output"] / np.where(data["test_point"] > 0, data["test_point"], 1.0)
    return outputs[:, strong - 1], outputs[:, weak - 1], strong, weak


@criterion(
    "first",
    "The output goes to the cluster of the stronger concept first.",
    "stronger concept first",
    "when the stronger concept's output is half of its mu, the weaker one's is below half of its",
)
def _first(data: Data) -> Measured:
    strong, weak, k, j = _scaled(data)
    at = first_reach(strong, 0.5)
    if np.isnan(at):
        reason = f"The output along concept {k} never reaches half."
        return Measured("never", Verdict.FAILS, reason)
    share = float(weak[int(at)])
    return Measured(
        f"{share:.2f} of mu_{j}",
        yes(share < 0.5),
        f"At step {at:.0f} the output along concept {k} is half of mu_{k}; along concept {j} it "
        f"is {share:.3f} of mu_{j}.",
        {"share": share, "step": int(at)},
    )


@criterion(
    "back",
    "The output then turns back towards that cluster, before it goes to the test point.",
    "turns back",
    f"the weaker concept's output falls by at least {_BACK} of its mu, and makes up for it later",
)
def _back(data: Data) -> Measured:
    _, weak, _, j = _scaled(data)
    back = dip_depth(weak)
    end = int(back.argmax())
    start = int(weak[: end + 1].argmax())
    way = float(back[end])
    return Measured(
        f"{way:.2g} of mu_{j}",
        yes(way >= _BACK),
        f"The output along concept {j} falls from {weak[start]:.3f} of mu_{j} at step {start} to "
        f"{weak[end]:.3f} at step {end}.",
        {"way": way, "from": start, "to": end},
    )


@criterion(
    "turn",
    "w_12 starts to decay after w_22 is close to 1.",
    "w_22 close to 1",
    "w_22 at the peak of w_12 is at least 0.5, and again at least 0.9: both",
)
def _turn(data: Data) -> Measured:
    step = next(step for i, j, step, *_ in data["peaks"] if (i, j) == (1, 2))
    value = float(data["W"][step, 1, 1])
    return Measured(
        f"w_22 = {value:.2f}",
        under_every_reading({str(bound): value >= bound for bound in _CLOSE}),
        f"w_12 peaks at step {step}, when w_22 = {value:.3f}.",
        {"w_22": value, "step": step},
    )


@criterion(
    "monotone",
    "The training loss falls in every step.",
    "monotone",
    f"no step raises the loss (4.1) on the data by more than {_ROUNDING} of its start",
)
def _monotone(data: Data) -> Measured:
    loss = data["train_loss"]
    change = np.diff(loss) / loss[0]
    step = int(change.argmax())
    largest = float(change[step])
    return Measured(
        f"{largest:.1e} per step",
        yes(largest <= _ROUNDING),
        f"The largest change in a step is {largest:.2e} of the start, at step {step + 1}; the "
        f"loss goes from {loss[0]:.4f} to {loss[-1]:.4f}.",
        {"largest": largest},
    )


@criterion(
    "test",
    "The test loss does not: it rises in between.",
    "rises",
    f"by at least {SWINGS[0]} of the start",
)
def _test(data: Data) -> Measured:
    rises = [leg for leg in legs(data, 0.0) if leg.change > 0]
    largest = max(rises, key=lambda leg: leg.change, default=None)
    if largest is None:
        return Measured("falls", Verdict.FAILS, "The test loss falls in every step.")
    share = largest.change / data["start_loss"]
    control = data["controls"]["other_rates"]
    return Measured(
        f"rises by {share:.2g}",
        yes(share >= SWINGS[0]),
        f"The test loss rises by {share:.2g} of its start from step {largest.start} to "
        f"{largest.end}; with rates {control['rates']}, all else equal, it has "
        f"{control['descents'][str(SWINGS[0])]} descents by {SWINGS[0]} of the start.",
        {"rise": share},
    )


_IN_TURN = (
    "each major entry starts to grow only after a minor one is suppressed, and every stage of the "
    "loss is a stage of the entries."
)

FIGURES = (
    Figure(
        number="5",
        title="test loss, entries of W and output trajectory, two concepts",
        claim="The two descents of the test loss are the growth of the two major entries, the "
        "ascent between them is the suppression of the minor one, and the output turns back "
        "meanwhile.",
        source="Sec. 4.2.2",
        editions=editions("Fig. 5"),
        compute=theory_data,
        criteria=(number_of_descents(2), alignment, _first, _back, ends_at_zero),
        draw=partial(stages_picture, logarithmic=False, planes=[(1, 2)]),
    ),
    Figure(
        number="8",
        title="triple descent of the test loss, three concepts",
        claim=f"The test loss descends three times; {_IN_TURN}",
        source="App. E.1",
        editions=editions("Fig. 8"),
        compute=theory_data,
        criteria=(number_of_descents(3), alignment, grows_in_turn, _turn, ends_at_zero),
        draw=partial(stages_picture, logarithmic=True),
    ),
    Figure(
        number="9",
        title="quadruple descent of the test loss, four concepts",
        claim=f"The test loss descends four times; {_IN_TURN}",
        source="App. E.1",
        editions=editions("Fig. 9"),
        compute=theory_data,
        criteria=(number_of_descents(4), alignment, grows_in_turn, ends_at_zero),
        draw=partial(stages_picture, logarithmic=True),
    ),
    Figure(
        number="17",
        title="training loss in the setting of Fig. 5",
        claim="The training loss falls monotonically, unlike the test loss.",
        source="App. F.4",
        editions=editions("Fig. 5"),
        compute=theory_data,
        criteria=(_monotone, _test),
        draw=partial(stages_picture, logarithmic=False, train=True),
    ),
)
