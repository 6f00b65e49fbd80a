"""The way from the rows of a sweep to a phase diagram."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.sweeping.grid_numbers import optional_whole
from swingby.sweeping.phases import axes
from swingby.sweeping.phases.agreement import Agreement
from swingby.sweeping.phases.axis import Axis, axis_of, bins_of
from swingby.sweeping.phases.cells import Cells, gather
from swingby.sweeping.phases.diagram import PhaseDiagram
from swingby.sweeping.phases.quantity import asked_value, quantity, value_text
from swingby.sweeping.phases.table import PARTS, Table, design, read_table, tabulate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from swingby.sweeping.grid import SweepGrid
    from swingby.sweeping.result import SweepResult

    Whole = NDArray[np.int64]
    Booleans = NDArray[np.bool_]

#: Draws of a random design that a picture shows one by one; more of them go into bins.
MOST_DRAWS = 2_000
#: More values than a list has as a rule: of them, pairs that mostly do not occur are draws.
MOST_VALUES = 100
#: Draws that a bin holds on average, and how many bins an axis has at least and at most.
PER_BIN, FEWEST_BINS, MOST_BINS = 12, 5, 60


def phase_diagram(
    result: SweepResult,
    x: str | None = None,
    y: str | None = None,
    *,
    where: Mapping[str, Any] | None = None,
    bins: int | None = None,
) -> PhaseDiagram:
    """What was predicted and observed over two quantities of a sweep.

    Parameters
    ----------
    result, x, y, where, bins
        See :meth:`swingby.sweeping.result.SweepResult.phase_diagram`.

    Raises
    ------
    InvalidInput
    """
    if where is not None and not isinstance(where, Mapping):
        raise InvalidInput("where", where, 'must be a dict such as {"eta": "0.01"}')
    optional_whole(bins, "bins", 1, 1000)
    fixed_by = dict(where or {})
    table = read_table(result)
    chosen = axes.selected(table, fixed_by)
    if len(table) and not chosen.any():
        shown = ", ".join(f"{name} = {value}" for name, value in fixed_by.items())
        raise InvalidInput("where", shown, "must leave points of the sweep")
    varying = axes.varying(table, chosen)
    across, up = axes.chosen_names(x, y, varying)
    first = axes.column(table, across, chosen)
    second = None if up is None else axes.column(table, up, chosen)
    for argument, one in (("x", first), ("y", second)):
        if one is not None and chosen.any() and not one.values:
            offered = f"; these vary: {', '.join(varying)}" if varying else ""
            requirement = f"must have a value at some point of the sweep{offered}"
            raise InvalidInput(argument, one.quantity.name, requirement)
    inside = chosen & (first.index >= 0)
    if second is not None:
        inside &= second.index >= 0
    pixels = _Pixels(first, second, inside, design(result), bins)
    cells = gather(table, inside, pixels.cell, pixels.shape)
    return PhaseDiagram(
        store=result.store,
        x=pixels.x,
        y=pixels.y,
        scattered=pixels.scattered,
        cells=cells,
        agreement=_agreement(table, inside, cells),
        fixed=_fixed(table, inside, [one for one in (across, up) if one is not None])
        | {name: value_text(asked_value(name, value)) for name, value in fixed_by.items()},
        pooled=_pooled(table, inside, pixels),
        left_out=int(chosen.sum() - inside.sum()),
    )


def check_names(
    grid: SweepGrid, x: str | None, y: str | None, where: Mapping[str, Any] | None = None
) -> None:
    """Refuse names of quantities before a sweep rather than after it.

    Raises
    ------
    InvalidInput
        For a name that is no quantity.
    """
    given = [("x", x), ("y", y), *(("where", name) for name in where or {})]
    for argument, name in given:
        if name is not None and quantity(name) is None:
            table = tabulate((point, None) for point in grid.points())
            every = np.ones(len(table), dtype=bool)
            axes.known(name, argument, list(axes.varying(table, every)))


class _Pixels:
    """The pixel of every row: of lists one per pair of values, of draws one each, or bins."""

    def __init__(
        self,
        first: axes.Column,
        second: axes.Column | None,
        inside: Booleans,
        grid: SweepGrid | None,
        bins: int | None,
    ) -> None:
        columns = [first] if second is None else [second, first]
        drawn = [_drawn(one, columns, inside, grid) for one in columns]
        pairs = np.stack([one.index[inside] for one in columns])
        sizes = tuple(len(one.values) for one in columns)
        flat = np.ravel_multi_index(tuple(pairs), sizes) if pairs.size else pairs[0]
        distinct, place = np.unique(flat, return_inverse=True)
        self.cell = np.full(len(inside), -1, dtype=np.int64)
        self.binned: set[str] = set()
        self.scattered = (
            second is not None and all(drawn) and bins is None and len(distinct) <= MOST_DRAWS
        )
        if self.scattered:
            self.cell[inside] = place
            self.shape: tuple[int, ...] = (len(distinct),)
            where = np.unravel_index(distinct, sizes)
            found = [_of_draws(one, index, grid) for one, index in zip(columns, where, strict=True)]
        else:
            number = bins or _bins(len(distinct), sum(drawn))
            found, indices = [], []
            for one, free in zip(columns, drawn, strict=True):
                axis, index = _of_values(one, grid, number if free else None)
                found.append(axis)
                indices.append(index[inside])
                if len(axis) < len(one.values):
                    self.binned.add(one.quantity.part)
            self.shape = tuple(map(len, found))
            self.cell[inside] = np.ravel_multi_index(tuple(indices), self.shape)
        self.x = found[-1]
        self.y = found[0] if second is not None else None


def _drawn(
    one: axes.Column, columns: list[axes.Column], inside: Booleans, grid: SweepGrid | None
) -> bool:
    """Whether a quantity has hardly a value twice, so that it makes no columns of pixels."""
    if axes.exact(one.values) is None:
        return False
    if grid is not None and grid.design == "random":
        return axes.spacing(one.quantity, grid) is not None and one.quantity.part != "width"
    if len(one.values) <= MOST_VALUES:
        return False
    pairs = np.unique(np.stack([other.index[inside] for other in columns]), axis=1).shape[1]
    return len(columns) == 2 and 2 * pairs < math.prod(len(other.values) for other in columns)


def _bins(pairs: int, drawn: int) -> int:
    per_axis = (pairs / PER_BIN) ** (1 / max(drawn, 1))
    return int(min(max(per_axis, FEWEST_BINS), MOST_BINS))


def _of_values(one: axes.Column, grid: SweepGrid | None, bins: int | None) -> tuple[Axis, Whole]:
    """An axis of the values, or of bins, and which of its pixels each row is in."""
    spacing = axes.spacing(one.quantity, grid)
    numbers = axes.exact(one.values)
    if not one.values:
        return Axis(one.quantity.name, one.quantity.symbol, (), (), "ordered", (0.0,)), one.index
    if bins is None or numbers is None or len(numbers) == 1:
        return axis_of(one.quantity, one.values, spacing), one.index
    if min(numbers) <= 0:
        spacing = "linear"
    axis = bins_of(one.quantity, numbers, bins, spacing)
    places = axis_of(one.quantity, one.values, axis.scale, even=False).places
    bin_of = np.clip(np.searchsorted(axis.edges, places, side="right") - 1, 0, bins - 1)
    return axis, np.where(one.index >= 0, bin_of[one.index], -1)


def _of_draws(one: axes.Column, index: Whole, grid: SweepGrid | None) -> Axis:
    """An axis with one value per draw, in the order of the draws."""
    numbers = axes.exact(one.values)
    spacing = axes.spacing(one.quantity, grid)
    if numbers is not None and min(numbers) <= 0:
        spacing = "linear"
    whole = axis_of(one.quantity, one.values, spacing, even=False)
    return Axis(
        whole.name,
        whole.symbol,
        tuple(whole.values[place] for place in index),
        tuple(whole.places[place] for place in index),
        whole.scale,
        (),
    )


def _agreement(table: Table, inside: Booleans, cells: Cells) -> Agreement:
    done = inside & (table.predicted >= 0)
    kinds = len(table.labels)
    counts = np.bincount(
        table.predicted[done].astype(np.int64) * kinds + table.observed[done],
        minlength=kinds * kinds,
    ).reshape(kinds, kinds)
    return Agreement(
        counts={
            (table.labels[said], table.labels[seen]): int(counts[said, seen])
            for said, seen in np.argwhere(counts)
        },
        failed=int(cells.failed.sum()),
        missing=int(cells.missing.sum()),
    )


def _fixed(table: Table, inside: Booleans, shown: list[Any]) -> dict[str, str]:
    """What has one value at all points and is not shown on an axis."""
    found = {}
    names = [("signal", "task"), ("omega", "omega"), ("eta", "eta"), ("width", "width")]
    for name, part in [*names, ("dynamics", "dynamics"), ("steps", "steps"), ("seed", "seed")]:
        codes = np.unique(table.codes[part][inside])
        one = quantity(name)
        if len(codes) != 1 or one is None or any(other.part == part for other in shown):
            continue
        value = one.read(table.values[part][codes[0]])
        if value is not None:
            found[name] = value_text(value)
    return found


def _pooled(table: Table, inside: Booleans, pixels: _Pixels) -> dict[str, int]:
    """What differs between points of one pixel, and how many values it has."""
    found, cell = {}, pixels.cell
    for part in PARTS:
        if part in pixels.binned:
            continue
        codes = table.codes[part][inside].astype(np.int64)
        number = len(np.unique(codes))
        if number < 2:
            continue
        inner = np.unique(cell[inside] * (int(codes.max()) + 1) + codes)
        if len(inner) > len(np.unique(cell[inside])):
            found["signal" if part == "task" else part] = number
    return found
