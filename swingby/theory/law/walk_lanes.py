"""Many walks in compiled code, eight lanes at a time. Imports numba, so import it late.

The derivative is carried out by instructions (:mod:`swingby.theory.law.tape`), whatever the
dynamics and d: on all lanes together, where d is small written out, or lane by lane on columns of
matrices. All have the same bits. What happens in a lane is decided by the functions of :mod:`swingby.theory.law.walk`, compiled
from their text. A lane whose walk has ended takes the next one; every lane is computed alike, so a
result does not depend on its neighbours, not in a bit.
"""

from __future__ import annotations

import functools
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from swingby.theory.compiled_cache import borrowing, inner
from swingby.theory.compiled_text import aligned, call
from swingby.theory.compiled_text import load as load_text
from swingby.theory.growth import DYNAMICS
from swingby.theory.law import tape, tape_in_columns, tape_in_lanes, tape_written_out, walk
from swingby.theory.law.lane_vectors import LANES, everywhere, load, store, times, times_plus
from swingby.theory.law.modified_flow import FieldConstants
from swingby.theory.law.runge_kutta import DENSE, EXTRA, FIFTH, STAGES, THIRD
from swingby.theory.law.walk import ACTIVE, CONCEPT, MOVING, TIME, Walk
from swingby.theory.law.walk_text import slope_text, walk_text

_in_lanes, _in_columns = tape_in_lanes.take_slope, tape_in_columns.take_slope
_pointer, _call_slope = tape_written_out.pointer, tape_written_out.call
#: Registers of what does not change in a step: whether concepts move, and the fields.
_CONSTANTS, _COUNT = 3, 1 + len(FieldConstants._fields)
#: Matrices go by columns where lanes are at most this share of d: measured on walks of 2 and 16.
_FEW = 1 / 3
#: Slopes in a step: twelve stages, that at the end, three for what lies between, and two estimates
#: of the error.
_END, _ESTIMATES, _SLOPES = 12, 16, 18


class _Field(NamedTuple):
    """How derivatives are taken: by the function at an address, or where that is 0 by a tape."""

    address: int
    code: Any
    factors: Any
    registers: Any
    constants: Any


@borrowing
def _take_slopes(y: Any, now: Walk, field: _Field, target: Any, first: int, d: int) -> None:
    """Derivatives in all lanes; in columns where there are constants of lanes."""
    if field.address != 0:
        moving, fields = _pointer(now.places, MOVING * d * LANES), _pointer(now.fields, 0)
        _call_slope(field.address, _pointer(y, 0), moving, fields, _pointer(target, first))
        return
    code, factors, R, width = field.code, field.factors, field.registers, field.constants.shape[2]
    if width == 0:
        _in_lanes(y, code, factors, R, target, first, d)
        return
    scratch = R.size // (d * width) - 1
    for lane in range(LANES):
        if now.numbers[ACTIVE, lane] > 0.0:
            own = field.constants[lane].reshape(-1)
            _in_columns(y, code, factors, own, R, scratch, target, first, lane, d, width)


@borrowing
def _add_up(weights: Any, last: int, slopes: Any, size: int, i: int) -> Any:
    """Weighted sum of slopes at an entry."""
    total = times(everywhere(weights[0]), load(slopes, i))
    for m in range(1, last):
        if weights[m] != 0.0:
            total = times_plus(everywhere(weights[m]), load(slopes, m * size + i), total)
    return total


@borrowing
def _take_step(
    y: Any, dt: Any, now: Walk, field: _Field, slopes: Any, new: Any, d: int, dense: bool
) -> None:
    """All stages of a step, from slopes whose first is known; flat."""
    size = d * (d + 2) * LANES
    ahead = load(dt, 0)
    for stage in range(12):
        for i in range(0, size, LANES):
            moved = _add_up(STAGES[stage], stage + 1, slopes, size, i)
            store(new, i, times_plus(ahead, moved, load(y, i)))
        first = (stage + 1) * size
        _take_slopes(new, now, field, slopes, first, d)
    for i in range(0, size, LANES):
        store(slopes, _ESTIMATES * size + i, _add_up(FIFTH, 12, slopes, size, i))
        store(slopes, (_ESTIMATES + 1) * size + i, _add_up(THIRD, 12, slopes, size, i))
    if dense:
        inner = _ESTIMATES * size + 2 * size
        for stage in range(3):
            for i in range(0, size, LANES):
                moved = _add_up(EXTRA[stage], _END + 1 + stage, slopes, size, i)
                store(slopes, inner + i, times_plus(ahead, moved, load(y, i)))
            inner_y = slopes[inner : inner + size]
            first = (_END + 1 + stage) * size
            _take_slopes(inner_y, now, field, slopes, first, d)


@borrowing
def _note(y: Any, dt: Any, slopes: Any, new: Any, lane: int, forms: Any) -> None:
    """Write the interpolation of a lane between both ends of a step."""
    size = new.size // LANES
    for i in range(size):
        at = i * LANES + lane
        first, last = slopes[at], slopes[_END * new.size + at]
        moved = new[at] - y[at]
        forms[0, i], forms[1, i] = y[at], moved
        forms[2, i] = dt * first - moved
        forms[3, i] = 2.0 * moved - dt * (first + last)
        for form in range(4):
            total = 0.0
            for m in range(_ESTIMATES):
                total += DENSE[form, m] * slopes[m * new.size + at]
            forms[4 + form, i] = dt * total


@borrowing
def _step_map(growth: Any, pull: Any, C: Any, scratch: Any) -> None:
    """The function of that name in ``walk``, in loops for small matrices."""
    d = len(C)
    for i in range(d):
        for j in range(d):
            scratch[i, j] = 0.0
        for k in range(d):
            factor = pull[i, k] * C[i, k]
            for j in range(d):
                scratch[i, j] += factor * C[k, j]
    for i in range(d):
        for j in range(i + 1):
            C[i, j] = C[j, i] = C[i, j] + (growth[i, j] * C[i, j] - (scratch[i, j] + scratch[j, i]))


#: Functions of ``walk`` that make arrays, at rare events or while the map is followed.
_MAKING_ARRAYS = {"landings", "_rotate", "run_map", "_root", "_slope", "_near_limit"}


def _from_text(module: Any, replacements: dict[str, Any]) -> dict[str, Any]:
    """All plain functions of a module, compiled against each other and their replacements."""
    space = {**vars(module), **replacements}
    for name, value in vars(module).items():
        defined_here = isinstance(value, FunctionType) and value.__module__ == module.__name__
        if defined_here and name not in replacements:
            compiled = inner if name in _MAKING_ARRAYS else borrowing
            space[name] = compiled(FunctionType(value.__code__, space, name))
    return space


_walk = _from_text(walk, {"step_map": _step_map})
_landings, _judge, _begin_lane = _walk["landings"], _walk["judge"], _walk["begin_lane"]
_follow_all = _walk["follow_all"]


@borrowing
def _copy(source: Any, i: int, target: Any, j: int) -> None:
    for row in range(source.shape[0]):
        target[row, j] = source[row, i]


@inner
def _move(source: Walk, place: int, target: Walk, j: int) -> None:
    """One lane of a walk into a lane of another."""
    n, m = source.numbers.shape[1], target.numbers.shape[1]
    _copy(source.y.reshape((-1, n)), place, target.y.reshape((-1, m)), j)
    _copy(source.fields.reshape((-1, n)), place, target.fields.reshape((-1, m)), j)
    _copy(source.places.reshape((-1, n)), place, target.places.reshape((-1, m)), j)
    _copy(source.numbers, place, target.numbers, j)
    for row in range(target.pairs.shape[0]):
        for i in range(target.pairs.shape[1]):
            for k in range(target.pairs.shape[1]):
                target.pairs[row, i, k, j] = 0.0


@borrowing
def _set_constants(now: Walk, field: _Field) -> None:
    """Write what does not change in a step into registers, or beside them for each lane."""
    R, constants = field.registers, field.constants
    d, width = now.y.shape[0], constants.shape[2]
    for n in range(_COUNT):
        for i in range(d):
            for j in range(d):
                for lane in range(LANES):
                    value = now.places[MOVING, j, lane] if n == 0 else now.fields[n - 1, i, j, lane]
                    if width == 0:
                        R[(((_CONSTANTS + n) * d + i) * d + j) * LANES + lane] = value
                    else:
                        constants[lane, n * d + i, j] = value


@inner
def _run(
    queued: Walk,
    now: Walk,
    keeps_psd: bool,
    field: _Field,
    slopes: Any,
    new: Any,
    steps: Any,
    forms: Any,
) -> int:
    """Walk every queued lane to its end, in the lanes of `now`; steps noted, -1 if too many."""
    d, n = queued.y.shape[0], queued.numbers.shape[1]
    room, noted = steps.shape[0], 0
    y, speed, tried = now.y.reshape(-1), now.speed.reshape(-1), new.reshape(-1)
    flat = slopes.reshape(-1)
    before, time, places = np.empty(y.size), np.empty(LANES), np.empty((2, d, LANES))
    occupant, waiting, under_way = np.full(LANES, -1), 0, 0
    begun = np.zeros(LANES)
    now.numbers[:, :] = 0.0
    changed = True
    while True:
        # Lanes whose walk has ended take the next one.
        for lane in range(LANES):
            if now.numbers[ACTIVE, lane] == 0.0 and occupant[lane] >= 0:
                end = occupant[lane]
                _copy(now.places.reshape((-1, LANES)), lane, queued.places.reshape((-1, n)), end)
                _copy(now.numbers, lane, queued.numbers, end)
                _copy(now.y.reshape((-1, LANES)), lane, queued.y.reshape((-1, n)), end)
                occupant[lane] = -1
                under_way -= 1
            if occupant[lane] < 0 and waiting < n:
                _move(queued, waiting, now, lane)
                occupant[lane], begun[lane], changed = waiting, 1.0, True
                waiting += 1
                under_way += 1
        if under_way == 0:
            return noted
        while changed:
            if field.address == 0:
                _set_constants(now, field)
            _take_slopes(y, now, field, speed, 0, d)
            changed = False
            for lane in range(LANES):
                if begun[lane] > 0.0:
                    begun[lane] = 0.0
                    changed = _begin_lane(now, lane, keeps_psd) or changed
        dt = _landings(now)
        for i in range(y.size):
            flat[i], before[i] = speed[i], y[i]
        _take_step(y, dt, now, field, flat, tried, d, room > 0)
        for lane in range(LANES):
            time[lane] = now.numbers[TIME, lane]
            for k in range(d):
                places[0, k, lane] = now.places[CONCEPT, k, lane]
                places[1, k, lane] = now.places[MOVING, k, lane]
        ends, fifth, third = slopes[_END], slopes[_ESTIMATES], slopes[_ESTIMATES + 1]
        changed = _judge(now, keeps_psd, dt, new, ends, fifth, third)
        for lane in range(LANES):
            if room > 0 and occupant[lane] >= 0 and now.numbers[TIME, lane] > time[lane]:
                if noted == room:
                    return -1
                steps[noted, 0], steps[noted, 1], steps[noted, 2] = (
                    occupant[lane],
                    time[lane],
                    dt[lane],
                )
                for k in range(d):
                    steps[noted, 3 + k] = places[0, k, lane]
                    steps[noted, 3 + d + k] = places[1, k, lane]
                _note(before, dt[lane], flat, tried, lane, forms[noted])
                noted += 1


_WHAT = "the stage law in lanes"


@functools.cache
def _entry_points() -> Any:
    """The functions that Python calls, compiled at the first call or loaded from the cache."""
    return load_text(walk_text(), _WHAT)


def _call(name: str, *arguments: Any) -> Any:
    return call(getattr(_entry_points(), name), _WHAT, *arguments)


def _field(dynamics: str, order: int, d: int, width: int) -> _Field:
    code, factors, count = tape.tape_of(dynamics, order)
    constants, address = aligned(LANES, _COUNT * d, width), 0
    if width == 0 and d <= tape_written_out.LARGEST:
        address = load_text(slope_text(dynamics, order, d), _WHAT).take_slope.address
        count = 0
    return _Field(address, code, factors, aligned((count + 1) * d * (width or d * LANES)), constants)


def follow_all(walks: Walk) -> None:
    """See :func:`swingby.theory.law.walk.follow_all`."""
    _call("follow_all", walks)


def walk_all(walks: Walk, dynamics: str, order: int, room: int = 0) -> tuple[Any, Any] | None:
    """Walk to the end; coordinates, places and numbers of `walks` are then those of the end.

    With room for so many of them, the steps taken: rows of lane, time, size, concepts and whether
    they move, and the forms of the interpolation (m, 8, d (d + 2)); None if they are more.
    """
    d, keeps_psd = walks.y.shape[0], DYNAMICS[dynamics].keeps_psd
    lanes = min(walks.numbers.shape[1], LANES)
    width = -(-d // LANES) * LANES if lanes <= _FEW * d else 0
    shapes = ((d, d + 2), (d, d + 2), (_COUNT - 1, d, d), (3, d, d), (15, d), (9,))
    now = Walk(*(aligned(*shape, LANES) for shape in shapes))
    slopes, new = aligned(_SLOPES + 1, d, d + 2, LANES), aligned(d, d + 2, LANES)
    steps, forms = np.empty((room, 3 + 2 * d)), np.empty((room, 8, d * (d + 2)))
    field = _field(dynamics, order, d, width)
    noted = _call("run", walks, now, keeps_psd, field, slopes, new, steps, forms)
    return None if noted < 0 else (steps[:noted], forms[:noted])
