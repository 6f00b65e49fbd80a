"""The walk of a law to its end: in NumPy at once, or in compiled lanes where that pays.

A first walk does without numba, which takes half a second to load. Once a few walks have been taken
in NumPy, those that were compiled before are loaded. Compiling takes most of a minute; it waits for
a call of many instances, for ``swingby doctor --compile``, or until a process has walked as long in
NumPy. Both take the same steps by the same text, and differ by rounding.
"""

from __future__ import annotations

import sys
import time
from typing import Any, NamedTuple

import numpy as np

from swingby.theory.law.walk import (
    ACTIVE,
    CONCEPT,
    MOVING,
    TIME,
    Walk,
    advance,
    begin,
    follow_all,
)
from swingby.theory.law.walk_text import is_compiled
from swingby.theory.numbers import Floats, Integers

#: Seconds of walks in NumPy after which compiled ones are loaded, where numba is imported and where
#: it is not, and after which they are compiled.
_WORTH_LOADING, _WORTH_IMPORTING, _WORTH_COMPILING = 0.02, 0.1, 60.0
#: What a walk in NumPy takes at least: a constant, and times d^3.
_SECONDS, _SECONDS_A_CUBE = 0.01, 1e-5


class WalkedSteps(NamedTuple):
    """The steps of all lanes, m rows by instance and time.

    instance, time, size (m,): the lane, where a step begins and how long it is; concept, moving
    (m, d): which concept stands at which place, and whether it moves; form (m,): the row of
    `forms` (m, 8, d (d + 2)) that has the coordinates in between, see
    :func:`swingby.theory.law.runge_kutta.interpolated`.
    """

    instance: Integers
    time: Floats
    size: Floats
    concept: Integers
    moving: Floats
    form: Integers
    forms: Floats

    @classmethod
    def of(cls, rows: Floats, forms: Floats) -> WalkedSteps:
        """From rows of lane, time, size, concepts and whether they move."""
        d = (rows.shape[1] - 3) // 2
        form = np.argsort(rows[:, 0], kind="stable")
        rows = rows[form]
        lane, time, size = rows[:, 0].astype(np.int64), rows[:, 1], rows[:, 2]
        concept, moving = rows[:, 3 : 3 + d].astype(np.int64), rows[:, 3 + d :]
        return cls(lane, time, size, concept, moving, form, forms)


class _Spent:
    """Seconds that a process has spent on walks in NumPy."""

    seconds = 0.0


def pays(d: int) -> bool:
    """True where the next walk of d concepts is better taken in compiled lanes."""
    seconds = _Spent.seconds + _SECONDS + _SECONDS_A_CUBE * d**3
    if seconds < (_WORTH_LOADING if "numba" in sys.modules else _WORTH_IMPORTING):
        return False
    return seconds >= _WORTH_COMPILING or is_compiled()


def walk_to_end(walk: Walk, dynamics: str, order: int, *, compiled: bool) -> None:
    """Walk all lanes to their ends, which are then in `walk`; order: the highest of any lane."""
    if compiled:
        from swingby.theory.law.walk_lanes import walk_all

        walk_all(walk, dynamics, order)
    else:
        _walk_in_numpy(walk, dynamics, noted=False)


def walk_noted(walk: Walk, dynamics: str, order: int, *, compiled: bool) -> WalkedSteps:
    """The same, with all steps on the way."""
    if not compiled:
        return _walk_in_numpy(walk, dynamics, noted=True)
    from swingby.theory.law.walk_lanes import walk_all

    start, room = Walk(*(values.copy() for values in walk)), 96 * walk.numbers.shape[1]
    while True:
        noted = walk_all(walk, dynamics, order, room)
        if noted is not None:
            return WalkedSteps.of(*noted)
        room *= 4
        for values, first in zip(walk, start, strict=True):
            values[:] = first


def follow_map(walk: Walk, *, compiled: bool) -> None:
    """Follow the map (D.2) in every lane to its end."""
    if compiled:
        from swingby.theory.law import walk_lanes

        walk_lanes.follow_all(walk)
    else:
        started = time.perf_counter()
        follow_all(walk)
        _Spent.seconds += time.perf_counter() - started


def _walk_in_numpy(walk: Walk, dynamics: str, *, noted: bool) -> WalkedSteps:
    started = time.perf_counter()
    begin(walk, dynamics)
    d = walk.places.shape[1]
    rows, forms = [np.empty((0, 3 + 2 * d))], [np.empty((0, 8, d * (d + 2)))]
    while walk.numbers[ACTIVE].any():
        times, concept = walk.numbers[TIME].copy(), walk.places[CONCEPT].copy()
        moving = walk.places[MOVING].copy()
        dt, way = advance(walk, dynamics, noted=noted)
        lanes = np.flatnonzero(walk.numbers[TIME] > times)
        if noted and len(lanes):
            rows.append(_row(lanes, times, dt, concept, moving))
            forms.append(way[..., lanes].reshape(8, -1, len(lanes)).transpose(2, 0, 1))
    _Spent.seconds += time.perf_counter() - started
    return WalkedSteps.of(np.concatenate(rows), np.concatenate(forms))


def _row(lanes: Integers, *values: Any) -> Floats:
    """Rows of the lanes, from values that end in an axis of lanes."""
    return np.column_stack([lanes, *(value[..., lanes].T for value in values)])
