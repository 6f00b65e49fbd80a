"""make_figures: what it computes, keeps, writes, records and refuses, on figures of one dot."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

import swingby
from swingby.errors import InvalidInput
from swingby.lab.figures import Measured, make_figures
from swingby.report.seals import unsealed
from swingby.theory.verdict import Verdict

ALL = [("1", "caption"), ("1", "code"), ("2", "caption"), ("2", "code")]


def make(folder, **options):
    return make_figures(folder, progress=False, **options)


def test_everything_is_written_with_what_made_it(tmp_path, toy):
    folder = tmp_path / "new" / "folder"
    result = make(folder)
    stems = {f"fig{number}-{edition}" for number, edition in ALL}
    endings = (".npz", ".json", ".pdf", ".png")
    expected = {stem + ending for stem in stems for ending in endings} | {"figures.json"}
    assert {path.name for path in folder.iterdir()} == expected
    assert toy.computed == ALL
    assert result.verdict == "holds"
    assert result[1, "code", "one"].value == "1"
    with pytest.raises(KeyError):
        result[1, "code", "two"]
    with np.load(folder / "fig1-code.npz", allow_pickle=False) as file:
        inside = json.loads(str(file["facts"]))["provenance"]
        assert file["values"].tolist() == [0, 1, 2]
    beside = json.loads((folder / "fig1-code.json").read_text())
    assert beside["provenance"] == inside
    assert inside["swingby"] == swingby.__version__
    assert inside["parameters"] == {"edition": "code", "level": 1.0}
    assert beside["data"] == {"name": "1", "never": None}


def test_what_is_there_is_not_computed_again(tmp_path, toy, capsys):
    first = make_figures(tmp_path)
    assert "1 of 4: Fig. 1, caption, computed\n" in capsys.readouterr().err
    again = make_figures(tmp_path)
    printed = capsys.readouterr()
    assert "4 of 4: Fig. 2, code, kept\n" in printed.err
    assert not printed.out
    assert toy.computed == ALL
    assert [[one.computed for one in each.made] for each in (first, again)] == [[1] * 4, [0] * 4]
    assert again.to_dict() == first.to_dict()
    make(tmp_path, resume=False)
    assert toy.computed == ALL * 2


def test_other_parameters_are_computed_again(tmp_path, toy):
    make(tmp_path)
    toy.figures[1] = toy.figure("2", level=3.0)
    assert make(tmp_path)[2, "code", "one"].verdict == "fails"
    assert toy.computed == [*ALL, *ALL[2:]]
    quick = make(tmp_path, quick=True)
    assert toy.computed == [*ALL, *ALL[2:], *ALL]
    assert quick[1, "code", "one"].value == "2"
    assert "quick" in str(quick)
    assert json.loads((tmp_path / "figures.json").read_text())["figures"][0]["quick"]


def test_another_release_computes_again(tmp_path, toy, monkeypatch):
    make(tmp_path)
    monkeypatch.setattr(swingby, "__version__", "99.0")
    make(tmp_path)
    assert toy.computed == ALL * 2


@pytest.mark.parametrize("ending", ["npz", "json"])
@pytest.mark.parametrize("broken", [b"", b"{", None])
def test_broken_data_is_computed_again(tmp_path, toy, ending, broken):
    make(tmp_path)
    path = tmp_path / f"fig1-code.{ending}"
    if broken is None:
        path.unlink()
    else:
        path.write_bytes(broken)
    assert make(tmp_path).verdict == "holds"
    assert toy.computed == [*ALL, ("1", "code")]


def test_data_of_another_run_does_not_pass(tmp_path, toy):
    """The JSON file knows which npz file belongs to it."""
    make(tmp_path)
    shutil.copy(tmp_path / "fig2-code.npz", tmp_path / "fig1-code.npz")
    assert make(tmp_path)[1, "code", "one"].value == "1"
    assert toy.computed == [*ALL, ("1", "code")]


def test_an_interrupted_call_keeps_what_is_finished(tmp_path, toy):
    toy.stop_at = "2"
    with pytest.raises(KeyboardInterrupt):
        make(tmp_path)
    content = json.loads((tmp_path / "figures.json").read_text())
    assert [one["figure"] for one in content["figures"]] == ["1", "1"]
    toy.stop_at = None
    assert len(make(tmp_path).made) == 4
    assert toy.computed == ALL


def test_a_figure_that_raises_does_not_stop_the_others(tmp_path, toy):
    toy.fail_at = "1"
    result = make(tmp_path)
    error = "RuntimeError: no such trajectory"
    assert result.problems == (("1", "caption", error), ("1", "code", error))
    assert [one.figure for one in result.made] == ["2", "2"]
    assert result.verdict == "fails"
    assert error in str(result)
    assert len(json.loads((tmp_path / "figures.json").read_text())["problems"]) == 2


def test_the_table_in_every_form(tmp_path, toy):
    toy.figures[1] = toy.figure("2", level=3.0)
    result = make(tmp_path)
    assert result.to_frame().verdict.tolist() == ["holds", "holds", "fails", "fails"]
    assert repr(result) == "<FiguresResult 4 editions: 2 hold, 2 fail>"
    assert result.to_markdown().count("| fails |") == 2
    assert "Fig. 2, code, one: fails. Because. (exactly)" in str(result)
    assert unsealed(json.loads((tmp_path / "figures.json").read_text())) == result.to_dict()


@pytest.mark.parametrize(
    ("argument", "value"),
    [("only", one) for one in ("6", "5, six", [], "", True, [5.0], 5.0)]
    + [("editions", one) for one in ("printed", [])]
    + [("out", one) for one in ("", None)],
)
def test_wrong_input_is_refused(tmp_path, monkeypatch, argument, value):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput) as caught:
        make_figures(**{"out": tmp_path / "out", "progress": False, argument: value})
    assert caught.value.argument == argument
    assert not list(tmp_path.iterdir())


def test_a_file_in_place_of_the_folder_is_refused(tmp_path, toy):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(InvalidInput, match="out must be writable"):
        make(tmp_path / "out")
    assert (tmp_path / "out").read_text() == "mine"
    assert not toy.computed


@pytest.mark.parametrize("broken", ["judge", "compute"])
def test_numbers_that_json_cannot_hold_are_a_problem_of_the_figure(tmp_path, toy, broken):
    nothing = Measured("nan", Verdict.FAILS, "Why.", {"level": float("nan")})
    (one,) = toy.figures[0].criteria
    changes = {
        "judge": {"criteria": (replace(one, judge=lambda data: nothing),)},
        "compute": {"compute": lambda parameters, tell: {"level": float("nan")}},
    }
    toy.figures = [replace(toy.figures[0], **changes[broken]), toy.figures[1]]
    result = make(tmp_path)
    assert [one.figure for one in result.problems] == ["1", "1"]
    assert [one.figure for one in result.made] == ["2", "2"]
    assert result.problems[0].error.startswith("ValueError")
    assert broken == "judge" or not list(tmp_path.glob("fig1-*"))
