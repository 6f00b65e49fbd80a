"""Compiled texts: kept under what they say, so that a changed constant anywhere is a new text."""

import errno
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from swingby.cli import doctor
from swingby.proofs.audit import cache as audit_cache
from swingby.proofs.language.claims import by_id as text_by_id
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
    """Stored code is named by its text: other numbers, another file."""
    names = set()
    for reach in (1e-12, 1e-13):
        monkeypatch.setattr(tiles, "NEGLIGIBLE", reach)
        names.add(compiled_text._name_of(tiles.tile_text(2, "gd", scaled=False, watched=False)))
    assert len(names) == 2


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The root of an empty cache."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delenv("SWINGBY_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


#: A module with one function, which compiles in a moment.
TEXT = """from numba import types
@inner
def square(x):
 return x * x
@compiled((types.float64,))
def scaled(x):
 return 3.0 * square(x)
"""


def compiled_anew(text=TEXT):
    """The function of a text, and whether it came from the disk, as in a new process."""
    sys.modules.pop(compiled_text._name_of(text), None)
    function = compiled_text.load(text, "a test").scaled
    return function, sum(function.stats.cache_hits.values())


def test_what_was_compiled_is_read_again(cache):
    assert compiled_text.folder() == cache / "swingby" / "compiled"
    assert not compiled_text.is_stored(TEXT, "scaled")
    assert compiled_anew()[1] == 0
    assert compiled_text.is_stored(TEXT, "scaled")
    function, hits = compiled_anew()
    assert (function(2.0), hits) == (12.0, 1)
    # Another text, by one digit.
    assert compiled_anew(TEXT.replace("3.0", "5.0"))[0](2.0) == 20.0
    assert len(list(compiled_text.folder().iterdir())) == 2


def test_a_function_by_its_address_is_read_again(cache):
    text = TEXT.replace("@compiled((types.float64,))", "@by_address(types.float64(types.float64))")
    for hits in (0, 1):
        sys.modules.pop(compiled_text._name_of(text), None)
        function = compiled_text.load(text, "a test").scaled
        assert (function.ctypes(2.0), function.cache_hits) == (12.0, hits)


class Trap:
    """Whoever unpickles it makes a file."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


def change_bit(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def of_another_text(path):
    """A file that is whole, and of another function."""
    compiled_anew(TEXT.replace("3.0", "5.0"))
    (other,) = set(path.parent.iterdir()) - {path}
    other.replace(path)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        change_bit,
        of_another_text,
        lambda path: path.write_bytes(pickle.dumps(Trap(path.with_name("trap")))),
        lambda path: path.write_bytes(
            path.read_bytes()[:32] + pickle.dumps(Trap(path.with_name("trap")))
        ),
        lambda path: (path.unlink(), path.mkdir()),
        lambda path: (path.unlink(), os.mkfifo(path)),
        lambda path: (path.unlink(), path.symlink_to(path)),
    ],
)
def test_a_damaged_file_is_compiled_again(damage, cache):
    compiled_anew()
    (path,) = compiled_text.folder().iterdir()
    damage(path)
    function, hits = compiled_anew()
    assert (function(2.0), hits) == (12.0, 0)
    assert not path.with_name("trap").exists()
    if path.is_file():
        assert compiled_anew()[1] == 1


def off(root, monkeypatch):
    monkeypatch.setenv("SWINGBY_CACHE", "off")


def under_a_file(root, monkeypatch):
    (root / "file").write_text("")
    monkeypatch.setenv("SWINGBY_CACHE", str(root / "file" / "cache"))


def without_a_home(root, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)


def of_another_user(root, monkeypatch):
    user = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: user)


def open_to_others(root, monkeypatch):
    (root / "swingby").mkdir()
    (root / "swingby").chmod(0o777)


def on_a_full_disk(root, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)


REASONS = {
    off: "SWINGBY_CACHE=off",
    under_a_file: "Not a directory",
    without_a_home: "SWINGBY_CACHE sets another",
    of_another_user: "belongs to another user",
    open_to_others: "others can write",
    on_a_full_disk: "(0 files, 0.0 MB)",
}


@pytest.mark.parametrize("spoil", REASONS)
def test_a_cache_that_fails_is_done_without(spoil, cache, tmp_path, monkeypatch):
    spoil(cache, monkeypatch)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "temporary").mkdir()
    assert [compiled_anew()[0](2.0) for _ in range(2)] == [12.0, 12.0]
    assert audit_cache.load(text_by_id("D.61")) is None
    assert not [
        path
        for path in tmp_path.rglob("*")
        if path.suffix != ".json" and path.is_file() and path.name != "file"
    ]
    assert not list((tmp_path / "temporary").iterdir())
    for folder in (compiled_text.folder, audit_cache.folder):
        assert REASONS[spoil] in doctor.folder_or_reason(folder)


def test_users_that_share_a_folder_have_each_their_own(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    mine = compiled_text.folder()
    assert mine == tmp_path / f"swingby-{os.geteuid()}" / "compiled"
    assert mine.parent.stat().st_mode & 0o777 == 0o700
    # Prepared by somebody else: the user's own cache.
    mine.parent.chmod(0o777)
    assert tmp_path not in compiled_text.folder().parents
    monkeypatch.setenv("SWINGBY_CACHE", str(tmp_path / "cache"))
    assert compiled_text.folder() == tmp_path / "cache" / "compiled"


@pytest.mark.parametrize("terminal", [True, False])
def test_what_takes_long_is_said_on_a_terminal(terminal, monkeypatch, capsys):
    monkeypatch.setattr(compiled_text, "SILENT", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setattr(compiled_text, "start_thread", lambda work: work())
    with compiled_text.compiling("steps of gd for d = 2"):
        pass
    assert bool(capsys.readouterr().err) == terminal
