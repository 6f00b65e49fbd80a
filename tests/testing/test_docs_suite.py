"""The suites in docs/examples pass as a user has them, in a folder of their own.

That the long one notices a theory with one wrong line, and names what broke, is seen by the seeded
bugs of tests/mutants.
"""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import swingby
from tests.forked import FULL, sample

ROOT = Path(__file__).resolve().parents[2]
SUITE = ROOT / "docs/examples/test_theory.py"
SUITES = sorted(SUITE.parent.glob("test_*.py"))

METADATA = f"Metadata-Version: 2.1\nName: swingby\nVersion: {swingby.__version__}\n"
ENTRY_POINTS = "[pytest11]\nswingby = swingby.testing.pytest_plugin\n"


def test_the_suites_are_there():
    assert [suite.stem for suite in SUITES] == ["test_diagonal_network", "test_theory"]


def test_a_claim_of_ones_own_takes_thirty_lines():
    text = (SUITE.parent / "test_diagonal_network.py").read_text(encoding="utf-8")
    assert sum(bool(line.strip()) for line in text.splitlines()) <= 30


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.stem)
def test_a_suite_imports_nothing_that_a_user_does_not_have(suite):
    found = list(ast.walk(ast.parse(suite.read_text(encoding="utf-8"))))
    froms = [node for node in found if isinstance(node, ast.ImportFrom)]
    plain = [alias.name for node in found if isinstance(node, ast.Import) for alias in node.names]
    names = {*plain, *(node.module for node in froms)}
    own = {name for name in names if name.split(".")[0] == "swingby"}
    standard = {"dataclasses", "fractions", "math", "types"}
    assert names - own <= {*standard, "hypothesis", "numpy", "pytest", "scipy.integrate", "sympy"}
    # Of swingby no module or name that is private.
    assert not [name for name in own if "._" in name]
    assert not [alias.name for node in froms for alias in node.names if alias.name.startswith("_")]


# Late like the seeded bugs: most is compiled by then.
@pytest.mark.mutants
def test_the_suites_pass_on_an_installed_copy(tmp_path, compiled, link_tree):
    """A copy with the metadata of an installed one, which has the plugin without naming it.

    In a folder that holds the suites, and how many examples are drawn. ``make wheel`` tries others.
    """
    installed, folder = tmp_path / "installed", tmp_path / "empty"
    link_tree(ROOT / "swingby", installed / "swingby")
    described = installed / f"swingby-{swingby.__version__}.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(METADATA, encoding="utf-8")
    (described / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
    folder.mkdir()
    for suite in SUITES:
        shutil.copy(suite, folder)
    profile = f'settings.register_profile("few", max_examples={100 if FULL else 5})\n'
    text = f'from hypothesis import settings\n{profile}settings.load_profile("few")\n'
    (folder / "conftest.py").write_text(text, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    for name in ("PYTEST_ADDOPTS", "NUMBA_CACHE_DIR", "HYPOTHESIS_PROFILE"):
        environment.pop(name, None)
    asked = [suite.name for suite in SUITES]
    if not FULL:  # of the long one every fifth test, others with each commit
        parts = ast.parse(SUITE.read_text(encoding="utf-8")).body
        names = [one.name for one in parts if getattr(one, "name", "").startswith("test_")]
        asked[1:] = [f"{SUITE.name}::{name}" for name in sample(names, 5)]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=short", "-p", "no:cacheprovider"]
    command += ["-rp", "--ledger-item=D.62", *asked]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    assert "PASSED ledger::D.62" in done.stdout
    assert "PASSED test_diagonal_network.py" in done.stdout
    assert f"PASSED {SUITE.name}" in done.stdout
