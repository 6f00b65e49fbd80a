"""Every seeded bug is caught: the named tests pass on the code as it is and fail on the bug.

Each bug has a copy of the tree for itself, in which only the file with the bug is another one, and
a process for itself.
"""

from __future__ import annotations

import importlib.util
import shutil
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pytest

from tests.forked import FULL, sample, turn

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Mutant:
    """One wrong edit: `old` occurs exactly once in a file below ``swingby/``.

    `tests`: node ids below ``tests/``; fast, and at least one must fail. Tests that shrink their
    failures are slow here. `says`: words that are printed then. `slow`: compiling what is mutated
    takes long, or its tests train.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    says: str
    slow: bool


def _read(entry):
    """A bug of ``mutants.txt``."""
    name, place, *lines = entry.splitlines()
    file, _, slow = place.partition(" ")
    old, new = (
        "\n".join(line[2:] for line in lines if line.startswith(sign)) for sign in ("-", "+")
    )
    named = [line.strip().partition(" says ") for line in lines if line.startswith("  ")]
    tests, _, says = zip(*named, strict=True)
    return Mutant(name, file, old, new, tests, "".join(says), bool(slow))


def _drawn(mutants):
    """One bug of every fifth file, others with each commit; all in ``make test-full``."""
    place, first = divmod(turn(), 5)
    quick = sorted((one for one in mutants if not one.slow), key=lambda one: one.file)
    groups = [list(group) for _, group in groupby(quick, key=lambda one: one.file)]
    return [group[place % len(group)] for group in groups[first::5]]


LIST = Path(__file__).with_name("mutants.txt").read_text(encoding="utf-8")
MUTANTS = [_read(entry) for entry in LIST.split("\n\n")[1:]]
DRAWN = MUTANTS if FULL else _drawn(MUTANTS)


SUITES = "../docs/examples/"  # tried beside the other tests
pytestmark = pytest.mark.usefixtures("compiled")
TORCH = importlib.util.find_spec("torch") is not None


def _runnable(tests):
    """Node ids: without torch, none of a file that asks for it."""
    files = {test: ROOT / "tests" / test.partition("::")[0] for test in tests}
    return [
        f"tests/{test.removeprefix(SUITES)}"
        for test, file in files.items()
        if TORCH or 'importorskip("torch")' not in file.read_text(encoding="utf-8")
    ]


@pytest.fixture
def run(forked_pytest, tmp_path):
    """The exit code of pytest on some node ids in a copy, and what it printed."""
    # Not in the folder of all others, where looking for a free name takes time.
    temporary = f"--basetemp={tmp_path / 'temporary'}"

    def call(target, tests, *options, profile="as drawn", seconds=200):
        # Nobody reads how a bug was noticed, or looks for its simplest example.
        brief = ("-x", "-q", "--assert=plain", "--tb=short", f"--hypothesis-profile={profile}")
        brief += ("-p", "no:cacheprovider", temporary)
        code, *printed = forked_pytest([*brief, *options, *tests], target, target, seconds)
        return code, "".join(printed)

    return call


def test_the_list_is_long_and_every_bug_is_another_one():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 40
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in MUTANTS}) == len(MUTANTS)
    assert all(mutant.old != mutant.new for mutant in MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_place_of_every_bug_exists_once(mutant):
    assert (ROOT / "swingby" / mutant.file).read_text(encoding="utf-8").count(mutant.old) == 1


@pytest.fixture
def copy(tmp_path, link_tree):
    """A copy of all that tests may read, compiled code too, gone with the test."""
    target = tmp_path / "copy"
    for name in ("swingby", "studies", "tests", "docs", "benchmarks"):
        link_tree(ROOT / name, target / name, ("_build", "generated", "mutants"))
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy2(path, target)
    shutil.copy2(ROOT / "tests" / SUITES / "test_theory.py", target / "tests")
    yield target
    shutil.rmtree(target)


@pytest.mark.mutants
def test_the_named_tests_pass_on_the_code_as_it_is(run, copy):
    """In a copy, where a test may fail for want of a file and so would catch anything."""
    named = {test for mutant in DRAWN for test in _runnable(mutant.tests)}
    if FULL:
        code, output = run(copy, sorted(named), seconds=600)
    else:
        # One test of every third file, once: others pass in the tree, and want the same files.
        some = {test.partition("::")[0]: test for test in sorted(named)}.values()
        code, output = run(copy, sample(some), "-p", "tests.forked", profile="once")
    assert code == 0, output[-4000:]


@pytest.mark.mutants
@pytest.mark.parametrize("mutant", DRAWN, ids=lambda mutant: mutant.name)
def test_a_seeded_bug_is_caught(mutant, run, copy):
    tests = _runnable(mutant.tests)
    if not tests:
        pytest.skip("its tests need torch")
    path = copy / "swingby" / mutant.file
    text = path.read_text(encoding="utf-8")
    assert text.count(mutant.old) == 1
    # A file of its own: the old name stands for the one in the tree.
    path.unlink()
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    code, output = run(copy, tests)
    assert code == 1, output[-4000:]
    assert mutant.says in output
