"""Compiled texts: kept under what they say, so that a changed constant anywhere is a new text."""

import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from swingby.simulate import steps
from swingby.simulate.lanes import tiles
from swingby.theory import compiled_text

PACKAGE = Path(steps.__file__).parents[1]

LANE = """
import numpy as np, swingby
batch = swingby.simulate_batch([3.0, 1.0], 1e-3 * np.eye(2), 0.05, 100_000, "gd")
"""


def test_a_constant_of_another_module_changes_what_is_compiled(tmp_path):
    """A lane ends once w_kk is within LEARNED of 1 and still, or TINY; jump.py has the first."""
    ignored = shutil.ignore_patterns("on_torch", "data")
    shutil.copytree(PACKAGE, tmp_path / "swingby", ignore=ignored)
    here = {}
    exec(LANE, here)
    jump = tmp_path / "swingby" / "simulate" / "jump.py"
    text = jump.read_text()
    # Nothing is ever learned to a jump, so none is begun after learning.
    changed = text.replace("STALLED, LEARNED = 2.0**-53, 2.0**-51", "STALLED, LEARNED = -1.0, -1.0")
    assert changed != text
    jump.write_text(changed)
    run = [sys.executable, "-c", f"{LANE}print(batch.executed_steps)"]
    # In its folder, with the same folder of what has been compiled.
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert int(done.stdout) == 99_968 + 32 != int(here["batch"].executed_steps)


def test_every_number_stands_in_the_text(monkeypatch):
    """The file is named by its content: other numbers, another file."""
    names = set()
    for reach in (1e-12, 1e-13):
        monkeypatch.setattr(tiles, "NEGLIGIBLE", reach)
        names.add(compiled_text.file_of(tiles.tile_text(2, "gd", scaled=False, watched=False)).name)
    assert len(names) == 2


def test_a_broken_folder_is_passed_by(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "here"))
    assert compiled_text.folder() == tmp_path / "here"
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert compiled_text.folder() == tmp_path / "cache" / "swingby"


@pytest.mark.parametrize("terminal", [True, False])
def test_what_takes_long_is_said_on_a_terminal(terminal, monkeypatch, capsys):
    monkeypatch.setattr(compiled_text, "SILENT", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    begun = set(threading.enumerate())
    with compiled_text.announced("steps of gd for d = 2"):
        for timer in set(threading.enumerate()) - begun:
            timer.join()
    assert bool(capsys.readouterr().err) == terminal
