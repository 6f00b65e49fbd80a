"""Names of a package that load on first use, so that importing the package is cheap."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from swingby.errors import MissingExtra


def lazily(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package, by the imports of its stub.

    The stub ``__init__.pyi`` says where each name lives, to type checkers as well.
    """
    own = vars(sys.modules[package])
    stub = ast.parse(Path(own["__file__"]).with_suffix(".pyi").read_text(encoding="utf-8"))
    homes = {
        name.name: str(line.module)
        for line in stub.body
        if isinstance(line, ast.ImportFrom)
        for name in line.names
    }

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

    return load, lambda: sorted({*own, *homes}), sorted(homes)
