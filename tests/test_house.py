"""The parts of the project may only get smaller; see tests/house.py."""

import pytest

from tests import house


def test_nothing_has_grown_and_the_record_is_up_to_date():
    assert not house.complaints(house.measured(), house.recorded())


@pytest.fixture
def tree(tmp_path):
    """A small project of its own with its record."""
    (tmp_path / "swingby" / "part").mkdir(parents=True)
    (tmp_path / "swingby" / "part" / "one.py").write_text("x = 1\n" * 100)
    table = tmp_path / "house.toml"
    house.write(house.sizes(tmp_path), table)
    return tmp_path, table


def test_a_line_or_a_file_more_is_refused_and_not_written(tree):
    root, table = tree
    assert not house.complaints(house.sizes(root), house.recorded(table))
    before = table.read_text()
    (root / "swingby" / "part" / "two.py").write_text("y = 1\n")
    found = house.complaints(house.sizes(root), house.recorded(table))
    assert found == [
        "files of swingby/part: 2, recorded are 1",
        "lines of swingby/part: 101, recorded are 100",
    ]
    with pytest.raises(SystemExit, match="may not grow"):
        house.write(house.sizes(root), table)
    assert table.read_text() == before


@pytest.mark.parametrize(("lines", "stale"), [(98, False), (97, True)])
def test_much_less_has_to_be_recorded(tree, lines, stale):
    root, table = tree
    (root / "swingby" / "part" / "one.py").write_text("x = 1\n" * lines)
    found = house.complaints(house.sizes(root), house.recorded(table))
    assert bool(found) == stale
    assert not stale or house.LOWER in found[0]
    house.write(house.sizes(root), table)
    assert house.recorded(table)["lines of swingby/part"] == lines


def test_a_folder_may_not_become_a_large_one(tree):
    root, table = tree
    for number in range(house.LARGE):
        (root / "swingby" / "part" / f"more_{number}.py").write_text("")
    found = house.complaints(house.sizes(root), house.recorded(table))
    assert "files in swingby/part: 13, recorded are 0" in found


def test_cycles_are_found_once_each():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"e"}, "e": {"d"}, "f": {"a", "f"}}
    assert sorted(map(sorted, house.cycles(graph))) == [["a", "b", "c"], ["d", "e"]]
