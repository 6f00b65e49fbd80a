"""A digest of what a theory says: its numbers, formulas and functions, and what these refer to."""

from __future__ import annotations

import functools
import hashlib
import inspect
import re
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from swingby.own_theory.settings import Settings
from swingby.own_theory.statement import Statement


def digest_of(statement: Statement, base: Settings) -> str:
    """A digest of a theory, and of the numbers that a sweep does not vary.

    Functions count by their code, with the values and the functions of their module that they use.
    """
    content = _spelled(statement, frozenset()) + base.text()
    return hashlib.sha256(content.encode()).hexdigest()


def _spelled(x: Any, above: frozenset[int]) -> str:
    """A value in full; `above` are the functions that it is met in, which are spelled already."""
    if isinstance(x, functools.partial):
        return _spelled([x.func, *x.args, x.keywords], above)
    if isinstance(x, types.FunctionType):
        if id(x) in above:
            return x.__qualname__
        used = inspect.getclosurevars(x)
        others = {
            name: y for name, y in {**used.nonlocals, **used.globals}.items() if _counts(x, y)
        }
        return _spelled([x.__code__, x.__defaults__, x.__kwdefaults__, others], above | {id(x)})
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
    return re.sub(r" at 0x[0-9a-f]+", "", repr(x))


def _counts(function: types.FunctionType, x: Any) -> bool:
    """Whether what a function refers to is part of the theory: no module, no class, no library."""
    if isinstance(x, types.FunctionType):
        return x.__module__ == function.__module__
    return not isinstance(x, type | types.ModuleType | types.BuiltinFunctionType)
