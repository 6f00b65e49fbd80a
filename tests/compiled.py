"""Code that numba compiles and keeps, compiled before the tests run: they would do it twice.

``python tests/compiled.py`` takes three minutes in a new checkout and seconds afterwards. Nothing
here is checked; a test that finds nothing compiled compiles it.
"""

import sys

import numpy as np

import swingby
from swingby.simulate import steps
from swingby.simulate.panel_text import panel_text
from swingby.simulate.step_text import single_text
from swingby.theory.growth import DYNAMICS


def start(d):
    """A task of d concepts, and W(0) of size 1e-3 with correlations."""
    return swingby.SIMTask.from_signal(list(range(d, 0, -1))), 1e-3 * (np.eye(d) + 0.3)


def compile_runs():
    """The steps of one run, which a short run does without."""
    for d in (2, 3):
        for dynamics in DYNAMICS:
            steps.load(single_text(d, dynamics), dynamics)
    for dynamics in DYNAMICS:
        steps.load(panel_text(dynamics), dynamics)


def compile_batches():
    """Batches of runs, bare, watched, and below the float range."""
    for d in (2, 3):
        task, W0 = start(d)
        for dynamics in DYNAMICS:
            call = (task.signal, W0, 0.05, 300, dynamics)
            swingby.simulate_batch(*call, test_point=np.ones(d))
            swingby.simulate_batch(*call, omega="1e-320")


def compile_laws():
    """The stage law of many instances, by the modified flow and by the map; with its curves."""
    for dynamics in ("gd", "euler"):
        signal, W0 = np.tile([2.0, 1.0], (2, 1)), np.tile(start(2)[1], (2, 1, 1))
        swingby.predict_batch(signal, W0, eta=0.1, dynamics=dynamics)


PARTS = {"runs": compile_runs, "batches": compile_batches, "laws": compile_laws}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
