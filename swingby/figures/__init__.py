"""The paper's figures, each with criteria that it passes or fails.

:func:`make_figures` computes, judges and draws them. Figures of a kind are
one file of :mod:`swingby.figures.paper`.
"""

from swingby.figures.figure import Criterion, Edition, Figure, Measured
from swingby.figures.make import all_figures, make_figures
from swingby.figures.result import FiguresResult

__all__ = [
    "Criterion",
    "Edition",
    "Figure",
    "FiguresResult",
    "Measured",
    "all_figures",
    "make_figures",
]
