"""Verdicts from shares of runs, and the criteria that several network figures have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from swingby.figures.figure import Criterion, Data, Measured
from swingby.theory.verdict import Verdict

#: What most runs do counts as what the figure shows; what half of them do does not.
MOST, HALF = 0.9, 0.5
THRESHOLD = f"in at least {MOST:.0%} of the runs; fails below {HALF:.0%}"
#: A picture of one run may have been chosen, so what it shows need not happen in most runs.
SOME = 0.05
HAPPENS = f"in at least {HALF:.0%} of the runs; undecided where rarer; fails below {SOME:.0%}"


def verdict_of(share: float) -> Verdict:
    """The verdict on something that a share of the runs does.

    Returns
    -------
    Verdict
        *undecided* between a half and nine tenths.

    Examples
    --------
    >>> [str(verdict_of(share)) for share in (1.0, 0.7, 0.2)]
    ['holds', 'undecided', 'fails']
    """
    if share >= MOST:
        return Verdict.HOLDS
    return Verdict.FAILS if share < HALF else Verdict.UNDECIDED


def happens(share: float) -> Verdict:
    """The verdict on something that a picture of one run shows.

    Parameters
    ----------
    share : float
        Of the runs with other seeds that show it too.

    Returns
    -------
    Verdict
        *undecided* where it is neither common nor very rare.

    Examples
    --------
    >>> [str(happens(share)) for share in (0.6, 0.2, 0.0)]
    ['holds', 'undecided', 'fails']
    """
    if share >= HALF:
        return Verdict.HOLDS
    return Verdict.FAILS if share < SOME else Verdict.UNDECIDED


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
            shares.append(float(right.mean()))
            parts.append(f"{label}: {right.mean():.0%}")
        share = min(shares)
        return Measured(
            f"{share:.0%} at least",
            verdict_of(share),
            f"Runs in which the larger signal comes first: {'; '.join(parts)}.",
            {"shares": shares},
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
        share = float((slowing <= most).mean())
        return Measured(
            f"{np.median(slowing):.2g} of the mean speed",
            verdict_of(share),
            f"In {share:.0%} of the runs the output moves at most at {most:g} of its mean speed "
            f"in the last tenth of its time; the median is {np.median(slowing):.2g}.",
            {"share": share, "median": float(np.median(slowing))},
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
