"""The public names: all there, lazily loaded, and callable whatever was imported before."""

import inspect
import subprocess
import sys

import numpy as np
import pytest

import swingby

HEAVY = ("torch", "pandas", "sympy", "numba", "matplotlib", "scipy", "numpy", "rich")


def fresh(code: str) -> str:
    """Standard output of `code` in a new process."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("name", swingby.__all__)
def test_every_public_name_resolves(name):
    assert getattr(swingby, name) is not None


def test_import_loads_nothing_heavy():
    listed = fresh(f"import swingby, sys; print([m for m in {HEAVY} if m in sys.modules])")
    assert listed == "[]"


@pytest.mark.parametrize(
    "first", ["", "import swingby.simulate.run;", "from swingby.verify.compare import compare;"]
)
def test_simulate_is_a_function_whatever_was_imported_first(first):
    call = "swingby.simulate(swingby.SIMTask([1, 2]), [[.1, 0], [0, .1]], eta=.1, steps=3)"
    assert fresh(f"{first}import swingby; print({call}.last_step)") == "3"


def test_simulate_shows_the_signature_of_the_function():
    from swingby.simulate.run import simulate

    assert inspect.signature(swingby.simulate) == inspect.signature(simulate)
    task = swingby.SIMTask([1, 2])
    run = swingby.simulate(task, np.eye(2) * 0.1, 0.1, 5)
    assert run.last_step == 5


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = swingby.nonsense
