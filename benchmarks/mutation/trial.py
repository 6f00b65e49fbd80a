"""Try changes: change the file in a copy of the project, run the tests, put it back."""

from __future__ import annotations

import importlib
import io
import json
import os
import shutil
import signal
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.mutation.changes import ROOT, Change, fingerprint, modules, sample
from benchmarks.mutation.reach import SECONDS, STORE, Reach

#: Times their own duration that the tests of one change may take; more counts as noticed, as in
#: cosmic-ray.
PATIENCE = 4
#: Modules that many tests need, loaded once before the processes part.
WARM = ("numpy", "scipy.special", "sympy", "mpmath", "flint", "pandas", "hypothesis", "pytest")
RESULTS = "results.jsonl"
#: A second chance takes up to so many seconds of tests.
AGAIN_SECONDS = 300


def score(number: int, seed: int, only: str, share: tuple[int, int]) -> None:
    """Try the sampled changes that have no result yet.

    Parameters
    ----------
    number : int
        Changes per module.
    seed : int
    only : str
        Part of a path.
    share : (int, int)
        This process tries every second, if (0, 2) or (1, 2).
    """
    _prepare(share[0])
    reach, done = Reach(), {row["key"] for row in results()}
    sound: set[str] = set()
    for turn, change in enumerate(sample(number, seed, only)):
        if turn % share[1] != share[0] or change.key in done:
            continue
        tests = reach.tests(change.module, change.line)
        if change.module not in sound:
            # A suite that fails on the code as it is would notice every change.
            if not _survives(replace(change, after=change.before), tests):
                raise SystemExit(f"the tests of {change.module} fail on the code as it is")
            sound.add(change.module)
        _keep(change, tests)


def again(number: int, seed: int, only: str, share: tuple[int, int]) -> None:
    """Try the survivors once more, with every test that reaches them. Takes what `score` takes."""
    _prepare(share[0])
    reach = Reach()
    survivors = {row["key"] for row in results() if row["survived"]}
    for turn, change in enumerate(c for c in sample(number, seed, only) if c.key in survivors):
        if turn % share[1] == share[0]:
            tests = reach.tests(change.module, change.line, AGAIN_SECONDS)
            _keep(change, tests, AGAIN_SECONDS)


def results() -> list[dict[str, Any]]:
    """The last result of every change tried on the modules as they are."""
    path = STORE / RESULTS
    if not path.exists():
        return []
    now = {module: fingerprint((ROOT / module).read_text(encoding="utf-8")) for module in modules()}
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return list({row["key"]: row for row in rows if now.get(row["module"]) == row["code"]}.values())


def _keep(change: Change, tests: list[str], limit: int = SECONDS) -> None:
    start = time.perf_counter()
    survived = not tests or _survives(change, tests, limit)
    row = asdict(change) | {"key": change.key, "shown": change.shown, "survived": survived}
    row |= {"code": fingerprint(change.before), "tests": len(tests)}
    row["seconds"] = round(time.perf_counter() - start, 1)
    del row["before"], row["after"]
    with open(STORE / RESULTS, "a", encoding="utf-8") as kept:
        kept.write(json.dumps(row) + "\n")
    state = "survived" if survived else "noticed "
    print(f"{state} {row['seconds']:6.1f} s  {change.module}:{change.line}  {row['shown']}")


def _prepare(number: int) -> None:
    """Work in a fresh copy of the project: files are changed in it."""
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    place = STORE / f"copy{number}"
    shutil.rmtree(place, ignore_errors=True)
    for name in ("swingby", "tests", "docs", "benchmarks"):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("_build"))
    for path in ROOT.glob("*.*"):
        if path.is_file():
            shutil.copy2(path, place)
    os.environ |= {"PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.path.insert(0, str(place))
    for name in WARM:
        importlib.import_module(name)
    os.chdir(place)


def _survives(change: Change, tests: list[str], limit: int = SECONDS) -> bool:
    """Whether all these tests pass on a change, in a process of its own.

    The file itself is changed and put back: tests that run commands, and doctests, read it.
    """
    path = Path(change.module)
    times = path.stat()
    path.write_text(change.after, encoding="utf-8")
    try:
        child = os.fork()
        if not child:
            _run_tests(tests, limit)
        _, status = os.waitpid(child, 0)
    finally:
        path.write_text(change.before, encoding="utf-8")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    return os.waitstatus_to_exitcode(status) == 0


def _run_tests(tests: list[str], limit: int) -> None:
    """Ends the process: with 0 where all tests pass."""
    signal.alarm(PATIENCE * limit)
    sys.dont_write_bytecode = True
    import pytest

    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:cov", "-p", "no:xdist"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        code = pytest.main([*options, *tests])
    os._exit(0 if code == 0 else 1)
