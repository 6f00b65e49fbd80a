"""Axes and pixels of a phase diagram: exact values, their ticks, and counts of the points."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.report import Drawn, Grid
from swingby.sweeping.frame import Quantity, Value, value_text
from swingby.sweeping.point import Label
from swingby.theory import numbers

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    Whole = NDArray[np.int64]
    Floats = NDArray[np.float64]

#: A pixel narrower than this share of the mean makes an axis one of equal pixels.
NARROWEST = 0.25
#: Two values that differ by this factor stand on a logarithmic axis.
DECADE = 10
#: A swing-by shows as a second descent of the loss, if not as more.
SWING_BY = 2


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


def axis_of(
    quantity: Quantity, values: Sequence[Value], spacing: str | None = None, *, even: bool = True
) -> Axis:
    """The axis of distinct values in order; on a logarithmic one they may lie far below floats.

    `spacing` says how they were drawn, by default the more even one is taken; `even`: values that
    are too uneven for pixels become an axis of equal pixels.

    Examples
    --------
    >>> from swingby.sweeping.frame import quantity
    >>> found = axis_of(quantity("omega"), [Fraction(1, 100), Fraction(1, 10)])
    >>> found.values, found.scale, found.places, found.edges
    (('0.01', '0.1'), 'log', (-2.0, -1.0), (-2.5, -1.5, -0.5))
    """
    texts = tuple(map(value_text, values))
    exact = [value for value in values if isinstance(value, Fraction)]
    scale = "ordered" if len(exact) < len(values) else (spacing or _scale(exact))
    places = tuple(range(len(values))) if scale == "ordered" else _places(exact, scale)
    if even and len(places) > 1 and scale != "ordered":
        widths = np.diff(_edges(places))
        if widths.min() < NARROWEST * widths.mean():
            scale, places = "ordered", tuple(range(len(values)))
    places = tuple(map(float, places))
    return Axis(quantity.name, quantity.symbol, texts, places, scale, _edges(places))


def bins_of(
    quantity: Quantity, values: Sequence[Fraction], count: int, spacing: str | None
) -> Axis:
    """An axis of bins of equal width that hold all values."""
    scale = spacing or _scale(values)
    ends = _places([min(values), max(values)], scale)
    edges = np.linspace(ends[0], ends[1], count + 1)
    texts = [numbers.scientific_log10(one) if scale == "log" else f"{one:.4g}" for one in edges]
    return Axis(
        name=quantity.name,
        symbol=quantity.symbol,
        values=tuple(f"{low} to {high}" for low, high in pairwise(texts)),
        places=tuple(((edges[:-1] + edges[1:]) / 2).tolist()),
        scale=scale,
        edges=tuple(edges.tolist()),
    )


def _places(values: Sequence[Fraction], scale: str) -> tuple[float, ...]:
    """Values as floats, or their log10, to 12 digits so that powers of ten are whole."""
    if scale == "log":
        return tuple(round(numbers.log_of(value) / math.log(10), 12) for value in values)
    return tuple(map(float, values))


def _scale(values: Sequence[Fraction]) -> str:
    """Linear or log, whichever has the more even steps; log where floats would not do."""
    low, high = min(values), max(values)
    if low <= 0 or low == high:
        return "linear" if low <= 0 or 1e-4 <= low <= 1e6 else "log"
    if low < Fraction(1, 10**300) or high > 10**300:
        return "log"
    if len(values) == 2:
        return "log" if high >= DECADE * low else "linear"
    steps = [np.diff(_places(values, scale)) for scale in ("linear", "log")]
    straight, curved = (float(one.max() / max(one.min(), 1e-300)) for one in steps)
    return "log" if curved < straight else "linear"


def _edges(places: Sequence[float]) -> tuple[float, ...]:
    """Half-way between neighbours; the outermost pixels reach as far out as in."""
    if len(places) == 1:
        return (places[0] - 0.5, places[0] + 0.5)
    middle = [(low + high) / 2 for low, high in pairwise(places)]
    first, last = 2 * places[0] - middle[0], 2 * places[-1] - middle[-1]
    return (first, *middle, last)


# Ticks: few, exact, and never on top of each other

#: As many values as all get a tick, if there is room.
FEW = 8
#: Ticks of an axis with more values, and decades above which only powers of ten are ticks.
TICKS, DECADES = 5, 2.5
#: Leading digits of round numbers, from many to few.
LEADING = ((1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8), (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))
#: Room of a character, and between ticks, as shares of an axis across; of a line, of one up.
CHARACTER, GAP, LINE = 0.034, 0.03, 0.07
#: Characters of a tick at most.
LONGEST = 24


def apart(
    ticks: Iterable[tuple[float, str]], span: float, *, across: bool
) -> list[tuple[float, str]]:
    """Ascending ticks without those that would touch the one before, on an axis of length `span`.

    Examples
    --------
    >>> apart([(0, "0.01"), (0.5, "0.03"), (5, "0.1")], 10, across=True)
    [(0, '0.01'), (5, '0.1')]
    """
    found: list[tuple[float, str]] = []
    free = -math.inf
    for place, text in ticks:
        half = span * (CHARACTER * _characters(text) if across else LINE) / 2
        if place - half >= free:
            found.append((place, text))
            free = place + half + (span * GAP if across else 0)
    return found


def _characters(text: str) -> float:
    """Characters as they take room: exponents are small, and signs of TeX take none."""
    plain = re.sub(r"\\[a-z]+ ?|[${}]", "", text)
    base, _, exponent = plain.partition("^")
    return len(base) + 0.7 * len(exponent)


def ticks_of(axis: Axis, low: float, high: float) -> list[tuple[float, str]]:
    """Where an axis has ticks between two places, and what they say."""
    from matplotlib.ticker import MaxNLocator

    values = dict(zip(axis.places, axis.values, strict=True))
    binned = any(" to " in text for text in axis.values)
    if axis.scale == "ordered" or (axis.edges and len(values) <= FEW and not binned):
        log = axis.scale != "linear"
        every = max(1, len(values) // (2 * FEW))
        return [(place, tick_text(values[place], log=log)) for place in sorted(values)[::every]]
    if axis.scale == "linear":
        places = MaxNLocator(TICKS, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
        inside = [float(place) for place in places if low <= place <= high]
        return [(place, tick_text(f"{place:.10g}")) for place in inside]
    if high - low > DECADES:
        places = MaxNLocator(TICKS, integer=True).tick_values(low, high)
        inside = [round(place) for place in places if low <= place <= high]
        return [(place, _scientific(f"1e{place}")) for place in inside]
    return [(place, tick_text(f"{10.0**place:.4g}", log=True)) for place in _round(low, high)]


def _round(low: float, high: float) -> list[float]:
    """Places of round numbers on a logarithmic axis, as many as there is room for."""
    decades = range(math.floor(low), math.ceil(high) + 1)
    inside: list[float] = []
    for leading in LEADING:
        places = [decade + math.log10(one) for decade in decades for one in leading]
        inside = [place for place in places if low <= place <= high]
        if len(inside) <= TICKS + 1:
            break
    return inside


def around(places: tuple[float, ...]) -> tuple[float, float]:
    """Ends of an axis with some room on both sides of its places."""
    if not places:
        return 0.0, 1.0
    low, high = min(places), max(places)
    room = 0.04 * (high - low) or 0.5
    return low - room, high + room


def tick_text(text: str, *, log: bool = False) -> str:
    r"""An exact number, to four digits where it has many, or a name, as a tick.

    `log`: small and large numbers are written as powers of ten even if they are short.

    Examples
    --------
    >>> tick_text("0.001"), tick_text("4/3"), tick_text("0.123456789"), tick_text("gd")
    ('0.001', '4/3', '0.1235', 'gd')
    >>> tick_text("0.001", log=True), tick_text("2.5e-7")
    ('$\\mathdefault{10^{-3}}$', '$\\mathdefault{2.5 \\cdot 10^{-7}}$')
    """
    try:
        value = Fraction(text)
    except (ValueError, ZeroDivisionError):
        return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
    everyday = not value or Fraction(1, 100) <= abs(value) < 1000
    if len(text) <= 6 and "e" not in text and (everyday or not log):
        return text
    if everyday:
        return f"{float(value):.4g}"
    return _scientific(numbers.scientific(value))


def _scientific(text: str) -> str:
    mantissa, e, power = text.partition("e")
    if not e:  # written out
        mantissa, _, power = f"{float(mantissa):.3e}".partition("e")
        mantissa = mantissa.rstrip("0").rstrip(".")
    leading = "" if mantissa == "1" else rf"{mantissa} \cdot "
    return rf"$\mathdefault{{{leading}10^{{{int(power)}}}}}$"


# What is counted


@dataclass(frozen=True, eq=False)
class Cells:
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
    predicted: Whole
    observed: Whole

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self.table:
            raise AttributeError(name)
        return self.table[name].to_numpy().reshape(self.shape)

    @property
    def disagreement(self) -> Floats:
        """Share of the decided points not observed as predicted; nan where none is decided."""
        return _over(self.decided - self.agreed, self.decided)

    def counts(self, which: str) -> Whole:
        """How many points have each label, ``"predicted"`` or ``"observed"``."""
        return self.predicted if which == "predicted" else self.observed

    def share(self, which: str, label: str) -> Floats:
        """Share of a label among the points that are done."""
        return _over(self.counts(which)[..., self.labels.index(label)], self.done)

    def majority(self, which: str) -> tuple[Whole, Floats]:
        """The most common label of every pixel (its place in `labels`, or -1), and its share."""
        label = np.where(self.done > 0, self.counts(which).argmax(axis=-1), -1)
        return label, _over(self.counts(which).max(axis=-1), self.done)


def flagged(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with what every query asks of a point: done, decided, agreed, ended, told."""
    done = frame["status"] == "done"
    ended = done & (frame["observed"] != Label.UNFINISHED)
    decided = ended & (frame["predicted"] != Label.UNDECIDED)
    return frame.assign(
        done=done,
        failed=frame["status"] == "failed",
        missing=frame["status"] == "missing",
        decided=decided,
        agreed=decided & (frame["predicted"] == frame["observed"]),
        ended=ended & frame["descents"].notna(),
        told=done & frame["predicted_descents"].notna(),
    )


def gather(frame: pd.DataFrame, shape: tuple[int, ...]) -> Cells:
    """The pixels of a frame whose column `pixel` has the number of each row's, in C order."""
    rows, every = flagged(frame), np.arange(int(np.prod(shape)))
    flags = ["done", "failed", "missing", "decided", "agreed", "ended", "told"]
    table = rows.groupby("pixel")[flags].sum().reindex(every, fill_value=0)
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

    def per_label(which: str) -> Whole:
        counted = measured.groupby(["pixel", which]).size().unstack(fill_value=0)
        counted = counted.reindex(index=every, columns=list(labels), fill_value=0)
        return counted.to_numpy(np.int64).reshape(*shape, len(labels))

    return Cells(table, shape, labels, per_label("predicted"), per_label("observed"))


def _over(part: Whole | Floats, whole: Whole) -> Floats:
    found = np.full(whole.shape, np.nan)
    np.divide(part, whole, out=found, where=whole > 0)
    return found


@dataclass(frozen=True)
class Agreement:
    """How many points have which predicted and which observed label, failed, or are missing.

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

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Agreement:
        """The agreement over the rows of a frame."""
        done = frame[frame["status"] == "done"]
        counts = done.groupby(["predicted", "observed"], dropna=False).size()
        ordered: Any = counts.sort_values(ascending=False, kind="stable").items()
        return cls(
            {(str(said), str(seen)): int(count) for (said, seen), count in ordered},
            int((frame["status"] == "failed").sum()),
            int((frame["status"] == "missing").sum()),
        )

    def _count(self, which: Callable[[str, str], bool]) -> int:
        return sum(count for pair, count in self.counts.items() if which(*pair))

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
        return self._count(lambda said, _: said == Label.UNDECIDED)

    @property
    def unfinished(self) -> int:
        """Points that the law decides, whose steps ran out."""
        return self._count(lambda said, seen: seen == Label.UNFINISHED and said != Label.UNDECIDED)

    @property
    def decided(self) -> int:
        """Points with a prediction and an observation: all others say nothing of the law."""
        return self.done - self.undecided - self.unfinished

    @property
    def agreed(self) -> int:
        """Decided points that are observed as predicted."""
        return self._count(lambda said, seen: said == seen)

    @property
    def share(self) -> float:
        """Agreed over decided points; nan where none is decided."""
        return self.agreed / self.decided if self.decided else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval for the share; (0, 1) where there is nothing to count."""
        if not self.decided:
            return 0.0, 1.0
        from scipy.stats import binomtest

        found = binomtest(self.agreed, self.decided).proportion_ci(method="wilson")
        return float(found.low), float(found.high)

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

    def to_dict(self) -> dict[str, Any]:
        """The counts as plain values."""
        names = ("decided", "agreed", "undecided", "unfinished", "failed", "missing")
        return {name: getattr(self, name) for name in names} | {"interval": [*self.interval]}

    def to_grid(self, title: str, above: Sequence[str], below: Sequence[str]) -> Grid:
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
            above=above,
            below=below,
        )


@dataclass(frozen=True, eq=False)
class Pixels(Drawn):
    """What a picture shows: see :class:`swingby.PhaseDiagram`, which is all of it and its words."""

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

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the arrays of :attr:`cells`: (y, x), (x,), or (draws,)."""
        return self.cells.shape

    def median(self, name: str) -> Floats:
        """The median of any column of numbers over the points of every pixel that are done."""
        done = self.frame[self.frame["status"] == "done"]
        found = done[name].astype(float).groupby(done["pixel"]).median()
        every = np.arange(int(np.prod(self.shape)))
        return np.asarray(found.reindex(every), dtype=np.float64).reshape(self.shape)


def pooled_text(pooled: Mapping[str, int], symbols: Mapping[str, str] | None = None) -> str:
    """What the points of one pixel differ in, in words.

    Examples
    --------
    >>> pooled_text({"eta": 2, "seed": 10})
    '2 eta, 10 seeds'
    """
    plural = {"seed": "seeds", "signal": "tasks", "steps": "numbers of steps"}
    written = {**(symbols or {}), **plural, "dynamics": "dynamics"}
    return ", ".join(f"{count} {written.get(name, name)}" for name, count in pooled.items())


def json_value(value: Any) -> Any:
    """A value as JSON can hold it: inf as text, None for nan."""
    if isinstance(value, tuple):
        return [json_value(one) for one in value]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else str(value)
