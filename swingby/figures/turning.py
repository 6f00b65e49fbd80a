"""Figures 2c, 3 and 13 to 16: the turn of the output, and the test loss that shows it."""

from __future__ import annotations

import numpy as np

from swingby.figures.figure import Criterion, Data, Edition, Measured
from swingby.figures.shares import HAPPENS, THRESHOLD, happens, verdict_of
from swingby.figures.trained import SWING, cell, edition_of
from swingby.theory.verdict import Verdict

#: A turn counts once the output along the weaker concept falls by this part of mu.
TURN = 0.1


def deep_editions() -> tuple[Edition, ...]:
    """Editions of Figs. 2c, 3 and 15: four linear layers, in 2 and in 64 dimensions."""
    return tuple(_deep(name, None) for name in ("caption", "code"))


def truncated_editions() -> tuple[Edition, ...]:
    """Editions of Fig. 16: the same with and without training points near the test point.

    Returns
    -------
    tuple of Edition
        Truncated in 2 and 64 dimensions, then as they are in both.
    """
    return tuple(_deep(name, 0.5) for name in ("caption", "code"))


def _deep(name: str, truncation: float | None) -> Edition:
    mu = ("2", "4") if name == "code" else ("1", "2")
    cells = []
    for kept in [truncation] if truncation is None else [truncation, None]:
        for dim in (2, 64):
            # The command behind the low-dimensional curve takes a tenth of the learning rate.
            lr = 0.01 if name == "code" and dim == 2 else 0.1
            near = "" if truncation is None else ", truncated" if kept else ", as it is"
            cells.append(
                cell(
                    name,
                    f"d = {dim}{near}",
                    mu,
                    ("0.05", "0.05"),
                    dim=dim,
                    depth=4,
                    truncation=kept,
                    lr=lr,
                )
            )
    reading = "\u03c3\u00b2 = 0.05, centre cluster, mean loss" if name == "code" else "loss (2.1)"
    return edition_of(name, cells, f"4 linear layers, \u03bc = ({mu[0]}, {mu[1]}), {reading}")


def small_editions() -> tuple[Edition, ...]:
    """Editions of Figs. 13 and 14: three linear layers of three units in three dimensions."""
    found = []
    for name in ("caption", "code"):
        cells = [
            cell(
                name,
                f"\u03bc = ({a}, {b})",
                (a, b),
                ("0.05", "0.05"),
                dim=3,
                depth=3,
                width=3,
                rotation=False,
            )
            for a, b in (("1", "2"), ("2", "4"))
        ]
        reading = (
            "\u03c3\u00b2 = 0.05, mean loss" if name == "code" else "\u03c3 = 0.05, loss (2.1)"
        )
        found.append(edition_of(name, cells, f"3 linear layers of 3 units, d = 3, {reading}"))
    return tuple(found)


def turns_in_every_cell(what: str) -> Criterion:
    """The criterion that the output turns back, in every setting.

    Parameters
    ----------
    what : str
        The statement.
    """

    def judge(data: Data) -> Measured:
        shares = (data["dip"] >= TURN).mean(axis=1)
        return Measured(
            f"{shares.min():.0%} at least",
            happens(float(shares.min())),
            f"{_dips(data)}.",
            {"shares": shares.tolist()},
        )

    return Criterion("turn", what, "turns", f"{_TURNS}; {HAPPENS}", judge)


_TURNS = (
    f"the output along the weaker concept, smoothed over an eighth of an epoch, falls by at least "
    f"{TURN:g} of mu after it has risen"
)


def _dips(data: Data) -> str:
    parts = []
    for label, dip, times in zip(data["labels"], data["dip"], data["half_times"], strict=True):
        share, never = (dip >= TURN).mean(), np.isnan(times).any(axis=1).mean()
        late = f", {never:.0%} not learned by the end" if never else ""
        parts.append(f"{label}: {share:.0%} of the runs, median fall {np.median(dip):.2f}{late}")
    return f"The output along the weaker concept falls by at least {TURN:g} of mu in " + "; ".join(
        parts
    )


def stronger_in_low_dimension() -> Criterion:
    """The criterion that the turn is stronger in 2 than in 64 dimensions."""

    def judge(data: Data) -> Measured:
        low, high = data["dip"][0], data["dip"][1]
        # Every run against every run of the other: a half where dimension does not matter.
        more = float((low[:, None] > high[None, :]).mean())
        return Measured(
            f"{np.median(low):.2f} against {np.median(high):.2f}",
            Verdict.HOLDS if more >= 0.65 else Verdict.FAILS if more <= 0.5 else Verdict.UNDECIDED,
            f"{_dips(data)}. A run in 2 dimensions turns more than one in 64 in {more:.0%} of all "
            "pairs.",
            {"pairs": more},
        )

    return Criterion(
        "dimension",
        "The lower the dimension, the stronger the turn.",
        "stronger at d = 2",
        "a run at d = 2 falls further than one at d = 64 in at least 65 % of all pairs; fails "
        "at 50 % or less",
        judge,
    )


def loss_descends_twice(place: int) -> Criterion:
    """The criterion that the test loss of a cell rises in between.

    Parameters
    ----------
    place : int
        Of the cell.
    """

    def judge(data: Data) -> Measured:
        share = float((data["rise"][place] >= SWING).mean())
        return Measured(
            f"{share:.0%} of the runs",
            happens(share),
            f"{data['labels'][place]}: the smoothed test loss rises by at least {SWING:g} of its "
            f"start in {share:.0%} of the runs; the median of the largest rise is "
            f"{np.median(data['rise'][place]):.3f}, the largest {data['rise'][place].max():.2f}.",
            {"share": share},
        )

    return Criterion(
        f"descents-{place + 1}",
        "The test loss falls, rises and falls again.",
        "double descent",
        f"a rise by at least {SWING:g} of its start, smoothed over an eighth of an epoch; "
        f"{HAPPENS}",
        judge,
    )


def loss_falls(place: int) -> Criterion:
    """The criterion that the test loss of a cell only falls.

    Parameters
    ----------
    place : int
        Of the cell.
    """

    def judge(data: Data) -> Measured:
        share = float((data["rise"][place] < SWING).mean())
        return Measured(
            f"{share:.0%} of the runs",
            verdict_of(share),
            f"{data['labels'][place]}: the smoothed test loss never rises by {SWING:g} of its "
            f"start in {share:.0%} of the runs; the largest rise is {data['rise'][place].max():.3f}"
            ".",
            {"share": share},
        )

    return Criterion(
        f"falls-{place + 1}",
        "In high dimension the descent slows down but the loss does not rise.",
        "no rise",
        f"no rise by {SWING:g} of its start, smoothed over an eighth of an epoch; {THRESHOLD}",
        judge,
    )


def survives_truncation() -> Criterion:
    """The criterion that the turn is there without training points near the test point."""

    def judge(data: Data) -> Measured:
        half = len(data["labels"]) // 2
        kept, plain = data["dip"][:half], data["dip"][half:]
        change = np.abs(np.median(kept, axis=1) - np.median(plain, axis=1))
        parts = [
            f"{label}: median fall {np.median(a):.3f} truncated, {np.median(b):.3f} as it is"
            for label, a, b in zip(("d = 2", "d = 64"), kept, plain, strict=True)
        ]
        return Measured(
            f"changed by {change.max():.3f}",
            Verdict.HOLDS if change.max() <= 0.05 else Verdict.FAILS,
            f"{'; '.join(parts)}; {int(data['discarded'][:half].max())} training points at most "
            "were drawn again.",
            {"change": change.tolist()},
        )

    return Criterion(
        "truncation",
        "The turn does not need training points near the test point.",
        "little impact",
        "the median fall along the weaker concept changes by at most 0.05 of mu, same seeds",
        judge,
    )


def nearest_is_far() -> Criterion:
    """The criterion that no training point is near the test point."""

    def judge(data: Data) -> Measured:
        share = data["nearest"].min(axis=1)
        listed = ", ".join(
            f"{label}: {one:.2f}" for label, one in zip(data["labels"], share, strict=True)
        )
        return Measured(
            f"{share.min():.2f} min(mu)",
            Verdict.HOLDS if share.min() > 0.5 else Verdict.FAILS,
            f"Distance of the nearest training point of all runs to the test point, in units of "
            f"the smaller mu: {listed}.",
            {"nearest": share.tolist()},
        )

    return Criterion(
        "far",
        "No training point is close to the test point.",
        "none",
        "none within half of the smaller mu, the radius of App. F.3",
        judge,
    )
