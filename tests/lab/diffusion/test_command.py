"""The command line: a plan, a study, a judgement; and pictures."""

import importlib.util
import json

import numpy as np
import pytest

from studies.image_pictures import circles_figure, film_strip
from studies.image_plan import Plan, default_plan
from swingby import cli

NO_TORCH = importlib.util.find_spec("torch") is None


def test_a_plan_is_written_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.run(["diffusion", "plan", "--out", "plan.toml"]) == 0
    told = capsys.readouterr().out
    assert "plan.toml: 80 runs in 16 cells, 25 predictions" in told
    assert default_plan().digest in told
    assert Plan.load("plan.toml") == default_plan()
    assert cli.run(["diffusion", "plan", "--out", "plan.toml", "--size", "tiny"]) == 2
    assert capsys.readouterr().err.startswith("swingby: out must be a new file: choose another")
    assert Plan.load("plan.toml") == default_plan()


def test_pictures():
    titles = [ax.get_title() for ax in circles_figure((0.8, 0.2), 16, 2).axes]
    assert len(titles) == 8
    assert sum("held out" in one for one in titles) == 2
    frames = {step: np.full((7, 3, 8, 8), step, dtype=np.uint8) for step in (0, 10, 200)}
    shown = np.asarray(film_strip(frames, "one").axes[0].images[0].get_array())
    assert shown.shape == (7 * 9, 3 * 9, 3)
    assert shown[0, [0, 9, 18], 0] == pytest.approx([0, 10 / 255, 200 / 255])


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["plan"], "out"), (["plan", "--out", "a.json"], "out"),
        (["plan", "--out", "a.toml", "--size", "medium"], "size"),
        (["plan", "--out", "a.toml", "--data", "a.gif"], "data"),
        (["study"], "plan"), (["study", "--plan", "none.toml"], "plan"),
        (["study", "--plan", "none.toml", "--plot", "a.gif"], "plot"),
        (["study", "--plan", "none.toml", "--table", "a.png"], "table"),
        (["judge", "none.json"], "path"), (["judge", "recorded", "--film", "a.png"], "film"),
    ],
)  # fmt: skip
def test_wrong_input(words, name, tmp_path, monkeypatch, refused):
    if words[0] == "study" and NO_TORCH:
        pytest.skip("needs torch")
    monkeypatch.chdir(tmp_path)
    assert name in refused(["diffusion", *words])
    assert not list(tmp_path.iterdir())


@pytest.mark.torch
@pytest.mark.skipif(NO_TORCH, reason="trains")
@pytest.mark.usefixtures("in_threads")
def test_a_study_from_the_command_line(two_cells, tmp_path, monkeypatch, capsys, refused):
    """Files and pictures; the second call has nothing left to do; an edited plan is refused."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "250")
    (tmp_path / "plan.toml").write_text(two_cells.to_toml())
    words = ["diffusion", "study", "--plan", "plan.toml", "--out", "here", "--workers", "1"]
    drawn = ["--plot", "fig.png", "--film", "film.png"]
    assert cli.run([*words, *drawn]) == 3
    out = capsys.readouterr().out
    assert two_cells.digest in out
    assert "1 undecided" in out
    assert all((tmp_path / one).stat().st_size > 5000 for one in ("fig.png", "film.png"))
    assert len(list((tmp_path / "here").glob("*.safetensors"))) == 2
    assert cli.run([*words, "--table", "judged.json"]) == 3
    assert json.loads((tmp_path / "judged.json").read_text())["digest"] == two_cells.digest
    assert cli.run(["diffusion", "judge", "here/study.json"]) == 3
    assert capsys.readouterr().out == out
    text = (tmp_path / "plan.toml").read_text()
    (tmp_path / "plan.toml").write_text(text.replace("share = 0.75", "share = 0.5"))
    assert refused(words).startswith("swingby: plan must be the plan the data were made for")
