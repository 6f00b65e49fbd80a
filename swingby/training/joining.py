"""Runs of several groups of networks as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from swingby.training.result import TrainingRun


def join(parts: Sequence[TrainingRun], places: Sequence[Sequence[int]]) -> TrainingRun:
    """One run of all groups, networks in the order in which their settings were given.

    Parameters
    ----------
    parts : sequence of TrainingRun
    places : sequence of sequence of int
        Where the networks of each part belong.

    Returns
    -------
    TrainingRun
        Its weights are empty where the groups have other shapes.
    """
    if len(parts) == 1 and list(places[0]) == sorted(places[0]):
        return parts[0]
    order = np.argsort(np.concatenate([np.asarray(one) for one in places]), kind="stable")
    first = parts[0]

    def stacked(name: str) -> Any:
        return np.concatenate([getattr(one, name) for one in parts])[order]

    settings = [one for part in parts for one in part.settings]
    turns = []
    for part, mine in zip(parts, places, strict=True):
        moved = part.turns.copy()
        moved[:, 0] = np.asarray(mine)[moved[:, 0].astype(np.int64)]
        turns.append(moved)
    shapes = {tuple(one.shape[1:] for one in part.weights) for part in parts}
    weights: tuple[Any, ...] = ()
    if len(shapes) == 1:
        groups = zip(*(part.weights for part in parts), strict=True)
        weights = tuple(np.concatenate(same)[order] for same in groups)
    names = ("points", "output", "jacobian", "point_loss", "half_times", "jacobian_half_times")
    return TrainingRun(
        settings=tuple(settings[k] for k in order),
        index=first.index,
        steps=first.steps,
        turns=np.concatenate(turns),
        first_loss=stacked("first_loss"),
        train_loss_steps=first.train_loss_steps,
        train_loss=stacked("train_loss"),
        weights=weights,
        **{name: stacked(name) for name in names},
    )
