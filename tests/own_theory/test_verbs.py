"""The verbs of swingby on a theory of one's own: check, compare, hunt, sweep, threshold."""

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import swingby
from swingby.cli import run
from swingby.errors import InvalidInput
from swingby.own import Before, Passage, t
from tests.own_theory.small import decay, h, x0

ROOT = Path(__file__).resolve().parents[2]
FILE = str(ROOT / "docs/theories/saxe_modes.py")


def test_the_verbs_take_a_theory_as_first_argument():
    assert swingby.check(decay, h=0.4).holds
    assert swingby.compare(decay).kept
    assert not swingby.hunt(decay, 5, count=32).found
    assert swingby.sweep(decay, {"h": 3}).counts["inside, kept"] == 2
    with pytest.raises(InvalidInput, match="question must be"):
        swingby.threshold([4, 1], "half kept", vary="omega")


def test_tasks_are_answered_as_before():
    assert swingby.check([4, 1], "1e-80", "1e-4").holds
    assert "omega" in swingby.check.__wrapped__.__wrapped__.__annotations__
    with pytest.raises(InvalidInput, match="is not an argument of check"):
        swingby.check([4, 1], h=1)


def test_a_comparison_is_a_table_and_a_picture():
    """x falls to x0/10 at log(10)/log(1/0.9) = 21.85 steps, between two whole ones."""
    table = swingby.compare(decay, h=0.1, x0=2)
    row = table.rows[1]
    assert row.predicted == pytest.approx(math.log(10) / math.log(1 / 0.9))
    x = 2 * 0.9 ** np.arange(30)
    first = int(np.argmax(x <= 0.2))
    share = (0.2 - x[first - 1]) / (x[first] - x[first - 1])
    assert row.observed == pytest.approx(first - 1 + share, rel=1e-12)
    assert row.ratio == pytest.approx(abs(row.observed - row.predicted))
    frame = table.to_frame()
    assert list(frame["prediction"]) == ["rate", "tenth"]
    assert set(frame["verdict"]) == {"kept"}
    assert "tenth" in table.to_latex()
    ax = table.plot()
    assert {line.get_label() for line in ax.lines} >= {"x"}
    assert "outside the assumptions" in str(swingby.compare(decay, h=0.9))


def test_draws_are_drawn_by_the_seed():
    theory = replace(
        decay, draws={"z": lambda rng, n: rng.random((2, n))}, start=lambda x0, z: x0 * (1 + z[0])
    )
    texts = [swingby.compare(theory, rng=seed).setting for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]
    assert swingby.compare(theory, z=[0.5, 0.5]).setting.endswith("z=[0.5, 0.5]")


def crossing(first, then):
    """Two decays, of x0 and of 1, that fall to a tenth of 1."""
    rate, time = sp.Symbol("rate", positive=True), sp.log(10) / h
    return replace(
        decay,
        numbers={**decay.numbers, rate: (0.001, 0.02, 0.1)},
        start=lambda x0: np.stack([1 + 0 * x0, x0]),
        step=lambda x, h, rate: x * np.exp(-np.stack([h, rate])),
        observe={"x": lambda x: x[0], "y": lambda x: x[1]},
        predict=(
            Passage("one", "x", 0.1, time, within=1, falling=True),
            Passage("two", "y", 0.1, sp.log(10 * x0) / rate, within=1, falling=True),
            Before("order", first, then),
        ),
        assume={},
    )


def test_a_threshold_is_the_closed_form():
    """log(10)/h = log(10 x0)/rate: at rate 0.02 and h 0.1 the order turns at x0 = 10^(-0.8)."""
    turn = swingby.threshold(crossing("one", "two"), "one before two", vary="x0", at={"h": 0.1})
    assert turn.predicted == pytest.approx([10**-0.8], rel=1e-3)
    # Observed steps are interpolated between two whole ones.
    assert turn.observed == pytest.approx([10**-0.8], rel=0.01)
    assert "x0 from 0.158" in str(turn)


def test_a_threshold_that_is_not_there_is_nowhere():
    turn = swingby.threshold(
        crossing("one", "two"), "one before two", vary="rate", at={"h": 1, "x0": 10}
    )
    assert turn.predicted == turn.observed == ()
    assert "everywhere" in str(turn)


def test_where_a_prediction_stays_kept_is_asked():
    """(1 - h)^t = 1/e at nearly 1/h - 1/2: off by 0.05/h + 1/2 steps, which is 1 at h = 0.1."""
    passage = Passage("e", "x", x0 / sp.E, 1.05 / h, 1, falling=True)
    falling = replace(decay, predict=(passage,))
    turn = swingby.threshold(falling, "e kept", vary="h")
    assert turn.predicted == ()
    (observed,) = turn.observed
    assert observed == pytest.approx(0.1, rel=0.1)
    for value, verdict in ((observed * 1.01, "kept"), (observed * 0.99, "broken")):
        assert swingby.compare(falling, h=value).rows[0].verdict == verdict
    assert t not in sp.sympify(falling.predict[0].time).free_symbols


# the command line


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ("check --at h=0.001 --at s=4,1", 0, "holds"),
        ("check --at h=0.1", 1, "fails"),
        ("table --at u0=1e-6", 0, "half[1]"),
        ("test --count 16", 0, "a factor 1.01 would show"),
        ("hunt --count 16", 0, "No counterexample"),
        ("threshold --vary s_2 --question", 2, "requires an argument"),
        ("threshold --vary s_2", 2, "question must be given with threshold"),
        ("check --vary s_2", 2, "vary must not be given with check"),
        ("sweep --over h=3 --over u0=2", 0, "inside, kept"),
        ("check --at hh=1", 2, "hh is not a number of"),
    ],
)
def test_the_command_answers(capsys, monkeypatch, words, code, text):
    monkeypatch.setenv("COLUMNS", "120")
    assert run(["theory", FILE, *words.split()]) == code
    out, err = capsys.readouterr()
    assert text in out + err


def test_the_command_prints_json(capsys):
    assert run(["theory", FILE, "hunt", "--count", "16", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["found"] is False


WRONG = """import sympy as sp, swingby
from swingby.own import Bound
r = sp.Symbol("r", positive=True)
theory = swingby.Theory("r", {r: (0.1, 1, 10)}, {}, lambda r: r, lambda x, r: r * x,
                        {"x": lambda x: x}, [Bound("b", "x", below=r / 2)])
"""


def test_every_result_is_json_and_markdown(tmp_path, capsys):
    file, page = tmp_path / "my.py", tmp_path / "hunt.md"
    file.write_text(WRONG)
    assert run(["theory", str(file), "hunt", "--count", "16", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["closest"] is None
    assert run(["theory", str(file), "hunt", "--count", "16", "--out", str(page)]) == 1
    assert "broken for r from 0.522 (kept at the values tried below)" in page.read_text(
        encoding="utf-8"
    )
    assert run(["theory", FILE, "sweep", "--over", "h=3", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["h"] for row in rows] == sorted(row["h"] for row in rows)
    assert len(rows) == 3
    assert run(["theory", FILE, "sweep", "--over", "h=abc"]) == 2
    assert "over must be NAME=N, how many values of it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("x = 1", "must define a swingby.Theory"),
        ("1/0", "must run without an error, but ends in ZeroDivisionError"),
        ("", "must define"),
    ],
)
def test_a_file_without_a_theory_is_refused(tmp_path, capsys, content, words):
    path = tmp_path / "my.py"
    path.write_text(content)
    assert run(["theory", str(path), "check"]) == 2
    assert words in capsys.readouterr().err
    assert run(["theory", str(tmp_path / "other.py"), "check"]) == 2


def test_a_module_beside_the_file_is_imported(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "beside_the_theory.py").write_text("RATE = 1\n")
    path = tmp_path / "my.py"
    path.write_text(f"import beside_the_theory\n{Path(FILE).read_text()}")
    assert run(["theory", str(path), "check"]) in (0, 1)
    assert "No module" not in capsys.readouterr().err


def test_an_error_of_the_file_has_its_line(tmp_path, capsys):
    path = tmp_path / "my.py"
    path.write_text("import numpy\n\nnumpy.nothing()\n")
    assert run(["theory", str(path), "check"]) == 2
    assert "at line 3 of my.py" in " ".join(capsys.readouterr().err.split())


def test_one_of_several_theories_is_named(tmp_path, capsys):
    path = tmp_path / "my.py"
    text = Path(FILE).read_text(encoding="utf-8")
    path.write_text(text + "\nsecond = theory\n")
    assert run(["theory", str(path), "check"]) == 2
    assert "must name one of its theories" in capsys.readouterr().err
    assert run(["theory", f"{path}:second", "check"]) == 0


# pytest


def test_pytest_has_a_test_for_each_prediction(tmp_path):
    text = Path(FILE).read_text(encoding="utf-8")
    (tmp_path / "good.py").write_text(text)
    (tmp_path / "bad.py").write_text(text.replace("/ (2 * h * s[k])", "/ (h * s[k])"))
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rA", "--no-header"]
    command += ["-p", "swingby.testing.pytest_plugin"] if _is_unregistered() else []
    done = subprocess.run(
        [*command, "--theory", "good.py", "--theory", "bad.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout
    for name in ("half", "at 1.2 half", "stronger first"):
        assert f"PASSED good.py::theory::{name}" in lines
    assert "FAILED bad.py::theory::half" in lines
    assert "half: broken at 100.0% of the settings" in lines
    assert done.returncode == 1


def _is_unregistered():
    from importlib.metadata import entry_points

    return not any(entry.name == "swingby" for entry in entry_points(group="pytest11"))


def test_the_reference_lists_the_public_names():
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    kinds = [name for name in swingby.own.__all__ if name[0].isupper() and name != "Theory"]
    for name in (
        *(f"own.{kind}" for kind in kinds),
        "Theory",
        "threshold",
        "testing.assert_theory",
    ):
        assert f"~swingby.{name}\n" in page
