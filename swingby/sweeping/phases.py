"""PhaseDiagram: predicted and observed labels over two quantities of a sweep."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.report import Grid
from swingby.sweeping.cells import (
    Agreement,
    Axis,
    Pixels,
    axis_of,
    bins_of,
    gather,
    json_value,
    pooled_text,
)
from swingby.sweeping.frame import (
    PARTS,
    Column,
    Quantity,
    asked_value,
    column,
    known,
    quantity,
    selected,
    value_text,
    varying,
)
from swingby.sweeping.grid import Range, SweepGrid, optional_whole

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from swingby.report.pictures import Size

    Whole = NDArray[np.int64]

#: Draws of a random design that a picture shows one by one; more of them go into bins.
MOST_DRAWS = 2_000
#: More values than a list has as a rule: of them, pairs that mostly do not occur are draws.
MOST_VALUES = 100
#: Draws that a bin holds on average, and how many bins an axis has at least and at most.
PER_BIN, FEWEST_BINS, MOST_BINS = 12, 5, 60
#: Columns of the table of pixels, beside the labels.
_COUNTS = ["done", "failed", "missing", "decided", "agreed"]
_NUMBERS = [
    *("margin", "least_margin", "swing_by", "descents", "most_descents"),
    *("predicted_swing_by", "predicted_descents"),
]


@dataclass(frozen=True, eq=False)
class PhaseDiagram(Pixels):
    """What was predicted and observed per pixel. Made by ``SweepResult.phase_diagram``.

    Parameters
    ----------
    store : Path
    x : Axis
    y : Axis or None
        None for a diagram over one quantity.
    scattered : bool
        Whether every draw of a random design is a pixel of its own: then the axes have one value
        per draw. Otherwise the pixels are all pairs of their values.
    cells : Cells
        Arrays of shape (y, x); (x,) without y; (draws,) where scattered.
    agreement : Agreement
        Over all points shown.
    fixed : dict from str to str
        What has one value at all points, or was asked for.
    pooled : dict from str to int
        What differs between points of one pixel, and how many values it has: the seeds, and
        every quantity that is neither shown nor fixed.
    left_out : int
        Points at which one of the two quantities does not exist, as a_3 with two concepts.
    frame : pandas.DataFrame
        The points, with the number of their `pixel`.
    """

    def plot(self, panels: Sequence[str] | None = None, *, size: Size = None) -> Figure:
        """Draw the diagram, a panel for each question.

        Parameters
        ----------
        panels : sequence of str, optional
            Of ``predicted``, ``observed``: the majority label of every pixel, paler where seeds
            differ; ``disagreement``: share of the decided points not observed as predicted;
            ``margin``: the median, with a line around the pixels where it is above 1;
            ``swing_by``, ``descents``: observed; ``predicted_swing_by``,
            ``predicted_descents``: where the law tells them; ``trapped``, ``diverged``: share of
            the observed labels; any other column of numbers: its median. Default: those that the
            rows have numbers for, without ``trapped`` and ``diverged``; of these, with a size,
            as many as there is room for.
        size : str or (float, float), optional
            ``"column"`` or ``"text"`` of a paper, or width and height in inches: no line above
            the panels says what is fixed.

        Returns
        -------
        matplotlib.figure.Figure
            Made without pyplot. Pixels without points are white, failed ones grey.

        Raises
        ------
        InvalidInput
            For an unknown panel, a size that is none, or more panels than it has room for.
        """
        from swingby.sweeping.picture import phase_figure

        return phase_figure(self, panels, size)

    def save_picture(self, path: str | Path, panels: Sequence[str] | None = None) -> None:
        """Draw the diagram into a file.

        Parameters
        ----------
        path : str or Path
            Ending in png, pdf or svg. The file appears complete or not at all.
        panels : sequence of str, optional
            See :meth:`plot`.

        Raises
        ------
        InvalidInput
            If the path cannot be written or has another ending.
        """
        from swingby.report.pictures import save_figure

        save_figure(lambda: self.plot(panels), path)

    def to_frame(self) -> Any:
        """The pixels as a table.

        Returns
        -------
        pandas.DataFrame
            One row per pixel: the exact values of the axes as text, counts, counts per label
            (``observed_trapped``), and numbers; see :class:`swingby.sweeping.cells.Cells`.
        """
        across, up = list(self.x.values), None if self.y is None else list(self.y.values)
        if up is not None and not self.scattered:
            across, up = across * len(up), [value for value in up for _ in across]
        found = self.cells.table[_COUNTS].copy()
        found.insert(0, self.x.name, across)
        if self.y is not None:
            found.insert(1, self.y.name, up)
        for which in ("predicted", "observed"):
            for place, label in enumerate(self.cells.labels):
                counts = self.cells.counts(which)[..., place].ravel()
                if counts.any():
                    found[f"{which}_{label}"] = counts
        found[_NUMBERS] = self.cells.table[_NUMBERS]
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
        above = [_axis_line(name, axis) for name, axis in (("x", self.x), ("y", self.y)) if axis]
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
        return self.agreement.to_grid(f"Phase diagram of {self.store.name}", above, below)

    def __repr__(self) -> str:
        over = self.x.name if self.y is None else f"{self.x.name}, {self.y.name}"
        size = " x ".join(map(str, reversed(self.shape)))
        return f"<PhaseDiagram over {over}: {size} pixels, {self.agreement.done} points done>"


def _axis_line(name: str, axis: Axis) -> str:
    values = list(dict.fromkeys(axis.values))
    if len(values) <= 4:
        return f"{name}: {axis.name} = {', '.join(values)}"
    order = np.argsort(axis.places)
    ends = axis.values[order[0]], axis.values[order[-1]]
    return f"{name}: {axis.name}, {len(values)} values from {ends[0]} to {ends[1]}"


# The way from the frame of a sweep to its pixels


def phase_diagram(
    frame: pd.DataFrame,
    design: SweepGrid | None,
    store: Path,
    x: str | None = None,
    y: str | None = None,
    *,
    where: Mapping[str, Any] | None = None,
    bins: int | None = None,
) -> PhaseDiagram:
    """What was predicted and observed over two quantities; `design` is the grid, where known."""
    optional_whole(bins, "bins", 1, 1000)
    chosen = selected(frame, where)
    if len(frame) and not len(chosen):
        shown = ", ".join(f"{name} = {value}" for name, value in (where or {}).items())
        raise InvalidInput("where", shown, "must leave points of the sweep")
    names = varying(chosen)
    across, up = _chosen_names(x, y, names, chosen)
    columns = [column(chosen, one) for one in (across, up) if one is not None]
    for argument, one in zip(("x", "y"), columns, strict=False):
        if len(chosen) and not one.values:
            offered = f"; these vary: {', '.join(names)}" if names else ""
            requirement = f"must have a value at some point of the sweep{offered}"
            raise InvalidInput(argument, one.quantity.name, requirement)
    there = np.all([one.index >= 0 for one in columns], axis=0)
    inside = chosen[there]
    columns = [Column(one.quantity, one.values, one.index[there]) for one in columns]
    pixels = _Pixels(columns[::-1], design, bins)
    inside = inside.assign(pixel=pixels.cell)
    asked = {name: value_text(asked_value(name, value)) for name, value in (where or {}).items()}
    return PhaseDiagram(
        store=store,
        x=pixels.axes[-1],
        y=pixels.axes[0] if up is not None else None,
        scattered=pixels.scattered,
        cells=gather(inside, pixels.shape),
        agreement=Agreement.of(inside),
        fixed=_fixed(inside, {one.quantity.part for one in columns}) | asked,
        pooled=_pooled(inside, pixels.binned),
        left_out=len(chosen) - len(inside),
        frame=inside,
    )


def _chosen_names(
    x: str | None, y: str | None, varying: dict[str, int], columns: pd.DataFrame
) -> tuple[Quantity, Quantity | None]:
    """The quantities of the two axes.

    Where a name is not given, the first quantity that varies and is of another family than the
    other axis; None for y where there is none.
    """
    given = {argument: name for argument, name in (("x", x), ("y", y)) if name is not None}
    found = {name: known(value, name, columns, varying) for name, value in given.items()}
    if len(found) == 2 and found["x"].name == found["y"].name:
        raise InvalidInput("y", y, "must be another quantity than x")

    def taken(name: str) -> bool:
        return any(
            one.name == name or varying.get(one.name, -1) == varying[name] for one in found.values()
        )

    for argument in ("x", "y"):
        if argument not in found:
            free = next((name for name in varying if not taken(name)), None)
            if free is None and argument == "x":
                free = "omega" if "y" not in found or found["y"].name != "omega" else "eta"
            one = quantity(free)
            if one is not None:
                found[argument] = one
    return found["x"], found.get("y")


def _spacing(one: Quantity, grid: SweepGrid | None) -> str | None:
    """How the values of a quantity were drawn, linear or log; entries go by their vector."""
    if grid is None or grid.design != "random" or one.name == "dimension":
        return None
    if one.part not in ("task", "omega", "eta", "width"):
        return None
    names = ("signal", "mu", "sigma") if one.part == "task" else (one.part,)
    ranges = [axis for name in names if isinstance(axis := getattr(grid, name), Range)]
    if not ranges:
        return None
    return "log" if "/" in one.name or any(axis.spacing == "log" for axis in ranges) else "linear"


class _Pixels:
    """The pixel of every row: of lists one per pair of values, of draws one each, or bins."""

    def __init__(self, columns: list[Column], grid: SweepGrid | None, bins: int | None) -> None:
        drawn = [_is_drawn(one, columns, grid) for one in columns]
        sizes = tuple(len(one.values) for one in columns)
        pairs = tuple(one.index for one in columns)
        flat = np.ravel_multi_index(pairs, sizes) if len(pairs[0]) else pairs[0]
        distinct, place = np.unique(flat, return_inverse=True)
        self.binned: set[str] = set()
        self.scattered = (
            len(columns) == 2 and all(drawn) and bins is None and len(distinct) <= MOST_DRAWS
        )
        if self.scattered:
            where = np.unravel_index(distinct, sizes) if len(distinct) else pairs
            self.cell = place
            self.shape: tuple[int, ...] = (len(distinct),)
            self.axes = [
                _of_draws(one, index, grid) for one, index in zip(columns, where, strict=True)
            ]
            return
        number = bins or _bins(len(distinct), sum(drawn))
        self.axes, indices = [], []
        for one, free in zip(columns, drawn, strict=True):
            axis, index = _of_values(one, grid, number if free else None)
            self.axes.append(axis)
            indices.append(index)
            if len(axis) < len(one.values):
                self.binned.add(one.quantity.part)
        self.shape = tuple(map(len, self.axes))
        self.cell = np.ravel_multi_index(tuple(indices), self.shape) if len(pairs[0]) else pairs[0]


def _is_drawn(one: Column, columns: list[Column], grid: SweepGrid | None) -> bool:
    """Whether a quantity has hardly a value twice, so that it makes no columns of pixels."""
    if one.exact is None:
        return False
    measured = one.quantity.part not in PARTS.values()
    if grid is not None and grid.design == "random" and not measured:
        return _spacing(one.quantity, grid) is not None and one.quantity.part != "width"
    if len(one.values) <= MOST_VALUES:
        return False
    pairs = np.unique(np.stack([other.index for other in columns]), axis=1).shape[1]
    several = len(columns) == 2 and 2 * pairs < math.prod(len(other.values) for other in columns)
    return measured or several


def _bins(pairs: int, drawn: int) -> int:
    per_axis = (pairs / PER_BIN) ** (1 / max(drawn, 1))
    return int(min(max(per_axis, FEWEST_BINS), MOST_BINS))


def _of_values(one: Column, grid: SweepGrid | None, bins: int | None) -> tuple[Axis, Whole]:
    """An axis of the values, or of bins, and which of its pixels each row is in."""
    spacing, exact = _spacing(one.quantity, grid), one.exact
    if not one.values:
        return Axis(one.quantity.name, one.quantity.symbol, (), (), "ordered", (0.0,)), one.index
    if bins is None or exact is None or len(exact) == 1:
        return axis_of(one.quantity, one.values, spacing), one.index
    axis = bins_of(one.quantity, exact, bins, "linear" if min(exact) <= 0 else spacing)
    places = axis_of(one.quantity, one.values, axis.scale, even=False).places
    bin_of = np.clip(np.searchsorted(axis.edges, places, side="right") - 1, 0, bins - 1)
    return axis, bin_of[one.index]


def _of_draws(one: Column, index: Whole, grid: SweepGrid | None) -> Axis:
    """An axis with one value per draw, in the order of the draws."""
    exact = one.exact
    spacing = "linear" if exact is not None and min(exact) <= 0 else _spacing(one.quantity, grid)
    whole = axis_of(one.quantity, one.values, spacing, even=False)
    values = tuple(whole.values[place] for place in index)
    places = tuple(whole.places[place] for place in index)
    return Axis(whole.name, whole.symbol, values, places, whole.scale, ())


def _fixed(inside: pd.DataFrame, shown: set[str]) -> dict[str, str]:
    """What has one value at all points and is not shown on an axis."""
    found = {}
    for name, part in PARTS.items():
        values, one = inside[part].unique(), quantity(name)
        if len(values) == 1 and one is not None and part not in shown:
            value = one.read(values[0])
            if value is not None:
                found[name] = value_text(value)
    return found


def _pooled(inside: pd.DataFrame, binned: set[str]) -> dict[str, int]:
    """What differs between points of one pixel, and how many values it has."""
    found = {}
    for name, part in PARTS.items():
        number = inside[part].nunique(dropna=False)
        if part in binned or number < 2:
            continue
        pairs = inside[["pixel", part]].drop_duplicates()
        if len(pairs) > pairs["pixel"].nunique():
            found[name] = int(number)
    return found
