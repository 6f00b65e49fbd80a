"""Points of one's own: in every way of training the run of a plain loop on these points."""

import json
from dataclasses import replace

import numpy as np
import pytest

from swingby import cli
from swingby.errors import InvalidInput
from swingby.lab.networks import Data, Network, Optimizer, Setting, TrainingRun, read_samples, train
from swingby.theory.task import SIMTask
from tests.lab.networks import plain_loop as plain

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.torch

RNG = np.random.default_rng(0)
#: Three clusters in 4 dimensions along skew directions, that at the origin included.
TURN = np.linalg.qr(RNG.standard_normal((4, 4)))[0]
TASK = SIMTask([1, 2], ["1/5", "1/3"], 4)
X, LABELS = TASK.sample(20, rng=1, center_cluster=True, rotation=TURN)
Y = X @ RNG.standard_normal((4, 4)) + 0.1 * RNG.standard_normal(X.shape)
U = Network(2, width=4, bias=False, symmetric=True, initialization="gaussian", scale=0.2)
NETWORKS = [Network(), Network(3, 7), Network(2, 6, bias=False), U]


def by_hand(setting, targets, start, steps):
    """Full-batch training of a plain module with torch.optim; weights and last loss."""
    points, wanted = torch.tensor(X), torch.tensor(targets)
    module = plain.network(setting, start)
    adamw = setting.optimizer.kind == "adamw"
    kind = torch.optim.AdamW if adamw else torch.optim.SGD
    named = {"weight_decay": 0.0} if adamw else {}
    optimizer = kind(module.parameters(), lr=setting.optimizer.lr, **named)

    def loss():
        return 0.5 * (module(points) - wanted).square().sum(1).mean()

    for _ in range(steps):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    return [one.detach().numpy() for one in module.parameters()], float(loss().detach())


@pytest.mark.parametrize("targets", [None, Y], ids=["identity", "targets"])
@pytest.mark.parametrize("gradient", ["written", "autograd", "relu", "adamw"])
@pytest.mark.parametrize("network", NETWORKS, ids=["one", "three", "no bias", "symmetric"])
def test_weights_and_losses_are_those_of_the_formula(network, gradient, targets):
    if gradient == "relu":
        network = Network(3, 7, "relu", network.bias)
    samples = read_samples(X, targets, LABELS)
    adamw = gradient == "adamw"
    optimizer = Optimizer("adamw" if adamw else "gd", lr=0.01, batch_size=1000, loss="paper")
    task = SIMTask.from_samples(X, LABELS)
    setting = Setting(
        task, Data(samples=samples), network, optimizer, steps=30, precision="float64"
    )
    start = train(setting, gradient="auto", record=30).parameters(0)
    named = {"gradient": gradient if gradient in ("written", "autograd") else "auto"}
    run = train([setting, setting], start=[start, start], **named)
    weights, loss = by_hand(setting, X if targets is None else targets, start, 30)
    for own, expected in zip(run.parameters(1), weights, strict=True):
        assert np.abs(own - expected).max() < 1e-12
    assert run.train_loss[:, -1] == pytest.approx(loss, rel=1e-10)
    assert run.train_loss[0, -1] < run.train_loss[0, 0]


def test_batches_are_parts_of_the_points(tmp_path):
    # One epoch of an order of one's own: sgd on the permuted points is gd on each part.
    from swingby.lab.networks.training_points import batch_order

    network, sgd = Network(2, 5), Optimizer(lr=0.1, batch_size=24)
    setting = Setting(TASK, Data(samples=read_samples(X, Y)), network, sgd, steps=3)
    order = batch_order(setting, 0)
    weights = None
    for part in np.split(order, [24, 48]):
        gd = Optimizer("gd", lr=0.1)
        once = Setting(TASK, Data(), network, gd, steps=1)
        weights = train(once, start=weights, data=read_samples(X[part], Y[part])).parameters(0)
    for own, expected in zip(train(setting).parameters(0), weights, strict=True):
        assert np.abs(own - expected).max() < 1e-5


@pytest.mark.parametrize("rule", [Optimizer(lr=0.05), Optimizer("adam", 0.02)], ids=["sgd", "adam"])
@pytest.mark.parametrize("network", [Network(), Network(2, 5), Network(2, 6, "relu")], ids=repr)
def test_the_order_of_a_data_loader_is_replayed(network, rule):
    """Batches of 16 of 60 points, the last of an epoch of 12; three epochs less a step."""
    generator = torch.Generator().manual_seed(3)
    loader = torch.utils.data.DataLoader(range(60), 16, shuffle=True, generator=generator)
    taken = [rows for _ in range(3) for rows in loader][:-1]
    order = np.full((len(taken), 16), -1)
    for step, rows in enumerate(taken):
        order[step, : len(rows)] = rows
    samples = read_samples(X, Y, LABELS, order)
    setting = Setting(TASK, Data(samples=samples), network, rule, precision="float64")
    assert (setting.total_steps, setting.batch, setting.steps_per_epoch) == (11, 16, 4)
    start = train(replace(setting, steps=0)).parameters(0)
    module = plain.network(setting, start)
    optimizer = plain.optimizer_of(rule, module.parameters())
    for rows in taken:
        optimizer.zero_grad()
        points, wanted = torch.tensor(X)[rows], torch.tensor(Y)[rows]
        torch.nn.functional.mse_loss(module(points), wanted).backward()
        optimizer.step()
    # Beside a setting of the same points whose order is drawn.
    drawn = Data(samples=read_samples(X, Y))
    beside = replace(setting, data=drawn, optimizer=replace(rule, batch_size=16))
    run = train([setting, beside], start=[start, start])
    for own, expected in zip(run.parameters(0), module.parameters(), strict=True):
        assert np.abs(own - expected.detach().numpy()).max() < 1e-13


def test_an_order_with_replacement_from_a_file(tmp_path):
    order = np.random.default_rng(2).integers(0, len(X), (9, 100))
    np.savez(tmp_path / "mine.npz", X=X, order=order)
    samples = read_samples(tmp_path / "mine.npz")
    assert samples != read_samples(X)
    setting = Setting(TASK, Data(samples=samples), Network(2, 5), precision="float64")
    # Beside a network whose order is another.
    other = replace(setting, data=Data(samples=read_samples(X, order=order[::-1])), seed=4)
    run = train([setting, other])
    assert run.steps[-1] == 9
    assert np.abs(run.output[1] - train(other).output[0]).max() < 1e-13
    weights = train(replace(setting, steps=0)).parameters(0)
    for rows in order:
        gd = replace(setting, optimizer=Optimizer("gd"), data=Data(), steps=1)
        weights = train(gd, start=weights, data=read_samples(X[rows])).parameters(0)
    for own, expected in zip(run.parameters(0), weights, strict=True):
        assert np.abs(own - expected).max() < 1e-13
    assert Setting.from_dict(json.loads(json.dumps(setting.to_dict()))) == setting


def test_drawn_points_given_back_are_the_same_run():
    from swingby.lab.networks.training_points import directions, training_points

    base = Setting(TASK, Data(30, rotation=True), Network(2, 5), epochs=4, precision="float64")
    points, labels = training_points(base)
    turned = SIMTask(TASK.mu, TASK.sigma, 4, rotation=directions(base))
    again = Setting(turned, base.data, base.network, epochs=4, precision="float64")
    run = train(again, data=read_samples(points @ directions(base).T, None, labels))
    assert np.abs(run.output - train(base).output).max() < 1e-12


def test_files_and_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.savez("mine.npz", X=X, Y=Y, labels=LABELS)
    head = ",".join([*(f"{one}{k}" for one in "xy" for k in range(1, 5)), "label"])
    np.savetxt("mine.csv", np.column_stack([X, Y, LABELS]), delimiter=",", header=head, comments="")
    np.savetxt("comment.csv", np.column_stack([X, Y, LABELS]), delimiter=",", header=head)
    assert read_samples("mine.csv") == read_samples("comment.csv")
    np.savetxt("plain.csv", X, delimiter=",")
    assert read_samples("mine.npz") == read_samples("mine.csv") == read_samples(X, Y, LABELS)
    assert read_samples("plain.csv") == read_samples(X)
    assert len({read_samples(X), read_samples(X, Y), read_samples(X, None, LABELS)}) == 3
    options = "--depth 2 --epochs 5 --out run.npz --data"
    assert cli.run(["train", *options.split(), "mine.csv"]) in (0, 1)
    found = TrainingRun.load("run.npz")
    estimated = SIMTask.from_samples(X, LABELS)
    assert found.settings[0].task == estimated
    assert np.array_equal(found.settings[0].task.rotation, estimated.rotation)
    base = Setting(estimated, network=Network(2), epochs=5)
    assert np.array_equal(found.output, train(base, data="mine.npz").output)
    # Only the digest is kept with a run.
    assert (tmp_path / "run.npz").stat().st_size < 40_000
    with pytest.raises(InvalidInput, match="data must be given again"):
        train(found.settings)
    assert np.array_equal(
        train(found.settings, data=read_samples(X, Y, LABELS)).output, found.output
    )
    # What the user says of the task goes before what the points look like.
    capsys.readouterr()
    options = "--mu 1,2 --no-bias --epochs 2 --json --data"
    assert cli.run(["train", *options.split(), "plain.csv"]) in (0, 1)
    assert '"mu": [\n     "1",\n     "2"\n    ]' in capsys.readouterr().out


def replayed(**named):
    """A setting with the order of one step."""
    return Setting(TASK, Data(samples=read_samples(X, order=[[0, 1]])), **named)


WRONG = {
    "X must have shape": lambda: read_samples(X[0]),
    "X must be finite": lambda: read_samples(X * np.nan),
    "labels must have shape": lambda: read_samples(X, None, LABELS[1:]),
    "labels must be whole": lambda: read_samples(X, None, LABELS + 0.5),
    "X must have squares": lambda: read_samples(X * 1e200),
    "data must have as many columns": lambda: train(Setting(SIMTask([1, 2])), data=X),
    "samples must come without": lambda: Data(samples=read_samples(X), rotation=True),
    "samples must come from": lambda: Data(samples=X),
    "data must be a readable file of arrays": lambda: read_samples("none.npz"),
    r"order must have shape \(steps, batch\)": lambda: read_samples(X, order=[0, 1]),
    "order must be rows of X, 0 to 59": lambda: read_samples(X, order=[[0, 60]]),
    "order must have one in each step, got no point in step 1": lambda: read_samples(
        X, order=[[0, 1], [-1, -1]]
    ),
    "steps must be at most 1, those": lambda: replayed(steps=2),
    "kind takes all points in each step": lambda: replayed(optimizer=Optimizer("gd")),
    "momentum must be 0 for adam": lambda: Optimizer("adam", momentum=0.9),
    "momentum must be below 1": lambda: Optimizer(momentum=1),
    "nesterov needs momentum": lambda: Optimizer(nesterov=True),
}


@pytest.mark.parametrize("words", WRONG)
def test_what_does_not_fit_is_refused_by_name(words):
    with pytest.raises(InvalidInput, match=f"^({words})"):
        WRONG[words]()


#: Files of something else: their names, what is in them, and what is said.
FILES = {
    "text.csv": ("1,2\n3,four\n", "data must be a csv file of numbers"),
    "blank.csv": ("1,2\n3,\n", "data must be a csv file of numbers"),
    "head.csv": ("x1,x3\n3,4\n", "data must name the columns"),
    "array.npy": (X, "data must hold X"),
    "plain.csv": ("1.0,2\n3,4\n", "labels must be given with the points"),
    "other.npz": ({"Z": X}, "data must hold X"),
    "objects.npz": ({"X": np.array([{}], dtype=object)}, "data must be a file of arrays"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_something_else_are_one_line(name, tmp_path, monkeypatch, refused):
    monkeypatch.chdir(tmp_path)
    content, words = FILES[name]
    if isinstance(content, str):
        (tmp_path / name).write_text(content)
    elif isinstance(content, dict):
        np.savez(name, **content)
    else:
        np.save(name, content)
    line = refused(["train", "--data", name])
    assert line.startswith(f"swingby: {words}")
    if words.startswith("data"):
        assert f"got {name}" in line
