"""What networks are trained on: points drawn or given, their order, and each step's batch.

The points of a SIM task lie in the coordinates of the concepts and are rotated by a frame.
Gradient descent commutes with that turn, so networks are trained in the coordinates of the
concepts, without the inputs that are always zero. AdamW divides entry by entry and does not
commute with rotations; it sees the points as they are, in all d coordinates.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.lab.networks.setting import Floats, Integers, Samples, Setting
from swingby.theory import numbers
from swingby.theory.input_files import MOST_BYTES, read_arrays, text_of
from swingby.theory.task import SIMTask

#: Independent sources of randomness of a run.
STREAMS = ("points", "rotation", "order", "weights")
#: Rounds of drawing truncated points again before giving up.
_MOST_ROUNDS = 1000
#: Bytes of second moments that are kept for all batches of an epoch.
MOST_KEPT = 2**28


def stream(seed: int, name: str, *children: int) -> np.random.SeedSequence:
    """One source of randomness of a seed: the children of its seed sequence, one at a time."""
    return np.random.SeedSequence(seed, spawn_key=(STREAMS.index(name), *children))


def directions(setting: Setting) -> Floats:
    """An orthonormal frame, shape (d, d): column p is the direction of concept p.

    Haar distributed where the setting turns its data (QR of a Gaussian matrix with positive
    diagonal of R); else the task's own, or the identity.
    """
    d = setting.task.dim
    if not setting.data.rotation:
        given = setting.task.rotation
        return np.eye(d) if given is None else np.array(given, dtype=np.float64)
    rng = np.random.default_rng(stream(setting.seed, "rotation"))
    Q, R = np.linalg.qr(rng.standard_normal((d, d)))
    return np.asarray(Q * np.sign(np.diagonal(R)))


def training_points(setting: Setting, most: int | None = None) -> tuple[Floats, Integers]:
    """The training set (N, d) along the concepts, and its labels as of :meth:`SIMTask.sample`.

    ``points @ directions(setting).T`` is what the network sees. With `most`, only that many
    coordinates, of which those that are always zero are left out.

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
            required = "leaves hardly any room for points"
            raise InvalidInput("truncation", data.truncation, required, "App. F.3")
    if data.free_sigma:
        free = rng.standard_normal((len(points), task.dim - task.s))
        points = np.concatenate([points, data.free_sigma * free], axis=1)
    elif most is None:
        points = np.concatenate([points, np.zeros((len(points), task.dim - task.s))], axis=1)
    return points[:, :most], labels


def _drawn(setting: Setting, labels: Integers, rng: np.random.Generator) -> Floats:
    """Points of given clusters along the concepts, shape (N, s)."""
    task = setting.task
    spread = np.array([float(one) for one in task.sigma])
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


def read_samples(source: Any, targets: Any = None, labels: Any = None) -> Samples:
    """Points of one's own to train on: ``Data(samples=read_samples("mine.npz"))``.

    Nothing is unpickled or evaluated.

    Parameters
    ----------
    source : path or array of shape (N, d)
        An .npz file of plain arrays ``X`` and, where there are any, ``Y`` and ``labels``; a .csv
        file, a point a line, with a head ``x1,x2,...,y1,y2,...,label`` if there is more than X.
    targets : array of shape (N, d), optional
        What the network should answer; the points themselves by default.
    labels : array of shape (N,), optional
        Whole numbers: the cluster of each point; -1 at the origin.

    Returns
    -------
    Samples

    Raises
    ------
    InvalidInput
        For files that cannot be read, numbers that are not finite, and shapes that do not fit.

    Examples
    --------
    >>> samples = read_samples([[1.0, 0.1], [0.9, 0.0], [0.0, 2.1], [0.1, 2.0]], None, [0, 0, 1, 1])
    >>> samples.count, [round(float(one), 2) for one in samples_task(samples).mu]
    (4, [0.95, 2.05])
    """
    if isinstance(source, (str, Path)):
        held = _read_csv(source) if str(source).endswith(".csv") else read_arrays(source, "data")
        if "X" not in held or set(held) - {"X", "Y", "labels"}:
            names = ", ".join(filter(None, held)) or "no names"
            required = "must hold X and at most Y and labels beside it"
            raise InvalidInput("data", f"{source} ({names})", required)
        source, targets = held["X"], held.get("Y") if targets is None else targets
        labels = held.get("labels") if labels is None else labels
    X = numbers.real_array(source, "X")
    if X.ndim != 2:
        raise InvalidInput("X", f"shape {X.shape}", "must have shape (N, d)")
    Y = None if targets is None else numbers.real_array(targets, "Y")
    if Y is not None and Y.shape != X.shape:
        raise InvalidInput("Y", f"shape {Y.shape}", f"must have shape {X.shape}, that of X")
    marks = None if labels is None else _marks(labels, len(X))
    digest = hashlib.sha256()
    for one in (X, Y, marks):
        digest.update(str(None if one is None else one.shape).encode())
        digest.update(b"" if one is None else np.ascontiguousarray(one).tobytes())
    with np.errstate(over="ignore"):
        square = float(np.square(X if Y is None else Y).sum(axis=1).mean())
    if not np.isfinite(square):
        raise InvalidInput("X", "these points", "must have squares that are floats")
    return Samples(len(X), X.shape[1], digest.hexdigest(), X, Y, marks, square)


def _marks(labels: Any, count: int) -> Integers:
    """The cluster of each point."""
    given = numbers.real_array(labels, "labels")
    if given.shape != (count,):
        raise InvalidInput("labels", f"shape {given.shape}", f"must have shape ({count},)")
    if (given != np.floor(given)).any() or given.min() < -1 or given.max() > 2**31:
        raise InvalidInput("labels", labels, "must be whole numbers from -1 on")
    return given.astype(np.int64)


def _read_csv(path: Any) -> dict[str, Any]:
    """X, and what else a head names."""
    file = io.StringIO(text_of(path, "data", "csv file of numbers", MOST_BYTES))
    head = [one.strip() for one in file.readline().split(",")]
    named = head[0].startswith("x")
    if not named:
        file.seek(0)
    try:
        values = np.loadtxt(file, delimiter=",", comments=None, ndmin=2)
    except ValueError as error:
        reason = str(error).splitlines()[0]
        raise InvalidInput("data", path, f"must be a csv file of numbers ({reason})") from None
    d = sum(one.startswith("x") for one in head) if named else values.shape[1]
    known = [f"{letter}{k}" for letter in "xy" for k in range(1, d + 1)]
    accepted = (known[:d], known, [*known[:d], "label"], [*known, "label"])
    if named and (head not in accepted or values.shape[1] != len(head)):
        required = "must name the columns x1,x2,... then y1,y2,... or none, then label or none"
        raise InvalidInput("data", f"{path} ({','.join(head)})", required)
    found = {"X": values[:, :d]}
    found |= {"Y": values[:, d : 2 * d]} if "y1" in head else {}
    return found | ({"labels": values[:, -1]} if "label" in head else {})


def given_points(samples: Samples) -> tuple[Floats, Floats | None]:
    """X, and Y where there are targets."""
    if samples.X is None:
        required = "must be given again: a file keeps only the digest of given points"
        raise InvalidInput("data", f"digest {samples.digest[:16]}", required)
    return samples.X, samples.Y


def samples_task(samples: Samples) -> SIMTask:
    """mu, sigma and directions of given points, as :meth:`SIMTask.from_samples` estimates them."""
    X, _ = given_points(samples)
    if samples.labels is None:
        required = "must be given with the points, or mu (and sigma) in their place"
        raise InvalidInput("labels", "nothing", required)
    return SIMTask.from_samples(X, samples.labels)


@dataclass(frozen=True)
class Coordinates:
    """Inputs and outputs of networks that are trained together, and where the concepts lie."""

    #: Number of input coordinates m: s, d, or in between.
    inputs: int
    #: Whether they are those of the concepts, so that direction p is coordinate p.
    rotated: bool
    #: Shape (r, d, d). Column p: direction p among the outputs; the identity where rotated.
    frames: Floats
    #: Shape (d, m): the output that an input should have.
    target: Floats
    #: The p test points (B.1), the last of which is all ones: v of each, and where they lie along
    #: the concepts, (r, p, s).
    index: tuple[tuple[int, ...], ...]
    points: Floats

    def looks(self) -> Floats:
        """The test points as the networks see them."""
        s = self.points.shape[2]
        if not self.rotated:
            return self.points @ self.frames[:, :, :s].swapaxes(1, 2)
        return np.pad(self.points, ((0, 0), (0, 0), (0, self.inputs - s)))


def coordinates(settings: Sequence[Setting]) -> Coordinates:
    """The coordinates of settings of one dimension and one optimizer."""
    first = settings[0]
    d, s = first.task.dim, first.task.s
    rotated = first.optimizer.kind != "adamw"
    inputs = d if first.network.symmetric or not rotated else max(map(_busy_inputs, settings))
    frames = np.stack([np.eye(d) if rotated else directions(one) for one in settings])
    tests = [one.task.test_points() for one in settings]
    points = np.stack([np.stack([point[:s] for point in one.values()]) for one in tests])
    return Coordinates(inputs, rotated, frames, np.eye(d, inputs), tuple(tests[0]), points)


def _busy_inputs(setting: Setting) -> int:
    """Coordinates of the concepts up to the last that is not zero in all points."""
    if setting.data.free_sigma or setting.data.samples is not None:
        return setting.task.dim
    return max(setting.task.s, 1 + int(np.flatnonzero(setting.task.signal).max()))


def has_targets(setting: Setting) -> bool:
    """Whether the answers asked for are others than the points."""
    return setting.data.samples is not None and setting.data.samples.Y is not None


class Points:
    """The training points of r runs: a batch is x of shape (r, b, m), and y - x or None."""

    def __init__(
        self, torch: Any, settings: Sequence[Setting], place: Coordinates, device: Any, bias: bool
    ) -> None:
        self._settings, self._torch = settings, torch
        first, self._columns = settings[0], place.inputs + bias
        self.per_epoch, self._size = first.steps_per_epoch, first.batch
        self._moves = first.optimizer.kind != "gd" and first.optimizer.shuffle == "epoch"
        width = self._columns + (first.task.dim if has_targets(first) else 0)
        points = np.zeros((len(settings), first.points, width), dtype=first.precision)
        points[:, :, place.inputs : self._columns] = 1.0
        for run, setting in enumerate(settings):
            order = slice(None) if self._moves else batch_order(setting, 0)
            plain, away = _seen_points(setting, place, run)
            points[run, :, : plain.shape[1]] = plain[order]
            if away is not None:
                points[run, :, self._columns :] = away[order]
        self._all = torch.from_numpy(points).to(device)
        self._epoch, self._ordered = -1, self._all

    def _split(self, points: Any) -> tuple[Any, Any]:
        targets = points[:, :, self._columns :]
        return points[:, :, : self._columns], targets if targets.shape[2] else None

    def all(self) -> tuple[Any, Any]:
        """The whole training set."""
        return self._split(self._all)

    def batch(self, step: int) -> tuple[Any, Any]:
        """The points of one step."""
        epoch = step // self.per_epoch
        if epoch != self._epoch and self._moves:
            order = np.stack([batch_order(setting, epoch) for setting in self._settings])
            index = self._torch.tensor(order, device=self._all.device)[:, :, None]
            self._ordered = self._torch.take_along_dim(self._all, index, 1)
        self._epoch = epoch
        first = step % self.per_epoch * self._size
        return self._split(self._ordered[:, first : first + self._size])


def _seen_points(setting: Setting, place: Coordinates, run: int) -> tuple[Floats, Floats | None]:
    """Points as the network of a run gets them, and targets less points in all d dimensions."""
    samples = setting.data.samples
    if samples is not None:
        X, Y = given_points(samples)
        frame = directions(setting) if place.rotated else np.eye(setting.task.dim)
        return X @ frame, None if Y is None else (Y - X) @ frame
    if place.rotated:
        return training_points(setting, place.inputs)[0], None
    return training_points(setting)[0] @ place.frames[run].T, None


class Moments:
    """Second moments of the batches of r runs; the mean is in them where there is a bias.

    Those of an epoch are kept where they are the same in every epoch, and few.

    A batch is the mean of x x^T, shape (r, m, m), times a rate of each run, and that of
    x (y - x)^T, shape (r, m, d), or None where the targets are the points.
    """

    def __init__(
        self,
        torch: Any,
        settings: Sequence[Setting],
        place: Coordinates,
        like: Any,
        rates: Any = None,
    ) -> None:
        first, self._rates = settings[0], rates
        self._points: Points | None = None
        #: Of the whole training set, without the rates, and half the mean of |y - x|^2.
        self.whole: tuple[Any, Any]
        self.rest: Any = 0.0
        if first.points:
            points = Points(torch, settings, place, like.device, first.network.bias)
            self.whole, away = self._moments(points.all()), points.all()[1]
            self.rest = 0.0 if away is None else 0.5 * away.square().sum(2).mean(1)
            self._points = points
        else:
            found = [_of_population(one, run, place) for run, one in enumerate(settings)]
            m = place.inputs + first.network.bias
            self.whole = like.new_tensor(np.stack(found))[:, :m, :m].contiguous(), None
        self._per_epoch = first.steps_per_epoch
        self._same = self._per_epoch == 1 or first.optimizer.shuffle == "once"
        size = self.whole[0].nelement() * self.whole[0].element_size() * self._per_epoch
        self._keeps, self._kept = self._same and size <= MOST_KEPT, dict[int, tuple[Any, Any]]()

    def batch(self, step: int) -> tuple[Any, Any]:
        """The moments of the points of one step."""
        place = step % self._per_epoch if self._same else step
        if place in self._kept:
            return self._kept[place]
        moment, cross = self.whole
        if self._points is not None and self._per_epoch > 1:
            moment, cross = self._moments(self._points.batch(step))
        if self._rates is not None:
            moment, cross = self._rates * moment, None if cross is None else self._rates * cross
        if self._keeps:
            self._kept[place] = moment, cross
        return moment, cross

    def _moments(self, batch: tuple[Any, Any]) -> tuple[Any, Any]:
        x, away = batch
        across = x.mT
        return across @ x / x.shape[1], None if away is None else across @ away / x.shape[1]


def _of_population(setting: Setting, run: int, place: Coordinates) -> Floats:
    mean, second = setting.moments
    frame, m = place.frames[run], place.inputs
    mean, second = frame @ mean, frame @ np.diag(second) @ frame.T
    found = np.ones((m + 1, m + 1))
    found[:m, :m] = second[:m, :m]
    found[:m, m] = found[m, :m] = mean[:m]
    return found
