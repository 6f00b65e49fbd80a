"""Pixels of a phase diagram: predictions and observations of a sweep, counted over two quantities.

The picture of a diagram is drawn in :mod:`swingby.lab.sweeps.phase_diagram`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from swingby.errors import InvalidInput
from swingby.lab.sweeps.agreement import COUNTED, Agreement, flagged, json_value
from swingby.lab.sweeps.axis import Axis, axis_of, bins_of
from swingby.lab.sweeps.grid import Range, SweepGrid, optional_whole
from swingby.lab.sweeps.label import Label
from swingby.lab.sweeps.quantity import SOURCES, Quantity, quantity, value_text
from swingby.lab.sweeps.quantity_values import (
    QuantityValues,
    asked_value,
    known_quantity,
    selected,
    varying,
)
from swingby.report import Drawn, Grid
from swingby.report.result_formats import ReadOnly
from swingby.theory.numbers import Floats, Integers

if TYPE_CHECKING:
    import pandas as pd

#: A swing-by shows as a second descent of the loss, if not as more.
_SWING_BY = 2
#: Draws of a random design that a picture shows one by one; more of them go into bins.
MOST_DRAWS = 2_000
#: More values than a list has as a rule: of them, pairs that mostly do not occur are draws.
_MOST_VALUES = 100
#: Draws that a bin holds on average, and how many bins an axis has at least and at most.
_PER_BIN, _FEWEST_BINS, _MOST_BINS = 12, 5, 60
#: Numbers in the table of pixels, behind the counts and the labels.
_NUMBERS = [
    *("margin", "least_margin", "swing_by", "descents", "most_descents"),
    *("predicted_swing_by", "predicted_descents"),
]


# Pixels


@dataclass(frozen=True, eq=False)
class Cells(ReadOnly):
    """Counts and numbers per pixel, columns of a `table`, as arrays of the `shape` of the diagram.

    `done`, `failed`, `missing`: points of the pixel. `decided`: points with a prediction and an
    observation, `agreed`: those observed as predicted; undecided and unfinished points are in
    neither. `margin`, `least_margin`: median and least; nan without any, as all numbers. `ended`:
    points whose run ended before the steps ran out; `swing_by`, `descents`, `most_descents`: share
    of these with at least two descents, mean number, and most common one (the smallest of equally
    common ones, -1 without any). `told`: points for which the law tells the number of descents;
    `predicted_swing_by`, `predicted_descents`: share and mean over these. `predicted`, `observed`:
    how many points have each of `labels` (last axis).
    """

    table: pd.DataFrame
    shape: tuple[int, ...]
    labels: tuple[str, ...]
    predicted: Integers
    observed: Integers

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self.table:
            raise AttributeError(name)
        values = self.table[name].to_numpy().reshape(self.shape)
        values.setflags(write=False)
        return values

    @property
    def disagreement(self) -> Floats:
        """Share of the decided points not observed as predicted; nan if no point is decided."""
        return _over(self.decided - self.agreed, self.decided)

    def counts(self, which: str) -> Integers:
        """How many points have each label, ``"predicted"`` or ``"observed"``."""
        return self.predicted if which == "predicted" else self.observed

    def share(self, which: str, label: str) -> Floats:
        """Share of a label among the points that are done."""
        return _over(self.counts(which)[..., self.labels.index(label)], self.done)

    def majority(self, which: str) -> tuple[Integers, Floats]:
        """The most common label of every pixel (its place in `labels`, or -1), and its share."""
        label = np.where(self.done > 0, self.counts(which).argmax(axis=-1), -1)
        return label, _over(self.counts(which).max(axis=-1), self.done)


def _over(part: Integers | Floats, whole: Integers) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.asarray(part / np.where(whole > 0, whole, np.nan))


def _gather(frame: pd.DataFrame, shape: tuple[int, ...]) -> Cells:
    """The pixels of a frame whose column `pixel` has the number of each row's, in C order."""
    rows, every = flagged(frame), np.arange(int(np.prod(shape)))
    table = rows.groupby("pixel")[[*COUNTED]].sum().reindex(every, fill_value=0)
    done, ended, predicted = (
        rows[rows[name]].groupby("pixel") for name in ("done", "ended", "told")
    )
    table["margin"], table["least_margin"] = done["margin"].median(), done["margin"].min()
    for group, name, prefix in (
        (ended, "descents", ""),
        (predicted, "predicted_descents", "predicted_"),
    ):
        table[f"{prefix}swing_by"] = group[name].agg(
            lambda descents: (descents >= _SWING_BY).mean()
        )
        table[name] = group[name].mean()
    common = ended["descents"].agg(lambda descents: descents.mode().min())
    table["most_descents"] = common.reindex(every, fill_value=-1).astype(np.int64)
    measured = rows[rows["done"]]
    used = {*measured["predicted"].dropna(), *measured["observed"].dropna()}
    labels = (*map(str, Label), *sorted(used - set(map(str, Label))))

    def per_label(which: str) -> Integers:
        counted = measured.groupby(["pixel", which]).size().unstack(fill_value=0)
        counted = counted.reindex(index=every, columns=list(labels), fill_value=0)
        return counted.to_numpy(np.int64).reshape(*shape, len(labels))

    return Cells(table, shape, labels, per_label("predicted"), per_label("observed"))


@dataclass(frozen=True, eq=False)
class Diagram(Drawn):
    """The numbers of a phase diagram; its public name is :class:`swingby.PhaseDiagram`."""

    store: Path
    x: Axis
    y: Axis | None
    scattered: bool
    cells: Cells
    agreement: Agreement
    fixed: dict[str, str]
    pooled: dict[str, int]
    left_out: int
    frame: pd.DataFrame

    @classmethod
    def of(
        cls,
        frame: pd.DataFrame,
        design: SweepGrid | None,
        store: Path,
        x: str | None = None,
        y: str | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        bins: int | None = None,
    ) -> Self:
        """The diagram of the frame of a sweep; `design` is the grid, if it is known."""
        optional_whole(bins, "bins", 1, 1000)
        chosen = selected(frame, where)
        names = varying(chosen)
        across, up = _chosen_names(x, y, names, chosen)
        columns = [
            QuantityValues.of(chosen, column) for column in (across, up) if column is not None
        ]
        for argument, column in zip(("x", "y"), columns, strict=False):
            if len(chosen) and not column.values:
                offered = f"; these vary: {', '.join(names)}" if names else ""
                requirement = f"must have a value at some point of the sweep{offered}"
                raise InvalidInput(argument, column.quantity.name, requirement)
        there = np.all([column.index >= 0 for column in columns], axis=0)
        inside = chosen[there]
        columns = [
            QuantityValues(column.quantity, column.values, column.index[there])
            for column in columns
        ]
        axes, pixel, shape, binned = _pixels(columns[::-1], design, bins)
        inside = inside.assign(pixel=pixel)
        fixed_values = {
            column: value_text(asked_value(column, value))
            for column, value in (where or {}).items()
        }
        return cls(
            store=store,
            x=axes[-1],
            y=axes[0] if up is not None else None,
            scattered=len(shape) < len(axes),
            cells=_gather(inside, shape),
            agreement=Agreement.of(inside),
            fixed=_fixed(inside, {column.quantity.source for column in columns}) | fixed_values,
            pooled=_pooled(inside, binned),
            left_out=len(chosen) - len(inside),
            frame=inside,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the arrays of `cells`: (y, x), (x,), or (draws,)."""
        return self.cells.shape

    def median(self, name: str) -> Floats:
        """The median of any column of numbers over the points of every pixel that are done."""
        if name not in list(self.frame.select_dtypes(["number", "bool"]).columns):
            raise InvalidInput("name", name, "must be a column of numbers")
        done = self.frame[self.frame["status"] == "done"]
        medians = done[name].astype(float).groupby(done["pixel"]).median()
        every = np.arange(int(np.prod(self.shape)))
        return np.asarray(medians.reindex(every), dtype=np.float64).reshape(self.shape)

    def to_frame(self) -> Any:
        """The pixels as a table.

        Returns
        -------
        pandas.DataFrame
            One row per pixel: the exact values of the axes as text, counts, counts per label
            (``observed_trapped``), and numbers; see :class:`swingby.lab.sweeps.phases.Cells`.
        """
        across, up = list(self.x.values), None if self.y is None else list(self.y.values)
        if up is not None and not self.scattered:
            across, up = across * len(up), [value for value in up for _ in across]
        table = self.cells.table[[*COUNTED[:5]]].copy()
        table.insert(0, self.x.name, across)
        if self.y is not None:
            table.insert(1, self.y.name, up)
        for which in ("predicted", "observed"):
            for number, label in enumerate(self.cells.labels):
                counts = self.cells.counts(which)[..., number].ravel()
                if counts.any():
                    table[f"{which}_{label}"] = counts
        numbered = [name for name in _NUMBERS if name not in table]  # an axis may be one of them
        table[numbered] = self.cells.table[numbered]
        return table.reset_index(drop=True)

    def to_dict(self) -> dict[str, Any]:
        """The diagram as plain values, ready for JSON.

        Returns
        -------
        dict
            Of ``pixels``, one list per column of :meth:`to_frame`; inf as text, None for nothing.
        """
        return {
            "x": self.x.name,
            "y": None if self.y is None else self.y.name,
            "shape": list(self.shape),
            "scattered": self.scattered,
            "fixed": dict(self.fixed),
            "pooled": dict(self.pooled),
            "left_out": self.left_out,
            "decided": self.agreement.decided,
            "agreed": self.agreement.agreed,
            "interval": [*self.agreement.interval],
            "pixels": {
                name: [json_value(value) for value in values.tolist()]
                for name, values in self.to_frame().items()
            },
        }

    def to_grid(self) -> Grid:
        """The counts behind the picture: predicted labels down, observed labels across."""
        above = [f"{name}: {axis.line()}" for name, axis in (("x", self.x), ("y", self.y)) if axis]
        if self.fixed:
            above.append(", ".join(f"{name} = {value}" for name, value in self.fixed.items()))
        if self.pooled:
            above.append(f"pooled: {pooled_text(self.pooled)}")
        below = self.agreement.lines()
        clear = int((self.cells.margin > 1).sum())
        pixels = int((~np.isnan(self.cells.margin)).sum())
        below.append(f"median margin above 1: {clear} of {pixels} pixels")
        ended = int(self.cells.ended.sum())
        if ended:
            swings = round(float(np.nansum(self.cells.swing_by * self.cells.ended)))
            below.append(f"two descents or more: {swings} of {ended} runs that ended")
        if self.left_out:
            below.append(f"{self.left_out} points lie outside these axes")
        return self.agreement.confusion(f"Phase diagram of {self.store.name}", above, below)

    def __repr__(self) -> str:
        over = self.x.name if self.y is None else f"{self.x.name}, {self.y.name}"
        size = " x ".join(map(str, reversed(self.shape)))
        return f"<PhaseDiagram over {over}: {size} pixels, {self.agreement.done} points done>"


def pooled_text(pooled: Mapping[str, int], symbols: Mapping[str, str] | None = None) -> str:
    """The quantities that the points of a pixel differ in, in words.

    >>> pooled_text({"eta": 2, "seed": 10})
    '2 eta, 10 seeds'
    """
    plural = {"seed": "seeds", "signal": "tasks", "steps": "numbers of steps"}
    written = {**(symbols or {}), **plural, "dynamics": "dynamics"}
    return ", ".join(f"{count} {written.get(name, name)}" for name, count in pooled.items())


# The way from the columns of a frame to axes and pixels


def _chosen_names(
    x: str | None, y: str | None, varying: dict[str, int], columns: pd.DataFrame
) -> tuple[Quantity, Quantity | None]:
    """The quantities of the two axes; None for y if nothing else varies.

    Where a name is not given, the first that varies and is of another family than the other axis.
    """
    across, up = (
        None if name is None else known_quantity(name, argument, columns, varying)
        for argument, name in (("x", x), ("y", y))
    )
    if across is not None and up is not None and across.name == up.name:
        raise InvalidInput("y", y, "must be another quantity than x")

    def beside(axis: Quantity | None) -> Quantity | None:
        family = None if axis is None else varying.get(axis.name)
        apart = (
            name
            for name in varying
            if (axis is None or name != axis.name) and varying[name] != family
        )
        return quantity(next(apart, None))

    across = across or beside(up) or quantity("eta" if up and up.name == "omega" else "omega")
    assert across is not None
    return across, up or beside(across)


def _pixels(
    columns: list[QuantityValues], grid: SweepGrid | None, bins: int | None
) -> tuple[list[Axis], Integers, tuple[int, ...], set[str]]:
    """The axes, the pixel of every row, the shape of the pixels, and the columns in bins.

    Of lists there is a pixel per pair of values; draws have one each, or go into bins.
    """
    drawn = [_is_drawn(column, columns, grid) for column in columns]
    distinct, pixel = np.unique(
        np.stack([column.index for column in columns]), axis=1, return_inverse=True
    )
    count = distinct.shape[1]
    if len(columns) == 2 and all(drawn) and bins is None and count <= MOST_DRAWS:
        fine = [axis_of(column.quantity, column.values, even=False) for column in columns]
        axes = [axis.of_draws(index) for axis, index in zip(fine, distinct, strict=True)]
        return axes, pixel.ravel(), (count,), set()
    per_axis = (count / _PER_BIN) ** (1 / max(sum(drawn), 1))
    number = bins or int(min(max(per_axis, _FEWEST_BINS), _MOST_BINS))
    axes, indices, binned = [], [], set()
    for column, is_free in zip(columns, drawn, strict=True):
        if is_free and column.exact is not None and len(column.values) > 1:
            axis, bin_of = bins_of(column.quantity, column.exact, number)
            index = bin_of[column.index]
        else:
            axis, index = axis_of(column.quantity, column.values), column.index
        axes.append(axis)
        indices.append(index)
        if len(axis) < len(column.values):
            binned.add(column.quantity.source)
    shape = tuple(map(len, axes))
    pixel = np.ravel_multi_index(tuple(indices), shape) if count else indices[0]
    return axes, pixel, shape, binned


def _is_drawn(
    column: QuantityValues, columns: list[QuantityValues], grid: SweepGrid | None
) -> bool:
    """True for a quantity with hardly a value twice, which makes no columns of pixels."""
    if column.exact is None:
        return False
    name, source = column.quantity.name, column.quantity.source
    measured = source not in SOURCES.values()
    if grid is not None and grid.design == "random" and not measured:
        axes = ("signal", "mu", "sigma") if source == "task" else (source,)
        ranges = any(isinstance(getattr(grid, axis, None), Range) for axis in axes)
        return ranges and name not in ("width", "dimension")
    if len(column.values) <= _MOST_VALUES:
        return False
    pairs = np.unique(np.stack([beside.index for beside in columns]), axis=1).shape[1]
    several = len(columns) == 2 and 2 * pairs < math.prod(len(beside.values) for beside in columns)
    return measured or several


def _fixed(inside: pd.DataFrame, shown: set[str]) -> dict[str, str]:
    """The quantities that have the same value at all points and are on no axis."""
    fixed = {}
    for name, source in SOURCES.items():
        values, member = inside[source].unique(), quantity(name)
        if len(values) == 1 and member is not None and source not in shown:
            value = member.read(values[0])
            if value is not None:
                fixed[name] = value_text(value)
    return fixed


def _pooled(inside: pd.DataFrame, binned: set[str]) -> dict[str, int]:
    """The quantities that differ between points of a pixel, and how many values they have."""
    pooled = {}
    for name, source in SOURCES.items():
        number = inside[source].nunique(dropna=False)
        if source in binned or number < 2:
            continue
        pairs = inside[["pixel", source]].drop_duplicates()
        if len(pairs) > pairs["pixel"].nunique():
            pooled[name] = int(number)
    return pooled
