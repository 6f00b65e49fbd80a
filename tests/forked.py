"""Runs of pytest in forks of one process, which has the libraries loaded and swingby not.

Starting Python and loading numpy, scipy, sympy and numba takes two seconds, which a run against
another copy of the package need not spend again. Each run is a process of its own, in a session of
its own: swingby comes from the folder that is named, and nothing that a run does outlives it.

The server reads a line of JSON per run from its standard input, and answers with the exit code.
"""

import contextlib
import functools
import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path

#: Whether everything is tried (make test-full), and not a sample of it.
FULL = os.environ.get("SWINGBY_HYPOTHESIS_PROFILE") == "full"
#: Runs against seeded bugs draw no samples: a bug is caught with each commit, or with none.
WHOLE = FULL or "SWINGBY_NO_SAMPLES" in os.environ


@functools.cache
def turn():
    """A number that another commit changes: it says what a sample of long lists consists of."""
    command = ["git", "rev-parse", "--verify", "--quiet", "HEAD"]
    head = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True).stdout
    return int(head.strip() or "0", 16)


def sample(values, every=3):
    """Every third of a list, or every so many, others with each commit."""
    every = 1 if WHOLE else min(every, len(values))
    return list(values)[turn() % every :: every]


#: What most tests load. None of it starts a thread that a fork would miss.
LIBRARIES = (
    *("pytest", "_pytest.doctest", "_pytest.pytester", "click.testing", "hypothesis.strategies"),
    *("_hypothesis_pytestplugin", "flint", "lark", "mpmath", "multiprocessing.spawn"),
    *("numba", "numpy.testing", "pandas", "rich.console", "rich.table", "scipy.integrate"),
    *("scipy.linalg", "scipy.optimize", "scipy.special", "scipy.stats", "sympy"),
    *("sympy.combinatorics", "sympy.tensor.functions"),
)
#: Found by pytest where they are installed; here they are named, as a fork looks for none.
PLUGINS = ("-p", "_hypothesis_pytestplugin", "-p", "swingby.testing.pytest_plugin")


@contextmanager
def forks(folder):
    """``run(arguments, cwd, path, seconds=200)``: pytest in `cwd`, with `path` first in sys.path.

    It gives the exit code and the texts of standard output and error. The code is negative where a
    signal ended the run, which happens after so many seconds of processor time, or ten times as
    many on the clock. `folder` is where the server lives.
    """
    environment = {
        **os.environ,
        "OPENBLAS_NUM_THREADS": "1",
        "PY_COLORS": "0",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "SWINGBY_NO_SAMPLES": "1",
    }
    # A seeded bug is to be noticed by as many examples as the profile of its own says.
    profiles = ("HYPOTHESIS_PROFILE", "SWINGBY_HYPOTHESIS_PROFILE")
    for name in (*profiles, "NUMBA_CACHE_DIR", "PYTEST_ADDOPTS", "PYTHONPATH"):
        environment.pop(name, None)
    printed = Path(folder) / "stdout", Path(folder) / "stderr"
    with subprocess.Popen(
        [sys.executable, "-P", __file__, *printed],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=folder,
        env=environment,
        text=True,
    ) as server:

        def run(arguments, cwd, path, seconds=200):
            order = [list(map(str, arguments)), str(cwd), str(path), seconds]
            print(json.dumps(order), file=server.stdin, flush=True)
            code = int(server.stdout.readline())
            return code, *(one.read_text(encoding="utf-8", errors="replace") for one in printed)

        yield run


def serve(stdout, stderr):
    """Run what is asked for, one after the other, until standard input ends."""
    from _pytest.config import default_plugins

    for name in (*LIBRARIES, *(f"_pytest.{one}" for one in default_plugins)):
        importlib.import_module(name)
    # Not everywhere installed. Loading it starts no thread, and costs each fork two seconds.
    with contextlib.suppress(ImportError):
        importlib.import_module("torch")
    # What numba sets up before it compiles or loads anything.
    importlib.import_module("numba").njit("f8(f8)")(lambda x: x)
    assert not any(name.partition(".")[0] == "swingby" for name in sys.modules)
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            code = 3
            try:
                code = run_here(stdout, stderr, *json.loads(line))
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        _, status = os.waitpid(child, 0)
        # What the run has started and left behind.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def run_here(stdout, stderr, arguments, cwd, path, seconds):
    """The exit code of pytest in this process."""
    import pytest

    os.setsid()
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(10 * seconds)
    for number, place in enumerate((os.devnull, stdout, stderr)):
        mode = os.O_WRONLY | os.O_CREAT | os.O_TRUNC if number else os.O_RDONLY
        os.dup2(os.open(place, mode), number)
    os.chdir(cwd)
    os.environ["PYTHONPATH"] = path
    # The order of ``python -m pytest``.
    sys.path[:0] = [cwd, path]
    sys.argv = ["pytest", *arguments]
    return int(pytest.main([*PLUGINS, *arguments]))


def pytest_collection_modifyitems(items):
    """As a plugin (``-p tests.forked``): of tests that differ in parameters alone, one."""
    items[:] = {item.nodeid.partition("[")[0]: item for item in reversed(items)}.values()


if __name__ == "__main__":
    serve(*sys.argv[1:])
