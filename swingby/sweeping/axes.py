"""Axes of a grid: lists of numbers, and of vectors, read from plain values."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.sweeping.grid_numbers import number_text
from swingby.sweeping.ranges import Range, read_range

Vector = tuple[str, ...]


def listed(value: Any, argument: str) -> list[Any]:
    """The values of an axis as a list; one value alone is a list of one.

    Raises
    ------
    InvalidInput
        If there is none.
    """
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (dict, set, bytes)):
        raise InvalidInput(argument, value, "must be a list of values")
    many = isinstance(value, Iterable) and not isinstance(value, str)
    found = list(value) if many else [value]
    if not found:
        raise InvalidInput(argument, "an empty list", "must not be empty")
    return found


def distinct(values: Iterable[Any], argument: str) -> tuple[Any, ...]:
    """The values, refused when one of them comes twice: every point is to be met once.

    Raises
    ------
    InvalidInput
    """
    found = tuple(values)
    seen: set[Any] = set()
    for value in found:
        if value in seen:
            shown = f"({', '.join(value)})" if isinstance(value, tuple) else value
            raise InvalidInput(argument, f"{shown} twice", "must not repeat a value")
        seen.add(value)
    return found


def number_axis(value: Any, argument: str) -> tuple[str, ...] | Range:
    """An axis of positive numbers: a list, one number, or a range.

    Raises
    ------
    InvalidInput
    """
    if isinstance(value, (dict, Range)):
        return read_range(value, argument, number_text)
    found = listed(value, argument)
    return distinct(
        (number_text(one, f"{argument}[{place}]") for place, one in enumerate(found, 1)), argument
    )


def vector_axis(
    value: Any, argument: str, *, positive: bool, shared: bool = False
) -> tuple[Vector, ...] | Range:
    """An axis of vectors: a list of them, one vector, or a range that has a `dim`.

    Parameters
    ----------
    value : list of lists of numbers, list of numbers, dict or Range
    argument : str
    positive : bool
        Whether entries of 0 are refused.
    shared : bool
        Whether a number alone stands for a vector of equal entries.

    Raises
    ------
    InvalidInput
    """
    read = functools.partial(number_text, positive=positive)
    if isinstance(value, (dict, Range)):
        return read_range(value, argument, read, vector=True)
    found = listed(value, argument)
    if not shared and not any(_is_vector(one) for one in found):
        found = [found]
    vectors = []
    for place, one in enumerate(found, 1):
        name = f"{argument}[{place}]"
        if not (_is_vector(one) or shared):
            raise InvalidInput(name, one, "must be a list of numbers")
        vectors.append(
            tuple(read(entry, f"{name}[{k}]") for k, entry in enumerate(listed(one, name), 1))
        )
    return distinct(vectors, argument)


def _is_vector(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, dict, set))


def axis_values(axis: Any) -> tuple[Any, ...]:
    """The values of an axis; of one that is not given None alone, of a range nothing."""
    if axis is None:
        return (None,)
    return () if isinstance(axis, Range) else axis


def ends(axis: tuple[str, ...] | Range) -> tuple[str, ...]:
    """Numbers of an axis between which all others lie."""
    return (axis.low, axis.high) if isinstance(axis, Range) else axis


def vectors(axis: tuple[Vector, ...] | Range | None) -> tuple[Vector, ...]:
    """The vectors of an axis; of a range the largest one, which stands for all."""
    if isinstance(axis, Range):
        return ((axis.high,) * (axis.dim or 1),)
    return axis or ()


def spread(sigma: Vector, mu: Vector) -> Vector:
    """Sigma with one entry per entry of mu, where one stands for all."""
    return sigma * len(mu) if len(sigma) == 1 else sigma


def drawn(axis: Any, rng: np.random.Generator, *, whole: bool = False) -> Any:
    """One value of an axis: of a list with equal odds, of a range as it says.

    Parameters
    ----------
    axis : tuple, Range or None
    rng : numpy Generator
    whole : bool
        Whether a range is one of whole numbers.
    """
    if axis is None:
        return None
    if not isinstance(axis, Range):
        return axis[int(rng.integers(len(axis)))]
    if whole:
        return axis.draw_whole(rng)
    if axis.dim is None:
        return axis.draw(rng)
    return tuple(axis.draw(rng) for _ in range(axis.dim))
