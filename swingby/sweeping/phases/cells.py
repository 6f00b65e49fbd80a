"""The pixels of a phase diagram: what the points of each one have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from swingby.sweeping.labels import Label
from swingby.sweeping.phases.table import DONE, FAILED, MISSING, OPEN, Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Whole = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Booleans = NDArray[np.bool_]

#: A swing-by shows as a second descent of the loss, if not as more.
SWING_BY = 2


@dataclass(frozen=True, eq=False)
class Cells:
    """Counts and numbers per pixel. All arrays begin with the axes of the diagram.

    Parameters
    ----------
    labels : tuple of str
        The last axis of `predicted` and `observed`.
    done, failed, missing : ndarray
        Points of the pixel.
    predicted, observed : ndarray of shape (..., labels)
        How many points have each label.
    decided, agreed : ndarray
        Points with a prediction and an observation, and those of them observed as predicted.
        Undecided and unfinished points are in neither.
    margin, least_margin : ndarray
        Median and least margin over the points; nan without any.
    ended : ndarray
        Points whose run ended before the steps ran out, and whose descents were counted.
    swing_by : ndarray
        Share of these with at least two descents; nan without any.
    descents : ndarray
        Mean number of descents of these; nan without any.
    most_descents : ndarray
        Their most common number, the smallest of equally common ones; -1 without any.
    told : ndarray
        Points for which the law tells the number of descents.
    predicted_swing_by, predicted_descents : ndarray
        Share and mean over these; nan without any.
    """

    labels: tuple[str, ...]
    done: Whole
    failed: Whole
    missing: Whole
    predicted: Whole
    observed: Whole
    decided: Whole
    agreed: Whole
    margin: Floats
    least_margin: Floats
    ended: Whole
    swing_by: Floats
    descents: Floats
    most_descents: Whole
    told: Whole
    predicted_swing_by: Floats
    predicted_descents: Floats

    @property
    def disagreement(self) -> Floats:
        """Share of the decided points not observed as predicted; nan where none is decided."""
        return _over(self.decided - self.agreed, self.decided)

    def share(self, which: str, label: str) -> Floats:
        """Share of a label among the points that are done; nan where none is."""
        counts = self.predicted if which == "predicted" else self.observed
        return _over(counts[..., self.labels.index(label)], self.done)

    def majority(self, which: str) -> tuple[Whole, Floats]:
        """The most common label of every pixel, and its share.

        Returns
        -------
        tuple of ndarray
            Places in `labels`, the first of equally common ones; -1 and nan where no point is
            done.
        """
        counts = self.predicted if which == "predicted" else self.observed
        label = np.where(self.done > 0, counts.argmax(axis=-1), -1)
        return label, _over(counts.max(axis=-1), self.done)


def gather(table: Table, chosen: Booleans, cell: Whole, shape: tuple[int, ...]) -> Cells:
    """The pixels of a table.

    Parameters
    ----------
    table : Table
    chosen : ndarray of shape (n,)
        Which rows count.
    cell : ndarray of shape (n,)
        Number of the pixel of every row, in C order.
    shape : tuple of int
        Of the diagram.
    """
    number = int(np.prod(shape))
    kinds = len(table.labels)

    def count(rows: Booleans) -> Whole:
        return np.bincount(cell[rows], minlength=number).reshape(shape)

    def per_label(codes: NDArray[np.int32]) -> Whole:
        pairs = cell[done] * kinds + codes[done]
        return np.bincount(pairs, minlength=number * kinds).reshape(*shape, kinds)

    def mean(values: NDArray[np.int32], rows: Booleans) -> Floats:
        total = np.bincount(cell[rows], weights=values[rows], minlength=number).reshape(shape)
        return _over(total, count(rows))

    done = chosen & (table.state == DONE)
    finished = table.observed != table.labels.index(Label.UNFINISHED)
    decided = done & finished & (table.predicted != table.labels.index(Label.UNDECIDED))
    ended = done & finished & (table.descents >= 0)
    told = done & (table.predicted_descents > OPEN)
    middle, least = _margins(table.margin, done & ~np.isnan(table.margin), cell, number)
    return Cells(
        labels=table.labels,
        done=count(done),
        failed=count(chosen & (table.state == FAILED)),
        missing=count(chosen & (table.state == MISSING)),
        predicted=per_label(table.predicted),
        observed=per_label(table.observed),
        decided=count(decided),
        agreed=count(decided & (table.predicted == table.observed)),
        margin=middle.reshape(shape),
        least_margin=least.reshape(shape),
        ended=count(ended),
        swing_by=_over(count(ended & (table.descents >= SWING_BY)), count(ended)),
        descents=mean(table.descents, ended),
        most_descents=_most(table.descents[ended], cell[ended], number).reshape(shape),
        told=count(told),
        predicted_swing_by=_over(count(told & (table.predicted_descents >= SWING_BY)), count(told)),
        predicted_descents=mean(table.predicted_descents, told),
    )


def _over(part: Whole | Floats, whole: Whole) -> Floats:
    found = np.full(whole.shape, np.nan)
    np.divide(part, whole, out=found, where=whole > 0)
    return found


def _margins(margin: Floats, rows: Booleans, cell: Whole, number: int) -> tuple[Floats, Floats]:
    """Median and least value of every pixel; infinite ones count as what they are."""
    values, cells = margin[rows], cell[rows]
    order = np.lexsort((values, cells))
    values = values[order]
    sizes = np.bincount(cells, minlength=number)
    first = np.cumsum(sizes) - sizes
    some = sizes > 0
    middle, least = np.full(number, np.nan), np.full(number, np.nan)
    low, high = values[(first + (sizes - 1) // 2)[some]], values[(first + sizes // 2)[some]]
    middle[some] = (low + high) / 2
    least[some] = values[first[some]]
    return middle, least


def _most(values: NDArray[np.int32], cells: Whole, number: int) -> Whole:
    found = np.full(number, -1, dtype=np.int64)
    if values.size:
        most = int(values.max()) + 1
        pairs, counts = np.unique(cells * most + values, return_counts=True)
        # Pairs ascend by pixel and value: written from the rarest on, the commonest stays, and of
        # equally common ones the smallest.
        order = np.lexsort((-pairs, counts))
        found[pairs[order] // most] = pairs[order] % most
    return found
