"""The texts of steps and looks, compiled: once per process for each d and map. Imports numba."""

from __future__ import annotations

import functools
from typing import Any

from numba import types

from swingby.simulate.compiled_steps import FLAT, compile_text
from swingby.simulate.lanes import source


@functools.cache
def lane_steps(d: int, *, gd: bool, scaled: bool, watched: bool) -> Any:
    """A function ``steps(tile, count)`` that compiled code can call.

    Parameters
    ----------
    d : int
    gd, scaled, watched : bool
        See :func:`swingby.simulate.lanes.source.steps_source`.

    Returns
    -------
    numba cfunc
    """
    text = source.steps_source(d, gd=gd, scaled=scaled, watched=watched)
    name = f"lanes_{d}_{'gd' if gd else 'euler'}{'_scaled' * scaled}{'_watched' * watched}"
    signature = types.void(FLAT, types.int64)
    return compile_text(text, "steps", name, signature, source)


@functools.cache
def lane_look(d: int, *, gd: bool, watched: bool) -> Any:
    """A function ``look(tile, skip, rest)`` that compiled code can call.

    Parameters
    ----------
    d : int
    gd, watched : bool
        See :func:`swingby.simulate.lanes.source.look_source`.

    Returns
    -------
    numba cfunc
    """
    text = source.look_source(d, gd=gd, watched=watched)
    name = f"look_{d}_{'gd' if gd else 'euler'}{'_watched' * watched}"
    return compile_text(text, "look", name, types.void(FLAT, types.float64, types.float64), source)
