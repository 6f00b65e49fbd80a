"""An axis of a phase diagram: where its values stand, and its ticks.

Values are exact, and may lie far below the float range.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np

from swingby.sweeping.frame import Quantity, Value, log10_of, value_text
from swingby.theory import numbers
from swingby.theory.numbers import Floats, Integers

#: A pixel narrower than this share of the mean makes an axis one of equal pixels.
NARROWEST = 0.25


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

    >>> from swingby.sweeping.frame import quantity
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


# Ticks: few, exact, and never on top of each other

#: As many values as all get a tick, if there is room; others get about so many round ones.
FEW, TICKS = 8, 5
#: Decades above which only powers of ten are ticks, and above which these, twice and five times.
DECADES, NEAR = 2.5, 0.7
#: Room of a character, and between ticks, as shares of an axis across; of a line, of one up.
CHARACTER, GAP, LINE = 0.034, 0.03, 0.07
#: Characters of a tick at most.
LONGEST = 24


def ticks(axis: Axis, low: float, high: float, *, across: bool) -> dict[float, str]:
    """Where an axis has ticks between two places, and what they say.

    The values themselves where they are few or names, otherwise round numbers; none that would
    touch the one before.
    """
    from matplotlib.ticker import MaxNLocator

    binned, span = any(" to " in one for one in axis.values), high - low
    if axis.scale == "ordered" or (axis.edges and len(axis) <= FEW and not binned):
        offered = sorted(zip(axis.places, map(tick_text, axis.values), strict=True))
    elif axis.scale == "log" and span > DECADES:
        powers = MaxNLocator(TICKS, integer=True).tick_values(low, high)
        offered = [(float(power), f"1e{power:.0f}") for power in powers]
    else:
        log = axis.scale == "log"
        ends = (10**low, 10**high) if log else (low, high)
        some: Iterable[float] = MaxNLocator(TICKS, steps=[1, 2, 2.5, 5, 10]).tick_values(*ends)
        if log and span > NEAR:
            every = range(math.floor(low), math.ceil(high))
            some = [one * 10.0**power for power in every for one in (1, 2, 5)]
        offered = [
            (math.log10(one) if log else float(one), tick_text(f"{one:.10g}"))
            for one in some
            if one > 0 or not log
        ]
    found, free = dict[float, str](), low
    for place, text in offered:
        half = span * (CHARACTER * len(text) if across else LINE) / 2
        if low <= place <= high and (place - half >= free or not found):
            found[place] = re.sub(r"^1e(-?\d+)$", r"$\\mathdefault{10^{\1}}$", text)
            free = place + half + (span * GAP if across else 0)
    return found


def tick_text(text: str) -> str:
    """An exact number, to four digits where it has many, or a name, as a tick.

    >>> tick_text("0.001"), tick_text("4/3"), tick_text("0.123456789"), tick_text("gd")
    ('0.001', '4/3', '0.1235', 'gd')
    """
    try:
        value = Fraction(text)
    except (ValueError, ZeroDivisionError):
        return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
    if len(text) <= 6:
        return text
    if not value or Fraction(1, 1000) <= abs(value) < 10_000:
        return f"{float(value):.4g}"
    return numbers.scientific(value)
