"""Walking along the modified flow: steps of the size the error asks for, and the events on the way.

All lanes take a step together; what happened in a lane is looked at by itself. Only plain loops
and the functions of :mod:`swingby.theory.law.coordinates` are used, so the text is also compiled.
Times are in eta times steps.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from swingby.theory.law.arrays import matrix_of, weighted
from swingby.theory.law.coordinates import FIFTH, THIRD, attempt, slope
from swingby.theory.law.modified import EULER, Flow

#: A landing this close to w_kk = 1/2 is finished by one step of Newton: its error in steps.
LANDING = 1e-4
#: A pivot that has lost this share of itself to the drift is moved to the end of the order, where
#: it may go through zero.
DRIFTED = 0.75
#: A runaway that ends within so many steps is left to the map itself, once the logarithm of its
#: pivot is above NEAR: below, W in floats does not hold it.
RUNAWAY, NEAR = 3000, -12.0
#: And one of which a diagonal entry is as far below 0.
FARTHEST = 0.5
#: log w_kk to which the first step goes.
LEAST_LEVEL = math.log(1e-3)
#: Attempts after which a lane is given up.
MOST_ATTEMPTS = 1000
#: Steps of the map at the end of a runaway.
MOST_MAPPED = 100_000


class Walk(NamedTuple):
    """Lanes under way; every array is changed in place.

    By place in the order of elimination: signal (d, n), y (d, d + 2, n), its derivative `speed`,
    free (d, n), concept (d, n), largest (d, d, n), the size of each entry so far. By concept:
    crossing, highest (d, n), the largest w_kk so far, lost (d, n), where the pivot is not positive,
    share (d, n), the part of its terms that the pivot is. By lane: h, tolerance, time, step, blow_up,
    attempts, active, whole: whether to go on until W is at rest.
    """

    flow: Flow
    signal: Any
    y: Any
    speed: Any
    free: Any
    concept: Any
    largest: Any
    crossing: Any
    highest: Any
    lost: Any
    share: Any
    h: Any
    tolerance: Any
    time: Any
    step: Any
    blow_up: Any
    attempts: Any
    active: Any
    whole: Any


def advance(walk: Walk, kind: int) -> None:
    """One attempt in every active lane."""
    dt = landings(walk)
    y, slopes = attempt(walk.y, walk.speed, dt, walk.free, walk.flow, kind)
    speed = slope(y, walk.free, walk.flow, kind)
    fifth, third = weighted(FIFTH, slopes), weighted(THIRD, slopes)
    if judge(walk, kind, dt, y, speed, fifth, third):
        # Derivatives anew for all lanes, which are the same where nothing was reordered.
        walk.speed[:] = slope(walk.y, walk.free, walk.flow, kind)


def landings(walk: Walk) -> Any:
    """The step to try in every lane; 0 where nothing is under way."""
    n = walk.signal.shape[1]
    dt = np.zeros(n)
    for lane in range(n):
        if walk.active[lane]:
            dt[lane] = _landing(walk, lane)
    return dt


def judge(walk: Walk, kind: int, dt: Any, y: Any, speed: Any, fifth: Any, third: Any) -> bool:
    """Accept or reject the attempt in every lane; whether coordinates were changed in one."""
    d, n = walk.signal.shape
    changed = False
    for lane in range(n):
        if not walk.active[lane]:
            continue
        walk.attempts[lane] += 1
        if walk.attempts[lane] > MOST_ATTEMPTS:
            walk.active[lane] = False
            continue
        error = _error(walk, y, fifth, third, dt[lane], lane)
        if not error < 1.0:
            shrink = 0.9 * error**-0.125 if error < 1e8 else 0.2
            walk.step[lane] = dt[lane] * max(shrink, 0.2)
            continue
        back = _overshoot(walk, y, speed, dt[lane], lane)
        if back > 0.0:
            walk.step[lane] = back
            continue
        for i in range(d):
            for j in range(d + 2):
                walk.y[i, j, lane] = y[i, j, lane]
                walk.speed[i, j, lane] = speed[i, j, lane]
        walk.time[lane] += dt[lane]
        grown = dt[lane] * (min(10.0, 0.9 * error**-0.125) if error > 1e-9 else 10.0)
        walk.step[lane] = grown if dt[lane] == walk.step[lane] else max(walk.step[lane], grown)
        if look(walk, lane, kind):
            changed = True
            walk.step[lane] = min(walk.step[lane], 1.0 / walk.signal[:, lane].max())
    return changed


def _error(walk: Walk, y: Any, fifth: Any, third: Any, dt: float, lane: int) -> float:
    """Estimated error of the step, in units of what is tolerated."""
    d = y.shape[0]
    five = three = 0.0
    for i in range(d):
        for j in range(d + 2):
            size = 1.0
            if j > 1:
                size += max(abs(y[i, j, lane]), abs(walk.y[i, j, lane]))
            five += (fifth[i, j, lane] / size) ** 2
            three += (third[i, j, lane] / size) ** 2
    if five == 0.0 and three == 0.0:
        return 0.0
    count = d * (d + 3) / 2
    error = dt * five / math.sqrt((five + 0.01 * three) * count) / walk.tolerance[lane]
    return error if error < 1e300 else 1e300


def level_of(y: Any, speed: Any, k: int, lane: int) -> tuple[float, float]:
    """w_kk and its derivative."""
    total = change = 0.0
    for m in range(k + 1):
        V, z = y[k, m + 2, lane], y[m, 1, lane]
        total += V * V * z
        change += V * (2.0 * speed[k, m + 2, lane] * z + V * speed[m, 1, lane])
    e = math.exp(min(y[k, 0, lane], 600.0))
    return e * total, e * (change + total * speed[k, 0, lane])


def _awaited(walk: Walk, k: int, lane: int) -> bool:
    """Whether the concept at place k has still to reach 1/2."""
    concept = walk.concept[k, lane]
    return bool(
        walk.signal[k, lane] > 0.0
        and walk.y[k, 1, lane] != 0.0
        and math.isnan(walk.crossing[concept, lane])
    )


def _landing(walk: Walk, lane: int) -> float:
    """The step to try: at most to where the next w_kk will be 1/2, by its present logit."""
    dt = walk.step[lane]
    for k in range(walk.signal.shape[0]):
        if _awaited(walk, k, lane):
            w, change = level_of(walk.y, walk.speed, k, lane)
            if 0.0 < w < 0.5 and change > 0.0:
                ahead = -math.log(w / (1.0 - w)) * w * (1.0 - w) / change
                dt = min(dt, max(ahead, 1e-9 * walk.h[lane]))
    return float(dt)


def _close(walk: Walk, w: float, change: float, k: int, lane: int) -> float:
    """Time from here to w_kk = 1/2 by Newton; inf where that is not near enough."""
    if not (0.0 < w < 1.0 and change > 0.0):
        return math.inf
    ahead = -math.log(w / (1.0 - w)) * w * (1.0 - w) / change
    near = walk.signal[:, lane].max() * ahead * ahead <= LANDING * walk.h[lane]
    return ahead if near and abs(w - 0.5) < 0.05 else math.inf


def _overshoot(walk: Walk, y: Any, speed: Any, dt: float, lane: int) -> float:
    """A shorter step, where this one goes past w_kk = 1/2 by more than Newton mends; else 0."""
    back = 0.0
    for k in range(walk.signal.shape[0]):
        if not _awaited(walk, k, lane):
            continue
        w, change = level_of(y, speed, k, lane)
        if w < 0.5 or _close(walk, w, change, k, lane) < math.inf:
            continue
        before, _ = level_of(walk.y, walk.speed, k, lane)
        if not 0.0 < before < 0.5:
            continue
        low, high = math.log(before / (1.0 - before)), math.log(w / max(1.0 - w, 1e-12))
        share = min(max(-low / (high - low), 0.01), 0.95)
        back = dt * share if back == 0.0 else min(back, dt * share)
    return back


def look(walk: Walk, lane: int, kind: int) -> bool:
    """Note what an accepted state shows; whether its coordinates were changed."""
    d = walk.signal.shape[0]
    W = matrix_of(walk.y, lane)
    for k in range(d):
        concept = walk.concept[k, lane]
        walk.highest[concept, lane] = max(walk.highest[concept, lane], W[k, k])
        if math.isnan(walk.crossing[concept, lane]):
            terms = 0.0
            for m in range(k + 1):
                terms += walk.y[k, m + 2, lane] ** 2 * abs(walk.y[m, 1, lane])
            walk.share[concept, lane] = walk.y[k, 1, lane] / terms if terms > 0.0 else 0.0
        for j in range(d):
            walk.largest[k, j, lane] = max(walk.largest[k, j, lane], abs(W[k, j]))
        if _awaited(walk, k, lane):
            w, change = level_of(walk.y, walk.speed, k, lane)
            ahead = _close(walk, w, change, k, lane)
            if ahead < math.inf:
                walk.crossing[concept, lane] = walk.time[lane] + ahead
            elif w >= 0.5:
                walk.crossing[concept, lane] = walk.time[lane]
    changed = _set_at_rest(walk, W, lane)
    if kind == EULER:
        if _reorder_drifted(walk, W, lane):
            changed, W = True, matrix_of(walk.y, lane)
        _run_away(walk, W, lane)
    if walk.active[lane]:
        walk.active[lane] = _goes_on(walk, W, lane)
    return changed


def _goes_on(walk: Walk, W: Any, lane: int) -> bool:
    """Whether an event is still to come."""
    d = walk.signal.shape[0]
    for k in range(d):
        if _awaited(walk, k, lane) or (walk.y[k, 1, lane] < 0.0 and walk.signal[k, lane] > 0.0):
            return True
    if walk.whole[lane]:
        for k in range(d):
            if walk.signal[k, lane] > 0.0 and walk.y[k, 1, lane] > 0.0 and walk.free[k, lane] > 0.0:
                return True
    return False


def _set_at_rest(walk: Walk, W: Any, lane: int) -> bool:
    """Set learned concepts to 1 whose other entries no longer matter; whether any was.

    An entry w_kj moves log pivots by about its square, so it matters down to the square root of
    the tolerance; for the curve it has to have fallen well below its peak.
    """
    d = walk.signal.shape[0]
    small = 0.1 * math.sqrt(walk.tolerance[lane])
    changed = False
    for k in range(d):
        if walk.free[k, lane] == 0.0 or not abs(W[k, k] - 1.0) < small:
            continue
        quiet = walk.y[k, 1, lane] > 0.0 and not math.isnan(
            walk.crossing[walk.concept[k, lane], lane]
        )
        for j in range(d):
            if j != k:
                quiet = quiet and abs(W[k, j]) < min(small, 0.1 * walk.largest[k, j, lane] + 1e-300)
        if quiet:
            changed = True
            walk.free[k, lane] = 0.0
            walk.y[k, 0, lane], walk.y[k, 1, lane] = 0.0, 1.0
            for j in range(d):
                if j != k:
                    walk.y[k, j + 2, lane] = walk.y[j, k + 2, lane] = 0.0
    return changed


def _reorder_drifted(walk: Walk, W: Any, lane: int) -> bool:
    """Move a pivot that the drift takes away to the end; whether one was.

    A negative direction takes others with it: there w_kk falls, and with it the pivot's own size.
    """
    d = walk.signal.shape[0]
    worst, least = -1, 1.0 - DRIFTED
    negative = False
    for k in range(d):
        negative = negative or walk.y[k, 1, lane] < 0.0
    for k in range(d):
        z = walk.y[k, 1, lane]
        if negative and z > 0.0 and W[k, k] < (1.0 - DRIFTED) * walk.largest[k, k, lane]:
            z = min(z, W[k, k] / walk.largest[k, k, lane])
        if walk.free[k, lane] > 0.0 and 0.0 < z < least:
            worst, least = k, z
    if worst < 0 or worst == d - 1:
        return False
    rotate(walk, worst, lane)
    return True


def rotate(walk: Walk, k: int, lane: int) -> None:
    """Put the concept at place k last, and factorize again."""
    d = walk.signal.shape[0]
    order = np.empty(d, dtype=np.int64)
    for i in range(d):
        order[i] = i if i < k else i + 1
    order[d - 1] = k
    C = np.empty((d, d))
    for i in range(d):
        for j in range(d):
            total = 0.0
            for m in range(min(order[i], order[j]) + 1):
                V = walk.y[order[i], m + 2, lane] * walk.y[order[j], m + 2, lane]
                total += V * walk.y[m, 1, lane]
            C[i, j] = total
    flow = walk.flow
    for values in (walk.signal, walk.free):
        copy = values[:, lane].copy()
        for i in range(d):
            values[i, lane] = copy[order[i]]
    concepts, u = walk.concept[:, lane].copy(), walk.y[:, 0, lane].copy()
    for values in (flow.pair, flow.drive, flow.linear, flow.mixed, walk.largest):
        square = values[:, :, lane].copy()
        for i in range(d):
            for j in range(d):
                values[i, j, lane] = square[order[i], order[j]]
    for i in range(d):
        walk.concept[i, lane] = concepts[order[i]]
        walk.y[i, 0, lane] = u[order[i]]
    factorize(C, walk.y, lane)


def factorize(C: Any, y: Any, lane: int) -> None:
    """V, z and u of one lane from C = V diag(z) V^T; positive pivots are made 1. Changes C."""
    d = C.shape[0]
    for k in range(d):
        pivot = C[k, k]
        for j in range(d):
            y[j, k + 2, lane] = 1.0 if j == k else 0.0
            if j > k and pivot != 0.0:
                y[j, k + 2, lane] = C[j, k] / pivot
        for i in range(k + 1, d):
            for j in range(k + 1, d):
                C[i, j] -= y[i, k + 2, lane] * y[j, k + 2, lane] * pivot
        y[k, 1, lane] = pivot
    for k in range(d):
        size = abs(y[k, 1, lane])
        if size > 0.0:
            root = math.sqrt(size)
            y[k, 0, lane] += 2.0 * math.log(root)
            y[k, 1, lane] = 1.0 if y[k, 1, lane] > 0.0 else -1.0
            for j in range(d):
                if j > k:
                    y[j, k + 2, lane] *= root
                if j < k:
                    y[k, j + 2, lane] /= root


def _run_away(walk: Walk, W: Any, lane: int) -> None:
    """Where a negative entry has grown, let the map itself run to the end of the float range."""
    d = walk.signal.shape[0]
    far = False
    for k in range(d):
        rate = 2.0 * walk.h[lane] * walk.signal[k, lane]
        if walk.y[k, 1, lane] < 0.0 and rate > 0.0:
            log = walk.y[k, 0, lane] + math.log(-walk.y[k, 1, lane])
            near = log > NEAR and 3.0 - log < RUNAWAY * rate
            far = far or near or W[k, k] < -FARTHEST
    if not far:
        return
    walk.active[lane] = False
    steps = run_map(W, walk.signal[:, lane].copy(), walk.h[lane], walk, lane)
    walk.blow_up[lane] = walk.time[lane] + steps * walk.h[lane]


def _within(past: float, now: float, then: float, known: bool) -> float:
    """Where between two steps the logit is 0, by the parabola through it and the one before."""
    first = math.log(max(now, 1e-12) / (1.0 - now))
    second = math.log(then / (1.0 - then))
    share = -first / (second - first)
    if known and 0.0 < past < now:
        before = math.log(past / (1.0 - past))
        line, bend = (second - before) / 2, (second - 2 * first + before) / 2
        for _ in range(4):
            share -= (first + share * (line + share * bend)) / (line + 2 * share * bend)
    return share


def run_map(W: Any, signal: Any, h: float, walk: Walk, lane: int) -> float:
    """Steps of (D.2) from W until it leaves the float range; levels of 1/2 on the way noted."""
    d = signal.shape[0]
    new, square, past = W.copy(), W.copy(), W.copy()
    for step in range(MOST_MAPPED):
        for i in range(d):
            for j in range(d):
                total = 0.0
                for k in range(d):
                    weight = signal[i] + signal[j] + 2.0 * signal[k]
                    total += weight * W[i, k] * W[k, j]
                square[i, j] = total
        finite = True
        for i in range(d):
            for j in range(d):
                new[i, j] = W[i, j] + h * ((signal[i] + signal[j]) * W[i, j] - 0.5 * square[i, j])
                finite = finite and abs(new[i, j]) < 1e300
        if not finite:
            for k in range(d):
                # A negative direction belongs to the concepts that run away in it.
                concept = walk.concept[k, lane]
                runs = W[k, k] < 0.0 or walk.y[k, 1, lane] == 0.0
                walk.lost[concept, lane] = runs and math.isnan(walk.crossing[concept, lane])
            return float(step)
        for k in range(d):
            if _awaited(walk, k, lane) and W[k, k] < 0.5 <= new[k, k] < 1.0:
                place = step + _within(past[k, k], W[k, k], new[k, k], step > 0)
                walk.crossing[walk.concept[k, lane], lane] = walk.time[lane] + place * h
        past, W, new = W, new, past
    return math.inf
