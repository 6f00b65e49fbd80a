"""How far a sweep is: counts, and how they look."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from swingby.report import Grid
from swingby.sweeping.kept import State
from swingby.sweeping.labels import Label

#: Characters of a reason that is counted.
LONGEST_REASON = 120


@dataclass(frozen=True)
class Status:
    """How far a sweep is.

    Parameters
    ----------
    total : int
        Points of the grid; without a grid, rows of the store.
    done, failed, missing : int
        Together they are the total.
    reasons : dict from str to int
        Why points failed, without the value that was refused, and how many, the most frequent
        first.
    per_second : float or None
        Points per second in the last driver; None before its first chunk.
    labels : dict from (str, str) to int
        How many points have which predicted and which observed label.
    """

    total: int
    done: int
    failed: int
    missing: int
    reasons: dict[str, int]
    per_second: float | None
    labels: dict[tuple[str, str], int]


def summary(state: State) -> State:
    """A state to be counted: a million points that fail on a million values fail for one reason.

    Returns
    -------
    State
        With the reason cut before the value that was refused.
    """
    if state.reason is None:
        return state
    return State(state.reason.split(", got ")[0][:LONGEST_REASON], None, None)


def status_grid(status: Status, store: Path) -> Grid:
    """A status as a table."""
    observed = [str(one) for one in Label if any(seen == one for _, seen in status.labels)]
    predicted = [str(one) for one in Label if any(said == one for said, _ in status.labels)]
    rate = "" if status.per_second is None else f"; {status.per_second:.3g} per second"
    counts = (
        f"{status.total} points: {status.done} done, {status.failed} failed,"
        f" {status.missing} missing{rate}"
    )
    agreed = sum(count for (said, seen), count in status.labels.items() if said == seen)
    below = [f"failed, {count}: {reason}" for reason, count in status.reasons.items()]
    if status.labels:
        # What the law leaves open, and what the steps did not reach, is neither right nor wrong.
        decided = sum(
            count
            for (said, seen), count in status.labels.items()
            if said != Label.UNDECIDED and seen != Label.UNFINISHED
        )
        share = f" ({100 * agreed / decided:.4g}%)" if decided else ""
        below.insert(0, f"predicted as observed: {agreed} of {decided} decided points{share}")
    return Grid(
        title=f"Sweep {store}",
        columns=["predicted \\ observed", *(f">{name}" for name in observed)],
        rows=[
            [said, *(str(status.labels.get((said, seen), 0)) for seen in observed)]
            for said in predicted
        ],
        above=[counts],
        below=below[:12],
    )
