"""Initial weights of a network, drawn from the seed of its setting."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.theory import numbers
from swingby.training.points import directions, stream
from swingby.training.setting import Setting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def shapes(setting: Setting) -> list[tuple[int, ...]]:
    """Shapes of the parameters: every weight, followed by its bias where there is one.

    Returns
    -------
    list of tuple of int
        ``[(d, width)]`` for the symmetric network.

    Examples
    --------
    >>> from swingby.theory.task import SIMTask
    >>> from swingby.training import Network
    >>> shapes(Setting(SIMTask([1, 2]), network=Network(depth=2, width=5)))
    [(5, 2), (5,), (2, 5), (2,)]
    """
    network, d = setting.network, setting.task.dim
    if network.symmetric:
        return [(d, setting.width)]
    sizes = [d, *[setting.width] * (network.depth - 1), d]
    found: list[tuple[int, ...]] = []
    for columns, rows in itertools.pairwise(sizes):
        found.append((rows, columns))
        if network.bias:
            found.append((rows,))
    return found


def initial_weights(setting: Setting) -> list[Floats]:
    """Parameters before the first step, in the coordinates in which the network sees its data.

    Returns
    -------
    list of ndarray
        Of the shapes of :func:`shapes`.
    """
    rng = np.random.default_rng(stream(setting.seed, "weights"))
    network = setting.network
    found: list[Floats] = []
    columns = 1
    for shape in shapes(setting):
        columns = shape[-1] if len(shape) == 2 else columns
        if network.initialization == "torch":
            reach = network.scale / math.sqrt(columns)
            found.append(rng.uniform(-reach, reach, shape))
        elif network.initialization == "gaussian":
            found.append(network.scale * rng.standard_normal(shape))
        else:
            found.append(network.scale * rng.random(shape))
    return found


def given_weights(setting: Setting, start: Sequence[Any]) -> list[Floats]:
    """Parameters that a caller gives.

    Parameters
    ----------
    setting : Setting
    start : sequence of arrays
        Of the shapes of :func:`shapes`.

    Raises
    ------
    InvalidInput
        For other shapes, and numbers that are not finite.
    """
    wanted = shapes(setting)
    if isinstance(start, (str, bytes)) or not hasattr(start, "__len__"):
        raise InvalidInput("start", start, "must be a sequence of arrays, a weight or bias each")
    if len(start) != len(wanted):
        raise InvalidInput("start", f"{len(start)} arrays", f"must be {len(wanted)} arrays")
    found = []
    for place, (one, shape) in enumerate(zip(start, wanted, strict=True)):
        # Parameters of a torch module, which numpy takes only once they are detached.
        plain = one.detach().cpu().numpy() if hasattr(one, "detach") else one
        array = numbers.real_array(plain, f"start[{place}]")
        if array.shape != shape:
            raise InvalidInput(f"start[{place}]", f"shape {array.shape}", f"must have {shape}")
        found.append(array)
    return found


def turned(setting: Setting, weights: list[Floats], frame: Floats, inputs: int) -> list[Floats]:
    """The same network seen in the coordinates of the concepts, its idle inputs dropped.

    Gradient descent commutes with turning the input and the output of a network, so turning the
    weights once stands for turning every point. A column of the first weight whose input is
    always zero never moves and never matters.

    Parameters
    ----------
    setting : Setting
    weights : list of ndarray
        As of :func:`initial_weights`.
    frame : ndarray of shape (d, d)
        As of :func:`swingby.training.points.directions`.
    inputs : int
        Coordinates that are not always zero: the first ones.
    """
    if setting.network.symmetric:
        return [frame.T @ weights[0]]
    found = [np.array(one) for one in weights]
    found[0] = found[0] @ frame[:, :inputs]
    last = [place for place, one in enumerate(found) if one.ndim == 2][-1]
    for place in range(last, len(found)):
        found[place] = frame.T @ found[place]
    return found


def given_data(setting: Setting, weights: list[Floats]) -> list[Floats]:
    """Parameters after the last step, in the coordinates in which the network is given its data.

    Parameters
    ----------
    setting : Setting
    weights : list of ndarray
        In the coordinates in which it was trained, with all inputs.
    """
    if setting.optimizer.kind == "adamw":
        return [np.array(one) for one in weights]
    return turned(setting, weights, directions(setting).T, setting.task.dim)
