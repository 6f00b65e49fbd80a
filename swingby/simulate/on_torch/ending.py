"""How runs on a device end: what is kept of them, and the last finite step where they diverge."""

from __future__ import annotations

from typing import Any

import numpy as np

from swingby.simulate.lanes.tile import Ends
from swingby.simulate.on_torch.board import Board, Register, shrink
from swingby.simulate.on_torch.look import project_null
from swingby.simulate.on_torch.runs import Course, Numbers
from swingby.simulate.on_torch.steps import make_step
from swingby.simulate.state import Integers


def last_finite(
    torch: Any,
    board: Board,
    rows: Integers,
    count: int,
    stretch: int,
    course: Course,
    *,
    scaled: bool,
) -> tuple[Numbers, Integers]:
    """Take a block again, of a few runs, and keep each as it was at its last finite step.

    Parameters
    ----------
    torch : module
    board : Board
    rows : ndarray of int, shape (n,)
    count : int
        Steps since the block began.
    stretch : int
        Steps between two projections of null pivots, where there are any.
    course : Course
    scaled : bool
        Some run of the board holds W as D X D.

    Returns
    -------
    Numbers
        Arrays.
    taken : ndarray of int, shape (n,)
        Finite steps since the block began.
    """
    part = shrink(torch, board, rows)
    for now, begun in zip(part.now, part.begun, strict=True):
        now.copy_(begun)
    step = make_step(torch, part, course, scaled=scaled)
    held = bool(part.null.any())
    finite = torch.ones(len(rows), dtype=torch.bool, device=part.past.device)
    taken = torch.zeros(len(rows), dtype=torch.int64, device=part.past.device)
    for n in range(count):
        step()
        finite &= torch.isfinite(part.now.X).flatten(1).all(1)
        taken += finite
        for now, kept in zip(part.now, part.begun, strict=True):
            kept.copy_(torch.where(finite.view(-1, *[1] * (now.dim() - 1)), now, kept))
        if held and (n + 1) % stretch == 0:
            project_null(torch, part)
    numbers = Numbers(*(tensor.cpu().numpy() for tensor in part.begun))
    return numbers, np.asarray(taken.cpu().numpy())


def release(ends: Ends, numbers: Numbers, register: Register) -> None:
    """Keep the ends of some runs; their rows are free.

    Parameters
    ----------
    ends : Ends
        Changed in place.
    numbers : Numbers
        Arrays, of these runs alone; W = 0 takes their place.
    register : Register
        Of these runs alone.
    """
    owner, exponent = register.owner, register.exponent
    shift = np.maximum(exponent[:, :, None] + exponent[:, None, :], -3000)
    ends.W[owner] = np.ldexp(numbers.X, shift.astype(np.int32))
    reached = numbers.below == 0.0
    ends.half_times[owner] = np.where(reached, numbers.waited + 1.0, np.nan)
    ends.last_step[owner] = register.step
    ends.executed[owner] = register.executed
    ends.lost[owner] = register.lost
    ends.descents[owner] = numbers.descents.astype(np.int64)
    ends.transient[owner] = numbers.transient
    for values in numbers:
        values[:] = 0.0
    register.owner[:] = -1
    register.exponent[:] = 0
    register.left[:] = np.iinfo(np.int64).max
