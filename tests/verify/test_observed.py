"""compare(observed=...): trajectories of another setting are named, those of networks pass."""

import io
import warnings

import numpy as np
import pandas as pd
import pytest

from swingby import InvalidInput, Scaled, SIMTask, SwingbyWarning, compare, predict, simulate

A, ETA, LENGTH = [4.0, 1.5, 0.8], 0.01, 1600
TASK, CLUSTERS = SIMTask.from_signal(A), SIMTask([3.0, 2.0, 1.5], 0.1)
U0 = 0.01 * np.random.default_rng(1).standard_normal((3, 6))
TURNED, BACK = [1, 2, 0], [2, 0, 1]


def loop(dynamics, eta=ETA, length=LENGTH, signal=A):
    """The maps as the paper prints them, and Runge-Kutta for the flow."""
    A, W, rows = np.diag(signal), U0 @ U0.T, []

    def slope(W):
        B = A - (A @ W + W @ A) / 2
        return B @ W + W @ B

    for _ in range(length):
        rows.append(W)
        if dynamics == "gd":
            M = np.eye(len(W)) + eta * (A - (A @ W + W @ A) / 2)
            W = M @ W @ M
        elif dynamics == "euler":
            W = W + eta * slope(W)
        else:
            for _ in range(4):
                first = slope(W)
                second = slope(W + eta / 8 * first)
                third = slope(W + eta / 8 * second)
                W = W + eta / 24 * (first + 2 * second + 2 * third + slope(W + eta / 4 * third))
        W = (W + W.T) / 2
    return np.array(rows)


def network(*, batch=None, layers=1, noise=0.0, seed=3, lr=ETA / 2, task=CLUSTERS):
    """Training on samples of the clusters: U U^T, or W2 W1 that begins as one."""
    rng = np.random.default_rng(seed)
    X, _ = task.sample(600, rng=rng)
    U, rows = 0.03 * rng.standard_normal((3, 6)), []
    V = U.T
    for _ in range(1500):
        x = X if batch is None else X[rng.integers(len(X), size=batch)]
        C, W = x.T @ x / len(x), U @ V
        E = W - np.eye(3)
        rows.append(W)
        if layers == 1:
            U = U - lr * (E @ C + C @ E) @ U + noise * rng.standard_normal(U.shape)
            V = U.T
        else:
            U, V = U - 2 * lr * E @ C @ V.T, V - 2 * lr * U.T @ E @ C
    return np.array(rows)


W, SGD = loop("gd"), network(batch=4)
RUN = simulate(TASK, W[0], ETA, dynamics="gd")


def concepts(W, order):
    return W[:, order][:, :, order]


def frame(W, steps):
    entries = {f"w_{i + 1}_{j + 1}": W[:, i, j] for i in range(3) for j in range(i, 3)}
    text = pd.DataFrame({"step": steps, **entries}).to_csv(index=False)
    return pd.read_csv(io.StringIO(text))


def case(observed, *words, task=TASK, start=None, **settings):
    return task, start, observed, {"eta": ETA, "dynamics": "gd"} | settings, words


def rows_without(*rows):
    return np.delete(W, rows, axis=0)


def momentum():
    """Gradient descent on U with a memory of 0.9."""
    S, U, velocity, rows = np.diag(A), U0, 0.0, []
    for _ in range(LENGTH):
        W = U @ U.T
        rows.append(W)
        velocity = 0.9 * velocity + ETA / 4 * (S - (S @ W + W @ S) / 2) @ U
        U = U + velocity
    return np.array(rows)


def decaying():
    """Gradient descent on U with weights that decay towards 0 at half the slowest rate."""
    S, U, rows = np.diag(A), U0, []
    for _ in range(LENGTH):
        W = U @ U.T
        rows.append(W)
        U = U + ETA * (S - (S @ W + W @ S) / 2 - 0.4 * np.eye(3)) @ U
    return np.array(rows)


SQUARES = np.arange(40) ** 2
GEOMETRIC = np.unique(np.r_[0, np.geomspace(1, 1400, 80).round().astype(int)])
AT_RANDOM = np.r_[0, np.sort(np.random.default_rng(0).choice(1400, 200, replace=False) + 1)]
HAND = [0, 50, 100, 150, 200, 300, 400, 500, 700, 900]
TURN = np.linalg.qr(np.random.default_rng(2).standard_normal((3, 3)))[0]
ROTATED = SIMTask([3.0, 2.0, 1.5], 0.1, rotation=TURN)
DATA = TURN @ loop("gd", signal=CLUSTERS.signal) @ TURN.T
REMEDY = "give task.rotation.T @ observed @ task.rotation"


#: What is given, and words that name the mistake and lead on.
MISTAKES = {
    "eta twice": case(W, "moves 0.5 times as fast", eta=2 * ETA),
    "eta half": case(W, "moves 2 times as fast", "eta is 2 lr", eta=ETA / 2),
    "eta of lr, single floats": case(W.astype("f4"), "eta is 2 lr", eta=ETA / 2),
    "eta by half": case(W, "give eta 0.667 times", eta=1.5 * ETA),
    "eta ten times": case(W, "give eta 0.1 times", eta=10 * ETA),
    "eta a hundredth": case(W[::5], "give eta 100 times", eta=ETA / 100, steps=range(0, 1600, 5)),
    "eta of a network": case(SGD, "2 times as fast", task=CLUSTERS, eta=ETA / 2),
    "eta of a sample": case(network(), "2 times as fast", task=CLUSTERS, eta=ETA / 2),
    "eta half, of a network": case(SGD, "moves 0.49", task=CLUSTERS, eta=2 * ETA),
    "gd for euler": case(W, 'give dynamics="gd"', dynamics="euler"),
    "gd for flow": case(W, 'give dynamics="gd"', dynamics="flow"),
    "euler for gd": case(loop("euler"), 'give dynamics="euler"'),
    "flow for gd": case(loop("flow"), 'give dynamics="flow"'),
    "euler and eta": case(loop("euler", 2 * ETA), "2 times as fast", 'dynamics="euler"'),
    "every 2nd": case(W[::2], "every 2nd step", "steps=range(0, 2 * n, 2)"),
    "every 3rd": case(W[::3], "every 3rd step", "steps=range(0, 3 * n, 3)"),
    "every 10th": case(W[::10], "every 10th step", "steps=range(0, 10 * n, 10)"),
    "every 10th, single floats": case(W[::10].astype("f4"), "steps=range(0, 10 * n, 10)"),
    "every 50th": case(W[::50], "every 50th step"),
    "every 10th of a network": case(SGD[::10], "th step was recorded", task=CLUSTERS),
    "every 10th, steps of every 5th": case(W[::10], "give 2 * steps", steps=range(0, 800, 5)),
    "all, steps of every 3rd": case(W, "give steps // 3", steps=range(0, 4800, 3)),
    "a frame of every 3rd": case(frame(W[::3], range(len(W[::3]))), "give 3 * steps"),
    "after the update": case(W[1:], "steps=range(1, n + 1)", start=W[0]),
    "100 steps late": case(W[100:], "steps=range(100, n + 100)", start=W[0]),
    "steps from 99": case(W[100:], "steps + 1", start=W[0], steps=range(99, 1599)),
    "another start": case(W, "0.3 of its largest", "leave out W0", start=1.3 * W[0]),
    "after the update of a network": case(SGD[1:], "leave out W0", task=CLUSTERS, start=SGD[0]),
    "a start below the floats": case(
        W, "leave out W0", start=Scaled([[2, 1, 0], [1, 2, 0], [0, 0, 1]], "1e-400")
    ),
    "other order": case(concepts(W, TURNED), f"observed[:, {BACK}][:, :, {BACK}]"),
    "other order, start": case(concepts(W, TURNED), f"[:, {BACK}]", start=W[0]),
    "mirrored": case(W[:, ::-1, ::-1], "observed[:, [2, 1, 0]]"),
    "other order, every 10th": case(
        concepts(W[::10], TURNED), f"[:, {BACK}]", "steps=range(0, 10 * n, 10)"
    ),
    "other order of a network": case(concepts(SGD, TURNED), f"[:, {BACK}]", task=CLUSTERS),
    "ten rows missing": case(rows_without(*range(60, 70)), "row 60 is 11 steps after row 59"),
    "row-missing": case(rows_without(60), "row 60 is 2 steps after row 59"),
    "200 rows missing": case(rows_without(*range(100, 300)), "row 100 is 201 steps"),
    "rows missing": case(rows_without(30, 60, 61, 90), "row 30", "2 more such places"),
    "every row twice": case(np.repeat(W, 2, axis=0), "same W in rows 0 and 1"),
    "a row twice": case(np.insert(W, 50, W[49], axis=0), "same W in rows 49 and 50"),
    "backwards": case(W[::-1], "observed[::-1]"),
    "backwards, of a network": case(SGD[::-1], "observed[::-1]", task=CLUSTERS),
    "shuffled": case(np.random.default_rng(0).permutation(W), "numpy.argsort(time)"),
    "time last": case(np.moveaxis(W, 0, -1), "numpy.moveaxis(observed, -1, 0)"),
    "time last, d rows": case(np.moveaxis(W[300:1000:300], 0, -1), "moveaxis(observed, -1, 0)"),
    "time in the middle": case(np.moveaxis(W, 0, 1), "numpy.moveaxis(observed, 1, 0)"),
    "flat": case(W.reshape(-1, 9), "observed.reshape(-1, 3, 3)"),
    "U": case(np.array([U0] * 9), "U @ U.transpose(0, 2, 1)"),
    "U with d columns": case(np.linalg.cholesky(W), "asymmetric by 0.39", "U @ U.transpose"),
    "other signal": case(loop("gd", signal=[3.0, 2.0, 0.8]), "0.75 a_1, 1.33 a_2, 1 a_3"),
    "squares of the signal": case(loop("gd", signal=[16.0, 2.25, 0.64]), "another signal", "4 a_1"),
    "other signal, of a network": case(SGD, "concepts in another order", task=SIMTask([2, 3, 1.5])),
    "a run of another eta": case(RUN, "give eta=0.01", start=W[0], eta=0.02),
    "a run of another dynamics": case(RUN, 'give dynamics="gd"', start=W[0], dynamics="euler"),
    "a run of another task": case(RUN, "observed.task", task=SIMTask.from_signal([1, 2, 3])),
    "a run with steps": case(RUN, "the run has its steps", start=W[0], steps=[0]),
    "squares": case(W[SQUARES], "one step apart", "as if steps = 0, 1, 4, 9, 16, 25, 36, ...:"),
    "squares, start": case(W[SQUARES], "0, 1, 4, 9", "pass steps=", start=W[0]),
    "spaced in the logarithm": case(W[GEOMETRIC], "as if steps = 0, 1, ..., 14, 16, 17"),
    "recorded in the logarithm": case(
        simulate(TASK, W[0], ETA, dynamics="gd", record="log").W, "as if steps = 0, 1"
    ),
    "rows at random": case(W[AT_RANDOM], f"as if steps = {', '.join(map(str, AT_RANDOM[:7]))}, "),
    "first dense, then not": case(W[HAND], "0, 50, 100, 150, 200, 300, 400"),
    "spaced in the logarithm, euler": case(
        loop("euler")[SQUARES], 'give dynamics="euler", and', "as if steps = 0, 1, 4, 9, 16"
    ),
    "spaced in the logarithm, of a network": case(
        SGD[GEOMETRIC], "not one step apart, or a pace", task=CLUSTERS
    ),
    "every 100th": case(W[::100], "every 100th step"),
    "euler, every 10th": case(
        loop("euler")[::10],
        'by dynamics="euler" and as if every 10th step was recorded: give dynamics="euler" and ',
    ),
    "euler, every 100th": case(loop("euler")[::100], 'dynamics="euler"', "every 100th"),
    "lr, every 10th": case(W[::10], "every 10th", "2 times as fast", "eta is 2 lr", eta=ETA / 2),
    "lr, every 100th": case(W[::100], "every 100th", "2 times as fast", eta=ETA / 2),
    "lr, euler, every 50th": case(
        loop("euler")[::50], "euler", "every 50th", "2 times as fast", eta=ETA / 2
    ),
    "momentum": case(momentum(), "does not move by gd at eta = 0.01 from row to row"),
    "momentum, every 50th": case(momentum()[::50], "times as fast as eta says, or every"),
    "weights that decay": case(decaying(), "does not move by gd at eta = 0.01 from row to row"),
    "weights that decay, every 100th": case(decaying()[::100], "does not move by gd at eta = 0.01"),
    "in the frame of the data": case(DATA, REMEDY, task=ROTATED),
    "in the frame of the data, start": case(DATA, REMEDY, task=ROTATED, start=W[0]),
    "in the frame of the data, every 10th": case(DATA[::10], REMEDY, "every 10th", task=ROTATED),
    "in the frame of the data, of a network": case(
        network(batch=4, task=ROTATED), REMEDY, task=ROTATED
    ),
    "nothing moves": case(np.array([0.1 * np.eye(3)] * 50), "moves as no U U^T"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_trajectory_of_another_setting_is_named(name):
    task, start, observed, settings, words = MISTAKES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error", SwingbyWarning)
        with pytest.raises((InvalidInput, SwingbyWarning)) as caught:
            compare(task, start, observed=observed, **settings)
    for word in words:
        assert word in str(caught.value)


def test_what_is_likely_is_said_in_the_table():
    with pytest.warns(SwingbyWarning, match="2 times as fast"):
        table = compare(CLUSTERS, observed=SGD, eta=ETA / 2, dynamics="gd")
    (warning,) = table.warnings
    assert "eta being 2 lr" in warning
    assert f"Warning: {warning[:9].capitalize()}" in table.to_text(width=1000)
    assert warning in table.to_dict()["warnings"]


KEPT = [0, 1, 3, 10, 30, 100, 300, 1000]
TEXT = np.vectorize(lambda entry: float(f"{entry:.4g}"))(W)

#: Trajectories of the setting.
HONEST = {
    "in the frame of the task": case(loop("gd", signal=CLUSTERS.signal), task=ROTATED),
    "gd": case(W),
    "gd with its start": case(W, start=W[0]),
    "euler": case(loop("euler"), dynamics="euler"),
    "flow": case(loop("flow"), dynamics="flow"),
    "single floats": case(W.astype("f4"), start=W[0]),
    "half floats": case(W.astype("f2")),
    "four digits": case(TEXT),
    "a frame": case(frame(W[::3], range(0, LENGTH, 3))),
    "every 10th": case(W[::10], steps=range(0, LENGTH, 10)),
    "every 100th": case(W[::100], steps=range(0, LENGTH, 100)),
    "spaced in the logarithm": case(W[KEPT], steps=KEPT),
    "late": case(W[100:], start=W[0], steps=range(100, LENGTH)),
    "long after a start below the floats": case(
        W, start=Scaled([[2, 1, 0], [1, 2, 0], [0, 0, 1]], "1e-400"), steps=range(12000, 13600)
    ),
    "short": case(W[:500]),
    "two rows": case(W[:2]),
    "a row": case(W[:1]),
    "at rest": case(W[1400:]),
    "a run": case(RUN),
    "a sample": case(network(), task=CLUSTERS),
    "batches of 1": case(network(batch=1), task=CLUSTERS),
    "batches of 4, every 7th": case(SGD[::7], task=CLUSTERS, steps=range(0, 1500, 7)),
    "batches of 32": case(network(batch=32), task=CLUSTERS),
    "noise": case(network(batch=8, noise=1e-3), task=CLUSTERS),
    "two layers": case(network(layers=2), task=CLUSTERS),
    "two layers, batches of 4": case(network(layers=2, batch=4), task=CLUSTERS),
}


@pytest.mark.parametrize("name", HONEST)
def test_a_trajectory_of_the_setting_passes(name):
    task, start, observed, settings, _ = HONEST[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = compare(task, start, observed=observed, **settings)
    assert table.warnings == ()


def test_the_table_says_how_far_its_rows_are_apart_and_of_asymmetry():
    steps = range(0, 1500, 7)
    text = compare(CLUSTERS, observed=SGD[::7], steps=steps, eta=ETA, dynamics="gd").to_text(
        width=1000
    )
    assert "at 215 steps up to 7 apart, by which its times may be late." in text
    two = network(layers=2)
    apart = np.abs(two - two.transpose(0, 2, 1)).max(axis=(1, 2)) / np.abs(two).max(axis=(1, 2))
    text = compare(CLUSTERS, observed=two, eta=ETA, dynamics="gd").to_text(width=1000)
    assert f"W - W^T is up to {apart.max():.2g} of its largest entry" in text


def unequal(share):
    """The symmetric part of W2 W1 whose first matrix has an eigenvalue below 0 by `share`."""
    start = U0 @ U0.T
    values, vectors = np.linalg.eigh(start)
    values[0] = -share * values[-1]
    lowered = (vectors * values) @ vectors.T - start
    return W + lowered * np.exp(-np.arange(LENGTH) / 20)[:, None, None]


def test_a_first_matrix_with_a_small_eigenvalue_below_0_is_predicted_by_its_psd_part():
    observed = unequal(0.05)
    with pytest.warns(SwingbyWarning, match="positive semidefinite part"):
        table = compare(TASK, observed=observed, eta=ETA, dynamics="gd")
    assert "-0.05 of the largest" in table.warnings[0]
    values, vectors = np.linalg.eigh(observed[0])
    part = (vectors * values.clip(0)) @ vectors.T
    alone = predict(TASK, (part + part.T) / 2, eta=ETA, dynamics="gd")
    assert np.allclose(table.schedule.half_times, alone.half_times, 1e-9, 0, equal_nan=True)
    assert np.array_equal(table.run.W, observed)


def test_rounding_below_0_passes_and_more_leads_on():
    flat = U0[:, 1:3] @ U0[:, 1:3].T
    single = np.array(simulate(TASK, flat, ETA, dynamics="gd", steps=900, record=1).W, "f4")
    assert np.linalg.eigvalsh(single[0].astype(float))[0] < -1e-12
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare(TASK, observed=single, eta=ETA, dynamics="gd")
    with pytest.raises(InvalidInput, match="compare_network") as caught:
        compare(TASK, observed=unequal(0.5), eta=ETA, dynamics="gd")
    assert str(caught.value).startswith("observed")
    assert "U0" not in str(caught.value)


@pytest.mark.parametrize("seed", range(12))
def test_noise_of_training_is_no_mistake(seed):
    rng = np.random.default_rng(seed)
    rows = network(batch=int(rng.choice([1, 2, 8])), layers=1 + seed % 2, seed=seed)
    stride = int(rng.choice([1, 5, 20]))
    observed, steps = rows[::stride], range(0, len(rows), stride)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare(CLUSTERS, observed=observed, steps=steps, eta=ETA, dynamics="gd")
