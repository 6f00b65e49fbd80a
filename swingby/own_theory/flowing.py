"""Flows: theories in continuous time, integrated setting by setting."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from swingby.own_theory.family import Floats, Values
from swingby.own_theory.statement import Statement, call, real, refused

#: Even looks at a run, and looks at each step of the integration.
_LOOKS, _PARTS = 1000, 8
#: Tolerances of the integration, relative to the start where that is small.
_TOLERANCE, _SMALLEST = 1e-10, 1e-12
#: Slopes of a run; a flow that needs more is stiff.
_MOST_SLOPES = 200_000


@dataclass(frozen=True)
class Run:
    """An observable along a flow: times at which to look first, and what it is at any times."""

    times: Floats
    x: Callable[[Floats], Floats]
    values: Callable[[Floats], dict[str, Any]]


def flowed(
    statement: Statement, values: Values, state: Any, last: float
) -> tuple[Floats, Callable[[Any], Any]]:
    """Times to look at one setting from 0 to `last`, and its states at any of these or between.

    Looks are even, and as dense as the steps of the integration. After a blow-up states are nan.
    """
    # SciPy's integrators take longer to load than everything else.
    from scipy.integrate import solve_ivp

    assert statement.flow is not None
    flow: Callable[..., Any] = statement.flow
    first, shapes = _packed("start", state)
    slopes = 0

    def slope(t: float, y: Floats) -> Floats:
        nonlocal slopes
        slopes += 1
        if slopes > _MOST_SLOPES:
            required = (
                f"needs more than {_MOST_SLOPES} slopes for a time of {last:.3g}: it is stiff"
            )
            raise refused("flow", f"{required}; give a step= of its own")
        change, got = _packed("flow", call(flow, {**values, "t": t}, _unpacked(y, shapes)))
        if got != shapes:
            raise refused("flow", f"returned {_shown(got)}, must return {_shown(shapes)}")
        if t == 0 and np.isnan(change).any():
            raise refused("flow", f"is nan at the start, {_unpacked(y, shapes)}")
        return change

    if not last:
        slope(0.0, first)  # so that a wrong flow is refused
        return np.zeros(1), lambda times: _unpacked(
            np.repeat(first[:, None], len(times), 1), shapes
        )
    tolerance = _TOLERANCE * np.maximum(np.abs(first), _SMALLEST)
    options: dict[str, Any] = {"rtol": _TOLERANCE, "atol": tolerance, "dense_output": True}
    solution = solve_ivp(slope, (0.0, last), first, method="DOP853", **options)
    steps = np.arange(len(solution.t) * _PARTS - _PARTS + 1) / _PARTS
    steps = np.interp(steps, np.arange(len(solution.t)), solution.t)

    def states(times: Any) -> Any:
        times = np.asarray(times, float)
        assert solution.sol is not None
        y = np.where(times <= solution.t[-1], solution.sol(times), np.nan)
        return _unpacked(y, shapes)

    return np.union1d(steps, np.linspace(0.0, last, _LOOKS + 1)), states


def between(times: Floats, low: float, high: float) -> Floats:
    """Times from `low` to `high`, these among them.

    >>> between(np.array([0.0, 1.0, 2.0]), 0.5, 2)
    array([0.5, 1. , 2. ])
    """
    return np.union1d(times[(times > low) & (times < high)], [low, high])


def crossing(side: Callable[[Floats], Floats], low: float, high: float) -> float:
    """Where a function that is negative at `low` first is not, up to `high`.

    >>> round(crossing(lambda t: t**2 - 2, 1, 2), 12)
    1.414213562373
    """
    for _ in range(4):
        times = np.linspace(low, high, 33)
        y = side(times)
        end = int(np.argmax(y >= 0))
        if not end:
            return float(times[0])
        low, high = times[end - 1], times[end]
    return float(low - y[end - 1] * (high - low) / (y[end] - y[end - 1]))


def peak(
    function: Callable[[Floats], Floats], times: Floats, values: Floats
) -> tuple[float, float]:
    """The largest of values at times, or between the neighbours of its time, and where that is.

    >>> peak(lambda t: 1 - (t - 0.3) ** 2, np.array([0.0, 0.5, 1.0]), np.array([0.91, 0.96, 0.51]))
    (1.0, 0.30...)
    """
    best = int(np.argmax(values))
    for _ in range(6):
        if not math.isfinite(values[best]):
            break
        low, high = times[max(best - 1, 0)], times[min(best + 1, len(times) - 1)]
        finer = np.union1d(np.linspace(low, high, 21), times[best])
        times, values = finer, function(finer)
        best = int(np.argmax(values))
    return float(values[best]), float(times[best])


def _shown(shapes: list[Any]) -> str:
    return f"shapes {shapes}" if shapes[0] is not None else f"the shape {shapes[1]} of its state"


def _packed(title: str, state: Any) -> tuple[Floats, list[Any]]:
    """The numbers of a state in a row, and the shapes of its arrays; None for one array."""
    arrays = [real(title, x) for x in (state if isinstance(state, tuple) else (state,))]
    shapes = [x.shape for x in arrays]
    flat = np.concatenate([x.ravel() for x in arrays])
    return flat, shapes if isinstance(state, tuple) else [None, *shapes]


def _unpacked(y: Floats, shapes: list[Any]) -> Any:
    if shapes[0] is None:
        return y.reshape(*shapes[1][:-1], -1)
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    parts = zip(np.split(y, ends), shapes, strict=True)
    return tuple(x.reshape(*shape[:-1], -1) for x, shape in parts)
