"""The batched law, stage by stage, over groups of instances: compiled loops. Imports numba."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from swingby.verify.batched import finish, overlap, panels, rows, start, vectors, weights
from swingby.verify.batched.rows import NODES

Floats = np.ndarray[Any, np.dtype[np.float64]]

_begin, _follow = start.begin, panels.follow
_clear, _place_nodes, _lead = overlap.clear, overlap.place_nodes, overlap.lead
_settle = overlap.settle
_turn, _level, _watch, _measure = overlap.turn, weights.level, weights.watch, overlap.measure
_rise, _rise_alone, _weigh = weights.rise, overlap.rise_alone, weights.weigh
_integrate, _interpolate = overlap.integrate, overlap.interpolate
_catch, _judge = weights.catch, weights.judge
_BEFORE_STAGE, _AFTER_STAGE = weights.BEFORE_STAGE, weights.AFTER_STAGE
_NEAR = len(weights.FIRST_NODES)
_end_leading, _end_first, _end_last = finish.end_leading, finish.end_first, finish.end_last
_flush_tiny, _restore = vectors.flush_tiny, vectors.restore
_NODES = NODES
#: Levels are compared with 1/2 to this.
_MARGIN = 1e-7


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


def _is_sure(
    array: Floats, levels: int, stride: int, lane: int, place: int, count: int
) -> bool:  # pragma: no cover
    """Whether rounding cannot change which nodes a crossing lies between, at the end of all.

    A crossing before the third node is too close to zero for its relative accuracy.
    """
    if place < count - 1:
        return place > 1
    for node in range(count):
        level = array[levels + node * stride, lane]
        if node >= place:
            return bool(level >= 0.5 + _MARGIN)
        if level >= 0.5 - _MARGIN:
            return False
    return True


_is_sure = njit(error_model="numpy", nogil=True)(_is_sure)


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
def quick_quadrature(d: int) -> Callable[..., None]:
    """The loop ``quick_quadrature(array, first, length, groups)``: one sweep.

    Corrected levels are found next to the stages alone; the row ``near`` tells where others may
    count.
    """
    stamp = _stamp()
    count_of_panels = 2 * d

    def loop(array: Floats, first: int, length: int, groups: int) -> None:  # pragma: no cover
        _ = stamp
        before_this = _flush_tiny()
        for group in range(groups):
            base = first + group * length
            _clear(array, base, d, 0, 0, 0)
            for panel in range(count_of_panels):
                _place_nodes(array, base, d, 0, panel, panel + 1)
                before = panel * _NODES
                for node in range(_NODES):
                    _rise_alone(array, base, d, 0, node, before + node)
                for node in range(_NODES):
                    _settle(array, base, d, 0, node, 0)
                for node in range(_NODES):
                    _lead(array, base, d, 0, node, before + node)
                for node in range(_NODES):
                    _weigh(array, base, d, 0, node, before + node)
                for node in range(_NODES):
                    _turn(array, base, d, 0, node, 0)
                _measure(array, base, d, 0, panel, 0)
                _watch(array, base, d, 0, before, 0)
                if panel % 2 == 0:
                    first_near = _NODES - _NEAR
                    _integrate(array, base, d, _BEFORE_STAGE, 0, 0)
                else:
                    first_near = 0
                    _integrate(array, base, d, _AFTER_STAGE, 0, 0)
                for node in range(first_near, first_near + _NEAR):
                    _level(array, base, d, 0, node, before + node)
                if panel % 2 == 0:
                    _watch(array, base, d, _BEFORE_STAGE, before, 0)
                else:
                    _watch(array, base, d, _AFTER_STAGE, before, 0)
                    _catch(array, base, d, 0, before, 0)
            _interpolate(array, base, d, 0, 0, 0)
            _judge(array, base, d, 0, 0, 0)
        _restore(before_this)

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
    seen_at, near_at = places["seen"].start, places["near"].start

    def loop(
        array: Floats, first: int, length: int, groups: int, sweeps: int
    ) -> None:  # pragma: no cover
        _ = stamp
        lanes, before_this = array.shape[1], _flush_tiny()
        for group in range(groups):
            base = first + group * length
            _clear(array, base, d, 0, 0, 0)
            for panel in range(count_of_panels):
                _place_nodes(array, base, d, 0, panel, panel + 1)
                before = panel * _NODES
                for node in range(_NODES):
                    _rise_alone(array, base, d, 0, node, before + node)
                for node in range(_NODES):
                    _settle(array, base, d, 0, node, 0)
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
                array[base + near_at, lane] = 1.0
                for side in range(2):
                    for k in range(d):
                        if array[base + learned_at + k, lane] < 0.5:
                            continue
                        place = int(array[place_at + side * d + k, lane])
                        number = side * d + k
                        levels = level_at + side * count_of_panels * _NODES * d + k
                        array[base + seen_at + number, lane] = 1.0 if place < count else 0.0
                        if not _is_sure(array, levels, d, lane, place, count):
                            array[base + fine_at, lane] = 0.0
                        first_near = near_level + base + number * 4
                        first_time = near_time + base + number * 4
                        if 2 <= place < count - 1:
                            for near in range(4):
                                node = place - 2 + near
                                array[first_near + near, lane] = array[levels + node * d, lane]
                                array[first_time + near, lane] = array[time_at + node, lane]
                            continue
                        # Two nodes; levels around them that do not rise rule out a cubic.
                        array[first_near, lane], array[first_near + 3, lane] = 1.0, 0.0
                        for near in range(2):
                            level = array[levels + (count - 2 + near) * d, lane]
                            array[first_near + 1 + near, lane] = level
                            time = array[time_at + count - 2 + near, lane]
                            array[first_time + 1 + near, lane] = time
                            array[first_time + 3 * near, lane] = time
        _restore(before_this)

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
