r"""Early alignment, exactly: the paths of neurons while the network is still small.

While f is negligible, :math:`\dot w_j = a_j D_n(w_j)` and :math:`\dot a_j = w_j \cdot D_n(w_j)`, so
:math:`a_j^2 - |w_j|^2` is kept and :math:`a_j` keeps its sign s if :math:`|a_j| \ge |w_j|`. With
:math:`d\tau = |a_j|\, dt`,

.. math:: \frac{dw}{d\tau} = s\, D_n(w)

is piecewise constant: a path is a polygon, from one hyperplane to the next. Where both sides of a
hyperplane point at it the path slides along, at the gradient of least norm (Filippov). The time
of a piece is an elementary integral of :math:`d\tau / \sqrt{|w|^2 + c}`. Nothing is discretized,
and the time does not depend on the scale of the start.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swingby.lab.relu.geometry import (
    DOUBT,
    Arrangement,
    Extremal,
    Face,
    Floats,
    certify_face,
    drift,
)

#: Hyperplanes that a path may meet for each that there is.
_EVENTS = 6
#: Relative rounding of a start: a smaller excess of |a| over |w|, or part across, is none.
_ROUNDING = 1e-15


@dataclass(frozen=True, eq=False)
class Paths:
    """Where neurons end. Corners lie in `w` (steps, m, d), reached at `t` (steps, m)."""

    w: Floats
    t: Floats
    #: Velocities after the corners, (steps, m, d), and a^2 - |w|^2, (m,).
    v: Floats
    excess: Floats
    #: Directions at the end, (m, d); zero for neurons that stop, and for those that shrink to 0
    #: against their gradient, as rounding decides where these turn.
    limit: Floats
    faces: tuple[Face, ...]
    #: Whether the path was followed to its end, (m,).
    ended: NDArray[np.bool_]
    #: When the gradient of a neuron is 0 for good, (m,); nan for those that never stop.
    stopped: Floats
    #: Whether a path was left where its gradient may be rounding, (m,).
    doubtful: NDArray[np.bool_]

    def at(self, time: float) -> Floats:
        """Directions at a time, (m, d)."""
        rows = np.arange(self.w.shape[1])
        arc = (self.t <= time).sum(axis=0) - 1
        w, v = self.w[arc, rows], self.v[arc, rows]
        rest = time - self.t[arc, rows]
        speed = np.maximum(np.linalg.norm(v, axis=1), 1e-300)
        along, across = _parts(w, v, self.excess)
        # The inverse of :func:`duration`.
        reached = across * np.sinh(np.minimum(speed * rest + np.arcsinh(along / across), 600.0))
        w = w + ((reached - along) / speed)[:, None] * v
        return np.asarray(w / np.linalg.norm(w, axis=1)[:, None])

    def aligned_after(self, angle: float) -> Floats:
        """Time after which a neuron stays within an angle (radians) of its limit, (m,)."""
        times = np.full(len(self.limit), math.nan)
        for j, limit in enumerate(self.limit):
            if self.ended[j] and limit.any():
                w = self.w[:, j]
                cosine = w @ limit / np.maximum(np.linalg.norm(w, axis=1), 1e-300)
                outside = np.flatnonzero(cosine < math.cos(angle))
                arc = int(outside[-1]) if len(outside) else 0
                within = self._within(arc, j, limit, angle) if len(outside) else 0.0
                times[j] = self.t[arc, j] + within
        return times

    def _within(self, place: int, j: int, limit: Floats, angle: float) -> float:
        """Time from a corner to the angle, on the piece that follows."""
        w, v, c = self.w[place, j], self.v[place, j], float(self.excess[j])
        speed = float(np.linalg.norm(v))
        if place + 1 == len(self.w):
            across = w - (w @ v) / speed**2 * v
            high = max(0.0, (np.linalg.norm(across) / math.tan(angle) - w @ v / speed) / speed)
            return float(duration(w, v, high, c))
        low, high, end = 0.0, 1.0, self.w[place + 1, j]
        for _ in range(60):
            middle = (low + high) / 2
            at = w + middle * (end - w)
            if at @ limit < math.cos(angle) * np.linalg.norm(at):
                low = middle
            else:
                high = middle
        length = float(np.linalg.norm(end - w)) / max(speed, 1e-300)
        return float(duration(w, v, high * length, c))


def duration(w: Floats, v: Floats, tau: Any, c: Any) -> Any:
    """Time in which w (..., d) moves by tau v: the integral of 1/sqrt(|w + tau v|^2 + c)."""
    speed = np.maximum(np.linalg.norm(v, axis=-1), 1e-300)
    along, across = _parts(w, v, c)
    return (np.arcsinh((along + tau * speed) / across) - np.arcsinh(along / across)) / speed


def _parts(w: Floats, v: Floats, c: Any) -> tuple[Any, Any]:
    """W along v, and what is left of sqrt(|w|^2 + c); a little across keeps logarithms finite."""
    unit = v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-300)
    along = (w * unit).sum(-1)
    # The difference of |w|^2 and along^2 would lose half of the digits.
    across = np.sqrt(np.square(w - along[..., None] * unit).sum(-1) + c)
    return along, np.maximum(across, _ROUNDING * np.linalg.norm(w, axis=-1) + 1e-300)


def follow(arrangement: Arrangement, w: Floats, a: Floats) -> Paths:
    """Follow neurons of input weights w (m, d) and output weights a (m,), |a| >= |w|."""
    normals = arrangement.normals
    m, h = len(w), len(normals)
    w = np.array(w, float)
    side = np.sign(a)
    balanced = np.square(w).sum(axis=1)
    excess = np.square(a) - balanced
    excess[excess < 4 * _ROUNDING * balanced] = 0.0
    active = _active(arrangement, w)
    v = side[:, None] * arrangement.gradient(active)
    clock, done = np.zeros(m), np.zeros(m, bool)
    on_line = np.zeros((m, h), bool)
    exact: dict[Face, tuple[Floats, NDArray[np.bool_], bool]] = {}
    rate, faint = _rates(arrangement, v, side, active, on_line, exact)
    corners, times, speeds = [w.copy()], [clock.copy()], [v.copy()]
    for _ in range(_EVENTS * h + 10):
        inside = w @ normals.T
        # A line is met only if the path comes from its other side.
        away = np.where(active, 1.0, -1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            gap = np.maximum(away * inside, 0) / np.abs(rate)
        tau = np.where((away * rate < 0) & ~on_line, gap, np.inf)
        k = tau.argmin(axis=1) if h else np.zeros(m, int)
        step = tau[np.arange(m), k] if h else np.full(m, np.inf)
        shrinking = _shrinks(w, v, excess)
        done |= (
            faint | ~np.isfinite(step) | (on_line.sum(axis=1) >= arrangement.dim - 1) | shrinking
        )
        if done.all():
            break
        moving = np.flatnonzero(~done)
        clock[moving] += duration(w[moving], v[moving], step[moving], excess[moving])
        w[moving] += step[moving, None] * v[moving]
        for j in moving:
            _meet(arrangement, int(k[j]), side[j], active[j], on_line[j], v[j])
        rate, faint = _rates(arrangement, v, side, active, on_line, exact)
        corners.append(w.copy())
        times.append(clock.copy())
        speeds.append(v.copy())
    speed = np.linalg.norm(v, axis=1)
    ray = (on_line.sum(axis=1) >= arrangement.dim - 1) & (speed > 0)
    limit = np.where(
        ray[:, None],
        w / np.maximum(np.linalg.norm(w, axis=1), 1e-300)[:, None],
        np.where((speed > 0)[:, None], v / np.maximum(speed, 1e-300)[:, None], 0.0),
    )
    limit[_shrinks(w, v, excess) & ~ray] = 0.0
    faces = tuple(map(_face, on_line, active))
    stopped = np.where(done & (speed == 0), clock, math.nan)
    # The direction of a ray does not depend on a gradient.
    faint &= ~ray
    w, t, v = map(np.stack, (corners, times, speeds))
    return Paths(w, t, v, excess, limit, faces, done & ~faint, stopped, faint)


def _active(arrangement: Arrangement, w: Floats) -> NDArray[np.bool_]:
    """Lines (m, h) on whose positive side neurons start, exactly."""
    inside = w @ arrangement.normals.T
    active = inside > 0
    for j, k in np.argwhere(np.abs(inside) <= DOUBT * np.linalg.norm(w, axis=1)[:, None]):
        exact = zip(map(Fraction, w[j].tolist()), arrangement.lines[k], strict=True)
        active[j, k] = sum(entry * own for entry, own in exact) > 0
    return active


def _face(on_line: NDArray[np.bool_], active: NDArray[np.bool_]) -> Face:
    return Face(tuple(np.flatnonzero(on_line).tolist()), tuple(active.tolist()))


def _shrinks(w: Floats, v: Floats, excess: Floats) -> NDArray[np.bool_]:
    """Balanced neurons (m,) exactly against their gradient: they shrink and never turn."""
    along, across = _parts(w, v, excess)
    return np.asarray((along < 0) & (across <= 2 * _ROUNDING * np.linalg.norm(w, axis=1)))


def _rates(
    arrangement: Arrangement,
    v: Floats,
    side: Floats,
    active: NDArray[np.bool_],
    on_line: NDArray[np.bool_],
    exact: dict[Face, tuple[Floats, NDArray[np.bool_], bool]],
) -> tuple[Floats, NDArray[np.bool_]]:
    """Speeds (m, h) towards the lines, and neurons (m,) whose gradient may be rounding.

    Those near 0 are decided exactly, and v (m, d) with them. A gradient that is 0 but for rounding
    would move a neuron for 10^16 units of time.
    """
    rate: Floats = v @ arrangement.normals.T
    faint = np.zeros(len(v), bool)
    doubt = DOUBT * arrangement.size
    doubtful = ((np.abs(rate) <= doubt) & ~on_line).any(axis=1)
    doubtful |= np.linalg.norm(v, axis=1) <= doubt
    for j in np.flatnonzero(doubtful):
        face = _face(on_line[j], active[j])
        if face not in exact:
            exact[face] = drift(arrangement, face)
        gradient, along, faint[j] = exact[face]
        v[j] = side[j] * gradient
        rate[j] = np.where(along, 0.0, arrangement.normals @ v[j])
    return rate, faint


def _meet(
    arrangement: Arrangement,
    k: int,
    side: float,
    active: NDArray[np.bool_],
    on_line: NDArray[np.bool_],
    v: Floats,
) -> None:
    """A neuron meets line k: it crosses, or slides; what is active and held (h,), and v change.

    On a hyperplane that is held w is orthogonal to it, whatever rounding says.
    """
    normals, kinks = arrangement.normals, arrangement.kinks
    lines = [int(line) for line in np.flatnonzero(on_line)]
    if not lines:
        jump = (-1 if active[k] else 1) * side * kinks[k] * normals[k]
        if (v @ normals[k]) * ((v + jump) @ normals[k]) > 0:
            active[k] = ~active[k]
            v += jump
            return
    if lines and side * kinks[k] > 0:  # convex: it never holds
        active[k] = ~active[k]
    else:
        lines = [*lines, k]
    from scipy.optimize import lsq_linear

    active[lines] = False
    base = arrangement.gradient(active)
    columns = (kinks[lines, None] * normals[lines]).T
    eta = lsq_linear(columns, -base, bounds=(0, 1), method="bvls", tol=1e-14).x
    inside = (eta > 1e-9) & (eta < 1 - 1e-9)
    eta = np.where(inside, eta, np.round(eta))
    if inside.any():
        rest = base + columns[:, ~inside] @ eta[~inside]
        eta[inside] = np.linalg.lstsq(columns[:, inside], -rest, rcond=None)[0]
    active[lines], on_line[lines] = ~inside & (eta > 0.5), inside
    v[:] = side * (base + columns @ eta)


def attractors(
    arrangement: Arrangement, starts: int, rng: np.random.Generator
) -> tuple[tuple[Extremal, ...], int]:
    """Attracting directions of random neurons of both signs, certified; and how many got stuck."""
    w = rng.standard_normal((2 * starts, arrangement.dim))
    w /= np.linalg.norm(w, axis=1)[:, None]
    paths = follow(arrangement, w, np.repeat([1.0, -1.0], starts))
    ended = [face for face, complete in zip(paths.faces, paths.ended, strict=True) if complete]
    certified = {face: certify_face(arrangement, face) for face in dict.fromkeys(ended)}
    lost = len(w) - len(ended) + sum(not certified[face] for face in ended)
    flat = [point for points in certified.values() for point in points if point.kind == "flat"][:1]
    rest = [
        point for points in certified.values() for point in points if point.kind in ("max", "min")
    ]
    return tuple(sorted([*rest, *flat], key=lambda one: -one.value)), lost
