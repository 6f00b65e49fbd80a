"""Compiled walk along the composite: corrections integrated, loss and entries looked at.

The quadrature of :mod:`swingby.theory.correction`, carried to convergence: the corrections to log x
and to the columns of L obey a differential equation that vanishes wherever W grows or decays by
itself, so a Runge-Kutta method of order 3 crosses everything between the stages in long steps.
Their number hangs neither on omega nor on eta. Imports numba.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from swingby.verify.batched.curve_levels import drive, find_levels, lead, work_length
from swingby.verify.batched.curve_look import (
    keep_largest,
    longest_step,
    loss_at,
    refined_turn,
    stand_at,
)
from swingby.verify.batched.curve_turns import LENGTH, VALUE, decisive, finish, see, start, turns
from swingby.verify.batched.rows import FLOW

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Samples of the loss in a step of full length.
_SAMPLES = 3
#: Entries of W below this share of the threshold, and below this, move nothing that counts.
_NEGLIGIBLE, _SMALL = 0.1, 1e-4
#: Error of a step in log x and in columns: by threshold, and at most.
_TOLERANCE, _LARGEST_TOLERANCE = 0.1, 1e-4
#: Where a loss that runs away goes, in units of the initial one.
_FAR = 1e6
#: A walk that is not at its end after so many steps is given up.
_MOST_STEPS = 20_000
#: Numbers of concepts that loops are compiled for.
_UNROLLED = (2, 3, 4, 5)
_FLOW, _LENGTH, _VALUE = FLOW, LENGTH, VALUE


class Swings(NamedTuple):
    """What a walk finds, by instance.

    Parameters
    ----------
    number : ndarray of int, shape (n,)
        Decisive sizes found; -1 where the walk was given up.
    sizes : ndarray of shape (n, k)
        Decisive sizes of the loss in units of the threshold, ascending.
    transient : ndarray of shape (n,)
    entry : ndarray of int, shape (n, 2)
        Its place, in descending order of a; -1 where there is none.
    """

    number: Integers
    sizes: Floats
    transient: Floats
    entry: Integers


def walk(d: int, kind: int) -> Callable[[int, Floats, Floats, Swings], None]:
    """The loop ``walk(d, rows, swing, swings)`` over instances.

    Up to d = 5 it is compiled for this d, with its loops over concepts unrolled; above, that takes
    longer than most batches, and one loop serves all.

    Parameters
    ----------
    d : int
    kind : int
        As in :mod:`swingby.verify.batched.rows`.

    Returns
    -------
    callable
        Of rows of shape (n, row_length), thresholds of shape (n,) as shares of the initial loss,
        and what is to be filled.
    """
    return _walk(d if d in _UNROLLED else 0, kind)


@functools.cache
def _walk(known: int, kind: int) -> Callable[[int, Floats, Floats, Swings], None]:
    """The loop for `known` concepts, 0 for any number."""
    stamp = _stamp()

    def loop(given: int, rows: Floats, swing: Floats, swings: Swings) -> None:  # pragma: no cover
        _ = stamp
        d = known if known > 0 else given
        states, memory = d * (d + 1) // 2, work_length(d)
        cut_at = rows.shape[1] - 1
        work, series, speed = np.empty(memory), np.empty(_LENGTH), np.empty(4 * states)
        state, ahead, between = np.empty(states), np.empty(states), np.empty(states)
        dense = np.empty((2, 2 + 4 * states))
        largest, entry = np.empty(5), np.empty(3, np.int64)
        for place in range(rows.shape[0]):
            row = rows[place]
            state[:] = 0.0
            dense[:] = 0.0
            largest[:] = 0.0
            entry[:] = -1
            lead(d, kind, row, state, 0.0, work)
            find_levels(d, row, work)
            initial = loss_at(d, row, work)
            keep_largest(d, work, 0.0, largest, entry)
            start(series, 0.0, initial, swing[place] * initial)
            small = min(_NEGLIGIBLE * swing[place], _SMALL)
            tolerance = min(_LARGEST_TOLERANCE, _TOLERANCE * swing[place])
            # Until a first concept comes up to `small`, corrections are below the tolerance.
            t = math.inf
            for k in range(d):
                if row[d + k] > 0.0 and row[2 * d + k] > -1e8:
                    t = min(t, max(math.log(small) - row[2 * d + k], 0.0) / row[d + k])
            length, steps, open_end = math.inf, 0, t < math.inf
            if open_end:
                t = min(t, row[cut_at])
                dense[0, 1] = t
                lead(d, _FLOW, row, state, t, work)
                find_levels(d, row, work)
                drive(d, row, state, work, speed, 0)
            while open_end:
                limit = min(longest_step(d, row, work, small), row[cut_at] - t)
                if not limit > 0.0:
                    break
                length = min(length, limit)
                taken, error = 0.0, math.inf
                while error > 1.0 and steps < _MOST_STEPS:
                    steps += 1
                    taken = length
                    for stage in range(1, 4):
                        for number in range(states):
                            first, second = speed[number], speed[states + number]
                            if stage == 1:
                                move = 0.5 * first
                            elif stage == 2:
                                move = 0.75 * second
                            else:
                                move = 2.0 * first + 3.0 * second + 4.0 * speed[2 * states + number]
                                move /= 9.0
                            ahead[number] = state[number] + taken * move
                        node = 0.5 if stage == 1 else 0.75 if stage == 2 else 1.0
                        lead(d, _FLOW, row, ahead, t + node * taken, work)
                        find_levels(d, row, work)
                        drive(d, row, ahead, work, speed, stage * states)
                    error = 0.0
                    for number in range(states):
                        off = -5.0 * speed[number] + 6.0 * speed[states + number]
                        off += 8.0 * speed[2 * states + number] - 9.0 * speed[3 * states + number]
                        off = abs(off) * taken / (72.0 * tolerance * max(1.0, abs(ahead[number])))
                        # Also where it is nan.
                        error = error if off <= error else off if off < 1e30 else 1e30
                    factor = 5.0 if error < 1e-3 else 0.85 / error ** (1.0 / 3.0)
                    length = taken * min(max(factor, 0.1), 5.0)
                if error > 1.0:
                    steps = _MOST_STEPS
                    break
                dense[1] = dense[0]
                dense[0, 0], dense[0, 1] = t, taken
                for number in range(states):
                    at = 2 + number
                    dense[0, at], dense[0, at + states] = state[number], ahead[number]
                    dense[0, at + 2 * states] = speed[number]
                    dense[0, at + 3 * states] = speed[3 * states + number]
                    state[number] = ahead[number]
                    speed[number] = speed[3 * states + number]
                parts = int(min(max(math.ceil(_SAMPLES * taken / limit), 1.0), _SAMPLES))
                for part in range(1, parts + 1):
                    now = t + taken * part / parts
                    stand_at(d, kind, row, dense, now, between, work)
                    value = loss_at(d, row, work)
                    keep_largest(d, work, now, largest, entry)
                    last = series[_VALUE]
                    if turns(series, value):
                        last = refined_turn(d, kind, row, dense, series, now, value, between, work)
                    see(series, now, value, last)
                t += taken
            if row[cut_at] < math.inf and steps < _MOST_STEPS:
                # W runs away from here on.
                see(series, math.inf, _FAR * initial, series[_VALUE])
            swings.transient[place] = largest[0]
            if entry[0] >= 0:
                swings.entry[place, 0], swings.entry[place, 1] = entry[0] // d, entry[0] % d
            count = finish(series) if steps < _MOST_STEPS else -1
            if count >= 0:
                count = decisive(series, count, swings.sizes[place])
                for number in range(count):
                    swings.sizes[place, number] /= swing[place] * initial
            swings.number[place] = count

    decorate: Any = njit(cache=True, nogil=True, error_model="numpy")
    compiled: Callable[[int, Floats, Floats, Swings], None] = decorate(loop)
    return compiled


@functools.cache
def _stamp() -> str:
    """What the compiled loops are made of: part of their key on disk, so that an edit counts."""
    folder = Path(__file__).parent
    theory = folder.parent.parent / "theory"
    read = [*sorted(folder.glob("*.py")), *sorted(theory.glob("*.py"))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in read)).hexdigest()
