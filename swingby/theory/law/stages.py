r"""The stage law: when each w_kk reaches 1/2, and W(t) in between.

The steps follow the modified flow (:mod:`swingby.theory.law.modified_flow`). It is integrated to
two orders in the step size; their difference is the error bar of what is left out, to which the
tolerance of the integration and the rounding of W(0) are added. Nothing is fitted. The law is ours,
not the paper's; its accuracy is measured in ``benchmarks/accuracy.py``.

A first W(0) is walked in NumPy, many side by side in compiled lanes
(:mod:`swingby.theory.law.driver`); what the ends of their lanes say (half-times, error bars, traps
and doubts) is decided for n instances at once.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from swingby.report.result_formats import ReadOnly
from swingby.theory.growth import DYNAMICS, LARGEST_STEP
from swingby.theory.initial import Initial
from swingby.theory.law import driver
from swingby.theory.law.curve import Curve, trace
from swingby.theory.law.driver import WalkedSteps
from swingby.theory.law.map_states import MapStates, map_states
from swingby.theory.law.pivots import (
    Starts,
    allowed_errors,
    closed_law,
    lanes_of,
    prepare,
)
from swingby.theory.law.walk import (
    BLOW_UP,
    CROSSING,
    CURVATURE,
    HIGHEST,
    LOST,
    MOST_MAPPED,
    NEGLIGIBLE,
    NUDGE,
    REMAINDER,
    SLOPE,
    SUMMIT,
    TIME,
    Walk,
)
from swingby.theory.numbers import Booleans, Floats, Integers
from swingby.theory.task import SIMTask

#: Tolerance of the integration, as a share of what a concept grows by in half a step.
_TOLERANCE = 4e-5
#: The same for W(t), which is interpolated between steps.
CURVE_TOLERANCE = _TOLERANCE / 16
#: Tolerances and roundings in an error bar: measured errors of single steps add up to fewer. Of the
#: first it was 40, until a run was seen in which they add up to 43.6.
TOLERANCES, ROUNDINGS = 60.0, 8.0
#: By what share w_kk are moved to see what rounding does to the map, many times what its steps add
#: up to; that is due where no more than this is left of a pivot.
_NUDGE, _LITTLE = 2.0**-43, 1e-4
#: Error in steps of a crossing that is read off between whole steps of the map.
_BETWEEN_STEPS = 0.01
#: Where the orders differ by more steps, or eta a_max is larger, the map itself is followed; both
#: chosen after seeing where bars were wide or runaways too early.
APART, FINE_STEP = 0.01, 0.1
#: A concept without a pivot whose entry comes above this on the way may pass 1/2.
_PASSING = 0.25
#: Instances that are prepared and walked together, so that they stay in the cache.
INSTANCES = 1024
#: Why it is open whether a concept is trapped; and why one that is not has no half-time.
SURE, DRIFTS, UNRESOLVED, PASSES, TURNS, ROUNDED, OPEN, GRAZES, AFTER, TURNING, GIVEN_UP = range(11)


class _LaneEnds(NamedTuple):
    """Ends of lanes that share an order, n first: times in steps, the rest as in ``walk.Walk``."""

    crossing: Floats
    highest: Floats
    lost: Booleans
    blow_up: Floats
    last: Floats
    slope: Floats
    curvature: Floats
    summit: Floats
    remainder: Floats

    def take(self, which: Any) -> _LaneEnds:
        """The ends of chosen instances."""
        return _LaneEnds(*(values[which] for values in self))

    @classmethod
    def of(cls, walk: Walk, eta: Floats, lanes: slice = slice(None)) -> _LaneEnds:
        """The ends of a slice of lanes of a walk, with their step sizes."""
        places, numbers = walk.places[..., lanes], walk.numbers[:, lanes]
        return cls(
            places[CROSSING].T / eta[:, None],
            places[HIGHEST].T,
            places[LOST].T > 0.0,
            numbers[BLOW_UP] / eta,
            numbers[TIME] / eta,
            places[SLOPE].T * eta[:, None],
            places[CURVATURE].T * eta[:, None] ** 2,
            places[SUMMIT].T,
            places[REMAINDER].T,
        )


def _farthest(end: _LaneEnds, late: _LaneEnds, other: _LaneEnds) -> _LaneEnds:
    """Of two ends of lanes what is farther from `end`; nan is farther than any number."""

    def apart(base: Any, values: Any) -> Any:
        same = (values == base) | (np.isnan(values) & np.isnan(base))
        return np.where(same, 0.0, np.nan_to_num(np.abs(values * 1.0 - base), nan=math.inf))

    def choose(base: Any, values: Any, others: Any) -> Any:
        return np.where(apart(base, others) > apart(base, values), others, values)

    return _LaneEnds(*(choose(*values) for values in zip(end, late, other, strict=True)))


class StageVerdict(NamedTuple):
    """The law of n instances, by concept and, the last three, by instance.

    doubt: a reason above, or SURE; coarse: whether the step size is out of range; mapped: whether
    the map itself was followed; the rest as in :class:`Stages`.
    """

    crossing: Floats
    error: Floats
    trapped: Booleans
    share: Floats
    doubt: Integers
    coarse: Booleans
    mapped: Booleans
    blow_up: Floats
    blow_up_error: Floats

    @property
    def undecided(self) -> Booleans:
        """True where it is open if a concept is trapped, or when it first passes 1/2."""
        return np.asarray((self.doubt >= DRIFTS) & (self.doubt <= GRAZES))


def decide(
    starts: Starts,
    end: _LaneEnds,
    late: _LaneEnds,
    share: float | Floats,
    dynamics: str,
    *,
    tolerances: float = TOLERANCES,
    mapped: bool = False,
) -> StageVerdict:
    """Decide from the lanes of the highest order and of the order below; they differ by the error.

    share, tolerances: of the integration, and how many of them half-times are wrong by; mapped:
    whether both are the map itself.
    """
    signal, eta = starts.signal, starts.eta
    grows, above = signal > 0, starts.levels >= 0.5
    # What starts above 1/2 is there at step 0, whatever becomes of it.
    steps = starts.steps[:, None]
    crossing = np.where(grows & above, 0.0, np.maximum(end.crossing, steps))
    trapped, unlike = end.lost & grows, (end.lost != late.lost) & grows
    coarse = (DYNAMICS[dynamics].of != "") & ~(starts.reach <= LARGEST_STEP)
    runs_away = np.isfinite(end.blow_up)[:, None]
    rate = 2 * eta[:, None] * np.where(grows, signal, np.inf)
    apart = np.abs(crossing - np.maximum(late.crossing, steps))
    wrong = _logit_errors(starts, end, late, share, dynamics, tolerances=tolerances, mapped=mapped)
    uncertain = unlike.any(axis=1)
    first = np.where(uncertain, np.fmin(end.blow_up, late.blow_up), math.inf)
    cut_off = np.isnan(crossing) & runs_away
    after = (crossing > first[:, None]) & np.isfinite(crossing) | cut_off & uncertain[:, None]
    given_up = ~trapped & grows & np.isnan(crossing) & ~runs_away
    error, grazes = _bars(end, late, crossing, apart, wrong, rate, whole=not mapped)

    doubt = np.full(trapped.shape, SURE)
    doubt[grazes & grows & ~above] = GRAZES
    doubt[given_up] = GIVEN_UP if DYNAMICS[dynamics].keeps_psd else OPEN
    doubt[after & grows & ~trapped] = AFTER
    if not DYNAMICS[dynamics].keeps_psd:
        doubt[unlike] = ROUNDED if mapped else DRIFTS
    else:
        turned_into, turning = _turns(starts, trapped)
        doubt[turning] = TURNING
        doubt[turned_into] = TURNS
        doubt[trapped & (end.highest > _PASSING)] = PASSES
        doubt[trapped & starts.unresolved] = UNRESOLVED

    error += np.where((runs_away | mapped) & (crossing > end.last[:, None]), _BETWEEN_STEPS, 0.0)
    error[np.isnan(error) & ~trapped] = math.inf
    error[cut_off | trapped] = np.nan
    error[(doubt != SURE) | coarse[:, None] & ~trapped] = math.inf
    error = np.where(grows, np.where(above, 0.0, error), np.nan)

    abandoned = given_up.any(axis=1)
    if abandoned.any():
        start = starts.take(abandoned)
        leading = closed_law(start.signal, start.matrix, start.eta, start.log_scale, dynamics)[0]
        crossing[abandoned] = np.where(given_up[abandoned], leading, crossing[abandoned])
    crossing[trapped] = np.nan
    crossing = np.where(above, 0.0, np.where(grows, crossing, math.inf))
    blow_up = np.where(uncertain, math.inf, end.blow_up)
    finite = np.isfinite(blow_up) & ~coarse
    with np.errstate(invalid="ignore"):
        blow_up_error = np.where(finite, np.abs(blow_up - late.blow_up) + 1, math.inf)
    # Of the terms that each pivot is formed from; negative where it runs away.
    pivot_share = starts.by_concept(starts.sign / np.maximum(starts.roundings, 1.0))
    lost = -np.maximum(np.abs(pivot_share), 2.0**-53)
    pivot_share = np.where(np.isfinite(blow_up)[:, None] & trapped, lost, pivot_share)
    blow_up = np.asarray(np.round(blow_up), dtype=np.float64)
    by_map = np.full(len(eta), mapped)
    return StageVerdict(
        crossing, error, trapped, pivot_share, doubt, coarse, by_map, blow_up, blow_up_error
    )


def _rounding(starts: Starts) -> Floats:
    """What the rounding of W(0) makes of the logarithm of each pivot, (n, d)."""
    roundings = np.minimum(starts.by_concept(starts.roundings), 2.0**53)
    return np.asarray(ROUNDINGS * 2.0**-53 * roundings)


def _logit_errors(
    starts: Starts,
    end: _LaneEnds,
    late: _LaneEnds,
    share: float | Floats,
    dynamics: str,
    *,
    tolerances: float,
    mapped: bool,
) -> Floats:
    """How far logit w_kk may be off beside the difference of the orders, (n, d).

    Where the drift takes most of a pivot away, what is left of it magnifies every error.
    """
    eta, left = starts.eta, np.exp(np.minimum(end.remainder, late.remainder))
    rounding = _rounding(starts)
    wrong = tolerances * allowed_errors(starts.signal.T, eta, share).T
    if mapped:
        return np.asarray(wrong + rounding)
    if DYNAMICS[dynamics].of:
        # The next term of log(1 + x)/x, where the difference of the orders happens to vanish.
        order = DYNAMICS[dynamics].orders[0]
        wrong = wrong + starts.reach[:, None] ** (order + 1) / (order + 2)
    return np.asarray(wrong / left + rounding)


def _bars(
    end: _LaneEnds,
    late: _LaneEnds,
    crossing: Floats,
    apart: Floats,
    wrong: Floats,
    rate: Floats,
    *,
    whole: bool,
) -> tuple[Floats, Booleans]:
    """Error bars of crossings, and where w_kk may miss 1/2 there or pass it before, (n, d).

    logit w_kk is slope t + curvature t^2/2 near its crossing; it is off by `wrong`, and the two
    orders by `apart` steps. whole: ask also whether it stays above 1/2 until a whole step.
    """
    slope = np.where(np.isnan(end.slope), rate, np.minimum(end.slope, rate))
    total = wrong + np.nan_to_num(apart, nan=0.0, posinf=0.0) * slope
    bend = np.abs(end.curvature)
    inside = slope**2 - 2 * bend * total
    error = 2 * total / (slope + np.sqrt(np.maximum(inside, 0.0)))
    error = np.where(np.isfinite(apart), error, apart)
    unlike = np.abs(end.summit - late.summit)
    below = np.fmax(end.summit, late.summit) + wrong + np.where(np.isfinite(unlike), unlike, 0.0)
    grazes = (below >= 0) | np.isfinite(crossing) & ~(inside >= 0)
    if whole:
        stays = np.where(end.curvature < 0, 2 * slope / bend, math.inf)
        grazes |= np.ceil(crossing + error) > crossing - error + stays
    return error, np.asarray(grazes)


def _turns(starts: Starts, trapped: Booleans) -> tuple[Booleans, Booleans]:
    """Concepts without component that another may turn into, and the concepts that may do so.

    Pairs (k, j): k has no component, j of smaller signal has one, in the same block of W(0).
    """
    if not trapped.any():
        return np.zeros_like(trapped), np.zeros_like(trapped)
    signal = starts.signal
    smaller = (signal[:, None, :] > 0) & (signal[:, None, :] < signal[:, :, None])
    pairs = starts.joined() & trapped[:, :, None] & ~trapped[:, None, :] & smaller
    return pairs.any(axis=2), pairs.any(axis=1)


def _verdict_of(
    starts: Starts, ends: Sequence[_LaneEnds], dynamics: str, *, compiled: bool
) -> StageVerdict:
    """The law of n instances, from the ends of their lanes in every order of the dynamics."""
    verdict = decide(starts, ends[0], ends[-1], _TOLERANCE, dynamics)
    if DYNAMICS[dynamics].keeps_psd:
        return verdict
    left = np.minimum(ends[0].remainder, ends[-1].remainder).min(axis=1)
    return _settle(starts, verdict, left < math.log(_LITTLE), compiled)


def _settle(
    starts: Starts, verdict: StageVerdict, cancelled: Booleans, compiled: bool
) -> StageVerdict:
    """Let the map of (D.2) itself decide where its modified flow is not close enough.

    Where the drift nearly cancels a pivot, what is left after it magnifies whatever an expansion
    in the step size leaves out. Where bars are within an e-fold of each pivot and one of them lies
    after all steps that are followed, these would end without a verdict, so they are not taken.
    Where a pivot is `cancelled`, or its sign is open, the map is followed from either side as well.
    Of a W(0) with negative pivots only the map knows what they do to the others.
    """
    open_ = verdict.doubt != SURE
    wide = ~(verdict.error <= APART) & ~verdict.trapped & (starts.signal > 0)
    negative = (starts.sign < 0).any(axis=1)
    due = (open_ | wide).any(axis=1) | (starts.reach > FINE_STEP) | negative
    learned, rate = starts.signal > 0, 2 * starts.eta[:, None] * starts.signal
    sure = (~learned | (verdict.error * rate < 1)).all(axis=1) & ~open_.any(axis=1)
    late = learned & (verdict.crossing - verdict.error > _most_mapped(starts)[:, None])
    chosen = np.flatnonzero(due & ~verdict.coarse & ~(sure & late.any(axis=1)))
    if not len(chosen):
        return verdict
    subset, count = starts.take(chosen), len(chosen)
    nudged = np.flatnonzero(cancelled[chosen] | open_[chosen].any(axis=1))
    repeated = subset.take(np.concatenate([np.arange(count), nudged, nudged]))
    walk = lanes_of(repeated, "euler", np.zeros(len(repeated.eta)), _TOLERANCE)
    walk.numbers[NUDGE, count:] = np.repeat([_NUDGE, -_NUDGE], len(nudged))
    driver.follow_map(walk, compiled=compiled)
    ends = _LaneEnds.of(walk, repeated.eta)
    end, late = (ends.take(np.arange(count)) for _ in range(2))  # copies
    above, below = np.split(np.arange(count, len(repeated.eta)), 2)
    farthest = _farthest(end.take(nudged), ends.take(above), ends.take(below))
    for values, new in zip(late, farthest, strict=True):
        values[nudged] = new
    exact = decide(subset, end, late, _TOLERANCE, "euler", mapped=True)
    done = (exact.doubt != OPEN).all(axis=1)
    for values, new in zip(verdict, exact, strict=True):
        values[chosen[done]] = new[done]
    return verdict


def _most_mapped(starts: Starts) -> Floats:
    """Steps of (D.2) that :func:`swingby.theory.law.walk.run_map` follows, at most."""
    fastest = np.log1p(2 * starts.eta * starts.signal.max(axis=1))
    size = np.log(np.abs(starts.matrix).max(axis=(1, 2))) + starts.log_scale
    skipped = np.maximum(NEGLIGIBLE - size, 0.0) / fastest
    return np.asarray(starts.steps + skipped + MOST_MAPPED)


def stage_laws(
    signal: Floats,
    W0: Floats,
    eta: Floats,
    log_scale: Floats,
    dynamics: str,
    *,
    full: bool = True,
    bars: bool = True,
) -> StageVerdict:
    """The law of n instances exp(log_scale) W0, side by side in compiled lanes.

    Where not `full`, that of the closed law, without the overlap of the stages. Without `bars` the
    highest order is walked alone: faster, and no error bar knows of the others.
    """
    orders = DYNAMICS[dynamics].orders[: None if bars else 1]
    verdicts = []
    with np.errstate(all="ignore"):
        for first in range(0, max(len(eta), 1), INSTANCES):
            chunk = slice(first, first + INSTANCES)
            starts = prepare(signal[chunk], W0[chunk], eta[chunk], log_scale[chunk], dynamics)
            verdicts.append(
                _walked(starts, dynamics, orders) if full else _closed(starts, dynamics)
            )
    return StageVerdict(*(np.concatenate(field) for field in zip(*verdicts, strict=True)))


def _walked(starts: Starts, dynamics: str, orders: Sequence[int]) -> StageVerdict:
    ends = []
    for order in orders:
        walk = lanes_of(starts, dynamics, np.full(len(starts.eta), order), _TOLERANCE)
        driver.walk_to_end(walk, dynamics, order, compiled=True)
        ends.append(_LaneEnds.of(walk, starts.eta))
    return _verdict_of(starts, ends, dynamics, compiled=True)


def _closed(starts: Starts, dynamics: str) -> StageVerdict:
    start = (starts.signal, starts.matrix, starts.eta, starts.log_scale)
    crossing, blow_up = closed_law(*start, dynamics)
    lost = np.isnan(crossing) | starts.by_concept(starts.sign <= 0)
    cut_off = crossing > blow_up[:, None]
    nowhere, never = np.full(crossing.shape, -np.inf), np.full(len(crossing), np.inf)
    slope, flat = np.full(crossing.shape, np.inf), np.zeros(crossing.shape)
    crossing[lost | cut_off & np.isfinite(crossing)] = np.nan
    end = _LaneEnds(crossing, nowhere, lost, blow_up, never, slope, flat, nowhere, flat)
    verdict = decide(starts, end, end, 0.0, dynamics, tolerances=0.0)
    # It does not know what the overlap of stages makes of its half-times.
    return verdict._replace(error=np.where(np.isfinite(verdict.error), np.nan, verdict.error))


def paths(
    starts: Starts, share: Floats, rest_size: Floats, dynamics: str
) -> tuple[StageVerdict, list[WalkedSteps]]:
    """Walk n instances until W is at rest to within `rest_size`, in every order of the dynamics."""
    walked, ends = [], []
    for order in DYNAMICS[dynamics].orders:
        orders = np.full(len(starts.eta), order)
        walk = lanes_of(starts, dynamics, orders, share, rest_size=rest_size)
        walked.append(driver.walk_noted(walk, dynamics, order, compiled=True))
        ends.append(_LaneEnds.of(walk, starts.eta))
    return decide(starts, ends[0], ends[-1], share, dynamics), walked


@dataclass(frozen=True, eq=False)
class Stages(ReadOnly):
    """The law for a single W(0). Made by :func:`stage_law`; arrays are in the user's order.

    Parameters
    ----------
    task : SIMTask
    dynamics : str
    eta : float
    crossing : ndarray of shape (d,)
        Real time, in steps, at which w_kk crosses 1/2; 0 if it starts above, inf if a_k = 0, nan
        if the concept is trapped or cut off.
    error : ndarray of shape (d,)
        Error bar of each crossing in steps; inf if the law is out of its range.
    trapped : ndarray of bool, shape (d,)
    undecided : ndarray of bool, shape (d,)
        Concepts of which the law cannot say whether they are trapped, whatever `trapped` says, or
        which of two passages of 1/2 is the first; the warnings say why.
    blow_up, blow_up_error : float
        Last step before a runaway leaves the float range, and its error bar; inf if there is none.
    share : ndarray of shape (d,)
        The pivot relative to the terms that it is computed from; negative for a runaway.
    warnings : tuple of str
    mapped : bool
        Whether half-times come from the map itself.
    """

    task: SIMTask
    dynamics: str
    eta: float
    crossing: Floats
    error: Floats
    trapped: Booleans
    undecided: Booleans
    blow_up: float
    blow_up_error: float
    share: Floats
    warnings: tuple[str, ...]
    start: Starts = field(repr=False)
    mapped: bool

    def __str__(self) -> str:
        crossings = [
            f"{time:.6g} +- {bar:.2g}" for time, bar in zip(self.crossing, self.error, strict=True)
        ]
        return f"{self.dynamics}, eta = {self.eta:g}: w_kk crosses 1/2 at {', '.join(crossings)}"

    @property
    def log_pivots(self) -> Floats:
        """Logarithm of each pivot of W(0), nan where it is not positive."""
        start = self.start
        logs: Floats = start.by_concept(np.where(start.sign > 0, start.log_pivots, np.nan))[0]
        return logs

    @property
    def half_times(self) -> Floats:
        """First whole step at which each w_kk is at least 1/2, shape (d,)."""
        return np.ceil(self.crossing)

    @functools.cached_property
    def curves(self) -> tuple[Curve, ...]:
        """W(t) along the modified flow in each of its orders, walked through to the end."""
        orders = np.array(DYNAMICS[self.dynamics].orders)
        starts = self.start.take(0 * orders)
        walk = lanes_of(starts, self.dynamics, orders, CURVE_TOLERANCE, rest_size=math.inf)
        compiled = driver.pays(len(self.crossing))
        return trace(walk, self.dynamics, int(orders[0]), compiled=compiled)

    @functools.cached_property
    def states(self) -> tuple[MapStates, ...]:
        """W(t) of the map itself, and from a start that is wrong by its rounding.

        Empty where half-times do not come from the map and its steps are fine, or it takes too
        many of them.
        """
        coarse = DYNAMICS[self.dynamics].of and self.start.reach[0] > FINE_STEP
        if not (self.mapped or coarse):
            return ()
        awaited = np.isfinite(self.crossing) & (self.crossing > 0)
        # Every step rounds anew, one way or the other.
        steps = self.crossing.max(initial=0.0, where=awaited)
        shift = np.minimum(_rounding(self.start)[0] * math.sqrt(1 + steps), 1.0)
        return map_states(self.start, self.dynamics, awaited, np.stack([0 * shift, shift]))

    @property
    def log_error(self) -> Floats:
        """What the logarithm of each pivot is wrong by, (d,); inf where out of range."""
        start, signal = self.start, self.start.signal[0]
        error = np.where(self.trapped | (signal == 0), 0.0, self.error)
        tolerated = TOLERANCES * allowed_errors(signal, start.eta[0], _TOLERANCE)
        return np.asarray(np.maximum(2 * start.eta[0] * signal * error, tolerated))

    def evaluate(self, t: Floats) -> Floats:
        """W (n, d, d) at given steps t (n,), at least 0, whole or not; nan after a blow-up."""
        path: MapStates | Curve = (self.states or self.curves)[0]
        with np.errstate(all="ignore"):
            return path.evaluate(np.asarray(t, dtype=float))


# Absurd numbers overflow to infinity and come out as out of range, not as a warning.
@np.errstate(all="ignore")
def stage_law(
    task: SIMTask,
    initial: Initial,
    eta: Fraction,
    dynamics: str,
    *,
    compiled: bool | None = None,
) -> Stages:
    """The stage law for a given W(0).

    `initial`: W(0), at any scale. `eta`: step size in the clock of (D.2). `dynamics` in {"euler",
    "gd", "flow"}. `compiled`: whether it is walked in compiled lanes; by default where that pays.
    """
    compiled = driver.pays(task.dim) if compiled is None else compiled
    starts = Starts.of(task.signal, initial, float(eta), dynamics)
    # One lane for each order in the step size.
    orders = np.array(DYNAMICS[dynamics].orders)
    walk = lanes_of(starts.take(0 * orders), dynamics, orders, _TOLERANCE)
    driver.walk_to_end(walk, dynamics, int(orders[0]), compiled=compiled)
    ends = [_LaneEnds.of(walk, starts.eta, lane) for lane in (slice(1), slice(-1, None))]
    verdict = _verdict_of(starts, ends, dynamics, compiled=compiled)
    return _stages_of(task, eta, dynamics, starts, verdict)


@np.errstate(all="ignore")
def leading_law(task: SIMTask, initial: Initial, eta: Fraction, dynamics: str) -> Stages:
    """The closed law for a given W(0): it leaves out the overlap of stages, and has no bars."""
    starts = Starts.of(task.signal, initial, float(eta), dynamics)
    return _stages_of(task, eta, dynamics, starts, _closed(starts, dynamics))


def _stages_of(
    task: SIMTask, eta: Fraction, dynamics: str, starts: Starts, verdict: StageVerdict
) -> Stages:
    """The verdict on a single instance, with its warnings."""
    by_concept = ("crossing", "error", "trapped", "undecided", "share")
    return Stages(
        task=task,
        dynamics=dynamics,
        eta=float(eta),
        blow_up=float(verdict.blow_up[0]),
        blow_up_error=float(verdict.blow_up_error[0]),
        warnings=_warnings(starts, verdict),
        start=starts,
        mapped=bool(verdict.mapped[0]),
        **{name: getattr(verdict, name)[0] for name in by_concept},
    )


#: Why the law leaves a concept open, in words.
_REASONS = {
    DRIFTS: "undecided whether concept {k} is trapped: the drift of the euler steps cancels its "
    "pivot to within the error of the law; try swingby.certify",
    UNRESOLVED: "undecided whether concept {k} is trapped: its pivot is {part:.1g} of the terms it "
    "is computed from, which floats do not resolve; try swingby.certify",
    PASSES: "undecided whether concept {k} is trapped: it has no component of its own, but another "
    "concept starts in its place and may pass 1/2 before it turns",
    TURNS: "undecided whether concept {k} is trapped: its pivot is zero, but a concept of smaller "
    "signal may turn into it later",
    ROUNDED: "undecided whether concept {k} is trapped: the drift of the euler steps cancels its "
    "pivot to below the rounding of floats; try swingby.certify",
    OPEN: "undecided whether concept {k} is trapped: the steps that are followed end before this "
    "is decided",
    GRAZES: "undecided when concept {k} is learned: its entry comes so near to 1/2 before it falls "
    "again that the law cannot tell whether it gets there",
    AFTER: "out of range for concept {k}: another pivot may be negative, and would then run away "
    "first",
    TURNING: "out of range for concept {k}: it may turn into a concept of larger signal, at a time "
    "that the law does not predict",
    GIVEN_UP: "out of range for concept {k}: the integration was given up",
}


def _lost_by(sign: Floats, trapped: Booleans) -> str:
    """What keeps a concept whose pivot is positive at the start from being learned."""
    if (sign < 0).any():
        return "another one runs away first"
    if trapped.sum() > 1:
        return "its pivot, or that of another one, turns negative"
    return "its pivot turns negative"


def _warnings(starts: Starts, verdict: StageVerdict) -> tuple[str, ...]:
    """Warnings on an instance for which the law is undecided or out of range."""
    messages = []
    sign, roundings = (starts.by_concept(x)[0] for x in (starts.sign, starts.roundings))
    doubt, blow_up = verdict.doubt[0].tolist(), float(verdict.blow_up[0])
    if verdict.coarse[0]:
        messages.append(
            f"out of range: eta a_max, times the largest eigenvalue of W(0) if that is above 1, "
            f"must be at most {LARGEST_STEP}; larger steps need not converge: use a smaller eta"
        )
    for k in np.argsort(-starts.signal[0], kind="stable"):
        if doubt[k] != SURE:
            messages.append(_REASONS[doubt[k]].format(k=k + 1, part=1 / roundings[k]))
        elif math.isnan(verdict.crossing[0, k]) and not verdict.trapped[0, k]:
            messages.append(f"concept {k + 1} is not learned before a negative pivot runs away")
        elif verdict.trapped[0, k]:
            word = "zero" if sign[k] == 0 and not math.isfinite(blow_up) else "negative"
            why = _lost_by(sign, verdict.trapped[0]) if sign[k] > 0 else f"its pivot is {word}"
            messages.append(f"concept {k + 1} is trapped: {why}")
    if math.isfinite(blow_up):
        messages.append(
            f"a negative pivot runs away near step {blow_up:.0f}, and nothing is learned after that"
        )
    return tuple(messages)
