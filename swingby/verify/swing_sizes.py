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

from swingby.theory.compiled_cache import borrowing, inner
from swingby.theory.compiled_text import call
from swingby.theory.compiled_text import load as load_text
from swingby.theory.law.curve import LOOKS
from swingby.theory.law.lane_vectors import (
    LANES,
    everywhere,
    exp,
    load,
    store,
    times,
    times_plus,
)
from swingby.theory.law.runge_kutta import interpolation_weights
from swingby.theory.law.walk_lanes import step_map
from swingby.theory.law.walk_text import law_digest
from swingby.theory.numbers import Floats

#: Looks in a step, its end included, and with them the looks that fill up the last vector.
_INCLUSIVE, _WIDTH = LOOKS + 1, LOOKS + LANES


def look_weights() -> Floats:
    """What each of the eight forms of a step counts for at its looks, (8, _WIDTH) in a flat array.

    >>> look_weights().reshape(8, -1)[1, [0, 8, 16, 17]].tolist()
    [0.0, 0.5, 1.0, 0.0]
    """
    weights = np.zeros((8, _WIDTH))
    weights[:, :_INCLUSIVE] = interpolation_weights(np.arange(_INCLUSIVE) / LOOKS).T
    return weights.ravel()


@borrowing
def _interpolate(forms: Any, first: int, size: int, weights: Any, y: Any) -> None:
    """Coordinates (size, _WIDTH) at the looks of a step, from its forms (8, size); all flat."""
    for i in range(size):
        for look in range(0, _WIDTH, LANES):
            total = everywhere(0.0)
            for form in range(8):
                share = load(weights, form * _WIDTH + look)
                total = times_plus(everywhere(forms[first + form * size + i]), share, total)
            store(y, i * _WIDTH + look, total)


@borrowing
def look_at(y: Any, d: int, W: Any, point: Any, concept: Any, loss: Any) -> None:
    """The test loss (_WIDTH,) at coordinates y (d, d + 2, _WIDTH), and W (d, d, _WIDTH); flat.

    W is that of the places, its upper half without meaning, its diagonal the square roots of e.
    """
    row = (d + 2) * _WIDTH
    for look in range(0, _WIDTH, LANES):
        for i in range(d):
            root = exp(times(everywhere(0.5), load(y, i * row + look)))
            store(W, (i * d + i) * _WIDTH + look, root)
        squares = everywhere(0.0)
        for i in range(d):
            apart = everywhere(-point[concept[i]])
            for j in range(d):
                total = everywhere(0.0)
                for k in range(min(i, j) + 1):
                    z, place = load(y, k * row + _WIDTH + look), (2 + k) * _WIDTH + look
                    scaled = times(load(y, i * row + place), z)
                    total = times_plus(scaled, load(y, j * row + place), total)
                roots = load(W, (i * d + i) * _WIDTH + look), load(W, (j * d + j) * _WIDTH + look)
                w = times(total, times(roots[0], roots[1]))
                apart = times_plus(w, everywhere(point[concept[j]]), apart)
                if j < i:
                    store(W, (i * d + j) * _WIDTH + look, w)
            squares = times_plus(apart, apart, squares)
        store(loss, look, times(everywhere(0.5), squares))


@inner
def look_along(
    begins: Any,
    time: Any,
    size: Any,
    concept: Any,
    forms: Any,
    form: Any,
    weights: Any,
    point: Any,
    loss: Any,
    transient: Any,
    entry: Any,
) -> None:
    """Look at n instances along their steps, which are the rows from begins[k] to begins[k + 1].

    form: the row of `forms` of each step. Writes the loss at all looks (m, LOOKS + 1), and by
    instance the largest size of an entry beside the diagonal and its concepts.
    """
    n, d, looks = len(begins) - 1, concept.shape[1], loss.shape[1]
    longest, length, flat = 1, d * (d + 2), forms.reshape(-1)
    for k in range(n):
        longest = max(longest, begins[k + 1] - begins[k])
    sizes, moments = np.empty((d * d, longest * looks)), np.empty(longest * looks)
    y, W, losses = np.empty(length * _WIDTH), np.empty(d * d * _WIDTH), np.empty(_WIDTH)
    found = np.empty(8)
    for k in range(n):
        count, largest, moment, pair = 0, 0.0, -1, 0
        for row in range(begins[k], begins[k + 1]):
            _interpolate(flat, form[row] * 8 * length, length, weights, y)
            look_at(y, d, W, point[k], concept[row], losses)
            for look in range(looks):
                loss[row, look] = losses[look]
                moments[count + look] = time[row] + size[row] * (look / LOOKS)
            for i in range(d):
                for j in range(i):
                    number = i * d + j
                    for look in range(looks):
                        w = abs(W[number * _WIDTH + look])
                        sizes[number, count + look] = w
                        if w > largest:
                            largest, moment, pair = w, count + look, number
            count += looks
        if moment < 0:
            continue
        first, last = max(moment - 2, 0), min(moment + 3, count)
        turns = extrema(moments[first:last], sizes[pair, first:last], found)
        for turn in range(turns):
            largest = max(largest, found[turn])
        transient[k] = largest
        row = begins[k] + moment // looks
        i, j = concept[row, pair // d], concept[row, pair % d]
        entry[k, 0], entry[k, 1] = min(i, j), max(i, j)


@inner
def follow_map(
    signal: Any,
    eta: Any,
    phase: float,
    start: Any,
    point: Any,
    gone: float,
    most: int,
    loss: Any,
    counts: Any,
) -> None:
    """Loss of n instances at steps of (D.2), the first by a share `phase`, until W is `gone`.

    Writes how many losses are finite, and these, where there is room for them.
    """
    d, first = signal.shape[1], 0
    growth, scratch = np.empty((d, d)), np.empty((d, d))
    for k in range(len(eta)):
        W, count = start[k].copy(), 0
        for step in range(most):
            if step < 2:
                h = eta[k] * (phase if step == 0 else 1.0)
                for i in range(d):
                    for j in range(d):
                        growth[i, j] = h * (signal[k, i] + signal[k, j])
            step_map(growth, 0.5 * growth, W, scratch)
            total = largest = 0.0
            for i in range(d):
                apart = -point[k, i]
                for j in range(d):
                    apart += W[i, j] * point[k, j]
                    if not abs(W[i, j]) <= largest:
                        largest = abs(W[i, j])
                total += apart * apart
            if math.isfinite(total / 2.0):
                if len(loss) > 0:
                    loss[first + count] = total / 2.0
                count += 1
            if not largest < gone:
                break
        counts[k], first = count, first + count


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


_TEXT = '''"""Written by swingby; do not edit. Of the sizes {digest} and the law {law}."""
from swingby.verify import swing_sizes as loops

@compiled()
def look_along({looks}):
 loops.look_along({looks})

@compiled()
def follow_map({steps}):
 loops.follow_map({steps})

@compiled()
def sizes_of({arguments}):
 loops.sizes_of({arguments})
'''


_WHAT = "sizes of swings"


@functools.cache
def _entry_points() -> Any:
    text = resources.files("swingby.verify").joinpath("swing_sizes.py")  # the package may be zipped
    digest = hashlib.sha256(text.read_bytes()).hexdigest()
    looks, steps, arguments = (
        ", ".join(inspect.signature(function.py_func).parameters)
        for function in (look_along, follow_map, sizes_of)
    )
    lists = {"looks": looks, "steps": steps, "arguments": arguments}
    return load_text(_TEXT.format(digest=digest, law=law_digest(), **lists), _WHAT)


def run(name: str, *arguments: Any) -> None:
    """Call a function of this file in its compiled form."""
    call(getattr(_entry_points(), name), _WHAT, *arguments)
