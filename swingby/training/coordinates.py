"""In which coordinates settings are trained together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from swingby.training.points import directions
from swingby.training.setting import Setting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Coordinates:
    """Inputs and outputs of some networks, and where the concepts lie in them.

    Parameters
    ----------
    inputs : int
        Number of input coordinates m: s, d, or in between.
    turned : bool
        Whether they are those of the concepts, so that direction p is coordinate p. AdamW
        divides entry by entry and does not commute with rotations; it sees the points as they
        are, in all d coordinates.
    frames : ndarray of shape (r, d, d)
        Column p: direction p in the coordinates of the outputs, and in those of the inputs
        if there are d; the identity where turned.
    target : ndarray of shape (d, m)
        The output that an input should have.
    """

    inputs: int
    turned: bool
    frames: Floats
    target: Floats


def coordinates(settings: tuple[Setting, ...]) -> Coordinates:
    """The coordinates of settings that are trained together.

    Parameters
    ----------
    settings : tuple of Setting
        Of one dimension and one optimizer.
    """
    first = settings[0]
    d = first.task.dim
    turned = first.optimizer.kind != "adamw"
    inputs = max(busy_inputs(one) for one in settings)
    if first.network.symmetric or not turned:
        inputs = d
    frames = np.stack([np.eye(d) if turned else directions(one) for one in settings])
    return Coordinates(inputs, turned, frames, np.eye(d, inputs))


def busy_inputs(setting: Setting) -> int:
    """Coordinates of the concepts up to the last that is not zero in all points.

    Examples
    --------
    >>> from swingby.theory.task import SIMTask
    >>> from swingby.training import Data
    >>> task = SIMTask([1, 2], dim=64)
    >>> busy_inputs(Setting(task)), busy_inputs(Setting(task, Data(free_sigma=0.1)))
    (2, 64)
    """
    task = setting.task
    if setting.data.free_sigma:
        return task.dim
    return max(task.s, 1 + int(np.flatnonzero(task.signal).max()))
