"""What is recorded along a run: Jacobian, half-times, turns of the loss, and the losses."""

import itertools
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from swingby.errors import InvalidInput
from swingby.lab.networks import Data, Network, Optimizer, Setting, train
from swingby.lab.networks.recorder import loss_steps, recorded_steps
from swingby.lab.networks.training_points import directions
from swingby.theory.task import SIMTask
from tests.lab.networks import plain_loop as plain

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.torch

TASK = SIMTask([1, 2, 1.4], ["1/5", "1/4", "1/6"], dim=5)
DATA = Data(n_per_class=40, rotation=True)
KINDS = [
    (Network(), Optimizer(lr=0.4, batch_size=32)),
    (Network(3, 8), Optimizer("adamw", lr=0.02, batch_size=32)),
    (Network(3, 9, "relu"), Optimizer(lr=0.4, batch_size=32)),
    (Network(2, 9, "gelu"), Optimizer("adamw", lr=0.02, batch_size=32)),
    (
        Network(2, 4, bias=False, symmetric=True, initialization="gaussian", scale=0.3),
        Optimizer(lr=0.2, batch_size=32),
    ),
]


@pytest.mark.parametrize(("network", "optimizer"), KINDS)
def test_the_jacobian_is_that_of_torch_func(network, optimizer):
    setting = Setting(TASK, DATA, network, optimizer, steps=25, precision="float64")
    run = train(setting)
    module = plain.network(setting, run.parameters(0))
    frame = directions(setting)
    point = torch.tensor(frame @ TASK.test_point)
    found = torch.func.jacrev(module)(point).detach().numpy()
    along = frame[:, :3]
    assert np.abs(run.jacobian[0, -1] - along.T @ found @ along).max() < 1e-12
    # All 2^s test points (B.1), and the loss at each.
    for place, v in enumerate(run.index):
        chosen = np.concatenate([np.array(v) * TASK.test_point[:3], np.zeros(2)])
        output = module(torch.tensor(frame @ chosen)).detach().numpy()
        assert np.abs(run.output[0, -1, place] - output @ along).max() < 1e-12
        loss = 0.5 * np.square(output - frame @ chosen).sum()
        assert run.point_loss[0, -1, place] == pytest.approx(loss, rel=1e-10)


def by_hand(values):
    """First step with at least one half, nan where there is none; values of shape (n, s)."""
    reached = values >= 0.5
    return np.where(reached.any(axis=0), reached.argmax(axis=0), np.nan)


@pytest.mark.parametrize(("network", "optimizer"), KINDS[:3])
def test_half_times_are_those_of_every_step_whatever_is_kept(network, optimizer):
    base = Setting(TASK, DATA, network, optimizer, steps=150, precision="float64")
    settings = [replace(base, seed=seed) for seed in range(3)]
    whole = train(settings, record="every")
    share = whole.output[:, :, -1] / whole.points[:, None, -1]
    slope = np.diagonal(whole.jacobian, axis1=2, axis2=3)
    assert np.isfinite(whole.half_times).any()
    for run in (whole, *(train(settings, record=record) for record in ("log", 7, 1000, None))):
        for k in range(3):
            assert np.array_equal(run.half_times[k], by_hand(share[k]), equal_nan=True)
            assert np.array_equal(run.jacobian_half_times[k], by_hand(slope[k]), equal_nan=True)
        assert np.array_equal(run.turns, whole.turns)
        assert np.array_equal(run.output, whole.output[:, run.steps])


def zigzag(loss, least):
    """Extrema of a curve between which it moves by more than `least`, read from the definition."""
    kept, heading, best = [], 0, 0
    for step in range(1, len(loss)):
        if not heading and abs(loss[step] - loss[0]) > least:
            heading = 1 if loss[step] > loss[0] else -1
            kept.append((0, "min" if heading > 0 else "max"))
            best = step
        elif heading and heading * loss[step] > heading * loss[best]:
            best = step
        elif heading and heading * (loss[best] - loss[step]) > least:
            kept.append((best, "max" if heading > 0 else "min"))
            heading, best = -heading, step
    if heading:
        kept.append((best, "max" if heading > 0 else "min"))
    return [(step, float(loss[step]), kind) for step, kind in kept]


@pytest.mark.parametrize("least", [0.001, 0.01, 0.1])
def test_extrema_are_the_zigzag_of_the_loss(least):
    # Learning rates and batches for which the loss turns often.
    optimizer = Optimizer(lr=1.2, batch_size=8, shuffle="epoch")
    network = Network(3, 8, scale=0.6)
    base = Setting(TASK, DATA, network, optimizer, steps=400, precision="float64")
    settings = [replace(base, seed=seed) for seed in range(6)]
    settings += [replace(one, optimizer=replace(one.optimizer, lr=0.3)) for one in settings]
    run = train(settings)
    assert run.descents(0.001).max() > 5
    for k in range(len(run)):
        expected = zigzag(run.test_loss[k], least * run.test_loss[k, 0])
        assert run.extrema(k, least) == expected
        falls = sum(a[2] == "max" for a in expected[:-1])
        assert run.descents(least)[k] == falls


def test_a_run_that_diverges_says_so_in_numbers():
    setting = Setting(TASK, DATA, Network(2), Optimizer(lr=1e6, batch_size=32), steps=200)
    run = train(setting)
    assert not np.isfinite(run.test_loss[0, -1])
    assert json.dumps(run.to_dict(), allow_nan=False)
    assert "nan" in str(run) or "inf" in str(run)
    assert len(run.extrema(0)) >= 1


def test_steps_that_are_kept():
    assert recorded_steps(None, 10_000).tolist() == list(range(10_001))
    assert len(recorded_steps(None, 10_001)) < 400
    log = recorded_steps("log", 100_000)
    assert (log[0], log[-1]) == (0, 100_000)
    assert (np.diff(log) > 0).all()
    assert (np.diff(log) <= 0.02 * log[:-1] + 1).all()
    assert recorded_steps(3, 10).tolist() == [0, 3, 6, 9, 10]
    setting = Setting(TASK, DATA, optimizer=Optimizer(batch_size=32), steps=10)
    assert loss_steps(setting).tolist() == [0, 4, 8, 10]

    for wrong in (0, -1, True, 2.5, "often", float("nan"), [1], 10**40):
        with pytest.raises(InvalidInput, match="record"):
            recorded_steps(wrong, 100)


def test_how_a_run_is_shown(tmp_path):
    base = Setting(TASK, DATA, optimizer=Optimizer(lr=0.4, batch_size=32), epochs=10)
    run = train([replace(base, seed=seed) for seed in range(30)])
    text = str(run)
    assert text.startswith("30 networks: 1 layer, linear, d = 5; sgd, lr 0.4, torch loss")
    assert "... and 6 more networks." in text
    frame = run.to_frame()
    assert len(frame) == 90
    assert frame["half_time"].iloc[4] == run.half_times[1, 1]
    assert run.to_dict()["concepts"][4]["half_time_epochs"] == run.half_times[1, 1] / 4
    assert repr(run) == "<TrainingRun 30 networks, 40 steps>"
    for ax, name in ((run.plot(), "30 networks"), (run.plot_losses(), "at the test point")):
        assert name in [one.get_text() for one in ax.get_legend().get_texts()]
    run.save_picture(tmp_path / "out.png")
    with pytest.raises(InvalidInput, match="must end in"):
        run.save_picture(tmp_path / "out.gif")
    alone = train(Setting(SIMTask([1]), Data(20), optimizer=Optimizer("gd"), steps=5))
    alone.save_picture(tmp_path / "one.png")
    with pytest.raises(InvalidInput, match="two concepts"):
        alone.plot()


def test_progress_counts_networks_in_plain_words(monkeypatch, capsys):
    clock = itertools.count(step=10)
    ticking = SimpleNamespace(monotonic=lambda: next(clock))
    monkeypatch.setattr("swingby.report.progress.time", ticking)
    monkeypatch.setattr("swingby.report.progress.EVERY", 5.0)
    base = Setting(TASK, DATA, optimizer=Optimizer(lr=0.4, batch_size=32), epochs=1)
    for count, words in ((1, "1 network"), (2, "2 networks")):
        train([replace(base, seed=seed) for seed in range(count)], progress=True)
        lines = capsys.readouterr().err.splitlines()
        assert lines[-1] == f"swingby: {words}, 4 of 4 steps"
