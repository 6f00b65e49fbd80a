"""The paper's figures, each with criteria that it passes or fails.

:func:`make_figures` computes, judges and draws them. A figure is one file of
:mod:`swingby.figures.paper`. Names load on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {
    "Criterion": "swingby.figures.figure",
    "Edition": "swingby.figures.figure",
    "Figure": "swingby.figures.figure",
    "FiguresResult": "swingby.figures.result",
    "Measured": "swingby.figures.figure",
    "all_figures": "swingby.figures.make",
    "make_figures": "swingby.figures.make",
}

__all__ = [*sorted(_HOME)]

if TYPE_CHECKING:
    from swingby.figures.figure import Criterion as Criterion
    from swingby.figures.figure import Edition as Edition
    from swingby.figures.figure import Figure as Figure
    from swingby.figures.figure import Measured as Measured
    from swingby.figures.make import all_figures as all_figures
    from swingby.figures.make import make_figures as make_figures
    from swingby.figures.result import FiguresResult as FiguresResult


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'swingby.figures' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
