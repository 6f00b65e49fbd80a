"""Decisive sizes of a loss and the largest transient entry along walks: loops that are compiled.

A *decisive size* is a size of rise or fall at which the number of descents changes. W is looked at
between any two steps of a walk, and extrema are the vertices of parabolas through three looks.
Imports numba, so import it late.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import math
from importlib import resources
from typing import Any

import numpy as np

from swingby.theory.compiled_cache import inner
from swingby.theory.compiled_text import call, load

#: Looks at W in every step of the integration.
LOOKS = 16


@inner
def _look(y: Any, d: int, W: Any, point: Any, concept: Any) -> float:
    """The test loss at coordinates y; W (d, d) is that of the places, its diagonal left out."""
    total = 0.0
    for i in range(d):
        W[i, i] = math.exp(y[i * (d + 2)] / 2.0)
    for i in range(d):
        output = 0.0
        for j in range(d):
            entry = 0.0
            for k in range(min(i, j) + 1):
                V, z = y[i * (d + 2) + 2 + k], y[k * (d + 2) + 1]
                entry += V * z * y[j * (d + 2) + 2 + k]
            entry *= W[i, i] * W[j, j]
            output += entry * point[concept[j]]
            if j < i:
                W[i, j] = abs(entry)
        total += (output - point[concept[i]]) ** 2
    return total / 2.0


@inner
def look_along(
    begins: Any,
    time: Any,
    size: Any,
    concept: Any,
    forms: Any,
    weights: Any,
    point: Any,
    loss: Any,
    transient: Any,
    entry: Any,
) -> None:
    """Look at n instances along their steps, which are the rows from begins[k] to begins[k + 1].

    Writes the loss at all looks (m, LOOKS + 1), and by instance the largest size of an entry beside
    the diagonal and its concepts.
    """
    n, d, looks = len(begins) - 1, concept.shape[1], weights.shape[0]
    longest = 1
    for k in range(n):
        longest = max(longest, begins[k + 1] - begins[k])
    sizes, times = np.empty((d * d, longest * looks)), np.empty(longest * looks)
    y, W, found = np.empty((looks, d * (d + 2))), np.zeros((d, d)), np.empty(8)
    for k in range(n):
        count, largest, place, pair = 0, 0.0, -1, 0
        for row in range(begins[k], begins[k + 1]):
            for look in range(looks):
                for i in range(d * (d + 2)):
                    total = 0.0
                    for form in range(8):
                        total += weights[look, form] * forms[row, form, i]
                    y[look, i] = total
                loss[row, look] = _look(y[look], d, W, point[k], concept[row])
                times[count] = time[row] + size[row] * (look / LOOKS)
                for i in range(d):
                    for j in range(i):
                        sizes[i * d + j, count] = W[i, j]
                        if W[i, j] > largest:
                            largest, place, pair = W[i, j], count, i * d + j
                count += 1
        if place < 0:
            continue
        first, last = max(place - 2, 0), min(place + 3, count)
        turns = extrema(times[first:last], sizes[pair, first:last], found)
        for turn in range(turns):
            largest = max(largest, found[turn])
        transient[k] = largest
        row = begins[k] + place // looks
        i, j = concept[row, pair // d], concept[row, pair % d]
        entry[k, 0], entry[k, 1] = min(i, j), max(i, j)


@inner
def extrema(times: Any, values: Any, out: Any) -> int:
    """First and last value, and between them the vertices of the parabolas through every turn."""
    n = len(values)
    if n == 0:
        out[0] = 0.0
        return 1
    out[0], count = values[0], 1
    before = at = 0  # of the last two looks that differ
    for look in range(1, n):
        # Where two steps meet there are two looks at one time.
        if values[look] == values[look - 1] or not times[look] > times[look - 1]:
            continue
        up, down = values[at] - values[before], values[look] - values[at]
        if up * down < 0.0:
            rise, fall = times[at] - times[before], times[look] - times[at]
            slope = (up / rise * fall + down / fall * rise) / (rise + fall)
            bend = (down / fall - up / rise) / (rise + fall)
            limit = max(abs(up), abs(down))
            moved = -0.25 * slope * slope / bend
            out[count] = values[at] + min(max(moved, -limit), limit)
            count += 1
        before, at = at, look
    out[count] = values[at]
    return count + 1


@inner
def decisive(series: Any, least: float, stack: Any, out: Any) -> int:
    """Sizes above `least` at which the number of descents of a series changes, in no order.

    A leg that is smaller than both of its neighbours goes with one descent; what is left grows and
    then shrinks, and each of its falls is one. Returns their number, at most one more than `out`
    has room for.
    """
    height = count = 0
    for value in series:
        if not math.isfinite(value) or (height > 0 and value == stack[height - 1]):
            continue
        if height > 1 and (stack[height - 1] - stack[height - 2]) * (value - stack[height - 1]) > 0:
            height -= 1
        stack[height] = value
        height += 1
        while height > 3:
            before = abs(stack[height - 3] - stack[height - 4])
            leg = abs(stack[height - 2] - stack[height - 3])
            if leg > before or leg > abs(stack[height - 1] - stack[height - 2]):
                break
            stack[height - 3] = stack[height - 1]
            height -= 2
            if leg > least:
                if count == len(out):
                    return count + 1
                out[count] = leg
                count += 1
    for k in range(height - 1):
        leg = stack[k] - stack[k + 1]
        if leg > least:
            if count == len(out):
                return count + 1
            out[count] = leg
            count += 1
    return count


@inner
def sizes_of(
    begins: Any,
    time: Any,
    size: Any,
    loss: Any,
    away: Any,
    away_begins: Any,
    threshold: Any,
    smallest: float,
    every: int,
    sizes: Any,
    counts: Any,
) -> None:
    """Decisive sizes of n instances over their thresholds, descending, (n, most), and how many.

    away: the losses of all instances after their last looks, those of k from away_begins[k] on;
    smallest: the least size that is asked for, over the threshold; every: of how many looks one is
    taken.
    """
    looks = loss.shape[1]
    for k in range(len(begins) - 1):
        first, last = begins[k], begins[k + 1]
        total = (last - first) * looks
        behind = away[away_begins[k] : away_begins[k + 1]]
        times, values = np.empty(total), np.empty(total)
        kept = 0
        for number in range(0, total, every):
            row, look = first + number // looks, number % looks
            times[kept], values[kept] = time[row] + size[row] * (look / LOOKS), loss[row, look]
            kept += 1
        series = np.empty(kept + 2 + len(behind))
        turns = extrema(times[:kept], values[:kept], series)
        for number in range(len(behind)):
            series[turns + number] = behind[number]
        whole = series[: turns + len(behind)]
        count = decisive(whole, threshold[k] * smallest, np.empty(len(whole) + 1), sizes[k])
        counts[k] = count
        if count <= sizes.shape[1]:
            sizes[k, :count] = -np.sort(-sizes[k, :count]) / threshold[k]


_TEXT = '''"""Written by swingby; do not edit. Of the sizes {digest}."""
from swingby.verify import swing_sizes as loops

@compiled()
def look_along({looks}):
 loops.look_along({looks})

@compiled()
def sizes_of({arguments}):
 loops.sizes_of({arguments})
'''


_WHAT = "sizes of swings"


@functools.cache
def _entry_points() -> Any:
    text = resources.files("swingby.verify").joinpath("swing_sizes.py")  # the package may be zipped
    digest = hashlib.sha256(text.read_bytes()).hexdigest()
    looks, arguments = (
        ", ".join(inspect.signature(function.py_func).parameters)
        for function in (look_along, sizes_of)
    )
    return load(_TEXT.format(digest=digest, looks=looks, arguments=arguments), _WHAT)


def run(name: str, *arguments: Any) -> None:
    """Call a function of this file in its compiled form."""
    call(getattr(_entry_points(), name), _WHAT, *arguments)
