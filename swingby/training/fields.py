"""Checks of the fields of a setting."""

from __future__ import annotations

from swingby.errors import InvalidInput
from swingby.theory import numbers


def put(to: object, name: str, value: object) -> None:
    """Set a field of a frozen dataclass while it is made."""
    object.__setattr__(to, name, value)


def one_of(value: object, name: str, known: tuple[str, ...]) -> None:
    """Refuse what is not one of some words.

    Raises
    ------
    InvalidInput
    """
    if not isinstance(value, str) or value not in known:
        raise InvalidInput(name, value, f"must be {', '.join(known[:-1])} or {known[-1]}")


def booleans(of: object, *names: str) -> None:
    """Refuse fields that are neither True nor False.

    Raises
    ------
    InvalidInput
    """
    for name in names:
        if not isinstance(getattr(of, name), bool):
            raise InvalidInput(name, getattr(of, name), "must be True or False")


def positive(value: object, name: str, source: str = "") -> float:
    """A positive number as a float.

    Parameters
    ----------
    value : object
    name : str
        Used in the error.
    source : str
        Statement that asks for it.

    Raises
    ------
    InvalidInput
    """
    return numbers.within_float(numbers.positive(value, name, source), name, source)


def at_least_zero(value: object, name: str) -> float:
    """A number that is not negative, as a float.

    Parameters
    ----------
    value : object
    name : str
        Used in the error.

    Raises
    ------
    InvalidInput
    """
    given = numbers.exact(value, name)
    if given < 0:
        raise InvalidInput(name, value, "must not be negative")
    return numbers.within_float(given, name) if given else 0.0
