"""Ranges of numbers to draw from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.sweeping.grid_numbers import whole_number, written_number
from swingby.theory import numbers
from swingby.theory.task import LARGEST_DIMENSION

#: Digits of a number drawn from a range: short to read, and the same on every machine.
DRAWN_DIGITS = 6


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, drawn uniformly or log-uniformly.

    Parameters
    ----------
    low, high : str
        Exact numbers as text; low at most high. Positive for ``spacing="log"``.
    spacing : {"linear", "log"}
    dim : int, optional
        For a vector: how many entries are drawn, independently of each other.

    Raises
    ------
    InvalidInput

    Examples
    --------
    >>> drawn = Range("1e-400", "1e-300", "log")
    >>> drawn.draw(np.random.default_rng(0))
    '4.96785e-337'
    """

    low: str
    high: str
    spacing: str = "linear"
    dim: int | None = None

    def draw(self, rng: np.random.Generator) -> str:
        """One number, with six significant digits."""
        low, high = Fraction(self.low), Fraction(self.high)
        share = rng.random()
        if self.spacing == "log":
            start = numbers.log_of(low)
            log = (start + share * (numbers.log_of(high) - start)) / float(np.log(10))
            text = numbers.scientific_log10(log, DRAWN_DIGITS)
        else:
            text = numbers.scientific(low + Fraction(share) * (high - low), DRAWN_DIGITS)
        # Rounding must not lead out of the range.
        return written_number(min(max(Fraction(text), low), high))

    def draw_whole(self, rng: np.random.Generator) -> int:
        """One whole number from low to high, both included."""
        low, high = int(self.low), int(self.high)
        if self.spacing == "linear":
            return int(rng.integers(low, high, endpoint=True))
        return min(high, int(low * ((high + 1) / low) ** rng.random()))

    def to_plain(self) -> dict[str, Any]:
        """The range as a table of plain values."""
        plain: dict[str, Any] = {"low": self.low, "high": self.high, "spacing": self.spacing}
        return plain if self.dim is None else plain | {"dim": self.dim}


def read_range(
    value: dict[str, Any] | Range,
    argument: str,
    read: Callable[[Any, str], str],
    *,
    vector: bool = False,
) -> Range:
    """A range from a table ``{low, high, spacing, dim}``.

    Parameters
    ----------
    value : dict or Range
    argument : str
    read : callable
        Reads `low` and `high`.
    vector : bool
        Whether `dim` has to be given; otherwise it must not be.

    Raises
    ------
    InvalidInput
    """
    table = value.to_plain() if isinstance(value, Range) else dict(value)
    needed = {"low", "high", "dim"} if vector else {"low", "high"}
    for name in table:
        if name not in needed | {"spacing"}:
            allowed = ", ".join(sorted(needed | {"spacing"}))
            raise InvalidInput(
                f"{argument}.{name}", table[name], f"is no key of a range: {allowed}"
            )
    for name in sorted(needed - table.keys()):
        raise InvalidInput(f"{argument}.{name}", "nothing", "must be given for a range")
    low, high = (read(table[name], f"{argument}.{name}") for name in ("low", "high"))
    spacing = table.get("spacing", "linear")
    if spacing not in ("linear", "log"):
        raise InvalidInput(f"{argument}.spacing", spacing, "must be linear or log")
    if Fraction(low) > Fraction(high):
        raise InvalidInput(f"{argument}.low", low, f"must be at most high, which is {high}")
    if spacing == "log" and not Fraction(low):
        raise InvalidInput(f"{argument}.low", low, "must be positive for spacing = log")
    dim = whole_number(table["dim"], f"{argument}.dim", 1, LARGEST_DIMENSION) if vector else None
    return Range(low, high, spacing, dim)
