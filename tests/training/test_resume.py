"""Checkpoints: a run that was stopped anywhere ends bit for bit as one that was not."""

import os
import pickle
import random
import subprocess
import sys
import time
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import swingby
from swingby.errors import InvalidInput, MissingExtra
from swingby.theory.task import SIMTask
from swingby.training import Data, Network, Optimizer, Setting, TrainingRun, checkpoint, train
from swingby.training.course import Course

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

pytestmark = pytest.mark.torch

TASK = SIMTask([1, 2], ["1/5", "1/4"], dim=4)
SETTINGS = {
    "sgd": Setting(TASK, Data(50), Network(2, 5), Optimizer(lr=0.3, batch_size=16), epochs=60),
    "epoch": Setting(
        TASK,
        Data(50, rotation=True),
        Network(),
        Optimizer(lr=1.5, batch_size=16, shuffle="epoch"),
        epochs=60,
    ),
    "relu": Setting(
        TASK, Data(50), Network(2, 8, "relu"), Optimizer(lr=0.3, batch_size=16), epochs=60
    ),
    "adamw": Setting(
        TASK,
        Data(50),
        Network(2, 8, "gelu"),
        Optimizer("adamw", lr=0.01, batch_size=16, weight_decay=0.1, shuffle="epoch"),
        epochs=60,
    ),
    "linear adamw": Setting(
        TASK, Data(50), Network(3, 5), Optimizer("adamw", lr=0.01, batch_size=16), epochs=60
    ),
}


def equal(run, expected):
    """Bit for bit."""
    for one in fields(TrainingRun):
        own, other = getattr(run, one.name), getattr(expected, one.name)
        if one.name in ("settings", "index"):
            assert own == other
        elif one.name == "weights":
            assert all(map(np.array_equal, own, other))
        else:
            assert np.array_equal(own, other, equal_nan=True), one.name


def interrupt_inside(monkeypatch, module, name, after):
    """Ctrl-C when a function is called for the n-th time: in the middle of a chunk."""
    original, calls = getattr(module, name), [0]

    def counted(*arguments, **named):
        calls[0] += 1
        if calls[0] == after:
            raise KeyboardInterrupt
        return original(*arguments, **named)

    monkeypatch.setattr(module, name, counted)


@pytest.mark.parametrize("kind", SETTINGS)
def test_ctrl_c_at_random_steps(kind, tmp_path, monkeypatch):
    from swingby.training import differentiated, recording, written

    rng = random.Random(kind)
    setting = SETTINGS[kind]
    settings = [setting, replace(setting, seed=1)]
    expected = train(settings, record=3)
    assert len(expected.turns)
    stops = []
    for _ in range(5):
        with monkeypatch.context() as patch:
            after = rng.randrange(1, 120)
            interrupt_inside(patch, written, "descend", after)
            interrupt_inside(patch, differentiated, "descend", after)
            interrupt_inside(patch, recording, "follow", rng.randrange(2, 12))
            with pytest.raises(KeyboardInterrupt) as caught:
                train(settings, record=3, checkpoint=tmp_path)
        stops.append(int(caught.value.__notes__[0].split()[3].rstrip(";")))
    assert stops == sorted(stops)
    assert stops[-1] > 0
    run = train(settings, record=3, checkpoint=tmp_path)
    equal(run, expected)
    # What is done is not done again.
    monkeypatch.setattr(Course, "_chunk", None)
    equal(train(settings, record=3, checkpoint=tmp_path), expected)


@pytest.mark.parametrize("kind", ["adamw", "sgd"])
def test_ctrl_c_in_the_first_chunk(kind, tmp_path, monkeypatch):
    # AdamW knows nothing before its first step, and has to forget again what came after.
    from swingby.training import differentiated, written

    setting = SETTINGS[kind]
    with monkeypatch.context() as patch:
        interrupt_inside(patch, written, "descend", 3)
        interrupt_inside(patch, differentiated, "descend", 3)
        with pytest.raises(KeyboardInterrupt):
            train(setting, checkpoint=tmp_path)
    (path,) = tmp_path.glob("*")
    from safetensors.torch import load_file

    assert not [name for name in load_file(path) if "exp_avg" in name]
    equal(train(setting, checkpoint=tmp_path), train(setting))


SCRIPT = """
import sys
from swingby.training import Setting, train
import json
settings = [Setting.from_dict(one) for one in json.loads(sys.argv[1])]
print("ready", flush=True)
train(settings, checkpoint=sys.argv[2], every=0, record="log")
"""


@pytest.mark.parametrize("kind", ["sgd", "adamw"])
def test_a_killed_process(kind, tmp_path):
    import json

    setting = replace(SETTINGS[kind], epochs=1500 if kind == "sgd" else 400)
    settings = [setting, replace(setting, seed=1)]
    expected = train(settings, record="log")
    text = json.dumps([one.to_dict() for one in settings])
    environment = {**os.environ, "PYTHONPATH": str(Path(swingby.__file__).parents[1])}
    rng, killed = random.Random(kind), 0
    for _ in range(2):
        command = [sys.executable, "-c", SCRIPT, text, str(tmp_path)]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
        process.stdout.readline()
        end = time.monotonic() + 20
        while process.poll() is None and time.monotonic() < end:
            if list(tmp_path.glob("*.safetensors")):
                time.sleep(rng.uniform(0.1, 0.5))
                break
            time.sleep(0.005)
        killed += process.poll() is None
        process.kill()
        process.communicate()
    assert killed
    equal(train(settings, record="log", checkpoint=tmp_path), expected)


@pytest.fixture
def kept(tmp_path):
    """A folder with the checkpoint of a run that is done, and its file."""
    train(SETTINGS["sgd"], checkpoint=tmp_path)
    (path,) = tmp_path.glob("*")
    return tmp_path, path


def test_other_settings_are_another_file(kept):
    folder = kept[0]
    for other in (
        replace(SETTINGS["sgd"], seed=5),
        replace(SETTINGS["sgd"], precision="float64"),
        replace(SETTINGS["sgd"], task=SIMTask([1, 2], ["1/5", "1/4"], 4, rotation=np.eye(4)[::-1])),
    ):
        equal(train(other, checkpoint=folder), train(other))
    weights = train(SETTINGS["sgd"]).parameters(0)
    equal(
        train(SETTINGS["sgd"], start=weights, checkpoint=folder),
        train(SETTINGS["sgd"], start=weights),
    )
    assert len(list(folder.glob("*"))) == 5
    one, another = sorted(folder.glob("*"))[:2]
    one.write_bytes(another.read_bytes())
    name = one.name.split(".")[0]
    with pytest.raises(InvalidInput, match="must belong to these settings"):
        checkpoint.read(one, name)


class Bomb:
    """What a pickle would run."""

    def __reduce__(self):
        return (os.system, (f"touch {os.environ['SWINGBY_TEST_MARK']}",))


@pytest.mark.parametrize("damage", ["cut", "random", "empty", "pickle", "torch", "folder"])
def test_damaged_checkpoints_are_refused_and_nothing_is_run(kept, damage, monkeypatch, tmp_path):
    folder, path = kept
    mark = folder / "mark"
    monkeypatch.setenv("SWINGBY_TEST_MARK", str(mark))
    whole = path.read_bytes()
    if damage == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    elif damage == "random":
        path.write_bytes(random.Random(0).randbytes(5000))
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "pickle":
        path.write_bytes(pickle.dumps(Bomb()))
    elif damage == "torch":
        torch.save(Bomb(), path)
    else:
        path.unlink()
        path.mkdir()
    with pytest.raises(InvalidInput, match=r"^checkpoint must hold a checkpoint"):
        train(SETTINGS["sgd"], checkpoint=folder)
    assert not mark.exists()


@pytest.mark.parametrize("change", ["step", "shape", "missing", "text"])
def test_contents_that_do_not_fit_are_refused(kept, change):
    from safetensors.torch import load_file, save_file

    folder, path = kept
    tensors = load_file(path)
    header = {"identity": path.name.split(".")[0], "step": "64", "swingby": "0"}
    if change == "step":
        header["step"] = "100000000"
    elif change == "text":
        header["step"] = "many"
    elif change == "shape":
        tensors["engine weight0"] = torch.zeros(3)
    else:
        del tensors["engine weight1"]
    save_file(tensors, path, metadata=header)
    with pytest.raises(InvalidInput, match=r"^checkpoint must hold a checkpoint"):
        train(SETTINGS["sgd"], checkpoint=folder)


def test_folders_that_cannot_be_written_to_are_refused_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(Course, "_chunk", None)
    (tmp_path / "file").write_text("")
    for wrong in (tmp_path / "file", tmp_path / "file" / "below", "/proc/none", "a\0b"):
        with pytest.raises(InvalidInput, match="checkpoint must be a folder to write to"):
            train(SETTINGS["sgd"], checkpoint=wrong)
    for wrong in (3, True, b"x", "", " "):
        with pytest.raises(InvalidInput, match="checkpoint must be the path of a folder"):
            train(SETTINGS["sgd"], checkpoint=wrong)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
def test_a_folder_that_is_read_only_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InvalidInput, match="checkpoint must be a folder to write to"):
        train(SETTINGS["sgd"], checkpoint=tmp_path)
    tmp_path.chmod(0o700)


def test_a_disk_that_fills_up_leaves_the_older_state(kept, monkeypatch):
    import safetensors
    import safetensors.torch

    folder, path = kept
    whole = path.read_bytes()

    def full(tensors, name, metadata):
        Path(name).write_bytes(b"half")
        raise safetensors.SafetensorError("No space left on device")

    monkeypatch.setattr(safetensors.torch, "save_file", full)
    with pytest.raises(InvalidInput, match="No space left"):
        checkpoint.write(path, "name", 3, {"a": torch.zeros(2)}, torch)
    assert path.read_bytes() == whole
    assert list(folder.glob("*")) == [path]


def test_safetensors_that_is_not_installed_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors.torch", None)
    with pytest.raises(MissingExtra, match=r"safetensors is not installed.*swingby\[torch\]"):
        train(SETTINGS["sgd"], checkpoint=tmp_path)
