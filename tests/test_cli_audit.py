"""``swingby audit``: exit codes, formats, and one line for wrong input."""

import csv
import io
import json
import shlex
from fractions import Fraction
from pathlib import Path

import pytest

from swingby.cli import run
from swingby.proofs.audit.record import AUDITED


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Where verdicts are kept from test to test."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def workplace(tmp_path, monkeypatch, cache):
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_one_item_prints_all_about_it(capsys):
    assert run(["audit", "--item", "(d.61)"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("(D.61), proof of Lemma D.7: refuted\n")
    assert AUDITED in captured.out
    assert "Counterexample:" in captured.out
    assert captured.err == ""


@pytest.mark.parametrize(
    ("error", "words"), [(ValueError, "on D.61"), (MemoryError, "MemoryError")]
)
def test_a_prover_that_stops_is_no_verdict(capsys, monkeypatch, error, words):
    def stopped(*arguments, **options):
        raise error

    monkeypatch.setattr("swingby.proofs.audit.audit.decide", stopped)
    assert run(["audit", "--item", "D.61", "--no-cache"]) == 5
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("swingby: something broke: ")
    assert words in last


def test_several_items_print_a_line_each_and_json_has_their_records(capsys, workplace):
    items = ["--item", "D.60", "--item", "D.61", "--no-trajectories"]
    assert run(["audit", *items, "--graph", "graph.png"]) == 0
    assert (workplace / "graph.png").read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().out == ""
    assert run(["audit", *items]) == 0
    out = capsys.readouterr().out
    assert "Ledger of the proofs" in out
    assert "1 proved, 1 refuted" in out
    assert run(["audit", *items, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert [record["id"] for record in content["records"]] == ["D.60", "D.61"]


#: What is audited, the endings that it is written in, and words of each text.
WAYS = {
    "lines": ("--item D.60", "md tex json html csv txt", "D.60"),
    "corrections": ("--item D.61 --corrections", "md json txt tex", "D.61"),
    "standing": ("--item D.65 --assume 'Lemma D.5, Corollary D.1'", "md json txt", "stands"),
}


@pytest.mark.parametrize(
    ("way", "ending"), [(way, ending) for way in WAYS for ending in WAYS[way][1].split()]
)
def test_every_ending_writes_its_format(way, ending, workplace, capsys):
    given, _, words = WAYS[way]
    given = [*shlex.split(given), "--no-trajectories", "--out", f"list.{ending}"]
    assert run(["audit", *given]) == 0
    text = (workplace / f"list.{ending}").read_text(encoding="utf-8")
    assert capsys.readouterr().out == ""
    assert words in text
    if ending == "json":
        assert json.loads(text)
    elif ending == "csv":
        assert next(csv.DictReader(io.StringIO(text)))["id"] == "D.60"
    elif way == "lines":
        assert AUDITED.split(";")[0] in text
    elif (way, ending) == ("corrections", "txt"):
        assert "−α ω/(5 C)" in text


@pytest.mark.parametrize(
    ("line", "printed", "corrected"),
    [
        # Of what (C.20) rests on, (2.1) is refuted: lines between them are open where it is mended.
        ("C.20", "8 falls, 2 stands", "3 stands, 7 open"),
        pytest.param("D.61", "4 stands, 2 falls", "6 stands", marks=pytest.mark.full),
    ],
)
def test_what_stands_without_a_promise(line, printed, corrected, capsys):
    assert run(["audit", "--item", line, "--item", "D.60", "--assume", ""]) == 0
    out = capsys.readouterr().out
    assert "Taken for granted: nothing." in out
    assert f"As printed: {printed}." in out
    assert f"As corrected: {corrected}." in out


def test_no_cache_keeps_nothing(workplace, capsys, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(workplace / "cache"))
    assert run(["audit", "--item", "D.60", "--no-cache"]) == 0
    assert not (workplace / "cache").exists()
    assert run(["audit", "--item", "D.60"]) == 0
    assert list((workplace / "cache" / "swingby" / "ledger").glob("*.json"))


@pytest.mark.parametrize(
    "arguments",
    [
        "--item D.99", "--item ''", "--out ledger.xyz", "--out no/such/folder/ledger.md",
        "--graph graph.gif", "--graph no/such/folder/graph.png", "--corrections --out list.csv",
        "--assume PSD --out list.tex", "--assume PSD --corrections", "--assume 'that all is well'",
        "--json --out ledger.json", "--unknown", "surplus",
    ],
)  # fmt: skip
def test_wrong_input_is_one_line_and_exit_code_two(arguments, refused):
    refused(["audit", *shlex.split(arguments)])


def test_interrupting_is_exit_code_130(monkeypatch, capsys):
    from swingby.proofs.audit import audit

    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(audit, "audit", interrupt)
    assert run(["audit"]) == 130
    assert capsys.readouterr().err.endswith("swingby: interrupted\n")


PROOFS = Path(__file__).parents[1] / "docs" / "proofs"


def test_a_proof_of_ones_own_is_audited(capsys, tmp_path):
    assert run(["audit", str(PROOFS / "gradient_descent.proof")]) == 0
    shown = capsys.readouterr().out
    assert "Text audited: gradient_descent.proof." in shown
    assert "7 lines of the proof: 5 proved, 1 can be met, 1 tautological." in shown
    assert "2410.08309" not in shown
    planted = str(PROOFS / "planted_error.proof")
    assert run(["audit", planted, "--item", "descent", "--json"]) == 0
    (record,) = json.loads(capsys.readouterr().out)["records"]
    assert (record["verdict"], record["repair"]["verdict"]) == ("refuted", "proved")
    # The counterexample is one: by hand, in fractions.
    point = {name: Fraction(value) for name, value in record["witness"]["values"].items()}
    L, gap, gap_next, square = (point[x] for x in ("L", "gap(t)", "gap(t+1)", "|g(t)|^2"))
    slope = point["<g(t), x(t+1)>"] - point["<g(t), x(t)>"]
    moved = point["|x(t+1)|^2"] - 2 * point["<x(t), x(t+1)>"] + point["|x(t)|^2"]
    assert (slope, moved) == (-square / L, square / L**2)
    assert gap - square / L < gap_next <= gap + slope + L * moved / 2
    out = tmp_path / "audit.tex"
    assert run(["audit", planted, "--out", str(out)]) == 0
    assert "planted" in out.read_text(encoding="utf-8")
    assert run(["audit", planted, "--corrections"]) == 0
    assert "corrected  gap(t+1) ≤ gap(t) − |g(t)|²/(2 L)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("wrong.proof", "wrong.proof, line 3, column 8: must be a letter declared above, got z"),
        ("none.proof", "must be a readable file of text (No such file or directory)"),
        ("D.61", "must end in .proof; a line of the paper is an item: --item D.61"),
    ],
)
def test_a_proof_that_cannot_be_read_is_named(refused, tmp_path, name, says):
    text = "letters positive: x\nstep 1: a line\n  then z <= x\n"
    (tmp_path / "wrong.proof").write_text(text, encoding="utf-8")
    assert says in refused(["audit", str(tmp_path / name)])


def test_export_says_how_many_witnesses_and_proofs_have_a_file(workplace, capsys):
    asked = ["--item", "D.61", "--item", "D.10", "--item", "C.9", "--no-trajectories"]
    assert run(["audit", *asked, "--export", "files"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert "written: 1 witnesses; 2 proofs" in lines
    assert "without a file: 1 witnesses: D.10; 1 proofs" in lines
    assert lines[-1].endswith("read: moments by cases of equal and distinct indices (1)")
    assert {path.name for path in (workplace / "files").glob("*.py")} == {
        *("check.py", "check_box.py", "check_line.py", "check_identity.py", "check_matrix.py"),
        *("check_proof.py", "check_statement.py", "check_sum.py"),
        "replay.py",
    }


def test_repaired_asks_for_the_theorems_of_the_repaired_edition(
    workplace, capsys, refused, monkeypatch
):
    """All lines of the seven files, and no other; a proof of one's own has none."""
    from swingby.proofs.audit import audit as module
    from swingby.proofs.language.claims import Claims

    judged = module.audit
    asked = []

    def audit(items, **options):
        asked.extend(items)
        return judged(["D.60"], progress=False, trajectories=False)

    monkeypatch.setattr(module, "audit", audit)
    assert run(["audit", "--repaired"]) == 0
    ours = tuple(f"Theorem {name}" for name in ("G", "two", "R", "S"))
    assert asked == [name for name in Claims() if name.startswith(ours)]
    assert {"Theorem G", "Theorem G-gd", "Theorem S-gd [5.6]"} <= set(asked)
    capsys.readouterr()
    assert "leave out PROOF" in refused(["audit", "my.proof", "--repaired"])
