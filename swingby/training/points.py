"""Training points of a setting, its directions, and the moments of both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from swingby.errors import InvalidInput
from swingby.training.setting import Setting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Rounds of drawing truncated points again before giving up.
_MOST_ROUNDS = 1000


#: Independent sources of randomness of a run.
STREAMS = ("points", "rotation", "order", "weights")


def stream(seed: int, name: str) -> np.random.SeedSequence:
    """One source of randomness of a seed.

    Returns
    -------
    numpy.random.SeedSequence
        The children of ``SeedSequence(seed).spawn(4)``, one at a time.
    """
    return np.random.SeedSequence(seed, spawn_key=(STREAMS.index(name),))


def directions(setting: Setting) -> Floats:
    """An orthonormal frame: column p is the direction of concept p, or of a free coordinate.

    Returns
    -------
    ndarray of shape (d, d)
        Uniformly distributed where the setting turns its data (the QR decomposition of a
        Gaussian matrix, with positive diagonal of R); else the task's own, or the identity.
    """
    d = setting.task.dim
    if not setting.data.rotation:
        given = setting.task.rotation
        return np.eye(d) if given is None else np.array(given, dtype=np.float64)
    rng = np.random.default_rng(stream(setting.seed, "rotation"))
    Q, R = np.linalg.qr(rng.standard_normal((d, d)))
    return np.asarray(Q * np.sign(np.diagonal(R)))


def training_points(setting: Setting) -> tuple[Floats, NDArray[np.int64]]:
    """The training set, in the coordinates of the concepts.

    Parameters
    ----------
    setting : Setting
        With finite data.

    Returns
    -------
    points : ndarray of shape (N, d)
        Not turned; ``points @ directions(setting).T`` is what the network sees.
    labels : ndarray of shape (N,)
        As of :meth:`swingby.theory.task.SIMTask.sample`.

    Raises
    ------
    InvalidInput
        If hardly any point lies outside the ball that truncation forbids.

    References
    ----------
    Sec. 2.1; App. F.3 for the truncation.
    """
    along, labels = busy_points(setting, setting.task.dim)
    points = np.zeros((labels.size, setting.task.dim))
    points[:, : along.shape[1]] = along
    return points, labels


def busy_points(setting: Setting, most: int) -> tuple[Floats, NDArray[np.int64]]:
    """The training set without the coordinates that are zero in all points.

    Parameters
    ----------
    setting : Setting
        With finite data.
    most : int
        Coordinates wanted.

    Returns
    -------
    points : ndarray of shape (N, m)
        The first coordinates of :func:`training_points`; m is s, or `most` where directions
        without a concept have a spread.
    labels : ndarray of shape (N,)
    """
    task, data = setting.task, setting.data
    assert data.n_per_class is not None
    rng = np.random.default_rng(stream(setting.seed, "points"))
    classes = [*range(task.s), *([-1] if data.center_cluster else [])]
    labels = np.repeat(np.array(classes, dtype=np.int64), data.n_per_class)
    points = _drawn(setting, labels, rng)
    if data.truncation is not None:
        radius = data.truncation * float(min(task.mu))
        test_point = task.test_point[: task.s]
        for _ in range(_MOST_ROUNDS):
            inside = np.flatnonzero(np.linalg.norm(points - test_point, axis=1) <= radius)
            if not inside.size:
                break
            points[inside] = _drawn(setting, labels[inside], rng)
        else:
            raise InvalidInput(
                "truncation", data.truncation, "leaves hardly any room for points", "App. F.3"
            )
    if data.free_sigma:
        free = rng.standard_normal((len(points), task.dim - task.s))
        points = np.concatenate([points, data.free_sigma * free], axis=1)
    return points[:, :most], labels


def _drawn(setting: Setting, labels: NDArray[np.int64], rng: np.random.Generator) -> Floats:
    """Points of given clusters along the concepts, shape (N, s)."""
    task = setting.task
    spread = np.array([float(one) for one in task.sigma])
    points: Floats = rng.standard_normal((labels.size, task.s)) * spread
    informative = labels >= 0
    points[informative, labels[informative]] += task.test_point[labels[informative]]
    return points


def population_moments(setting: Setting) -> tuple[Floats, Floats]:
    r"""Mean and second moment of infinite data, in the coordinates of the concepts.

    With c clusters, that at the origin included, the mean is :math:`\mu_p / c` and the second
    moment is diagonal, :math:`\sigma_p^2 + \mu_p^2 / c`: the signal, where there is no cluster
    at the origin. A signal that the task overrides is the second moment as it stands.

    References
    ----------
    (C.7)-(C.13).

    Examples
    --------
    >>> from swingby.theory.task import SIMTask
    >>> from swingby.training import Data, Optimizer, Setting
    >>> limit = Data(n_per_class=None, center_cluster=True)
    >>> setting = Setting(SIMTask([1, 2]), limit, optimizer=Optimizer("gd"), steps=1)
    >>> mean, second = population_moments(setting)
    >>> mean.round(4), second.diagonal().round(4)
    (array([0.3333, 0.6667]), array([0.3333, 1.3333]))
    """
    task = setting.task
    mean = task.test_point / setting.clusters
    second = np.array(task.signal)
    if task.signal_override is None:
        second[: task.s] += task.test_point[: task.s] ** 2 * (1.0 / setting.clusters - 1.0 / task.s)
        second[task.s :] += setting.data.free_sigma**2
    return mean, np.diag(second)


def batch_order(setting: Setting, epoch: int) -> NDArray[np.int64]:
    """The order in which an epoch takes the training points.

    Parameters
    ----------
    setting : Setting
    epoch : int
        From 0.
    """
    if setting.optimizer.kind == "gd":
        return np.arange(setting.points)
    which = epoch if setting.optimizer.shuffle == "epoch" else 0
    order = stream(setting.seed, "order")
    key = np.random.SeedSequence(order.entropy, spawn_key=(*order.spawn_key, which))
    return np.random.default_rng(key).permutation(setting.points)
