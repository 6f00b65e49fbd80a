"""Points that are no SIM task are named with numbers; noise of a sample is not."""

import math
import re
import warnings

import numpy as np
import pytest

from swingby import InvalidInput, SIMTask, SwingbyWarning, compare, predict

MEANS = np.array([[1.0, 0, 0, 0], [0, 2.0, 0, 0], [0, 0, 3.0, 0]])
LABELS = np.repeat([0, 1, 2], 500)


def noise(seed=0, n=1500, sigma=0.3, free=0.0):
    return np.random.default_rng(seed).standard_normal((n, 4)) * [sigma, sigma, sigma, free]


def turned(*angles):
    """The second mean turned towards the first, by degrees."""
    means = MEANS.copy()
    angle = math.radians(angles[0])
    means[1] = [2 * math.cos(angle), 2 * math.sin(angle), 0, 0]
    return means


CORRELATE = np.linalg.cholesky(np.eye(4) + 0.5 * np.eye(4)[[1, 0, 2, 3]] * [1, 1, 0, 0]).T

#: Points, their labels, and what is said.
DOUBTS = {
    "correlated": (MEANS[LABELS] + noise() @ CORRELATE, LABELS, "concepts 1 and 2 0.47"),
    "an angle": (
        turned(70)[LABELS] + noise(),
        LABELS,
        r"0 and 1 (69|7[012])\.\d \+- 0\.\d\d degrees",
    ),
    "an angle exactly": (turned(80)[LABELS], LABELS, r"labels 0 and 1 80.0 \+- 0.00 degrees"),
    "a blunt angle": (turned(130)[LABELS], LABELS, "labels 0 and 1 130.0"),
    "shifted": (
        MEANS[LABELS] + noise() + [0.5, 0.2, 0, 0],
        LABELS,
        r"shift .*\(0\.[45]\d*, 0\.[12]\d*, ",
    ),
    "shifted, no noise": (MEANS[LABELS] + [0, 0, 0, 1], LABELS, "labels 0 and 1 71.6 "),
    "a constant column": (np.c_[MEANS[LABELS], np.ones(1500)], LABELS, "1 and 2 81.9 "),
    "free spread": (MEANS[LABELS] + noise(free=0.3), LABELS, "by 0.3 in directions without a"),
    "unequal classes": ((MEANS[LABELS] + noise())[:1100], LABELS[:1100], "have 500, 500, 100"),
    "around the origin": (
        np.r_[MEANS[LABELS] + noise(), noise(1, 500, free=0.3)],
        np.r_[LABELS, np.full(500, 3)],
        "label 3 is 0.0.* label points around the origin -1",
    ),
}


@pytest.mark.parametrize("name", DOUBTS)
def test_what_is_no_task_is_said_with_numbers(name):
    X, labels, words = DOUBTS[name]
    with pytest.warns(SwingbyWarning, match=words):
        task = SIMTask.from_samples(X, labels)
    moment = task.rotation.T @ (X.T @ X / len(X)) @ task.rotation
    most = np.abs(moment - np.diag(task.signal)).max()
    numbers = re.search(r"by up to -?(\S+), (\S+) of the least signal", task.warnings[-1]).groups()
    assert "swingby.predict_network([W1, W2], X=X, Y=X, lr=...) uses" in task.warnings[-1]
    expected = (most, most / task.signal[: task.s].min())
    assert np.allclose([float(number) for number in numbers], expected, rtol=0.06)
    assert expected[1] > 0.02
    # Turned data are the same data.
    rotation = np.linalg.qr(np.random.default_rng(3).standard_normal((X.shape[1],) * 2))[0]
    with pytest.warns(SwingbyWarning):
        again = SIMTask.from_samples(X @ rotation.T, labels)
    assert np.allclose(again.signal, task.signal, rtol=1e-9)
    assert len(again.warnings) == len(task.warnings)


BLOB = MEANS[np.ones(500, int)] + noise(2, 500)


@pytest.mark.parametrize(
    ("X", "labels", "words"),
    [
        (BLOB, np.arange(500) % 2, "labels 0 and 1 with means 0.0"),
        (np.r_[MEANS[LABELS] + noise(), BLOB], np.r_[LABELS, np.full(500, 3)], "1 and 3 with mea"),
        (np.r_[BLOB, 2 * BLOB], np.repeat([0, 1], 500), "labels 0 and 1 at 0.0 degrees"),
        (MEANS[LABELS], np.eye(3)[LABELS], r"labels.argmax\(axis=1\)"),
        (MEANS[LABELS], LABELS * 1.0, r"numpy.unique\(labels, return_inverse=True\)\[1\]"),
        (MEANS[LABELS], np.array(list("abc"))[LABELS], "numpy.unique"),
        (MEANS[LABELS][:501], LABELS[:501], "two points in each class, got 1 with label 1$"),
        (np.r_[BLOB, -2 * BLOB], np.repeat([0, 1], 500), r"0 and 1 at 180.0 degrees$"),
        (np.r_[BLOB, -2 * BLOB], np.repeat([0, 1], 500), "if it is not at 0, subtract the point"),
        (MEANS[LABELS] - MEANS[0], LABELS, "class means that are not 0"),
    ],
)
def test_what_means_nothing_is_refused(X, labels, words):
    with pytest.raises(InvalidInput, match=words):
        SIMTask.from_samples(X, labels)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("center_cluster", [False, True])
def test_a_mean_that_was_subtracted_is_refused_with_the_reason(count, center_cluster):
    X, labels = SIMTask(range(1, count + 1), 0.2, 4).sample(200, 0, center_cluster)
    for centred in (X - X.mean(axis=0), (X - X.mean(axis=0)).astype(np.float32)):
        with pytest.raises(InvalidInput, match=r"so their mean is not 0: .*, got points with mea"):
            SIMTask.from_samples(centred, labels)


@pytest.mark.parametrize("count", [2, 3])
def test_advice_about_the_origin_leads_to_a_task(count):
    X, labels = SIMTask(range(1, count + 1), 0.2).sample(500, 0)
    with pytest.warns(SwingbyWarning, match="subtract the point that stands for a zero input"):
        moved = SIMTask.from_samples(X + 0.5, labels)
    shift = re.search(r"such as by \(([^)]*)\)", moved.warnings[0])[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert SIMTask.from_samples(X, labels).warnings == ()
        found = SIMTask.from_samples(X + 0.5 - [float(entry) for entry in shift.split(",")], labels)
    assert found.warnings == ()


def test_correlation_moves_the_time_that_is_warned_of():
    """The network feels the second moment; the warning comes where the task misses it."""
    rng = np.random.default_rng(5)
    labels = np.arange(2000) % 2
    X = np.array([[1.5, 0.0], [0.0, 2.0]])[labels]
    X = X + rng.multivariate_normal([0, 0], [[0.36, 0.3], [0.3, 0.36]], 2000)
    with pytest.warns(SwingbyWarning, match="concepts 1 and 2 0.8"):
        task = SIMTask.from_samples(X, labels)
    C = task.rotation.T @ (X.T @ X / len(X)) @ task.rotation
    W, rows = 1e-4 * np.array([[2.0, 1.0], [1.0, 2.0]]), []
    for _ in range(1200):
        rows.append(W)
        M = np.eye(2) + 0.01 * (C - (C @ W + W @ C) / 2)
        W = M @ W @ M.T
    observed = np.array(rows)[:, 0, 0].searchsorted(0.5)
    predicted = predict(task, rows[0], eta=0.01, dynamics="gd").half_times[0]
    assert abs(predicted / observed - 1) > 0.02
    # In the directions of the second moment it is a task again, and the prediction is right.
    values, axes = np.linalg.eigh(C)
    own = SIMTask.from_signal(values)
    table = compare(own, observed=axes.T @ np.array(rows) @ axes, eta=0.01, dynamics="gd")
    assert table.largest_error == 0
    assert table.warnings == ()


def test_results_show_the_doubts_of_their_task():
    with pytest.warns(SwingbyWarning):
        task = SIMTask.from_samples(*DOUBTS["correlated"][:2])
    W0 = 0.01 * np.eye(4)
    table = compare(task, W0, eta=0.01, dynamics="gd")
    for result in (predict(task, W0, eta=0.01, dynamics="gd"), table):
        assert "points within a class are correlated" in result.to_text(width=1000)
    assert task.warnings[0] in table.to_dict()["warnings"]
    assert task.warnings[0] in predict(task, omega=0.01, eta=0.01, dynamics="gd").warnings


@pytest.mark.parametrize("count", [2, 5, 30, 300])
def test_a_sample_of_a_task_is_no_cause_for_doubt(count):
    """Of 60 tasks each, at most one: two tests of 1e-4 each, and the refusals of tiny samples."""
    doubted = 0
    for seed in range(60):
        rng = np.random.default_rng((count, seed))
        s, free = int(rng.integers(1, 6)), int(rng.integers(4))
        task = SIMTask(rng.uniform(0.5, 3, s), rng.uniform(0.01, 0.6, s), s + free)
        rotation = np.linalg.qr(rng.standard_normal((s + free, s + free)))[0]
        X, labels = task.sample(count, rng, bool(rng.integers(2)), rotation)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                SIMTask.from_samples(X, labels)
            except (SwingbyWarning, InvalidInput):
                doubted += 1
    assert doubted <= 1


def test_what_noise_may_do_passes():
    rng = np.random.default_rng(0)
    random_labels = rng.integers(3, size=1500)
    few = np.repeat(np.arange(1500)[::50], 50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SIMTask.from_samples(MEANS[random_labels] + noise(), random_labels)
        # Copies are no evidence: these are 10 points of each class.
        SIMTask.from_samples((MEANS[LABELS] + noise())[few], LABELS[few])
        SIMTask.from_samples(MEANS[LABELS], LABELS)
