"""How loops are compiled. The one module that imports numba, which takes 0.4 s: import it late."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Compile a function with numba: cached on disk, strict IEEE arithmetic, no interpreter lock.

    Division by zero gives inf or nan instead of an exception, and no warning is raised.

    Parameters
    ----------
    function : callable

    Returns
    -------
    callable
        With the same signature.
    """
    decorate = njit(cache=True, fastmath=False, nogil=True, error_model="numpy")
    return cast(Function, decorate(function))


def compiled_inside(function: Function) -> Function:
    """Like :func:`compiled`, for what is called once per block: put into its caller.

    A call that hands on a dozen arrays takes as long as ten steps, counting references.

    Parameters
    ----------
    function : callable

    Returns
    -------
    callable
    """
    decorate = njit(cache=True, fastmath=False, nogil=True, error_model="numpy", forceinline=True)
    return cast(Function, decorate(function))
