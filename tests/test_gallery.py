"""The gallery: every block draws the picture below it, alone and in an empty folder."""

import re

import pytest
from matplotlib import image

from docs import make_gallery
from tests.forked import WHOLE

#: Blocks without torch.
LIGHT = [
    name
    for name, code in zip(make_gallery.pictures(), make_gallery.blocks(), strict=True)
    if "torch" not in code and "train" not in code
]


def test_each_question_has_a_picture():
    text = make_gallery.PAGE.read_text(encoding="utf-8")
    assert len(re.findall(r"^## .*\?$", text, re.MULTILINE)) == len(make_gallery.blocks()) == 12
    for name, code in zip(make_gallery.pictures(), make_gallery.blocks(), strict=True):
        assert f'"{name}"' in code


@pytest.mark.filterwarnings("ignore::swingby.SwingbyWarning")  # of the runaway
@pytest.mark.parametrize("name", make_gallery.pictures() if WHOLE else LIGHT)
def test_a_block_draws_its_picture(name, tmp_path, monkeypatch):
    chosen = [
        (code, shown)
        for code, shown in zip(make_gallery.blocks(), make_gallery.pictures(), strict=True)
        if shown == name
    ]
    monkeypatch.setattr(make_gallery, "blocks", lambda: [chosen[0][0]])
    monkeypatch.setattr(make_gallery, "pictures", lambda: [name])
    make_gallery.main(tmp_path)
    pixels = image.imread(tmp_path / name)[..., :3]
    assert 0.005 < (pixels.min(axis=2) < 0.9).mean() < 0.9  # neither empty nor full
