"""swingby figures: as a user runs it."""

import json

import pytest

from swingby import cli
from swingby.report.seals import unsealed


@pytest.fixture(autouse=True)
def workplace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_exit_codes_are_the_verdicts(capsys, workplace):
    assert cli.run(["figures", "--only", "5", "--edition", "code", "--out", "out"]) == 0
    printed = capsys.readouterr()
    assert "2 (0.001), 2 (0.01)" in printed.out
    assert "1 of 1: Fig. 5, code, computed" in printed.err
    assert (workplace / "out" / "fig5-code.pdf").is_file()
    assert cli.run(["figures", "--only", "17", "--edition", "caption"]) == 1
    assert "rises by 0.00082" in capsys.readouterr().out
    assert cli.run(["figures", "--only", "18", "--edition", "code", "--quick"]) == 3


def test_json_and_resuming(capsys, toy, workplace, monkeypatch):
    monkeypatch.setattr("swingby.cli.figures.FIGURE_SECONDS", {"1": 60})
    assert cli.run(["figures", "--json"]) == 0
    written = json.loads((workplace / "figures/figures.json").read_text())
    assert json.loads(capsys.readouterr().out) == unsealed(written)
    for options, word in (([], "kept"), (["--no-resume"], "computed"), (["--quick"], "computed")):
        assert cli.run(["figures", *options]) == (1 if options == ["--quick"] else 0)
        told = capsys.readouterr().err
        assert f"4 of 4: Fig. 2, code, {word}" in told
        assert ("drawing the figures takes" in told) == (word == "computed")


@pytest.mark.parametrize(
    "options",
    [
        ["--only", "6"],
        ["--only", "5;8"],
        ["--edition", "printed"],
        ["--list", "--only", "0"],
        ["--out", "taken", "--only", "5"],
    ],
)
def test_wrong_input_gives_one_line_and_exit_code_2(refused, workplace, options):
    (workplace / "taken").write_text("")
    refused(["figures", *options])


def test_ctrl_c_and_figures_that_cannot_be_made(toy, capsys):
    toy.stop_at = "2"
    assert cli.run(["figures"]) == 130
    assert "2 of 4" in capsys.readouterr().err
    toy.stop_at, toy.fail_at = None, "2"
    assert cli.run(["figures"]) == 5
    assert "not made" in capsys.readouterr().out


def test_the_list_makes_nothing(capsys, workplace):
    assert cli.run(["figures", "--list"]) == 0
    assert "App. E.3" in capsys.readouterr().out
    assert cli.run(["figures", "--list", "--json", "--only", "8"]) == 0
    assert [row[0] for row in json.loads(capsys.readouterr().out)["rows"]] == ["8"]
    assert not list(workplace.iterdir())
