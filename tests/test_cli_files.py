"""The commands ``verify`` and ``doctor``: what swingby wrote is told from what was changed."""

import contextlib
import functools
import json
import random
import sqlite3

import numpy as np
import pytest

import swingby
from swingby import cli
from swingby.errors import InvalidInput
from swingby.report.files import write_arrays, write_json
from swingby.theory.input_files import read_arrays

W0 = [[2e-3, 1e-3], [1e-3, 2e-3]]
START = ["--signal", "4,1", "--w0", "2e-3,1e-3;1e-3,2e-3", "--eta", "1/100"]


def flipped(content, bits, seed):
    """Copies of some bytes, each with one bit changed."""
    for place in sorted(random.Random(seed).sample(range(8 * len(content)), bits)):
        changed = bytearray(content)
        changed[place // 8] ^= 1 << place % 8
        yield bytes(changed)


def test_a_store_with_a_changed_cell_is_told(tmp_path, capsys):
    store = tmp_path / "s"
    grid = swingby.SweepGrid(signal=[[4, 1]], omega=[1e-2, 1e-3], eta=0.1, seeds=1)
    swingby.sweep(grid, out=store, workers=0, progress=False)
    assert cli.run(["verify", str(store)]) == 0
    (file,) = (file for file in store.iterdir() if b'"place":0' in file.read_bytes())
    file.write_bytes(file.read_bytes().replace(b'"omega":"0.01"', b'"omega":"0.02"'))
    assert cli.run(["verify", str(store)]) == 1
    assert "changed after it was written" in capsys.readouterr().out


def _run(path):
    run = swingby.simulate(swingby.SIMTask.from_signal([4, 1]), W0, 0.1, 5)
    run.save(path)


def _training_run(path):
    pytest.importorskip("torch")
    from swingby.lab.networks import Data, Network, Optimizer, Setting, train

    task = swingby.SIMTask([1], [0.1])
    train([Setting(task, Data(4), Network(1), Optimizer(batch_size=4), steps=2)]).save(path)


def _checkpoint(path):
    torch = pytest.importorskip("torch")
    from swingby.lab.networks import checkpoint

    checkpoint.write_state(path, "a run", 3, {"w": torch.arange(6.0)}, torch)


def _read_checkpoint(path):
    from swingby.lab.networks import checkpoint

    return checkpoint.read_state(path, "a run")


def _claims(content):
    """All but white space and the version that made it."""
    return json.loads(content) | {"made_by": 0}


def _read_run(path):
    run = swingby.Run.load(path)
    return run.to_dict(), run.W.tolist(), run.steps.tolist()


def _read_training_run(path):
    run = swingby.lab.networks.TrainingRun.load(path)
    return run.to_dict(), run.output.tolist(), [one.tolist() for one in run.weights]


KINDS = {
    "run.npz": (_run, _read_run),
    "trained.npz": (_training_run, _read_training_run),
    "t.safetensors": (_checkpoint, _read_checkpoint),
    "result.json": (lambda path: write_json(path, {"format": "a", "x": [0.5, "b"]}), None),
    "certificate.json": (
        lambda path: cli.run(["certify", *START, "--steps", "30", "--out", str(path)]),
        None,
    ),
}


@pytest.mark.parametrize("share", [0.01, pytest.param(1.0, marks=pytest.mark.full)])
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.torch if n[0] == "t" else ()) for n in KINDS]
)
def test_no_bit_of_a_file_may_change(name, share, tmp_path):
    """What is read is what was written, or nothing is; and ``verify`` says the same."""
    make, read = KINDS[name]
    path = tmp_path / name
    make(path)
    assert cli.run(["verify", str(path)]) == 0
    content = path.read_bytes()
    expected = None if read is None else str(read(path))
    bits = max(60, int(8 * len(content) * share))
    for changed in flipped(content, min(bits, 8 * len(content)), seed=2):
        path.write_bytes(changed)
        verified = cli.run(["verify", str(path)])
        assert verified in (0, 1, 2)
        with contextlib.suppress(InvalidInput if read else ValueError):
            if read:
                assert str(read(path)) == expected, changed
            else:
                assert verified or _claims(changed) == _claims(content), changed


def test_what_was_edited_and_packed_again_is_told(tmp_path):
    """A zip file guards its own bytes; the digest is for what was written with care."""
    path = tmp_path / "run.npz"
    _run(path)
    arrays = read_arrays(path, "path")
    np.savez(path, **{**arrays, "W": 2 * arrays["W"]})
    assert cli.run(["verify", str(path)]) == 1
    with pytest.raises(InvalidInput, match="changed after it was written"):
        swingby.Run.load(path)
    facts = json.loads(str(arrays["facts"])) | {"eta": "-1"}
    np.savez(path, **{**arrays, "facts": json.dumps(facts)})
    with pytest.raises(InvalidInput, match="swingby simulate --out"):
        swingby.Run.load(path)
    for eta in ("-1", "1e400000000"):
        facts = {name: value for name, value in facts.items() if name != "sha256"} | {"eta": eta}
        held = {name: one for name, one in arrays.items() if name != "facts"}
        write_arrays(path, facts, held)
        with pytest.raises(InvalidInput):
            swingby.Run.load(path)


@pytest.mark.parametrize("command", ["check", "predict"])
def test_every_result_in_json_can_be_verified(command, tmp_path, capsys):
    path = tmp_path / "r.json"
    given = ["--signal", "4,1", "--eta", "1e-4", "--omega", "1e-80"]
    assert cli.run([command, *given, "--out", str(path)]) == 0
    assert cli.run(["verify", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verified"]
    path.write_text(path.read_text().replace("1", "2", 1))
    assert cli.run(["verify", str(path)]) in (1, 2)


def _other_database(path):
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (x)")


def _other_checkpoint(path):
    pytest.importorskip("safetensors.numpy").save_file({"w": np.arange(6.0)}, path)


#: What swingby did not write was not changed; ``e.json`` is as a certificate has it.
OTHERS = {
    **{"none.json": None, "a.txt": "1", "b.json": "{}", "c.json": "{", "d.sqlite": "SQL"},
    **{"e.json": '{"signal": NaN, "digest": ""}', "f.sqlite": _other_database},
    **{"g.safetensors": "junk", "h.safetensors": _other_checkpoint},
}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.torch if n[0] in "gh" else ()) for n in OTHERS]
)
def test_what_cannot_be_verified_is_wrong_input(name, tmp_path, refused):
    path, content = tmp_path / name, OTHERS[name]
    if path.suffix == ".safetensors":
        pytest.importorskip("safetensors")
    if callable(content):
        content(path)
    elif content is not None:
        path.write_text(content)
    assert refused(["verify", str(path)]).startswith("swingby: file must")


def test_the_doctor_names_versions_places_and_what_is_missing(monkeypatch, capsys):
    assert cli.run(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["swingby"] == swingby.__version__
    assert all(found["core"].values())
    monkeypatch.setattr("swingby.cli.doctor.CORE", ("numpy", "no-such-package"))
    monkeypatch.setattr("swingby.cli.doctor.EXTRAS", {"prove": "no-such-package"})
    assert cli.run(["doctor"]) == 5
    shown = capsys.readouterr().out
    assert "missing" in shown
    assert 'pip install "swingby[prove]"' in shown


def test_the_doctor_compiles_ahead_and_says_how_far_it_is(monkeypatch, capsys):
    compiled = []
    parts = {name: functools.partial(compiled.append, name) for name in ("laws", "runs")}
    monkeypatch.setattr("swingby.verify.compiled_ahead.PARTS", parts)
    assert cli.run(["doctor", "--compile", "--json"]) == 0
    out, err = capsys.readouterr()
    assert compiled == ["laws", "runs"]
    assert "compiled code" in json.loads(out)
    assert "swingby: 2 of 2: runs, compiled" in err


def test_the_doctor_compiles_nothing_where_it_cannot_be_stored(monkeypatch, refused):
    monkeypatch.setenv("SWINGBY_CACHE", "off")
    monkeypatch.setattr("swingby.verify.compiled_ahead.PARTS", {"laws": pytest.fail})
    assert "SWINGBY_CACHE=off" in refused(["doctor", "--compile"])
