"""A digest of what a theory says: its numbers, formulas and functions, and what these refer to."""

from __future__ import annotations

import functools
import hashlib
import inspect
import re
import sys
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from swingby.own_theory.settings import Settings
from swingby.own_theory.statement import LIBRARIES, Statement


def digest_of(statement: Statement, base: Settings) -> str:
    """A digest of a theory, and of the numbers that a sweep does not vary.

    Functions count by their code, with all values, functions and objects of the user that they
    refer to, in whatever module.
    """
    content = _spelled([statement, base.scalars, base.draws], frozenset())
    return hashlib.sha256(content.encode()).hexdigest()


def _spelled(x: Any, above: frozenset[int]) -> str:
    """A value in full; `above` are the objects that it is met in, which are spelled already."""
    if id(x) in above:
        return getattr(x, "__qualname__", type(x).__qualname__)
    inside = above | {id(x)}
    if isinstance(x, functools.partial):
        return _spelled([x.func, *x.args, x.keywords], above)
    if isinstance(x, types.MethodType):
        return _spelled([x.__func__, x.__self__], above)
    if isinstance(x, types.FunctionType):
        names = sorted(_names(x.__code__))
        referred = {**inspect.getclosurevars(x).nonlocals}
        referred |= {name: x.__globals__[name] for name in names if name in x.__globals__}
        modules = [y for y in referred.values() if isinstance(y, types.ModuleType) and _is_own(y)]
        for module in modules:  # of which a function names what it takes
            referred |= {name: vars(module)[name] for name in names if name in vars(module)}
        referred = {name: y for name, y in referred.items() if _counts(x, y)}
        return _spelled([x.__code__, x.__defaults__, x.__kwdefaults__, referred], inside)
    if isinstance(x, types.CodeType):
        return _spelled([x.co_code.hex(), x.co_names, x.co_varnames, x.co_consts], above)
    if isinstance(x, np.ndarray):
        return f"{x.shape} {x.tolist()}"
    if is_dataclass(x) and not isinstance(x, type):
        return _spelled({field.name: getattr(x, field.name) for field in fields(x)}, above)
    if isinstance(x, Mapping):
        return f"{{{', '.join(f'{name}: {_spelled(y, above)}' for name, y in x.items())}}}"
    if isinstance(x, set | frozenset):
        return f"{{{', '.join(sorted(_spelled(y, above) for y in x))}}}"
    if isinstance(x, list | tuple):
        return f"[{', '.join(_spelled(y, above) for y in x)}]"
    if hasattr(x, "__wrapped__"):  # a function that remembers
        return _spelled(x.__wrapped__, above)
    if isinstance(x, type) and _is_own(x):
        return _spelled([y for y in vars(x).values() if isinstance(y, types.FunctionType)], inside)
    if hasattr(x, "__dict__") and _is_own(type(x)):
        return _spelled([vars(x), type(x)], inside)
    return re.sub(r" at 0x[0-9a-f]+", "", repr(x))


def _names(code: types.CodeType) -> set[str]:
    """The names that code speaks of, and the functions inside it."""
    inner = [x for x in code.co_consts if isinstance(x, types.CodeType)]
    return set(code.co_names).union(*map(_names, inner))


def _counts(function: types.FunctionType, x: Any) -> bool:
    """Whether what a function refers to is part of the theory: no module, and of no library."""
    if isinstance(x, types.FunctionType | type):
        return x.__module__ == function.__module__ or _is_own(x)
    return not isinstance(x, types.ModuleType | types.BuiltinFunctionType)


def _is_own(x: Any) -> bool:
    """Whether a module, or the module of a class or a function, is code of the user."""
    name = x.__name__ if isinstance(x, types.ModuleType) else x.__module__
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is None:
        return name == "__main__"
    return not any(Path(file).is_relative_to(folder) for folder in LIBRARIES if folder)
