"""The texts of steps, compiled: once per process for each d, map and scaling. Imports numba."""

from __future__ import annotations

import functools
import hashlib
from typing import Any

from numba import cfunc, types
from numba.extending import intrinsic

from swingby.simulate import step_source

#: A flat array of floats.
FLAT = types.Array(types.float64, 1, "C")


@intrinsic  # type: ignore[untyped-decorator]
def fma(typing_context: Any, a: Any, b: Any, c: Any) -> tuple[Any, Any]:
    """Product and sum with one rounding: one instruction where the machine has it."""

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.fma(*given)

    return types.float64(types.float64, types.float64, types.float64), emit


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
    return compile_text(text, "steps", name, types.void(FLAT, FLAT, types.int64), step_source)


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


def compile_text(text: str, function: str, name: str, signature: Any, module: Any) -> Any:
    """Compile a text under a name of its own, as if it stood in the module that writes it.

    So numba keeps it on disk like any other function, until that module changes; the name has a
    digest of the text, because what makes the text may stand in another module.

    Parameters
    ----------
    text : str
        Our own, made from d and flags; it may call ``fma``.
    function : str
        What it defines.
    name : str
        Unlike that of any other text of the module.
    signature : numba type
    module : module

    Returns
    -------
    numba cfunc
    """
    made: dict[str, Any] = {"fma": fma, "__name__": module.__name__}
    name = f"{name}_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    named = text.replace(f"def {function}(", f"def {name}(", 1)
    exec(compile(named, module.__file__, "exec"), made)  # noqa: S102
    return cfunc(signature, cache=True, error_model="numpy")(made[name])
