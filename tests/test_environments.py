"""Processes of other kinds: forked while a thread works, from a zip file, with other switches."""

import os
import shutil
import zipfile
from pathlib import Path

import pytest

import swingby

PACKAGE = Path(swingby.__file__).parent
START = """
import os, signal, threading, time
import numpy as np
if RAISE:
    np.seterr(all="raise")
import swingby
task, W0 = swingby.SIMTask.from_signal([2.0, 1.0]), 1e-3 * (np.eye(2) + 0.3)
tiny = [[1e-310, 1e-312], [1e-312, 1e-311]]
"""
CALLS = """
print(swingby.predict(task, W0, eta=0.05, dynamics="gd"))
print(swingby.compare(task, tiny, eta=0.05, dynamics="euler"))
print(swingby.simulate(task, W0, eta=1e-4, steps=200_000, dynamics="gd"))
print(swingby.simulate_batch([2.0, 1.0], W0, 0.05, 300, "gd", omega="1e-320").W)
print(swingby.predict_batch([2.0, 1.0], np.array([W0]), eta=0.1, dynamics="gd").to_frame())
print(swingby.certify(task, W0, eta=0.05, dynamics="gd"))
print(swingby.check(task, "1e-80", "1e-4"))
"""
#: What a child prints that was forked while another thread was at work.
FORKED = """
busy = threading.Thread(target=at_work, daemon=True)
busy.start()
begun.wait()
child = os.fork()
if not child:
    import flint, mpmath
    signal.alarm(100)
    work()
    print(flint.ctx.prec, mpmath.mp.dps, busy.is_alive(), flush=True)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
os._exit(0)
"""
#: A thread in the middle of a certificate, and one that compiles.
CERTIFIES = """
import mpmath, swingby.theory.balls as balls
begun = threading.Event()
def at_work():
    with balls.precision(200), mpmath.workdps(60):
        begun.set()
        time.sleep(1000)
def work():
    swingby.certify(task, W0, eta=0.05, dynamics="gd")
"""
COMPILES = """
import numba, swingby.simulate.lanes.tiles
begun = threading.Event()
def work():
    swingby.simulate_batch([2.0, 1.0], W0, 0.05, 300, "gd")
def at_work():
    threading.Timer(0.3, begun.set).start()
    work()
"""
linux = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")


@pytest.fixture(scope="module")
def expected(fresh):
    """What the calls print in a process of the usual kind."""
    return fresh(f"RAISE = False\n{START}{CALLS}")


@pytest.mark.parametrize("raises", [False, True])
def test_switches_of_numba_and_numpy_change_no_number(raises, expected, fresh, monkeypatch):
    if not raises:
        monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
        monkeypatch.setenv("PYTHONOPTIMIZE", "2")
    assert fresh(f"RAISE = {raises}\n{START}{CALLS}") == expected


def test_the_package_runs_from_a_zip_file(expected, fresh, tmp_path):
    """Proof files, the export of witnesses and the doctor read the package too."""
    path = tmp_path / "swingby.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(PACKAGE.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                archive.write(file, Path("swingby") / file.relative_to(PACKAGE))
    own = tmp_path / "own.proof"
    shutil.copy(PACKAGE / "proofs" / "language" / "texts" / "suppression.proof", own)
    more = f"""
assert ".zip" in swingby.__file__
ledger = swingby.audit(["D.61"], proof={str(own)!r}, cache=False, progress=False)
print(ledger[0].verdict, *ledger.export({str(tmp_path / "out")!r}), sep="; ")
"""
    head = f"import sys; sys.path.insert(0, {str(path)!r}); RAISE = False\n{START}"
    printed = fresh(f"{head}{CALLS}{more}")
    assert printed.startswith(f"{expected}\nrefuted; ")
    assert (tmp_path / "out" / "check.py").read_text("utf-8") == (
        PACKAGE / "proofs" / "checkers" / "check_witness.py"
    ).read_text("utf-8")


@linux
@pytest.mark.parametrize("what", [CERTIFIES, COMPILES], ids=["certifies", "compiles"])
def test_a_child_forked_while_a_thread_works_does_not_wait_for_it(what, fresh, monkeypatch):
    """A thread that certifies holds flint's precision, one that compiles holds numba's lock."""
    monkeypatch.setenv("SWINGBY_CACHE", "off")
    quiet = "import warnings; warnings.simplefilter('ignore')\n"
    printed = fresh(f"RAISE = False\n{START}{quiet}{what}{FORKED}")
    assert printed.splitlines() == ["53 15 False", "0"]
