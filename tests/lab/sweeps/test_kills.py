"""Drivers and workers killed at random moments: every point once, the same rows bit for bit.

50 kills in all with make test-full, 11 of them on Dask; make test has one.
"""

import functools
import os
import random
import signal
import sys

import pytest

from swingby.lab.sweeps.grid import SweepGrid
from swingby.lab.sweeps.store import verify_store
from swingby.lab.sweeps.sweep import sweep
from tests.forked import FULL, sample
from tests.lab.sweeps import killing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds workers in /proc"),
]


DASK = {"executor": "dask", "workers": 1}
full = functools.partial(pytest.param, marks=pytest.mark.full)


def with_dask(options):
    if "executor" in options:
        pytest.importorskip("distributed")
    return options


@pytest.mark.parametrize(
    ("options", "times", "longest"),
    [
        ({"workers": 1}, 10 if FULL else 1, 2.5),
        full(DASK, 5, 6),
        full({"workers": 2}, 8, 3),
        full({"workers": 4}, 4, 4),
    ],
)
def test_killed_drivers(tmp_path, unkilled, rows_of, options, times, longest):
    store, rng = tmp_path / "out", random.Random(f"driver {options}")
    killing.kill_drivers(store, rng, times, longest=longest, **with_dask(options))
    assert rows_of(store) == unkilled
    assert len(unkilled) == len(SweepGrid(**killing.GRID)) == 240


@pytest.mark.parametrize(
    ("options", "times"),
    [
        ({"workers": 1}, 8 if FULL else 1),
        full({"workers": 2}, 6),
        full({"workers": 4}, 3),
        full(DASK, 6),
    ],
)
def test_killed_workers(tmp_path, unkilled, rows_of, options, times):
    store, rng = tmp_path / "out", random.Random(f"worker {options}")
    killing.kill_workers(store, rng, times, **with_dask(options))
    assert rows_of(store) == unkilled


@pytest.mark.parametrize("number", sample([signal.SIGINT, signal.SIGTERM, signal.SIGKILL, None], 4))
def test_signals_leave_a_sound_store(tmp_path, number):
    """To all processes of a sweep that cannot have ended: it has 10^15 points.

    None: the driver alone is killed, and its workers end with it.
    """
    store = tmp_path / "out"
    endless = {**killing.GRID, "seeds": 10**15}
    driver = killing.Driver(store, endless, workers=2)
    killing.wait_for(lambda: killing.count(store) or driver.process.poll() is not None)
    workers = driver.workers()
    assert driver.process.poll() is None
    assert len(workers) == 2
    if number is None:
        driver.process.kill()
    else:
        os.killpg(driver.process.pid, number)
    _, errors = driver.process.communicate()
    assert driver.process.returncode not in (0, None)
    if number == signal.SIGINT:
        assert b"the same call resumes" in errors
    killing.wait_for(lambda: not killing.running(workers))
    kept = killing.count(store)
    assert verify_store(store) == kept > 0
    few = {**killing.GRID, "seeds": [0]}
    result = sweep(few, out=store, workers=0, progress=False)
    assert result.status().done == 4
    assert verify_store(store) >= kept


def test_a_point_that_kills_its_worker_is_a_failed_row(tmp_path, monkeypatch):
    """Three times, in processes of their own; the sweep goes on to its end."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os\n"
        "from swingby.lab.sweeps import measurement\n"
        "initial = measurement.initial\n"
        "def lethal(one):\n"
        "    return initial(one) if one.seed != 3 else os._exit(9)\n"
        "measurement.initial = lethal\n"
    )
    # Of the workers, which start anew; this process has read its own.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(killing.ROOT)]))
    grid = {**killing.GRID, "omega": "1e-2", "dynamics": "gd", "seeds": 6}
    status = sweep(grid, out=tmp_path / "a", workers=1, chunk=4, progress=False).status()
    assert (status.done, status.failed) == (5, 1)
    assert status.reasons == {"WorkerDied: the process died 3 times at this point": 1}
