"""Batches of training points, or of their moments, in the coordinates that networks are trained in.

Gradient descent commutes with rotations of the data, so networks are trained in the coordinates of
the concepts, without the inputs that are always zero; with weight decay those matter, as their
columns of the first weight shrink. Adam and AdamW divide entry by entry and do not commute with
rotations; they see the points as they are, in all d coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from swingby.lab.networks.samples import points_and_targets
from swingby.lab.networks.setting import Floats, Integers, Setting
from swingby.lab.networks.training_points import batch_order, directions, training_points

#: Bytes of second moments that are kept for all batches of an epoch.
_MOST_CACHED = 2**28


@dataclass(frozen=True)
class Coordinates:
    """Coordinates of networks that are trained together: their inputs, outputs and concepts."""

    #: Number of input coordinates m: s, d, or in between.
    inputs: int
    #: True for the coordinates of the concepts: direction p is coordinate p.
    rotated: bool
    #: Shape (r, d, d). Column p: direction p among the outputs; the identity if rotated.
    frames: Floats
    #: Shape (d, m): the output that an input should have.
    target: Floats
    #: The p test points (B.1), the last of which is all ones: v of each, and where they lie along
    #: the concepts, (r, p, s).
    index: tuple[tuple[int, ...], ...]
    points: Floats

    def test_inputs(self) -> Floats:
        """The test points as inputs of the networks."""
        s = self.points.shape[2]
        if not self.rotated:
            return self.points @ self.frames[:, :, :s].swapaxes(1, 2)
        return np.pad(self.points, ((0, 0), (0, 0), (0, self.inputs - s)))


def coordinates(settings: Sequence[Setting]) -> Coordinates:
    """The coordinates of settings of one dimension and one optimizer."""
    first = settings[0]
    d, s = first.task.dim, first.task.s
    rotated = not first.optimizer.adaptive
    whole = first.network.symmetric or not rotated or bool(first.optimizer.weight_decay)
    inputs = d if whole else max(map(_busy_inputs, settings))
    frames = np.stack([np.eye(d) if rotated else directions(setting) for setting in settings])
    tests = [setting.task.test_points() for setting in settings]
    points = np.stack(
        [np.stack([point[:s] for point in test_points.values()]) for test_points in tests]
    )
    return Coordinates(inputs, rotated, frames, np.eye(d, inputs), tuple(tests[0]), points)


def _busy_inputs(setting: Setting) -> int:
    """Number of coordinates up to the last that is not zero in all points."""
    if setting.data.free_sigma or setting.data.samples is not None:
        return setting.task.dim
    return max(setting.task.s, 1 + int(np.flatnonzero(setting.task.signal).max()))


def has_targets(setting: Setting) -> bool:
    """True for samples with targets, which the network learns in place of the points."""
    return setting.data.samples is not None and setting.data.samples.Y is not None


def replayed_order(setting: Setting) -> Integers | None:
    """Rows of the points in each step of a setting, -1 for none; or None, where they are drawn."""
    samples = setting.data.samples
    order = None if samples is None else samples.order
    return None if order is None else order[: setting.total_steps]


class Points:
    """The training points of r runs: a batch is x of shape (r, b, m), and y - x or None."""

    def __init__(
        self, torch: Any, settings: Sequence[Setting], coords: Coordinates, device: Any, bias: bool
    ) -> None:
        self._settings, self._torch = settings, torch
        first, self._columns = settings[0], coords.inputs + bias
        self.per_epoch, self._size = first.steps_per_epoch, first.batch
        orders = [order for each in settings if (order := replayed_order(each)) is not None]
        #: Rows in each step, (r, steps, batch), where they are replayed.
        self.order = np.stack(orders) if orders else None
        self._moves = first.optimizer.kind != "gd" and first.optimizer.shuffle == "epoch"
        width = self._columns + (first.task.dim if has_targets(first) else 0)
        points = np.zeros((len(settings), first.points, width), dtype=first.precision)
        points[:, :, coords.inputs : self._columns] = 1.0
        for run, setting in enumerate(settings):
            drawn = not self._moves and self.order is None
            rows = batch_order(setting, 0) if drawn else slice(None)
            inputs, offsets = _network_points(setting, coords, run)
            points[run, :, : inputs.shape[1]] = inputs[rows]
            if offsets is not None:
                points[run, :, self._columns :] = offsets[rows]
        self._all = torch.from_numpy(points).to(device)
        self._epoch, self._ordered = -1, self._all

    def _split(self, points: Any) -> tuple[Any, Any]:
        targets = points[:, :, self._columns :]
        return points[:, :, : self._columns], targets if targets.shape[2] else None

    def all(self) -> tuple[Any, Any]:
        """The whole training set."""
        return self._split(self._all)

    def batch(self, step: int) -> tuple[Any, Any]:
        """The points of a step."""
        if self.order is not None:
            rows = self.order[:, step]
            # Networks with a batch that is smaller are trained with the same order.
            rows = rows[:, rows[0] >= 0]
            index = self._torch.tensor(rows, device=self._all.device)[:, :, None]
            return self._split(self._torch.take_along_dim(self._all, index, 1))
        epoch = step // self.per_epoch
        if epoch != self._epoch and self._moves:
            order = np.stack([batch_order(setting, epoch) for setting in self._settings])
            index = self._torch.tensor(order, device=self._all.device)[:, :, None]
            self._ordered = self._torch.take_along_dim(self._all, index, 1)
        self._epoch = epoch
        first = step % self.per_epoch * self._size
        return self._split(self._ordered[:, first : first + self._size])


def _network_points(
    setting: Setting, coords: Coordinates, run: int
) -> tuple[Floats, Floats | None]:
    """Points as the network of a run gets them, and targets less points in all d dimensions."""
    samples = setting.data.samples
    if samples is not None:
        X, Y = points_and_targets(samples)
        frame = directions(setting) if coords.rotated else np.eye(setting.task.dim)
        return X @ frame, None if Y is None else (Y - X) @ frame
    if coords.rotated:
        return training_points(setting, coords.inputs)[0], None
    return training_points(setting)[0] @ coords.frames[run].T, None


class Moments:
    """Second moments of the batches of r runs, with the mean for networks with a bias.

    Those of an epoch are cached if every epoch has the same, and they are few.

    A batch is the mean of x x^T, shape (r, m, m), times a rate of each run, and that of
    x (y - x)^T, shape (r, m, d), or None if the targets are the points.
    """

    def __init__(
        self,
        torch: Any,
        settings: Sequence[Setting],
        coords: Coordinates,
        like: Any,
        rates: Any = None,
    ) -> None:
        first, self._rates = settings[0], rates
        self._points: Points | None = None
        #: Of the whole training set, without the rates, and half the mean of |y - x|^2.
        self.total: tuple[Any, Any]
        self.constant: Any = 0.0
        if first.points:
            points = Points(torch, settings, coords, like.device, first.network.bias)
            self.total, offsets = self._moments(points.all()), points.all()[1]
            self.constant = 0.0 if offsets is None else 0.5 * offsets.square().sum(2).mean(1)
            self._points = points
        else:
            moments = [
                _population_moments(setting, run, coords) for run, setting in enumerate(settings)
            ]
            m = coords.inputs + first.network.bias
            self.total = like.new_tensor(np.stack(moments))[:, :m, :m].contiguous(), None
        self._per_epoch = first.steps_per_epoch
        replayed = self._points is not None and self._points.order is not None
        self._same = not replayed and (self._per_epoch == 1 or first.optimizer.shuffle == "once")
        self._parted = replayed or self._per_epoch > 1
        size = self.total[0].nelement() * self.total[0].element_size() * self._per_epoch
        self._is_cached, self._cache = (
            self._same and size <= _MOST_CACHED,
            dict[int, tuple[Any, Any]](),
        )

    def batch(self, step: int) -> tuple[Any, Any]:
        """The moments of the points of a step."""
        index = step % self._per_epoch if self._same else step
        if index in self._cache:
            return self._cache[index]
        moment, cross = self.total
        if self._points is not None and self._parted:
            moment, cross = self._moments(self._points.batch(step))
        if self._rates is not None:
            moment, cross = self._rates * moment, None if cross is None else self._rates * cross
        if self._is_cached:
            self._cache[index] = moment, cross
        return moment, cross

    def _moments(self, batch: tuple[Any, Any]) -> tuple[Any, Any]:
        x, offsets = batch
        across = x.mT
        return across @ x / x.shape[1], None if offsets is None else across @ offsets / x.shape[1]


def _population_moments(setting: Setting, run: int, coords: Coordinates) -> Floats:
    mean, second = setting.moments
    frame, m = coords.frames[run], coords.inputs
    mean, second = frame @ mean, frame @ np.diag(second) @ frame.T
    moments = np.ones((m + 1, m + 1))
    moments[:m, :m] = second[:m, :m]
    moments[:m, m] = moments[m, :m] = mean[:m]
    return moments
