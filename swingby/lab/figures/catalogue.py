"""The catalogue of figures: all that there are, and those of given numbers and editions."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterable

from swingby.errors import InvalidInput
from swingby.lab.figures.figure import EDITIONS, Edition, Figure


@functools.cache
def all_figures() -> tuple[Figure, ...]:
    """All figures, in the order of the paper.

    Returns
    -------
    tuple of Figure

    Examples
    --------
    >>> [figure.number for figure in all_figures()][:5]
    ['2a', '2b', '2c', '3', '4']
    """
    from swingby.lab.figures import paper

    names = [module.name for module in pkgutil.iter_modules(paper.__path__, f"{paper.__name__}.")]
    figures: list[Figure] = []
    for name in names:
        figures += importlib.import_module(name).FIGURES
    return tuple(
        sorted(figures, key=lambda figure: (int(figure.number.rstrip("abc")), figure.number))
    )


def figure_of(number: str) -> Figure:
    """The figure of a number."""
    figures = {figure.number: figure for figure in all_figures()}
    if number not in figures:
        raise InvalidInput("only", number, f"must be among {', '.join(figures)}")
    return figures[number]


def chosen(
    only: str | int | Iterable[str | int] | None, editions: str | Iterable[str] | None
) -> tuple[tuple[Figure, Edition], ...]:
    """The figures and editions of a call, as arguments of `make_figures` choose them."""
    figures = all_figures()
    if only is not None:
        figures = tuple(map(figure_of, dict.fromkeys(_words(only, "only"))))
    names = EDITIONS if editions is None else _words(editions, "editions")
    for name in names:
        if name not in EDITIONS:
            raise InvalidInput("editions", name, f"must be among {', '.join(EDITIONS)}")
    return tuple(
        (figure, edition)
        for figure in figures
        for edition in figure.editions
        if edition.name in names
    )


def _words(choice: object, argument: str) -> tuple[str, ...]:
    """``"5,8"``, ``5`` and ``["5", 8]`` as texts."""
    single = isinstance(choice, str | int)
    values = list(choice) if isinstance(choice, Iterable) and not single else [choice]
    for value in values:
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise InvalidInput(argument, value, "must be text or a list of texts")
    texts = [text.strip().lower() for value in values for text in str(value).split(",")]
    words = tuple(filter(None, texts))
    if not words:
        raise InvalidInput(argument, choice, "must name at least one")
    return words
