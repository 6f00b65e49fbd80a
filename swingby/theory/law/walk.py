"""The walk along the modified flow: steps of the size that the error asks for, and its events.

All lanes take a step together; what happened in a lane is looked at by itself. Only plain loops
over numbers are used, so the text is also compiled (:mod:`swingby.theory.law.walk_lanes`). Times
are in eta times steps.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from swingby.theory.growth import DYNAMICS
from swingby.theory.law.coordinates import slope
from swingby.theory.law.modified_flow import FieldConstants
from swingby.theory.law.runge_kutta import FIFTH, THIRD, attempt, between, weighted

#: A crossing of w_kk = 1/2 is read off a state where the curvature moves it by less: in steps.
_LANDING = 1e-4
#: No crossing is read off more finely than as if eta a_k were this: its time is a float.
_FINEST = 1e-20
#: And where the logit of w_kk is at most this.
_NEAREST_LOGIT = 0.5
#: A maximum of logit w_kk below 0 by at most this is near; it is measured to this share of itself.
_NEAR_SUMMIT, _SUMMIT_ERROR = 0.2, 1e-3
#: How near to 1 a learned w_kk rests at least. Where the curve drops an entry: its size, and what
#: is left of its peak.
NEAR_REST, FALLEN = 0.1, (1e-7, 1e-4)
#: A pivot that has lost this share of itself to the drift is moved to the end of the order, where
#: it may go through zero.
_DRIFTED = 0.75
#: A runaway that ends within so many steps is left to the map itself, once the logarithm of its
#: pivot is above HELD: below, W in floats does not hold it.
RUNAWAY, HELD = 3000, -12.0
#: And one of which a diagonal entry is as far below 0.
_FARTHEST = 0.5
#: log w_kk to which the first step goes.
LEAST_LEVEL = math.log(1e-3)
#: Growth of a step in one go; safety; the power of the error that a step is proportional to: an
#: order above that of the pair, as errors of what grows exponentially rise faster than its powers.
MOST_GROWN, SAFETY, POWER = 10.0, 0.9, 1.0 / 11.0
#: An entry of this size is nothing.
_TINIEST = 1e-290
#: Attempts after which a lane is given up.
MOST_ATTEMPTS = 1000
#: Steps of the map at most; the size of log W below which its square is nothing; and the end of the
#: float range.
MOST_MAPPED, NEGLIGIBLE, FLOAT_RANGE = 50_000, -37.0, 690.0

#: Rows of `pairs`: W; W of the state that is tried; the largest size of each entry so far.
ENTRIES, TRIED, LARGEST = range(3)
#: Rows of `places`, by place in the order of elimination: a; 0 where at rest; the concept; the
#: derivative of w_kk, also of the state that is tried; the time from that to w_kk = 1/2.
SIGNAL, MOVING, CONCEPT, RATE, TRIED_RATE, AHEAD = range(6)
#: More rows of it, by concept: when w_kk crosses 1/2, -inf where it starts above; the largest w_kk
#: so far; whether its pivot is not positive.
CROSSING, HIGHEST, LOST = range(6, 9)
#: And one by place again: what a step may be wrong by.
ALLOWED = 9
#: By concept: the first two derivatives of logit w_kk where it crosses 1/2; its largest maximum
#: before, where that is near; the logarithms of the least that is left of its pivot before, and of
#: what its pivot was when it was last set to 1.
SLOPE, CURVATURE, SUMMIT, REMAINDER, SHRUNK = range(10, 15)
#: Rows of `numbers`: the step size eta, the least that is allowed, the time, the step to try, when
#: W has run away, attempts so far, whether the lane is under way, and the size of
#: entries below which W is at rest: 0 where only crossings count, inf for the curve; by what share
#: w_kk are larger where the map takes over.
H, TOLERANCE, TIME, STEP, BLOW_UP, ATTEMPTS, ACTIVE, REST_SIZE, NUDGE = range(9)


class Walk(NamedTuple):
    """Lanes under way: arrays of floats that end in an axis of n lanes, changed in place.

    y (d, d + 2, n), its derivative `speed`, fields (9, d, d, n): the flow, and pairs (3, d, d, n),
    places (15, d, n) and numbers (9, n), whose rows have names above.
    """

    y: Any
    speed: Any
    fields: Any
    pairs: Any
    places: Any
    numbers: Any

    @property
    def flow(self) -> FieldConstants:
        """Constants of the field."""
        return FieldConstants(*self.fields)


def begin(walk: Walk, dynamics: str) -> None:
    """Measure the starts of all lanes."""
    keeps_psd = DYNAMICS[dynamics].keeps_psd
    walk.speed[:] = slope(walk.y, walk.places[MOVING], walk.flow, dynamics)
    changed = [begin_lane(walk, lane, keeps_psd) for lane in range(walk.numbers.shape[1])]
    if any(changed):
        walk.speed[:] = slope(walk.y, walk.places[MOVING], walk.flow, dynamics)


def advance(walk: Walk, dynamics: str, *, noted: bool = False) -> tuple[Any, Any]:
    """One attempt in every active lane; its size, and if noted the forms of what lies between."""
    dt, flow, moving = landings(walk), walk.flow, walk.places[MOVING]
    # An attempt that overflows is rejected; a runaway is meant to leave the float range.
    with np.errstate(all="ignore"):
        y, slopes = attempt(walk.y, walk.speed, dt, moving, flow, dynamics)
        speed = slope(y, moving, flow, dynamics)
        # Before the attempt is judged, which changes the coordinates.
        forms = between(walk.y, y, [*slopes, speed], dt, moving, flow, dynamics) if noted else None
        fifth, third = weighted(FIFTH, slopes), weighted(THIRD, slopes)
        if judge(walk, DYNAMICS[dynamics].keeps_psd, dt, y, speed, fifth, third):
            # Derivatives anew for all lanes, which are the same where nothing was reordered.
            walk.speed[:] = slope(walk.y, moving, flow, dynamics)
    return dt, forms


def landings(walk: Walk) -> Any:
    """The step to try in every lane; 0 in lanes that have ended."""
    n = walk.numbers.shape[1]
    dt = np.zeros(n)
    for lane in range(n):
        if walk.numbers[ACTIVE, lane] > 0.0:
            dt[lane] = _landing(walk, lane)
    return dt


def judge(walk: Walk, keeps_psd: bool, dt: Any, y: Any, speed: Any, fifth: Any, third: Any) -> bool:
    """Accept or reject the attempt in every lane; True if coordinates of any lane were changed."""
    changed = False
    for lane in range(walk.numbers.shape[1]):
        if walk.numbers[ACTIVE, lane] > 0.0:
            error = _error(walk, y, fifth, third, dt[lane], lane)
            changed = _judge(walk, keeps_psd, dt[lane], y, speed, error, lane) or changed
    return changed


def _judge(
    walk: Walk, keeps_psd: bool, dt: float, y: Any, speed: Any, error: float, lane: int
) -> bool:
    """Accept or reject the attempt in a single lane."""
    d, numbers = y.shape[0], walk.numbers
    numbers[ATTEMPTS, lane] += 1.0
    if numbers[ATTEMPTS, lane] > MOST_ATTEMPTS:
        numbers[ACTIVE, lane] = 0.0
        return False
    if not error < 1.0:
        shrink = SAFETY * error**-POWER if error < 1e8 else 0.2
        numbers[STEP, lane] = dt * max(shrink, 0.2)
        return False
    _measure_state(walk, y, speed, lane)
    back = _overshoot(walk, dt, lane)
    if back > 0.0:
        numbers[STEP, lane] = back
        return False
    for i in range(d):
        for j in range(d + 2):
            walk.y[i, j, lane] = y[i, j, lane]
            walk.speed[i, j, lane] = speed[i, j, lane]
    numbers[TIME, lane] += dt
    grown = dt * (min(MOST_GROWN, SAFETY * error**-POWER) if error > 1e-12 else MOST_GROWN)
    numbers[STEP, lane] = grown if dt == numbers[STEP, lane] else max(numbers[STEP, lane], grown)
    if _note_events(walk, lane, keeps_psd):
        fastest = 0.0
        for k in range(d):
            fastest = max(fastest, walk.places[SIGNAL, k, lane])
        numbers[STEP, lane] = min(numbers[STEP, lane], 1.0 / fastest)
        return True
    return False


def _error(walk: Walk, y: Any, fifth: Any, third: Any, dt: float, lane: int) -> float:
    """Estimated error of the step, in units of the tolerance."""
    d = y.shape[0]
    five = three = 0.0
    curve = walk.numbers[REST_SIZE, lane] > 0.0
    for i in range(d):
        allowed = walk.places[ALLOWED, i, lane]
        for j in range(i + 2):
            size = allowed
            if j > 1:
                # An error in V_ij is one in w_ij once both rows have grown up: for the curve it is
                # to be small beside the largest w_ij so far, however small that was.
                base = walk.pairs[LARGEST, i, j - 2, lane] + _TINIEST if curve else 1.0
                size *= base + max(abs(y[i, j, lane]), abs(walk.y[i, j, lane]))
            # Products: the last bit of a power depends on the library behind it.
            high, low = fifth[i, j, lane] / size, third[i, j, lane] / size
            five += high * high
            three += low * low
    if five == 0.0 and three == 0.0:
        return 0.0
    count = d * (d + 3) / 2
    error = dt * five / math.sqrt((five + 0.01 * three) * count)
    return error if error < 1e300 else 1e300


def _measure_state(walk: Walk, y: Any, speed: Any, lane: int) -> None:
    """Compute W of a state and the derivative of its diagonal."""
    d, W = y.shape[0], walk.pairs
    for i in range(d):
        W[TRIED, i, i, lane] = math.exp(min(y[i, 0, lane], 600.0) / 2.0)
    for i in range(d):
        root = W[TRIED, i, i, lane]
        for j in range(i):
            total = 0.0
            for m in range(j + 1):
                total += y[i, m + 2, lane] * y[m, 1, lane] * y[j, m + 2, lane]
            W[TRIED, i, j, lane] = W[TRIED, j, i, lane] = total * root * W[TRIED, j, j, lane]
    for i in range(d):
        total = change = 0.0
        for m in range(i + 1):
            V, z = y[i, m + 2, lane], y[m, 1, lane]
            total += V * V * z
            change += V * (2.0 * speed[i, m + 2, lane] * z + V * speed[m, 1, lane])
        e = W[TRIED, i, i, lane] * W[TRIED, i, i, lane]
        W[TRIED, i, i, lane] = e * total
        walk.places[TRIED_RATE, i, lane] = e * (change + total * speed[i, 0, lane])


def _awaited(walk: Walk, k: int, lane: int) -> bool:
    """True while the concept at place k has still to reach 1/2."""
    return bool(
        walk.places[SIGNAL, k, lane] > 0.0
        and walk.y[k, 1, lane] != 0.0
        and math.isnan(walk.places[CROSSING, int(walk.places[CONCEPT, k, lane]), lane])
    )


def _unit(walk: Walk, k: int, lane: int) -> float:
    """The time of a step, for reading off when the concept at place k crosses 1/2."""
    return float(max(walk.numbers[H, lane], _FINEST / walk.places[SIGNAL, k, lane]))


def _landing(walk: Walk, lane: int) -> float:
    """The step to try: at most to where the next w_kk will be 1/2, by its present logit."""
    dt = walk.numbers[STEP, lane]
    for k in range(walk.y.shape[0]):
        w, rate = walk.pairs[ENTRIES, k, k, lane], walk.places[RATE, k, lane]
        if 0.0 < w < 0.5 and rate > 0.0 and _awaited(walk, k, lane):
            ahead = -_logit(w) * w * (1.0 - w) / rate
            dt = min(dt, max(ahead, 1e-9 * _unit(walk, k, lane)))
    return float(dt)


def _overshoot(walk: Walk, dt: float, lane: int) -> float:
    """A shorter step, if this step goes too far past w_kk = 1/2 to read the crossing; else 0."""
    back = 0.0
    for k in range(walk.y.shape[0]):
        walk.places[AHEAD, k, lane] = math.inf
        w = walk.pairs[TRIED, k, k, lane]
        before, old = walk.pairs[ENTRIES, k, k, lane], 0.0
        if max(w, before) < 0.3 or not _awaited(walk, k, lane):
            continue
        start, concept = -math.inf, int(walk.places[CONCEPT, k, lane])
        if 0.0 < before < 1.0:
            start, old = _logit(before), before * (1.0 - before)
            old = walk.places[RATE, k, lane] / old
        if w < 1.0 and walk.places[TRIED_RATE, k, lane] > 0.0:
            end, new = _logit(w), walk.places[TRIED_RATE, k, lane] / (w * (1.0 - w))
            walk.places[AHEAD, k, lane] = _ahead(
                start, old, end, new, dt, _LANDING * _unit(walk, k, lane)
            )
            bend = (new - old) / dt if start > -math.inf and dt > 0.0 else 0.0
            walk.places[CURVATURE, concept, lane] = bend
        if 0.0 < w < 0.5 and old > 0.0 >= walk.places[TRIED_RATE, k, lane]:
            end, new = _logit(w), walk.places[TRIED_RATE, k, lane] / (w * (1.0 - w))
            beyond = min(old, -new) ** 2 * dt / (2.0 * (old - new))
            top = beyond + (end if -new < old else start)
            if top > -_NEAR_SUMMIT and beyond > _SUMMIT_ERROR * abs(top):
                # Once more, to where it turns.
                share = min(max(old / (old - new), 0.01), 0.95)
                back = dt * share if back == 0.0 else min(back, dt * share)
            elif top > walk.places[SUMMIT, concept, lane]:
                walk.places[SUMMIT, concept, lane] = top
        if w >= 0.5 and start < 0.0 and walk.places[AHEAD, k, lane] == math.inf:
            end = math.log(w / max(1.0 - w, 1e-12))
            share = min(max(-start / (end - start), 0.01), 0.95)
            back = dt * share if back == 0.0 else min(back, dt * share)
    return back


def _ahead(start: float, old: float, end: float, new: float, dt: float, most: float) -> float:
    """Time from a state to the zero of a logit; inf if that cannot be read off.

    The logit was `start` a time dt before, with derivative `old`; it is `end` with `new`.
    """
    ahead = -end / new
    if abs(end) > _NEAREST_LOGIT:
        return math.inf
    if start == -math.inf or dt == 0.0:
        return ahead if new * ahead * ahead <= most else math.inf
    bend = (2.0 * old + 4.0 * new) / dt - 6.0 * (end - start) / (dt * dt)
    doubt = abs(bend) + abs(bend - (new - old) / dt) * 9.0
    moved = ahead * ahead / (2.0 * new)
    return ahead - bend * moved if doubt * moved <= 10.0 * most else math.inf


def begin_lane(walk: Walk, lane: int, keeps_psd: bool) -> bool:
    """Measure the start of a lane; True if its coordinates were changed."""
    _measure_state(walk, walk.y, walk.speed, lane)
    for k in range(walk.y.shape[0]):
        walk.places[AHEAD, k, lane] = math.inf
        if walk.places[SIGNAL, k, lane] > 0.0 and walk.pairs[TRIED, k, k, lane] >= 0.5:
            walk.places[CROSSING, int(walk.places[CONCEPT, k, lane]), lane] = -math.inf
    return _note_events(walk, lane, keeps_psd)


def _note_events(walk: Walk, lane: int, keeps_psd: bool) -> bool:
    """Accept the measured state and note its events; True if coordinates were changed."""
    d, places, W = walk.y.shape[0], walk.places, walk.pairs
    for k in range(d):
        concept = int(places[CONCEPT, k, lane])
        w = W[TRIED, k, k, lane]
        places[HIGHEST, concept, lane] = max(places[HIGHEST, concept, lane], w)
        places[RATE, k, lane] = places[TRIED_RATE, k, lane]
        for j in range(d):
            W[ENTRIES, k, j, lane] = W[TRIED, k, j, lane]
            W[LARGEST, k, j, lane] = max(W[LARGEST, k, j, lane], abs(W[TRIED, k, j, lane]))
        if (places[AHEAD, k, lane] < math.inf or w >= 0.5) and _awaited(walk, k, lane):
            ahead = places[AHEAD, k, lane] if places[AHEAD, k, lane] < math.inf else 0.0
            places[CROSSING, concept, lane] = walk.numbers[TIME, lane] + ahead
            slope = places[RATE, k, lane] / (w * (1.0 - w)) if 0.0 < w < 1.0 else math.inf
            places[SLOPE, concept, lane] = slope + places[CURVATURE, concept, lane] * ahead
        if not keeps_psd and places[MOVING, k, lane] > 0.0 and _awaited(walk, k, lane):
            remainder = abs(walk.y[k, 1, lane])
            if remainder > 0.0:
                remainder = math.log(remainder) + places[SHRUNK, concept, lane]
                places[REMAINDER, concept, lane] = min(places[REMAINDER, concept, lane], remainder)
    changed = _set_at_rest(walk, lane, keeps_psd)
    if not keeps_psd:
        changed = _reorder_drifted(walk, lane) or changed
        _run_away(walk, lane)
    if walk.numbers[ACTIVE, lane] > 0.0 and not _goes_on(walk, lane, keeps_psd):
        walk.numbers[ACTIVE, lane] = 0.0
    return changed


def _goes_on(walk: Walk, lane: int, keeps_psd: bool) -> bool:
    """True while an event is still to come."""
    d = walk.y.shape[0]
    for k in range(d):
        # Under gd and the flow W(0) was no U U^T then.
        if keeps_psd and walk.pairs[ENTRIES, k, k, lane] < -_FARTHEST:
            return False
    for k in range(d):
        runs_away = walk.y[k, 1, lane] < 0.0 and walk.places[SIGNAL, k, lane] > 0.0
        if (runs_away and not keeps_psd) or _awaited(walk, k, lane):
            return True
    if walk.numbers[REST_SIZE, lane] > 0.0:
        for k in range(d):
            grows = walk.places[SIGNAL, k, lane] > 0.0 and walk.y[k, 1, lane] > 0.0
            if grows and walk.places[MOVING, k, lane] > 0.0:
                return True
    return False


def _set_at_rest(walk: Walk, lane: int, keeps_psd: bool) -> bool:
    """Set learned concepts to 1 whose other entries no longer matter; True if any was set.

    An entry w_kj moves log pivots by about its square, so it matters down to the square root of
    the tolerance; for the curve it has to have fallen far below its peak. Learned is what moves
    no more: the field to a finite order rests near 1, not there. Where pivots drift, w_kj still
    moves the logarithm of pivot j by about eta a_k w_kj^2 / e_j.
    """
    d, W = walk.y.shape[0], walk.pairs
    small, fallen = 0.1 * math.sqrt(walk.numbers[TOLERANCE, lane]), 0.1
    if walk.numbers[REST_SIZE, lane] == math.inf:
        small, fallen = FALLEN
    elif walk.numbers[REST_SIZE, lane] > 0.0:
        small = min(small, walk.numbers[REST_SIZE, lane])
    changed = False
    for k in range(d):
        moves = abs(walk.places[RATE, k, lane]) > 2.0 * walk.places[SIGNAL, k, lane] * small
        close = abs(W[ENTRIES, k, k, lane] - 1.0) < NEAR_REST
        if walk.places[MOVING, k, lane] == 0.0 or moves or not close:
            continue
        concept = int(walk.places[CONCEPT, k, lane])
        quiet = walk.y[k, 1, lane] > 0.0 and not math.isnan(walk.places[CROSSING, concept, lane])
        for j in range(d):
            if j != k:
                bound = min(small, fallen * W[LARGEST, k, j, lane] + 1e-300)
                quiet = quiet and abs(W[ENTRIES, k, j, lane]) < bound
                if quiet and not keeps_psd and walk.places[MOVING, j, lane] > 0.0:
                    w, drift = W[ENTRIES, k, j, lane], walk.numbers[H, lane]
                    drift *= walk.places[SIGNAL, k, lane] * w * w
                    log_allowed = math.log(walk.places[ALLOWED, j, lane]) + walk.y[j, 0, lane]
                    quiet = drift == 0.0 or math.log(drift) < log_allowed
        if quiet:
            changed = True
            walk.places[MOVING, k, lane] = walk.places[RATE, k, lane] = 0.0
            walk.y[k, 0, lane], walk.y[k, 1, lane] = 0.0, 1.0
            W[ENTRIES, k, k, lane] = 1.0
            for j in range(d):
                if j != k:
                    walk.y[k, j + 2, lane] = walk.y[j, k + 2, lane] = 0.0
                    W[ENTRIES, k, j, lane] = W[ENTRIES, j, k, lane] = 0.0
    return changed


def _reorder_drifted(walk: Walk, lane: int) -> bool:
    """Move a pivot that the drift takes away to the end; True if any was moved.

    A negative direction takes others with it: there w_kk falls, and with it the pivot's own size.
    """
    d, W = walk.y.shape[0], walk.pairs
    worst, smallest = -1, 1.0 - _DRIFTED
    negative = False
    for k in range(d):
        negative = negative or walk.y[k, 1, lane] < 0.0
    for k in range(d):
        z = walk.y[k, 1, lane]
        if negative and z > 0.0 and W[LARGEST, k, k, lane] > 0.0:
            remaining = W[ENTRIES, k, k, lane] / W[LARGEST, k, k, lane]
            z = min(z, remaining) if remaining < 1.0 - _DRIFTED else z
        if walk.places[MOVING, k, lane] > 0.0 and 0.0 < z < smallest:
            worst, smallest = k, z
    if worst < 0 or worst == d - 1:
        return False
    _rotate(walk, worst, lane)
    return True


def _rotate(walk: Walk, k: int, lane: int) -> None:
    """Put the concept at place k last, and factorize again."""
    d, y = walk.y.shape[0], walk.y
    every = np.arange(d)
    order = np.concatenate((every[:k], every[k + 1 :], every[k : k + 1]))
    C = np.empty((d, d))
    for i in range(d):
        for j in range(d):
            total = 0.0
            for m in range(min(order[i], order[j]) + 1):
                V = y[order[i], m + 2, lane] * y[order[j], m + 2, lane]
                total += V * y[m, 1, lane]
            C[i, j] = total
    for values in (SIGNAL, MOVING, CONCEPT, RATE, ALLOWED):
        walk.places[values, :, lane] = walk.places[values, :, lane][order]
    y[:, 0, lane] = y[:, 0, lane][order]
    for values in range(6):
        matrices = walk.fields if values < 4 else walk.pairs
        row = (0, 1, 2, 3, ENTRIES, LARGEST)[values]
        matrices[row, :, :, lane] = matrices[row, :, :, lane][order][:, order]
    _factorize(C, y, lane, walk.places)


def _factorize(C: Any, y: Any, lane: int, places: Any) -> None:
    """V, z and u of a lane from C = V diag(z) V^T; pivots become 1 in size. Overwrites C."""
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
            places[SHRUNK, int(places[CONCEPT, k, lane]), lane] += 2.0 * math.log(root)
            y[k, 1, lane] = 1.0 if y[k, 1, lane] > 0.0 else -1.0
            for j in range(d):
                if j > k:
                    y[j, k + 2, lane] *= root
                if j < k:
                    y[k, j + 2, lane] /= root


def _run_away(walk: Walk, lane: int) -> None:
    """Where a negative entry has grown, let the map itself run to the end of the float range.

    It also takes over where steps of the integration are shorter than those of the map.
    """
    leaves, slow = False, walk.numbers[STEP, lane] < walk.numbers[H, lane]
    # The curve is wanted up to there.
    most_steps = RUNAWAY if walk.numbers[REST_SIZE, lane] == 0.0 else 0
    for k in range(walk.y.shape[0]):
        rate = 2.0 * walk.numbers[H, lane] * walk.places[SIGNAL, k, lane]
        w = walk.pairs[ENTRIES, k, k, lane]
        if walk.y[k, 1, lane] < 0.0 and rate > 0.0:
            log = walk.y[k, 0, lane] + math.log(-walk.y[k, 1, lane])
            soon = log > HELD and (slow or 3.0 - log < most_steps * rate)
            leaves = leaves or soon or w < -_FARTHEST
    if leaves:
        _follow_map(walk, lane)


def _follow_map(walk: Walk, lane: int) -> None:
    """Follow the map (D.2) from the present state of a lane on."""
    walk.numbers[ACTIVE, lane] = 0.0
    steps = run_map(walk, lane)
    walk.numbers[BLOW_UP, lane] = walk.numbers[TIME, lane] + steps * walk.numbers[H, lane]


def follow_all(walk: Walk) -> None:
    """Follow the map (D.2) in every lane."""
    for lane in range(walk.numbers.shape[1]):
        _follow_map(walk, lane)


def run_map(walk: Walk, lane: int) -> float:
    """Run the map (D.2) until W is near its limit; returns its steps to the end of the float range.

    W_ij = sqrt(e_i e_j) C_ij with e = exp(u), as in the coordinates. While the square of W is
    nothing, many steps are one.
    """
    d, h, y = walk.y.shape[0], walk.numbers[H, lane], walk.y
    a, u = walk.places[SIGNAL, :, lane].copy(), y[:, 0, lane].copy()
    V = np.ascontiguousarray(y[:, 2:, lane])
    C = np.dot(V * y[:, 1, lane], np.ascontiguousarray(V.T))
    C = (C + C.T) / 2.0  # what is not symmetric would grow
    for k in range(d):
        C[k, k] *= 1.0 + walk.numbers[NUDGE, lane]
    growth = h * (a.reshape((d, 1)) + a)
    diagonal_growth, pairs, first = np.log1p(2.0 * h * a), np.log1p(growth), 0
    size = np.max(u) + math.log(np.max(np.abs(C)))
    if -max(size, NEGLIGIBLE) > 2.0 * MOST_MAPPED * np.max(diagonal_growth):
        return math.inf  # too far from 1/2 for so many steps
    if size < NEGLIGIBLE:
        first = int((NEGLIGIBLE - size) / np.max(diagonal_growth))
        u += first * diagonal_growth
        C *= np.exp(first * (pairs - (diagonal_growth.reshape((d, 1)) + diagonal_growth) / 2.0))
    e, levels = np.exp(u), np.full((4, d), np.nan)
    for k in range(d):
        levels[3, k] = e[k] * C[k, k]
    above, negative = levels[3] >= 0.5, levels[3] < 0.0
    pull, scratch = 0.5 * growth * e, np.empty((d, d))
    waiting = np.zeros(d)
    for k in range(d):
        waiting[k] = 1.0 if _awaited(walk, k, lane) and not above[k] else 0.0
    for step in range(first, first + MOST_MAPPED):
        step_map(growth, pull, C, scratch)
        top = 0.0
        for k in range(d):
            for row in range(3):
                levels[row, k] = levels[row + 1, k]
            levels[3, k] = w = e[k] * C[k, k]
            top = max(top, abs(w)) if w == w else math.inf
        if top <= 2.0:  # beyond, signs may alternate
            for k in range(d):
                negative[k] = levels[3, k] < 0.0
        # Entries beside a diagonal that is not large are not large for long.
        if step % 16 == 0 or top > 2.0:
            largest = np.max(np.abs(C))
            if not np.max(u) + math.log(largest) < FLOAT_RANGE:
                for k in range(d):
                    # A negative direction belongs to the concepts that run away in it.
                    concept = int(walk.places[CONCEPT, k, lane])
                    runs = negative[k] or y[k, 1, lane] == 0.0
                    crossing = walk.places[CROSSING, concept, lane]
                    never = math.isnan(crossing) or (crossing < 0.0 and y[k, 1, lane] <= 0.0)
                    walk.places[LOST, concept, lane] = 1.0 if runs and never else 0.0
                return float(step)
            if largest > 4.0:
                roots = np.sqrt(np.maximum(np.abs(np.diag(C)), 1.0))
                u += 2.0 * np.log(roots)
                C = C / (roots * roots.reshape((d, 1)))
                e = np.exp(u)
                pull = 0.5 * growth * e
        awaited = False
        for k in range(d):
            if waiting[k] > 0.0:
                awaited = True
                turns = step >= first + 3 and levels[1, k] < levels[2, k] >= levels[3, k]
                if turns and 0.3 < levels[2, k] < 0.5:
                    concept = int(walk.places[CONCEPT, k, lane])
                    top = max(walk.places[SUMMIT, concept, lane], _logit(levels[2, k]))
                    walk.places[SUMMIT, concept, lane] = top
                # Two steps on either side, or the first four.
                at_once = step == first + 2 and levels[0, k] < 0.5 <= levels[1, k]
                if at_once or (step >= first + 2 and levels[1, k] < 0.5 <= levels[2, k]):
                    ahead = _root(levels[:, k], 0 if at_once else 1)
                    time = walk.numbers[TIME, lane] + (step - 1 + ahead) * h
                    concept = int(walk.places[CONCEPT, k, lane])
                    walk.places[CROSSING, concept, lane], waiting[k] = time, 0.0
                    slope, bend = _slope(levels[:, k], 0 if at_once else 1)
                    walk.places[SLOPE, concept, lane] = slope / h
                    walk.places[CURVATURE, concept, lane] = bend / (h * h)
        if not awaited and _near_limit(a, e, C):
            return math.inf
    return math.inf


def _near_limit(a: Any, e: Any, C: Any) -> bool:
    """True if W is so near the identity, on concepts, that no direction can be negative."""
    d = len(a)
    for i in range(d):
        for j in range(d):
            w = math.sqrt(e[i] * e[j]) * C[i, j] - (1.0 if i == j else 0.0)
            if a[i] > 0.0 and not abs(w) <= 0.5 / d:
                return False
    return True


def step_map(growth: Any, pull: Any, C: Any, scratch: Any) -> None:
    """A step of the map, in place: what is of second order is (AW + WA) W and its transpose."""
    np.dot(pull * C, C, out=scratch)
    C += growth * C - (scratch + scratch.T)


def _logit(w: float) -> float:
    return math.log(w / (1.0 - w))


def _slope(levels: Any, place: int) -> tuple[float, float]:
    """First and second difference of the logits of four steps, between `place` and the next."""
    if not (np.min(levels) > 0.0 and np.max(levels) < 1.0):
        return math.inf, 0.0
    slope = _logit(levels[place + 1]) - _logit(levels[place])
    return slope, _logit(levels[place + 2]) - _logit(levels[place + 1]) - slope


def _root(levels: Any, place: int) -> float:
    """Zero of the cubic through the logits of four steps, counted from the second.

    The level of 1/2 is passed between `place` and the next.
    """
    last, now = levels[place], levels[place + 1]
    if not now < 1.0:
        return float(place - 1 + (0.5 - last) / (now - last))
    start, end = _logit(max(last, 1e-12)), _logit(now)
    root = place - 1 - start / (end - start)
    if np.min(levels) > 0.0 and np.max(levels) < 1.0:
        before, after = _logit(levels[0]), _logit(levels[3])
        start, end = _logit(levels[1]), _logit(levels[2])
        line = end - start / 2.0 - before / 3.0 - after / 6.0
        bend, turn = (before + end) / 2.0 - start, (after - before) / 6.0 - (end - start) / 2.0
        low, high = place - 1.0, float(place)
        for _ in range(50):  # near a maximum there is a second root
            root = (low + high) / 2.0
            if start + root * (line + root * (bend + root * turn)) < 0.0:
                low = root
            else:
                high = root
    return root
