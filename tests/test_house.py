"""The parts of the project may only get smaller; see tests/house.py."""

import pytest

from tests import house


def test_nothing_has_grown_and_the_record_is_up_to_date():
    assert not house.complaints(house.measured(), house.recorded())


def test_what_grows_is_refused_and_what_shrinks_is_recorded(tmp_path):
    folder, table = tmp_path / "swingby" / "part", tmp_path / "house.toml"
    folder.mkdir(parents=True)

    def complaints(lines, files=1):
        (folder / "one.py").write_text("x = 1\n" * lines)
        for number in range(1, files):
            (folder / f"more_{number}.py").write_text("")
        return house.complaints(house.sizes(tmp_path), house.recorded(table))

    table.write_text('"lines of swingby/part" = 100\n"files of swingby/part" = 1\n')
    assert not complaints(100)
    assert not complaints(98)
    (found,) = complaints(97)
    assert house.LOWER in found
    house.write(house.sizes(tmp_path), table)
    assert house.recorded(table)["lines of swingby/part"] == 97
    before = table.read_text()
    assert complaints(98, files=house.LARGE + 1) == [
        "files in swingby/part: 13, recorded are 0",
        "files of swingby/part: 13, recorded are 1",
        "lines of swingby/part: 98, recorded are 97",
    ]
    with pytest.raises(SystemExit, match="may not grow"):
        house.write(house.sizes(tmp_path), table)
    assert table.read_text() == before


def test_a_cycle_is_found():
    assert set(house.cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "f": {"a"}})) == {"a", "b", "c"}
    assert not house.cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()})
