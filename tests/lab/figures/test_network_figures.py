"""The network figures: criteria on data made by hand, and one figure trained for real.

What a criterion has to say follows from the data it is given; the trained figure is compared with
the signal sigma^2 + mu^2/c of its settings (Theorem 4.1).
"""

import csv
from copy import deepcopy
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import swingby
from swingby.lab.figures.catalogue import figure_of
from swingby.lab.figures.run_criteria import cut, happens, verdict_of
from swingby.theory.share import Share

NETWORKS = ("2a", "2b", "2c", "3", "7", "11", "12", "13", "14", "15", "16")


def made(cells, runs, **changes):
    """Data of figures with two concepts in which everything is as the paper says."""
    shape = (cells, runs)
    data = {
        "labels": [f"cell {k}" for k in range(cells)],
        "mu": np.tile([1.0, 2.0], (cells, 1)),
        "signal": np.tile([0.5, 2.0], (cells, 1)),
        "epochs": np.arange(5.0),
        "half_times": np.tile([2.0, 1.0], (*shape, 1)),
        "area": np.linspace(0.4, -0.4, cells)[:, None] * np.ones(runs),
        "discarded": np.zeros(shape, dtype=int),
        "nearest": np.full(shape, 0.8),
        "slowing": np.full(shape, 0.01),
        "final_loss": np.zeros(shape),
        **{name: np.full(shape, 0.3) for name in ("fall", "dip")},
        **{name: np.full(shape, 0.05) for name in ("rise", "hill", "quiet_hill")},
    }
    return {**data, **changes}


def verdicts(number, data):
    return {one.id: str(measured.verdict) for one, measured in figure_of(number).judge(data)}


def settings(number, edition, seeds=1):
    """The training runs of the first seeds of every cell."""
    from swingby.lab.figures.network_cells import settings_of

    parameters = figure_of(number).editions[edition].parameters | {"seeds": seeds}
    return [settings_of(parameters, one) for one in parameters["cells"]]


@pytest.mark.parametrize("number", NETWORKS)
def test_captions_take_what_is_printed(number):
    """Standard deviations, no cluster at the origin, the loss (2.1), 40 epochs of App. F.1."""
    assert [one.name for one in figure_of(number).editions] == ["caption", "code"]
    for (one,) in settings(number, 0):
        assert one.task.sigma[-1] == Fraction(1, 2 if number == "7" else 20)
        assert (one.optimizer.loss, one.optimizer.lr, one.optimizer.batch_size) == (
            "paper",
            0.1,
            128,
        )
        assert (one.data.center_cluster, one.data.n_per_class, one.epochs) == (False, 5000, 40)


#: Which commands of the public code belong to which figure, by our reading of both.
COMMANDS = {
    "2a": "17 18 19",
    "2b": "2 3 4 5 6",
    "2c": "29 28",
    "3": "29 28",
    "7": "1",
    "11": "7 8 9 10 11 23 24 25",
    "12": "12 13 14 15 16 20 21 22",
    "13": "26 27",
    "14": "26 27",
    "15": "29 28",
    "16": "29 28 29 28",
}


@pytest.mark.parametrize("number", NETWORKS)
def test_the_code_edition_trains_what_the_public_commands_train(number):
    """Every parameter of every command: a variance, a centre cluster, the mean over d."""
    text = (Path(swingby.__file__).parent / "data" / "public_commands.csv").read_text()
    rows = {row["id"]: row for row in csv.DictReader(text.splitlines())}
    labels = [one["label"] for one in figure_of(number).editions[1].parameters["cells"]]
    for (setting,), name, label in zip(
        settings(number, 1), COMMANDS[number].split(), labels, strict=True
    ):
        row = rows[name]
        mu, variance = (list(map(float, row[key].split())) for key in ("mu", "variance"))
        assert [float(x) for x in setting.task.mu] == mu
        spread = [float(x) ** 2 for x in setting.task.sigma]
        assert spread == pytest.approx(variance if len(variance) > 1 else variance * len(mu))
        network, data, optimizer = setting.network, setting.data, setting.optimizer
        layers = (network.depth, network.activation, setting.task.dim, network.bias)
        assert layers == (int(row["layers"]), row["activation"], int(row["dim"]), True)
        assert network.depth == 1 or network.width == int(row["hdim"])
        assert (network.initialization, network.scale, optimizer.loss) == ("torch", 1.0, "torch")
        assert (optimizer.kind.upper(), optimizer.lr) == (row["optimizer"], float(row["lr"]))
        rest = (optimizer.batch_size, setting.epochs, data.n_per_class)
        assert rest == tuple(int(row[key]) for key in ("batch", "epochs", "points_per_class"))
        assert data.rotation == (row["rotation"] == "yes")
        assert data.center_cluster == (row["data"] == "identity")
        assert (data.truncation is None) == (number != "16" or "truncated" not in label)


@pytest.mark.parametrize(
    ("counts", "systematic", "once"),
    [
        # By Wilson's 95 % interval of so many in 64 runs, by its formula, against .9, .5 and .1.
        ((64, 63), "holds", "holds"),  # [.943, 1], [.917, .997]
        ((62, 54), "undecided", "holds"),  # [.893, .991], [.737, .915]
        ((52, 41), "fails", "holds"),  # [.700, .889], [.518, .747]
        ((39, 2), "fails", "undecided"),  # [.487, .719], [.009, .107]
        ((1,), "fails", "fails"),  # [.003, .083]
    ],
)
def test_shares(counts, systematic, once):
    for share in (Share(count, 64) for count in counts):
        assert (str(verdict_of(share)), str(happens(share))) == (systematic, once)


def test_order_of_learning():
    signal = np.array([[0.5, 2.0], [0.8, 1.6], [1.1, 1.1], [1.6, 0.8], [2.0, 0.5]])
    times = np.where(signal[:, None] == signal.max(axis=1)[:, None, None], 1.0, 2.0)
    data = made(5, 64, signal=signal, half_times=np.tile(times, (1, 64, 1)))
    assert set(verdicts("2a", data).values()) == {"holds"}
    one_wrong = data["half_times"].copy()
    one_wrong[0, :3] = one_wrong[0, :3, ::-1]
    assert verdicts("2a", {**data, "half_times": one_wrong})["order"] == "undecided"
    never = data["half_times"].copy()
    never[4, :, 0] = np.nan
    assert verdicts("2a", {**data, "half_times": never})["order"] == "fails"
    assert verdicts("2a", {**data, "area": data["area"][::-1]})["bulge"] == "fails"
    assert verdicts("2a", {**data, "slowing": data["slowing"] + 0.5})["slowing"] == "fails"


def test_diversity_turns_the_order_around():
    signal = np.array([[0.5, 2.0], [1.95, 2.0], [4.0, 2.0]])
    times = np.tile([[[2.0, 1.0]], [[1.0, 2.0]], [[1.0, 2.0]]], (1, 64, 1))
    data = made(3, 64, signal=signal, half_times=times)
    # A near tie may go either way.
    assert verdicts("2b", data) == {"flip": "holds", "signal": "holds"}
    early = {**data, "signal": np.array([[0.5, 2.0], [1.0, 2.0], [4.0, 2.0]])}
    assert verdicts("2b", early)["signal"] == "fails"
    stays = {**data, "half_times": np.tile([2.0, 1.0], (3, 64, 1))}
    assert verdicts("2b", stays) == {"flip": "fails", "signal": "fails"}
    never = times.copy()
    never[2] = np.nan
    nothing = {**data, "half_times": never}
    assert verdicts("2b", nothing) == {"flip": "fails", "signal": "fails"}


def test_turns():
    turns = np.array([[0.3] * 64, [0.05] * 64])
    data = made(2, 64, dip=turns, fall=turns)
    assert verdicts("2c", data)["dimension"] == "holds"
    assert verdicts("2c", data)["turn-low"] == "holds"
    same = {**data, "fall": np.full((2, 64), 0.3)}
    assert verdicts("2c", same)["dimension"] == "fails"
    rare = {**data, "dip": np.array([[0.3] * 10 + [0.0] * 54, [0.05] * 64])}
    assert verdicts("2c", rare)["turn-low"] == "undecided"
    # It turns away and does not come back.
    assert verdicts("2c", {**data, "dip": 0 * turns})["turn-low"] == "fails"
    assert verdicts("13", data)["turn"] == "fails"
    hills = np.array([[0.05] * 50 + [0.0] * 14, [0.0] * 58 + [0.02] * 6])
    losses = {
        **data,
        "hill": hills,
        "quiet_hill": hills,
        "rise": np.array([[0.1] * 64, [0.0] * 64]),
    }
    assert verdicts("3", losses) == {"descents-1": "holds", "falls-2": "holds"}
    assert verdicts("14", losses) == {"descents-1": "holds", "descents-2": "undecided"}
    assert verdicts("3", {**losses, "rise": losses["rise"] + 0.02})["falls-2"] == "fails"
    # With the exact gradient and small steps no loss rises: the rises were noise, or the steps'.
    noise = {**losses, "quiet_hill": 0 * hills}
    assert verdicts("14", noise) == {"descents-1": "fails", "descents-2": "fails"}
    # A loss that never moves does not rise, nor has it descended.
    assert verdicts("3", {**losses, "final_loss": np.ones((2, 64))})["falls-2"] == "fails"
    # It only rises at the end: no hill, though a rise.
    assert verdicts("3", {**losses, "hill": 0 * hills})["descents-1"] == "fails"


def test_truncation():
    four = made(4, 64)
    assert verdicts("16", four)["truncation"] == "undecided"
    drawn = {**four, "discarded": np.array([[1] * 64, [0] * 64, [1] * 64, [0] * 64])}
    assert verdicts("16", drawn)["truncation"] == "holds"
    moved = four["fall"].copy()
    moved[0] += 0.1
    assert verdicts("16", {**drawn, "fall": moved})["truncation"] == "fails"
    two = made(2, 64)
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
    from swingby.lab.figures.paper.figure_7 import comparable_pairs

    index = [tuple(map(int, f"{k:04b}")) for k in range(16)]
    assert len(comparable_pairs(index)) == 3**4 - 2**4
    size = np.array([sum(one) for one in index], dtype=float)
    loss = np.tile(size, (64, 6, 1)) / 10
    data = {
        "index": [list(one) for one in index],
        "pairs": 65,
        "loss": loss,
        "violated": np.zeros((64, 6), dtype=int),
        "learned": np.tile(size, (64, 1)),
    }
    assert verdicts("7", data) == {"strict": "holds", "learned": "holds"}
    upside = {**data, "learned": np.tile(4 - size, (64, 1))}
    assert verdicts("7", upside)["learned"] == "fails"
    assert verdicts("7", {**data, "violated": data["violated"] + 2})["strict"] == "fails"
    assert verdicts("7", {**data, "learned": np.full((64, 16), np.nan)})["learned"] == "fails"


@pytest.mark.torch
def test_areas_turns_and_dips_of_known_paths():
    pytest.importorskip("torch")
    from swingby.lab.figures.curves import chord_area, deepest_dip, highest_hill, smoothed
    from swingby.lab.figures.network_runs import _thinned

    t = np.linspace(0.0, 1.0, 2001)
    # Twice the area between y = x^(1/2) and the chord is 1/3; the mirror image has the other sign.
    path = np.stack([t, np.sqrt(t)], axis=1)
    areas = chord_area(np.stack([path, path[:, ::-1]]))
    assert areas == pytest.approx([1 / 3, -1 / 3], abs=1e-4)

    def path_of(*corners):
        return np.interp(np.arange(9 * len(corners)) / 9, range(len(corners)), corners)[None]

    # Falls, rises and falls; falls less than it rose; rises at the end; rises at the start.
    hills = [(1, 0.4, 0.6, 0), (1, 0.4, 0.6, 0.5), (1, 0.4, 0.6), (1, 1.2, 0)]
    found = [float(highest_hill(path_of(*corners))[0]) for corners in hills]
    assert found == pytest.approx([0.2, 0.1, 0, 0], abs=1e-9)
    turns = [(0, 0.5, 0.2, 1), (0, 0.5, 0.2, 0.3), (0, 0.5, 0.2), (0, 1)]
    assert [float(deepest_dip(path_of(*one))[0]) for one in turns] == pytest.approx(
        [0.3, 0.1, 0, 0]
    )
    assert smoothed(np.arange(6.0)[None], 3).tolist() == [[0.0, 2.0, 3.0, 4.0]]
    # A run of fewer steps than points that are drawn is drawn whole.
    assert [len(_thinned(count)) for count in (17, 300, 301)] == [17, 300, 301]


@pytest.mark.torch
def test_a_figure_trained_for_real():
    """One layer: the order is that of the signals, and the path ends at the test point."""
    pytest.importorskip("torch")
    from swingby.lab.figures.network_cells import settings_of
    from swingby.lab.figures.network_runs import train_cells
    from swingby.lab.figures.panels import losses_picture, outputs_picture
    from swingby.lab.networks import train

    told = []
    parameters = deepcopy(figure_of("2a").editions[1].parameters) | {"seeds": 3}
    for one in parameters["cells"]:
        one["setting"]["data"]["n_per_class"] = 400
    data = train_cells(parameters, lambda share, text: told.append((share, text)))
    assert told[0] == (0.0, "\u03bc = (1, 2), 3 seeds")
    # sigma^2 + mu^2 / 3: a variance of 0.05 and the cluster at the origin.
    assert data["signal"][0] == pytest.approx([0.05 + 1 / 3, 0.05 + 4 / 3])
    first = np.nan_to_num(data["half_times"], nan=np.inf).argmin(axis=2)
    assert (first[0] == 1).all()
    assert (first[-1] == 0).all()
    assert data["output"].shape == (3, len(data["epochs"]), 2)
    # The band of three runs a < b < c at the end: a + (b - a) / 5 and c - (c - b) / 5.
    run = train(settings_of(parameters, parameters["cells"][0]))
    a, b, c = sorted(run.test_loss[:, -1] / run.first_loss)
    assert data["loss_band"][0, :, -1] == pytest.approx([a + (b - a) / 5, c - (c - b) / 5])
    assert np.array_equal(data["paths"][0, :, -1], run.output[:, -1, -1])
    (ax,) = losses_picture(data, "").axes
    bands = [one.get_paths()[0].vertices for one in ax.collections[:3]]
    for drawn, (low, high) in zip(bands, data["loss_band"], strict=True):
        assert drawn[:, 1].min() == low[1:].min()
        assert drawn[:, 1].max() == high[1:].max()
    # A path of the typical run and one of each of the three, in every cell.
    (ax,) = outputs_picture(data, "").axes
    paths = [len(line.get_xdata()) for line in ax.lines]
    assert paths.count(len(data["epochs"])) == 3 * (1 + 3)
    assert data["final_loss"].max() < 1
