"""An axis of a phase diagram: where its values stand, and its ticks.

Values are exact, and may lie far below the float range.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from swingby.sweeping.frame import Quantity, Value, log10_of, value_text
from swingby.theory import numbers

#: A pixel narrower than this share of the mean makes an axis one of equal pixels.
NARROWEST = 0.25
#: Two values that differ by this factor stand on a logarithmic axis.
DECADE = 10


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

    def line(self) -> str:
        """The name and the values, or their ends, for a table."""
        values = list(dict.fromkeys(self.values))
        if len(values) <= 4:
            return f"{self.name} = {', '.join(values)}"
        order = np.argsort(self.places)
        low, high = self.values[order[0]], self.values[order[-1]]
        return f"{self.name}, {len(values)} values from {low} to {high}"


def axis_of(
    quantity: Quantity, values: Sequence[Value], spacing: str | None = None, *, even: bool = True
) -> Axis:
    """The axis of distinct values in order; on a logarithmic one they may lie far below floats.

    `spacing` says how they were drawn, by default the more even one is taken; `even`: values that
    are too uneven for pixels become an axis of equal pixels.

    >>> from swingby.sweeping.frame import quantity
    >>> found = axis_of(quantity("omega"), [Fraction(1, 100), Fraction(1, 10)])
    >>> found.values, found.scale, found.places, found.edges
    (('0.01', '0.1'), 'log', (-2.0, -1.0), (-2.5, -1.5, -0.5))
    """
    exact = [value for value in values if isinstance(value, Fraction)]
    numbered = tuple(map(float, range(len(values))))
    scale, places = "ordered", numbered
    if exact and len(exact) == len(values):
        scale = spacing or _scale(exact)
        places = places_of(exact, scale)
        widths = np.diff(_edges(places))
        if even and len(places) > 1 and widths.min() < NARROWEST * widths.mean():
            scale, places = "ordered", numbered
    texts = tuple(map(value_text, values))
    return Axis(quantity.name, quantity.symbol, texts, places, scale, _edges(places))


def bins_of(
    quantity: Quantity, values: Sequence[Fraction], count: int, spacing: str | None
) -> Axis:
    """An axis of bins of equal width that hold all values."""
    scale = spacing or _scale(values)
    ends = places_of([min(values), max(values)], scale)
    edges = np.linspace(ends[0], ends[1], count + 1)
    texts = [numbers.scientific_log10(one) if scale == "log" else f"{one:.4g}" for one in edges]
    names = tuple(f"{low} to {high}" for low, high in pairwise(texts))
    places = tuple(((edges[:-1] + edges[1:]) / 2).tolist())
    return Axis(quantity.name, quantity.symbol, names, places, scale, tuple(edges.tolist()))


def places_of(values: Sequence[Fraction], scale: str) -> tuple[float, ...]:
    """Where values stand: as floats, or as their log10."""
    return tuple(map(log10_of if scale == "log" else float, values))


def _scale(values: Sequence[Fraction]) -> str:
    """Linear or log, whichever has the more even steps; log where floats would not do."""
    low, high = min(values), max(values)
    if low <= 0 or low == high:
        return "linear" if low <= 0 or 1e-4 <= low <= 1e6 else "log"
    if low < Fraction(1, 10**300) or high > 10**300:
        return "log"
    if len(values) == 2:
        return "log" if high >= DECADE * low else "linear"
    steps = [np.diff(places_of(values, scale)) for scale in ("linear", "log")]
    with np.errstate(over="ignore"):  # what is infinitely uneven is the worse scale
        straight, curved = (float(one.max() / max(one.min(), 1e-300)) for one in steps)
    return "log" if curved < straight else "linear"


def _edges(places: Sequence[float]) -> tuple[float, ...]:
    """Half-way between neighbours; the outermost pixels reach as far out as in."""
    if len(places) < 2:
        return tuple(place + half for place in places for half in (-0.5, 0.5)) or (0.0,)
    middle = [(low + high) / 2 for low, high in pairwise(places)]
    return (2 * places[0] - middle[0], *middle, 2 * places[-1] - middle[-1])


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

    >>> apart([(0, "0.01"), (0.5, "0.03"), (5, "0.1")], 10, across=True)
    [(0, '0.01'), (5, '0.1')]
    """
    found: list[tuple[float, str]] = []
    free = -math.inf
    for place, text in ticks:
        # Exponents are small, and signs of TeX take no room.
        base, _, exponent = re.sub(r"\\[a-z]+ ?|[${}]", "", text).partition("^")
        characters = len(base) + 0.7 * len(exponent)
        half = span * (CHARACTER * characters if across else LINE) / 2
        if place - half >= free:
            found.append((place, text))
            free = place + half + (span * GAP if across else 0)
    return found


def ticks(axis: Axis, low: float, high: float) -> list[tuple[float, str]]:
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
        return [(p, tick_text(f"{p:.10g}")) for p in map(float, places) if low <= p <= high]
    if high - low > DECADES:
        places = MaxNLocator(TICKS, integer=True).tick_values(low, high)
        return [(round(p), _scientific(f"1e{round(p)}")) for p in places if low <= p <= high]
    decades, inside = range(math.floor(low), math.ceil(high) + 1), list[float]()
    for leading in LEADING:
        every_one = [decade + math.log10(one) for decade in decades for one in leading]
        inside = [place for place in every_one if low <= place <= high]
        if len(inside) <= TICKS + 1:
            break
    return [(place, tick_text(f"{10.0**place:.4g}", log=True)) for place in inside]


def tick_text(text: str, *, log: bool = False) -> str:
    r"""An exact number, to four digits where it has many, or a name, as a tick.

    `log`: small and large numbers are written as powers of ten even if they are short.

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
