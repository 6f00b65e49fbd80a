"""Compiled: what is due in a run, by the code of a single run. Imports numba, so import it late.

A run in which pivots leave a doubt, factors of two have to move, or a jump is worth an attempt is
laid out as the state of a single run; :mod:`swingby.simulate.pivot_kernels` and
:mod:`swingby.simulate.jump_kernels` then do the same as in :func:`swingby.simulate.simulate`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swingby.simulate.compiling import compiled, compiled_inside
from swingby.simulate.jump_kernels import jump, renormalise
from swingby.simulate.jump_landing import move_exponents, scale_up
from swingby.simulate.on_torch.board import Register
from swingby.simulate.on_torch.look import DOUBTFUL, IS_LARGE, READY
from swingby.simulate.on_torch.runs import Course, Numbers, Runs
from swingby.simulate.pivot_kernels import find_negative_pivot
from swingby.simulate.state import (
    PSD_LOST,
    STEP,
    Booleans,
    Floats,
    Integers,
    Problem,
    Record,
    State,
)


class Bench(NamedTuple):
    """What a run is treated with: scratch of a single run.

    `model` lends the arrays that all runs share; shift (d,) is zero.
    """

    state: State
    model: Problem
    record: Record
    work: Floats
    shift: Integers


@compiled
def treat(
    bench: Bench,
    runs: Runs,
    course: Course,
    numbers: Numbers,
    past: Floats,
    register: Register,
    flags: Booleans,
) -> None:  # pragma: no cover
    """Do what is due in some runs; `numbers` to `flags` have these alone and are changed."""
    for r in range(register.owner.shape[0]):
        owner = register.owner[r]
        _lay_out(bench, numbers, past, register, r)
        state = bench.state
        if flags[DOUBTFUL, r] and not register.lost[r]:
            register.lost[r] = find_negative_pivot(state.X, runs.order[owner], bench.work) >= 0
        state.counters[PSD_LOST] = 0 if register.lost[r] else -1
        if flags[IS_LARGE, r]:
            renormalise(state)
        if flags[READY, r] and course.skip and register.left[r] > 0:
            _leap(bench, runs, course, past, register, r)
        moved = state.counters[STEP] - register.step[r]
        register.step[r] += moved
        if moved > 0:
            left = runs.stop[owner] - register.step[r]
            register.left[r] = min(left, course.most - register.executed[r])
        d = past.shape[1]
        for i in range(d):
            register.exponent[r, i] = state.exponent[i]
            numbers.waited[r, i] += numbers.below[r, i] * float(moved)
            for j in range(d):
                numbers.X[r, i, j] = state.X[i, j]
                if course.watched and i != j:
                    # Entries move monotonically in a jump, so its end is enough.
                    size = scale_up(abs(state.X[i, j]), state.exponent[i] + state.exponent[j])
                    numbers.transient[r] = max(numbers.transient[r], size)


@compiled_inside
def _lay_out(
    bench: Bench, numbers: Numbers, past: Floats, register: Register, r: int
) -> None:  # pragma: no cover
    """Run r as the state of a single run."""
    state = bench.state
    d = past.shape[1]
    for i in range(d):
        state.exponent[i] = register.exponent[r, i]
        state.still[i] = numbers.X[r, i, i] == past[r, i]
        for j in range(d):
            state.X[i, j] = numbers.X[r, i, j]
            # Peaks are not kept here: to a jump all entries are suppressed, and far below them.
            state.suppressed[i, j] = 0
            state.peak[i, j] = np.inf
    # By nothing, which makes the weights anew.
    move_exponents(state, bench.shift)
    state.counters[STEP] = register.step[r]


@compiled_inside
def _leap(
    bench: Bench, runs: Runs, course: Course, past: Floats, register: Register, r: int
) -> None:  # pragma: no cover
    """Jump over what is linear to rounding as far as it goes."""
    owner, model, state = register.owner[r], bench.model, bench.state
    d = past.shape[1]
    for i in range(d):
        model.counted[i] = runs.signal[owner, i] > 0.0
        model.goal[i] = 0.0 if runs.goal[owner, i] == 0.0 else 1.0
        for j in range(d):
            model.sums[i, j] = runs.signal[owner, i] + runs.signal[owner, j]
    problem = Problem(
        runs.signal[owner],
        model.sums,
        runs.eta[owner],
        model.point,
        model.levels,
        model.goal,
        model.counted,
        runs.null[owner],
        runs.order[owner],
        runs.growth[runs.which[owner]],
    )
    stop_at = runs.stop[owner]
    while state.counters[STEP] < stop_at:
        renormalise(state)
        n = jump(
            problem, state, bench.record, course.gd, stop_at, bench.work, course.block, course.rest
        )
        if n == 0:
            break
        for k in range(d):
            past[r, k] = np.nan
