"""Names of a package that load on first use, so that importing the package is cheap."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from importlib import resources
from typing import Any, NoReturn

import lazy_loader

from swingby.checkout import studies_folder, studies_module
from swingby.errors import MissingExtra
from swingby.hints import name_hint

#: The extra that installs a package.
EXTRAS = {"torch": "torch", "hypothesis": "testing", "pytest": "testing"}


def refusing(package: str, names: Sequence[str]) -> Callable[[str], NoReturn]:
    """``__getattr__`` of a module whose names are all there: it says what may be meant."""

    def refuse(name: str) -> NoReturn:
        hint = "" if name.startswith("__") else name_hint(name, names)
        raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")

    return refuse


def lazily(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package, by the names in its stub.

    The stub ``__init__.pyi`` says where each name lives, to type checkers as well. It is read as a
    resource, so that a package in a zip file has it too. Names of the experiments, in ``studies``,
    are listed where that folder is there.
    """
    stub = resources.files(package).joinpath("__init__.pyi").read_text(encoding="utf-8")
    submodules, attributes = set[str](), dict[str, list[str]]()
    experiments = dict[str, str]()
    for line in ast.parse(stub).body:
        if isinstance(line, ast.ImportFrom):
            names = [alias.name for alias in line.names]
            if line.module == package:
                submodules.update(names)
            elif str(line.module).startswith("studies."):
                experiments.update(dict.fromkeys(names, str(line.module)))
            else:
                inner = str(line.module).removeprefix(f"{package}.")
                attributes.setdefault(inner, []).extend(names)
    load, _, names = lazy_loader.attach(package, submodules, attributes)
    names = sorted([*names, *(experiments if studies_folder() is not None else ())])
    refuse = refusing(package, names)

    def load_or_explain(name: str) -> Any:
        if name in experiments:
            public_name = f"{package.replace('.lab.', '.')}.{name}"
            return getattr(studies_module(experiments[name], public_name), name)
        if name not in names:
            refuse(name)
        try:
            return load(name)
        except ModuleNotFoundError as error:
            if error.name not in EXTRAS:
                raise
            raise MissingExtra(error.name, EXTRAS[error.name]) from None

    return load_or_explain, names.copy, names
