"""The network figures: criteria on data made by hand, and one figure trained for real.

What a criterion has to say follows from the data it is given; the trained figure is compared with
the signal sigma^2 + mu^2/c of its settings (Theorem 4.1).
"""

import numpy as np
import pytest

from swingby.figures.catalogue import figure, numbers
from swingby.figures.shares import cut, happens, verdict_of

NETWORKS = ("2a", "2b", "2c", "3", "7", "11", "12", "13", "14", "15", "16")


def made(cells, runs, **changes):
    """Data of figures with two concepts in which everything is as the paper says."""
    times = np.tile([2.0, 1.0], (cells, runs, 1))
    data = {
        "labels": [f"cell {k}" for k in range(cells)],
        "mu": np.tile([1.0, 2.0], (cells, 1)),
        "signal": np.tile([0.5, 2.0], (cells, 1)),
        "epochs": np.arange(5.0),
        "half_times": times,
        "area": np.linspace(0.4, -0.4, cells)[:, None] * np.ones(runs),
        "dip": np.full((cells, runs), 0.3),
        "rise": np.full((cells, runs), 0.05),
        "slowing": np.full((cells, runs), 0.01),
        "nearest": np.full((cells, runs), 0.8),
        "discarded": np.zeros((cells, runs), dtype=int),
    }
    return {**data, **changes}


def verdicts(number, data):
    return {one.id: str(measured.verdict) for one, measured in figure(number).judge(data)}


def test_they_are_in_the_catalogue_with_both_editions():
    assert set(NETWORKS) <= set(numbers())
    for number in NETWORKS:
        assert [one.name for one in figure(number).editions] == ["caption", "code"]


def test_captions_and_code_differ_as_known():
    """From the facts about the public code: variances, a centre cluster, the mean over d."""
    for number in NETWORKS:
        caption, code = (one.parameters["cells"] for one in figure(number).editions)
        for one, other in zip(caption, code, strict=True):
            assert (one["sigma_is"], other["sigma_is"]) == ("standard deviation", "variance")
            assert (one["loss"], other["loss"]) == ("paper", "torch")
            assert not one["center_cluster"]
            assert other["center_cluster"] == (number != "7")
    deep = [one.parameters["cells"][0]["mu"] for one in figure("3").editions]
    assert deep == [["1", "2"], ["2", "4"]]


@pytest.mark.parametrize(
    ("share", "systematic", "once"),
    [
        (1.0, "holds", "holds"),
        (0.9, "holds", "holds"),
        (0.89, "undecided", "holds"),
        (0.5, "undecided", "holds"),
        (0.49, "fails", "undecided"),
        (0.05, "fails", "undecided"),
        (0.04, "fails", "fails"),
    ],
)
def test_shares(share, systematic, once):
    assert (str(verdict_of(share)), str(happens(share))) == (systematic, once)


def test_order_of_learning():
    signal = np.array([[0.5, 2.0], [0.8, 1.6], [1.1, 1.1], [1.6, 0.8], [2.0, 0.5]])
    times = np.where(signal[:, None] == signal.max(axis=1)[:, None, None], 1.0, 2.0)
    data = made(5, 10, signal=signal, half_times=np.tile(times, (1, 10, 1)))
    assert set(verdicts("2a", data).values()) == {"holds"}
    one_wrong = data["half_times"].copy()
    one_wrong[0, :2] = one_wrong[0, :2, ::-1]
    assert verdicts("2a", {**data, "half_times": one_wrong})["order"] == "undecided"
    never = data["half_times"].copy()
    never[4, :, 0] = np.nan
    assert verdicts("2a", {**data, "half_times": never})["order"] == "fails"
    assert verdicts("2a", {**data, "area": data["area"][::-1]})["bulge"] == "fails"
    assert verdicts("2a", {**data, "slowing": data["slowing"] + 0.5})["slowing"] == "fails"


def test_diversity_turns_the_order_around():
    signal = np.array([[0.5, 2.0], [1.95, 2.0], [4.0, 2.0]])
    times = np.tile([[[2.0, 1.0]], [[1.0, 2.0]], [[1.0, 2.0]]], (1, 10, 1))
    data = made(3, 10, signal=signal, half_times=times)
    # A near tie may go either way.
    assert verdicts("2b", data) == {"flip": "holds", "signal": "holds"}
    early = {**data, "signal": np.array([[0.5, 2.0], [1.0, 2.0], [4.0, 2.0]])}
    assert verdicts("2b", early)["signal"] == "fails"
    stays = {**data, "half_times": np.tile([2.0, 1.0], (3, 10, 1))}
    assert verdicts("2b", stays) == {"flip": "fails", "signal": "fails"}


def test_turns():
    data = made(2, 10, dip=np.array([[0.3] * 10, [0.05] * 10]))
    assert verdicts("2c", data)["dimension"] == "holds"
    assert verdicts("2c", data)["turn-low"] == "holds"
    same = {**data, "dip": np.full((2, 10), 0.3)}
    assert verdicts("2c", same)["dimension"] == "fails"
    rare = {**data, "dip": np.array([[0.3] + [0.0] * 9, [0.05] * 10])}
    assert verdicts("2c", rare)["turn-low"] == "undecided"
    assert verdicts("13", data)["turn"] == "fails"
    losses = {**data, "rise": np.array([[0.05] * 6 + [0.0] * 4, [0.0] * 9 + [0.02]])}
    assert verdicts("3", losses) == {"descents-1": "holds", "falls-2": "holds"}
    assert verdicts("14", losses) == {"descents-1": "holds", "descents-2": "undecided"}


def test_truncation():
    four = made(4, 6)
    assert verdicts("16", four)["truncation"] == "holds"
    moved = four["dip"].copy()
    moved[0] += 0.1
    assert verdicts("16", {**four, "dip": moved})["truncation"] == "fails"
    two = made(2, 6)
    assert verdicts("15", two)["far"] == "holds"
    near = two["nearest"].copy()
    near[1, 3] = 0.4
    assert verdicts("15", {**two, "nearest": near})["far"] == "fails"


def test_a_part_of_the_cells():
    data = made(4, 6, epochs=np.arange(4.0))
    part = cut(data, slice(1, 3))
    assert part["labels"] == ["cell 1", "cell 2"]
    assert part["dip"].shape == (2, 6)
    # Epochs belong to all cells, even where there are as many.
    assert np.array_equal(part["epochs"], np.arange(4.0))


def test_pairs_and_violations_of_the_partial_order():
    pytest.importorskip("torch")
    from swingby.figures.topology import comparable_pairs

    index = [tuple(map(int, f"{k:04b}")) for k in range(16)]
    assert len(comparable_pairs(index)) == 3**4 - 2**4
    size = np.array([sum(one) for one in index], dtype=float)
    loss = np.tile(size, (3, 6, 1)) / 10
    data = {
        "index": [list(one) for one in index],
        "pairs": 65,
        "loss": loss,
        "violated": np.zeros((3, 6), dtype=int),
        "learned": np.tile(size, (3, 1)),
    }
    assert verdicts("7", data) == {"strict": "holds", "learned": "holds"}
    upside = {**data, "learned": np.tile(4 - size, (3, 1))}
    assert verdicts("7", upside)["learned"] == "fails"
    assert verdicts("7", {**data, "violated": data["violated"] + 2})["strict"] == "fails"


@pytest.mark.torch
def test_areas_turns_and_dips_of_known_paths():
    pytest.importorskip("torch")
    from swingby.figures.trained import _area, _smoothed, _turns

    t = np.linspace(0.0, 1.0, 2001)
    # Twice the area between y = x^(1/2) and the chord is 1/3; the mirror image has the other sign.
    path = np.stack([t, np.sqrt(t)], axis=1)
    areas = _area(np.stack([path, path[:, ::-1]]))
    assert areas == pytest.approx([1 / 3, -1 / 3], abs=1e-4)
    loss = np.interp(np.arange(9), [0, 2, 4, 8], [1.0, 0.4, 0.6, 0.0])
    rise, descents = _turns(loss[None])
    assert (rise[0], descents[0]) == (pytest.approx(0.2), 2)
    assert _smoothed(np.arange(6.0)[None], 3).tolist() == [[0.0, 2.0, 3.0, 4.0]]


@pytest.mark.torch
def test_a_figure_trained_for_real():
    """One layer: the order is that of the signals, and the path ends at the test point."""
    pytest.importorskip("torch")
    from swingby.figures.learning_order import along_mu
    from swingby.figures.trained import train_cells

    told = []
    edition = along_mu(1, "linear")[1]
    parameters = {**edition.given(quick=True), "n_per_class": 400, "seeds": 3}
    data = train_cells(parameters, lambda share, text: told.append((share, text)))
    assert told[0] == (0.0, "\u03bc = (1, 2), 3 seeds")
    # sigma^2 + mu^2 / 3: a variance of 0.05 and the cluster at the origin.
    assert data["signal"][0] == pytest.approx([0.05 + 1 / 3, 0.05 + 4 / 3])
    first = np.nan_to_num(data["half_times"], nan=np.inf).argmin(axis=2)
    assert (first[0] == 1).all()
    assert (first[-1] == 0).all()
    assert data["output"].shape == (5, len(data["epochs"]), 2)
    assert data["final_loss"].max() < 1
