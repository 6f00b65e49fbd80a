"""The texts of steps, compiled: once per process for each d, map and scaling. Imports numba."""

from __future__ import annotations

import functools
from typing import Any

from numba import cfunc, types
from numba.extending import intrinsic

from swingby.simulate import step_source

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
        See :func:`swingby.simulate.step_source.lane_source`.

    Returns
    -------
    numba cfunc
    """
    name = f"lanes_{d}_{'gd' if gd else 'euler'}{'_scaled' * scaled}"
    text = step_source.lane_source(d, gd=gd, scaled=scaled)
    return _compile(text, name, types.void(_FLAT, types.int64))


@functools.cache
def single_steps(d: int, *, gd: bool, scaled: bool) -> Any:
    """A function ``steps(numbers, block, count)`` that compiled code can call.

    Parameters
    ----------
    d : int
    gd, scaled : bool
        See :func:`swingby.simulate.step_source.single_source`.

    Returns
    -------
    numba cfunc
    """
    name = f"single_{d}_{'gd' if gd else 'euler'}{'_scaled' * scaled}"
    text = step_source.single_source(d, gd=gd, scaled=scaled)
    return _compile(text, name, types.void(_FLAT, _FLAT, types.int64))


def steps_of_a_run(d: int, *, gd: bool, scaled: bool) -> tuple[Any, Any]:
    """The two functions that :func:`swingby.simulate.kernels.advance` wants.

    Parameters
    ----------
    d : int
        Above WRITTEN_OUT any function will do.
    gd : bool
    scaled : bool
        Whether W is held as D X D; it stays so or ceases to be.

    Returns
    -------
    plain, scaled : numba cfunc
    """
    size = d if d <= step_source.WRITTEN_OUT else 1
    plain = single_steps(size, gd=gd, scaled=False)
    return plain, single_steps(size, gd=gd, scaled=True) if scaled else plain


def _compile(text: str, name: str, signature: Any) -> Any:
    """Compile a text under a name of its own, as if it stood in the module that writes it.

    So numba keeps it on disk like any other function, until that module changes.
    """
    made: dict[str, Any] = {"fma": fma, "__name__": step_source.__name__}
    named = text.replace("def steps(", f"def {name}(", 1)
    # The text is our own, made from d and two flags.
    exec(compile(named, step_source.__file__, "exec"), made)  # noqa: S102
    return cfunc(signature, cache=True, error_model="numpy")(made[name])
