"""Ticks of a phase diagram: few, exact, and never on top of each other."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

from swingby.theory import numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from swingby.sweeping.phases.axis import Axis

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


def dress_axis(ax: Axes, axis: Axis, side: str) -> None:
    """Ticks, label and ends of one axis of a panel."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    across = side == "x"
    target = ax.xaxis if across else ax.yaxis
    low, high = (axis.edges[0], axis.edges[-1]) if len(axis.edges) > 1 else _around(axis.places)
    (ax.set_xlim if across else ax.set_ylim)(low, high)
    (ax.set_xlabel if across else ax.set_ylabel)(axis.symbol)
    ticks = apart(_ticks(axis, low, high), high - low, across=across)
    target.set_minor_locator(NullLocator())
    target.set_major_locator(FixedLocator([place for place, _ in ticks]))
    target.set_major_formatter(FixedFormatter([text for _, text in ticks]))


def apart(
    ticks: Iterable[tuple[float, str]], span: float, *, across: bool
) -> list[tuple[float, str]]:
    """Ticks without those that would touch the one before.

    Parameters
    ----------
    ticks : iterable of (place, text)
        Ascending.
    span : float
        Length of the axis.
    across : bool
        Whether texts stand side by side.

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


def _ticks(axis: Axis, low: float, high: float) -> list[tuple[float, str]]:
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


def _around(places: tuple[float, ...]) -> tuple[float, float]:
    if not places:
        return 0.0, 1.0
    low, high = min(places), max(places)
    room = 0.04 * (high - low) or 0.5
    return low - room, high + room


def tick_text(text: str, *, log: bool = False) -> str:
    r"""An exact number, or a name, as a tick.

    Parameters
    ----------
    text : str
    log : bool
        Whether small and large numbers are written as powers of ten even if they are short.

    Returns
    -------
    str
        Numbers with many digits are rounded to four.

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
        number = f"{float(mantissa):.3e}"
        mantissa, _, power = number.partition("e")
        mantissa = mantissa.rstrip("0").rstrip(".")
    shown = f"10^{{{int(power)}}}"
    leading = "" if mantissa == "1" else rf"{mantissa} \cdot "
    return rf"$\mathdefault{{{leading}{shown}}}$"
