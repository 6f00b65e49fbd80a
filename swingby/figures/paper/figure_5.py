"""Figure 5: the test loss descends, rises and descends; the output swings by a cluster."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from swingby.figures.criteria import alignment, ends_at_zero, number_of_descents
from swingby.figures.figure import Criterion, Data, Figure, Measured
from swingby.figures.panels import stages_picture
from swingby.figures.theory import editions, theory_data
from swingby.simulate.outcome import first_reach
from swingby.theory.verdict import Verdict

#: Least way back that counts, in units of mu.
_BACK = 0.01


def _scaled(data: Data) -> tuple[Any, Any, int, int]:
    """Outputs along the stronger and the weaker concept in units of mu, and the concepts."""
    strong, weak = data["order"][:2]
    outputs = data["output"] / np.where(data["test_point"] > 0, data["test_point"], 1.0)
    return outputs[:, strong - 1], outputs[:, weak - 1], strong, weak


def _judge_first(data: Data) -> Measured:
    strong, weak, k, j = _scaled(data)
    at = first_reach(strong, 0.5)
    if np.isnan(at):
        reason = f"The output along concept {k} never reaches half."
        return Measured("never", Verdict.FAILS, reason)
    share = float(weak[int(at)])
    return Measured(
        f"{share:.2f} of mu_{j}",
        Verdict.HOLDS if share < 0.5 else Verdict.FAILS,
        f"At step {at:.0f} the output along concept {k} is half of mu_{k}; along concept {j} it "
        f"is {share:.3f} of mu_{j}.",
        {"share": share, "step": int(at)},
    )


def _judge_back(data: Data) -> Measured:
    _, weak, _, j = _scaled(data)
    back = np.maximum.accumulate(weak) - weak
    end = int(back.argmax())
    start = int(weak[: end + 1].argmax())
    way = float(back[end])
    return Measured(
        f"{way:.2g} of mu_{j}",
        Verdict.HOLDS if way >= _BACK else Verdict.FAILS,
        f"The output along concept {j} falls from {weak[start]:.3f} of mu_{j} at step {start} to "
        f"{weak[end]:.3f} at step {end}.",
        {"way": way, "from": start, "to": end},
    )


FIRST = Criterion(
    "first",
    "The output goes to the cluster of the stronger concept first.",
    "stronger concept first",
    "when the stronger concept's output is half of its mu, the weaker one's is below half of its",
    _judge_first,
)

BACK = Criterion(
    "back",
    "The output then turns back towards that cluster, before it goes to the test point.",
    "turns back",
    f"the weaker concept's output falls again by at least {_BACK} of its mu",
    _judge_back,
)

FIGURE = Figure(
    number="5",
    title="test loss, entries of W and output trajectory, two concepts",
    claim="The two descents of the test loss are the growth of the two major entries, the ascent "
    "between them is the suppression of the minor one, and the output turns back meanwhile.",
    source="Sec. 4.2.2",
    editions=editions("Fig. 5"),
    compute=theory_data,
    criteria=(number_of_descents(2), alignment, FIRST, BACK, ends_at_zero),
    draw=partial(stages_picture, logarithmic=False, planes=[(1, 2)]),
)
