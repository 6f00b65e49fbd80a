"""What an axis of a phase diagram can show: numbers of a point under the names of the paper."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from swingby.errors import InvalidInput
from swingby.sweeping.grid_numbers import number_text, written_number
from swingby.sweeping.point import Point

#: Values in the order of an axis: exact numbers, or names.
Value = Fraction | str

_ENTRY = re.compile(r"(a|mu|sigma)_([1-9]\d*)(?:/(a|mu|sigma)_([1-9]\d*))?")
_SYMBOLS = {
    "omega": r"$\omega$",
    "eta": r"$\eta$",
    "width": "$d'$",
    "dimension": "$d$",
    "signal": "$a$",
    "mu": r"$\mu$",
    "sigma": r"$\sigma$",
}
_LETTERS = {"a": "a", "mu": r"\mu", "sigma": r"\sigma"}
_WHOLE = ("width", "steps", "seed")
_VECTORS = ("signal", "mu", "sigma")


@dataclass(frozen=True)
class Quantity:
    """A number, or a name, that every point of a sweep has.

    Parameters
    ----------
    name : str
        ``omega``, ``eta``, ``width``, ``dimension``, ``dynamics``, ``steps``, ``seed``; a vector
        as a whole: ``signal``, ``mu``, ``sigma``; one entry: ``a_1``, ``mu_2``, ``sigma_1``; a
        ratio of entries: ``a_1/a_2``, ``mu_1/sigma_1``.
    part : str
        What it is a function of; see :data:`swingby.sweeping.phases.table.PARTS`.
    read : callable
        From a value of the part to the exact number or name; None where there is none, as for
        ``a_3`` of a point with two concepts.

    Examples
    --------
    >>> task = (("4", "1"), None, None)
    >>> quantity("a_1/a_2").read(task), quantity("dimension").read(task)
    (Fraction(4, 1), Fraction(2, 1))
    """

    name: str
    part: str
    read: Callable[[Any], Value | None]

    @property
    def symbol(self) -> str:
        """The name as the paper writes it, for matplotlib."""
        entry = _ENTRY.fullmatch(self.name)
        if entry is None:
            return _SYMBOLS.get(self.name, self.name)
        over, place, under, other = entry.groups()
        found = f"{_LETTERS[over]}_{{{place}}}"
        return f"${found}$" if under is None else f"${found} / {_LETTERS[under]}_{{{other}}}$"


def quantity(name: str) -> Quantity | None:
    """The quantity of a name.

    Returns
    -------
    Quantity or None
        None for a name that says nothing.
    """
    if name in ("omega", "eta"):
        return Quantity(name, name, Fraction)
    if name in _WHOLE:
        return Quantity(name, name, lambda value: None if value is None else Fraction(value))
    if name == "dynamics":
        return Quantity(name, name, str)
    if name == "dimension":
        return Quantity(name, "task", lambda task: Fraction(len(_vector(task, "a") or ())))
    if name in _VECTORS:
        letter = "a" if name == "signal" else name
        return Quantity(name, "task", lambda task: _vector_text(_vector(task, letter)))
    entry = _ENTRY.fullmatch(name)
    if entry is None:
        return None
    over, place, under, other = entry.groups()
    if under is None:
        return Quantity(name, "task", lambda task: _entry(task, over, int(place)))
    return Quantity(name, "task", lambda task: _ratio(task, over, int(place), under, int(other)))


def _vector(task: Any, letter: str) -> tuple[Fraction, ...] | None:
    signal, mu, sigma = task
    if letter == "a":
        return Point(signal, mu, sigma, "1", 1, 0, "1", "flow").exact_signal()
    given = mu if letter == "mu" else sigma
    return None if given is None else tuple(map(Fraction, given))


def _entry(task: Any, letter: str, place: int) -> Fraction | None:
    vector = _vector(task, letter)
    return vector[place - 1] if vector is not None and place <= len(vector) else None


def _ratio(task: Any, over: str, place: int, under: str, other: int) -> Fraction | None:
    one, two = _entry(task, over, place), _entry(task, under, other)
    return None if one is None or not two else one / two


def _vector_text(vector: tuple[Fraction, ...] | None) -> str | None:
    return None if vector is None else f"({', '.join(map(value_text, vector))})"


def value_text(value: Value) -> str:
    """A value as the one exact text that stands for it."""
    if isinstance(value, str):
        return value
    try:
        return written_number(value)
    except InvalidInput:  # a ratio of hundreds of digits
        return str(value)


def asked_value(name: str, value: Any) -> Value:
    """The value that a reader asks for, in the form of :attr:`Quantity.read`.

    Parameters
    ----------
    name : str
        Of the quantity.
    value : number, str, or sequence of numbers

    Raises
    ------
    InvalidInput
        If it is no number where one is asked for.
    """
    argument = f"where[{name}]"
    if name == "dynamics":
        return str(value)
    if name in _VECTORS:
        entries = value.strip().strip("()[]").split(",") if isinstance(value, str) else value
        if not isinstance(entries, Iterable):
            raise InvalidInput(argument, value, "must be a vector such as (4, 1)")
        read = (Fraction(number_text(one, argument, positive=False)) for one in entries)
        return f"({', '.join(map(value_text, read))})"
    return Fraction(number_text(value, argument, positive=False))


def families(dimension: int, *, of_signal: bool) -> Iterator[tuple[str, ...]]:
    """Names of quantities, those that tell the same story together.

    Parameters
    ----------
    dimension : int
        The largest d.
    of_signal : bool
        Whether tasks are given by their signals; otherwise by mu and sigma.

    Yields
    ------
    tuple of str
        The family that an axis is looked for in first, then the others; in a family likewise.
    """
    places = range(1, dimension + 1)

    def entries(letter: str) -> tuple[str, ...]:
        ratios = tuple(f"{letter}_{k}/{letter}_{k + 1}" for k in places[:-1])
        return ratios + tuple(f"{letter}_{k}" for k in places)

    yield ("omega",)
    if of_signal:
        yield (*entries("a"), "signal")
    else:
        yield (*entries("mu"), "mu")
        yield (*(f"sigma_{k}" for k in places), "sigma")
    yield ("eta",)
    yield ("width",)
    yield ("dimension",)
    yield ("dynamics",)
    yield ("steps",)
    if not of_signal:
        yield (*entries("a"), "signal")
