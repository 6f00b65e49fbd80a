"""The paper's figures, each with criteria that it passes or fails.

:func:`make_figures` computes, judges and draws them. Figures of a kind are
one file of :mod:`swingby.lab.figures.paper`.
"""

from swingby.lab.figures.catalogue import all_figures
from swingby.lab.figures.figure import Criterion, Edition, Figure, Measured
from swingby.lab.figures.figures_result import FiguresResult
from swingby.lab.figures.make import make_figures

__all__ = [
    "Criterion",
    "Edition",
    "Figure",
    "FiguresResult",
    "Measured",
    "all_figures",
    "make_figures",
]
