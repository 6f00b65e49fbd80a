"""One axis of a phase diagram: exact values, and where they stand in a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from swingby.sweeping.phases.quantity import Quantity, Value, value_text
from swingby.theory import numbers
from swingby.theory.growth import DYNAMICS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: A pixel narrower than this share of the mean makes an axis one of equal pixels.
NARROWEST = 0.25
#: Two values that differ by this factor stand on a logarithmic axis.
DECADE = 10
#: Names in the order in which they are known, not of the alphabet.
_NAMES = tuple(DYNAMICS)


@dataclass(frozen=True)
class Axis:
    """Values in ascending order, one pixel each.

    Parameters
    ----------
    name : str
        Of the quantity: ``omega``, ``a_1/a_2``, ...
    symbol : str
        As the paper writes it, for matplotlib.
    values : tuple of str
        Exact text; of an axis of bins, their two ends to four digits.
    places : tuple of float
        Where the values stand: the value itself, its log10, or its number.
    scale : {"linear", "log", "ordered"}
        What a place is; ``"ordered"`` for names, and for values so uneven that their pixels would
        not be seen.
    edges : tuple of float
        Ends of the pixels, one more than values.
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
    """The axis of some values.

    Parameters
    ----------
    quantity : Quantity
    values : sequence of Fraction or str
        Distinct, in the order of :func:`ordered`.
    spacing : {"linear", "log"}, optional
        How they were drawn; by default the more even one.
    even : bool
        Whether values that are too uneven for pixels become an axis of equal pixels.

    Returns
    -------
    Axis
        On a logarithmic axis values may lie far below the float range.

    Examples
    --------
    >>> found = axis_of(Quantity("omega", "omega", Fraction), [Fraction(1, 100), Fraction(1, 10)])
    >>> found.values, found.scale, found.places, found.edges
    (('0.01', '0.1'), 'log', (-2.0, -1.0), (-2.5, -1.5, -0.5))
    """
    texts = tuple(map(value_text, values))
    exact = [value for value in values if isinstance(value, Fraction)]
    scale = "ordered" if len(exact) < len(values) else (spacing or _scale(exact))
    places = tuple(range(len(values))) if scale == "ordered" else places_of(exact, scale)
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
    ends = places_of([min(values), max(values)], scale)
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


def ordered(values: Sequence[Value]) -> list[Value]:
    """Values ascending; names of dynamics as they are known, other names by their numbers."""

    def place(value: Value) -> tuple[int, tuple[Fraction, ...], str]:
        if isinstance(value, Fraction):
            return (0, (value,), "")
        if value.startswith("("):
            entries = tuple(Fraction(one) for one in value.strip("()").split(","))
            return (len(entries), entries, "")
        return (_NAMES.index(value) if value in _NAMES else len(_NAMES), (), value)

    return sorted(values, key=place)


def places_of(values: Sequence[Fraction], scale: str) -> tuple[float, ...]:
    """Values as floats, or their log10, which is finite at any size.

    Returns
    -------
    tuple of float
        Logarithms are rounded to 12 digits, so that powers of ten are whole.
    """
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
    steps = [np.diff(places_of(values, scale)) for scale in ("linear", "log")]
    straight, curved = (float(one.max() / max(one.min(), 1e-300)) for one in steps)
    return "log" if curved < straight else "linear"


def _edges(places: Sequence[float]) -> tuple[float, ...]:
    """Half-way between neighbours; the outermost pixels reach as far out as in."""
    if len(places) == 1:
        return (places[0] - 0.5, places[0] + 0.5)
    middle = [(low + high) / 2 for low, high in pairwise(places)]
    first, last = 2 * places[0] - middle[0], 2 * places[-1] - middle[-1]
    return (first, *middle, last)
