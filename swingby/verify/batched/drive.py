"""The batched law, stage by stage, over groups of instances: compiled loops. Imports numba."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from swingby.verify.batched import finish, overlap, panels, rows, start, weights
from swingby.verify.batched.rows import NODES

Floats = np.ndarray[Any, np.dtype[np.float64]]

_begin, _follow = start.begin, panels.follow
_clear, _place_nodes, _lead = overlap.clear, overlap.place_nodes, overlap.lead
_turn, _level, _watch, _measure = overlap.turn, weights.level, weights.watch, overlap.measure
_rise, _rise_alone, _weigh = weights.rise, overlap.rise_alone, weights.weigh
_integrate, _interpolate = overlap.integrate, overlap.interpolate
_end_leading, _end_first, _end_last = finish.end_leading, finish.end_first, finish.end_last
_NODES = NODES


def _compile(function: Callable[..., None]) -> Callable[..., None]:
    compiled: Callable[..., None] = njit(cache=True, nogil=True, error_model="numpy")(function)
    return compiled


@functools.cache
def _stamp() -> str:
    """What the compiled loops are made of: part of their key on disk, so that an edit counts."""
    folder = Path(__file__).parent
    theory = folder.parent.parent / "theory"
    read = [*sorted(folder.glob("*.py")), *sorted(theory.glob("*.py"))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in read)).hexdigest()


@functools.cache
def follow(d: int) -> Callable[..., None]:
    """The loop ``follow(array, first, length, groups)`` from the pivots to the panels."""
    stamp = _stamp()

    def loop(array: Floats, first: int, length: int, groups: int) -> None:  # pragma: no cover
        _ = stamp
        for group in range(groups):
            _follow(array, first + group * length, d, 0, 0, 0)

    return _compile(loop)


@functools.cache
def begin(d: int, kind: int) -> Callable[..., None]:
    """The loop ``begin(array, first, length, groups)`` from what is given to the pivots."""
    stamp = _stamp()

    def loop(array: Floats, first: int, length: int, groups: int) -> None:  # pragma: no cover
        _ = stamp
        for group in range(groups):
            _begin(array, first + group * length, d, kind, 0, 0)

    return _compile(loop)


@functools.cache
def quadrature(d: int) -> Callable[..., None]:
    """The loop ``quadrature(array, first, length, groups, sweeps)`` over panels and nodes."""
    stamp = _stamp()
    count_of_panels = 2 * d
    places = rows.layout(d)
    level_at, time_at = places["level"].start, places["time_of"].start
    place_at, nodes_at = places["place"].start, places["nodes"].start
    near_level, near_time = places["near_level"].start, places["near_time"].start
    fine_at, learned_at = places["fine"].start, places["learned"].start

    def loop(
        array: Floats, first: int, length: int, groups: int, sweeps: int
    ) -> None:  # pragma: no cover
        _ = stamp
        lanes = array.shape[1]
        for group in range(groups):
            base = first + group * length
            _clear(array, base, d, 0, 0, 0)
            for panel in range(count_of_panels):
                _place_nodes(array, base, d, 0, panel, panel + 1)
                before = panel * _NODES
                for node in range(_NODES):
                    _rise_alone(array, base, d, 0, node, before + node)
                for node in range(_NODES):
                    _lead(array, base, d, 0, node, before + node)
                for node in range(_NODES):
                    _weigh(array, base, d, 0, node, before + node)
                for node in range(_NODES):
                    _turn(array, base, d, 0, node, 0)
                _measure(array, base, d, 0, panel, 0)
                for sweep in range(sweeps):
                    if sweep > 0:
                        for node in range(_NODES):
                            _weigh(array, base, d, 1, node, before + node)
                        for node in range(_NODES):
                            _turn(array, base, d, 1, node, 0)
                    if sweep == sweeps - 1:
                        _watch(array, base, d, 0, before, 0)
                    else:
                        _rise(array, base, d, 0, before, 0)
                    _integrate(array, base, d, 0, sweep, 0)
                for node in range(_NODES):
                    _level(array, base, d, 0, node, before + node)
                _watch(array, base, d, 1, before, 0)
            _interpolate(array, base, d, 0, 0, 0)
            for lane in range(lanes):
                count = int(array[base + nodes_at, lane])
                for side in range(2):
                    for k in range(d):
                        if array[base + learned_at + k, lane] < 0.5:
                            continue
                        place = int(array[place_at + side * d + k, lane])
                        if place < 2 or place > count - 2:
                            array[base + fine_at, lane] = 0.0
                            continue
                        for near in range(4):
                            at = place - 2 + near
                            from_level = level_at + (side * count_of_panels * _NODES + at) * d + k
                            to = (side * d + k) * 4 + near
                            array[base + near_level + to, lane] = array[from_level, lane]
                            array[base + near_time + to, lane] = array[time_at + at, lane]

    return _compile(loop)


@functools.cache
def end(d: int, kind: int) -> Callable[..., None]:
    """The loop ``end(array, first, length, groups, sweeps)`` over the ends of the groups."""
    stamp = _stamp()

    def loop(
        array: Floats, first: int, length: int, groups: int, sweeps: int
    ) -> None:  # pragma: no cover
        _ = stamp
        for group in range(groups):
            base = first + group * length
            if sweeps == 0:
                _end_leading(array, base, d, kind, 0, 0)
            elif sweeps == 1:
                _end_first(array, base, d, kind, 0, 0)
            else:
                _end_last(array, base, d, kind, 0, 0)

    return _compile(loop)
