"""TrainingRun.save and load: everything comes back, and nothing is ever unpickled."""

import json
from dataclasses import replace

import numpy as np
import pytest

from swingby.errors import InvalidInput
from swingby.lab.networks import Data, Network, Optimizer, Setting, TrainingRun, train
from swingby.lab.networks.training_run import FORMAT
from swingby.report.files import write_arrays
from swingby.theory.input_files import read_arrays
from swingby.theory.task import SIMTask
from tests.lab.networks import plain_loop

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.torch

TASK = SIMTask([1, "1/3"], ["1/5", 0.25], dim=4)
REFUSED = r"^path must be a (readable )?file of (TrainingRun\.save|arrays)"


@pytest.fixture(scope="module")
def run():
    base = Setting(TASK, Data(20, rotation=True), Network(2, 5), Optimizer(lr=0.3), steps=30)
    other = replace(base, seed=3, task=SIMTask([1, 2], rotation=np.eye(4)[::-1], dim=4))
    return train([base, other])


def test_everything_comes_back(run, tmp_path):
    run.save(tmp_path / "run.npz")
    again = TrainingRun.load(tmp_path / "run.npz")
    plain_loop.assert_equal(again, run)
    assert np.array_equal(again.settings[1].task.rotation, run.settings[1].task.rotation)
    for wrong in (tmp_path, tmp_path / "none" / "run.npz"):
        with pytest.raises(InvalidInput, match="out must be writable"):
            run.save(wrong)


def test_training_writes_its_run_and_refuses_the_place_before(run, tmp_path, monkeypatch):
    settings = list(run.settings)
    plain_loop.assert_equal(train(settings, out=tmp_path / "run.npz"), run)
    plain_loop.assert_equal(TrainingRun.load(tmp_path / "run.npz"), run)
    monkeypatch.setattr("swingby.lab.networks.training.descend", None)
    for wrong in (tmp_path / "none" / "run.npz", tmp_path / "run.npz" / "run.npz", tmp_path, 3):
        with pytest.raises(InvalidInput, match=r"^out must be"):
            train(settings, out=wrong)


@pytest.mark.parametrize(
    "setting",
    [
        Setting(TASK, Data(3, True, True, 0.5, 0.1), Network(2, 7, "gelu"), epochs=3, seed=2**60),
        Setting(TASK, Data(None), optimizer=Optimizer("gd", 0.3, loss="paper"), steps=7),
        Setting(SIMTask.from_signal(["1/3", 0]), Data(None), optimizer=Optimizer("gd"), steps=1),
    ],
)
def test_settings_as_json(setting):
    assert Setting.from_dict(json.loads(json.dumps(setting.to_dict()))) == setting


@pytest.mark.parametrize("name", ["output", "facts", "another", "weights0"])
def test_objects_are_refused_and_nothing_is_run(run, name, tmp_path, bomb):
    run.save(tmp_path / "run.npz")
    held = read_arrays(tmp_path / "run.npz", "path") | {name: np.array([bomb], dtype=object)}
    np.savez(tmp_path / "run.npz", **held)
    wrong = (tmp_path / "run.npz", tmp_path, tmp_path / "none.npz", "", "a\0b")
    for path in wrong:
        with pytest.raises(InvalidInput, match=REFUSED):
            TrainingRun.load(path)


def test_other_contents_are_refused(run, tmp_path):
    path = tmp_path / "run.npz"
    run.save(path)
    held = read_arrays(path, "path")
    facts = json.loads(str(held.pop("facts")))
    del facts["sha256"]
    headers = ({"format": 2}, {"format": FORMAT})
    headers += ({"format": FORMAT, "settings": 3, "index": [], "weights": 0},)
    changes = [{"more": np.zeros(3)}, {"jacobian": np.array("text")}, {"output": np.zeros(3)}]
    changes += [{"half_times": np.zeros((3, 2))}, {"turns": np.zeros((4, 3))}]
    fewer = {name: one for name, one in held.items() if name != "output"}
    files = [(one, held) for one in headers] + [(facts, held | one) for one in changes]
    for header, arrays in [*files, (facts, fewer)]:
        write_arrays(path, header, arrays)
        with pytest.raises(InvalidInput, match=REFUSED):
            TrainingRun.load(path)


def test_settings_that_make_no_sense_are_refused():
    plain = Setting(TASK).to_dict()
    signal = {**plain["task"], "signal": ["1e999999999", "1", "0", "0"]}
    skew = {**plain["task"], "rotation": [[1, 0], [0, 2]]}
    wrong = [{**plain, "task": one} for one in (signal, skew)]
    for other in (*wrong, None, [], {}, {"task": 3}, {**plain, "network": {"depth": "x"}}, 3):
        with pytest.raises(InvalidInput):
            Setting.from_dict(other)
