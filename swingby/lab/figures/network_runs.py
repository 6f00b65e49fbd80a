"""Networks trained for the figures: every cell with every seed, and their measures and curves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from swingby.lab.figures.curves import chord_area, deepest_dip, highest_hill, slowing, smoothed
from swingby.lab.figures.figure import Tell
from swingby.lab.figures.network_cells import settings_of
from swingby.lab.networks import Setting, TrainingRun, train
from swingby.lab.networks.setting import Integers
from swingby.lab.networks.training_points import training_points

#: Points kept of each curve that is drawn.
_DRAWN = 600
#: Shares of the runs between which a band lies, and runs whose paths are drawn beside.
BAND, BESIDE = (0.1, 0.9), 8


def train_cells(parameters: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    """Train every cell with every seed, and return what the figures show and judge.

    Returns ``labels``; ``mu`` (c, s); ``signal`` (c, s), of the data; ``epochs`` (n,) of the curves
    that are drawn; ``output`` (c, n, s) and ``loss`` (c, n) of the seed whose fall is the median of
    all; ``loss_band`` (c, 2, n) of all seeds, in units of the start; ``paths`` (c, k, n, s), the
    outputs of the first few; and of all c cells and r seeds what :func:`measure` gives.
    """
    cells, seeds = parameters["cells"], parameters["seeds"]
    rows, epochs = [], np.zeros(0)
    for index, cell in enumerate(cells):
        tell(index / len(cells), f"{cell['label']}, {seeds} seeds")
        run = train(settings_of(parameters, cell))
        measured, task = measure(run), run.settings[0].task
        typical = int(np.argsort(measured["fall"], kind="stable")[seeds // 2])
        drawn = _thinned(len(run.steps))
        epochs = run.epochs[drawn]
        share = run.test_loss[:, drawn] / run.first_loss[:, None]
        rows.append(
            {
                "mu": task.test_point[: task.s],
                "signal": run.settings[0].moments[1][: task.s],
                "output": run.output[typical, drawn, -1],
                "loss": run.test_loss[typical, drawn],
                "loss_band": np.quantile(share, BAND, axis=0),
                "paths": run.output[:BESIDE, drawn, -1],
                **measured,
            }
        )
    labels = [cell["label"] for cell in cells]
    stacked = {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    return {**stacked, "labels": labels, "epochs": epochs}


def _thinned(count: int) -> Integers:
    """Indices of the steps that are drawn, dense at first."""
    dense = np.arange(min(count, _DRAWN // 2))
    spaced = np.linspace(len(dense), count - 1, _DRAWN // 2).round().astype(int)
    return np.unique(np.append(dense, spaced[(spaced >= len(dense)) & (spaced < count)]))


def train_with_twins(parameters: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    """Train every cell, and twins that follow the exact gradient: ``quiet_hill`` (c, r).

    A twin has the same initial weights, the moments of the distribution in place of points, and
    a tenth of the rate for ten times the steps: what its loss does is no noise of batches, and no
    effect of a large step. It needs a linear network.
    """
    data = train_cells(parameters, tell)
    hills = []
    for cell in parameters["cells"]:
        tell(1.0, f"{cell['label']}, with the exact gradient")
        run = train([twin(setting) for setting in settings_of(parameters, cell)], record=SMALLER)
        hills.append(highest_hill(run.test_loss / run.first_loss[:, None]))
    return {**data, "quiet_hill": np.stack(hills)}


#: A twin takes steps so much smaller.
SMALLER = 10


def twin(setting: Setting) -> Setting:
    """A setting on the moments of its data, by small steps of gradient descent."""
    return replace(
        setting,
        data=replace(setting.data, n_per_class=None),
        optimizer=replace(setting.optimizer, kind="gd", lr=setting.optimizer.lr / SMALLER),
        epochs=None,
        steps=SMALLER * setting.total_steps,
    )


def measure(run: TrainingRun) -> dict[str, Any]:
    """Measures of a run for the criteria of the network figures.

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
    smooth = smoothed(share, window)
    loss = smoothed(run.test_loss, window) / run.first_loss[:, None]
    weak = np.array([setting.moments[1][: setting.task.s].argmin() for setting in run.settings])
    along = np.take_along_axis(smooth, weak[:, None, None], axis=2)[:, :, 0]
    return {
        "half_times": run.half_times / run.settings[0].steps_per_epoch,
        "area": chord_area(smooth),
        "fall": (np.maximum.accumulate(along, axis=1) - along).max(axis=1),
        "dip": deepest_dip(along),
        "rise": (loss - np.minimum.accumulate(loss, axis=1)).max(axis=1),
        "hill": highest_hill(loss),
        "final_loss": run.test_loss[:, -1] / run.first_loss,
        "slowing": slowing(smooth),
    }


#: Points of each cell that are drawn.
_IN_CLOUD = 1500


def train_with_points(parameters: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    """Train every cell as :func:`train_cells` does, and add the training points.

    Returns also ``points`` (c, n, 2) of seed 0, and of all runs ``nearest`` (c, r), the distance of
    the nearest training point to the test point in units of the smaller mu, and ``discarded`` (c,
    r), the points within half of it that truncation had to draw again.
    """
    data = train_cells(parameters, tell)
    clouds, nearest, discarded = [], [], []
    for cell in parameters["cells"]:
        settings = settings_of(parameters, cell)
        untruncated = [replace(run, data=replace(run.data, truncation=None)) for run in settings]
        nearest.append([float(_distances(setting).min()) for setting in settings])
        discarded.append([int((_distances(setting) <= 0.5).sum()) for setting in untruncated])
        points, _ = training_points(settings[0])
        rng = np.random.default_rng(0)
        chosen = rng.choice(len(points), min(_IN_CLOUD, len(points)), replace=False)
        clouds.append(points[np.sort(chosen), :2])
    measured = {"nearest": np.array(nearest), "discarded": np.array(discarded)}
    return {**data, "points": np.stack(clouds), **measured}


def _distances(setting: Setting) -> Any:
    """Distances of the training points to the test point, in units of the smaller mu."""
    points, _ = training_points(setting)
    away = np.linalg.norm(points - setting.task.test_point, axis=1)
    return away / float(min(setting.task.mu))
