"""Entries of W: their names, and pictures of them and of the test loss over the steps of a run."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
from swingby.report.picture_style import COLORS, DASHES, is_narrow, legend_above

#: Up to so many concepts each entry of W has a name and a colour; past them only major ones do.
_NAMED = 5
#: The same in a narrow figure, whose legend stands above the axes.
_NAMED_NARROW = 3
#: Names past which a legend beside the axes is written in two columns.
_TALL = 14


def entry_name(i: int, j: int) -> str:
    """The name of an entry of W in text: ``w_12``, and ``w_1,12`` where that is ambiguous."""
    return f"w_{_indices(i, j)}"


def entry_label(i: int, j: int) -> str:
    """The name of an entry of W in a legend."""
    return f"$w_{{{_indices(i, j)}}}$"


def _indices(i: int, j: int) -> str:
    """Both indices, counted from 1 as in the paper."""
    return f"{i + 1}{',' if max(i, j) > 8 else ''}{j + 1}"


def is_named(k: int, order: Sequence[int]) -> bool:
    """Whether a legend names concept k: the first and last alone where colours would repeat."""
    return len(order) <= len(COLORS) or k in (order[0], order[-1])


def draw_entries(
    ax: Axes, steps: Any, W: Any, order: Sequence[int], loss: Any, *, faint: bool = False
) -> None:
    """Entries of W (n, d, d) over steps (n,), and the test loss in units of its start.

    Major entries in the `order` of learning are solid, minor ones dashed, the loss is black. Of
    many concepts the minor entries are grey and share a name; of more than there are colours, the
    first and the last to be learned alone are named.
    `faint`: wide and pale and without a name, for what is predicted.
    """
    wide: dict[str, Any] = {"linewidth": 3.2, "alpha": 0.25, "zorder": 1}
    colors, dashes = itertools.cycle(COLORS), itertools.cycle(DASHES[1:])
    most = _NAMED_NARROW if is_narrow(ax) else _NAMED
    for i, j in [(k, k) for k in order] + list(itertools.combinations(sorted(order), 2)):
        name = {"linestyle": "-" if i == j else next(dashes), "label": entry_label(i, j)}
        color = next(colors)
        if i != j and len(order) > most:
            first = [i, j] == sorted(order)[:2]
            name["label"], color = "$w_{ij}$, $i \\neq j$" if first else "_", "0.6"
        elif i == j and not is_named(i, order):
            name["label"] = "_"
        ax.plot(steps, W[:, i, j], color=color, **(wide if faint else name))
    black = wide | {"alpha": 0.18} if faint else {"linewidth": 1.1, "label": "test loss"}
    ax.plot(steps, loss, color="black", **black)


def draw_half_time(
    ax: Axes, time: float, early: float, late: float, color: str, level: float = 0.5
) -> None:
    """A mark at the half, or at another level, with the bar of its time."""
    ax.errorbar(
        [time],
        [level],
        xerr=[[early], [late]],
        color=color,
        marker="v",
        markersize=6,
        markeredgecolor="white",
        markeredgewidth=0.6,
        capsize=2,
        zorder=5,
    )


def step_axis(ax: Axes, first: float, last: float, title: str) -> None:
    """A logarithmic axis of steps between two of them, and the title."""
    from matplotlib.ticker import LogFormatterSciNotation, LogLocator

    ax.set_xscale("log")
    if last > 8 * first and math.log10(last) // 1 <= -(-math.log10(first) // 1):
        # One decade alone would be one number, which is no scale.
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
        ax.xaxis.set_major_formatter(LogFormatterSciNotation(minor_thresholds=(math.inf,) * 2))
    if last > 8 * first:  # else the ticks between decades are all there are
        ax.minorticks_on()
        ax.xaxis.set_minor_formatter("")
    ax.set(xlim=(first, last), xlabel="step", title=title.replace("^2", "\N{SUPERSCRIPT TWO}"))


def finish_entries(ax: Axes, first: float, last: float, title: str = "", low: float = 0.0) -> None:
    """Axes, title and legend of a picture of entries, between two steps."""
    step_axis(ax, first, last, title)
    ax.set(ylim=(min(-0.05, low - 0.03), 1.12), ylabel="entry of W, loss / start")
    if not legend_above(ax):
        columns = 1 + (len(ax.get_legend_handles_labels()[1]) > _TALL)
        anchor: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
        ax.legend(**anchor, handlelength=2.6, ncols=columns)
