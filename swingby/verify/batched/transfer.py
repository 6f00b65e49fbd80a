"""Instances into lanes and back, and the checks that take a look at every entry. Imports numba."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from swingby.theory.initial import SYMMETRY_TOLERANCE
from swingby.verify.batched import rows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: What `check` finds wrong.
NOT_SYMMETRIC, ZERO_MATRIX, NO_SIGNAL, TOO_LARGE = 1, 2, 3, 4
_TOLERANCE = SYMMETRY_TOLERANCE
#: Corrections above 0.01, where sweeps are added, are estimated at least this in 19 of 20 cases;
#: what is wrongly thought so is noticed and done again.
_SURELY_MORE = 0.006
#: Logarithm of the largest entry that :func:`swingby.theory.initial.initial_matrix` takes.
_LOG_LARGEST = 300 * np.log(10.0)


def _compile(function: Callable[..., Any]) -> Callable[..., Any]:
    compiled: Callable[..., Any] = njit(cache=True, nogil=True, error_model="numpy")(function)
    return compiled


@_compile
def check(signal: Floats, matrix: Floats, log_scale: Floats) -> tuple[int, int]:  # pragma: no cover
    """The first instance that is refused, and why; -1 if none is."""
    count, d = signal.shape
    for place in range(count):
        size, apart, strongest = 0.0, 0.0, 0.0
        for i in range(d):
            strongest = max(strongest, signal[place, i])
            for k in range(i + 1):
                here, mirrored = matrix[place, i, k], matrix[place, k, i]
                size = max(size, max(abs(here), abs(mirrored)))
                apart = max(apart, abs(here - mirrored))
        if size == 0.0:
            return place, ZERO_MATRIX
        if apart > _TOLERANCE * size:
            return place, NOT_SYMMETRIC
        if strongest == 0.0:
            return place, NO_SIGNAL
        if np.log(size) + log_scale[place] > _LOG_LARGEST:
            return place, TOO_LARGE
    return -1, 0


@_compile
def _sort(signal: Floats, place: int, order: Integers) -> None:  # pragma: no cover
    """Indices by descending signal; equal signals keep their order."""
    for i in range(signal.shape[1]):
        value, at = signal[place, i], i
        while at > 0 and signal[place, order[at - 1]] < value:
            order[at] = order[at - 1]
            at -= 1
        order[at] = i


@functools.cache
def places(d: int) -> Integers:
    """First rows of what goes in and of what comes out."""
    layout = rows.layout(d)
    names = (
        "signal",
        "matrix",
        "eta",
        "log_scale",
        "crossing",
        "error",
        "trapped",
        "fine",
        "more",
        "resolved",
        "undecided",
        "guess",
        "size",
        "canceled",
    )
    return np.array([layout[name].start for name in names])


@_compile
def bring(
    chosen: Integers,
    signal: Floats,
    matrix: Floats,
    eta: Floats,
    log_scale: Floats,
    array: Floats,
    first: int,
    length: int,
    at: Integers,
) -> None:  # pragma: no cover
    """Put chosen instances into lanes; free lanes repeat the last one."""
    d, lanes = signal.shape[1], array.shape[1]
    order = np.empty(d, np.int64)
    groups = (len(chosen) + lanes - 1) // lanes
    for number in range(groups * lanes):
        place = chosen[min(number, len(chosen) - 1)]
        base, lane = first + number // lanes * length, number % lanes
        _sort(signal, place, order)
        row = base + at[1]
        for i in range(d):
            array[base + at[0] + i, lane] = signal[place, order[i]]
            for k in range(i + 1):
                here, mirrored = order[i], order[k]
                value = (matrix[place, here, mirrored] + matrix[place, mirrored, here]) / 2
                array[row, lane] = value
                row += 1
        array[base + at[2], lane] = eta[place]
        array[base + at[3], lane] = log_scale[place]


@_compile
def pack(
    chosen: Integers, array: Floats, first: int, length: int, at: Integers
) -> int:  # pragma: no cover
    """Lanes without those that surely need more sweeps, which come last; how many are left."""
    lanes, left, number = array.shape[1], len(chosen), 0
    while number < left:
        base, lane = first + number // lanes * length, number % lanes
        if array[base + at[7], lane] < 0.5 or array[base + at[11], lane] < _SURELY_MORE:
            number += 1
            continue
        left -= 1
        chosen[number], chosen[left] = chosen[left], chosen[number]
        other, its = first + left // lanes * length, left % lanes
        for row in range(at[12]):
            array[base + row, lane] = array[other + row, its]
    return left


@_compile
def fetch(
    chosen: Integers,
    signal: Floats,
    array: Floats,
    first: int,
    length: int,
    at: Integers,
    crossing: Floats,
    error: Floats,
    trapped: NDArray[np.bool_],
    undecided: NDArray[np.bool_],
    share: Floats,
    fate: NDArray[np.int8],
) -> None:  # pragma: no cover
    """Take results out of the lanes; see :mod:`swingby.verify.batched.law` for `fate`."""
    d, lanes = signal.shape[1], array.shape[1]
    order = np.empty(d, np.int64)
    for number in range(len(chosen)):
        place = chosen[number]
        base, lane = first + number // lanes * length, number % lanes
        if array[base + at[8], lane] > 1.5:
            fate[place] = 4
            continue
        if array[base + at[7], lane] < 0.5:
            # Only `resolved` at fault: the pivots of the scalar law may do.
            fate[place] = 3 if array[base + at[9], lane] < 0.5 else 2
            continue
        if array[base + at[8], lane] > 0.5:
            fate[place] = 1
            continue
        fate[place] = 0
        _sort(signal, place, order)
        for k in range(d):
            crossing[place, order[k]] = array[base + at[4] + k, lane]
            error[place, order[k]] = array[base + at[5] + k, lane]
            trapped[place, order[k]] = array[base + at[6] + k, lane] > 0.5
            undecided[place, order[k]] = array[base + at[10] + k, lane] > 0.5
            share[place, order[k]] = 1.0 / array[base + at[13] + k, lane]
