"""Layers by name, of state dicts and files: the matrices in the order of application."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.theory.input_files import read_arrays
from swingby.theory.tensor_files import read_tensors

#: Layers up to which an order is sought in which they fit together.
_MOST_ORDERED = 6
_ENDINGS = (".npz", ".safetensors", ".npy")
#: What there is for a network without a law.
ELSEWHERE = "swingby.watch(model, optimizer, X, Y) forecasts any module"
#: What may be done about biases.
NO_BIAS = f"must have no biases: train it on X - X.mean(0) and Y - Y.mean(0); {ELSEWHERE}"


def axes_of(value: Any) -> int:
    """The number of axes of an array of any library, or of nested sequences."""
    if hasattr(value, "ndim"):
        return int(value.ndim)
    return 1 + (axes_of(value[0]) if value else 0) if isinstance(value, (list, tuple)) else 0


def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of an array of any library, or of nested sequences; of ragged ones ()."""
    try:
        return np.shape(value)
    except ValueError:
        return ()


def numbered(name: object) -> tuple[str, tuple[int, ...]]:
    """A name without its whole numbers, and these."""
    return re.sub(r"\d+", "0", str(name)), tuple(map(int, re.findall(r"\d+", str(name))))


def is_file(value: Any) -> bool:
    """Whether it is the path of a file of layers."""
    return isinstance(value, (str, Path)) and Path(value).suffix.lower() in _ENDINGS


def read_tables(path: str | Path, argument: str) -> dict[str, Any]:
    """The arrays of a .npz or .safetensors file by name."""
    suffix = Path(path).suffix.lower()
    if suffix in (".pt", ".pth", ".ckpt", ".bin", ".pkl"):
        words = "must not be a pickle, which may run code: torch.load it, and "
        words += 'safetensors.torch.save_file(model.state_dict(), "weights.safetensors")'
        raise InvalidInput(argument, path, words)
    if suffix not in (".npz", ".safetensors"):
        raise InvalidInput(argument, path, "must end in .safetensors or .npz, arrays by name")
    return (read_arrays if suffix == ".npz" else read_tensors)(path, argument)


def read_file(path: str | Path, argument: str = "weights") -> Any:
    """The arrays of a file by name; of .npy an array."""
    if Path(path).suffix.lower() == ".npy":
        return next(iter(read_arrays(path, argument).values()))
    return read_tables(path, argument)


def layers_of(state: Mapping[str, Any], argument: str = "weights") -> list[Any]:
    """The matrices, or stacks of them, of a state dict in the order of application.

    That is the order of the numbers in their names, which skip none. Where names have no numbers,
    the shapes may leave one order alone; if they do not, it is refused.
    """
    state = {name: value for name, value in state.items() if name != "steps"}
    for name, value in state.items():
        if "bias" in str(name):
            raise InvalidInput(argument, f"a bias, {name}", NO_BIAS)
        if len(shape_of(value)) not in (2, 3):
            words = f"must be matrices: there is no law for other layers; {ELSEWHERE}"
            raise InvalidInput(argument, f"{name} of shape {shape_of(value)}", words)
    if not state:
        raise InvalidInput(argument, "no layer", "must be matrices by name, one a layer")
    typed = ", ".join(f'state["{name}"]' for name in itertools.islice(state, 3))
    typed = f"[{typed}{', ...' if len(state) > 3 else ''}]"
    if len({numbered(name)[0] for name in state}) == 1:
        names = sorted(state, key=numbered)
        for (_, low), (_, high) in itertools.pairwise(map(numbered, names)):
            if next((b - a for a, b in zip(low, high, strict=True) if a != b), 0) > 1:
                words = "must have no layer in between without a weight: there is no law for an "
                words += f"activation ({ELSEWHERE}); if there is none, give {typed}"
                raise InvalidInput(argument, ", ".join(map(str, names)), words)
        return [state[name] for name in names]
    orders = [
        order
        for order in itertools.permutations(state if len(state) <= _MOST_ORDERED else ())
        if all(
            shape_of(state[low])[-2] == shape_of(state[high])[-1]
            for low, high in itertools.pairwise(order)
        )
    ]
    if len(orders) != 1:
        words = "must have names that tell the order of layers; give them in it, the one applied "
        words += f"first first: {typed}"
        raise InvalidInput(argument, ", ".join(map(str, state)), words)
    return [state[name] for name in orders[0]]
