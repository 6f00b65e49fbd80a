"""Which figures there are: one file each in :mod:`swingby.figures.paper`."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterable
from string import ascii_lowercase
from types import ModuleType

from swingby.errors import InvalidInput
from swingby.figures.figure import EDITIONS, Edition, Figure

_NAME = re.compile(r"figure_(\d+[a-z]?)")


def numbers() -> tuple[str, ...]:
    """The numbers of the figures, in the order of the paper.

    Examples
    --------
    >>> {"5", "8", "9", "10", "17", "18"} <= set(numbers())
    True
    """
    from swingby.figures import paper

    names = (module.name for module in pkgutil.iter_modules(paper.__path__))
    found = [match[1] for name in names if (match := _NAME.fullmatch(name))]
    return tuple(sorted(found, key=lambda one: (int(one.rstrip(ascii_lowercase)), one)))


def figure(number: str) -> Figure:
    """The figure of a number.

    Raises InvalidInput if there is none.
    """
    if number not in numbers():
        raise InvalidInput("only", number, f"must be among {', '.join(numbers())}")
    found: Figure = module_of(number).FIGURE
    return found


def module_of(number: str) -> ModuleType:
    """The file of a figure."""
    return importlib.import_module(f"swingby.figures.paper.figure_{number}")


def all_figures() -> tuple[Figure, ...]:
    """All figures, in the order of the paper.

    Returns
    -------
    tuple of Figure
    """
    return tuple(figure(number) for number in numbers())


def chosen(
    only: str | int | Iterable[str | int] | None,
    editions: str | Iterable[str] | None,
) -> tuple[tuple[Figure, Edition], ...]:
    """The figures and editions that a call asks for.

    Raises InvalidInput for a figure or an edition that does not exist, and where nothing is left.
    """
    asked = None if only is None else _parts(only, "only")
    names = EDITIONS if editions is None else _parts(editions, "editions")
    for name in names:
        if name not in EDITIONS:
            raise InvalidInput("editions", name, f"must be among {', '.join(EDITIONS)}")
    figures = all_figures() if asked is None else tuple(map(figure, dict.fromkeys(asked)))
    found = tuple(
        (one, edition) for one in figures for edition in one.editions if edition.name in names
    )
    if not found:
        raise InvalidInput("editions", ", ".join(names), "must be editions that the figures have")
    return found


def _parts(given: object, argument: str) -> tuple[str, ...]:
    """``"5,8"``, ``5`` and ``["5", 8]`` as texts."""
    if isinstance(given, bool) or not isinstance(given, str | int | Iterable):
        raise InvalidInput(argument, given, "must be text or a list of texts")
    several = [given] if isinstance(given, str | int) else list(given)
    for one in several:
        if isinstance(one, bool) or not isinstance(one, str | int):
            raise InvalidInput(argument, one, "must be text or a list of texts")
    texts = [part.strip() for one in several for part in str(one).split(",")]
    texts = [text.lower() for text in texts if text]
    if not texts:
        raise InvalidInput(argument, given, "must name at least one")
    return tuple(texts)
