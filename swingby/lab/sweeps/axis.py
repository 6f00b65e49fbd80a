"""Axis: values in order, exact and far below the float range, their positions and their ticks."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np

from swingby.hints import Hinted
from swingby.lab.sweeps.quantity import Quantity, Value, log10_of, value_text
from swingby.report.number_text import scientific, scientific_log10
from swingby.theory.numbers import Floats, Integers

#: A pixel narrower than this share of the mean makes an axis one of equal pixels.
_NARROWEST = 0.25
#: As many values as all get a tick, if there is room; others get about so many round ones.
_FEW, _TICKS = 8, 5
#: Decades above which only powers of ten are ticks, and above which 2 and 5 of them are as well.
_DECADES, _NEAR = 2.5, 0.7
#: Decades on either side of 1 that floats reach.
_FLOATS = 300
#: Room of a character, and between ticks, as shares of an axis across; of a line, of one up.
_CHARACTER, _GAP, _LINE = 0.034, 0.03, 0.07
#: Characters of a tick at most.
_LONGEST = 24


@dataclass(frozen=True)
class Axis(Hinted):
    """Values in ascending order, each with a pixel.

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

    def __str__(self) -> str:
        return self.line()

    def __len__(self) -> int:
        return len(self.values)

    def of_draws(self, index: Integers) -> Axis:
        """The axis with a value per draw, in the order of the draws."""
        values, places = (tuple(column[k] for k in index) for column in (self.values, self.places))
        return replace(self, values=values, places=places, edges=())

    def line(self) -> str:
        """The name and the values, or their ends, for a table."""
        values = dict(sorted(zip(self.places, self.values, strict=True))).values()
        if len(values) <= 4:
            return f"{self.name} = {', '.join(values)}"
        low, *_, high = values
        return f"{self.name}, {len(values)} values from {low} to {high}"


def axis_of(quantity: Quantity, values: Sequence[Value], *, even: bool = True) -> Axis:
    """The axis of distinct values in order, which may lie far below floats on a logarithmic scale.

    `even`: values that are too uneven for pixels become an axis of equal pixels.

    >>> from swingby.lab.sweeps.quantity import quantity
    >>> axis = axis_of(quantity("omega"), [Fraction(1, 10**k) for k in (3, 2, 1)])
    >>> axis.values, axis.scale, axis.places
    (('0.001', '0.01', '0.1'), 'log', (-3.0, -2.0, -1.0))
    >>> axis.edges
    (-3.5, -2.5, -1.5, -0.5)
    """
    exact = [value for value in values if isinstance(value, Fraction)]
    numbered = tuple(map(float, range(len(values))))
    scale, places = "ordered", numbered
    if exact and len(exact) == len(values):
        scale, positions = _placed(exact)
        places = tuple(positions.tolist())
        widths = np.diff(_edges(places))
        if even and len(places) > 1 and widths.min() < _NARROWEST * widths.mean():
            scale, places = "ordered", numbered
    texts = tuple(map(value_text, values))
    return Axis(quantity.name, quantity.symbol, texts, places, scale, _edges(places))


def bins_of(quantity: Quantity, values: Sequence[Fraction], count: int) -> tuple[Axis, Integers]:
    """An axis of bins of equal width that hold all values, and the bin of each value."""
    scale, places = _placed(values)
    edges = np.linspace(places.min(), places.max(), count + 1)
    texts = [scientific_log10(edge) if scale == "log" else f"{edge:.4g}" for edge in edges]
    names = tuple(f"{low} to {high}" for low, high in pairwise(texts))
    middle = tuple(((edges[:-1] + edges[1:]) / 2).tolist())
    axis = Axis(quantity.name, quantity.symbol, names, middle, scale, tuple(edges.tolist()))
    return axis, np.clip(np.searchsorted(edges, places, side="right") - 1, 0, count - 1)


def _placed(values: Sequence[Fraction]) -> tuple[str, Floats]:
    """The scale with the more even steps, log or linear, and the positions of values on it.

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
        return tuple(position + half for position in places for half in (-0.5, 0.5)) or (0.0,)
    middle = [(low + high) / 2 for low, high in pairwise(places)]
    return (2 * places[0] - middle[0], *middle, 2 * places[-1] - middle[-1])


# Ticks: few, exact, and never on top of each other


def ticks(axis: Axis, low: float, high: float, *, across: bool) -> dict[float, str]:
    """The ticks of an axis between two positions: the text at each position.

    The values themselves where they are few or names, otherwise round numbers; none that would
    touch the one before.
    """
    span, binned = high - low, any(" to " in value for value in axis.values)
    offered = sorted(zip(axis.places, map(tick_text, axis.values), strict=True))
    if axis.scale != "ordered" and (not axis.edges or len(axis) > _FEW or binned):
        rounded = _round_numbers(axis.scale, low, high)
        inside = [(position, text) for position, text in rounded if low <= position <= high]
        offered = inside if len(inside) > 1 else offered
    marks, end = dict[float, str](), low
    for position, text in offered:
        half = span * (_CHARACTER * len(text) if across else _LINE) / 2
        if position - half >= end or not marks:
            marks[position] = re.sub(r"^1e(-?\d+)$", r"$\\mathdefault{10^{\1}}$", text)
            end = position + half + (span * _GAP if across else 0)
    return marks


def _round_numbers(scale: str, low: float, high: float) -> list[tuple[float, str]]:
    """Round numbers about two positions and between them: their positions and texts."""
    from matplotlib.ticker import MaxNLocator

    if scale == "linear":
        values = MaxNLocator(_TICKS, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
        return [(float(value), tick_text(f"{value:.10g}")) for value in values]
    if high - low > _DECADES or low < -_FLOATS or high > _FLOATS:
        values = MaxNLocator(_TICKS, integer=True).tick_values(low, high)
        return [(float(power), f"1e{power}") for power in sorted({*map(round, values)})]
    leading = (1, 2, 5) if high - low > _NEAR else (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
    powers = range(math.floor(low), math.ceil(high))
    every = [value * 10.0**power for power in powers for value in leading]
    return [(math.log10(value), tick_text(f"{value:.10g}")) for value in every]


def tick_text(text: str) -> str:
    """An exact number, to four digits if it has many, or a name, as a tick.

    >>> tick_text("0.001"), tick_text("4/3"), tick_text("0.123456789"), tick_text("gd")
    ('0.001', '4/3', '0.1235', 'gd')
    """
    try:
        value = Fraction(text)
    except (ValueError, ZeroDivisionError):
        return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
    if len(text) <= 6:
        return text
    if not value or Fraction(1, 1000) <= abs(value) < 10_000:
        return f"{float(value):.4g}"
    return scientific(value)
