"""Machine code that is compiled ahead of the first call that needs it, and stored.

A first prediction or a short run does without; many of them, and batches, compile what they use:
the law once for all tasks, the steps of runs once for each number of concepts up to 8, and once for
all above.
"""

from __future__ import annotations

import numpy as np

from swingby.simulate.batch import simulate_batch
from swingby.simulate.panel_text import panel_text
from swingby.simulate.step_text import single_text
from swingby.theory.compiled_text import load
from swingby.theory.growth import DYNAMICS
from swingby.theory.numbers import Floats
from swingby.theory.task import SIMTask
from swingby.verify.predict_batch import predict_batch

#: Numbers of concepts whose steps are compiled, and whose derivatives of the law are.
_CONCEPTS, _WRITTEN_OUT = (2, 3), (2, 3, 4, 5)


def _start(d: int) -> tuple[SIMTask, Floats]:
    """A task of d concepts, and W(0) of size 1e-3 with correlations."""
    return SIMTask.from_signal(list(range(d, 0, -1))), 1e-3 * (np.eye(d) + 0.3)


def compile_runs() -> None:
    """The steps of one run."""
    for d in _CONCEPTS:
        for dynamics in DYNAMICS:
            load(single_text(d, dynamics), f"steps of {dynamics}")
    for dynamics in DYNAMICS:
        load(panel_text(dynamics), f"steps of {dynamics}")


def compile_batches() -> None:
    """Batches of runs, bare, watched, and below the float range."""
    for d in _CONCEPTS:
        task, W0 = _start(d)
        for dynamics in DYNAMICS:
            call = (task.signal, W0, 0.05, 300, dynamics)
            simulate_batch(*call, test_point=np.ones(d))
            simulate_batch(*call, omega="1e-320")


def compile_laws() -> None:
    """The stage law, by the modified flow and by the map; with its curves."""
    for d in _WRITTEN_OUT:
        task, W0 = _start(d)
        for dynamics in DYNAMICS:
            predict_batch(task.signal, np.tile(W0, (d, 1, 1)), eta=0.1 / d, dynamics=dynamics)


#: What is compiled, by name.
PARTS = {"runs": compile_runs, "batches": compile_batches, "laws": compile_laws}
