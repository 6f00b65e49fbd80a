"""Figures 2c, 3 and 13 to 16: the turn of the output, and the test loss that shows it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from swingby.lab.figures.curves import SWING
from swingby.lab.figures.figure import Criterion, Data, Edition, Figure, Measured, criterion
from swingby.lab.figures.network_cells import DATA, cell_of, code_cells, edition_of
from swingby.lab.figures.network_runs import train_cells, train_with_points, train_with_twins
from swingby.lab.figures.panels import losses_picture, outputs_picture
from swingby.lab.figures.run_criteria import (
    HAPPENS,
    THRESHOLD,
    by_label,
    happens,
    slows_down,
    verdict_of,
    within,
)
from swingby.lab.networks import Network
from swingby.theory.share import share_of
from swingby.theory.verdict import Verdict, yes

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

#: Fewer runs that a truncation touches tell nothing about it.
_FEW = 10
#: A turn counts once the output along the weaker concept falls by this part of mu.
TURN = 0.1


#: Low and high dimension: the command of the public code, and d.
_LOW_HIGH = ((29, 2), (28, 64))


def deep_editions(*kinds: tuple[float | None, str]) -> tuple[Edition, ...]:
    """Four linear layers in 2 and in 64 dimensions, for each truncation and word for it."""
    caption, code = [], []
    for truncation, words in kinds or ((None, ""),):
        labels = [f"d = {dim}{words}" for _, dim in _LOW_HIGH]
        data = replace(DATA, truncation=truncation)
        caption += [
            cell_of("caption", label, ("1", "2"), ("0.05",) * 2, dim, data=data, network=Network(4))
            for label, (_, dim) in zip(labels, _LOW_HIGH, strict=True)
        ]
        code += code_cells([number for number, _ in _LOW_HIGH], labels, truncation)
    coded = "4 linear layers, \u03bc = (2, 4), \u03c3\u00b2 = 0.05, centre cluster, mean loss"
    return (
        edition_of("caption", caption, "4 linear layers, \u03bc = (1, 2), loss (2.1)"),
        edition_of("code", code, coded),
    )


def small_editions() -> tuple[Edition, ...]:
    """Editions of Figs. 13 and 14: three linear layers of three units in three dimensions."""
    mus = (("1", "2"), ("2", "4"))
    labels = [f"\u03bc = ({a}, {b})" for a, b in mus]
    unrotated = replace(DATA, rotation=False)
    cells = [
        cell_of("caption", label, mu, ("0.05",) * 2, 3, data=unrotated, network=Network(3, 3))
        for label, mu in zip(labels, mus, strict=True)
    ]
    note = "3 linear layers of 3 units, d = 3, "
    coded = f"{note}\u03c3\u00b2 = 0.05, mean loss, rate 0.01"
    return (
        edition_of("caption", cells, f"{note}\u03c3 = 0.05, loss (2.1)"),
        edition_of("code", code_cells((26, 27), labels), coded),
    )


_TURNS = (
    f"the output along the weaker concept, smoothed over an eighth of an epoch, falls by at least "
    f"{TURN:g} of mu after it has risen, and comes back to where it fell from"
)
_SMOOTH = "smoothed over an eighth of an epoch"


def turns_in_every_cell(what: str) -> Criterion:
    """The criterion that the output turns back in every setting, in other words."""

    @criterion("turn", what, "turns", f"{_TURNS}; {HAPPENS}")
    def judge(data: Data) -> Measured:
        shares = [share_of(returns) for returns in data["dip"] >= TURN]
        smallest = min(shares, key=lambda share: share.value)
        numbers = {"shares": [share.value for share in shares]}
        return Measured(
            f"{smallest.value:.0%} at least", happens(smallest), f"{_dips(data)}.", numbers
        )

    return judge


def _dips(data: Data) -> str:
    texts = []
    measures = [data[name] for name in ("labels", "fall", "dip", "half_times")]
    for label, fall, dip, times in zip(*measures, strict=True):
        never = np.isnan(times).any(axis=1).mean()
        late = f", {never:.0%} not learned by the end" if never else ""
        texts.append(
            f"{label}: a share {share_of(fall >= TURN)}, and {share_of(dip >= TURN)} come back, "
            f"median fall {np.median(fall):.2f}{late}"
        )
    what = f"Runs whose output along the weaker concept falls by at least {TURN:g} of mu"
    return f"{what}: {'; '.join(texts)}"


@criterion(
    "dimension",
    "The lower the dimension, the stronger the turn.",
    "stronger at d = 2",
    "a run at d = 2 falls further than one at d = 64 in at least 65 % of all pairs; fails "
    "at 50 % or less",
)
def stronger_in_low_dimension(data: Data) -> Measured:
    """The turn is stronger in 2 than in 64 dimensions."""
    low, high = data["fall"][0], data["fall"][1]
    # Every run against every run of the other: a half where dimension does not matter.
    more = float((low[:, None] > high[None, :]).mean())
    return Measured(
        f"{np.median(low):.2f} against {np.median(high):.2f}",
        Verdict.UNDECIDED if 0.5 < more < 0.65 else yes(more >= 0.65),
        f"{_dips(data)}. A run in 2 dimensions turns more than one in 64 in {more:.0%} of all "
        "pairs.",
        {"pairs": more},
    )


def loss_descends_twice(cell: int) -> Criterion:
    """The criterion that the test loss of a cell falls, rises and falls, and not by accident."""

    @criterion(
        f"descents-{cell + 1}",
        "The test loss falls, rises and falls again.",
        "double descent",
        f"it falls, rises and falls, each by at least {SWING:g} of its start, {_SMOOTH}, and does "
        "so too with the exact gradient and a tenth of the rate from the same weights, where "
        f"neither batches nor steps make it rise; {HAPPENS}",
    )
    def judge(data: Data) -> Measured:
        descends, quiet = data["hill"][cell] >= SWING, data["quiet_hill"][cell] >= SWING
        share = share_of(descends & quiet)
        return Measured(
            f"{share.value:.0%} of the runs",
            happens(share),
            f"{data['labels'][cell]}: the smoothed test loss falls, rises and falls, each by at "
            f"least {SWING:g} of its start, in a share {share_of(descends)} of the runs, with the "
            f"exact gradient and a tenth of the rate from the same weights in {share_of(quiet)}, "
            f"and in both in {share}; the largest such rise is {data['hill'][cell].max():.2f}.",
            {"share": share.value, "seen": float(descends.mean()), "quiet": float(quiet.mean())},
        )

    return judge


@criterion(
    "falls-2",
    "In high dimension the descent slows down but the loss does not rise.",
    "no rise",
    f"no rise by {SWING:g} of its start, {_SMOOTH}, and it has fallen in the end; {THRESHOLD}",
)
def loss_falls(data: Data) -> Measured:
    """The test loss in high dimension, the second cell, only falls."""
    share = share_of((data["rise"][1] < SWING) & (data["final_loss"][1] < 1 - SWING))
    return Measured(
        f"{share.value:.0%} of the runs",
        verdict_of(share),
        f"{data['labels'][1]}: the smoothed test loss never rises by {SWING:g} of its start in a "
        f"share {share} of the runs; the largest rise is {data['rise'][1].max():.3f}.",
        {"share": share.value},
    )


@criterion(
    "truncation",
    "The turn does not need training points near the test point.",
    "little impact",
    "the fall along the weaker concept changes by at most 0.05 of mu in runs of the same seed "
    f"of which a training point was drawn again, {_FEW} of them at least; {THRESHOLD}",
)
def survives_truncation(data: Data) -> Measured:
    """The turn is there without training points near the test point."""
    half = len(data["labels"]) // 2
    touched = data["discarded"][:half] > 0
    change = np.abs(data["fall"][:half] - data["fall"][half:])[touched]
    drawn = f"In {len(change)} of {touched.size} runs a training point was drawn again"
    if len(change) < _FEW:
        return Measured(
            f"{len(change)} runs differ",
            Verdict.UNDECIDED,
            f"{drawn}: the others are the same runs with and without truncation, and {_FEW} are "
            "asked for.",
            {"runs": len(change)},
        )
    share = share_of(change <= 0.05)
    return Measured(
        f"changed by {np.median(change):.3f}",
        verdict_of(share),
        f"{drawn}; in a share {share} of these the fall along the weaker concept changes by at "
        "most 0.05 of mu.",
        {"change": float(np.median(change)), "runs": len(change)},
    )


@criterion(
    "far",
    "No training point is close to the test point.",
    "none",
    "none within half of the smaller mu, the radius of App. F.3",
)
def nearest_is_far(data: Data) -> Measured:
    """No training point is near the test point."""
    share = data["nearest"].min(axis=1)
    return Measured(
        f"{share.min():.2f} min(mu)",
        yes(share.min() > 0.5),
        "Distance of the nearest training point of all runs to the test point, in units of "
        f"the smaller mu: {by_label(data, share, '{:.2f}')}.",
        {"nearest": share.tolist()},
    )


def _panel_each(data: Data, title: str) -> Picture:
    """Outputs at the test point, a panel for each setting."""
    panels = [(slice(k, k + 1), label) for k, label in enumerate(data["labels"])]
    return outputs_picture(data, title, panels)


_TRUNCATED, _AS_IT_IS = slice(0, 2), slice(2, 4)
_PARTS = ((_TRUNCATED, "truncated"), (_AS_IT_IS, "as it is"))

FIGURES = (
    Figure(
        number="2c",
        title="output at the test point, four layers, d = 2 and 64",
        claim="The output first heads for the test point, then turns to the stronger cluster.",
        source="Sec. 3.3",
        editions=deep_editions(),
        compute=train_cells,
        criteria=(
            within(
                turns_in_every_cell("In low dimension the output turns away and comes back."),
                slice(0, 1),
                "low",
            ),
            stronger_in_low_dimension,
            slows_down,
        ),
        draw=outputs_picture,
    ),
    Figure(
        number="3",
        title="test loss, four layers, d = 2 and 64",
        claim="In low dimension the test loss has a double descent; in high dimension it slows "
        "down.",
        source="Sec. 3.3",
        editions=deep_editions(),
        compute=train_with_twins,
        criteria=(loss_descends_twice(0), loss_falls),
        draw=losses_picture,
    ),
    Figure(
        number="13",
        title="output at the test point, three layers, d = 3",
        claim="Small deep networks show a strong transient memorization.",
        source="App. F.2",
        editions=small_editions(),
        compute=train_cells,
        criteria=(turns_in_every_cell("The output turns away and comes back."),),
        draw=_panel_each,
    ),
    Figure(
        number="14",
        title="test loss, three layers, d = 3",
        claim="The test loss of these networks is not monotone.",
        source="App. F.2",
        editions=small_editions(),
        compute=train_with_twins,
        criteria=(loss_descends_twice(0), loss_descends_twice(1)),
        draw=losses_picture,
    ),
    Figure(
        number="15",
        title="output at the test point with the training points",
        claim="The turn happens although no training point is close to the test point.",
        source="App. F.3",
        editions=deep_editions(),
        compute=train_with_points,
        criteria=(nearest_is_far, stronger_in_low_dimension),
        draw=partial(outputs_picture, points=True),
    ),
    Figure(
        number="16",
        title="output at the test point, training distribution truncated",
        claim="Keeping training points away from the test point has little impact.",
        source="App. F.3",
        editions=deep_editions((0.5, ", truncated"), (None, ", as it is")),
        compute=train_with_points,
        criteria=(survives_truncation, within(stronger_in_low_dimension, _TRUNCATED, "truncated")),
        draw=partial(outputs_picture, parts=_PARTS, points=True),
    ),
)
