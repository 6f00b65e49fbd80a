"""What the ends of the lanes say of n instances: half-times, error bars, traps and doubts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from swingby.theory.growth import DYNAMICS
from swingby.theory.law.pivots import Starts, allowed_errors, closed_law, lanes_of
from swingby.theory.law.walk import Walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Booleans = NDArray[np.bool_]

#: Above this eta a_max, times the largest eigenvalue of W(0) where that is above 1, an expansion
#: in the step size means nothing.
LARGEST_STEP = 0.5
#: Tolerances and roundings in an error bar: measured errors of single steps add up to fewer.
TOLERANCES, ROUNDINGS = 40.0, 8.0
#: Error in steps of a crossing that is read off between whole steps of the map.
BETWEEN_STEPS = 0.01
#: Where the orders differ by more steps, or eta a_max is larger, the map itself is followed; both
#: chosen after seeing where bars were wide or runaways too early.
APART, FINE_STEP = 0.01, 0.1
#: A concept without a pivot whose entry comes above this on the way may pass 1/2.
PASSING = 0.25
#: Why it is open whether a concept is trapped.
SURE, DRIFTS, UNRESOLVED, PASSES, TURNS = range(5)


class Given(NamedTuple):
    """n instances as they are judged: arrays by concept, n first; see ``pivots.Start``."""

    signal: Floats
    levels: Floats
    matrix: Floats
    log_scale: Floats
    sign: Floats
    roundings: Floats
    unresolved: Booleans
    eigenvalue: Floats
    eta: Floats

    @property
    def reach(self) -> Floats:
        """Eta a_max, times the largest eigenvalue of W(0) where that is above 1."""
        return np.asarray(self.eta * self.signal.max(axis=1) * np.maximum(1.0, self.eigenvalue))


class End(NamedTuple):
    """The ends of lanes of one order, n first: times in steps, the rest as in ``walk.Walk``."""

    crossing: Floats
    highest: Floats
    lost: Booleans
    blow_up: Floats
    last: Floats

    @classmethod
    def of(cls, walk: Walk, eta: Floats, lanes: slice = slice(None)) -> End:
        """Those of some lanes of a walk, with their step sizes."""
        crossing, blow_up = walk.crossing[:, lanes].T / eta[:, None], walk.blow_up[lanes] / eta
        return cls(
            crossing,
            walk.highest[:, lanes].T,
            walk.lost[:, lanes].T,
            blow_up,
            walk.time[lanes] / eta,
        )


class Verdict(NamedTuple):
    """Of n instances; by concept unless it says otherwise.

    crossing, error, trapped, undecided: as in ``stages.Stages``; doubt: why it is undecided;
    after: whether a runaway that is not certain comes before; turning: whether it may turn into a
    concept of larger signal; given_up: whether the integration was; by instance: coarse, whether
    the step size is out of range, and blow_up with its error.
    """

    crossing: Floats
    error: Floats
    trapped: Booleans
    undecided: Booleans
    doubt: NDArray[np.int64]
    after: Booleans
    turning: Booleans
    given_up: Booleans
    coarse: Booleans
    blow_up: Floats
    blow_up_error: Floats


def decide(
    given: Given,
    end: End,
    late: End,
    share: float | Floats,
    tolerances: float,
    dynamics: str,
    *,
    mapped: bool = False,
) -> Verdict:
    """Out of lanes of the highest order and of that below, which differ by the error.

    share, tolerances: of the integration, and how many of them half-times are wrong by; mapped:
    whether both are the map itself.
    """
    signal, eta = given.signal, given.eta
    grows, above = signal > 0, given.levels >= 0.5
    crossing = np.where(grows & above, 0.0, end.crossing)
    trapped, unlike = end.lost & grows, (end.lost != late.lost) & grows
    reach = given.reach
    coarse = (DYNAMICS[dynamics].of != "") & ~(reach <= LARGEST_STEP)
    runs_away = np.isfinite(end.blow_up)[:, None]
    given_up = ~trapped & grows & np.isnan(crossing) & ~runs_away
    rate = 2 * eta[:, None] * np.where(grows, signal, np.inf)
    rounding = ROUNDINGS * 2.0**-53 * np.minimum(given.roundings, 2.0**53)
    wrong = tolerances * allowed_errors(signal.T, eta, share).T + rounding
    error = np.abs(crossing - late.crossing) + wrong / rate
    if DYNAMICS[dynamics].of and not mapped:
        # The next term of log(1 + x)/x, where the difference of the orders happens to vanish.
        order = DYNAMICS[dynamics].orders[0]
        error += reach[:, None] ** (order + 1) / (order + 2) / rate
    error += np.where((runs_away | mapped) & (crossing > end.last[:, None]), BETWEEN_STEPS, 0.0)
    error = np.where(grows & above, 0.0, error)
    turned_into, turning = _turns(given, trapped, dynamics)
    doubt = np.full(trapped.shape, SURE)
    if not DYNAMICS[dynamics].keeps_psd:
        doubt[unlike] = DRIFTS
    else:
        doubt[turned_into] = TURNS
        doubt[end.highest > PASSING] = PASSES
        doubt[given.unresolved] = UNRESOLVED
        doubt[~(trapped | unlike)] = SURE
    undecided = doubt != SURE
    uncertain = unlike.any(axis=1)
    first = np.where(uncertain, np.fmin(end.blow_up, late.blow_up), math.inf)
    cut_off = np.isnan(crossing) & runs_away
    late_for_it = (crossing > first[:, None]) & np.isfinite(crossing)
    after = (late_for_it | (cut_off & uncertain[:, None])) & grows & ~trapped
    error[undecided | after | turning | given_up | np.isnan(error) & ~trapped] = math.inf
    error[cut_off & ~after] = np.nan
    error[coarse[:, None] & grows] = math.inf
    some = given_up.any(axis=1)
    if some.any():
        parts = (given.signal, given.matrix, given.log_scale, given.eta)
        signals, matrices, scales, etas = (part[some] for part in parts)
        leading = closed_law(signals, matrices, scales, etas, dynamics)
        crossing[some] = np.where(given_up[some], leading, crossing[some])
    crossing[trapped] = np.nan
    error = np.where(trapped, np.where(undecided, math.inf, np.nan), error)
    crossing = np.where(grows, crossing, np.where(above, 0.0, math.inf))
    error[~grows] = np.nan
    blow_up = np.where(uncertain, math.inf, end.blow_up)
    finite = np.isfinite(blow_up)
    with np.errstate(invalid="ignore"):
        blow_up_error = np.where(finite, np.abs(blow_up - late.blow_up) + 1, math.inf)
    return Verdict(
        crossing,
        error,
        trapped,
        undecided,
        doubt,
        after,
        turning,
        given_up,
        coarse,
        np.asarray(np.round(blow_up), dtype=np.float64),
        blow_up_error,
    )


def settle(
    given: Given,
    starts: Starts,
    verdict: Verdict,
    share: float,
    follow: Callable[[Walk], None],
) -> Verdict:
    """What the map of (D.2) itself decides where its modified flow is not close enough.

    Where the drift nearly cancels a pivot, what is left after it magnifies whatever an expansion
    in the step size leaves out.
    """
    open_ = verdict.undecided | verdict.after | verdict.given_up
    far = ~(verdict.error <= APART) & ~verdict.trapped & (given.signal > 0)
    some = np.flatnonzero(((open_ | far).any(axis=1) | (given.reach > FINE_STEP)) & ~verdict.coarse)
    if not len(some):
        return verdict
    part = Given._make([values[some] for values in given])
    begun = Starts._make([values[..., some] for values in starts])
    walk = lanes_of(begun, part.eta, "euler", np.zeros(len(some)), share)
    follow(walk)
    end = End.of(walk, part.eta)
    exact = decide(part, end, end, share, TOLERANCES, "euler", mapped=True)
    done = ~exact.given_up.any(axis=1)
    for values, new in zip(verdict, exact, strict=True):
        values[some[done]] = new[done]
    return verdict


def shares(given: Given, verdict: Verdict) -> Floats:
    """What each pivot of W(0) is of the terms it is formed from; negative where it runs away."""
    share = given.sign / np.maximum(given.roundings, 1.0)
    runs_away = np.isfinite(verdict.blow_up)[:, None] & verdict.trapped
    lost = -np.maximum(np.abs(share), 2.0**-53)
    return np.asarray(np.where(runs_away, lost, share))


def _turns(given: Given, trapped: Booleans, dynamics: str) -> tuple[Booleans, Booleans]:
    """Whether one without component may be turned into, and which concept may turn into such.

    Pairs (k, j): k has no component, j of smaller signal has one, in the same block of W(0).
    """
    into, turning = np.zeros_like(trapped), np.zeros_like(trapped)
    some = trapped.any(axis=1)
    if not (DYNAMICS[dynamics].keeps_psd and some.any()):
        return into, turning
    d, lost, signal = trapped.shape[1], trapped[some], given.signal[some]
    joined = (given.matrix[some] != 0) | np.eye(d, dtype=bool)
    for _ in range(d.bit_length()):
        joined = joined @ joined
    smaller = (signal[:, None, :] > 0) & (signal[:, None, :] < signal[:, :, None])
    pairs = joined & lost[:, :, None] & ~lost[:, None, :] & smaller
    into[some], turning[some] = pairs.any(axis=2), pairs.any(axis=1)
    return into, turning
