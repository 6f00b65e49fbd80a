"""Events out of the arrays of a state, for people."""

from __future__ import annotations

import math

import numpy as np

from swingby.simulate.events import Extremum, Peak
from swingby.simulate.state import (
    EXTREMA,
    HEADING,
    HIGH_STEP,
    LOW_STEP,
    Floats,
    State,
)


def level_array(state: State) -> Floats:
    """First passages of every level as floats, shape (levels, d), nan where not reached.

    Parameters
    ----------
    state : State

    Returns
    -------
    ndarray
    """
    return np.where(state.level_steps < 0, np.nan, state.level_steps.astype(np.float64))


def peaks(state: State) -> tuple[Peak, ...]:
    """The peaks of all off-diagonal entries so far.

    Parameters
    ----------
    state : State

    Returns
    -------
    tuple of Peak
    """
    d = len(state.X)
    found = []
    for i in range(d):
        for j in range(i + 1, d):
            later = int(state.suppressed[i, j])
            shift = int(max(-3000, state.exponent[i] + state.exponent[j]))
            value = math.ldexp(float(state.peak[i, j]), shift)
            found.append(
                Peak(i, j, int(state.peak_step[i, j]), value, later if later >= 0 else None)
            )
    return tuple(found)


def extrema(state: State) -> tuple[Extremum, ...]:
    """The turning points of the test loss so far, and the one under way.

    Parameters
    ----------
    state : State

    Returns
    -------
    tuple of Extremum
    """
    counters = state.counters
    found = [
        Extremum(
            int(state.extremum_step[place]),
            float(state.extremum_value[place]),
            "max" if state.extremum_kind[place] else "min",
        )
        for place in range(int(counters[EXTREMA]))
    ]
    if counters[HEADING] > 0:
        found.append(Extremum(int(counters[HIGH_STEP]), float(state.turning[1]), "max"))
    elif counters[HEADING] < 0:
        found.append(Extremum(int(counters[LOW_STEP]), float(state.turning[0]), "min"))
    return tuple(found)
