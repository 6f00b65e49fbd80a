"""Files of tensors in the format safetensors, read within bounds: names, shapes, bytes; no code.

A file is the length of its head in 8 bytes, the head in JSON, with type, shape and bytes of each
tensor, and these bytes without gaps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from swingby.errors import InvalidInput
from swingby.theory.input_files import MOST_BYTES, MOST_TEXT, content_of, plain_json

_WHAT = "file of safetensors"
_MOST_AXES = 8
#: NumPy's types of the floats that are read. It has none for BF16.
_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}


@dataclass(frozen=True, eq=False)
class BrainFloats:
    """An array of bfloat16, of which NumPy has no type; `bits` (uint16) are half a float32."""

    bits: NDArray[np.uint16]
    dtype: ClassVar[str] = "bfloat16"

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.bits.shape

    @property
    def ndim(self) -> int:
        """The number of its axes."""
        return self.bits.ndim

    def __len__(self) -> int:
        return len(self.bits)

    def __getitem__(self, index: int) -> BrainFloats:
        return BrainFloats(self.bits[index])

    def to_numpy(self) -> NDArray[np.float32]:
        """The same numbers in float32."""
        return (self.bits.astype(np.uint32) << 16).view(np.float32)


def read_tensors(path: str | Path, argument: str) -> dict[str, Any]:
    """The tensors of a file by name, in the order of its head: arrays, or `BrainFloats`.

    Raises InvalidInput if it cannot be read, is cut off, has bytes that belong to no tensor or to
    two, or holds other numbers than floats.
    """
    content = content_of(path, argument, _WHAT, MOST_BYTES)
    try:
        head, data = _divided(content)
        entries = {name: _entry(name, value) for name, value in head.items()}
        end = 0
        for start, stop, name in sorted((*entry[2], name) for name, entry in entries.items()):
            if start != end:
                kind = "overlap" if start < end else "leave a gap"
                raise ValueError(f"the bytes of {name} and of the tensor before it {kind}")
            end = stop
        if end != len(data):
            raise ValueError(f"its tensors have {end} bytes, and it has {len(data)}")
    except ValueError as error:
        reason = " ".join(str(error).split())[:120]
        raise InvalidInput(argument, path, f"must be a {_WHAT} ({reason})") from None
    tensors: dict[str, Any] = {}
    for name, (kind, shape, span) in entries.items():
        array = np.frombuffer(data[slice(*span)], dtype=_TYPES[kind]).reshape(shape)
        tensors[name] = BrainFloats(array) if kind == "BF16" else array
    return tensors


def _divided(content: bytes) -> tuple[dict[str, Any], memoryview]:
    """The head, less its free text, and the bytes behind it; ValueError where it is broken."""
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or length > len(content) - 8:
        raise ValueError("it is cut off, or no such file")
    if length > MOST_TEXT:
        raise ValueError(f"a head of {length >> 20} MB")
    head = plain_json(content[8 : 8 + length].decode("utf-8"))
    if not isinstance(head, dict):
        raise ValueError("its head is no table")
    head.pop("__metadata__", None)
    if not head:
        raise ValueError("it has no tensor")
    return head, memoryview(content)[8 + length :]


def _entry(name: str, value: Any) -> tuple[str, tuple[int, ...], tuple[int, int]]:
    """Type, shape and bytes of a tensor by its entry; ValueError where it is broken."""
    if not isinstance(value, dict) or set(value) != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"{name} needs dtype, shape and data_offsets")
    kind, shape, span = value["dtype"], value["shape"], value["data_offsets"]
    if str(kind) not in _TYPES:
        raise ValueError(f"{name} is {str(kind)[:20]}: only {', '.join(_TYPES)} are weights")
    for numbers in (shape, span):
        if not isinstance(numbers, list) or any(
            type(number) is not int or not 0 <= number <= MOST_BYTES for number in numbers
        ):
            raise ValueError(f"{name} has the shape {str(shape)[:40]} at {str(span)[:40]}")
    if len(shape) > _MOST_AXES:
        raise ValueError(f"{name} has {len(shape)} axes")
    size = math.prod(shape) * np.dtype(_TYPES[kind]).itemsize
    if len(span) != 2 or span[1] - span[0] != size:
        raise ValueError(
            f"{name} of {kind} and shape {shape} has {size} bytes, not those of {span}"
        )
    return kind, tuple(shape), (span[0], span[1])
