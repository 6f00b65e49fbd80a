"""What a chunk of steps showed, in the coordinates of the concepts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.training.coordinates import Coordinates
from swingby.training.setting import Setting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Probe:
    """Where networks are looked at.

    Parameters
    ----------
    index : tuple of tuple of int
        v of the p test points (B.1); the last is all ones.
    points : ndarray of shape (r, p, s)
        Test points of each run, in the coordinates of the concepts.
    """

    index: tuple[tuple[int, ...], ...]
    points: Floats


@dataclass(frozen=True)
class Seen:
    """What n steps showed.

    Parameters
    ----------
    output : ndarray of shape (r, n, p, s)
    loss : ndarray of shape (r, n, p)
    jacobian : ndarray of shape (r, n, s, s)
    """

    output: Floats
    loss: Floats
    jacobian: Floats


def make_probe(settings: tuple[Setting, ...]) -> Probe:
    """The test points of some settings.

    Parameters
    ----------
    settings : tuple of Setting
        With equally many concepts.

    Returns
    -------
    Probe
    """
    s = settings[0].task.s
    found = [one.task.test_points() for one in settings]
    points = np.stack([np.stack([point[:s] for point in one.values()]) for one in found])
    return Probe(tuple(found[0]), points)


def inputs_of(probe: Probe, coordinates: Coordinates) -> Floats:
    """The test points as the networks see them.

    Parameters
    ----------
    probe : Probe
    coordinates : Coordinates

    Returns
    -------
    ndarray of shape (r, p, m)
    """
    runs, count, s = probe.points.shape
    if coordinates.turned:
        found = np.zeros((runs, count, coordinates.inputs))
        found[:, :, :s] = probe.points
        return found
    return probe.points @ coordinates.frames[:, :, :s].swapaxes(1, 2)


def read_maps(maps: Any, probe: Probe, coordinates: Coordinates) -> Seen:
    """What affine networks showed.

    Parameters
    ----------
    maps : Tensor of shape (r, n, d, s) or (r, n, d, s + 1)
        Output less target along each concept, in the coordinates of the outputs; the last
        column is the bias.
    probe : Probe
    coordinates : Coordinates

    Returns
    -------
    Seen
    """
    runs, count, d, columns = maps.shape
    s = probe.points.shape[2]
    maps = maps.double()
    points = maps.new_ones(runs, columns, probe.points.shape[1])
    points[:, :s] = maps.new_tensor(probe.points).mT
    away = maps.reshape(runs, count * d, columns).bmm(points).reshape(runs, count, d, -1)
    loss = away.square().sum(2)
    return _read(away, loss, maps[..., :s], probe, coordinates)


def read_points(away: Any, derivative: Any, probe: Probe, coordinates: Coordinates) -> Seen:
    """What networks showed that are not affine.

    Parameters
    ----------
    away : Tensor of shape (r, n, p, d)
        Output less target at each test point.
    derivative : Tensor of shape (r, n, s, d)
        Of output less target at the last of them, along each concept.
    probe : Probe
    coordinates : Coordinates

    Returns
    -------
    Seen
    """
    away, derivative = away.double().mT, derivative.double().mT
    return _read(away, away.square().sum(2), derivative, probe, coordinates)


def _read(away: Any, loss: Any, slope: Any, probe: Probe, coordinates: Coordinates) -> Seen:
    """From errors and their derivatives, outputs in the rows."""
    s = probe.points.shape[2]
    if coordinates.turned:
        away, slope = away[:, :, :s], slope[:, :, :s]
    else:
        frames = away.new_tensor(coordinates.frames[:, :, :s]).mT[:, None]
        away, slope = frames @ away, frames @ slope
    return Seen(
        output=probe.points[:, None] + away.mT.cpu().numpy(),
        loss=0.5 * loss.cpu().numpy(),
        jacobian=slope.cpu().numpy() + np.eye(s),
    )
