"""The pictures: PDF and PNG of every theory figure, not blank, and readable in grey."""

import json

import numpy as np
import pytest
from matplotlib.image import imread

from swingby.lab.figures import make_figures
from tests.forked import FULL

#: The others are drawn by the same code as these.
NUMBERS = ["5", "8", "9", "10", "17", "18"] if FULL else ["10", "17", "18"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("figures")
    make_figures(place, only=NUMBERS, editions="code", progress=False)
    return place


@pytest.mark.parametrize("number", NUMBERS)
def test_the_picture_is_there_and_not_blank(folder, number):
    assert (folder / f"fig{number}-code.pdf").read_bytes().startswith(b"%PDF-")
    assert (folder / f"fig{number}-code.pdf").stat().st_size > 8000
    picture = imread(folder / f"fig{number}-code.png")[..., :3]
    assert picture.shape[1] >= 1000
    grey = picture @ np.array([0.299, 0.587, 0.114])
    dark = grey < 0.6
    assert 0.005 < dark.mean() < 0.2
    # Something is drawn in every quarter of the page, and nothing but white at its very edge.
    for half in np.array_split(dark, 2):
        assert all(part.any() for part in np.array_split(half, 2, axis=1))
    assert (grey[:, [0, -1]] > 0.9).all()
    assert (grey[[0, -1]] > 0.9).all()


def test_the_same_data_gives_the_same_files_and_all_are_listed(folder, tmp_path):
    make_figures(tmp_path, only="18", editions="code", progress=False)
    for ending in ("png", "pdf"):
        name = f"fig18-code.{ending}"
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()
    content = json.loads((folder / "figures.json").read_text())
    assert [one["figure"] for one in content["figures"]] == NUMBERS
    assert all((folder / name).is_file() for one in content["figures"] for name in one["files"])
