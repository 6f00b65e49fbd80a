"""Criteria of the network figures: shares of runs, the order of learning, and subsets of cells."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from swingby.lab.figures.figure import Criterion, Data, Measured, criterion
from swingby.theory.share import Share, reaches, share_of
from swingby.theory.verdict import Verdict, yes

#: A statement about all runs asks for it in so many of them.
_MOST = 0.9
THRESHOLD = f"in {_MOST:.0%} of all runs: the 95 % interval of the share lies above; fails below"
#: A picture of one run may have been chosen, so what it shows need not happen in most runs.
_HALF, _SOME = 0.5, 0.1
HAPPENS = (
    f"holds where the 95 % interval of the share of runs lies above {_HALF:.0%}, fails where it "
    f"lies below {_SOME:.0%}"
)


def verdict_of(share: Share) -> Verdict:
    """The verdict on something that all runs are said to do."""
    return reaches(share, _MOST)


def happens(share: Share) -> Verdict:
    """The verdict on something that the picture of a single run shows."""
    often = reaches(share, _HALF) == Verdict.HOLDS
    rare = reaches(share, _SOME) == Verdict.FAILS
    return Verdict.HOLDS if often else Verdict.FAILS if rare else Verdict.UNDECIDED


def comes_first(data: Data, concept: int) -> Any:
    """True for runs that learn concept 1 or 2, and not after the other concept, (c, r).

    Concept 1 also where both cross one half at the same step.
    """
    times = np.where(np.isnan(data["half_times"]), np.inf, data["half_times"])
    mine, rival = times[:, :, concept - 1], times[:, :, 2 - concept]
    return (mine < rival) | ((mine == rival) & np.isfinite(mine) & (concept == 1))


@criterion(
    "order",
    "The concept with the larger mu crosses one half first.",
    "larger mu first",
    f"{THRESHOLD}, in every setting",
)
def order_follows_signal(data: Data) -> Measured:
    """The concept with the larger signal is learned first."""
    first, second = comes_first(data, 1), comes_first(data, 2)
    gap = np.log(data["signal"][:, 1] / data["signal"][:, 0])
    shares, texts = [], []
    for index, label in enumerate(data["labels"]):
        if abs(gap[index]) < 1e-9:
            texts.append(f"{label}: concept 2 first in {second[index].mean():.0%}, a tie")
            continue
        right = second[index] if gap[index] > 0 else first[index]
        shares.append(share_of(right))
        texts.append(f"{label}: {shares[-1]}")
    smallest = min(shares, key=lambda share: share.value)
    return Measured(
        f"{smallest.value:.0%} at least",
        verdict_of(smallest),
        f"Runs in which the larger signal comes first: {'; '.join(texts)}.",
        {"shares": [share.value for share in shares]},
    )


@criterion(
    "bulge",
    "The output bulges up, and ever less, until it bulges down.",
    "changes side",
    "the mean area over the runs falls from setting to setting, from above 0 to below 0",
)
def bulge_changes_side(data: Data) -> Measured:
    """The side to which the output bulges follows the settings."""
    mean = data["area"].mean(axis=1)
    listed = by_label(data, mean, "{:+.2f}")
    return Measured(
        f"{mean[0]:+.2f} to {mean[-1]:+.2f}",
        yes((np.diff(mean) < 0).all() and mean[0] > 0 > mean[-1]),
        f"Mean of twice the area between output and chord, above it positive: {listed}.",
        {"area": mean.tolist()},
    )


#: Most that is left of the mean speed in the last tenth.
_SLOW = 0.25


@criterion(
    "slowing",
    "Learning slows down in the terminal phase (Sec. 3.2).",
    "slower",
    f"at most {_SLOW:g} of the mean speed in the last tenth; {THRESHOLD}",
)
def slows_down(data: Data) -> Measured:
    """The output moves ever more slowly in the end."""
    share, middle = share_of(data["slowing"] <= _SLOW), float(np.median(data["slowing"]))
    return Measured(
        f"{middle:.2g} of the mean speed",
        verdict_of(share),
        f"In a share {share} of the runs the output moves at most at {_SLOW:g} of its mean "
        f"speed in the last tenth of its time; the median is {middle:.2g}.",
        {"share": share.value, "median": middle},
    )


def by_label(data: Data, values: Any, form: str = "{}") -> str:
    """A value of each cell, beside its label."""
    pairs = zip(data["labels"], values, strict=True)
    return ", ".join(f"{label}: {form.format(value)}" for label, value in pairs)


def within(criterion: Criterion, cells: slice, name: str) -> Criterion:
    """A criterion on some of the cells only; `name` is joined to its id, since ids are unique."""
    return replace(
        criterion, id=f"{criterion.id}-{name}", judge=lambda data: criterion.judge(cut(data, cells))
    )


def cut(data: Data, cells: slice) -> dict[str, Any]:
    """The data of some of the cells."""
    return {
        name: value if name == "epochs" or not hasattr(value, "__len__") else value[cells]
        for name, value in data.items()
    }
