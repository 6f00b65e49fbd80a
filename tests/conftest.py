"""Hypothesis profiles, the order of the tests, and what tests of all folders use.

Properties have no deadline, and by default the same examples on every machine.
"""

import contextlib
import gc
import math
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.forked import forks, sample

# A shell ignores Ctrl-C for what it starts in the background, and processes below inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Threads of torch and BLAS wait for each other where other tests hold the processors. Read once,
# when the libraries are loaded.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

settings.register_profile(
    "default",
    deadline=None,
    derandomize=True,
    max_examples=20,
    suppress_health_check=[HealthCheck.too_slow],
)
# So many that the whole of `make test-full` takes less than 90 minutes on two cores.
# With SWINGBY_HYPOTHESIS_SEED, they are those of a seed of one's own: make test-full SEED=7.
settings.register_profile(
    "full",
    parent=settings.get_profile("default"),
    max_examples=400,
    derandomize="SWINGBY_HYPOTHESIS_SEED" not in os.environ,
    database=None,
)
# For seeded bugs. A failure is shown as drawn: looking for a smaller one takes time.
AS_DRAWN = {"parent": settings.get_profile("default"), "phases": (Phase.explicit, Phase.generate)}
settings.register_profile("as drawn", max_examples=40, **AS_DRAWN)
settings.register_profile("once", max_examples=1, **AS_DRAWN)
PROFILE = os.environ.get("SWINGBY_HYPOTHESIS_PROFILE", "default")
settings.load_profile(PROFILE)
IN_TURN = tuple(Path(__file__).with_name("data").joinpath("in_turn.txt").read_text().splitlines())


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is loaded and collected stays: it is not searched for garbage again and again."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items):
    """Seeded bugs come last: their copies of the tree use what has been compiled by then.

    They are many and short, so that no worker is left alone with a long test at the end.
    """
    if PROFILE != "full":
        listed = [item for item in items if item.nodeid.startswith(IN_TURN)]
        later = {*listed} - {*(sample(listed) if len(items) > 2000 else listed)}
        for item in items:
            if item in later or item.get_closest_marker("full"):
                item.add_marker(pytest.mark.skip(reason="part of make test-full"))
    items.sort(key=lambda item: item.get_closest_marker("mutants") is not None)


@pytest.fixture(autouse=True)
def _no_figures_left():
    """pyplot holds every figure that ``plot()`` makes, and warns of more than twenty."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(autouse=True, scope="session")
def _no_line_says_how_slow_the_machine_is():
    """Lines of progress come every few seconds, so that only slow machines show them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("swingby.report.progress.EVERY", math.inf)
        yield


@pytest.fixture
def refused(capsys):
    """``refused(arguments)``: a command ends with 2 and prints one line, which is returned."""
    from swingby import cli

    def call(arguments):
        capsys.readouterr()
        assert cli.run(arguments) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("swingby: ")
        assert err.count("\n") == 1
        return err

    return call


@pytest.fixture
def bomb(tmp_path):
    """An object to be pickled; afterwards, nobody may have unpickled it."""
    mark = tmp_path.with_name(f"{tmp_path.name} exploded")

    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(mark),)

    yield Bomb()
    assert not mark.exists()


@pytest.fixture(scope="session")
def fresh():
    """``fresh(code)``: what a new process prints."""
    import swingby

    path = str(Path(swingby.__file__).parents[1])

    def call(code, cwd=None):
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return call


@pytest.fixture(scope="session")
def verdict(request):
    """``verdict(claim)``, kept by pytest until the claim or a line of the provers changes.

    Another judge has a folder of its own. What is undecided may have been out of time, and seeded
    bugs run without what pytest keeps.
    """
    from swingby.proofs.audit import cache
    from swingby.proofs.prover import prove as prover
    from swingby.theory.verdict import Finding

    held = getattr(request.config, "cache", None)

    def call(claim, judge=prover.decide, folder="verdicts"):
        if held is None:
            return judge(claim)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_CACHE_HOME", str(held.mkdir(folder)))
            known = cache.load(claim)
            if known is None:
                known = judge(claim), 0.0
                if known[0].verdict != Finding.UNDECIDED:
                    cache.store(claim, *known)
            return known[0]

    return call


@pytest.fixture(scope="session")
def forked_pytest(tmp_path_factory):
    """Run pytest in a process of its own, see ``forked.py``."""
    with forks(tmp_path_factory.mktemp("forked")) as run:
        yield run


@pytest.fixture(scope="session")
def compiled():
    """Compile what most tests run: each copy of the tree without it takes a minute."""
    from swingby.verify.compiled_ahead import compile_batches, compile_runs

    compile_runs()
    compile_batches()


@pytest.fixture(scope="session")
def link_tree():
    """``link_tree(source, target, ignored=())``: a second name for each file of a folder.

    Where there can be none, the file is copied. Either way it is as old as it was: numba and
    Python know compiled code by that.
    """

    def link(source, target):
        with contextlib.suppress(OSError):
            os.link(source, target)
            return
        shutil.copy2(source, target)

    def call(source, target, ignored=()):
        # Other processes rename files of this kind while they compile.
        ignore = shutil.ignore_patterns("*.tmp.*", "*.pyc.*", *ignored)
        shutil.copytree(source, target, copy_function=link, ignore=ignore)

    return call
