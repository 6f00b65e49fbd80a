"""What was predicted and observed over two quantities of a sweep: axes, pixels, their numbers.

The picture of a diagram is drawn in :mod:`swingby.lab.sweeps.phase_diagram`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from swingby.errors import InvalidInput
from swingby.lab.sweeps.agreement import COUNTED, Agreement, flagged, json_value
from swingby.lab.sweeps.grid import Range, SweepGrid, optional_whole
from swingby.lab.sweeps.label import Label
from swingby.lab.sweeps.quantity import (
    SOURCES,
    Quantity,
    QuantityValues,
    Value,
    asked_value,
    known_quantity,
    log10_of,
    quantity,
    selected,
    value_text,
    varying,
)
from swingby.report import Drawn, Grid
from swingby.theory import numbers
from swingby.theory.numbers import Floats, Integers

if TYPE_CHECKING:
    import pandas as pd

#: A swing-by shows as a second descent of the loss, if not as more.
SWING_BY = 2
#: Draws of a random design that a picture shows one by one; more of them go into bins.
MOST_DRAWS = 2_000
#: More values than a list has as a rule: of them, pairs that mostly do not occur are draws.
MOST_VALUES = 100
#: Draws that a bin holds on average, and how many bins an axis has at least and at most.
PER_BIN, FEWEST_BINS, MOST_BINS = 12, 5, 60
#: A pixel narrower than this share of the mean makes an axis one of equal pixels.
NARROWEST = 0.25
#: Numbers in the table of pixels, behind the counts and the labels.
_NUMBERS = [
    *("margin", "least_margin", "swing_by", "descents", "most_descents"),
    *("predicted_swing_by", "predicted_descents"),
]


# Axes: where values stand, exact and also far below the float range


@dataclass(frozen=True)
class Axis:
    """Values in ascending order, one pixel each.

    `values` are exact text (of bins: their two ends to four digits), `places` where they stand: the
    value itself, its log10, or its number, as `scale` says: ``linear``, ``log``, or ``ordered`` for
    names, and for values so uneven that their pixels would not be seen. `edges` of the pixels are
    one more than values; a diagram of draws has none.
    """

    name: str
    symbol: str
    values: tuple[str, ...]
    places: tuple[float, ...]
    scale: str
    edges: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.values)

    def of_draws(self, index: Integers) -> Axis:
        """The axis with one value per draw, in the order of the draws."""
        values, places = (tuple(one[k] for k in index) for one in (self.values, self.places))
        return replace(self, values=values, places=places, edges=())

    def line(self) -> str:
        """The name and the values, or their ends, for a table."""
        values = dict(sorted(zip(self.places, self.values, strict=True))).values()
        if len(values) <= 4:
            return f"{self.name} = {', '.join(values)}"
        low, *_, high = values
        return f"{self.name}, {len(values)} values from {low} to {high}"


def axis_of(quantity: Quantity, values: Sequence[Value], *, even: bool = True) -> Axis:
    """The axis of distinct values in order; on a logarithmic one they may lie far below floats.

    `even`: values that are too uneven for pixels become an axis of equal pixels.

    >>> from swingby.lab.sweeps.quantity import quantity
    >>> found = axis_of(quantity("omega"), [Fraction(1, 10**k) for k in (3, 2, 1)])
    >>> found.values, found.scale, found.places
    (('0.001', '0.01', '0.1'), 'log', (-3.0, -2.0, -1.0))
    >>> found.edges
    (-3.5, -2.5, -1.5, -0.5)
    """
    exact = [value for value in values if isinstance(value, Fraction)]
    numbered = tuple(map(float, range(len(values))))
    scale, places = "ordered", numbered
    if exact and len(exact) == len(values):
        scale, found = _placed(exact)
        places = tuple(found.tolist())
        widths = np.diff(_edges(places))
        if even and len(places) > 1 and widths.min() < NARROWEST * widths.mean():
            scale, places = "ordered", numbered
    texts = tuple(map(value_text, values))
    return Axis(quantity.name, quantity.symbol, texts, places, scale, _edges(places))


def bins_of(quantity: Quantity, values: Sequence[Fraction], count: int) -> tuple[Axis, Integers]:
    """An axis of bins of equal width that hold all values, and the bin of each value."""
    scale, places = _placed(values)
    edges = np.linspace(places.min(), places.max(), count + 1)
    texts = [numbers.scientific_log10(one) if scale == "log" else f"{one:.4g}" for one in edges]
    names = tuple(f"{low} to {high}" for low, high in pairwise(texts))
    middle = tuple(((edges[:-1] + edges[1:]) / 2).tolist())
    axis = Axis(quantity.name, quantity.symbol, names, middle, scale, tuple(edges.tolist()))
    return axis, np.clip(np.searchsorted(edges, places, side="right") - 1, 0, count - 1)


def _placed(values: Sequence[Fraction]) -> tuple[str, Floats]:
    """Log or linear, whichever has the more even steps, and where the values stand on it.

    A logarithmic axis goes beyond the float range.
    """
    low, high = min(values), max(values)
    if low <= 0:
        return "linear", np.array(values, dtype=float)
    logarithms = np.array([log10_of(value) for value in values])
    if len(values) < 3 or low < Fraction(1, 10**300) or high > 10**300:
        return "log", logarithms
    linear = np.array(values, dtype=float)
    curved, straight = (
        np.std(steps / steps.max()) / np.mean(steps / steps.max())
        for steps in (np.diff(logarithms), np.diff(linear))
    )
    return ("log", logarithms) if curved < straight else ("linear", linear)


def _edges(places: Sequence[float]) -> tuple[float, ...]:
    """Half-way between neighbours; the outermost pixels reach as far out as in."""
    if len(places) < 2:
        return tuple(place + half for place in places for half in (-0.5, 0.5)) or (0.0,)
    middle = [(low + high) / 2 for low, high in pairwise(places)]
    return (2 * places[0] - middle[0], *middle, 2 * places[-1] - middle[-1])


# Pixels


@dataclass(frozen=True, eq=False)
class Cells(numbers.ReadOnly):
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
        found = self.table[name].to_numpy().reshape(self.shape)
        found.setflags(write=False)
        return found

    @property
    def disagreement(self) -> Floats:
        """Share of the decided points not observed as predicted; nan where none is decided."""
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


def gather(frame: pd.DataFrame, shape: tuple[int, ...]) -> Cells:
    """The pixels of a frame whose column `pixel` has the number of each row's, in C order."""
    rows, every = flagged(frame), np.arange(int(np.prod(shape)))
    table = rows.groupby("pixel")[[*COUNTED]].sum().reindex(every, fill_value=0)
    done, ended, told = (rows[rows[name]].groupby("pixel") for name in ("done", "ended", "told"))
    table["margin"], table["least_margin"] = done["margin"].median(), done["margin"].min()
    for found, name, prefix in (
        (ended, "descents", ""),
        (told, "predicted_descents", "predicted_"),
    ):
        table[f"{prefix}swing_by"] = found[name].agg(lambda one: (one >= SWING_BY).mean())
        table[name] = found[name].mean()
    most = ended["descents"].agg(lambda one: one.mode().min())
    table["most_descents"] = most.reindex(every, fill_value=-1).astype(np.int64)
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
        """The diagram of the frame of a sweep; `design` is the grid, where known."""
        optional_whole(bins, "bins", 1, 1000)
        chosen = selected(frame, where)
        names = varying(chosen)
        across, up = _chosen_names(x, y, names, chosen)
        columns = [QuantityValues.of(chosen, one) for one in (across, up) if one is not None]
        for argument, one in zip(("x", "y"), columns, strict=False):
            if len(chosen) and not one.values:
                offered = f"; these vary: {', '.join(names)}" if names else ""
                requirement = f"must have a value at some point of the sweep{offered}"
                raise InvalidInput(argument, one.quantity.name, requirement)
        there = np.all([one.index >= 0 for one in columns], axis=0)
        inside = chosen[there]
        columns = [QuantityValues(one.quantity, one.values, one.index[there]) for one in columns]
        axes, pixel, shape, binned = _pixels(columns[::-1], design, bins)
        inside = inside.assign(pixel=pixel)
        asked = {one: value_text(asked_value(one, value)) for one, value in (where or {}).items()}
        return cls(
            store=store,
            x=axes[-1],
            y=axes[0] if up is not None else None,
            scattered=len(shape) < len(axes),
            cells=gather(inside, shape),
            agreement=Agreement.of(inside),
            fixed=_fixed(inside, {one.quantity.source for one in columns}) | asked,
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
        found = done[name].astype(float).groupby(done["pixel"]).median()
        every = np.arange(int(np.prod(self.shape)))
        return np.asarray(found.reindex(every), dtype=np.float64).reshape(self.shape)

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
        found = self.cells.table[[*COUNTED[:5]]].copy()
        found.insert(0, self.x.name, across)
        if self.y is not None:
            found.insert(1, self.y.name, up)
        for which in ("predicted", "observed"):
            for place, label in enumerate(self.cells.labels):
                counts = self.cells.counts(which)[..., place].ravel()
                if counts.any():
                    found[f"{which}_{label}"] = counts
        numbered = [name for name in _NUMBERS if name not in found]  # an axis may be one of them
        found[numbered] = self.cells.table[numbered]
        return found.reset_index(drop=True)

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
            seen = round(float(np.nansum(self.cells.swing_by * self.cells.ended)))
            below.append(f"two descents or more: {seen} of {ended} runs that ended")
        if self.left_out:
            below.append(f"{self.left_out} points have no place on these axes")
        return self.agreement.confusion(f"Phase diagram of {self.store.name}", above, below)

    def __repr__(self) -> str:
        over = self.x.name if self.y is None else f"{self.x.name}, {self.y.name}"
        size = " x ".join(map(str, reversed(self.shape)))
        return f"<PhaseDiagram over {over}: {size} pixels, {self.agreement.done} points done>"


def pooled_text(pooled: Mapping[str, int], symbols: Mapping[str, str] | None = None) -> str:
    """What the points of one pixel differ in, in words.

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
    """The quantities of the two axes; None for y where nothing else varies.

    Where a name is not given, the first that varies and is of another family than the other axis.
    """
    given = [
        None if name is None else known_quantity(name, argument, columns, varying)
        for argument, name in (("x", x), ("y", y))
    ]
    across, up = given
    if across is not None and up is not None and across.name == up.name:
        raise InvalidInput("y", y, "must be another quantity than x")

    def beside(one: Quantity | None) -> Quantity | None:
        taken = None if one is None else one.name
        family = varying.get(taken) if taken else None
        others = (name for name in varying if name != taken and varying[name] != family)
        return quantity(next(others, None))

    across = across or beside(up) or quantity("eta" if up and up.name == "omega" else "omega")
    assert across is not None
    return across, up or beside(across)


def _pixels(
    columns: list[QuantityValues], grid: SweepGrid | None, bins: int | None
) -> tuple[list[Axis], Integers, tuple[int, ...], set[str]]:
    """Axes, the pixel of every row, the shape of the pixels, and what is in bins.

    Of lists there is a pixel per pair of values; draws have one each, or go into bins.
    """
    drawn = [_is_drawn(one, columns, grid) for one in columns]
    distinct, pixel = np.unique(
        np.stack([one.index for one in columns]), axis=1, return_inverse=True
    )
    count = distinct.shape[1]
    if len(columns) == 2 and all(drawn) and bins is None and count <= MOST_DRAWS:
        whole = [axis_of(one.quantity, one.values, even=False) for one in columns]
        axes = [axis.of_draws(index) for axis, index in zip(whole, distinct, strict=True)]
        return axes, pixel.ravel(), (count,), set()
    per_axis = (count / PER_BIN) ** (1 / max(sum(drawn), 1))
    number = bins or int(min(max(per_axis, FEWEST_BINS), MOST_BINS))
    axes, indices, binned = [], [], set()
    for one, free in zip(columns, drawn, strict=True):
        if free and one.exact is not None and len(one.values) > 1:
            axis, bin_of = bins_of(one.quantity, one.exact, number)
            index = bin_of[one.index]
        else:
            axis, index = axis_of(one.quantity, one.values), one.index
        axes.append(axis)
        indices.append(index)
        if len(axis) < len(one.values):
            binned.add(one.quantity.source)
    shape = tuple(map(len, axes))
    pixel = np.ravel_multi_index(tuple(indices), shape) if count else indices[0]
    return axes, pixel, shape, binned


def _is_drawn(one: QuantityValues, columns: list[QuantityValues], grid: SweepGrid | None) -> bool:
    """Whether a quantity has hardly a value twice, so that it makes no columns of pixels."""
    if one.exact is None:
        return False
    name, part = one.quantity.name, one.quantity.source
    measured = part not in SOURCES.values()
    if grid is not None and grid.design == "random" and not measured:
        axes = ("signal", "mu", "sigma") if part == "task" else (part,)
        ranges = any(isinstance(getattr(grid, axis, None), Range) for axis in axes)
        return ranges and name not in ("width", "dimension")
    if len(one.values) <= MOST_VALUES:
        return False
    pairs = np.unique(np.stack([other.index for other in columns]), axis=1).shape[1]
    several = len(columns) == 2 and 2 * pairs < math.prod(len(other.values) for other in columns)
    return measured or several


def _fixed(inside: pd.DataFrame, shown: set[str]) -> dict[str, str]:
    """What has one value at all points and is not shown on an axis."""
    found = {}
    for name, part in SOURCES.items():
        values, one = inside[part].unique(), quantity(name)
        if len(values) == 1 and one is not None and part not in shown:
            value = one.read(values[0])
            if value is not None:
                found[name] = value_text(value)
    return found


def _pooled(inside: pd.DataFrame, binned: set[str]) -> dict[str, int]:
    """What differs between points of one pixel, and how many values it has."""
    found = {}
    for name, part in SOURCES.items():
        number = inside[part].nunique(dropna=False)
        if part in binned or number < 2:
            continue
        pairs = inside[["pixel", part]].drop_duplicates()
        if len(pairs) > pairs["pixel"].nunique():
            found[name] = int(number)
    return found
