"""Flows: theories in continuous time, integrated setting by setting."""

from __future__ import annotations

from typing import Any

import numpy as np

from swingby.own_theory.family import Floats, Values
from swingby.own_theory.statement import Statement, call, refused

#: Looks at a run, and tolerances of the integration, relative to the start where that is small.
LOOKS, _TOLERANCE, _SMALLEST = 4000, 1e-10, 1e-12
#: Slopes of a run; a flow that needs more is stiff.
_MOST_SLOPES = 200_000


def flowed(statement: Statement, values: Values, state: Any, last: float) -> list[Any]:
    """The states of one setting at so many looks, evenly from 0 to the time `last`.

    After a blow-up they are nan.
    """
    # SciPy's integrators take longer to load than everything else.
    from scipy.integrate import solve_ivp

    assert statement.flow is not None
    flow, first, shapes = statement.flow, *_packed(state)
    slopes = 0

    def slope(t: float, y: Floats) -> Floats:
        nonlocal slopes
        slopes += 1
        if slopes > _MOST_SLOPES:
            required = (
                f"needs more than {_MOST_SLOPES} slopes for a time of {last:.3g}: it is stiff"
            )
            raise refused("flow", f"{required}; give a step= of its own")
        return _packed(call(flow, {**values, "t": t}, _unpacked(y, shapes)))[0]

    times = np.linspace(0.0, last, LOOKS + 1)
    tolerance = _TOLERANCE * np.maximum(np.abs(first), _SMALLEST)
    options: dict[str, Any] = {"rtol": _TOLERANCE, "atol": tolerance, "t_eval": times}
    solution = solve_ivp(slope, (0.0, last), first, method="DOP853", **options)
    looks = np.full((len(first), LOOKS + 1), np.nan)
    looks[:, : solution.y.shape[1]] = solution.y
    return [_unpacked(y, shapes) for y in looks.T]


def _packed(state: Any) -> tuple[Floats, list[Any]]:
    """The numbers of a state in a row, and the shapes of its arrays; None for one array."""
    arrays = [np.asarray(x, float) for x in (state if isinstance(state, tuple) else (state,))]
    shapes = [x.shape for x in arrays]
    flat = np.concatenate([x.ravel() for x in arrays])
    return flat, shapes if isinstance(state, tuple) else [None, *shapes]


def _unpacked(y: Floats, shapes: list[Any]) -> Any:
    if shapes[0] is None:
        return y.reshape(shapes[1])
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    return tuple(x.reshape(shape) for x, shape in zip(np.split(y, ends), shapes, strict=True))


def joined_states(states: list[Any]) -> Any:
    """The states of several settings as one, in its last axis."""
    if isinstance(states[0], tuple):
        return tuple(np.concatenate(arrays, axis=-1) for arrays in zip(*states, strict=True))
    return np.concatenate(states, axis=-1)
