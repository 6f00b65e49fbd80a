"""The command network: files of layers, their modes, recorded runs, and exit codes."""

import json
import subprocess
import sys

import numpy as np
import pytest

from swingby import compare_network, predict_network
from swingby.cli import run
from tests.verify.plain_networks import draw

X, Y, LAYERS = draw(np.random.default_rng(5), (5, 8, 3), gap=0.6)
RULE = ["--data", "points.npz", "--lr", "0.05"]


def recorded(length, lr=0.05):
    W1, W2 = LAYERS
    for _ in range(length + 1):
        yield W1, W2
        rest = (X @ W1.T @ W2.T - Y).T @ X / len(X)
        W1, W2 = W1 - lr * W2.T @ rest, W2 - lr * rest @ W1.T


RECORDS = list(recorded(400))[::40]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)
    np.savez("points.npz", X=X, Y=Y)
    np.savez("start.npz", *LAYERS)
    for i, W in enumerate(LAYERS):
        np.save(f"W{i}.npy", W)
    for i, layers in enumerate(RECORDS):
        np.savez(f"run_{40 * i}.npz", *layers)
    stacks = [np.array(stack) for stack in zip(*RECORDS, strict=True)]
    np.savez("run.npz", W1=stacks[0], W2=stacks[1], steps=40 * np.arange(len(RECORDS)))
    for i, stack in enumerate(stacks):
        np.save(f"stack{i}.npy", stack)
    return tmp_path


@pytest.fixture
def called(capsys):
    def call(*words):
        code = run(["network", *words])
        return (code, *capsys.readouterr())

    return call


PATHS = [f"run_{40 * i}.npz" for i in range(len(RECORDS))]


@pytest.mark.parametrize("weights", [["start.npz"], ["W0.npy", "W1.npy"]])
def test_layers_in_files_are_predicted(weights, called):
    code, out, err = called(*weights, *RULE)
    schedule = predict_network(LAYERS, X=X, Y=Y, lr="0.05")
    assert (code, err) == (0, "")
    assert out == f"{schedule}\n"
    code, out, _ = called(*weights, *RULE, "--json", "--momentum", "0.5", "--nesterov")
    expected = predict_network(LAYERS, X=X, Y=Y, lr="0.05", momentum=0.5, nesterov=True)
    assert json.loads(out) == expected.to_dict()


@pytest.mark.parametrize(
    ("weights", "where"),
    [
        (sorted(PATHS), ["--every", "40"]),
        (PATHS, ["--steps", ",".join(str(40 * i) for i in range(len(RECORDS)))]),
        (["run.npz"], []),
        (["stack0.npy", "stack1.npy"], ["--every", "40"]),
    ],
)
def test_recorded_runs_are_compared(weights, where, called):
    code, out, err = called(*weights, *where, *RULE)
    assert (code, err) == (0, "")
    assert out == f"{compare_network(RECORDS, X=X, Y=Y, lr='0.05', every=40)}\n"
    assert json.loads(called(*weights, *where, *RULE, "--json")[1])["verdict"] == "holds"


@pytest.mark.parametrize("name", ["W.npy", "W.npz"])
def test_recorded_products_are_compared_with_layers_at_the_start(name, called):
    W = np.array([W2 @ W1 for W1, W2 in RECORDS])
    np.save("W.npy", W)
    np.savez("W.npz", W)
    expected = compare_network(LAYERS, observed=W, X=X, Y=Y, lr="0.05", every=40)
    for start in (["start.npz"], ["W0.npy", "W1.npy"]):
        code, out, err = called(*start, "--observed", name, "--every", "40", *RULE)
        assert (code, out, err) == (0, f"{expected}\n", "")
    for words in (["run.npz"], [*PATHS, "--every", "40"]):
        code, _, err = called(*words, "--observed", name, *RULE)
        assert code == 2
        assert "with only the layers of step 0" in err


@pytest.mark.parametrize("name", ["W.npy", "W.npz"])
def test_products_are_not_the_steps_of_one_layer(name, called):
    W = np.array([W2 @ W1 for W1, W2 in RECORDS])
    np.save("W.npy", W)
    np.savez("W.npz", W)
    code, _, err = called(name, "--every", "40", *RULE)
    assert code == 2
    assert f"give the layers of step 0, and --observed {name}" in err
    np.savez("one.npz", W1=np.stack([np.zeros((3, 5))] * 2))
    assert "W1=..." not in called("one.npz", "--every", "1", *RULE)[2]


def test_safetensors_of_torch(called):
    save = pytest.importorskip("safetensors.numpy").save_file
    save({f"{i}.weight": W for i, W in enumerate(LAYERS)}, "start.safetensors")
    save({"X": X, "Y": Y}, "points.safetensors")
    out = called("start.safetensors", "--data", "points.safetensors", "--lr", "0.05")[1]
    assert out == called("start.npz", *RULE)[1]


def test_exit_codes_say_how_it_came_out(called):
    slow = [*list(recorded(80))[::40], *RECORDS[2:4], *RECORDS[3:4] * 10]
    stacks = dict(zip(("W1", "W2"), map(np.array, zip(*slow, strict=True)), strict=True))
    np.savez("slow.npz", **stacks)
    code, out, _ = called("slow.npz", *RULE, "--every", "40")
    assert code == 1
    assert "fails: outside the bar: mode" in out
    code, out, _ = called("start.npz", *RULE, "--gradients", "20")
    assert code == 3
    assert "beyond the budget of 20 gradients" in out
    assert called("start.npz", *RULE, "--budget", "1ms")[0] == 4


WRONG = {
    "no data": (["start.npz", "--lr", "1"], "data must be given: --data points.npz"),
    "no lr": (["start.npz", "--data", "points.npz"], "lr must be given: --lr 0.01"),
    "no weights": (RULE, "Missing argument"),
    "no Y": (
        ["start.npz", "--data", "start.npz", "--lr", "1"],
        "must hold X and Y, one sample per row",
    ),
    "a file that is not there": (["none.npz", *RULE], "No such file"),
    "a pickle": (["model.pt", *RULE], "must not be a pickle"),
    "a table": (["start.csv", *RULE], "must end in .safetensors or .npz"),
    "data in a table": (["start.npz", "--data", "x.csv", "--lr", "1"], "data must end in"),
    "every of one": (["start.npz", *RULE, "--every", "2"], "must not be given with one record"),
    "no steps": ([*PATHS, *RULE], "every=40 by their names"),
    "another lr": ([*PATHS, "--every", "40", *RULE[:2], "--lr", "0.5"], "lr near 0.05"),
    "another loss": ([*PATHS, "--every", "40", *RULE, "--loss", "mse"], 'loss="half"'),
    "steps that are none": (["run.npz", *RULE, "--steps", "0,x"], "must be a number"),
    "eta": (["start.npz", *RULE, "--eta", "1"], "No such option --eta"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input_is_a_line_and_code_2(name, called):
    words, reason = WRONG[name]
    code, out, err = called(*words)
    assert (code, out) == (2, "")
    assert reason in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("ending", ["json", "md", "tex", "html", "txt", "csv", "png", "svg"])
@pytest.mark.parametrize("words", [["start.npz"], ["run.npz"]])
def test_results_go_to_files(words, ending, called, folder):
    code, out, _ = called(*words, *RULE, "--out", f"out.{ending}")
    assert (code, out) == (0, "")
    content = (folder / f"out.{ending}").read_bytes()
    assert len(content) > 100
    if ending == "csv":
        assert len(content.splitlines()) == 4


def test_tables_fit_a_terminal_and_interruption_is_130(called, monkeypatch):
    for width in (60, 80):
        monkeypatch.setenv("COLUMNS", str(width))
        for words in (["start.npz"], ["run.npz"]):
            assert max(map(len, called(*words, *RULE)[1].splitlines())) <= width

    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("swingby.verify.predict_network.predict_network", interrupt)
    code, out, err = called("start.npz", *RULE)
    assert (code, out, err.strip()) == (130, "", "swingby: interrupted")


def test_a_reader_that_left_gives_141(folder):
    call = [sys.executable, "-m", "swingby", "network", "start.npz", *RULE]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        child.stdout.close()
        assert child.stderr.read() == b""
    assert child.returncode == 141
