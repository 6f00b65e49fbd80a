"""Agreement of predicted and observed labels: counted, with an interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from swingby.report import Grid
from swingby.sweeping.labels import Label

#: Quantile of the normal distribution at 0.975.
NORMAL = 1.959963984540054


@dataclass(frozen=True)
class Agreement:
    """How many points have which predicted and which observed label.

    Parameters
    ----------
    counts : dict from (str, str) to int
        Predicted and observed label; of points that are done.
    failed, missing : int
        Points without a row of numbers.

    Examples
    --------
    >>> found = Agreement({("in_order", "in_order"): 8, ("undecided", "in_order"): 5,
    ...     ("in_order", "trapped"): 2})
    >>> found.agreed, found.decided, found.undecided
    (8, 10, 5)
    >>> low, high = found.interval
    >>> round(low, 4), round(high, 4)
    (0.4902, 0.9433)
    """

    counts: Mapping[tuple[str, str], int]
    failed: int = 0
    missing: int = 0

    @property
    def done(self) -> int:
        """Points that are measured."""
        return sum(self.counts.values())

    @property
    def points(self) -> int:
        """All of them, also failed and missing ones."""
        return self.done + self.failed + self.missing

    @property
    def undecided(self) -> int:
        """Points of which the law does not say what happens."""
        return sum(n for (said, _), n in self.counts.items() if said == Label.UNDECIDED)

    @property
    def unfinished(self) -> int:
        """Points that the law decides, whose steps ran out."""
        return sum(
            n
            for (said, seen), n in self.counts.items()
            if said != Label.UNDECIDED and seen == Label.UNFINISHED
        )

    @property
    def decided(self) -> int:
        """Points with a prediction and an observation: all others say nothing of the law."""
        return self.done - self.undecided - self.unfinished

    @property
    def agreed(self) -> int:
        """Decided points that are observed as predicted."""
        return sum(n for (said, seen), n in self.counts.items() if said == seen)

    @property
    def share(self) -> float:
        """Agreed over decided points; nan where none is decided."""
        return self.agreed / self.decided if self.decided else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of :func:`wilson` for the share."""
        return wilson(self.agreed, self.decided)

    def lines(self) -> list[str]:
        """The counts as sentences."""
        low, high = self.interval
        text = (
            f"predicted as observed: {self.agreed} of {self.decided} decided points"
            f" ({100 * self.share:.4g}%, 95% interval {100 * low:.4g}% to {100 * high:.4g}%)"
            if self.decided
            else "no point is decided"
        )
        beside = {"undecided": self.undecided, "unfinished": self.unfinished}
        beside |= {"failed": self.failed, "missing": self.missing}
        rest = ", ".join(f"{count} {name}" for name, count in beside.items() if count)
        return [text, f"not counted: {rest}"] if rest else [text]

    def to_grid(self, title: str = "Predicted against observed") -> Grid:
        """The confusion matrix: predicted labels down, observed labels across."""
        names = [*map(str, Label)]
        names += sorted({name for pair in self.counts for name in pair} - set(names))
        across = [one for one in names if any(seen == one for _, seen in self.counts)]
        down = [one for one in names if any(said == one for said, _ in self.counts)]
        return Grid(
            title=title,
            columns=["predicted \\ observed", *(f">{name}" for name in across)],
            rows=[
                [said, *(str(self.counts.get((said, seen), 0)) for seen in across)] for said in down
            ],
            below=self.lines(),
        )


def wilson(agreed: int, decided: int) -> tuple[float, float]:
    r"""Wilson's 95 % interval for a share.

    .. math:: \frac{p + z^2/2n \pm z \sqrt{p (1 - p)/n + z^2/4n^2}}{1 + z^2/n}

    Parameters
    ----------
    agreed, decided : int
        p n and n.

    Returns
    -------
    tuple of float
        Between 0 and 1, also where all or none agree; (0, 1) where there is nothing to count.

    References
    ----------
    Wilson, Probable inference, the law of succession, and statistical inference, J. Am. Stat.
    Assoc. 22 (1927).

    Examples
    --------
    >>> wilson(0, 0)
    (0.0, 1.0)
    """
    if not decided:
        return 0.0, 1.0
    share, square = agreed / decided, NORMAL**2
    middle = share + square / (2 * decided)
    half = NORMAL * math.sqrt(share * (1 - share) / decided + square / (4 * decided**2))
    low, high = (middle - half) / (1 + square / decided), (middle + half) / (1 + square / decided)
    # At the ends the formula is exact but its rounding is not.
    return (0.0 if agreed == 0 else max(low, 0.0)), (1.0 if agreed == decided else min(high, 1.0))
