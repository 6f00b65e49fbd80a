"""What each step is given: second moments of its batch, or its points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.training.coordinates import Coordinates
from swingby.training.points import batch_order, busy_points, population_moments, training_points
from swingby.training.setting import Setting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Bytes of second moments that are kept for all batches of an epoch.
MOST_KEPT = 2**28


class Points:
    """The training points of some runs, in the order of an epoch.

    Parameters
    ----------
    torch : module
    settings : tuple of Setting
        All with as many points.
    coordinates : Coordinates
    device : torch.device
    bias : bool
        Append a coordinate that is 1.
    """

    def __init__(
        self,
        torch: Any,
        settings: tuple[Setting, ...],
        coordinates: Coordinates,
        device: Any,
        *,
        bias: bool,
    ) -> None:
        self._settings = settings
        self._torch = torch
        self.per_epoch = settings[0].steps_per_epoch
        self._size = settings[0].batch
        columns = coordinates.inputs + bias
        chosen = settings[0].optimizer
        self._moves = chosen.kind != "gd" and chosen.shuffle == "epoch"
        shape = (len(settings), settings[0].points, columns)
        points = np.empty(shape, dtype=settings[0].precision)
        points[:, :, coordinates.inputs :] = 1.0
        for place, setting in enumerate(settings):
            if coordinates.turned:
                plain, _ = busy_points(setting, coordinates.inputs)
                points[place, :, plain.shape[1] : coordinates.inputs] = 0.0
            else:
                plain = training_points(setting)[0] @ coordinates.frames[place].T
            if self._moves:
                points[place, :, : plain.shape[1]] = plain
            else:
                points[place, :, : plain.shape[1]] = plain[batch_order(setting, 0)]
        self.all = torch.from_numpy(points).to(device)
        self._epoch = -1
        self._ordered = self.all

    def _begin(self, epoch: int) -> None:
        """Put the points into the order of an epoch."""
        if epoch != self._epoch and self._moves:
            torch = self._torch
            order = np.stack([batch_order(setting, epoch) for setting in self._settings])
            index = torch.tensor(order, device=self.all.device)[:, :, None]
            self._ordered = torch.take_along_dim(self.all, index, 1)
        self._epoch = epoch

    def release(self) -> None:
        """Let go of the points, once nobody asks for them any more."""
        self.all = self._ordered = self.all[:, :0]

    def batch(self, step: int) -> Any:
        """The points of one step.

        Returns
        -------
        Tensor of shape (r, b, m)
        """
        self._begin(step // self.per_epoch)
        first = step % self.per_epoch * self._size
        return self._ordered[:, first : first + self._size]


class Moments:
    """Second moments of the batches of some runs; the mean is in them where there is a bias."""

    def __init__(
        self, torch: Any, settings: tuple[Setting, ...], coordinates: Coordinates, device: Any
    ) -> None:
        bias = settings[0].network.bias
        self._points: Points | None = None
        self._kept: dict[int, Any] = {}
        self._scale: Any = None
        self._only: Any = None
        self._keep = False
        dtype = getattr(torch, settings[0].precision)
        m = coordinates.inputs
        if settings[0].points:
            self._points = Points(torch, settings, coordinates, device, bias=bias)
            self.whole = self._points.all.mT @ self._points.all / settings[0].points
            once = settings[0].optimizer.shuffle == "once"
            size = self.whole.nelement() * self.whole.element_size() * self._points.per_epoch
            self._keep = once and size <= MOST_KEPT
        else:
            found = [_of_population(one, place, coordinates) for place, one in enumerate(settings)]
            columns = m + bias
            self.whole = torch.tensor(np.stack(found), dtype=dtype, device=device)
            self.whole = self.whole[:, :columns, :columns].contiguous()

    def batch(self, step: int) -> Any:
        """The second moment of the points of one step.

        Returns
        -------
        Tensor of shape (r, m, m), or (r, m + 1, m + 1) with a bias
        """
        points = self._points
        if points is None or points.per_epoch == 1:
            if self._only is None:
                self._only = self._scaled(self.whole)
            return self._only
        if not self._keep:
            return self._second_moment(points.batch(step))
        if not self._kept:
            for one in range(points.per_epoch):
                self._kept[one] = self._second_moment(points.batch(one))
            points.release()
        return self._kept[step % points.per_epoch]

    def scale(self, rates: Any) -> None:
        """From now on, multiply the moments of every run by a rate of its own."""
        self._scale = rates

    def _scaled(self, moment: Any) -> Any:
        return moment if self._scale is None else self._scale * moment

    def _second_moment(self, batch: Any) -> Any:
        return self._scaled(batch.mT @ batch / batch.shape[1])


def _of_population(setting: Setting, place: int, coordinates: Coordinates) -> Floats:
    mean, second = population_moments(setting)
    frame = coordinates.frames[place]
    mean, second = frame @ mean, frame @ second @ frame.T
    m = coordinates.inputs
    found = np.ones((m + 1, m + 1))
    found[:m, :m] = second[:m, :m]
    found[:m, m] = found[m, :m] = mean[:m]
    return found
