"""How labels look in a phase diagram: colours, hatches, signs.

Labels differ in lightness and in hatch (or in the shape of a sign), so that a grey print reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from swingby.sweeping.labels import Label


@dataclass(frozen=True)
class Style:
    """How a label looks.

    Parameters
    ----------
    color : str
        Of the pixel.
    hatch : str
        Lines over it; empty for none.
    ink : str
        Colour of these lines; on a pale pixel they have the colour of the label.
    marker : str
        Sign of a draw.
    """

    color: str
    hatch: str
    ink: str
    marker: str

    @property
    def dark(self) -> str:
        """Colour of the lines on a pale pixel: that of the label, if it is darker than them."""
        return min(self.color, self.ink, key=lightness)


def mixed(color: str, keep: Any) -> Any:
    """A colour mixed with white.

    Parameters
    ----------
    color : str
    keep : float or ndarray of shape (n,)
        Share of the colour.
    """
    parts = np.array([int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    kept = np.asarray(keep)[..., None]
    return kept * parts + (1 - kept)


def lightness(color: str) -> float:
    """How light a colour prints in grey, from 0 to 1 (Rec. 601)."""
    red, green, blue = (int(color[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue


#: From light to dark.
STYLES = {
    str(Label.UNDECIDED): Style("#F4F4F4", "....", "#8A8A8A", "D"),
    str(Label.IN_ORDER): Style("#A9DFC8", "", "#2F7F62", "o"),
    str(Label.OUT_OF_ORDER): Style("#EFA02C", "////", "#8F5600", "^"),
    str(Label.TRAPPED): Style("#00699E", "\\\\\\\\", "#8CC7E6", "s"),
    str(Label.DIVERGED): Style("#3B0F3A", "xxxx", "#B98AB8", "X"),
    str(Label.UNFINISHED): Style("#D9D9D9", "----", "#7A7A7A", "v"),
}
FAILED = Style("#9B9B9B", "", "#4D4D4D", "P")
#: Pixels that have points, of which none says anything.
NOTHING = Style("#FAFAFA", "//", "#B5B5B5", ".")
#: How much of its colour a pixel keeps whose points all differ; up to which share it counts as
#: pale.
PALEST, PALE = 0.42, 0.7
#: For a label of another version.
OTHER = Style("#B0A080", "++", "#605030", "*")


def style_of(label: str) -> Style:
    """How a label looks."""
    return STYLES.get(label, OTHER)


def words(label: str) -> str:
    """A label as a reader says it."""
    return label.replace("_", " ")
