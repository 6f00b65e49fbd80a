"""Parameters of a network: drawn from a seed, taken from the caller, and rotated with the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.lab.networks.setting import Floats, Setting, shapes
from swingby.lab.networks.training_points import directions, stream
from swingby.theory import numbers


def initial_weights(setting: Setting) -> list[Floats]:
    """Parameters before the first step, of :func:`shapes`, in the coordinates of the data."""
    rng = np.random.default_rng(stream(setting.seed, "weights"))
    network = setting.network
    parameters: list[Floats] = []
    columns = 1
    for shape in shapes(setting):
        columns = shape[-1] if len(shape) == 2 else columns
        if network.initialization == "torch":
            reach = network.scale / math.sqrt(columns)
            parameters.append(rng.uniform(-reach, reach, shape))
        elif network.initialization == "gaussian":
            parameters.append(network.scale * rng.standard_normal(shape))
        else:
            parameters.append(network.scale * rng.random(shape))
    return parameters


def given_weights(setting: Setting, start: Sequence[Any]) -> list[Floats]:
    """Parameters from a caller, refused by name if they have other shapes."""
    expected = shapes(setting)
    if isinstance(start, (str, bytes, dict)) or not hasattr(start, "__len__"):
        raise InvalidInput("start", start, "must be a sequence of arrays, a weight or bias each")
    if len(start) != len(expected):
        arrays = f"{len(expected)} arrays" if len(expected) > 1 else "one array in a list"
        raise InvalidInput("start", f"{len(start)} arrays", f"must be {arrays}")
    parameters = []
    for index, (entry, shape) in enumerate(zip(start, expected, strict=True)):
        # Parameters of a torch module, which numpy takes only once they are detached.
        values = entry.detach().cpu().numpy() if hasattr(entry, "detach") else entry
        array = numbers.real_array(values, f"start[{index}]")
        if array.shape != shape:
            raise InvalidInput(f"start[{index}]", f"shape {array.shape}", f"must have {shape}")
        parameters.append(array)
    return parameters


def rotated(setting: Setting, weights: list[Floats], frame: Floats) -> list[Floats]:
    """Parameters in the coordinates of a frame, which stands for rotating every point."""
    parameters = [np.array(parameter) for parameter in weights]
    if not setting.network.symmetric:
        parameters[0] = parameters[0] @ frame
    last = [index for index, parameter in enumerate(parameters) if parameter.ndim == 2][-1]
    for index in range(last, len(parameters)):
        parameters[index] = frame.T @ parameters[index]
    return parameters


def as_given(setting: Setting, weights: list[Floats]) -> list[Floats]:
    """Parameters as they were trained, with all inputs, in the coordinates of the data."""
    if setting.optimizer.adaptive:
        return [np.array(weight) for weight in weights]
    return rotated(setting, weights, directions(setting).T)


def gram(U: Floats) -> Floats:
    """U U^T, symmetric to the last bit."""
    W = U @ U.swapaxes(-1, -2)
    return np.asarray((W + W.swapaxes(-1, -2)) / 2)
