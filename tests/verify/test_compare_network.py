"""Recorded weights of linear networks: in every form they come in, against loops of our own."""

import copy
import inspect
import itertools
import json
import math
import warnings

import numpy as np
import pytest

from swingby import (
    InvalidInput,
    NetworkComparison,
    SIMTask,
    SwingbyWarning,
    compare,
    compare_network,
    predict_network,
)
from tests.verify.plain_networks import components as principal
from tests.verify.plain_networks import draw, levels, multiple_of

X, Y, START = draw(np.random.default_rng(5), (5, 8, 3), gap=0.6)
X3, Y3, DEEP = draw(np.random.default_rng(6), (5, 5, 5, 3), scale=0.1, gap=0.7)


def run(X, Y, layers, lr, length, *, rows=None, loss="half", weight_decay=0, **rule):
    """Layers at every step by the gradient of the loss as it is written."""
    momentum, nesterov = rule.get("momentum", 0), rule.get("nesterov", False)
    records, velocity = [], [0.0] * len(layers)
    for step in range(length + 1):
        records.append(layers)
        x, y = (X, Y) if rows is None else (X[rows(step)], Y[rows(step)])
        hidden = list(itertools.accumulate(layers, lambda h, W: h @ W.T, initial=x))
        back = multiple_of(loss, len(x), y.shape[1]) * (hidden[-1] - y) / len(x)
        slopes = []
        for i in reversed(range(len(layers))):
            slopes.insert(0, back.T @ hidden[i] + weight_decay * layers[i])
            back = back @ layers[i]
        velocity = [momentum * v + slope for v, slope in zip(velocity, slopes, strict=True)]
        moves = velocity
        if nesterov:
            moves = [slope + momentum * v for slope, v in zip(slopes, velocity, strict=True)]
        layers = [W - lr * move for W, move in zip(layers, moves, strict=True)]
    return records


def first_steps(X, Y, records):
    """First steps with a_k >= 1/2, off the outputs; inf where there is none."""
    parts = principal(X, Y)
    above = np.array([levels(X, layers, parts) for layers in records]) >= 0.5
    return np.where(above.any(axis=0), above.argmax(axis=0), np.inf)


RULE = {"lr": 0.05}
RECORDS = run(X, Y, START, 0.05, 900)
HALF = first_steps(X, Y, RECORDS)
#: Data, length, and the rule of training, in the words of the public function.
CELLS = {
    "two layers": ((X, Y, START), 900, RULE),
    "mse": ((X, Y, START), 1200, {"lr": 0.06, "loss": "mse"}),
    "momentum": ((X, Y, START), 500, {"lr": 0.02, "momentum": 0.8}),
    "Nesterov, decay": (
        (X, Y, START),
        900,
        {"lr": 0.01, "momentum": 0.9, "nesterov": True, "weight_decay": 0.02},
    ),
    "a mode that decay forbids": ((X, Y, START), 1500, {"lr": 0.05, "weight_decay": 0.45}),
    "three layers": ((X3, Y3, DEEP), 1500, {"lr": 0.05}),
    "one layer": ((X, Y, [START[1] @ START[0]]), 200, {"lr": 0.1}),
}


@pytest.mark.parametrize("every", [1, 13, 60])
@pytest.mark.parametrize("cell", CELLS)
def test_half_times_lie_between_the_records_that_show_them(cell, every):
    (X, Y, start), length, rule = CELLS[cell]
    records = run(X, Y, start, length=length, **rule)
    exact = first_steps(X, Y, records)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = compare_network(records[::every], X=X, Y=Y, every=every, **rule)
    assert table.verdict == "holds"
    last = (len(records) - 1) // every * every
    for row, step in zip(table.rows, exact, strict=True):
        assert row.verdict == "holds"
        if step > last:
            assert math.isinf(row.by)
            assert math.isnan(row.off_by)
            continue
        assert row.by - row.after == every
        assert row.after < step <= row.by
        assert row.predicted == step
        assert row.off_by == 0
    np.testing.assert_array_equal(table.half_times, np.ceil(exact / every) * every)
    assert table.largest_error == 0


THIRTY = RECORDS[::30]
AT = np.arange(0, 901, 30)
STACKS = [np.array(stack) for stack in zip(*THIRTY, strict=True)]
PRODUCTS = np.array([W2 @ W1 for W1, W2 in RECORDS])
NAMED = [{"0.weight": W1, "1.weight": W2} for W1, W2 in THIRTY]


def saved(folder, form):
    """Files of the records, and what is given of them."""
    if form == "npz by name":
        np.savez(folder / "run.npz", **dict(zip(("W1", "W2"), STACKS, strict=True)), steps=AT)
        return folder / "run.npz", {}
    if form == "npz by place":
        np.savez(folder / "run.npz", *STACKS)
        return str(folder / "run.npz"), {"every": 30}
    if form == "npy of layers":
        for i, stack in enumerate(STACKS):
            np.save(folder / f"{i}.npy", stack)
        return [folder / "0.npy", folder / "1.npy"], {"steps": AT}
    paths = [folder / f"run_{step}.npz" for step in AT]
    for path, state in zip(paths, NAMED, strict=True):
        np.savez(path, **state)
    # As a shell sorts them: 0, 120, 150, ..., 30, 300.
    return sorted(map(str, paths)), {"every": 30}


FORMS = {
    "lists": (THIRTY, {"every": 30}),
    "tuples": (tuple(map(tuple, THIRTY)), {"steps": AT.tolist()}),
    "plain numbers": ([[W.tolist() for W in layers] for layers in THIRTY], {"every": 30}),
    "every step": (RECORDS, {}),
    "state dicts": (NAMED, {"every": 30}),
    "dicts in another order": ([dict(reversed(state.items())) for state in NAMED], {"every": 30}),
    "names without numbers": ([{"b": W2, "a": W1} for W1, W2 in THIRTY], {"every": 30}),
    "stacks": (STACKS, {"every": 30}),
    "stacks by name": ({"fc10.w": STACKS[1], "fc9.w": STACKS[0]}, {"every": 30}),
    "stacks with steps": ({"W1": STACKS[0], "W2": STACKS[1], "steps": AT}, {}),
    "one array of objects a step": ([np.array([*W, 0], object)[:2] for W in THIRTY], {"every": 30}),
}


def half_times(table):
    return [(row.predicted, row.after, row.by) for row in table.rows]


EXPECTED = half_times(compare_network(THIRTY, X=X, Y=Y, lr=0.05, every=30))


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_same_record(form):
    weights, where = FORMS[form]
    table = compare_network(weights, X=X, Y=Y, lr=0.05, **where)
    if form == "every step":
        assert [row.by for row in table.rows] == HALF.tolist()
        return
    assert half_times(table) == EXPECTED
    assert half_times(compare(observed=weights, X=X, Y=Y, lr=0.05, **where)) == EXPECTED
    assert half_times(compare(weights, X=X, Y=Y, lr=0.05, **where)) == EXPECTED


@pytest.mark.parametrize("form", ["npz by name", "npz by place", "npy of layers", "npz of steps"])
def test_every_file_is_the_same_record(form, tmp_path):
    weights, where = saved(tmp_path, form)
    table = compare_network(weights, X=X, Y=Y, lr=0.05, **where)
    assert half_times(table) == EXPECTED


def test_products_beside_the_layers_of_the_start():
    """W2 W1 is no U U^T; what it does depends on the layers."""
    for observed, where in (
        (PRODUCTS[::30], {"every": 30}),
        (list(PRODUCTS[30::30]), {"steps": AT[1:]}),
    ):
        table = compare(START, observed=observed, X=X, Y=Y, lr=0.05, **where)
        assert half_times(table) == EXPECTED
    with pytest.raises(InvalidInput, match="must begin with the product of the layers"):
        compare_network(START, observed=PRODUCTS[30::30], X=X, Y=Y, lr=0.05)
    with pytest.raises(InvalidInput, match=r"must have the shape \(n, 3, 5\)"):
        compare_network(START, observed=PRODUCTS[:, :2], X=X, Y=Y, lr=0.05)


def test_layers_on_a_task_are_compared_by_compare():
    """W2 W1 on K = S = A: a linear network of the paper's task, by its own gradient."""
    a, rng = np.array([4.0, 2.0, 0.0]), np.random.default_rng(2)
    W1, W2 = 0.01 * rng.standard_normal((4, 3)), 0.01 * rng.standard_normal((3, 4))
    records = []
    for _ in range(501):
        records.append([W1, W2])
        rest = (np.eye(3) - W2 @ W1) * a
        W1, W2 = W1 + 0.01 * W2.T @ rest, W2 + 0.01 * rest @ W1.T
    task = SIMTask.from_signal(a)
    above = np.array([np.diagonal(W2 @ W1) for W1, W2 in records]) >= 0.5
    table = compare(task, observed=records, lr=0.01)
    assert isinstance(table, NetworkComparison)
    assert table.verdict == "holds"
    assert [row.by for row in table.rows[:2]] == above.argmax(axis=0)[:2].tolist()
    assert math.isinf(table.rows[2].by)
    assert math.isinf(table.rows[2].predicted)
    assert "w_22" in str(table)
    assert "variance" not in str(table)
    W = np.array([W2 @ W1 for W1, W2 in records])
    with pytest.raises(InvalidInput, match=r"swingby.compare_network\(\[W1, W2\], task, lr=eta"):
        compare(task, observed=W, eta=0.01)
    assert half_times(compare_network(records[0], task, lr=0.01, observed=W)) == half_times(table)


@pytest.mark.torch
@pytest.mark.parametrize("rule", [{}, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.01}])
def test_a_loop_of_torch_recorded_in_every_way(rule, tmp_path):
    torch = pytest.importorskip("torch")
    save = pytest.importorskip("safetensors.torch").save_file
    lr = 0.02 if rule else 0.1
    model = torch.nn.Sequential(
        *(torch.nn.Linear(*W.shape[::-1], bias=False).double() for W in START)
    )
    with torch.no_grad():
        for layer, W in zip(model, START, strict=True):
            layer.weight.copy_(torch.tensor(W))
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, **rule)
    parts, seen, models, states = principal(X, Y), [], [], []
    for step in range(801):
        seen.append(levels(X, [layer.weight.detach().numpy() for layer in model], parts))
        if step % 40 == 0:
            models.append(copy.deepcopy(model))
            states.append({k: v.clone() for k, v in model.state_dict().items()})
            save(model.state_dict(), tmp_path / f"step{step}.safetensors")
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(torch.tensor(X)), torch.tensor(Y)).backward()
        optimizer.step()
    exact = (np.array(seen) >= 0.5).argmax(axis=0)
    assert (exact > 0).all()
    files = list(tmp_path.glob("*.safetensors"))
    for weights in (models, states, files):
        table = compare_network(weights, X=X, Y=Y, lr=lr, loss="mse", every=40, **rule)
        assert table.verdict == "holds"
        assert [row.predicted for row in table.rows] == exact.tolist()
        assert all(row.after < step <= row.by for row, step in zip(table.rows, exact, strict=True))
    # One state alone is a start.
    for weights in (states[0], tmp_path / "step0.safetensors", str(tmp_path / "step0.safetensors")):
        schedule = predict_network(weights, X=X, Y=Y, lr=lr, loss="mse", **rule)
        assert schedule.half_times.tolist() == exact.tolist()


def test_what_the_record_does_not_reach_is_not_yet():
    short = compare_network(RECORDS[: int(HALF[0]) + 20 : 10], X=X, Y=Y, lr=0.05, every=10)
    text = str(short)
    assert short.verdict == "holds"
    assert "not yet" in text
    assert "not by " in text
    shorter = compare_network(RECORDS[:40:10], X=X, Y=Y, lr=0.05, every=10)
    assert shorter.verdict == "undecided"
    assert "the record ends before a mode is learned" in str(shorter)
    later = compare_network(THIRTY[2:], X=X, Y=Y, lr=0.05, steps=AT[2:])
    assert [row.predicted for row in later.rows] == np.maximum(HALF, 60).tolist()
    assert later.verdict == "holds"
    done = compare_network(THIRTY[-3:], X=X, Y=Y, lr=0.05, steps=AT[-3:])
    assert [row.by for row in done.rows] == [AT[-3]] * 3


def test_a_network_that_does_something_else_later_fails():
    """From step 150 on with a fifth of lr: the first mode holds, the last is late."""
    before = run(X, Y, START, 0.05, int(HALF.min()) + 10)
    after = run(X, Y, before[-1], 0.01, 3000)
    records = (before + after[1:])[::10]
    with pytest.warns(SwingbyWarning, match="off the stated training by"):
        table = compare_network(records, X=X, Y=Y, lr=0.05, every=10)
    assert table.verdict == "fails"
    verdicts = [str(row.verdict) for row in table.rows]
    assert verdicts.count("holds") >= 1
    slow = [row for row in table.rows if row.verdict == "fails"]
    assert all(row.off_by < 0 for row in slow)
    assert table.largest_error == max(-row.off_by / row.predicted for row in slow)
    assert "outside the bar: mode" in str(table)


def test_a_mode_that_is_lost_between_two_records():
    """Momentum carries it past 1/2 for some steps; decay takes it back."""
    x, y, start = draw(np.random.default_rng([3, 5]), (2, 4))
    scale = np.linalg.norm(y.T @ x / len(x), 2)
    rule = {"lr": 0.013 / scale, "momentum": 0.95, "weight_decay": 1.2 * scale}
    records = run(x, y, start, length=900, **rule)
    parts = principal(x, y)
    above = np.array([levels(x, layers, parts) for layers in records]) >= 0.5
    k = int(np.argmax(above.any(axis=0) & ~above[-1]))
    assert above[:, k].any()
    every = int(above[:, k].argmax()) - 5
    while above[::every, k].any():
        every += 1
    table = compare_network(records[::every], X=x, Y=y, every=every, **rule)
    row = table.rows[k]
    assert row.lost_between
    assert row.predicted == above[:, k].argmax()
    assert math.isinf(row.by)
    assert row.verdict == table.verdict == "holds"
    assert f"lost again between records, by the law: mode {k + 1}" in str(table)
    assert compare_network(records, X=x, Y=y, **rule).rows[k].by == row.predicted


#: What is stated of a run with lr .05 on "half", recorded every 30 steps, and what is said.
MISTAKES = {
    "lr": ({"lr": 0.1}, ["lr near 0.05"]),
    "lr far off": ({"lr": 5e-4}, ["lr near 0.05"]),
    "eta of U U^T": ({"lr": 0.025}, ["lr near 0.05"]),
    "the loss": ({"loss": "mse"}, ['loss="half"']),
    "a loss that diverges": ({"loss": "sum"}, ['loss="half"']),
    "no stride": ({"every": None}, ["every=30"]),
    "momentum": ({"momentum": 0.9}, ["momentum=0"]),
    "decay": ({"weight_decay": 0.5}, ["weight_decay=0"]),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_the_training_is_named(name):
    change, words = MISTAKES[name]
    arguments = {"lr": 0.05, "every": 30} | change
    with pytest.raises(InvalidInput, match="the stated training must be that of the run") as caught:
        compare_network(THIRTY, X=X, Y=Y, **arguments)
    for text in words:
        assert text in str(caught.value)


MOVING = {"lr": 0.02, "momentum": 0.8, "weight_decay": 0.02}
#: What is stated of a run by MOVING, recorded every 25 steps, what is said, and whether it is
#: refused: beyond 5 % of the way. Of all of them but one the half-times hold.
SMALL_MISTAKES = {
    "lr by 1/200": ({"lr": 0.0201}, "lr near 0.02", False),
    "lr by 1/6": ({"lr": 0.0235}, "lr near 0.02", True),
    "momentum": ({"momentum": 0.801}, "momentum near 0.8", False),
    "no decay": ({"weight_decay": 0}, "weight_decay near 0.02", True),
    "decay by 1/20": ({"weight_decay": 0.021}, "weight_decay near 0.02", False),
    "the stride": ({"every": 24}, "every=25", False),
    "the stride by 1/5": ({"every": 20}, "give every=25", True),
}


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("name", SMALL_MISTAKES)
def test_small_mistakes_are_seen_at_later_records(name, kind):
    """Of the first records none is off by 5 %."""
    change, words, refused = SMALL_MISTAKES[name]
    x, y, start = (
        X.astype(kind),
        Y.astype(kind),
        [W.astype(kind) for W in START],
    )
    records = run(x, y, start, length=600, **MOVING)[::25]
    arguments = {"X": x, "Y": y, "every": 25} | MOVING
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compare_network(records, **arguments).verdict == "holds"
    if refused:
        with pytest.raises(InvalidInput, match=words):
            compare_network(records, **arguments | change)
        return
    with pytest.warns(SwingbyWarning, match=rf"% of their path; give (.* or )?{words}(\D|$)"):
        table = compare_network(records, **arguments | change)
    assert "Warning: From step 0 to" in str(table)


@pytest.mark.parametrize("seed", range(3))
def test_a_run_in_minibatches_is_not_off_by_its_noise(seed):
    """Its first records are off by more than 5 % of their path."""
    x, y, start = draw(np.random.default_rng(5), (5, 8, 3), gap=0.6)
    y = y + np.random.default_rng(1).standard_normal(y.shape)
    rng = np.random.default_rng(seed)
    order = np.concatenate([rng.permutation(100).reshape(20, 5) for _ in range(50)])
    records = run(x, y, start, 0.04, 600, rows=order.__getitem__)[::10]
    rule = {"X": x, "Y": y, "lr": 0.04, "every": 10, "batch": 5}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare_network(records, **rule)
    with pytest.warns(SwingbyWarning, match="off the stated training by"):
        compare_network(records, **rule | {"lr": 0.08})


@pytest.mark.parametrize("change", [{"lr": 0.075}, {"momentum": 0.9}, {"every": 20}])
def test_paces_that_diverge_do_not_let_overflow_through(change):
    records = run(X3, Y3, DEEP, 0.05, 300)[::25]
    arguments = {"X": X3, "Y": Y3, "lr": 0.05, "every": 25} | change
    with pytest.raises(InvalidInput, match=r"lr near 0\.05|momentum=0|every=25"):
        compare_network(records, **arguments)


#: Networks of two and three layers, in float64 and float32, with momentum and Nesterov's rule.
SIZED = {
    "two layers": ((5, 8, 3), 0.01, 900, np.float64, {"lr": 0.05, "weight_decay": 0.05}),
    "three layers": (
        (7, 9, 8, 4),
        0.1,
        2000,
        np.float32,
        {"lr": 0.02, "momentum": 0.8, "weight_decay": 0.02, "loss": "mse"},
    ),
    "Nesterov": (
        (6, 10, 4),
        0.01,
        900,
        np.float32,
        {"lr": 0.005, "momentum": 0.9, "nesterov": True, "weight_decay": 0.05},
    ),
}


@pytest.mark.parametrize("name", SIZED)
def test_mistakes_are_seen_from_the_size_in_the_docs_on(name):
    """lr and momentum by .1 %, weight decay by .3 %."""
    widths, scale, length, kind, rule = SIZED[name]
    x, y, start = draw(np.random.default_rng(6), widths, gap=0.7, scale=scale)
    x, y, start = x.astype(kind), y.astype(kind), [W.astype(kind) for W in start]
    records = run(x, y, start, length=length, **rule)[::30]
    arguments = {"X": x, "Y": y, "every": 30} | rule
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare_network(records, **arguments)
    wrong = [{"lr": rule["lr"] * 1.001}, {"weight_decay": rule["weight_decay"] * 1.003}]
    if "momentum" in rule:
        wrong.append({"momentum": rule["momentum"] * 1.001})
    for change in wrong:
        with pytest.warns(SwingbyWarning, match="off the stated training by"):
            compare_network(records, **arguments | change)


def test_mistakes_beside_momentum_and_a_stride_of_two_are_named():
    """A wrong lr is no other clock where momentum takes time to come up."""
    records = run(X, Y, START, 0.005, 900, momentum=0.9)
    for wrong, where in ((0.0125, {"every": 15}), (0.002, {"every": 15})):
        with pytest.raises(InvalidInput, match=r"lr near 0\.005(\D|$)"):
            compare_network(records[::15], X=X, Y=Y, lr=wrong, momentum=0.9, **where)
    for stride in (2, 15):
        with pytest.raises(InvalidInput, match=f"every={stride}\\b"):
            compare_network(records[::stride], X=X, Y=Y, lr=0.005, momentum=0.9)


def test_momentum_that_was_left_out_is_named():
    records = run(X, Y, START, 0.005, 900, momentum=0.9)[::30]
    with pytest.raises(InvalidInput, match=r"momentum=0\.9"):
        compare_network(records, X=X, Y=Y, lr=0.005, every=30)


def test_minibatches_are_warned_of_and_stay_in_their_bars():
    order = np.random.default_rng(0).integers(0, len(X), (901, 4))
    records = run(X, Y, START, 0.02, 900, rows=order.__getitem__)[::10]
    with pytest.warns(SwingbyWarning, match=r"minibatches \(batch=\)|times as fast"):
        full = compare_network(records, X=X, Y=Y, lr=0.02, every=10)
    assert "Warning: From step 0" in str(full)
    assert full.verdict == "fails"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = compare_network(records, X=X, Y=Y, lr=0.02, every=10, batch=4, replacement=True)
    assert table.verdict == "holds"
    assert (table.schedule.error > full.schedule.error).all()


def test_other_data_and_weights_that_rest_are_warned_of():
    with pytest.warns(SwingbyWarning, match="off the stated training by"):
        compare_network(THIRTY, X=X[::-1], Y=Y, lr=0.05, every=30)
    with pytest.warns(SwingbyWarning, match="the same at every step"):
        compare_network([START] * 3, X=X, Y=Y, lr=0.05, every=30)


def test_records_in_float32_and_shorter():
    short = [[W.astype(np.float32) for W in layers] for layers in THIRTY]
    table = compare_network(short, X=X, Y=Y, lr=0.05, every=30)
    assert table.verdict == "holds"
    exact = compare_network(THIRTY, X=X, Y=Y, lr=0.05, every=30).schedule
    halves = [[W.astype(np.float16) for W in layers] for layers in THIRTY]
    coarse = compare_network(halves, X=X, Y=Y, lr=0.05, every=30).schedule
    # What is learned first loses nothing beside others.
    later = list(exact.order[1:])
    assert (table.schedule.error[later] > exact.error[later]).all()
    assert (coarse.error[later] > 10 * table.schedule.error[later]).all()
    tiny = [[(W * 1e-3).astype(np.float16) for W in START]] * 2
    with pytest.warns(SwingbyWarning):
        assert compare_network(tiny, X=X, Y=Y, lr=0.05).verdict == "undecided"


def test_a_comparison_shows_itself(monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "120")
    table = compare_network(THIRTY, X=X, Y=Y, lr=0.05, every=30, title="Mine")
    text = str(table)
    assert text.startswith("Mine")
    assert "31 records, every 30 steps: steps 0 to 900." in text
    for row in table.rows:
        assert f"{row.after + 1:.0f} to {row.by:.0f}" in text
    assert "every step: " in str(compare_network(RECORDS, X=X, Y=Y, lr=0.05))
    plain = json.loads(json.dumps(table.to_dict(), allow_nan=False))
    assert [row["observed_by"] for row in plain["rows"]] == [row.by for row in table.rows]
    frame = table.to_frame()
    assert frame["predicted"].tolist() == HALF.tolist()
    assert list(frame) == [
        *("mode", "explained", "predicted", "error"),
        *("observed_after", "observed_by", "off_by", "verdict"),
    ]
    assert "<NetworkComparison to step 900: holds>" in repr(table)
    ax = table.plot()
    labels = ax.get_legend_handles_labels()[1]
    assert labels[-1] == "predicted"
    points = next(line for line in ax.lines if line.get_marker() == "o" and len(line.get_xdata()))
    steps = points.get_xdata()
    assert set(steps) <= set(AT)
    assert ax.get_xlim()[0] <= steps[0]
    many = compare_network(RECORDS, X=X, Y=Y, lr=0.05).plot()
    assert "o" not in {line.get_marker() for line in many.lines}


#: What is no record, and what is said.
REFUSED = {
    "one record": ({"weights": START}, "[layers at step 0, layers at step k, ...]"),
    "one record in a list": ({"weights": [START]}, "at two steps or more"),
    "one state": ({"weights": NAMED[0]}, "at two steps or more"),
    "products": ({"weights": PRODUCTS}, "observed=W, and the layers at the start as weights"),
    "a matrix": ({"weights": START[0]}, "must be recorded at two steps or more"),
    "nothing": ({"weights": []}, "must be recorded at two steps or more"),
    "a number": ({"weights": 3}, "must be recorded at two steps or more"),
    "square stacks": ({"weights": [np.ones((4, 3, 3))] * 3}, "list(map(list, weights))"),
    "unequal stacks": ({"weights": [STACKS[0][:4], STACKS[1]]}, "as many steps for each layer"),
    "other shapes later": ({"weights": [START, [START[0], START[1][:2]]]}, "weights[1] must have"),
    "layers that end": ({"weights": [START, START[:1]]}, "weights[1] must have the shapes"),
    "NaN later": (
        {"weights": [*THIRTY[:3], [START[0] * math.nan, START[1]]]},
        "weights[3] must be finite: leave out the records from step 90 on",
    ),
    "in another order": ({"weights": [W[::-1] for W in THIRTY]}, "weights[::-1]"),
    "biases": ({"weights": [n | {"0.bias": np.ones(8)} for n in NAMED]}, "X - X.mean(0)"),
    "a kernel": (
        {"weights": [{"c": np.ones((3, 3, 2, 2))}] * 2},
        "there is no law for other layers",
    ),
    "a scale": ({"weights": [{"bn.weight": np.ones(3)}] * 2}, "bn.weight of shape (3,)"),
    "names of square layers": (
        {"weights": [{"enc": np.eye(3), "dec": np.eye(3)}] * 2},
        'give them in it, the one applied first first: [state["enc"], state["dec"]]',
    ),
    "steps and every": ({"steps": AT, "every": 30}, "not be given together with steps"),
    "too few steps": ({"steps": AT[:-1], "every": None}, "must have shape (31,)"),
    "falling steps": ({"steps": AT[::-1], "every": None}, "ascend from 0 on"),
    "every 0": ({"every": 0}, "at least 1"),
    "momentum later": (
        {"steps": AT + 30, "every": None, "momentum": 0.9},
        "must begin at 0 with momentum",
    ),
    "eta": ({"eta": 0.1}, "lr = eta"),
    "Adam": ({"optimizer": "adam"}, "others have no law"),
    "a stride": ({"stride": 3}, "give every"),
    "dynamics": ({"dynamics": "gd"}, "layers are trained by gradient descent"),
    "W as a vector": ({"weights": START, "observed": np.ones(3)}, "observed must be W"),
    "a pickle": ({"weights": "run.pt"}, "safetensors.torch.save_file(model.state_dict()"),
    "another file": ({"weights": "run.csv"}, "must end in .safetensors or .npz"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_record_is_told_with_what_to_type(name):
    change, words = REFUSED[name]
    arguments = {"weights": THIRTY, "X": X, "Y": Y, "lr": 0.05, "every": 30} | change
    with pytest.raises(InvalidInput) as caught:
        compare_network(**arguments)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_compare_leaves_layers_to_their_law():
    run = compare(["4", "1"], np.diag([0.01, 0.02]), eta="0.01").run
    assert compare(("4", "1"), observed=list(run.W), eta=0.01, steps=run.steps).run is not None
    with pytest.raises(InvalidInput, match="W0 must not be given"):
        compare([4, 1], np.eye(2), observed=THIRTY, lr=0.05)
    with pytest.raises(InvalidInput, match="lr = eta"):
        compare(observed=THIRTY, X=X, Y=Y, eta=0.05, every=30)
    with pytest.raises(InvalidInput, match="weights must be recorded at two steps"):
        compare(START, X=X, Y=Y, lr=0.05)


def test_files_that_do_not_say_their_steps(tmp_path):
    paths, _ = saved(tmp_path, "npz of steps")
    with pytest.raises(InvalidInput, match="every=30 by their names"):
        compare_network(paths, X=X, Y=Y, lr=0.05)
    uneven = [path for path in paths if "_60." not in path]
    with pytest.raises(InvalidInput, match=r"not evenly spaced: steps=\["):
        compare_network(uneven, X=X, Y=Y, lr=0.05, every=30)
    marks = np.delete(AT, 2)
    assert compare_network(uneven, X=X, Y=Y, lr=0.05, steps=marks).verdict == "holds"
    np.save(tmp_path / "one.npy", START[0])
    with pytest.raises(InvalidInput, match="must have names of layers, as other files have"):
        compare_network([paths[0], tmp_path / "one.npy"], X=X, Y=Y, lr=0.05, every=30)


def test_what_both_verbs_take_is_the_same():
    """Names, defaults and types of the training, in the order of predict_network."""
    ours, theirs = (
        inspect.signature(verb).parameters for verb in (compare_network, predict_network)
    )
    shared = [entry for name, entry in theirs.items() if name not in ("weights", "accuracy")]
    assert [entry for name, entry in ours.items() if name in theirs][1:] == shared
