"""The texts of steps, compiled: once per process for each d, map and scaling. Imports numba."""

from __future__ import annotations

import functools
import hashlib
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import cfunc, types
from numba.extending import intrinsic

from swingby.simulate import step_source

#: A flat array of floats.
FLAT = types.Array(types.float64, 1, "C")
_POINTER = types.CPointer(types.float64)


@intrinsic  # type: ignore[untyped-decorator]
def fma(typing_context: Any, a: Any, b: Any, c: Any) -> tuple[Any, Any]:
    """Product and sum with one rounding: one instruction where the machine has it."""

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.fma(*given)

    return types.float64(types.float64, types.float64, types.float64), emit


@functools.cache
def single_steps(d: int, *, gd: bool, scaled: bool) -> Any:
    """A function ``steps(numbers, block, count, length)`` on pointers.

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
    signature = types.void(_POINTER, _POINTER, types.int64, types.int64)
    return compile_text(text, "steps", name, signature, step_source)


def steps_of_a_run(d: int, *, gd: bool, scaled: bool) -> tuple[int, int]:
    """What :func:`swingby.simulate.kernels.advance` wants first.

    Parameters
    ----------
    d : int
    gd : bool
    scaled : bool
        Whether W is held as D X D; it stays so or ceases to be.

    Returns
    -------
    plain, scaled : int
        Addresses of :func:`single_steps`; zero above SCALARS_UP_TO. Handing over an address
        takes numba a microsecond, a function thirty.
    """
    if d > step_source.SCALARS_UP_TO:
        return 0, 0
    plain = int(single_steps(d, gd=gd, scaled=False).address)
    return plain, int(single_steps(d, gd=gd, scaled=True).address) if scaled else plain


@intrinsic  # type: ignore[untyped-decorator]
def take_steps(
    typing_context: Any, address: Any, numbers: Any, block: Any, count: Any
) -> tuple[Any, Any]:
    """Call steps of one trajectory by their address; the last axis of the block is its length."""

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        whole, pointer = ir.IntType(64), ir.DoubleType().as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, pointer, whole, whole])
        steps = builder.inttoptr(given[0], kind.as_pointer())
        arrays = [
            context.make_array(signature.args[place])(context, builder, given[place])
            for place in (1, 2)
        ]
        length = builder.extract_value(arrays[1].shape, 2)
        builder.call(steps, [arrays[0].data, arrays[1].data, given[3], length])
        return context.get_dummy_value()

    return types.void(types.int64, numbers, block, types.int64), emit


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
