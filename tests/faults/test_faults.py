"""Whatever breaks a command: no verdict, one line, and older files as they were.

Each command runs once as it is, which counts its calls of open, write, fsync, rename, mkdir and
their kin below its folder, or those of malloc, calloc, realloc and mmap. It then runs again, and
another of these calls fails each time, or a signal comes at one.
"""

import errno
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forked import FULL, sample

HERE = Path(__file__).parent
COMPILER = shutil.which("cc") or shutil.which("gcc")
#: What happens at a call, at most how often with each command, and whether it asks for memory.
WRITES = ((errno.ENOSPC, errno.EIO, errno.EACCES), 100_000 if FULL else 6, False)
MEMORY = ((errno.ENOMEM,), 300 if FULL else 5, True)
#: Calls for memory come at all times.
SIGNALS = ((-signal.SIGINT, -signal.SIGTERM, -signal.SIGKILL), 150 if FULL else 3, True)

SCALE = "--signal 4,1 --eta 0.01 --omega 1e-3"
CERTIFIED = "--signal 4,1 --eta 1/100 --w0 '2e-3,1e-3;1e-3,2e-3' --steps 20"
TRAINED = "--mu 1,2 --sigma 0.1,0.1 --dim 3 --points-per-class 8 --steps 60"
INPUTS = {"grid.toml": "signal = [[4, 1]]\nomega = [1e-2]\neta = 0.1\nseeds = 1\n"}
SWEPT = "sweep grid.toml --out s --workers 0"
#: As typed; x.* is there before, and ! marks what is left to the full profile.
COMMANDS = (
    f"check {SCALE} --out x.md",
    f"simulate {SCALE} --steps 20 --out x.npz",
    f"table {SCALE} --steps 900 --out x.parquet",
    f"certify {CERTIFIED} --out x.json",
    "audit --item D.27 --out x.html",
    "! audit --item D.27 --graph x.png",
    "! audit --item D.61 --export folder",
    f"{SWEPT} --export x.csv",
    "! figures --only 5 --out folder",
    "evidence --source images --out x.json",
    f"! train {TRAINED} --checkpoint folder --out x.npz --plot y.png",
    "! vectors --mu 1,2 --sigma 0.05,0.05 --eta 0.05 --steps 5 --out x.json",
    "! diffusion plan --out y.toml",
)
OLDER = hashlib.sha256(b"an older file\n").hexdigest()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A driver with the shim loaded; it answers a command with its runs."""
    if not COMPILER or sys.platform != "linux":
        pytest.skip("needs a C compiler and Linux")
    shim = tmp_path_factory.mktemp("shim") / "calls.so"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", shim, HERE / "calls.c", "-ldl"], check=True)
    environment = {
        **os.environ,
        "LD_PRELOAD": str(shim),
        "MPLBACKEND": "Agg",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(HERE.parents[1]),
    }
    command = [sys.executable, "-P", HERE / "driver.py"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as driver:

        def ask(words, older, happens):
            asked = {"words": words, "older": older, "inputs": INPUTS}
            asked |= zip(("errors", "most", "memory"), happens, strict=True)
            driver.stdin.write(json.dumps(asked) + "\n")
            driver.stdin.flush()
            return [unnamed(one) for one in json.loads(driver.stdout.readline())]

        yield ask
        driver.stdin.close()


each_command = pytest.mark.parametrize(
    "line",
    [
        *sample([one for one in COMMANDS if one[0] != "!"], 2),
        *(pytest.param(one[2:], marks=pytest.mark.full) for one in COMMANDS if one[0] == "!"),
    ],
)


def split(line):
    """The words of a command, and the files that are there before it."""
    if line.startswith(("train", "vectors")):
        pytest.importorskip("torch")
    words = shlex.split(line)
    return words, [word for word in words if word.startswith("x.")]


def unnamed(one):
    """A run, with chunks of a store without the digests of their bytes, which say when it was."""
    files = {re.sub("rows-[0-9a-f]{64}", "rows", name): one["files"][name] for name in one["files"]}
    return {**one, "files": files}


def complete(one, whole):
    """All files are there but for caches, and all are new."""
    made = all(name in one["files"] for name in whole["files"] if "cache" not in name)
    return made and OLDER not in one["files"].values()


def torn(one, whole, older, others):
    """Files that are neither as before nor as after, but for endings whose bytes may differ."""
    known = {name: (OLDER, whole["files"][name]) for name in older if not name.endswith(others)}
    return [name for name in known if one["files"].get(name) not in known[name]]


@each_command
def test_a_call_that_fails(run, line):
    words, older = split(line)
    whole, *broken = run(words, older, WRITES)
    assert whole["code"] in (0, 1, 3), whole
    assert whole["calls"] > 2
    assert all(whole["files"][name] != OLDER for name in older)
    for one in broken:
        if one["code"] == whole["code"]:  # what failed was a cache, or could be done without
            assert complete(one, whole), one
        else:
            assert one["code"] in (2, 5), one
            assert "Traceback" not in one["err"], one
            assert one["err"].splitlines()[-1].startswith("swingby: "), one
        assert not torn(one, whole, older, (".npz",)), one
        assert not {*one["files"]} - {*whole["files"]} or "--graph" in line, one


def answer(one):
    """What was printed, but for the folder, how fast it was, and a line of HiGHS itself."""
    return re.sub(r"/\S*faults\w+|[\d.,]+ per second|Highs.* std::bad_alloc\n", "", one["out"])


@each_command
def test_memory_that_is_refused(run, line):
    words, older = split(line)
    whole, *broken = run(words, older, MEMORY)
    assert whole["code"] in (0, 1, 3), whole
    assert whole["calls"] > 100
    for one in broken:
        if one["code"] == whole["code"]:  # it was asked for again, or not needed
            assert answer(one) == answer(whole), one
            assert complete(one, whole), one
        elif one["code"] == 1:  # a library gave another error than MemoryError
            assert "0 done, 1 failed" in one["out"], one
        elif one["code"] > 0:  # Python may add what it could not tidy up
            assert one["code"] in (2, 5), one
            assert "swingby: " in one["err"], one
        else:  # GMP, LLVM and others end the process themselves
            assert -one["code"] in (signal.SIGABRT, signal.SIGSEGV), one
        assert one["code"] == 1 or not torn(one, whole, older, (".npz", ".png", ".html")), one


@each_command
def test_a_signal(run, line):
    words, older = split(line)
    whole, *broken = run(words, older, SIGNALS)
    for one in broken:
        sent = signal.Signals(-one["error"])
        if one["code"] == whole["code"]:  # the answer was there
            assert answer(one) == answer(whole), one
        elif sent == signal.SIGINT:
            assert one["code"] == 130, one
            assert "swingby: interrupted" in one["err"], one
        else:
            assert one["code"] in (-sent, 128 + sent), one
        assert not torn(one, whole, older, (".npz", ".png", ".html")), one
