"""Which device torch computes on, and how many runs it is given at a time."""

from __future__ import annotations

import importlib
import re
from typing import Any

from swingby.errors import InvalidInput, MissingExtra

#: Entries of W of all runs that are on a CUDA device together; about ten tensors of this size
#: are needed, so 170 MB.
CUDA_ENTRIES = 2**21
#: The same for torch on the CPU, where the tensors are to stay in its caches.
CPU_ENTRIES = 2**16
#: Runs together at most: beside W, their arguments take about 2 kB each on the host.
MOST_TOGETHER = 2**16

_NAME = re.compile(r"cpu(:0)?|cuda(:\d{1,4})?")
_REQUIREMENT = 'must be None, "cpu", "cuda", or one CUDA device such as "cuda:1"'


def usable_device(device: object) -> tuple[Any, Any]:
    """Load torch and check that it can compute on a device.

    Parameters
    ----------
    device : str or torch.device

    Returns
    -------
    torch : module
    device : torch.device

    Raises
    ------
    InvalidInput
        For anything that names neither the CPU nor a CUDA device that is there. Other kinds of
        devices are refused: some have no float64, and none of them was tried.
    MissingExtra
        If torch is not installed.
    """
    known = isinstance(device, str) or _is_torch_device(device)
    name = str(device) if known else ""
    if not _NAME.fullmatch(name):
        raise InvalidInput("device", device, _REQUIREMENT)
    torch = load_torch()
    place = torch.device(name)
    if place.type == "cuda":
        found = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if not found:
            raise InvalidInput("device", name, "needs a GPU that torch can use, and there is none")
        if place.index is not None and place.index >= found:
            raise InvalidInput("device", name, f"must be one of the {found} that torch can use")
    return torch, place


def _is_torch_device(device: object) -> bool:
    kind = type(device)
    return (kind.__module__, kind.__name__) == ("torch", "device")


def load_torch() -> Any:
    """Import torch.

    Returns
    -------
    module

    Raises
    ------
    MissingExtra
        If it is not installed.
    """
    try:
        return importlib.import_module("torch")
    except ImportError:
        raise MissingExtra("torch", "torch") from None


def runs_together(kind: str, d: int) -> int:
    """How many runs make a piece of a batch.

    Parameters
    ----------
    kind : {"cpu", "cuda"}
    d : int

    Returns
    -------
    int

    Examples
    --------
    >>> runs_together("cuda", 3), runs_together("cuda", 40), runs_together("cpu", 3)
    (65536, 1310, 7281)
    """
    entries = CUDA_ENTRIES if kind == "cuda" else CPU_ENTRIES
    return max(1, min(MOST_TOGETHER, entries // (d * d)))
