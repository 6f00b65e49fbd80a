"""The training runs behind the network figures: their editions, and what is kept of them.

The caption edition takes what Sec. 3 and App. F print: standard deviations sigma, one cluster per
concept, and the loss (2.1). The code edition takes what the authors' public code does: sigma is a
variance, a third cluster lies at the origin (but for ``multi_identity``), and the loss is averaged
over the d directions too. Layers have biases and the initial weights of ``torch.nn.Linear`` in
both, as the code has and the paper does not say.

Figures 2, 3, 7 and 11 to 15 have commands in ``run.sh`` of FFTYYY/ConceptDynamics-code at commit
d26bebc; Figure 16 has none. What each sets is a row of ``public_commands.csv``; which
figure it belongs to is our reading.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from importlib import resources
from typing import Any

import numpy as np

from swingby.lab.figures.figure import Edition, Tell
from swingby.lab.networks import Data, Network, Optimizer, Setting, TrainingRun, train
from swingby.lab.networks.samples import training_points
from swingby.lab.networks.setting import Floats, Integers
from swingby.theory.task import SIMTask

#: Runs per cell, of a full and of a quick figure.
SEEDS, QUICK_SEEDS = 64, 16
#: Of a quick figure whose networks go through their points.
FEW_SEEDS = 6
#: Points kept of each curve that is drawn.
_DRAWN = 600
#: Shares of the runs between which a band lies, and runs whose paths are drawn beside.
BAND, BESIDE = (0.1, 0.9), 8
#: Turns of the smoothed test loss count from this share of its start.
SWING = 0.01


#: What App. F.1 says of all: 5000 points a cluster, rotated, 40 epochs.
DATA, NETWORK, OPTIMIZER, EPOCHS = Data(rotation=True), Network(), Optimizer(), 40


def cell(
    edition: str,
    label: str,
    mu: Sequence[str],
    sigma: Sequence[str],
    dim: int = 64,
    *,
    data: Data = DATA,
    network: Network = NETWORK,
    optimizer: Optimizer = OPTIMIZER,
    epochs: int = EPOCHS,
) -> dict[str, Any]:
    """One setting of a figure, as plain values, with an edition's reading of sigma and loss."""
    code = edition == "code"
    spread = [float(Fraction(one)) ** 0.5 for one in sigma] if code else sigma
    loss = replace(optimizer, loss="torch" if code else "paper")
    setting = Setting(SIMTask(mu, spread, dim), data, network, loss, epochs)
    return {"label": label, "setting": setting.to_dict()}


def edition_of(name: str, cells: Sequence[Mapping[str, Any]], note: str) -> Edition:
    """An edition that trains some cells, from :func:`cell`."""
    linear = all(one["setting"]["network"]["activation"] == "linear" for one in cells)
    quick = {"seeds": QUICK_SEEDS if linear else FEW_SEEDS}
    return Edition(name, {"cells": list(cells), "seeds": SEEDS}, note, quick)


def settings_of(parameters: Mapping[str, Any], one: Mapping[str, Any]) -> list[Setting]:
    """The training runs of a cell, one for each seed."""
    setting = Setting.from_dict(one["setting"])
    return [replace(setting, seed=seed) for seed in range(parameters["seeds"])]


def train_cells(parameters: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    """Train every cell with every seed, and keep what the figures show and judge.

    Returns ``labels``; ``mu`` (c, s); ``signal`` (c, s), of the data; ``epochs`` (n,) of the curves
    that are drawn; ``shown`` (c,), the seed that is drawn, whose fall is the median of all;
    ``output`` (c, n, s) and ``loss`` (c, n) of that seed; ``loss_band`` (c, 2, n) of all seeds, in
    units of the start; ``paths`` (c, k, n, s), the outputs of the first few; and of all c cells and
    r seeds what :func:`measure` gives.
    """
    cells, seeds = parameters["cells"], parameters["seeds"]
    rows, epochs = [], np.zeros(0)
    for place, one in enumerate(cells):
        tell(place / len(cells), f"{one['label']}, {seeds} seeds")
        run = train(settings_of(parameters, one))
        measured, task = measure(run), run.settings[0].task
        typical = int(np.argsort(measured["fall"], kind="stable")[seeds // 2])
        kept = _thinned(len(run.steps))
        epochs = run.epochs[kept]
        share = run.test_loss[:, kept] / run.first_loss[:, None]
        rows.append(
            {
                "mu": task.test_point[: task.s],
                "signal": run.settings[0].moments[1][: task.s],
                "shown": typical,
                "output": run.output[typical, kept, -1],
                "loss": run.test_loss[typical, kept],
                "loss_band": np.quantile(share, BAND, axis=0),
                "paths": run.output[:BESIDE, kept, -1],
                **measured,
            }
        )
    labels, shown = (
        [one[name] for one in each] for each, name in ((cells, "label"), (rows, "shown"))
    )
    stacked = {name: np.stack([one[name] for one in rows]) for name in rows[0]}
    return {**stacked, "labels": labels, "shown": shown, "epochs": epochs}


def _thinned(count: int) -> Integers:
    """Places of the points that are drawn: dense at first, where most happens."""
    dense = np.arange(min(count, _DRAWN // 2))
    rest = np.linspace(len(dense), count - 1, _DRAWN // 2).round().astype(int)
    return np.unique(np.append(dense, rest[(rest >= len(dense)) & (rest < count)]))


def train_with_twins(parameters: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    """The same, and ``quiet_hill`` (c, r) of twins that only follow the exact gradient.

    A twin has the same initial weights, the moments of the distribution in place of points, and
    a tenth of the rate for ten times the steps: what its loss does is no noise of batches, and no
    effect of a large step. It needs a linear network.
    """
    data = train_cells(parameters, tell)
    hills = []
    for one in parameters["cells"]:
        tell(1.0, f"{one['label']}, with the exact gradient")
        run = train([twin(setting) for setting in settings_of(parameters, one)], record=SMALLER)
        hills.append(_hill(run.test_loss / run.first_loss[:, None]))
    return {**data, "quiet_hill": np.stack(hills)}


#: A twin takes steps so much smaller.
SMALLER = 10


def twin(setting: Setting) -> Setting:
    """The same network on the moments of its data, by small steps of gradient descent."""
    return replace(
        setting,
        data=replace(setting.data, n_per_class=None),
        optimizer=replace(setting.optimizer, kind="gd", lr=setting.optimizer.lr / SMALLER),
        epochs=None,
        steps=SMALLER * setting.total_steps,
    )


def measure(run: TrainingRun) -> dict[str, Any]:
    """What the criteria of the network figures rest on.

    `run`: recorded at every step.
    Returns arrays over the runs. ``half_times`` (r, s) in epochs. ``area``: twice the signed area
    between the path of the output, in units of the test point, and its chord; positive where
    concept 2 comes before concept 1. ``fall``: by how much of mu the smoothed output along the
    concept that is learned last falls after it has risen; ``dip``: by how much it falls and comes
    back. ``rise``: the largest rise of the smoothed test loss in units of its start; ``hill``: the
    largest above both what it fell to before, by a hundredth of its start at least, and what it
    falls to later; ``final_loss``. ``slowing``: speed of the output in the last tenth of the time
    in which it covers all but a thousandth of its way, over its mean speed. Smoothing is a mean
    over an eighth of an epoch, because single steps carry the noise of their batch.
    """
    window = max(1, run.settings[0].steps_per_epoch // 8)
    share = run.output[:, :, -1] / run.points[:, None, -1]
    smooth = _smoothed(share, window)
    loss = _smoothed(run.test_loss, window) / run.first_loss[:, None]
    weak = np.array([one.moments[1][: one.task.s].argmin() for one in run.settings])
    along = np.take_along_axis(smooth, weak[:, None, None], axis=2)[:, :, 0]
    return {
        "half_times": run.half_times / run.settings[0].steps_per_epoch,
        "area": _area(smooth),
        "fall": (np.maximum.accumulate(along, axis=1) - along).max(axis=1),
        "dip": _made_up(along),
        "rise": (loss - np.minimum.accumulate(loss, axis=1)).max(axis=1),
        "hill": _hill(loss),
        "final_loss": run.test_loss[:, -1] / run.first_loss,
        "slowing": _slowing(smooth),
    }


def _smoothed(values: Floats, window: int) -> Floats:
    """Means over `window` neighbouring steps, along the second axis."""
    total = np.cumsum(values, axis=1)
    ends = total[:, window:] - total[:, :-window]
    return np.concatenate([values[:, :1], ends / window], axis=1)


def _area(share: Floats) -> Floats:
    """Twice the area between a path in the plane and the chord from its start to its end."""
    x, y = (share[:, :, k] - share[:, :1, k] for k in range(2))
    dx, dy = np.diff(x, axis=1), np.diff(y, axis=1)
    within = (y[:, 1:] + y[:, :-1]) * dx - (x[:, 1:] + x[:, :-1]) * dy
    return np.asarray(0.5 * within.sum(axis=1))


def _made_up(values: Floats) -> Floats:
    """How deep each row falls below what it was before and is again: what it holds of rain."""
    before = np.maximum.accumulate(values, axis=1)
    after = np.maximum.accumulate(values[:, ::-1], axis=1)[:, ::-1]
    return np.asarray((np.minimum(before, after) - values).max(axis=1))


def _hill(loss: Floats) -> Floats:
    """How far each row, in units of its start, rises above what it fell to before and later."""
    before = np.minimum.accumulate(loss, axis=1)
    after = np.minimum.accumulate(loss[:, ::-1], axis=1)[:, ::-1]
    height = np.where(before <= 1 - SWING, loss - np.maximum(before, after), 0.0)
    return np.asarray(height.max(axis=1))


def _slowing(share: Floats) -> Floats:
    found = []
    for path in share:
        away = np.linalg.norm(path - path[-1], axis=1)
        reached = int(np.argmax(away <= 1e-3 * away[0])) or len(path) - 1
        tenth = max(1, reached // 10)
        last = np.linalg.norm(path[reached] - path[reached - tenth]) / tenth
        found.append(last / (np.linalg.norm(path[reached] - path[0]) / reached))
    return np.array(found)


#: Points of each cell that are drawn.
_IN_CLOUD = 1500


def train_with_points(parameters: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    """What :func:`train_cells` gives, and the training points.

    Returns also ``points`` (c, n, 2) of seed 0, and of all runs ``nearest`` (c, r), the distance of
    the nearest training point to the test point in units of the smaller mu, and ``discarded`` (c,
    r), the points within half of it that truncation had to draw again.
    """
    data = train_cells(parameters, tell)
    shown, near, gone = [], [], []
    for one in parameters["cells"]:
        settings = settings_of(parameters, one)
        plain = [replace(run, data=replace(run.data, truncation=None)) for run in settings]
        near.append([float(_distances(setting).min()) for setting in settings])
        gone.append([int((_distances(setting) <= 0.5).sum()) for setting in plain])
        points, _ = training_points(settings[0])
        rng = np.random.default_rng(0)
        chosen = rng.choice(len(points), min(_IN_CLOUD, len(points)), replace=False)
        shown.append(points[np.sort(chosen), :2])
    measured = {"nearest": np.array(near), "discarded": np.array(gone)}
    return {**data, "points": np.stack(shown), **measured}


def _distances(setting: Setting) -> Any:
    """Distances of the training points to the test point, in units of the smaller mu."""
    points, _ = training_points(setting)
    away = np.linalg.norm(points - setting.task.test_point, axis=1)
    return away / float(min(setting.task.mu))


@functools.cache
def commands() -> dict[int, dict[str, str]]:
    """What each command of the public code sets, by its place in their list.

    >>> commands()[29]["hdim"], commands()[29]["lr"]
    ('4', '0.01')
    """
    text = resources.files("swingby").joinpath("lab/figures/public_commands.csv").read_text("utf-8")
    return {int(row["id"]): row for row in csv.DictReader(text.splitlines())}


def code_cells(
    numbers: Sequence[int], labels: Sequence[str], truncation: float | None = None
) -> list[dict[str, Any]]:
    """What some commands train, a cell each; no command truncates."""
    rows = [commands()[number] for number in numbers]
    return [_coded(row, label, truncation) for row, label in zip(rows, labels, strict=True)]


def _coded(row: Mapping[str, str], label: str, truncation: float | None) -> dict[str, Any]:
    if (row["optimizer"], row["bias"]) != ("SGD", "yes"):
        raise ValueError(f"command {row['id']} is none of those known")
    depth, mu, spread = int(row["layers"]), row["mu"].split(), row["variance"].split()
    center, rotation = row["data"] == "identity", row["rotation"] == "yes"
    found = cell(
        "code",
        label,
        mu,
        spread if len(spread) > 1 else spread * len(mu),
        int(row["dim"]),
        data=Data(int(row["points_per_class"]), center, rotation, truncation),
        network=Network(depth, int(row["hdim"]) if depth > 1 else None, row["activation"]),
        optimizer=Optimizer(lr=float(row["lr"]), batch_size=int(row["batch"])),
        epochs=int(row["epochs"]),
    )
    return {**found, "command": int(row["id"])}
