"""A batch of small trajectories through the lanes, in stretches of a fraction of a second."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from swingby.simulate.lanes.tile import Ends, Queue, empty_tile, make_ends
from swingby.simulate.state import make_problem, make_record, make_state
from swingby.theory.initial import Initial

#: Products per lane in one call of compiled code: about a tenth of a second.
STRETCH = 100_000_000


class Stopped(Exception):
    """The caller asked to stop."""


def run_lanes(
    queue: Queue, steps: int, dynamics: str, block: int, *, skip: bool, stop: Callable[[], bool]
) -> Ends:
    """Run every trajectory of a queue.

    Parameters
    ----------
    queue : Queue
    steps : int
        Of every trajectory.
    dynamics : {"euler", "gd"}
    block : int
        Steps between two looks at a lane.
    skip : bool
        Jump over steps that are linear to rounding.
    stop : callable
        Asked a few times a second.

    Returns
    -------
    Ends

    Raises
    ------
    Stopped
        When `stop` says so; what is under way is lost.
    """
    # numba takes 0.4 s to import, so only a run pays for it.
    from swingby.simulate.compiled_steps import lane_steps, steps_of_a_run
    from swingby.simulate.lanes.kernels import BUDGET_SPENT, run_tile

    total, d = queue.signal.shape
    gd = dynamics == "gd"
    plain = lane_steps(d, gd=gd, scaled=False)
    is_scaled = bool(queue.exponent.any())
    scaled = lane_steps(d, gd=gd, scaled=True) if is_scaled else plain
    single = steps_of_a_run(d, gd=gd, scaled=is_scaled)
    tile, ends = empty_tile(d), make_ends(total, d)
    model = make_problem(np.ones(d), 1.0, dynamics)
    state = make_state(Initial(np.eye(d), Fraction(1)), model.point)
    record, work = make_record([], d), np.empty((d, d))
    budget = max(1, STRETCH // d**3)
    while (
        run_tile(
            plain,
            scaled,
            *single,
            tile,
            queue,
            ends,
            gd,
            steps,
            skip,
            budget,
            state,
            model,
            record,
            work,
            block,
        )
        == BUDGET_SPENT
    ):
        if stop():
            raise Stopped
    return ends
