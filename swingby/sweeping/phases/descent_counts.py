"""How often the test loss descends: predicted and observed, counted by dimension."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from swingby.report import Grid
from swingby.sweeping.store import reading

if TYPE_CHECKING:
    from swingby.sweeping.result import SweepResult

#: More descents are counted together.
MOST = 5

_QUERY = """
SELECT dimension, json_extract(results, '$.predicted_descents'),
       json_extract(results, '$.descents'), count(*)
FROM points WHERE status = 'done' AND observed != 'unfinished'
GROUP BY 1, 2, 3 ORDER BY 1
"""


@dataclass(frozen=True)
class DescentCounts:
    """Runs of a store by dimension, predicted and observed number of descents.

    Parameters
    ----------
    counts : dict from (int, int or None, int) to int
        Dimension d, predicted number (None where undecided), observed number; of points whose
        run has ended.
    """

    counts: dict[tuple[int, int | None, int], int]

    @property
    def agreed(self) -> int:
        """Decided points whose number is observed as predicted."""
        return sum(n for (_, said, seen), n in self.counts.items() if said == seen)

    @property
    def decided(self) -> int:
        """Points of which the prediction says a number."""
        return sum(n for (_, said, _), n in self.counts.items() if said is not None)

    def share(self, dimension: int, descents: int) -> tuple[float, float]:
        """Shares of the points of one dimension with so many descents.

        Returns
        -------
        predicted, observed : float
            Of the decided points, both, so that they can be compared.
        """
        of_it = {key: n for key, n in self.counts.items() if key[0] == dimension}
        decided = {key: n for key, n in of_it.items() if key[1] is not None}
        total = sum(decided.values()) or 1
        said = sum(n for key, n in decided.items() if key[1] == descents)
        seen = sum(n for key, n in decided.items() if key[2] == descents)
        return said / total, seen / total

    def to_grid(self) -> Grid:
        """The shares as a table, one row per dimension."""
        dimensions = sorted({d for d, _, _ in self.counts})
        numbers = sorted({min(seen, MOST) for _, _, seen in self.counts})
        numbers = sorted({*numbers, *(min(p, MOST) for _, p, _ in self.counts if p is not None)})
        rows = []
        for d in dimensions:
            total = sum(n for key, n in self.counts.items() if key[0] == d)
            undecided = sum(n for key, n in self.counts.items() if key[0] == d and key[1] is None)
            cells = [f"{d}", f"{total:,}", f"{undecided / total:.2%}"]
            for number in numbers:
                said, seen = self._share_from(d, number)
                cells.append(f"{said:.2%}, {seen:.2%}")
            rows.append(cells)
        heads = [f">{number}{' or more' * (number == MOST)}" for number in numbers]
        below = [
            "Share of the decided points with so many descents of the test loss: predicted, "
            "observed.",
            f"Predicted as observed: {self.agreed:,} of {self.decided:,} decided points.",
        ]
        columns = [">d", ">points", ">undecided", *heads]
        return Grid(title="Descents of the test loss", columns=columns, rows=rows, below=below)

    def _share_from(self, dimension: int, number: int) -> tuple[float, float]:
        if number < MOST:
            return self.share(dimension, number)
        every = {seen for _, _, seen in self.counts} | {said or 0 for _, said, _ in self.counts}
        parts = [self.share(dimension, more) for more in every if more >= MOST]
        return sum(part[0] for part in parts), sum(part[1] for part in parts)


def descent_counts(result: SweepResult) -> DescentCounts:
    """Count the descents of all runs that a store holds.

    Parameters
    ----------
    result : SweepResult
        All its store, whatever its grid.

    Examples
    --------
    >>> counts = DescentCounts({(2, 1, 1): 80, (2, 2, 2): 15, (2, 1, 2): 1, (2, None, 2): 4})
    >>> counts.agreed, counts.decided, [round(share, 3) for share in counts.share(2, 2)]
    (95, 96, [0.156, 0.167])
    """
    found: Counter[tuple[int, int | None, int]] = Counter()
    with reading(result.store) as store:
        for dimension, said, seen, count in store.stream(_QUERY):
            found[int(dimension), None if said is None else int(said), int(seen)] += int(count)
    return DescentCounts(dict(found))
