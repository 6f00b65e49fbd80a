"""A driver as a process of its own, and its workers, to be killed by the tests."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import swingby

#: Long enough to be killed in the middle, on any number of workers: 240 points.
GRID = {
    "signal": [[4, 1]],
    "omega": ["1e-3", "1e-2"],
    "eta": "0.001",
    "seeds": 60,
    "dynamics": ["euler", "gd"],
}

ROOT = Path(swingby.__file__).parents[1]


class Driver:
    """``sweep`` in a process of its own, in chunks of four points; of a theory in a file."""

    def __init__(self, store, grid=GRID, theory="", **options):
        options = {"chunk": 4, **options}
        own = f"theory_in({theory!r}), " if theory else ""
        code = (
            "import signal\n"
            # A shell in the background starts everything with Ctrl-C ignored.
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "from swingby.lab.sweeps import sweep\n"
            "sweep.LEAST_BYTES = 0\n"  # an endless grid has no room on any disk
            "from swingby.own_theory.theory_files import theory_in\n"
            f"sweep.sweep({own}{grid!r}, out={str(store)!r}, **{options!r})"
        )
        own = {"PYTHONPATH": str(ROOT), "DASK_LOGGING__DISTRIBUTED": "critical"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            env={**os.environ, **own},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def workers(self):
        """Processes that measure, youngest last."""
        return running(children(self.process.pid))

    def kill(self):
        self.process.kill()
        self.process.communicate()

    def finish(self):
        """Wait for the end; False where a cluster lost its last worker, and the call goes on."""
        _, errors = self.process.communicate()
        lost = b"must have a worker, none is left" in errors
        assert lost or self.process.returncode == 0, errors.decode()
        return not lost


def children(pid):
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    found = {int(pid) for pid in _read(listed).split()}
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        found |= {int(pid) for pid in _read(thread).split()}
    return sorted(found)


def _read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def count(store):
    """Rows so far, of all files that are there; behind the first line of each."""
    return sum(file.read_bytes().count(b"\n") - 1 for file in store.glob("rows-*"))


def kill_drivers(store, rng, times, **options):
    """Kill a driver at random moments of its life, start the next one, and let the last finish."""
    longest = options.pop("longest")
    for _ in range(times):
        driver = Driver(store, **options)
        try:
            driver.process.wait(rng.uniform(0.1, longest))
        except subprocess.TimeoutExpired:
            driver.kill()
        else:
            driver.finish()
    Driver(store, **options).finish()


def kill_workers(store, rng, times, **options):
    """Kill workers of one driver; a driver that finishes too early is restarted from scratch.

    A point whose process dies three times is given up, and the first point of a new machine may
    wait for code to be compiled. So no third kill comes before a row.
    """
    driver = Driver(store, **options)
    killed, seen, idle = 0, None, False
    while killed < times:
        if driver.process.poll() is not None:
            driver = Driver(store, **options, resume=not driver.finish())
            seen, idle = None, False
        now = count(store)
        running = driver.workers()
        waiting = now == seen and (idle or rng.random() < 0.98)
        if not now or not running or waiting:
            time.sleep(0.01)
            continue
        idle = now == seen
        time.sleep(rng.uniform(0, 0.2))
        try:
            os.kill(rng.choice(running), signal.SIGKILL)
        except ProcessLookupError:
            continue
        killed += 1
        # Rows that came before the kill are kept by the time that new processes are started.
        while driver.process.poll() is None and not set(driver.workers()) - set(running):
            time.sleep(0.01)
        seen = count(store)
    while not driver.finish():
        driver = Driver(store, **options)


def running(pids):
    """Which of the processes are workers, of loky or of Dask, and still there."""
    worker = re.compile(b"popen_loky|spawn_main")
    return [pid for pid in pids if worker.search(_read(Path(f"/proc/{pid}/cmdline")))]


def wait_for(condition):
    """Wait until something holds, however slow the machine is."""
    while not condition():
        time.sleep(0.02)
