"""Files appear whole or not at all."""

import os
import stat

import numpy as np
import pytest

from swingby.errors import InvalidInput
from swingby.report.files import whole, write_arrays, write_text
from swingby.theory.input_files import read_sealed


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, OSError("disk full")])
def test_after_an_error_the_old_file_stands_alone(tmp_path, error):
    path = tmp_path / "table.csv"
    path.write_text("old")

    def write():
        with whole(path) as target:
            assert target != path
            assert target.suffix == ".csv"
            target.write_text("half a")
            raise error

    with pytest.raises((KeyboardInterrupt, InvalidInput)):
        write()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_stood_there_keeps_its_mode_and_its_link(tmp_path):
    path, link = tmp_path / "a.txt", tmp_path / "b.txt"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_text(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text(path, "through")
        assert path.is_fifo()
        assert os.read(reader, 100) == b"through\n"
    finally:
        os.close(reader)


@pytest.mark.parametrize("path", [None, 3, b"a", ["a.txt"]])
def test_what_is_no_path_is_named(path):
    with pytest.raises(InvalidInput, match="out must be the path of a file"):
        write_text(path, "")


def test_what_is_wrong_with_the_content_is_no_matter_of_the_path(tmp_path):
    def write():
        with whole(tmp_path / "a.png"):
            raise InvalidInput("panels", "margins", "must be known")

    with pytest.raises(InvalidInput, match=r"^panels must be known, got margins$"):
        write()


def test_arrays_come_back_and_objects_are_refused(tmp_path):
    path = tmp_path / "a.data"
    write_arrays(path, {"format": "a"}, {"x": np.arange(3), "y": np.eye(2)})
    facts, again = read_sealed(path, "path", "arrays")
    assert facts == {"format": "a"}
    assert sorted(again) == ["x", "y"]
    assert again["x"].tolist() == [0, 1, 2]
    with pytest.raises(InvalidInput):
        write_arrays(tmp_path / "c", {}, {"x": np.array([{}])})
    assert not (tmp_path / "c").exists()
