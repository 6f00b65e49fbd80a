"""The texts of steps, compiled: once per process for each d, map and scaling. Imports numba."""

from __future__ import annotations

import functools
import linecache
from typing import Any

from numba import cfunc, types
from numba.extending import intrinsic

from swingby.simulate.step_source import single_source, step_source

_FLAT = types.Array(types.float64, 1, "C")


@intrinsic  # type: ignore[untyped-decorator]
def fma(typing_context: Any, a: Any, b: Any, c: Any) -> tuple[Any, Any]:
    """Product and sum with one rounding: one instruction where the machine has it."""

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.fma(*given)

    return types.float64(types.float64, types.float64, types.float64), emit


@functools.cache
def lane_steps(d: int, *, gd: bool, scaled: bool) -> Any:
    """A function ``steps(tile, count)`` that compiled code can call.

    Parameters
    ----------
    d : int
    gd, scaled : bool
        See :func:`swingby.simulate.step_source.step_source`.

    Returns
    -------
    numba cfunc
    """
    name = f"<steps in lanes, d = {d}, {'gd' if gd else 'euler'}{', scaled' * scaled}>"
    text = step_source(d, gd=gd, scaled=scaled)
    return _compile(text, name, types.void(_FLAT, types.int64))


@functools.cache
def single_steps(d: int, block: int, *, gd: bool, scaled: bool) -> Any:
    """A function ``steps(numbers, block, count)`` that compiled code can call.

    Parameters
    ----------
    d, block : int
    gd, scaled : bool
        See :func:`swingby.simulate.step_source.single_source`.

    Returns
    -------
    numba cfunc
    """
    name = f"<steps of one run, d = {d}, {'gd' if gd else 'euler'}{', scaled' * scaled}>"
    text = single_source(d, block, gd=gd, scaled=scaled)
    return _compile(text, name, types.void(_FLAT, _FLAT, types.int64))


def _compile(text: str, name: str, signature: Any) -> Any:
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    made: dict[str, Any] = {"fma": fma}
    # The text is our own, made from d and two flags.
    exec(compile(text, name, "exec"), made)  # noqa: S102
    return cfunc(signature, error_model="numpy")(made["steps"])
