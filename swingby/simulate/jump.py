r"""Jumps over steps in which W stays near a state with some concepts learned; many runs at once.

Let S be the concepts with w_kk = 1 to rounding, the others small, and V the distance of W from that
state. To first order every entry of V is multiplied by a factor of its own in each step
(:func:`swingby.theory.growth.log_factors`), so n steps multiply it by that to the power n, whatever
n. What is left out adds up to at most

.. math:: \sum_k q_{ikj} |V_{ik} V_{kj}| \sum_{t<n} r^t, \qquad
          q_{ikj} = \tfrac\eta2 (a_i + a_j + 2 a_k) (1 + \eta a_{max})^2,

where r is the growth of the product against that of the entry. A jump goes as far as this stays
below :data:`NEGLIGIBLE` times the entry itself. An entry between two learned concepts only follows
products of entries with one that is not: a jump ends early enough for the steps that remain to
forget what it left out there. So an entry that is small among its peers keeps its relative accuracy
at the end, and an exact zero that is about to be filled is never jumped over.

Products of two entries with one learned concept k feed the entries between those that are not:
this is what keeps W of its rank. While it is less than what these grow by themselves, it is summed
exactly: as each factor moves on its own, so does

.. math:: V_{ij} - \sum_{k \in S} c_{ikj} V_{ik} V_{kj}, \qquad
          c_{ikj} = q'_{ikj} / (f_{ij} - f_{ik} f_{kj}), \quad q'_{ikj} = f_{ij} - f_{ik} f_{kj}
          \text{ under gd and the flow}, \quad \tfrac\eta2 (a_i + a_j + 2 a_k) \text{ under euler},

with the factors f of a step: c is 1 where W = U U^T, a Schur complement. Sizes are
bounded by their binary exponents, so that no decision hangs on the rounding of a logarithm.

No event is lost: no level lies within; entries move one way, so that a new peak is at the landing;
all of them together change the test loss by less than a rounding; when an entry has fallen to half
of its peak, and when LDL^T pivots are no longer positive, is found in the closed form.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swingby.simulate.float_pivots import negative_pivots
from swingby.simulate.state import RunProblem, RunRecord, RunState
from swingby.theory.growth import AT_ONCE, BOTH, DYNAMICS, FIRST, NEITHER
from swingby.theory.numbers import Booleans, Floats, Integers
from swingby.theory.scaled_matrices import power_of_two, scale_up, weights

#: What a jump may neglect, relative to an entry: a few roundings.
NEGLIGIBLE = 2.0**-51
#: A concept is learned, to a jump, where eta a_k |w_kk - 1| is at most the first, or |w_kk - 1| at
#: most the second: there the steps round to nothing, and w_kk goes no closer to 1.
STALLED, LEARNED = 2.0**-53, 2.0**-51
#: An entry grows by itself in a step at least 2^this times what learned concepts feed to it.
_FED = 8
#: Shorter jumps of a single run cost more than the steps.
_SHORTEST = 256
#: Steps of a jump looked at together for a loss of positive semidefiniteness.
_LOOKS = 64
#: Of an entry that is zero, in place of its binary exponent.
_NONE = -(2**40)

_LongFloats = NDArray[np.longdouble]


def is_learned(w: Floats, rates: Floats) -> Booleans:
    """Concepts that are learned, by w_kk and eta a_k."""
    return np.asarray(np.abs(w - 1.0) * rates <= STALLED + LEARNED * rates) & (rates > 0.0)


class Jump(NamedTuple):
    """Jumps of m runs: their lengths, and W on the way: V (m, d, d) times 2^(n rate), W = D X D.

    steps (m,): 0 for none; learned (m, d); diagonal (m, d): x_kk where it is, else 0; fed
    (m, d, d, d): c_ikj, 0 unless k alone is learned.
    """

    steps: Integers
    learned: Booleans
    V: Floats
    rate: _LongFloats
    exponent: Integers
    diagonal: Floats
    fed: Floats

    def at(self, steps: Integers, shift: Integers | int = 0) -> Floats:
        """X after so many steps, an array that broadcasts against (m, d, d), divided by D' X D'."""
        total = np.asarray(steps).astype(np.longdouble)[..., None, None] * self.rate
        power = np.rint(total)
        value = self.V * np.exp2(total - power).astype(np.float64)
        by = np.asarray(shift)
        moved = by[..., :, None] + by[..., None, :] if by.ndim else by
        X = scale_up(value, np.clip(power, -1e9, 1e9).astype(np.int64) - moved)
        X += _fed(self.fed, X, self.exponent + by)
        every = np.arange(X.shape[-1])
        X[..., every, every] += self.diagonal
        return X


def _fed(share: Floats, X: Floats, exponent: Integers) -> Floats:
    """The products that learned concepts feed to the entries of X, at W = D X D."""
    products = X[..., :, :, None] * X[..., None, :, :]
    square = power_of_two(2 * exponent)[..., None, :, None]
    # What grows far beyond the range of floats in a jump feeds nothing.
    return np.asarray(np.where(share != 0.0, share * products * square, 0.0).sum(axis=-2))


def plan(
    X: Floats,
    exponent: Integers,
    rates: Floats,
    growth: _LongFloats,
    left: Integers,
    least: int,
    settling: Booleans,
    dynamics: str,
    watched: Booleans | None = None,
) -> Jump:
    """Plan the longest jumps: X (m, d, d), exponent, rates = eta a (m, d), growth (3, m, d, d).

    `left` (m,): steps until the end; `least`: shortest jump, also where less is left none is worth
    it; `settling` (m,): runs that may come to rest, whose steps have to be taken; `watched`
    (m, d, d): entries whose fall is still waited for.
    """
    d = rates.shape[1]
    weight = weights(exponent)
    every = np.arange(d)
    w = X[:, every, every] * weight[:, every, every]
    learned = is_learned(w, rates)
    V = X.copy()
    diagonal = np.where(learned, X[:, every, every], 0.0)
    V[:, every, every] = np.where(learned, 0.0, X[:, every, every])
    row_learned, column_learned = learned[:, :, None], learned[:, None, :]
    both, neither = row_learned & column_learned, ~row_learned & ~column_learned
    mixed = np.where(row_learned, growth[FIRST], growth[FIRST].swapaxes(1, 2))
    rate = np.where(both, growth[BOTH], np.where(neither, growth[NEITHER], mixed))
    # What decays within a step is at rest, or has no logarithm.
    at_once = (rate <= AT_ONCE) & (V != 0.0)
    gone = at_once & both & (np.abs(V) * weight <= NEGLIGIBLE)
    V[gone] = 0.0
    stuck = (at_once & ~gone).any(axis=(1, 2)) | settling | (left < min(least, _SHORTEST))
    if watched is not None:
        follows = both & (every[:, None] != every) & (np.abs(V) * weight > 1e-290)
        stuck |= (follows & watched).any(axis=(1, 2))
    # Below 1 for certain, so that q is bounded by what an entry may be pushed to at most.
    q = (rates[:, :, None, None] + rates[:, None, None, :]) / 2 + rates[:, None, :, None]
    fed = np.where(neither[:, :, None, :] & learned[:, None, :, None], 1.0, 0.0)
    if not DYNAMICS[dynamics].keeps_psd:
        unlike = rates[:, :, None] - rates[:, None, :]
        apart = 4.0 * q - unlike[:, :, :, None] * unlike.swapaxes(1, 2)[:, None]
        # What grows faster than the entry that it feeds is not summed.
        fed = np.divide(4.0 * q * fed, apart, out=np.zeros_like(fed), where=apart > 0.0)
    V -= _fed(fed, V, exponent)
    size = np.where(V != 0.0, np.frexp(V)[1] + exponent[:, :, None] + exponent[:, None, :], _NONE)
    push = np.frexp(q * (1.0 + rates.max(axis=1)[:, None, None, None]) ** 2)[1]
    push = push + size[:, :, :, None] + size[:, None, :, :]
    speed = rate.astype(np.float64)
    # What is at rest between two learned concepts is measured against 1.
    rests = both & (V == 0.0)
    own_size, pace = np.where(rests, 0, size - 1), np.where(rests, 0.0, speed)
    gain = speed[:, :, :, None] + speed[:, None, :, :] - pace[:, :, None, :]
    ahead = left[:, None, None, None]
    follows = (both & ~rests)[:, :, None, :] & ~learned[:, None, :, None] & (gain > 0.0)
    with np.errstate(all="ignore"):
        span = np.frexp(np.minimum(2.0 / np.abs(gain), ahead) + 1.0)[1]
        excess = push + span - own_size[:, :, None, :] + np.frexp(d / NEGLIGIBLE)[1]
        # Of what is summed nothing is left out, but the entry has to move one way.
        summed = (fed != 0.0) & (pace[:, :, None, :] > 0.0) & (gain < -pace[:, :, None, :] / 2.0)
        still = push - own_size[:, :, None, :] + np.frexp(d / pace)[1][:, :, None, :] + _FED
        excess = np.where(summed, still, excess)
        # What was neglected before a jump ends is forgotten at this pace until the run ends.
        until = np.maximum(
            -excess / gain, np.where(follows, ahead + np.log2(NEGLIGIBLE) / gain, -np.inf)
        )
        there = push > _NONE // 2
        bound = np.where(there & (gain > 0.0), until, np.inf).min(axis=(1, 2, 3))
    stuck |= (there & ~follows & (excess > 0)).any(axis=(1, 2, 3))
    reach = np.minimum(bound, left).astype(np.int64)
    steps = np.where(stuck | (reach < np.minimum(least, left)), 0, reach)
    return Jump(steps, learned, V, rate, exponent, diagonal, fed)


def _shift_of(jump: Jump, X: Floats) -> Integers:
    """By how much m_k rises at the end of a jump: W = D X D stays in the middle of the range."""
    every = np.arange(X.shape[-1])
    value = X[:, every, every]
    power = np.rint(jump.steps[:, None] * jump.rate[:, every, every].astype(np.float64))
    grown = (power.astype(np.int64) + np.frexp(value)[1]) // 2
    rises = ~jump.learned & (value != 0.0)
    return np.where(rises, np.clip(grown, 0, -jump.exponent), 0)


def jump_alone(
    problem: RunProblem, state: RunState, record: RunRecord, last: int, *, rest: bool
) -> bool:
    """Jump as far as allowed, at most to step `last`; whether there was a jump.

    Writes the records inside and notes the events inside; those of the landing are for the caller.
    """
    t, remaining, rates = state.step, last - state.step, problem.rates
    w = state.levels
    learned = is_learned(w, rates)
    small = learned | (np.abs(w) <= 1e-12) | (problem.signal == 0.0)
    if remaining < _SHORTEST or not small.all():
        return False
    # Cheap, and mostly decisive: what w_ij^2 adds to w_jj, i learned.
    fed = state.X**2 * state.square[:, None] > np.abs(state.X.diagonal()) / 64.0
    if (fed & learned[:, None] & ~learned).any():
        return False
    open_goals = problem.counted & (problem.goal != 0.0) & ~learned
    jump = plan(
        state.X[None],
        state.exponent[None],
        rates[None],
        problem.growth[:, None],
        np.array([remaining]),
        _SHORTEST,
        np.array([rest and not open_goals.any()]),
        problem.dynamics,
        np.triu(state.suppressed < 0, 1)[None],
    )
    n = int(jump.steps[0])
    if n == 0:
        return False
    _note_falls(state, jump, n)
    if not problem.keeps_psd and state.psd_lost < 0:
        _note_loss_of_psd(problem, state, jump, n)
    _write_inside(state, record, jump, n)
    shift = _shift_of(jump, state.X[None])
    landing = jump.at(jump.steps, shift)[0]
    state.raise_exponents(shift[0])
    state.X, state.step = landing, t + n
    return True


def _note_falls(state: RunState, jump: Jump, n: int) -> None:
    """Note the steps at which entries have fallen to half of their peaks."""
    for i, j in itertools.combinations(range(len(state.X)), 2):
        rate, value = float(jump.rate[0, i, j]), abs(jump.V[0, i, j])
        half = 0.5 * abs(state.peak[i, j])
        if state.suppressed[i, j] >= 0 or half == 0.0 or not rate < 0.0:
            continue
        low = max(0, int(np.log2(half / value) / rate) - 2) if value > half else 0
        for steps in range(max(low, 1), min(low + 6, n + 1)):
            if abs(jump.at(np.array([steps]))[0, i, j]) <= half:
                state.suppressed[i, j] = state.step + steps
                break


def _note_loss_of_psd(problem: RunProblem, state: RunState, jump: Jump, n: int) -> None:
    """The first step at which a pivot is negative, by looks at many steps together."""
    good, order, steps = 0, problem.order, np.array([n])
    while True:
        X = jump.at(steps, _shift_of(jump._replace(steps=steps), state.X[None]))
        negative = negative_pivots(np.moveaxis(X[:, order][:, :, order], 0, 2))
        lost = np.flatnonzero(negative >= 0)
        if not lost.size:
            return
        first = int(lost[0])
        good, bad = int(steps[first - 1]) if first else good, int(steps[first])
        if bad - good == 1:
            state.psd_lost, state.psd_concept = state.step + bad, int(order[negative[first]])
            return
        steps = np.unique(np.linspace(good + 1, bad, _LOOKS).astype(np.int64))


def _write_inside(state: RunState, record: RunRecord, jump: Jump, n: int) -> None:
    first = state.recorded
    last = int(np.searchsorted(record.steps, state.step + n, side="right"))
    if last > first:
        down, every = -jump.exponent[0], np.arange(len(state.X))
        moved = jump._replace(diagonal=np.zeros_like(jump.diagonal))
        inside = np.broadcast_to(down, (last - first, len(down)))
        W = moved.at(record.steps[first:last] - state.step, inside)
        W[:, every, every] += jump.diagonal[0] * power_of_two(2 * jump.exponent[0])
        record.W[first:last] = W
        state.recorded = last


def land(jump: Jump, X: Floats) -> tuple[Floats, Integers]:
    """X and m after a jump of m runs; where a run does not jump, both are as they were."""
    shift = np.where(jump.steps[:, None] > 0, _shift_of(jump, X), 0)
    landing = jump.at(jump.steps, shift)
    moved = (jump.steps > 0)[:, None, None]
    return np.where(moved, landing, X), jump.exponent + shift
