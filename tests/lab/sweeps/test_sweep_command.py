"""swingby sweep: as a user runs it."""

import json

import pytest

from swingby import cli

GRID = """
signal = [[4, 1]]
omega = [1e-2, 1e-3]
eta = 0.1
seeds = 3
dynamics = "gd"
"""


@pytest.fixture(autouse=True)
def workplace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grid.toml").write_text(GRID)
    return tmp_path


def run(*arguments):
    return cli.run(["sweep", "grid.toml", "--out", "out", *arguments])


def test_a_sweep_from_beginning_to_end(capsys, workplace):
    assert run("--workers", "0") == 0
    assert "6 points: 6 done, 0 failed, 0 missing" in capsys.readouterr().out
    (workplace / "grid.toml").write_text(GRID.replace("seeds = 3", "seeds = 4"))
    assert run("--status") == 0
    assert "8 points: 6 done, 0 failed, 2 missing" in capsys.readouterr().out
    assert run("--workers", "0", "--restart", "--chunk", "1") == 0
    assert run("--status", "--json") == 0
    out = capsys.readouterr().out
    status = json.loads(out[out.index("{") :])
    assert (status["total"], status["done"], status["missing"]) == (8, 8, 0)
    assert sum(one["points"] for one in status["labels"]) == 8


def test_failed_points_give_exit_code_1(capsys, workplace):
    (workplace / "grid.toml").write_text(GRID.replace("1e-2", "1e301"))
    assert run("--workers", "0") == 1
    assert "failed, 3: InvalidInput: W0 must be below 1e300" in capsys.readouterr().out
    assert run("--status") == 1


def test_export(capsys, workplace):
    pytest.importorskip("pyarrow")
    assert run("--workers", "0", "--export", "rows.csv") == 0
    assert run("--status", "--export", "rows.parquet") == 0
    assert len((workplace / "rows.csv").read_text().splitlines()) == 7
    assert (workplace / "rows.parquet").read_bytes()[:4] == b"PAR1"


DIAGRAMS = """
signal = [[4, 1], [4, 3]]
omega = [1e-1, 1e-3]
eta = [0.1, 0.2]
seeds = 2
"""


def test_diagrams_and_disagreements(capsys, workplace):
    (workplace / "grid.toml").write_text(DIAGRAMS)
    assert run("--workers", "0", "--diagram", "a.png", "--disagreements") == 0
    out = capsys.readouterr().out
    assert "16 points: 16 done" in out
    assert "Predicted otherwise than observed, out" in out
    assert (workplace / "a.png").read_bytes()[:4] == b"\x89PNG"
    axes = ["--x", "eta", "--y", "a_1/a_2", "--where", "omega=1e-3"]
    assert run("--status", "--diagram", "b.svg", *axes) == 0
    svg = (workplace / "b.svg").read_text()
    assert "in order" in svg
    capsys.readouterr()
    assert run("--status", "--json", "--disagreements", "--where", "eta=0.2") == 0
    found = json.loads(capsys.readouterr().out)["disagreements"]
    assert found["decided"] + found["undecided"] + found["unfinished"] == 8


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--status"], "store must be a sweep store that exists"),
        (["--workers", "x"], "workers must be a number"),
        (["--export", "rows.xlsx"], "export must end in .parquet or .csv"),
        (["--export", "none/rows.csv"], "export must lie in a folder that can be written to"),
        (["--status", "--restart"], "restart must not be given together with status"),
        (["--dask", "nowhere"], "executor must be an Executor"),
        (["--diagram", "a.gif"], "diagram must end in .png, .pdf or .svg, got a.gif"),
        (
            ["--diagram", "a.png", "--x", "omgea"],
            "x must name a quantity of the sweep; these vary: omega, a_1/a_2, a_2, signal, eta,"
            " got omgea",
        ),
        (["--x", "omega"], "x must not be given without diagram"),
        (["--disagreements", "--where", "eta"], "where must be NAME=VALUE"),
        (["--disagreements", "--where", "etta=1"], "where must name a quantity of the sweep;"),
    ],
)
def test_wrong_input_is_one_line_before_the_sweep(refused, workplace, arguments, words):
    (workplace / "grid.toml").write_text(DIAGRAMS)
    said = refused(["sweep", "grid.toml", "--out", "out", *arguments])
    assert said.startswith(f"swingby: {words}")
    assert not (workplace / "out").exists()
