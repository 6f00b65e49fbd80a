"""The suites in docs/examples, as a user has them: in a folder of their own, without settings."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs/examples"
STANDARD = ("dataclasses", "fractions", "math", "types")
SUITES = sorted(EXAMPLES.glob("test_*.py"))


def test_the_suites_are_there():
    assert [suite.stem for suite in SUITES] == ["test_diagonal_network", "test_theory"]


def test_a_claim_of_ones_own_takes_thirty_lines():
    text = (EXAMPLES / "test_diagonal_network.py").read_text(encoding="utf-8")
    assert sum(bool(line.strip()) for line in text.splitlines()) <= 30


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.stem)
def test_a_suite_imports_nothing_that_a_user_does_not_have(suite):
    tree = ast.parse(suite.read_text(encoding="utf-8"))
    names = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names |= {node.module for node in froms}
    own = {name for name in names if name.split(".")[0] == "swingby"}
    assert names - own <= {
        "dataclasses",
        "fractions",
        "math",
        "types",
        "hypothesis",
        "numpy",
        "pytest",
        "sympy",
    }
    # Of swingby no module or name that is private.
    assert not [name for name in own if "._" in name]
    assert not [alias.name for node in froms for alias in node.names if alias.name.startswith("_")]


# test_docs_suite.py runs the long one on an installed copy.
PASSING = [
    pytest.param(suite, marks=[pytest.mark.full] if suite.stem == "test_theory" else [])
    for suite in SUITES
]


@pytest.mark.slow
@pytest.mark.parametrize("suite", PASSING, ids=lambda suite: suite.stem)
def test_a_suite_passes(suite, tmp_path):
    (tmp_path / suite.name).write_text(suite.read_text(encoding="utf-8"), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("PYTEST_ADDOPTS", None)
    command = [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
