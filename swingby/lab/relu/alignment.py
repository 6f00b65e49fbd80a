"""Extremal vectors of data, and the alignment of neurons with them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swingby.errors import InvalidInput, named
from swingby.lab.relu.geometry import MOST_FACES, Extremal, Floats, arrange, enumerate_critical
from swingby.lab.relu.paths import attractors, follow
from swingby.report import Drawn, Framed, Grid
from swingby.theory import numbers

#: Faces up to which an enumeration takes some seconds.
_SOME_FACES = 3 * 10**6


@dataclass(frozen=True, eq=False)
class ExtremalVectors(Framed):
    """Critical directions of G_n. Made by :func:`extremal_vectors`."""

    #: By falling value.
    points: tuple[Extremal, ...]
    #: Whether these are all there are; otherwise those that attract, as far as found.
    complete: bool
    dim: int

    def __len__(self) -> int:
        return len(self.points)

    def of(self, kind: str) -> tuple[Extremal, ...]:
        """Those of a kind: "max", "min", "saddle" or "flat"."""
        return tuple(point for point in self.points if point.kind == kind)

    @property
    def euler(self) -> bool | None:
        r"""Whether :math:`\sum (-1)^{index}` equals the Euler characteristic of the sphere.

        None where the list is not meant to be full, or a cone is flat.
        """
        if not self.complete or any(point.kind in ("flat", "degenerate") for point in self.points):
            return None
        return sum(1 - 2 * (point.index % 2) for point in self.points) == (2 if self.dim % 2 else 0)

    def to_grid(self) -> Grid:
        """A line a direction."""
        rows = []
        for point in self.points:
            direction = ", ".join(f"{entry:.4f}" for entry in point.direction)
            rows.append(
                [
                    point.kind,
                    f"{point.value:.4g}",
                    direction,
                    str(len(point.tied)),
                    str(point.index),
                ]
            )
        below = ["Those that attract, as far as found from random starts."]
        if self.complete:
            below = ["All of them, each decided in rational numbers."]
        columns = ("kind", ">G", "direction", ">ties", ">index")
        return Grid(f"{len(self)} extremal vectors", columns, rows, below=below)

    def records(self) -> list[dict[str, Any]]:
        """One row per direction."""
        return [vars(point) for point in self.points]

    def to_dict(self) -> dict[str, Any]:
        """The directions as JSON can hold them."""
        names = ("kind", "value", "direction", "vector", "index", "tied", "balls")
        points = [
            {name: np.asarray(getattr(point, name)).tolist() for name in names}
            for point in self.points
        ]
        return {"complete": self.complete, "points": points}


@named
def extremal_vectors(
    X: object, y: object, *, method: str | None = None, starts: int = 100, seed: int = 0
) -> ExtremalVectors:
    r"""The directions at which neurons stop turning while the network is small.

    They are the critical points (KKT points of maximum and minimum) of

    .. math:: G_n(w) = \frac1n \sum_k y_k\, \mathrm{relu}(w \cdot x_k)

    on the unit sphere: w with some :math:`g \in \partial G_n(w)` parallel to it, the extremal
    vector.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Points, d at least 2, none of them 0. A sum within 2^-48 of the sizes of its terms is 0, as
        .1 + .2 - .3 is; else floats are taken at their exact values.
    y : array_like of shape (n,)
    method : {"enumerate", "starts"}, optional
        ``"enumerate"``: all directions, by the :math:`O(n^{d-1})` cones of the arrangement.
        ``"starts"``: those that attract, from random starts. By default all, if this takes seconds.
    starts : int
        Random starts of each sign.
    seed : int
        Of the starts.

    Raises
    ------
    InvalidInput
        For data of a wrong shape, a point at 0, or, in an enumeration, d lines or more through one
        ray, points that do not span the space, and more than 3e8 cones.

    Notes
    -----
    Definition 1 of "Simplicity bias and optimization threshold in two-layer networks", in the form
    that the authors give in their replies. Whether a face has such a point is decided by signs of
    rational numbers; ``balls`` encloses its entries.

    Examples
    --------
    Two points that are symmetric make G_n linear, :math:`G_n(w) = w \cdot x\, y/2`:

    >>> from swingby.lab.relu import extremal_vectors
    >>> found = extremal_vectors([[3, 4], [-3, -4]], [1, -1])
    >>> [(one.kind, one.value, one.direction.tolist()) for one in found.points]
    [('max', 2.5, [0.6, 0.8]), ('min', -2.5, [-0.6, -0.8])]
    """
    arrangement = arrange(X, y)
    if method not in (None, "enumerate", "starts"):
        raise InvalidInput("method", method, "must be enumerate or starts")
    numbers.whole(starts, "starts", 1)
    numbers.whole(seed, "seed")
    if method is None:
        method = "enumerate" if arrangement.faces() <= min(_SOME_FACES, MOST_FACES) else "starts"
    if method == "enumerate":
        return ExtremalVectors(enumerate_critical(arrangement), True, arrangement.dim)
    points, _ = attractors(arrangement, starts, np.random.default_rng(seed))
    return ExtremalVectors(points, False, arrangement.dim)


@dataclass(frozen=True, eq=False)
class Alignment(Drawn):
    """The directions to which neurons turn, and when. Made by :func:`align`."""

    #: Directions that neurons turn to, (m, d); 0 for neurons that turn to none: their gradient is 0
    #: from some time on, or they are balanced exactly against it.
    limit: Floats
    #: After which a neuron stays within the angle, (m,); nan for those that never turn.
    time: Floats
    #: Whether a path was followed to its end, (m,).
    ended: NDArray[np.bool_]
    #: Neurons with the same number turn to the same direction, (m,); -1 for those that never turn.
    attractor: NDArray[np.int64]
    #: From when on the gradient of a neuron is 0, (m,); nan for those that never stop.
    stopped: Floats
    #: Whether a path was left where its gradient may be rounding, (m,): it is below 1e-9 of the sum
    #: of its terms |y_k x_k| / n, and above 2^-48, up to which it counts as 0.
    doubtful: NDArray[np.bool_]

    def to_grid(self) -> Grid:
        """A line a direction: neurons that turn to it, and quantiles of their times."""
        rows = []
        for attractor in range(int(self.attractor.max(initial=-1)) + 1):
            mine = self.attractor == attractor
            times = np.quantile(self.time[mine], (0.5, 0.9, 1.0))
            direction = ", ".join(f"{entry:.4f}" for entry in self.limit[mine][0])
            rows.append([direction, str(int(mine.sum())), *(f"{value:.2f}" for value in times)])
        still, lost = np.isfinite(self.stopped), ~self.ended
        against = (self.attractor < 0) & ~still & ~lost
        below = []
        if still.any():
            last = self.stopped[still].max()
            when = f"the last at t = {last:.2f}" if last > 0 or not still.all() else "nothing moves"
            reason = "their gradient is zero to the rounding of the data"
            below.append(f"{still.sum()} stop, {when}: {reason}.")
        if against.any():
            below.append(f"{against.sum()} lie against their gradient, shrink and never turn.")
        for mask, reason in (
            (self.doubtful, "their gradient is below 1e-9 of its terms and may be rounding"),
            (lost & ~self.doubtful, "they met too many lines of the data"),
        ):
            if mask.any():
                below.append(f"{mask.sum()} were not followed to their end: {reason}.")
        columns = ("direction", ">neurons", ">median time", ">90 %", ">all")
        return Grid("Alignment", columns, rows, below=below)


@named
def align(X: object, y: object, w: object, a: object, *, angle: float = 0.1) -> Alignment:
    r"""Where each neuron turns while the network is small, and when it is aligned.

    The path of :math:`\dot w = a\, D_n(w)`, :math:`\dot a = w \cdot D_n(w)` is followed exactly,
    cone by cone. On a cone with gradient D and for balanced weights,
    :math:`\tan(\theta/2)` falls as :math:`e^{-|D| t}`, whatever the scale of the initial weights. A
    gradient D that is 0 up to the rounding of the data moves nothing.

    Parameters
    ----------
    X : array_like of shape (n, d)
    y : array_like of shape (n,)
    w : array_like of shape (m, d)
        Input weights at the start.
    a : array_like of shape (m,)
        Output weights, :math:`|a_j| \ge |w_j|`.
    angle : float
        Radians from its limit within which a neuron counts as aligned, below pi/2.

    Returns
    -------
    Alignment
        Times are those of the flow :math:`\dot\theta = -\tfrac12 \nabla L` of the mean square
        error L.

    Examples
    --------
    >>> import numpy as np
    >>> from swingby.lab.relu import align
    >>> X, y = [[1, 0], [-1, 0], [0, 1], [0, -1]], [2, -2, 0, 0]
    >>> found = align(X, y, [[0, 1e-6]], [1e-6], angle=0.1)
    >>> found.limit.tolist(), bool(np.isclose(found.time[0], 2 * np.log(1 / np.tan(0.05))))
    ([[1.0, 0.0]], True)
    """
    arrangement = arrange(X, y)
    inner, outer = numbers.real_array(w, "w"), numbers.real_array(a, "a")
    if inner.ndim != 2 or inner.shape != (len(outer), arrangement.dim):
        requirement = f"must have shape ({outer.size}, {arrangement.dim})"
        raise InvalidInput("w", f"an array of shape {inner.shape}", requirement)
    size = np.linalg.norm(inner, axis=1)
    if not (size > 0).all():
        raise InvalidInput("w", "a row of zeros", "must have a direction in each row")
    if not (np.abs(outer) >= size * (1 - 1e-9)).all():
        worst = int(np.argmin(np.abs(outer) / size))
        sizes_text = f"{outer[worst]:.3g} beside |w| = {size[worst]:.3g}"
        raise InvalidInput("a", sizes_text, "must be at least |w_j|", "dominated start")
    if not 0 < angle < math.pi / 2:
        raise InvalidInput("angle", angle, "must lie between 0 and pi/2")
    paths = follow(arrangement, inner, outer)
    places: dict[Any, int] = {}
    numbered = [
        places.setdefault((paths.faces[j], outer[j] > 0), len(places))
        if paths.ended[j] and paths.limit[j].any()
        else -1
        for j in range(len(outer))
    ]
    time = paths.aligned_after(angle)
    attractor = np.array(numbered, np.int64)
    return Alignment(paths.limit, time, paths.ended, attractor, paths.stopped, paths.doubtful)
