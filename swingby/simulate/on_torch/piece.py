"""A piece of a batch on a device: blocks of steps there, what is due in between on the host.

Sums are rounded in another order than in the lanes. As long as the dynamics do not amplify that,
half-times, descents and outcomes are the same and W agrees to 1e-12 of its largest entry. They
amplify it where W(0) has pivots far below its diagonal, where eta a is above 1, and in runs that
leave the float range, of which W then agrees to about 1e-7 and the last step to one. Runs without
a number of steps may come to rest one look earlier or later.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.simulate.batch_arguments import Batch, missing_of
from swingby.simulate.batch_piece import Piece, outcomes
from swingby.simulate.lanes.run import arrange
from swingby.simulate.lanes.tile import make_ends
from swingby.simulate.on_torch.blocks import run_blocks
from swingby.simulate.on_torch.device import runs_together, usable_device
from swingby.simulate.on_torch.runs import in_whole_blocks, make_course, make_runs
from swingby.simulate.step_source import BLOCK, LONG_BLOCK


def on_device(
    device: object, dynamics: str, total: int, d: int
) -> tuple[Callable[..., Piece], list[tuple[int, int]]]:
    """How a batch runs on a device of torch, and in which pieces.

    Parameters
    ----------
    device : {"cpu", "cuda", "cuda:1"} or torch.device
    dynamics : {"euler", "gd"}
    total : int
        Number of runs.
    d : int

    Returns
    -------
    run : callable
        Called as :func:`swingby.simulate.batch_piece.run_piece` is.
    pieces : list of (int, int)
        The first run of each, and the first one after it.

    Raises
    ------
    InvalidInput
        For a device that is not there, and for the flow.
    MissingExtra
        If torch is not installed.
    """
    torch, place = usable_device(device)
    if dynamics == "flow":
        raise InvalidInput(
            "dynamics", dynamics, "must be euler or gd on a device; without device the flow runs"
        )
    size = runs_together(place.type, d)
    pieces = [(first, min(first + size, total)) for first in range(0, total, size)]
    return partial(run_on_device, torch, place), pieces


def run_on_device(
    torch: Any,
    device: Any,
    batch: Batch,
    steps: int | None,
    dynamics: str,
    *,
    swing: float,
    skip: bool,
    stop: Callable[[], bool],
) -> Piece:
    """Run a piece of a batch.

    Parameters
    ----------
    torch : module
    device : torch.device
    batch : Batch
    steps : int or None
        None until each run is at rest.
    dynamics : {"euler", "gd"}
    swing : float
        By what fraction of its initial value the test loss has to fall to descend; 0 where
        runs are not watched.
    skip : bool
    stop : callable
        Asked between two blocks; :class:`swingby.simulate.lanes.run.Stopped` is raised when it
        says so.

    Returns
    -------
    Piece
    """
    scale = batch.mantissa, batch.exponent
    arranged = arrange(batch.signal, batch.W0, batch.eta, scale, batch.point, swing, dynamics)
    missing = missing_of(batch, arranged.unclear, dynamics)
    runs = make_runs(arranged, batch.point, missing, steps, dynamics, skip=skip)
    ends = make_ends(*batch.signal.shape)
    held = runs.null.any(axis=1)
    here = torch.cuda.device(device) if device.type == "cuda" else nullcontext()
    with here:
        for members, block in ((~held, LONG_BLOCK), (held, BLOCK)):
            if members.any():
                d, watched = batch.signal.shape[1], swing > 0
                course = make_course(d, steps, dynamics, block, watched=watched, skip=skip)
                given = in_whole_blocks(runs, course)
                which = np.flatnonzero(members)
                run_blocks(torch, device, given, arranged, which, course, ends, stop)
    return Piece(
        half_times=ends.half_times,
        outcome=outcomes(ends, batch.signal > 0, missing),
        W=ends.W,
        last_step=ends.last_step,
        executed=ends.executed,
        descents=ends.descents,
        transient=ends.transient,
    )
