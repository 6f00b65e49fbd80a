"""Verdicts from shares of runs, and the criteria that several network figures have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from swingby.figures.figure import Criterion, Data, Measured
from swingby.theory.verdict import Verdict
from swingby.training.shares import Share, reaches, share_of

#: A statement about all runs asks for it in so many of them.
MOST = 0.9
THRESHOLD = f"in {MOST:.0%} of all runs: the 95 % interval of the share lies above; fails below"
#: A picture of one run may have been chosen, so what it shows need not happen in most runs.
HALF, SOME = 0.5, 0.1
HAPPENS = (
    f"holds where the 95 % interval of the share of runs lies above {HALF:.0%}, fails where it "
    f"lies below {SOME:.0%}"
)


def verdict_of(share: Share) -> Verdict:
    """The verdict on something that all runs are said to do.

    Examples
    --------
    >>> [str(verdict_of(Share(count, 64))) for count in (64, 58, 50)]
    ['holds', 'undecided', 'fails']
    """
    return reaches(share, MOST)


def happens(share: Share) -> Verdict:
    """The verdict on something that a picture of one run shows.

    Examples
    --------
    >>> [str(happens(Share(count, 64))) for count in (40, 12, 1)]
    ['holds', 'undecided', 'fails']
    """
    often = reaches(share, HALF) == Verdict.HOLDS
    rare = reaches(share, SOME) == Verdict.FAILS
    return Verdict.HOLDS if often else Verdict.FAILS if rare else Verdict.UNDECIDED


def first_is_second(data: Data) -> Any:
    """Whether concept 2 crosses one half before concept 1, for every cell and run.

    Returns
    -------
    ndarray of bool, shape (c, r)
        A concept that is never learned comes last.
    """
    times = np.where(np.isnan(data["half_times"]), np.inf, data["half_times"])
    return times[:, :, 1] < times[:, :, 0]


def order_follows_signal(what: str, paper: str) -> Criterion:
    """The criterion that the concept with the larger signal is learned first.

    Parameters
    ----------
    what : str
        The statement.
    paper : str
    """

    def judge(data: Data) -> Measured:
        second = first_is_second(data)
        gap = np.log(data["signal"][:, 1] / data["signal"][:, 0])
        shares, parts = [], []
        for place, label in enumerate(data["labels"]):
            if abs(gap[place]) < 1e-9:
                parts.append(f"{label}: concept 2 first in {second[place].mean():.0%}, a tie")
                continue
            right = second[place] if gap[place] > 0 else ~second[place]
            shares.append(share_of(right))
            parts.append(f"{label}: {shares[-1]}")
        least = min(shares, key=lambda share: share.value)
        return Measured(
            f"{least.value:.0%} at least",
            verdict_of(least),
            f"Runs in which the larger signal comes first: {'; '.join(parts)}.",
            {"shares": [share.value for share in shares]},
        )

    return Criterion("order", what, paper, f"{THRESHOLD}, in every setting", judge)


def bulge_changes_side() -> Criterion:
    """The criterion that the side to which the output bulges follows the settings."""

    def judge(data: Data) -> Measured:
        mean = data["area"].mean(axis=1)
        falling = bool((np.diff(mean) < 0).all())
        changes = bool(mean[0] > 0 > mean[-1])
        listed = ", ".join(
            f"{label}: {one:+.2f}" for label, one in zip(data["labels"], mean, strict=True)
        )
        return Measured(
            f"{mean[0]:+.2f} to {mean[-1]:+.2f}",
            Verdict.HOLDS if falling and changes else Verdict.FAILS,
            f"Mean of twice the area between output and chord, above it positive: {listed}.",
            {"area": mean.tolist()},
        )

    return Criterion(
        "bulge",
        "The output bulges up, and ever less, until it bulges down.",
        "changes side",
        "the mean area over the runs falls from setting to setting, from above 0 to below 0",
        judge,
    )


def slows_down() -> Criterion:
    """The criterion that the output moves ever more slowly in the end."""
    most = 0.25

    def judge(data: Data) -> Measured:
        slowing = data["slowing"]
        share = share_of(slowing <= most)
        return Measured(
            f"{np.median(slowing):.2g} of the mean speed",
            verdict_of(share),
            f"In a share {share} of the runs the output moves at most at {most:g} of its mean "
            f"speed in the last tenth of its time; the median is {np.median(slowing):.2g}.",
            {"share": share.value, "median": float(np.median(slowing))},
        )

    return Criterion(
        "slowing",
        "Learning slows down in the terminal phase (Sec. 3.2).",
        "slower",
        f"at most {most:g} of the mean speed in the last tenth; {THRESHOLD}",
        judge,
    )


def within(criterion: Criterion, cells: slice, name: str) -> Criterion:
    """A criterion on some of the cells only.

    Parameters
    ----------
    criterion : Criterion
    cells : slice
    name : str
        Joined to its id, since ids are unique.
    """
    return replace(
        criterion,
        id=f"{criterion.id}-{name}",
        judge=lambda data: criterion.judge(cut(data, cells)),
    )


def cut(data: Data, cells: slice) -> dict[str, Any]:
    """The data of some of the cells."""
    return {
        name: value if name == "epochs" or not hasattr(value, "__len__") else value[cells]
        for name, value in data.items()
    }
