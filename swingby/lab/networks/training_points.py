"""Training points drawn from a SIM task by the seed of a setting, their rotation and their order.

Points lie in the coordinates of the concepts; a frame rotates them to where a network sees them.
"""

from __future__ import annotations

import numpy as np

from swingby.errors import InvalidInput
from swingby.lab.networks.setting import Floats, Integers, Setting

#: Independent sources of randomness of a run.
STREAMS = ("points", "rotation", "order", "weights")
#: Rounds of drawing truncated points again before giving up.
_MOST_ROUNDS = 1000


def stream(seed: int, name: str, *children: int) -> np.random.SeedSequence:
    """A source of randomness of a seed: a child of its seed sequence, by name."""
    return np.random.SeedSequence(seed, spawn_key=(STREAMS.index(name), *children))


def directions(setting: Setting) -> Floats:
    """An orthonormal frame, shape (d, d): column p is the direction of concept p.

    Haar distributed where the setting turns its data (QR of a Gaussian matrix with positive
    diagonal of R); else the task's own, or the identity.
    """
    d = setting.task.dim
    if not setting.data.rotation:
        rotation = setting.task.rotation
        return np.eye(d) if rotation is None else np.array(rotation, dtype=np.float64)
    rng = np.random.default_rng(stream(setting.seed, "rotation"))
    Q, R = np.linalg.qr(rng.standard_normal((d, d)))
    return np.asarray(Q * np.sign(np.diagonal(R)))


def training_points(setting: Setting, count: int | None = None) -> tuple[Floats, Integers]:
    """The training set (N, d) along the concepts, and its labels as of :meth:`SIMTask.sample`.

    ``points @ directions(setting).T`` is what the network sees. With `most`, only that many
    coordinates, of which those that are always zero are left out.

    >>> from swingby.theory.task import SIMTask
    >>> points, labels = training_points(Setting(SIMTask([1, 2], dim=4)))
    >>> points.shape, np.bincount(labels).tolist()
    ((10000, 4), [5000, 5000])
    """
    task, data = setting.task, setting.data
    assert data.n_per_class is not None
    assert data.samples is None
    rng = np.random.default_rng(stream(setting.seed, "points"))
    classes = [*range(task.s), *([-1] if data.center_cluster else [])]
    labels = np.repeat(np.array(classes, dtype=np.int64), data.n_per_class)
    points = _draw_points(setting, labels, rng)
    if data.truncation is not None:
        radius = data.truncation * float(min(task.mu))
        test_point = task.test_point[: task.s]
        for _ in range(_MOST_ROUNDS):
            inside = np.flatnonzero(np.linalg.norm(points - test_point, axis=1) <= radius)
            if not inside.size:
                break
            points[inside] = _draw_points(setting, labels[inside], rng)
        else:
            required = "leaves hardly any room for points"
            raise InvalidInput("truncation", data.truncation, required, "App. F.3")
    if data.free_sigma:
        noise = rng.standard_normal((len(points), task.dim - task.s))
        points = np.concatenate([points, data.free_sigma * noise], axis=1)
    elif count is None:
        points = np.concatenate([points, np.zeros((len(points), task.dim - task.s))], axis=1)
    return points[:, :count], labels


def _draw_points(setting: Setting, labels: Integers, rng: np.random.Generator) -> Floats:
    """Points of the clusters of `labels` along the concepts, shape (N, s)."""
    task = setting.task
    spread = np.array([float(deviation) for deviation in task.sigma])
    points: Floats = rng.standard_normal((labels.size, task.s)) * spread
    informative = labels >= 0
    points[informative, labels[informative]] += task.test_point[labels[informative]]
    return points


def batch_order(setting: Setting, epoch: int) -> Integers:
    """The order in which an epoch (from 0) takes the training points."""
    if setting.optimizer.kind == "gd":
        return np.arange(setting.points)
    which = epoch if setting.optimizer.shuffle == "epoch" else 0
    rng = np.random.default_rng(stream(setting.seed, "order", which))
    return rng.permutation(setting.points)
