"""Every seeded bug is caught: the named tests pass on the code as it is and fail on the bug."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import swingby

ROOT = Path(__file__).resolve().parents[2]


def _load():
    """The list next to this file; import-mode=importlib leaves no package to import it from."""
    path = Path(__file__).with_name("mutants.py")
    spec = importlib.util.spec_from_file_location("swingby_mutants", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.MUTANTS


MUTANTS = _load()


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Compile what most of the named tests run: a copy without it takes a minute each."""
    for dynamics in ("euler", "gd", "flow"):
        for d in (2, 3):
            task, W0 = swingby.SIMTask.from_signal(list(range(d, 0, -1))), 1e-3 * np.eye(d)
            swingby.simulate(task, W0, 0.05, 300, dynamics)
            point = np.ones(d)
            swingby.simulate_batch(task.signal, W0, 0.05, 300, dynamics, test_point=point)
            swingby.simulate_batch(task.signal, W0, 0.05, 300, dynamics, omega="1e-320")


def _copy(target):
    """Package, tests and settings; compiled code goes along so that nothing is compiled twice."""
    shutil.copytree(ROOT / "swingby", target / "swingby")
    shutil.copytree(
        ROOT / "tests", target / "tests", ignore=shutil.ignore_patterns("mutants", "__pycache__")
    )
    shutil.copy(ROOT / "pyproject.toml", target)


def _run(target, tests):
    """The exit code of pytest on some node ids, and the end of what it printed."""
    environment = {**os.environ, "PYTHONPATH": str(target), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("NUMBA_CACHE_DIR", None)
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(
        command,
        cwd=target,
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    return done.returncode, done.stdout[-2000:] + done.stderr[-2000:]


def test_the_list_is_long_and_every_bug_is_another_one():
    assert len(MUTANTS) >= 40
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in MUTANTS}) == len(MUTANTS)
    for mutant in MUTANTS:
        assert mutant.tests
        assert mutant.old != mutant.new


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_place_of_every_bug_exists_once(mutant):
    assert (ROOT / "swingby" / mutant.file).read_text(encoding="utf-8").count(mutant.old) == 1


@pytest.mark.mutants
def test_the_named_tests_pass_on_the_code_as_it_is(tmp_path):
    _copy(tmp_path)
    named = {f"tests/{test}" for mutant in MUTANTS for test in mutant.tests}
    code, output = _run(tmp_path, sorted(named))
    assert code == 0, output


@pytest.mark.mutants
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_seeded_bug_is_caught(mutant, tmp_path):
    if mutant.slow and os.environ.get("SWINGBY_HYPOTHESIS_PROFILE") != "full":
        pytest.skip("takes long to compile; part of make test-full")
    _copy(tmp_path)
    path = tmp_path / "swingby" / mutant.file
    text = path.read_text(encoding="utf-8")
    assert text.count(mutant.old) == 1
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    tests = [f"tests/{test}" for test in mutant.tests]
    code, output = _run(tmp_path, tests)
    assert code == 1, output
