"""Figure 18: the outputs at the training clusters of Figure 5."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from swingby.lab.figures.figure import Data, Figure, Measured, criterion, under_every_reading
from swingby.lab.figures.panels import draw_outputs
from swingby.lab.figures.theory_runs import editions, theory_data
from swingby.report.picture_style import PAGE
from swingby.report.pictures import titled
from swingby.theory.verdict import Verdict, yes

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

#: Length of the pieces between which a path turns, in units of mu of the cluster.
_PIECE = 0.01

#: Degrees that a non-regular path turns by; a straight one turns by 0.
_TURN = 90.0


class Bend(NamedTuple):
    """How the output at the centre of a cluster bends on its way.

    `degrees` is the sum of all turns; `first`, `middle`, `last` are the steps by which 10, 50 and
    90 % of it have happened; `own` is the cluster's major entry at the middle.
    """

    concept: int
    degrees: float
    first: float
    middle: float
    last: float
    own: float


def bend(data: Data, concept: int) -> Bend:
    """The bend of the output at a cluster centre, in the plane of the two concepts.

    `concept`: from 1.
    """
    plane = sorted(k - 1 for k in data["order"][:2])
    size = float(data["test_point"][concept - 1])
    path = data["W"][:, plane, concept - 1] * size
    lengths = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
    grid = np.linspace(0.0, lengths[-1], max(int(lengths[-1] / (_PIECE * size)), 2) + 1)
    even = np.stack([np.interp(grid, lengths, path[:, k]) for k in range(2)], axis=1)
    steps = np.interp(grid, lengths, data["steps"])[1:-1]
    pieces = np.diff(even, axis=0)
    angles = np.unwrap(np.arctan2(pieces[:, 1], pieces[:, 0]))
    turned = np.cumsum(np.abs(np.diff(angles)))

    def step_of(share: float) -> float:
        return float(steps[min(np.searchsorted(turned, share * turned[-1]), len(steps) - 1)])

    middle = step_of(0.5)
    own = float(data["W"][round(middle), concept - 1, concept - 1])
    total = float(np.degrees(turned[-1]))
    return Bend(concept, total, step_of(0.1), middle, step_of(0.9), own)


def _bends(data: Data) -> tuple[Bend, Bend]:
    lower, higher = sorted(data["order"][:2])
    return bend(data, lower), bend(data, higher)


def draw(data: Data, title: str) -> Picture:
    """The three trajectories in a plane."""
    picture = titled(title, 0.75 * PAGE, 3.4)
    ax: Any = picture.subplots()
    draw_outputs(ax, data, 1, 2, clusters=(1, 2))
    picture.legend(*ax.get_legend_handles_labels(), loc="outside right center", handlelength=2.6)
    return picture


@criterion(
    "both",
    "Both training trajectories are non-regular.",
    "both",
    f"each turns by at least {_TURN:.0f} degrees in all, between pieces of {_PIECE} mu",
)
def _both(data: Data) -> Measured:
    bends = _bends(data)
    holds = all(path.degrees >= _TURN for path in bends)
    return Measured(
        " and ".join(f"{path.degrees:.0f}\N{DEGREE SIGN}" for path in bends),
        yes(holds),
        "; ".join(f"cluster {path.concept} turns by {path.degrees:.0f} degrees" for path in bends)
        + "; a straight path turns by 0.",
        {"degrees": [path.degrees for path in bends]},
    )


@criterion(
    "stages",
    "They are so at different stages of the training.",
    "different stages",
    "the steps in which 10 to 90 % of the turning happens do not overlap, and again: one "
    "has done half of it before its own major entry is 1/2, the other after: both",
)
def _stages(data: Data) -> Measured:
    lower, higher = _bends(data)
    apart = lower.last < higher.first or higher.last < lower.first
    differ = (lower.own < 0.5) != (higher.own < 0.5)
    texts = [
        f"Cluster {path.concept} bends at steps {path.first:.0f} to {path.last:.0f} (10 to 90 %, "
        f"half by {path.middle:.0f}, when w_{path.concept}{path.concept} = {path.own:.2f})"
        for path in (lower, higher)
    ]
    peak = next(
        step for i, j, step, *_ in data["peaks"] if (i, j) == (lower.concept, higher.concept)
    )
    verdict = under_every_reading({"in steps": apart, "on their own way": differ})
    why = {
        Verdict.HOLDS: "The two stages are apart",
        Verdict.FAILS: "Neither in steps nor on their own way do they differ",
        Verdict.UNDECIDED: "One bends before its own concept is half learned, the other after, but "
        "in steps they overlap"
        if differ
        else "In steps they are apart, on their own way not",
    }[verdict]
    return Measured(
        f"{lower.first:.0f}-{lower.last:.0f}, {higher.first:.0f}-{higher.last:.0f}",
        verdict,
        f"{'; '.join(texts)}. {why}: the same entry w_{lower.concept}{higher.concept}, which peaks "
        f"at {peak}, bends both.",
        {"bends": [path._asdict() for path in (lower, higher)]},
    )


FIGURES = (
    Figure(
        number="18",
        title="outputs at the training clusters in the setting of Fig. 5",
        claim="The outputs at both training clusters take non-regular ways, at different stages.",
        source="App. F.4",
        editions=editions("Fig. 5"),
        compute=theory_data,
        criteria=(_both, _stages),
        draw=draw,
    ),
)
