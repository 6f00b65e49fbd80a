"""Names and commands of experiments: found in a checkout, one line elsewhere."""

import ast
import json
from pathlib import Path

import pytest

import swingby
from swingby import checkout, cli, moved
from swingby.errors import MissingStudies

PACKAGE = Path(swingby.__file__).parent
NAMES = {
    "diffusion": (
        *("Plan", "Prediction", "default_plan", "recorded_plan", "Study", "recorded_study"),
        *("run_study", "Judgement", "judge", "figure_rows"),
    ),
    "relu": ("Study", "study", "rows", "recorded_study"),
}
PAIRS = [(room, name) for room, names in NAMES.items() for name in names]


@pytest.fixture
def wheel(monkeypatch, tmp_path):
    """The package as it is without the repository around it."""
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    return tmp_path


@pytest.fixture
def installed(tmp_path):
    """A folder with the package alone, to start a new process from."""
    (tmp_path / "swingby").symlink_to(PACKAGE)
    return tmp_path


def imports_of(path):
    """Modules that a file imports, also for type checkers."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield str(node.module)


def test_the_package_imports_no_experiment():
    files = sorted(PACKAGE.rglob("*.py"))
    assert len(files) > 200
    for path in files:
        assert not [name for name in imports_of(path) if name.split(".")[0] == "studies"], path


@pytest.mark.parametrize(("room", "name"), PAIRS)
def test_a_name_is_found_in_a_checkout(room, name):
    face = getattr(swingby, room)
    assert getattr(face, name).__module__.startswith("studies.")
    assert name in face.__all__
    assert name in dir(face)


@pytest.mark.parametrize(("room", "name"), PAIRS)
def test_without_a_checkout_a_name_says_where_it_lies(wheel, room, name):
    with pytest.raises(MissingStudies) as caught:
        getattr(getattr(swingby, room), name)
    message = str(caught.value)
    assert message.startswith(f"swingby.{room}.{name} lies in studies/")
    assert message.endswith("in a checkout, type pip install -e .")
    assert "\n" not in message


@pytest.mark.parametrize(
    "words",
    [
        ["diffusion", "plan", "--out", "plan.toml"],
        ["diffusion", "study", "--plan", "plan.toml"],
        ["diffusion", "judge", "recorded"],
        ["diffusion", "judge", "study.json"],
        ["relu", "--quick"],
        ["relu", "--store", "relu.json"],
    ],
)
def test_without_a_checkout_a_command_ends_with_a_line(wheel, refused, monkeypatch, words):
    monkeypatch.chdir(wheel)
    assert "in a checkout, type pip install -e ." in refused(words)
    assert not list(wheel.iterdir())


def test_data_of_a_user_need_no_checkout(wheel, capsys):
    file = wheel / "points.csv"
    file.write_text("3,1,3\n-3,1,-3\n2,-1,2\n-2,-1,-2\n4,1,4\n")
    assert cli.run(["relu", "--data", str(file), "--json"]) in (1, 3)
    assert json.loads(capsys.readouterr().out)["extremal_vectors"]["points"]


ELSEWHERE = """
import sys
sys.path[:] = [path for path in sys.path if path != {root!r}]
sys.path.insert(0, {site!r})
import swingby
from swingby.errors import MissingStudies
from swingby.relu import *
assert swingby.__file__.startswith({site!r}), swingby.__file__
assert "study" not in swingby.relu.__all__ and "align" in swingby.relu.__all__
try:
    from swingby.relu import study
except MissingStudies as error:
    print(error)
print("studies" in sys.modules)
"""


@pytest.mark.parametrize("unrelated", [False, True])
def test_a_folder_called_studies_is_not_taken_for_ours(fresh, installed, unrelated):
    if unrelated:
        (installed / "studies").mkdir()
        (installed / "studies" / "__init__.py").write_text("")
        (installed / "studies" / "relu_threshold.py").write_text("study = print")
    code = ELSEWHERE.format(root=str(PACKAGE.parent), site=str(installed))
    line, loaded = fresh(code, cwd=installed).splitlines()
    assert "studies/relu_threshold.py of the repository, which an installed package" in line
    assert loaded == "False"


HIDDEN = """
import sys
sys.path.insert(0, {folder!r})
import swingby
try:
    swingby.relu.study
except ImportError as error:
    print(error)
"""


def test_another_module_that_hides_ours_is_named(fresh, tmp_path):
    (tmp_path / "studies.py").write_text("study = print")
    line = fresh(HIDDEN.format(folder=str(tmp_path)))
    assert f"another module called studies, {tmp_path / 'studies.py'}, hides" in line


FOUND = """
import sys
from pathlib import Path
import swingby
sys.path[:] = [path for path in sys.path if not Path(path, "studies").exists()]
print(swingby.relu.study.__module__)
"""


def test_a_checkout_is_found_wherever_python_started(fresh, tmp_path):
    assert fresh(FOUND, cwd=tmp_path) == "studies.relu_threshold"


def test_old_paths_lead_to_the_experiments(wheel, monkeypatch):
    for old, new in moved.LEFT.items():
        with (
            pytest.warns(DeprecationWarning, match=f"is {new} now"),
            pytest.raises(MissingStudies, match=f"^swingby.{old} lies in studies/"),
        ):
            __import__(f"swingby.{old}")
    monkeypatch.setattr(checkout, "ROOT", PACKAGE.parent)
    for old, new in moved.LEFT.items():
        assert moved.new_path(f"swingby.{old}") == new
        checkout.studies_module(new, old)
