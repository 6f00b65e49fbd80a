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


#: Numbers that are worked on together when many runs are read.
_TOGETHER = 2**18


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
    """What n steps showed."""

    output: Floats
    loss: Floats
    jacobian: Floats


def make_probe(settings: tuple[Setting, ...]) -> Probe:
    """The test points of some settings.

    Parameters
    ----------
    settings : tuple of Setting
        With equally many concepts.
    """
    s = settings[0].task.s
    found = [one.task.test_points() for one in settings]
    points = np.stack([np.stack([point[:s] for point in one.values()]) for one in found])
    return Probe(tuple(found[0]), points)


def inputs_of(probe: Probe, coordinates: Coordinates) -> Floats:
    """The test points as the networks see them."""
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
    maps : Tensor of shape (r, s, n, d) or (r, s + 1, n, d)
        Output less target along each concept, in the coordinates of the outputs; the last
        is the bias.
    probe : Probe
    coordinates : Coordinates
    """
    runs, columns, count, d = maps.shape
    s = probe.points.shape[2]
    points = np.ones((runs, probe.points.shape[1], columns))
    points[:, :, :s] = probe.points
    # In pieces that stay in the caches: all runs at once would wait for memory.
    piece = max(1, _TOGETHER // (count * d * points.shape[1]))
    found = []
    for begin in range(0, runs, piece):
        mine = maps[begin : begin + piece]
        held = len(mine)
        away = mine.new_tensor(points[begin : begin + piece]).bmm(mine.reshape(held, columns, -1))
        away = away.reshape(held, -1, count, d)
        part = Probe(probe.index, probe.points[begin : begin + piece])
        slope = mine[:, :s].permute(0, 2, 3, 1)
        found.append(_read(away.permute(0, 2, 3, 1), slope, part, coordinates))
    return Seen(*(np.concatenate(same) for same in zip(*found, strict=True)))


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
    """
    away, derivative = away.mT, derivative.mT
    return Seen(*_read(away, derivative, probe, coordinates))


def _read(
    away: Any, slope: Any, probe: Probe, coordinates: Coordinates
) -> tuple[Floats, Floats, Floats]:
    """From errors, which are used up, and their derivatives; outputs in the rows."""
    s = probe.points.shape[2]
    if coordinates.turned:
        shown, slope = away[:, :, :s].mT.cpu().numpy().copy(), slope[:, :, :s]
    else:
        frames = away.new_tensor(coordinates.frames[:, :, :s]).mT[:, None]
        shown, slope = (frames @ away).mT.cpu().numpy(), frames @ slope
    shown += probe.points[:, None].astype(shown.dtype)
    jacobian = slope.cpu().numpy()
    return (
        shown,
        0.5 * away.square_().sum(2).cpu().numpy(),
        jacobian + np.eye(s, dtype=jacobian.dtype),
    )
