"""The command line, and the study that the documentation shows."""

import importlib.util
import json

import numpy as np
import pytest

from swingby import cli
from swingby.diffusion.judged import judged_study
from swingby.diffusion.pictures import circles_figure, film_strip, study_figure
from swingby.diffusion.presets import SMALL, TINY
from swingby.diffusion.study import recorded_study
from swingby.errors import InvalidInput
from swingby.theory.verdict import Verdict

NO_TORCH = importlib.util.find_spec("torch") is None


@pytest.fixture(scope="module")
def recorded():
    return recorded_study()


@pytest.fixture(scope="module")
def judged(recorded):
    return judged_study(recorded)


def test_the_recorded_study_is_that_of_the_preset(recorded):
    assert recorded.preset == SMALL
    assert len(recorded.courses) == len(SMALL.contrasts) * len(SMALL.seeds) == 25
    assert all(one.steps.tolist() == list(SMALL.save_steps) for one in recorded.courses)
    assert min(recorded.accuracy.values()) >= 0.999


def test_the_order_turns_and_the_held_out_class_is_reached(recorded, judged):
    """What the preset was made for."""
    first, last = min(SMALL.contrasts), max(SMALL.contrasts)
    low, high = judged.judgement.of("order", first), judged.judgement.of("order", last)
    assert (low.verdict, high.verdict) == (Verdict.HOLDS, Verdict.HOLDS)
    assert low.high < 1 < high.low
    assert min(recorded.held_out_accuracy.values()) >= 0.9


def test_exit_code_and_output(judged, capsys):
    """Codes as documented: 1 where a prediction fails, else 3 where one is open."""
    assert cli.run(["diffusion", "recorded", "--json"]) == judged.exit_code
    told = json.loads(capsys.readouterr().out)
    assert told["judgement"]["rows"] == judged.to_dict()["judgement"]["rows"]
    counts = judged.judgement.counts
    expected = 1 if counts[Verdict.FAILS] else 3 if counts[Verdict.UNDECIDED] else 0
    assert judged.exit_code == expected


def test_outputs(judged):
    for text in (str(judged), judged.to_markdown(), judged._repr_html_()):
        assert "overlap" in text
        assert "held out" in text
    with pytest.raises(InvalidInput, match="study"):
        judged_study(3)


def test_pictures(recorded, tmp_path):
    """Every contrast has a line in each panel, every class its images."""
    figure = study_figure(recorded)
    for ax in figure.axes:
        labels = [one.get_text() for one in ax.get_legend().get_texts()]
        assert labels == [f"{one:g}" for one in SMALL.contrasts]
    figure.savefig(tmp_path / "study.png", dpi=30)
    titles = [ax.get_title() for ax in circles_figure((0.8, 0.2), 16, 2).axes]
    assert len(titles) == 8
    assert sum("held out" in one for one in titles) == 2
    frames = {step: np.full((7, 3, 8, 8), step, dtype=np.uint8) for step in (0, 10, 200)}
    shown = np.asarray(film_strip(frames, "one").axes[0].images[0].get_array())
    assert shown.shape == (7 * 9, 3 * 9, 3)
    assert shown[0, [0, 9, 18], 0] == pytest.approx([0, 10 / 255, 200 / 255])
    for wrong in ({}, {0: frames[0], 1: frames[10][:3]}):
        with pytest.raises(InvalidInput, match="images"):
            film_strip(wrong)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["medium"], "preset"), (["tiny", "--contrast", "2"], "contrast"),
        (["tiny", "--contrast", "blue"], "contrast"), (["tiny", "--seeds", "0"], "seeds"),
        (["tiny", "--seed", "-1"], "seed"), (["tiny", "--plot", "a.gif"], "plot"),
        (["tiny", "--film", "nowhere/a.png"], "film"), (["none.json"], "path"),
        (["recorded", "--seeds", "2"], "seeds"), (["recorded", "--film", "a.png"], "film"),
        (["recorded", "--representation", "brain"], "representation"),
    ],
)  # fmt: skip
def test_wrong_input(words, name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.run(["diffusion", *words]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"swingby: {name} "), error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.torch
@pytest.mark.skipif(NO_TORCH, reason="trains")
def test_tiny_from_the_command_line(tmp_path, monkeypatch, capsys):
    """One course: files, pictures, undecided verdicts; the second call has nothing left to do."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "250")
    words = ["diffusion", "tiny", "--contrast", "0.8", "--out", "here"]
    assert cli.run([*words, "--plot", "fig.png", "--film", "film.png", "--data", "19.png"]) == 3
    out = capsys.readouterr().out
    assert "too few seeds" in out
    assert all((tmp_path / one).stat().st_size > 5000 for one in ("fig.png", "film.png", "19.png"))
    course = tmp_path / "here" / "contrast_0.8_seed_0"
    lines = (course / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(one)["step"] for one in lines[1:]] == list(TINY.save_steps)
    before = {one: one.stat().st_mtime_ns for one in course.glob("images/*")}
    assert cli.run(words) == 3
    assert capsys.readouterr().out == out
    assert before == {one: one.stat().st_mtime_ns for one in course.glob("images/*")}
    assert cli.run(["diffusion", "here/study.json"]) == 3
    assert capsys.readouterr().out == out
    assert cli.run(["diffusion", "small", "--out", "here"]) == 2
    assert "must belong to this preset" in capsys.readouterr().err
