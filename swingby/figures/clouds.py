"""Training points of the network figures, and how near they come to the test point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from swingby.figures.trained import setting_of
from swingby.training.data import training_points
from swingby.training.setting import Setting

#: Points of each cell that are drawn.
_DRAWN = 1500


def with_points(parameters: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a figure with its training points.

    Parameters
    ----------
    parameters : mapping
        Of an edition.
    data : mapping
        From :func:`swingby.figures.trained.train_cells`.

    Returns
    -------
    dict
        With ``points`` (c, n, 2) of seed 0, and of all runs ``nearest`` (c, r), the distance of
        the nearest training point to the test point in units of the smaller mu, and
        ``discarded`` (c, r), the points within half of it that truncation had to draw again.
    """
    shown, near, gone = [], [], []
    for one in parameters["cells"]:
        settings = [setting_of(parameters, one, seed) for seed in range(parameters["seeds"])]
        found = [_distances(setting) for setting in settings]
        near.append([float(distances.min()) for distances in found])
        plain = [
            _distances(replace(setting, data=replace(setting.data, truncation=None)))
            for setting in settings
        ]
        gone.append([int((distances <= 0.5).sum()) for distances in plain])
        points, _ = training_points(settings[0])
        rng = np.random.default_rng(0)
        chosen = rng.choice(len(points), min(_DRAWN, len(points)), replace=False)
        shown.append(points[np.sort(chosen), :2])
    return {
        **data,
        "points": np.stack(shown),
        "nearest": np.array(near),
        "discarded": np.array(gone),
    }


def _distances(setting: Setting) -> Any:
    """Distances of the training points to the test point, in units of the smaller mu."""
    points, _ = training_points(setting)
    away = np.linalg.norm(points - setting.task.test_point, axis=1)
    return away / float(min(setting.task.mu))
