"""Many walks in compiled code, eight lanes at a time. Imports numba, so import it late.

The derivative is carried out by instructions (:mod:`swingby.theory.law.tape`), whatever the
dynamics and d: on all lanes together, where d is small written out, or lane by lane on columns of
matrices. All have the same bits. What happens in a lane is decided by the functions of
:mod:`swingby.theory.law.walk`, compiled from their text. A lane whose walk has ended takes the next
one; every lane is computed alike, so a result does not depend on its neighbours, not in a bit.
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
    y: Any, dt: Any, now: Walk, field: _Field, slopes: Any, new: Any, d: int, forms: Any
) -> None:
    """All stages of a step, from slopes whose first is known, and its forms if asked for; flat."""
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
    if forms.size > 0:
        inner = _ESTIMATES * size + 2 * size
        for stage in range(3):
            for i in range(0, size, LANES):
                moved = _add_up(EXTRA[stage], _END + 1 + stage, slopes, size, i)
                store(slopes, inner + i, times_plus(ahead, moved, load(y, i)))
            inner_y = slopes[inner : inner + size]
            first = (_END + 1 + stage) * size
            _take_slopes(inner_y, now, field, slopes, first, d)
        _interpolate(y, dt, slopes, new, forms)


@borrowing
def _interpolate(y: Any, dt: Any, slopes: Any, new: Any, forms: Any) -> None:
    """The forms (8, d, d + 2, LANES) of what lies between both ends of a step; flat."""
    size, ahead, minus = new.size, load(dt, 0), everywhere(-1.0)
    for i in range(0, size, LANES):
        begin, first, last = load(y, i), load(slopes, i), load(slopes, _END * size + i)
        moved = times_plus(minus, begin, load(new, i))
        both = times(ahead, times_plus(everywhere(1.0), first, last))
        store(forms, i, begin)
        store(forms, size + i, moved)
        store(forms, 2 * size + i, times_plus(minus, moved, times(ahead, first)))
        store(forms, 3 * size + i, times_plus(minus, both, times(everywhere(2.0), moved)))
        for form in range(4):
            total = _add_up(DENSE[form], _ESTIMATES, slopes, size, i)
            store(forms, (4 + form) * size + i, times(ahead, total))


@borrowing
def step_map(growth: Any, pull: Any, C: Any, scratch: Any) -> None:
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
_MAKING_ARRAYS = {"landings", "_rotate", "run_map"}


def _from_text(module: Any, replacements: dict[str, Any]) -> dict[str, Any]:
    """All plain functions of a module, compiled against each other and their replacements."""
    space = {**vars(module), **replacements}
    for name, value in vars(module).items():
        defined_here = isinstance(value, FunctionType) and value.__module__ == module.__name__
        if defined_here and name not in replacements:
            compiled = inner if name in _MAKING_ARRAYS else borrowing
            space[name] = compiled(FunctionType(value.__code__, space, name))
    return space


_walk = _from_text(walk, {"step_map": step_map})
_landings, _judge, _begin_lane = _walk["landings"], _walk["judge"], _walk["begin_lane"]
_follow_all = _walk["follow_all"]


@borrowing
def _copy(source: Any, i: int, target: Any, j: int) -> None:
    for row in range(source.shape[0]):
        target[row, j] = source[row, i]


@borrowing
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


@borrowing
def _change_lanes(queued: Walk, now: Walk, occupant: Any, begun: Any, waiting: int) -> int:
    """Lanes whose walk has ended take the next one; returns which is the first to wait then."""
    n = queued.numbers.shape[1]
    for lane in range(LANES):
        if now.numbers[ACTIVE, lane] == 0.0 and occupant[lane] >= 0:
            end = occupant[lane]
            _copy(now.places.reshape((-1, LANES)), lane, queued.places.reshape((-1, n)), end)
            _copy(now.numbers, lane, queued.numbers, end)
            _copy(now.y.reshape((-1, LANES)), lane, queued.y.reshape((-1, n)), end)
            occupant[lane] = -1
        if occupant[lane] < 0 and waiting < n:
            _move(queued, waiting, now, lane)
            occupant[lane], begun[lane] = waiting, 1.0
            waiting += 1
    return waiting


@borrowing
def _begin_lanes(now: Walk, begun: Any, keeps_psd: bool) -> bool:
    """Measure the starts of new lanes; True if coordinates of any were changed."""
    changed = False
    for lane in range(LANES):
        if begun[lane] > 0.0:
            begun[lane] = 0.0
            changed = _begin_lane(now, lane, keeps_psd) or changed
    return changed


@borrowing
def _describe(now: Walk, occupant: Any, dt: Any, rows: Any) -> None:
    """By lane: whose it is, the time, the step, the concepts, and whether they move."""
    d = now.y.shape[0]
    for lane in range(LANES):
        rows[lane, 0], rows[lane, 1] = occupant[lane], now.numbers[TIME, lane]
        rows[lane, 2] = dt[lane]
        for k in range(d):
            rows[lane, 3 + k] = now.places[CONCEPT, k, lane]
            rows[lane, 3 + d + k] = now.places[MOVING, k, lane]


@borrowing
def _note(now: Walk, rows: Any, between: Any, steps: Any, forms: Any, noted: int) -> int:
    """Note the steps that were accepted; returns how many there are then, -1 without room."""
    for lane in range(LANES):
        if rows[lane, 0] >= 0.0 and now.numbers[TIME, lane] > rows[lane, 1]:
            if noted == steps.shape[0]:
                return -1
            for column in range(steps.shape[1]):
                steps[noted, column] = rows[lane, column]
            for i in range(forms.shape[1]):
                forms[noted, i] = between[i * LANES + lane]
            noted += 1
    return noted


@inner
def _run(
    queued: Walk,
    now: Walk,
    keeps_psd: bool,
    field: _Field,
    slopes: Any,
    new: Any,
    between: Any,
    steps: Any,
    forms: Any,
) -> int:
    """Walk every queued lane to its end, in the lanes of `now`; steps noted, -1 if too many."""
    d, noted, waiting, changed = queued.y.shape[0], 0, 0, True
    y, speed, tried = now.y.reshape(-1), now.speed.reshape(-1), new.reshape(-1)
    flat, rows = slopes.reshape(-1), np.empty((LANES, 3 + 2 * d))
    occupant, begun = np.full(LANES, -1), np.zeros(LANES)
    now.numbers[:, :] = 0.0
    while noted >= 0:
        before = waiting
        waiting = _change_lanes(queued, now, occupant, begun, waiting)
        if np.max(occupant) < 0:
            break
        changed = changed or waiting > before
        while changed:
            if field.address == 0:
                _set_constants(now, field)
            _take_slopes(y, now, field, speed, 0, d)
            changed = _begin_lanes(now, begun, keeps_psd)
        dt = _landings(now)
        flat[: y.size] = speed
        _take_step(y, dt, now, field, flat, tried, d, between)
        _describe(now, occupant, dt, rows)
        ends, fifth, third = slopes[_END], slopes[_ESTIMATES], slopes[_ESTIMATES + 1]
        changed = _judge(now, keeps_psd, dt, new, ends, fifth, third)
        if between.size > 0:
            noted = _note(now, rows, between, steps, forms, noted)
    return noted


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
    return _Field(
        address, code, factors, aligned((count + 1) * d * (width or d * LANES)), constants
    )


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
    size = 8 * d * (d + 2)
    between, steps = aligned(size * LANES if room else 0), np.empty((room, 3 + 2 * d))
    forms, field = np.empty((room, size)), _field(dynamics, order, d, width)
    noted = _call("run", walks, now, keeps_psd, field, slopes, new, between, steps, forms)
    return None if noted < 0 else (steps[:noted], forms[:noted].reshape(noted, 8, d * (d + 2)))
