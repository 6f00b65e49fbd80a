"""Compiled end of the batched law: crossings, finite-step shift, error bars. Imports numba."""

from __future__ import annotations

import itertools
import math
from typing import Any

from swingby.theory.correction import LARGEST_CHANGE, SMALL_CORRECTION
from swingby.theory.doubts import PASSING
from swingby.theory.pivots import MOST_ROUNDING
from swingby.theory.reliability import BAR
from swingby.verify.batched.elementary import exp, log
from swingby.verify.batched.rows import DYNAMICS, EULER, FLOW, GD, layout
from swingby.verify.batched.vectors import (
    Mask,
    Rows,
    Vector,
    clip,
    largest,
    smallest,
    where,
    written,
)

_BARS = {DYNAMICS[name]: bar for name, bar in BAR.items()}
_MOST = math.exp(MOST_ROUNDING)
_LOG_HALF = -math.log(2)
#: Squared columns of L beyond this cost so many digits that the order of operations is seen.
_LARGEST_SPREAD = 1e8
#: Comparisons that decide something are left to the scalar law where they are closer than this.
_CLOSE = 1e-6


@written(layout)
def end_leading(rows: Rows, d: int, kind: int, _i: Any, _j: Any) -> None:
    """The end without a quadrature."""
    for k in range(d):
        rows["size", k] = 0.0
        rows["highest", k] = 0.0
        rows["spread"] = 0.0
        rows["crossing", k] = rows["time", k]
    rows["more"] = 0.0
    _finish(rows, d, kind, [rows.zero] * d, rows["fine"] > 0.5)


@written(layout)
def end_first(rows: Rows, d: int, kind: int, _i: Any, _j: Any) -> None:
    """The end after one sweep; `more` where that one was not small, or levels were left out."""
    given = rows["fine"] > 0.5
    before, after, sure = _crossings(rows, d)
    biggest, moved = rows.zero, rows.zero
    for k in range(d):
        change = where(_seen(rows, k), abs(after[k] - before[k]) * rows["rate", k], math.inf)
        moved = largest(moved, where(rows["learned", k] > 0.5, change, rows.zero))
        biggest = largest(biggest, rows["size", k])
        rows["crossing", k] = after[k]
    decisive = largest(moved, biggest)
    small = decisive < SMALL_CORRECTION
    clear = sure & (abs(decisive - SMALL_CORRECTION) > SMALL_CORRECTION * _CLOSE)
    clear = given & (clear | (biggest > SMALL_CORRECTION * (1 + _CLOSE)))
    more = where(small, 0.0, rows.zero.like(1.0))
    left_out = given & (rows["near"] < 0.5) & ~(biggest > SMALL_CORRECTION * (1 + _CLOSE))
    rows["more"] = where(left_out, 2.0, more)
    _finish(rows, d, kind, [rows.zero] * d, clear)
    rows["fine"] = where(small, rows["fine"], where(clear, 1.0, rows.zero))


@written(layout)
def end_last(rows: Rows, d: int, kind: int, _i: Any, _j: Any) -> None:
    """The end after all sweeps; `more` where the size of the first one alone does not ask for them.

    Where the last sweep still moves a stage, or loses it, the leading order is the better guess.
    """
    before, after, fine = _crossings(rows, d)
    fine = fine & (rows["fine"] > 0.5)
    changes, most, biggest = [], rows.zero, rows.zero
    for k in range(d):
        change = where(_seen(rows, k), abs(after[k] - before[k]) * rows["rate", k], math.inf)
        changes.append(where(rows["learned", k] > 0.5, change, rows.zero))
        most = largest(most, changes[k])
        biggest = largest(biggest, rows["size", k])
        fine = fine & (abs(changes[k] - LARGEST_CHANGE) > LARGEST_CHANGE * _CLOSE)
    lost = most > LARGEST_CHANGE
    for k in range(d):
        changes[k] = where(lost, 0.0, changes[k])
        rows["crossing", k] = where(lost, rows["time", k], after[k])
    clearly = biggest > SMALL_CORRECTION * (1 + _CLOSE)
    rows["more"] = where(clearly, 0.0, rows.zero.like(2.0))
    _finish(rows, d, kind, changes, fine, lost)


def _seen(rows: Rows, k: int) -> Mask:
    """Whether the panels see the crossing of a concept before and after the last sweep."""
    return (rows["seen", 0, k] > 0.5) & (rows["seen", 1, k] > 0.5)


def _crossings(rows: Rows, d: int) -> tuple[list[Vector], list[Vector], Mask]:
    """Where each concept goes through 1/2, before and after the last sweep; whether all is sure."""
    found: list[list[Vector]] = [[], []]
    fine = rows["eta"] > 0.0
    for side in range(2):
        for k in range(d):
            value, sure = _crossing(rows, side, k)
            found[side].append(value)
            asked = (rows["learned", k] > 0.5) & (rows["seen", side, k] > 0.5)
            fine = fine & (sure | ~asked)
    return found[0], found[1], fine


def _crossing(rows: Rows, side: int, k: int) -> tuple[Vector, Mask]:
    """The inverse cubic interpolation of :mod:`swingby.theory.correction`; whether it is sure."""
    x = [rows["near_time", side, k, place] for place in range(4)]
    y = []
    for place in range(4):
        level = clip(rows["near_level", side, k, place], 1e-300, 1 - 1e-12)
        y.append(log(level / (1.0 - level)))
    linear = x[1] - y[1] * (x[2] - x[1]) / (y[2] - y[1])
    cubic = x[1].like(0.0)
    for p in range(4):
        above, below = x[p], x[p].like(1.0)
        for q in range(4):
            if q != p:
                above = above * y[q]
                below = below * (y[q] - y[p])
        cubic = cubic + above / below
    rising, clearly = None, None
    for left, right in itertools.pairwise(y):
        step, certain = right - left > 0.0, abs(right - left) > 1e-9
        rising = step if rising is None else rising & step
        clearly = certain if clearly is None else clearly & certain
    inside = (cubic >= x[1]) & (cubic <= x[2])
    margin = (x[2] - x[1]) * _CLOSE
    clear = (abs(cubic - x[1]) > margin) & (abs(cubic - x[2]) > margin)
    assert rising is not None
    assert clearly is not None
    return where(rising & inside, cubic, linear), clearly & clear


def _finish(
    rows: Rows, d: int, kind: int, changes: list[Vector], fine: Mask, lost: Mask | None = None
) -> None:
    """Finite-step shift, blow-up, error bars, doubts; nothing is known where stages are `lost`."""
    sizes = [rows["size", k] for k in range(d)]
    biggest, most_changed = rows.zero, rows.zero
    for k in range(d):
        biggest = largest(biggest, sizes[k])
        most_changed = largest(most_changed, changes[k])
    fine = fine & (rows["spread"] < _LARGEST_SPREAD)
    eta = rows["eta"]
    h_largest = rows.zero if kind == FLOW else eta * rows["signal", 0]
    blow_up, runs_away = rows.zero.like(math.inf), rows.zero.like(math.inf)
    open_signs = []
    for k in range(d):
        trapped, passing = rows["trapped", k] > 0.5, rows["highest", k] > PASSING
        fine = fine & ((abs(rows["highest", k] - PASSING) > _CLOSE) | ~trapped)
        if kind == EULER:
            cancels, away, clear = _cancels(rows, biggest, k)
            fine = fine & clear
            runs_away = where(cancels, smallest(runs_away, away), runs_away)
            ends = largest(0.0, -rows["log_pivot", k] / rows["rate", k])
            ends = where(trapped, where(cancels, math.inf, ends), math.inf)
            blow_up = smallest(blow_up, ends)
            undecided = (trapped & passing) | (cancels & (rows["signal", k] > 0.0))
            open_signs.append(where(cancels, 1.0, rows.zero))
        else:
            undecided = trapped & passing
        rows["undecided", k] = where(undecided, 1.0, rows.zero)
    for k in range(d):
        learned = rows["learned", k] > 0.5
        rate = where(learned, rows["rate", k], 1.0)
        time = rows["crossing", k]
        if kind != FLOW:
            time = time + _shift(rows, k, eta * rows["signal", k], kind) / rate
        time = largest(0.0, time)
        if kind == EULER:
            after = where(open_signs[k] > 0.5, 0.0, where(time > runs_away, 1.0, rows.zero))
            for bound in (blow_up, runs_away):
                apart = (abs(time - bound) > bound * _CLOSE) | (bound >= math.inf)
                fine = fine & (apart | (rows["learned", k] < 0.5))
            time = where(time > blow_up, math.nan, time)
        other = where(rows["trapped", k] > 0.5, math.nan, rows.zero.like(math.inf))
        rows["crossing", k] = where(learned, time, other)
        canceled = smallest(_MOST, rows["canceled", k])
        lost_digits = smallest(_MOST, rows["rounding", k])
        bar = (sizes[k] + biggest * 0.15) * (biggest + h_largest)
        if kind == EULER:
            bar = bar + h_largest * h_largest * 0.25 * canceled
        total = bar * _BARS[kind] + changes[k] + most_changed * 0.15 + 2e-5
        total = total + lost_digits * 2e-16
        if kind != FLOW:
            total = total + rate * rate * rate * 0.3
        fine = fine & ((abs(total - 1.0) > _CLOSE) | (rows["learned", k] < 0.5))
        error = where(total > 1.0, math.inf, total / rate)
        if kind == EULER:
            error = where(after > 0.5, math.inf, error)
        if lost is not None:
            error = where(lost, math.inf, error)
        error = where(learned, error, math.nan)
        rows["error", k] = where(rows["undecided", k] > 0.5, math.inf, error)
    rows["fine"] = where(fine, 1.0, rows.zero)


def _cancels(rows: Rows, overlap: Vector, k: int) -> tuple[Mask, Vector, Mask]:
    """Whether the drift leaves the sign of a pivot open, when it would run away, and if sure.

    As in :func:`swingby.theory.doubts.find_doubts`.
    """
    uncertain = (overlap * 2.0 + 0.005) * rows["drift", k]
    drifted, canceled = rows["drifted", k], rows["canceled", k]
    room = uncertain - where(canceled > 0.0, drifted, -drifted)
    size = rows["log_pivot", k] + log(abs(canceled)) + log(largest(1e-300, room))
    rate = where(rows["rate", k] > 0.0, rows["rate", k], 1.0)
    away = largest(0.0, -size / rate)
    clear = abs(drifted - uncertain) > uncertain * _CLOSE
    return drifted < uncertain, away, clear | (uncertain <= 0.0)


def _shift(rows: Rows, k: int, h: Vector, kind: int) -> Vector:
    """The difference of :func:`swingby.theory.finite_step.linearizing_shift` at 1/2 and w(0)."""
    rest = -rows["soft", k]
    w = 1.0 - exp(rest)
    return _linearizing(w.like(0.5), w.like(_LOG_HALF), h, kind) - _linearizing(w, rest, h, kind)


def _linearizing(w: Vector, rest: Vector, h: Vector, kind: int) -> Vector:
    if kind == EULER:
        third = w * w * (8 / 3) - w * (14 / 3) + rest * (10 / 3)
        return h * (rest * 2.0 + h * (w * 2.0 - rest * 2.0 + h * third))
    if kind == GD:
        third = w * w * (21 / 16) - w * (9 / 8) + rest * 0.75
        return h * (rest * 1.5 + h * (w * 1.25 - rest * 0.5 + h * third))
    return rest.like(0.0)
