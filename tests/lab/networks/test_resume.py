"""Checkpoints: a run that was stopped anywhere ends bit for bit as one that was not."""

import functools
import json
import os
import pickle
import random
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import swingby
from swingby.errors import InvalidInput, MissingExtra
from swingby.lab.networks import Data, Network, Optimizer, Setting, batches, checkpoint, train
from swingby.theory.task import SIMTask
from tests.lab.networks import plain_loop

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
equal = plain_loop.assert_equal

pytestmark = pytest.mark.torch
full = functools.partial(pytest.param, marks=pytest.mark.full)

TASK = SIMTask([1, 2], ["1/5", "1/4"], dim=4)
SGD = Optimizer(lr=0.3, batch_size=16)
ADAMW = Optimizer("adamw", lr=0.01, batch_size=16, weight_decay=0.1, shuffle="epoch")
MOVING = Optimizer(lr=0.1, batch_size=16, momentum=0.9, nesterov=True, weight_decay=0.01)
ROTATED = Data(50, rotation=True)
SETTINGS = {
    "sgd": Setting(TASK, Data(50), Network(2, 5), SGD, epochs=60),
    "epoch": Setting(TASK, ROTATED, Network(), replace(SGD, lr=1.5, shuffle="epoch"), epochs=60),
    "relu": Setting(TASK, Data(50), Network(2, 8, "relu"), SGD, epochs=60),
    "adamw": Setting(TASK, Data(50), Network(2, 8, "gelu"), ADAMW, epochs=60),
    "momentum": Setting(TASK, Data(50), Network(2, 5), MOVING, epochs=60),
    "linear adamw": Setting(TASK, Data(50), Network(3, 5), ADAMW, epochs=60),
}


@pytest.fixture
def at_batch(monkeypatch):
    """``at_batch(n, act)``: something happens when the n-th batch from now on is asked for."""

    def call(place, act):
        calls = [0]
        for kind in (batches.Moments, batches.Points):
            original = kind.batch

            def counted(self, step, original=original):
                calls[0] += 1
                if calls[0] == place:
                    act()
                return original(self, step)

            monkeypatch.setattr(kind, "batch", counted)

    yield call
    monkeypatch.undo()


def interrupt():
    signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize(
    "kind", ["sgd", "epoch", "relu", "adamw", "momentum", full("linear adamw")]
)
def test_ctrl_c_at_random_steps(kind, tmp_path, at_batch):
    rng = random.Random(kind)
    settings = [SETTINGS[kind], replace(SETTINGS[kind], seed=1)]
    expected = train(settings, record=3)
    assert len(expected.turns)
    stops, before = [], signal.getsignal(signal.SIGINT)
    for place in (3, *(rng.randrange(1, 65) for _ in range(4))):
        at_batch(place, interrupt)
        with pytest.raises(KeyboardInterrupt) as caught:
            train(settings, record=3, checkpoint=tmp_path)
        stops.append(int(caught.value.__notes__[0].split()[3].rstrip(";")))
        (path,) = tmp_path.glob("*")
        assert caught.value.__notes__[0].endswith(f"; the same call goes on from {path}")
        assert checkpoint.read_state(path, path.stem)[0] == stops[-1]
        assert signal.getsignal(signal.SIGINT) is before
    assert stops == sorted(set(stops))
    assert stops[0] > 0
    assert stops[-1] < expected.steps[-1]
    at_batch(10_000, interrupt)
    equal(train(settings, record=3, checkpoint=tmp_path), expected)
    # What is done is not done again.
    at_batch(1, interrupt)
    equal(train(settings, record=3, checkpoint=tmp_path), expected)


def test_a_second_ctrl_c_does_not_wait(tmp_path, at_batch):
    at_batch(100, lambda: [interrupt(), interrupt()])
    with pytest.raises(KeyboardInterrupt):
        train(SETTINGS["relu"], checkpoint=tmp_path, every=0)
    (path,) = tmp_path.glob("*")
    assert 0 < checkpoint.read_state(path, path.stem)[0] < 100
    at_batch(10_000, interrupt)
    equal(train(SETTINGS["relu"], checkpoint=tmp_path), train(SETTINGS["relu"]))


def test_a_handler_of_one_s_own_may_let_training_go_on(tmp_path, at_batch):
    seen = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    try:
        at_batch(70, lambda: signal.raise_signal(signal.SIGTERM))
        equal(train(SETTINGS["sgd"], checkpoint=tmp_path), train(SETTINGS["sgd"]))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen == [signal.SIGTERM]


SCRIPT = """
import sys, json
from swingby.lab.networks import Setting, batches, train

def stopped(self, step, original=batches.Moments.batch):
    if step == 200:
        print("here", flush=True)
        sys.stdin.readline()
    return original(self, step)

batches.Moments.batch = stopped
train([Setting.from_dict(one) for one in json.loads(sys.argv[1])], checkpoint=sys.argv[2], every=0)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, full(signal.SIGKILL)])
def test_a_process_that_is_stopped(number, tmp_path):
    settings = [SETTINGS["sgd"], replace(SETTINGS["sgd"], seed=1)]
    text = json.dumps([one.to_dict() for one in settings])
    environment = {**os.environ, "PYTHONPATH": str(Path(swingby.__file__).parents[1])}
    command = [sys.executable, "-c", SCRIPT, text, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        # The process stands in the middle of a chunk and waits, whatever the machine does.
        assert process.stdout.readline() == b"here\n"
        process.send_signal(number)
        process.stdin.close()
        assert process.wait() == -number
    (path,) = tmp_path.glob("*.safetensors")
    step = checkpoint.read_state(path, path.stem)[0]
    assert (200 < step < 300) if number == signal.SIGTERM else (100 < step <= 200)
    equal(train(settings, checkpoint=tmp_path), train(settings))


@pytest.fixture
def kept(tmp_path, at_batch):
    """A folder with the checkpoint of a run that was stopped at step 7, and its file."""
    at_batch(3, interrupt)
    with pytest.raises(KeyboardInterrupt):
        train(SETTINGS["sgd"], record="log", checkpoint=tmp_path)
    at_batch(10_000, interrupt)
    (path,) = tmp_path.glob("*")
    return tmp_path, path


def test_other_settings_are_another_file(kept):
    folder, path = kept
    turn = np.eye(4)[::-1]
    sgd = SETTINGS["sgd"]
    weights = train(sgd).parameters(0)
    for other, start in (
        (replace(sgd, seed=5), None),
        (replace(sgd, precision="float64"), None),
        (replace(sgd, task=SIMTask([1, 2], ["1/5", "1/4"], 4, rotation=turn)), None),
        (sgd, weights),
    ):
        equal(train(other, start=start, checkpoint=folder), train(other, start=start))
    assert len(list(folder.glob("*"))) == 5
    another = next(one for one in folder.glob("*") if one != path)
    path.write_bytes(another.read_bytes())
    with pytest.raises(InvalidInput, match="must belong to these settings"):
        train(sgd, record="log", checkpoint=folder)


def test_a_checkpoint_of_another_format_is_left_alone(kept, monkeypatch):
    folder, path = kept
    content = path.read_bytes()
    monkeypatch.setattr("swingby.lab.networks.training.CHECKPOINT_FORMAT", 0)
    equal(
        train(SETTINGS["sgd"], record="log", checkpoint=folder),
        train(SETTINGS["sgd"], record="log"),
    )
    assert path.read_bytes() == content
    assert len(list(folder.glob("*"))) == 2


def refused(folder):
    said = r"^checkpoint must hold a checkpoint .*: to begin again, move it away"
    with pytest.raises(InvalidInput, match=said):
        train(SETTINGS["sgd"], record="log", checkpoint=folder)


def test_damaged_checkpoints_are_refused_and_nothing_is_run(kept, bomb):
    folder, path = kept
    whole = path.read_bytes()
    step, mapped = checkpoint.read_state(path, path.stem)
    tensors = {name: one.clone() for name, one in mapped.items()}  # the file goes below
    other_step = whole.replace(b'"step":"7"', b'"step":"8"')
    assert other_step != whole
    noise = random.Random(0).randbytes(5000)
    for damaged in (whole[: len(whole) // 2], noise, b"", pickle.dumps(bomb), other_step):
        path.write_bytes(damaged)
        refused(folder)
    torch.save(bomb, path)
    refused(folder)
    # Whole, but of other contents.
    missing = {name: one for name, one in tensors.items() if name != "0 weight1"}
    shaped = tensors | {"0 weight0": torch.zeros(3)}
    for at, contents in ((10**8, tensors), (step, missing), (step, shaped)):
        checkpoint.write_state(path, path.stem, at, contents, torch)
        refused(folder)
    path.unlink()
    path.mkdir()
    refused(folder)


def test_folders_that_cannot_be_written_to_are_refused_at_once(tmp_path, at_batch):
    at_batch(1, interrupt)
    (tmp_path / "file").write_text("")
    for wrong in (tmp_path / "file", tmp_path / "file" / "below", "/proc/none", "a\0b"):
        with pytest.raises(InvalidInput, match="checkpoint must be a folder to write to"):
            train(SETTINGS["sgd"], checkpoint=wrong)
    for wrong in (3, True, b"x", "", " "):
        with pytest.raises(InvalidInput, match="checkpoint must be the path of a folder"):
            train(SETTINGS["sgd"], checkpoint=wrong)
    if os.geteuid():  # nothing is read-only for root
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
        checkpoint.write_state(path, "name", 3, {"a": torch.zeros(2)}, torch)
    assert path.read_bytes() == whole
    assert list(folder.glob("*")) == [path]


def test_safetensors_that_is_not_installed_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors.torch", None)
    with pytest.raises(MissingExtra, match=r"safetensors is not installed.*swingby\[torch\]"):
        train(SETTINGS["sgd"], checkpoint=tmp_path)
