"""Which device torch computes on, and how many runs it is given at a time."""

from __future__ import annotations

import importlib
import re
from typing import Any

from swingby.errors import InvalidInput, MissingExtra

#: Entries of W together on a CUDA device (170 MB) and on the CPU (its caches), and runs together.
CUDA_ENTRIES, CPU_ENTRIES, MOST_TOGETHER = 2**21, 2**16, 2**16


def load_torch() -> Any:
    """Import torch, or say which extra it is in."""
    try:
        return importlib.import_module("torch")
    except ImportError:
        raise MissingExtra("torch", "torch") from None


def usable_device(device: object) -> tuple[Any, Any]:
    """The module torch and the device; other kinds of devices may lack float64 and are refused."""
    kind = type(device)
    known = isinstance(device, str) or (kind.__module__, kind.__name__) == ("torch", "device")
    name = str(device) if known else ""
    if not re.fullmatch(r"cpu(:0)?|cuda(:\d{1,4})?", name):
        requirement = 'must be None, "cpu", "cuda", or one CUDA device such as "cuda:1"'
        raise InvalidInput("device", device, requirement)
    torch = load_torch()
    place = torch.device(name)
    if place.type == "cuda":
        found = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if not found:
            raise InvalidInput("device", name, "needs a GPU that torch can use, and there is none")
        if place.index is not None and place.index >= found:
            raise InvalidInput("device", name, f"must be one of the {found} that torch can use")
    return torch, place


def pieces_on(place: Any, total: int, d: int) -> list[tuple[int, int]]:
    """The pieces of a batch, each by its first run and the first one after it."""
    entries = CUDA_ENTRIES if place.type == "cuda" else CPU_ENTRIES
    size = max(1, min(MOST_TOGETHER, entries // (d * d)))
    return [(first, min(first + size, total)) for first in range(0, total, size)]
