"""Runs on a device in blocks of steps, until all have ended; what is due in between on the host."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from swingby.simulate.lanes.run import Arranged, Stopped
from swingby.simulate.lanes.tile import Ends
from swingby.simulate.on_torch.board import (
    Register,
    begin_block,
    make_board,
    put,
    rows_of,
    shrink,
    take,
)
from swingby.simulate.on_torch.runs import Course, Numbers, Runs, first_lost, first_numbers
from swingby.simulate.on_torch.steps import Advance, make_advance
from swingby.simulate.pivot_kernels import quiet_steps
from swingby.simulate.state import Booleans, Integers, make_problem, make_record, make_state
from swingby.theory.initial import Initial


def run_blocks(
    torch: Any,
    device: Any,
    runs: Runs,
    arranged: Arranged,
    members: Integers,
    course: Course,
    ends: Ends,
    stop: Callable[[], bool],
) -> None:
    """Run some trajectories; all are whole blocks away from their own step 0.

    As in the lanes, so that runs that end within a block all end at the same place in it.

    Parameters
    ----------
    torch : module
    device : torch.device
    runs : Runs
    arranged : Arranged
    members : ndarray of int, shape (n,)
        Which of the runs.
    course : Course
    ends : Ends
        Filled.
    stop : callable
        Asked between two blocks.

    Raises
    ------
    Stopped
        When `stop` says so; what is under way is lost.
    """
    # numba takes 0.4 s to import, so only a run pays for it.
    from swingby.simulate.on_torch import due_kernels
    from swingby.simulate.on_torch.ending import last_finite, release
    from swingby.simulate.on_torch.look import NOT_FINITE, READY, RESTING, look, project_null

    d, block = runs.signal.shape[1], course.block
    held = bool(runs.null[members].any())
    model = make_problem(np.ones(d), 1.0, "gd" if course.gd else "euler")
    state = make_state(Initial(np.eye(d), Fraction(1)), model.point)
    shift = np.zeros(d, dtype=np.int64)
    bench = due_kernels.Bench(state, model, make_record([], d), np.empty((d, d)), shift)
    register = _register(runs, arranged, members, course)
    rates = runs.eta[members, None] * runs.signal[members]
    stretch = quiet_steps(float(rates.max())) if held else block
    numbers = first_numbers(arranged, members)
    board = make_board(torch, device, numbers, register.exponent, runs, members)
    scaled = bool(register.exponent.any())

    def treat(at: Integers, flags: Booleans, count: int) -> None:
        """Do what is due in some rows, `count` steps after the block began."""
        now, past = take(torch, board, at)
        some = rows_of(register, at)
        infinite = np.flatnonzero(flags[NOT_FINITE])
        if len(infinite):
            again, taken = last_finite(
                torch, board, at[infinite], count, stretch, course, scaled=scaled
            )
            for values, finite in zip(now, again, strict=True):
                values[infinite] = finite
            some.step[infinite] -= count - taken
            some.executed[infinite] -= count - taken
            some.left[infinite] = 0
            ends.diverged[some.owner[infinite]] = some.step[infinite] + 1
        other = np.ascontiguousarray(flags & ~flags[NOT_FINITE])
        due_kernels.treat(bench, runs, course, now, past, some, other)
        over = np.flatnonzero((some.left == 0) | other[RESTING])
        if len(over):
            ended, last = rows_of(some, over), Numbers(*(values[over] for values in now))
            release(ends, last, ended)
            for values, changed in zip((*now, *some), (*last, *ended), strict=True):
                values[over] = changed
        put(torch, board, at, now, past, some.exponent)
        for values, changed in zip(register, some, strict=True):
            values[at] = changed

    if held:
        project_null(torch, board)
    if course.skip:
        flags = np.zeros((RESTING + 1, len(members)), dtype=np.bool_)
        flags[READY] = True
        treat(np.arange(len(members)), flags, 0)
    advance: Advance | None = None
    while True:
        active = register.owner >= 0
        if not active.any():
            return
        if stop():
            raise Stopped
        if 2 * active.sum() <= len(active):
            kept = np.flatnonzero(active)
            board, register = shrink(torch, board, kept), rows_of(register, kept)
            advance = None
        if advance is None or scaled != register.exponent.any():
            scaled = bool(register.exponent.any())
            advance = make_advance(torch, board, course, scaled=scaled)
        begin_block(board)
        taken = 0
        for count in _parts(register, course):
            for first in range(0, count, stretch):
                advance(min(stretch, count - first))
                if held:
                    project_null(torch, board)
            taken += count
            going = register.owner >= 0
            for values, change in ((register.step, count), (register.executed, count)):
                values[going] += change
            register.left[going] -= count
            flags = look(torch, board, course)
            due = register.left == 0
            if taken == block:
                due |= flags.any(axis=0)
            else:
                # Inside a block only those are looked at that end here.
                flags[READY] = flags[RESTING] = False
            at = np.flatnonzero(due & (register.owner >= 0))
            if len(at):
                treat(at, flags[:, at], taken)


def _parts(register: Register, course: Course) -> tuple[int, ...]:
    """A block in one part, or in two where some run ends inside it."""
    ending = bool(((register.owner >= 0) & (register.left <= course.block)).any())
    first = course.tail
    return (first, course.block - first) if ending and first else (course.block,)


def _register(runs: Runs, arranged: Arranged, members: Integers, course: Course) -> Register:
    zeros = np.zeros(len(members), dtype=np.int64)
    return Register(
        owner=members.copy(),
        exponent=arranged.exponent[members],
        step=zeros,
        left=np.minimum(runs.stop[members], course.most),
        executed=zeros.copy(),
        lost=first_lost(arranged, members),
    )
