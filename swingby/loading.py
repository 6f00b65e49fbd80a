"""Names of a package that load on first use, so that importing the package is cheap."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from swingby.errors import MissingExtra


def lazily(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package, from its names and the modules they are in."""
    own = vars(sys.modules[package])

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            own[name] = getattr(importlib.import_module(homes[name]), name)
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            raise MissingExtra("torch", "torch") from None
        return own[name]

    return load, lambda: sorted({*own, *homes})
