"""A small grid, its undisturbed store, and what stores hold, to compare them by."""

import pytest

from swingby.lab.sweeps.grid import SweepGrid
from swingby.lab.sweeps.store import existing_store, read_store
from swingby.lab.sweeps.sweep import sweep
from tests.lab.sweeps import killing

#: 60 points of about a millisecond; one of them fails.
TINY = {
    "signal": [[4, 1], [2, 1]],
    "omega": [1e-2, 1e-3, "1e301"],
    "eta": 0.1,
    "seeds": 5,
    "dynamics": ["euler", "gd"],
}


def rows_of(path):
    """Every row by key, as it is written: equal for stores that hold the same."""
    return dict(sorted(read_store(existing_store(path)).lines.items()))


@pytest.fixture
def grid():
    return SweepGrid(**TINY)


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    """The rows of the tiny grid, measured one by one in this process."""
    path = tmp_path_factory.mktemp("undisturbed") / "out"
    sweep(SweepGrid(**TINY), out=path, workers=0, chunk=1, progress=False)
    return rows_of(path)


@pytest.fixture(scope="session")
def unkilled(tmp_path_factory):
    """The rows of the grid of ``killing``, measured in this process."""
    path = tmp_path_factory.mktemp("unkilled") / "out"
    sweep(killing.GRID, out=path, workers=0, progress=False)
    return rows_of(path)


@pytest.fixture(name="rows_of")
def _rows_of():
    return rows_of
