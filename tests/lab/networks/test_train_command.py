"""swingby train: as a user runs it."""

import json
import re
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from swingby import cli
from swingby.lab.networks import (
    Data,
    Network,
    Optimizer,
    Setting,
    TrainingRun,
    batches,
    read_samples,
    train,
)
from swingby.theory import input_files
from swingby.theory.task import SIMTask

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.torch

TASK = ["--mu", "1,2", "--sigma", "0.2,0.1", "--points-per-class", "40"]


@pytest.fixture(autouse=True)
def workplace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    return tmp_path


def run(*arguments):
    return cli.run(["train", *TASK, *arguments])


def test_a_table_and_exit_code_0_where_all_is_learned(capsys):
    assert run("--lr", "0.5", "--seeds", "2") == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("2 networks: 1 layer, linear, d = 2; sgd, lr 0.5, torch loss")
    assert "Half-times by concept" in captured.out
    assert captured.err == ""


def test_exit_code_1_where_something_is_not_learned(capsys):
    assert run("--lr", "1e-6", "--epochs", "1") == 1
    assert "never" in capsys.readouterr().out


def test_a_network_that_diverges_is_named_and_has_no_half_times(capsys):
    """The exact gradient of a mean over d = 2 entries: stable up to lr = 2 over the top moment."""
    exact = ("--mu", "1,2", "--sigma", "0.2,0.1", "--points-per-class", "inf", "--optimizer", "gd")
    signal = 0.1**2 + 2**2 / 2
    # Of (x, 1), as the layer has biases.
    moments = np.array([[0.2**2 + 0.5, 0, 0.5], [0, signal, 1.0], [0.5, 1.0, 1.0]])
    critical = 2 / np.linalg.eigvalsh(moments)[-1]
    for share, code, outcome in ((0.99, 0, "learned"), (1.05, 1, "diverged")):
        lr = repr(float(share * critical))
        assert cli.run(["train", *exact, "--lr", lr, "--steps", "3000", "--json"]) == code
        found = json.loads(capsys.readouterr().out)["concepts"]
        assert {one["outcome"] for one in found} == {outcome}
        assert all((one["half_time"] is None) == (code == 1) for one in found)
    # Long before any number overflows.
    assert run("--lr", "1.5", "--steps", "6") == 1
    assert "diverged" in capsys.readouterr().out


def test_initial_weights_from_a_file(workplace, refused, monkeypatch):
    """A run from the weights of another one's end goes on; files of other things are refused."""
    setting = Setting(SIMTask([1, 2], ["0.2", "0.1"]), Data(40), Network(2), epochs=2)
    first = train(setting)
    np.savez(workplace / "end.npz", *first.parameters(0))
    options = ["--depth", "2", "--epochs", "2", "--out", "run.npz"]
    assert run(*options, "--start", "end.npz") in (0, 1)
    went_on = TrainingRun.load(workplace / "run.npz")
    expected = train(setting, start=first.parameters(0))
    assert np.array_equal(went_on.output, expected.output)
    assert np.abs(went_on.output[0, 0] - first.output[0, -1]).max() < 1e-6
    np.savez(workplace / "objects.npz", np.array([{}], dtype=object))
    (workplace / "text.npz").write_text("no archive")
    np.savez_compressed(workplace / "bomb.npz", np.zeros(1 << 10))
    monkeypatch.setattr(input_files, "MOST_BYTES", 1 << 12)
    for name in ("objects", "text", "bomb", "missing", "run"):
        said = refused(["train", *TASK, *options, "--start", f"{name}.npz"])
        assert said.startswith("swingby: start must")


def test_every_option_reaches_the_setting(workplace):
    text = (
        "--dim 4 --depth 3 --width 6 --activation gelu --no-bias --initialization gaussian "
        "--scale 0.4 --optimizer adamw --lr 0.01 --batch-size 16 --loss paper --shuffle epoch "
        "--weight-decay 0.1 --epochs 4 --center-cluster --rotation --truncation 0.3 "
        "--free-sigma 0.05 --seed 5 --seeds 2 --record 3 --precision float64 --out run.npz "
        "--checkpoint kept --plot run.pdf"
    )
    assert run(*text.split()) in (0, 1)
    found = TrainingRun.load("run.npz")
    expected = Setting(
        SIMTask([1, 2], ["0.2", "0.1"], 4),
        Data(40, True, True, 0.3, 0.05),
        Network(3, 6, "gelu", False, False, "gaussian", 0.4),
        Optimizer("adamw", 0.01, 16, "paper", "epoch", 0.1),
        epochs=4,
        seed=5,
        precision="float64",
    )
    assert found.settings[0] == expected
    assert [one.seed for one in found.settings] == [5, 6]
    assert found.steps.tolist() == [0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 32]
    assert np.abs(found.output[0] - train(expected, record=3).output[0]).max() < 1e-12
    assert (workplace / "run.pdf").read_bytes()[:4] == b"%PDF"
    assert len(list((workplace / "kept").glob("*.safetensors"))) == 1


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ("--momentum 0.9 --weight-decay 0.01", {"momentum": 0.9, "weight_decay": 0.01}),
        ("--momentum 1/2 --nesterov", {"momentum": 0.5, "nesterov": True}),
        ("--optimizer adam --weight-decay 0.1", {"kind": "adam", "weight_decay": 0.1}),
    ],
)
def test_the_rules_of_torch_are_those_of_train(options, rule, capsys):
    assert run(*f"{options} --lr 0.02 --steps 20 --out run.npz".split()) in (0, 1)
    assert TrainingRun.load("run.npz").settings[0].optimizer == Optimizer(lr=0.02, **rule)
    assert ("Nesterov momentum 0.5" in capsys.readouterr().out) == ("nesterov" in rule)


@pytest.mark.parametrize("name", ["order.npy", "order.npz"])
def test_an_order_of_points_is_replayed(name, workplace):
    rng = np.random.default_rng(0)
    X = np.repeat(np.eye(3)[:2], 20, axis=0) * [1, 2, 0] + 0.05 * rng.standard_normal((40, 3))
    order = np.stack([rng.permutation(40)[:7] for _ in range(30)])
    np.savez("mine.npz", X=X)
    np.save("order.npy", order)
    np.savez("order.npz", order=order)
    options = f"--data mine.npz --order {name} --steps 30 --precision float64 --out run.npz"
    assert cli.run(["train", *TASK[:4], *options.split()]) in (0, 1)
    data = Data(samples=read_samples(X, order=order))
    setting = Setting(SIMTask([1, 2], ["0.2", "0.1"], 3), data, steps=30, precision="float64")
    np.testing.assert_array_equal(TrainingRun.load("run.npz").output, train(setting).output)


def test_infinite_data_and_the_symmetric_network(capsys):
    options = "--points-per-class inf --optimizer gd --steps 60 --lr 0.2 --symmetric --json"
    code = run(*options.split())
    found = json.loads(capsys.readouterr().out)
    assert found["settings"][0]["data"]["n_per_class"] is None
    assert found["settings"][0]["network"]["symmetric"] is True
    assert code == (1 if any(one["half_time"] is None for one in found["concepts"]) else 0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--lr", "nan"], "lr must be a number"),
        (["--seeds", "1e9"], "seeds must be at most"),
        (["--points-per-class", "inf"], "steps must be given for infinite data"),
        (["--record", "seldom"], "record must be a number"),
        (["--device", "cuda:9999"], "device"),
        (["--out", "run.csv"], "out must end in .npz"),
        (["--width"], "requires an argument"),
        (["--sigma", "1"], "sigma must have as many values as mu"),
        (["--nesterov"], "nesterov needs momentum, such as 0.9"),
        (["--momentum", "1"], "momentum must be below 1"),
        (["--optimizer", "adam", "--momentum", "0.9"], "momentum must be 0 for adam"),
        (["--order", "o.npy"], "order must not be given but with points: --data mine.npz"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(refused, arguments, words):
    assert words in refused(["train", *TASK, *arguments])


def test_without_mu_or_torch(refused, monkeypatch):
    assert refused(["train"]) == "swingby: mu must be given: --mu 1,2\n"
    monkeypatch.setitem(sys.modules, "torch", None)
    assert "pip install" in refused(["train", *TASK])


def test_ctrl_c_is_one_line_and_the_same_command_goes_on(capsys, monkeypatch):
    original = batches.Points.batch

    def interrupted(self, step):
        if step == 100:
            signal.raise_signal(signal.SIGINT)
        return original(self, step)

    text = "--depth 2 --activation relu --batch-size 16 --epochs 40 --checkpoint kept"
    options = text.split()
    with monkeypatch.context() as patch:
        patch.setattr(batches.Points, "batch", interrupted)
        assert run(*options) == 130
    captured = capsys.readouterr()
    (file,) = Path("kept").glob("*")
    where = f"the same call goes on from {file}"
    assert captured.out == ""
    assert re.fullmatch(
        rf"swingby: interrupted; stopped at step \d+; {re.escape(where)}", captured.err.strip()
    )
    run(*options, "--out", "run.npz")
    task, network = SIMTask([1, 2], ["0.2", "0.1"]), Network(2, activation="relu")
    setting = Setting(task, Data(40), network, Optimizer(batch_size=16), epochs=40)
    assert np.array_equal(TrainingRun.load("run.npz").output, train(setting).output)
