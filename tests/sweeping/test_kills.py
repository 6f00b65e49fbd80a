"""Drivers and workers killed at random moments: every point once, the same rows bit for bit.

50 kills in all with make test-full: 39 here, 11 on Dask in test_cluster.py; make test has 21.
"""

import importlib.util
import random
import sys
import time
from pathlib import Path

import pytest

from swingby.sweeping.grid import SweepGrid
from swingby.sweeping.sweep import sweep

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds workers in /proc"),
]

_HELP = importlib.util.spec_from_file_location("killing", Path(__file__).with_name("killing.py"))
killing = importlib.util.module_from_spec(_HELP)
_HELP.loader.exec_module(killing)


MORE_DRIVERS = [pytest.param(*one, marks=pytest.mark.full) for one in ((2, 8, 3), (4, 4, 4))]
MORE_WORKERS = [pytest.param(*one, marks=pytest.mark.full) for one in ((1, 8), (4, 3))]


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """An undisturbed run in this process."""
    path = tmp_path_factory.mktemp("expected") / "out.sqlite"
    sweep(killing.GRID, store=path, workers=0, progress=False)
    return path


def check(store, expected, rows_of):
    rows = rows_of(store)
    assert len(rows) == len(SweepGrid(**killing.GRID)) == 240
    assert rows == rows_of(expected)


@pytest.mark.parametrize(("workers", "times", "longest"), [(1, 10, 2.5), *MORE_DRIVERS])
def test_killed_drivers(tmp_path, expected, rows_of, workers, times, longest):
    store = tmp_path / "out.sqlite"
    rng = random.Random(f"driver {workers}")
    killing.kill_drivers(store, rng, times, workers=workers, longest=longest)
    check(store, expected, rows_of)


@pytest.mark.parametrize(("workers", "times"), [(2, 6), *MORE_WORKERS])
def test_killed_workers(tmp_path, expected, rows_of, workers, times):
    store = tmp_path / "out.sqlite"
    killing.kill_workers(store, random.Random(f"worker {workers}"), times, workers=workers)
    check(store, expected, rows_of)


def test_workers_end_with_their_driver(tmp_path):
    driver = killing.Driver(tmp_path / "out.sqlite", workers=2)
    end = time.monotonic() + 30
    while not killing.count(tmp_path / "out.sqlite") and time.monotonic() < end:
        time.sleep(0.05)
    workers = driver.workers()
    assert len(workers) == 2
    driver.kill()
    assert killing.wait_until_gone(workers)
