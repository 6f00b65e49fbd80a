"""Checks of arguments and of the fields of frozen descriptions, for all of the laboratory."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, TypeVar

from swingby.errors import InvalidInput
from swingby.theory import numbers

Kind = TypeVar("Kind")


def set_field(to: object, name: str, value: object) -> None:
    """Set a field of a frozen dataclass while it is made."""
    object.__setattr__(to, name, value)


def one_of(value: object, name: str, allowed: tuple[str, ...]) -> None:
    """Refuse a value that is none of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        raise InvalidInput(name, value, f"must be {', '.join(allowed[:-1])} or {allowed[-1]}")


def _with_article(kind: type) -> str:
    """The name of a class as a noun: a Preset, an ImageCell, Images."""
    name = kind.__name__
    if name.endswith("s"):
        return name
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def instance(value: object, name: str, kind: type) -> None:
    """Refuse a value of another class."""
    if not isinstance(value, kind):
        raise InvalidInput(name, value, f"must be {_with_article(kind)}")


def members_of(values: object, name: str, kind: type[Kind]) -> tuple[Kind, ...]:
    """The members of a class as a tuple, from a single member or a sequence of them."""
    if isinstance(values, kind):
        return (values,)
    if isinstance(values, (str, bytes, dict)) or not isinstance(values, Iterable):
        raise InvalidInput(name, values, f"must be {_with_article(kind)} or a sequence of them")
    members = tuple(values)
    if not members:
        raise InvalidInput(name, "nothing", f"must be at least one {kind.__name__}")
    for member in members:
        instance(member, name, kind)
    return members


def some_of(values: object, name: str, allowed: Collection[str]) -> list[str]:
    """Allowed words, each once: all of them for None, a single word, or those of a sequence."""
    words: list[Any] = list(allowed) if values is None else [values]
    if isinstance(values, Iterable) and not isinstance(values, str):
        words = list(values)
    for word in words:
        if not isinstance(word, str) or word not in allowed:
            raise InvalidInput(name, word, f"must be among {', '.join(allowed)}")
    return list(dict.fromkeys(words))


def booleans(of: object, *names: str) -> None:
    """Refuse fields that are neither True nor False."""
    for name in names:
        if not isinstance(getattr(of, name), bool):
            raise InvalidInput(name, getattr(of, name), "must be True or False")


def positive(value: object, name: str, source: str = "") -> float:
    """A positive number as a float."""
    return numbers.within_float(numbers.positive(value, name, source), name, source)


def at_least_zero(value: object, name: str) -> float:
    """A number that is not negative, as a float."""
    number = numbers.exact(value, name)
    if number < 0:
        raise InvalidInput(name, value, "must not be negative")
    return numbers.within_float(number, name)
