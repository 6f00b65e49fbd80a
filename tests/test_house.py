"""The rules of the house hold, and each of them can be broken; see tests/house.py."""

import re
from pathlib import Path

import pytest

from tests import house


def test_every_rule_is_kept():
    assert not house.complaints()


def test_every_folder_belongs_to_a_ring():
    folders = {path.parts[0] for path in house.sources() if len(path.parts) > 1}
    assert folders == {folder for ring in house.RINGS.values() for folder in ring}


GOOD = {
    "theory/task.py": "class Task:\n    size = 1\n",
    "lab/task.py": "class Task:\n    size = 2\n",
}


def tree(root, files):
    for name, text in files.items():
        path = Path(root, "swingby", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, None),
        ({"theory/growth.py": "rate = 2\n" * 7}, None),
        ({"verify/check.py": "class Task:\n    pass\n"}, "Task occurs 2 times in core"),
        ({"verify/task.py": "size = 1\n"}, "task.py occurs 2 times in core"),
        ({"verify/check.py": "one = 1\n"}, r"1 of 3 assignments \(33.3%\)"),
        ({"verify/check.py": "size = 1\n" * 98 + "kept, b = 1, 2\n"}, None),
        ({"verify/check.py": "x = 1\n" * house.BUDGET}, f"the budget is {house.BUDGET}"),
        ({"proofs/texts/long.proof": "#\n" * house.BUDGET}, f"the budget is {house.BUDGET}"),
    ],
    ids=[
        "two rings may share a name",
        "seven lines may be added",
        "a class twice in a ring",
        "a file twice in a ring",
        "a vague name",
        "one vague name in a hundred",
        "too many lines",
        "too many lines of proofs",
    ],
)
def test_a_broken_rule_is_named(tmp_path, files, words):
    complaints = house.complaints(tree(tmp_path, GOOD | files), graph={})
    assert len(complaints) == (words is not None)
    if words is not None:
        assert re.search(words, complaints[0])


def test_a_cycle_is_named(tmp_path):
    (complaint,) = house.complaints(tree(tmp_path, GOOD), graph={"a": {"b"}, "b": {"a"}})
    assert "modules import each other" in complaint


def test_a_cycle_is_found():
    assert set(house.cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "f": {"a"}})) == {"a", "b", "c"}
    assert not house.cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()})
