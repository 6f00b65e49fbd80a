"""Compiled leading order and panels of the batched law, from the pivots. Imports numba.

The same formulas as :mod:`swingby.theory.odds` and :mod:`swingby.theory.correction`.
"""

from __future__ import annotations

import itertools
import math

from swingby.theory.odds import ABSENT
from swingby.verify.batched.elementary import exp, log, log1p_unit
from swingby.verify.batched.rows import layout, pair
from swingby.verify.batched.vectors import Mask, Rows, Vector, largest, smallest, where, written

#: Logarithm of an entry of L that is zero.
_NOTHING = -4e9
_LOG_TWO = math.log(2)


@written(layout)
def follow(rows: Rows, d: int, _kind: int, _i: object, _j: object) -> None:
    """From the pivots to the leading order and the panels."""
    rate = [rows["rate", k] for k in range(d)]
    fine = (rows["fine"] > 0.5) & (rows["resolved"] > 0.5)
    log_odds = [where(rows["canceled", k] > 0.0, rows["log_pivot", k], ABSENT) for k in range(d)]
    times = []
    for k in range(d):
        rows["log_odds", k] = log_odds[k]
        rows["soft", k] = softplus(log_odds[k])
        time = -log_odds[k] / rate[k]
        learned = rows["learned", k] > 0.5
        fine = fine & ((time > 0.0) | (rows["learned", k] < 0.5))
        times.append(where(learned, time, math.inf))
        rows["time", k] = times[k]
        for j in range(k + 1, d):
            fine = fine & _lead(rows, log_odds, rate, j, k)
    fine = fine & _panels(rows, times, rate) & _steps(rows, log_odds, rate)
    rows["guess"] = _guess(rows, d)
    rows["fine"] = where(fine, 1.0, rows.zero)


def softplus(y: Vector) -> Vector:
    """log(1 + exp(y))."""
    return largest(0.0, y) + log1p_unit(exp(-abs(y)))


def _lead(rows: Rows, log_odds: list[Vector], rate: list[Vector], j: int, k: int) -> Mask:
    """:class:`swingby.theory.odds.Leading` for one entry of L."""
    place = pair(j, k)
    column = rows["entry", place]
    rows["power_k", place] = where(rate[k] > 0.0, (1.0 - rate[j] / rate[k]) * 0.25, rows.zero)
    rows["power_j", place] = where(rate[j] > 0.0, (1.0 - rate[k] / rate[j]) * 0.25, rows.zero)
    size = abs(column)
    there = size > 0.0
    column_log = where(there, log(size), _NOTHING)
    generic = (log_odds[j] - log_odds[k]) * 0.5
    unit = largest(where(rows["canceled", k] > 0.0, generic, _NOTHING), column_log)
    rows["unit_log", place] = unit
    relative = exp(column_log - unit)
    rows["column", place] = where(column > 0.0, relative, where(column < 0.0, -relative, 0.0))
    return ((size > 1e-290) & (size < 1e290)) | (size <= 0.0)


def _guess(rows: Rows, d: int) -> Vector:
    """The overlap of the stages: up to a factor, the largest size of the correction.

    With l_jk at the stage of k; a concept j that saturates before is taken as saturated.
    """
    found = rows.zero
    for j in range(d):
        for k in range(j):
            place, time = pair(j, k), rows["time", k]
            both = (rows["learned", j] > 0.5) & (rows["learned", k] > 0.5)
            later = largest(0.0, rows["log_odds", j] + rows["rate", j] * time)
            size = (
                rows["unit_log", place]
                + rows["climb", place] * time
                + rows["power_k", place] * (_LOG_TWO - rows["soft", k])
                + rows["power_j", place] * (later - rows["soft", j])
            )
            column = rows["column", place]
            slower = abs(1.0 - rows["rate", j] / rows["rate", k])
            share = exp(smallest(100.0, size) * 2.0) * column * column * slower
            found = where(both, largest(found, share), found)
    return found


def _steps(rows: Rows, log_odds: list[Vector], rate: list[Vector]) -> Mask:
    """What ratios x_j/x_k are multiplied up from: steps between concepts that are there."""
    last_time = rows["edge", 2 * len(rate)]
    before, before_rate = log_odds[0], rate[0]
    highest, lowest = rows.zero, rows.zero
    for k, (here, here_rate) in enumerate(zip(log_odds, rate, strict=True)):
        there = here > 0.5 * ABSENT
        rows["present", k] = where(there, 1.0, rows.zero)
        here = where(there, here, before)
        here_rate = where(there, here_rate, before_rate)
        step, step_rate = here - before, here_rate - before_rate
        rows["step", k], rows["step_rate", k] = step, step_rate
        later = step + step_rate * last_time
        highest = highest + largest(0.0, largest(step, later))
        lowest = smallest(lowest, smallest(step, later))
        before, before_rate = here, here_rate
    # Exponentials of steps are bounded; a bound on one must not be multiplied up by the others.
    return (highest < 100.0) | ((highest < 600.0) & (lowest > -650.0))


def _panels(rows: Rows, times: list[Vector], rate: list[Vector]) -> Mask:
    """Edges of the panels; panels after the last learned stage have length zero."""
    d = len(times)
    rate = [value * 0.5 for value in rate]
    slowest = rate[0]
    for value in rate[1:]:
        slowest = smallest(value, slowest)
    ordered = list(zip(times, rate, strict=True))
    for end in range(d - 1, 0, -1):
        for place in range(end):
            (left, left_rate), (right, right_rate) = ordered[place], ordered[place + 1]
            swap = left > right
            ordered[place] = (where(swap, right, left), where(swap, right_rate, left_rate))
            ordered[place + 1] = (where(swap, left, right), where(swap, left_rate, right_rate))
    first_time = ordered[0][0]
    last = first_time
    count = rows.zero
    for time, speed in ordered:
        real = time < math.inf
        last = where(real, time + 1.5 / speed, last)
        count = count + where(real, 2.0, rows.zero)
    rows["nodes"] = count * 8.0
    lead = where(slowest > 0.0, 12.0 / slowest, math.inf)
    edges = [largest(0.0, first_time - lead)]
    for place, (time, speed) in enumerate(ordered):
        edges.append(where(time < math.inf, time, last))
        if place + 1 < d:
            following = ordered[place + 1][0]
            middle = time + smallest((following - time) * 0.5, 6.0 / speed)
            edges.append(where(following < math.inf, middle, last))
    edges.append(last)
    fine = last < 1e290
    for place, (left, right) in enumerate(itertools.pairwise(edges)):
        long = right - left > last * 1e-7
        fine = fine & (long | (count <= float(place)))
        rows["edge", place] = left
    rows["edge", 2 * d] = last
    return fine
