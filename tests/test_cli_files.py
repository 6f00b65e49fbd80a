"""The commands ``verify`` and ``doctor``: what swingby wrote is told from what was changed."""

import contextlib
import json
import random
import sqlite3

import pytest

import swingby
from swingby import cli

START = ["--signal", "4,1", "--w0", "2e-3,1e-3;1e-3,2e-3", "--eta", "1/100"]


def flipped(content, bits, seed):
    """Copies of some bytes, each with one bit changed."""
    for place in sorted(random.Random(seed).sample(range(8 * len(content)), bits)):
        changed = bytearray(content)
        changed[place // 8] ^= 1 << place % 8
        yield bytes(changed)


def test_a_certificate_is_verified_and_no_bit_of_it_may_change(tmp_path, capsys):
    """Replay finds every digit again; what is no text or no JSON any more is wrong input."""
    whole = tmp_path / "c.json"
    assert cli.run(["certify", *START, "--steps", "30", "--out", str(whole)]) == 0
    assert cli.run(["verify", str(whole), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verified"]
    text = whole.read_bytes()
    one, accepted = tmp_path / "d.json", 0
    for changed in flipped(text, 60, seed=1):
        one.write_bytes(changed)
        accepted += cli.run(["verify", str(one)]) == 0
        # Only white space and the version that made it are not claims.
        if json.loads(text) | {"made_by": 0} != _claims(changed):
            assert cli.run(["verify", str(one)]) in (1, 2)
    assert accepted < 60


def _claims(content):
    try:
        return json.loads(content) | {"made_by": 0}
    except ValueError:
        return None


def test_a_store_with_a_changed_cell_is_told(tmp_path, capsys):
    store = tmp_path / "s.sqlite"
    grid = swingby.SweepGrid(signal=[[4, 1]], omega=[1e-2, 1e-3], eta=0.1, seeds=1)
    swingby.sweep(grid, store=store, workers=0, progress=False)
    assert cli.run(["verify", str(store)]) == 0
    with contextlib.closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE points SET omega = '1/50' WHERE place = 0")
    assert cli.run(["verify", str(store)]) == 1
    assert "changed after it was written" in capsys.readouterr().out


@pytest.mark.torch
def test_a_checkpoint_with_a_flipped_bit_is_told(tmp_path):
    torch = pytest.importorskip("torch")
    from swingby.training import checkpoint

    path = tmp_path / "t.safetensors"
    checkpoint.write(path, "a run", 3, {"w": torch.arange(6.0)}, torch)
    assert cli.run(["verify", str(path)]) == 0
    for changed in flipped(path.read_bytes(), 40, seed=2):
        path.write_bytes(changed)
        assert cli.run(["verify", str(path)]) == 1


@pytest.mark.parametrize("name", ["none.json", "a.txt", "b.json", "c.json", "d.sqlite"])
def test_what_cannot_be_verified_is_wrong_input(name, tmp_path, capsys):
    contents = {"a.txt": "1", "b.json": "{}", "c.json": "{", "d.sqlite": "SQL"}
    if name in contents:
        (tmp_path / name).write_text(contents[name])
    assert cli.run(["verify", str(tmp_path / name)]) == 2
    assert capsys.readouterr().err.startswith("swingby: file must")


def test_the_doctor_names_versions_places_and_what_is_missing(monkeypatch, capsys):
    assert cli.run(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["swingby"] == swingby.__version__
    assert all(found["core"].values())
    monkeypatch.setattr("swingby.cli.files_command.CORE", ("numpy", "no-such-package"))
    monkeypatch.setattr("swingby.cli.files_command.EXTRAS", {"prove": "no-such-package"})
    assert cli.run(["doctor"]) == 5
    shown = capsys.readouterr().out
    assert "missing" in shown
    assert 'pip install "swingby[prove]"' in shown
