"""Names of a package that load on first use, so that importing the package is cheap."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from swingby.errors import MissingExtra, suggestion

#: The extra that installs a package.
EXTRAS = {"torch": "torch", "hypothesis": "testing", "pytest": "testing"}


def lazily(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package, by the names in its stub.

    The stub ``__init__.pyi`` says where each name lives, to type checkers as well. A name may be
    that of a folder of the package; one that is both a folder and a function is the folder once
    the folder is imported, so it has to be callable.
    """
    own = vars(sys.modules[package])
    stub = ast.parse(Path(own["__file__"]).with_suffix(".pyi").read_text(encoding="utf-8"))
    homes = {
        name.name: f"{package}.{name.name}" if line.module == package else str(line.module)
        for line in stub.body
        if isinstance(line, ast.ImportFrom)
        for name in line.names
    }
    names = sorted(homes)

    def load(name: str) -> Any:
        if name not in homes:
            hint = suggestion(name, names)
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        try:
            module = importlib.import_module(homes[name])
        except ModuleNotFoundError as error:
            if error.name not in EXTRAS:
                raise
            raise MissingExtra(error.name, EXTRAS[error.name]) from None
        if name not in own:  # importing a folder makes it a name of the package
            own[name] = getattr(module, name)
        return own[name]

    return load, names.copy, names
