r"""The function whose ascent aligns neurons, and all its critical directions.

With data :math:`x_k \in \mathbb R^d`, :math:`y_k \in \mathbb R`, k = 1..n,

.. math:: G_n(w) = \frac1n \sum_k y_k\, \mathrm{relu}(w \cdot x_k), \qquad
          D_n(w) = \frac1n \sum_k 1[w \cdot x_k > 0]\, y_k x_k,

:math:`D_n` is its gradient, constant on each cone of the arrangement of hyperplanes
:math:`x_k^\perp`, and where :math:`w \cdot x_k = 0` the factor may be any number in [0, 1]. A
direction w is critical on the sphere if some such g is parallel to w; g is the extremal vector.

**Only directions count**, so nothing irrational is needed: on the face where the points T are tied,
w is the projection P D of the gradient on :math:`x_T^\perp`, or its opposite; w has to lie on that
face, and :math:`(I - P) D = -\sum_T \eta_k \kappa_k x_k` has to have every :math:`\eta_k` in
[0, 1]. So each face has at most two critical directions, decided by signs of rational numbers.

**Data are rounded**, so a sum within :data:`ROUNDING` of the sizes of its terms is 0: points so
near to one line share it, and a gradient so small moves nothing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swingby.errors import InvalidInput
from swingby.hints import Hinted
from swingby.theory import numbers
from swingby.theory.balls import precision

Floats = NDArray[np.float64]

#: What floats leave open, relative to the sizes compared: it is decided in rational numbers.
DOUBT = 1e-9
#: 16 spacings of floats: relative to its terms a smaller sum is the rounding of the data.
ROUNDING = 2.0**-48
#: Size of numbers in data at most: their fourth powers, n of them added, are floats.
_LARGEST = 1e60
#: Faces looked at together, and at most.
_TOGETHER, MOST_FACES = 2**15, 3 * 10**8


@dataclass(frozen=True, eq=False)
class Arrangement:
    """G_n as L w + sum_h kappa_h relu(u_h w): points on one line share a hyperplane."""

    dim: int
    #: (h, d), one normal a line; and the jump of the gradient along it, (h,).
    lines: tuple[tuple[Fraction, ...], ...]
    jumps: tuple[Fraction, ...]
    linear: tuple[Fraction, ...]
    #: Sizes of the points that act on the negative and the positive side of lines, (h, 2), and of
    #: those that act on both: sums of |y x| / n.
    sides: Floats
    always: float

    @cached_property
    def normals(self) -> Floats:
        """The normals of length 1, (h, d)."""
        raw = np.array([[float(entry) for entry in line] for line in self.lines])
        return raw / self._lengths[:, None] if len(raw) else np.zeros((0, self.dim))

    @cached_property
    def kinks(self) -> Floats:
        """kappa_h |u_h|: the jumps where normals have length 1, (h,)."""
        return np.array([float(jump) for jump in self.jumps]) * self._lengths

    @cached_property
    def _lengths(self) -> Floats:
        return np.array([math.hypot(*map(float, line)) for line in self.lines])

    @cached_property
    def slope(self) -> Floats:
        """L, (d,)."""
        return np.array([float(entry) for entry in self.linear])

    @cached_property
    def size(self) -> float:
        """A bound of |D|, against which its rounding is measured."""
        return float(self.always + self.sides.sum())

    def gradient(self, active: Any) -> Floats:
        """D of shape (..., d) where these lines (..., h) are active."""
        rows = self.kinks[:, None] * self.normals
        return np.asarray(self.slope + np.asarray(active, float) @ rows)

    def faces(self) -> int:
        """How often a face is looked at in an enumeration."""
        ties = self.dim - 1
        return int(2 * math.comb(len(self.lines), ties) * 3**ties)


def data(X: object, y: object) -> tuple[Floats, Floats]:
    """Points (n, d) and values (n,) as arrays, validated."""
    points, values = numbers.real_array(X, "X"), numbers.real_array(y, "y")
    if points.ndim != 2 or points.shape[1] < 2:
        shape_text = f"an array of shape {points.shape}"
        raise InvalidInput("X", shape_text, "must have shape (n, d), d >= 2")
    if values.shape != points.shape[:1]:
        shape_text = f"an array of shape {values.shape}"
        raise InvalidInput(
            "y", shape_text, f"must have one value for each of the {len(points)} points"
        )
    empty = np.flatnonzero(~points.any(axis=1))
    if len(empty):
        requirement = "must have no point at 0: every w gives it the same output"
        raise InvalidInput("X", f"zeros in row {int(empty[0])}", requirement)
    sizes, largest = np.abs(points).max(axis=1), np.abs(values).max(initial=0)
    for name, low, high in (
        ("X", sizes.min(initial=1), sizes.max(initial=1)),
        ("y", largest or 1, largest),
    ):
        if low < 1 / _LARGEST or high > _LARGEST:
            requirement = f"must lie within {_LARGEST:g} in size, and not below {1 / _LARGEST:g}"
            raise InvalidInput(name, f"{low:.3g} to {high:.3g}", requirement)
    return points, values


def arrange(X: object, y: object) -> Arrangement:
    """The arrangement of data, exactly."""
    points, values = data(X, y)
    n, d = points.shape
    vectors = [tuple(map(Fraction, point)) for point in points.tolist()]
    linear = (Fraction(0),) * d
    jumps: dict[int, Fraction] = {}
    sides: dict[int, list[float]] = {}
    for point, value, k in zip(vectors, values.tolist(), _lines(points).tolist(), strict=True):
        u, weight = vectors[k], Fraction(value) / n
        factor = _dot(point, u) / _dot(u, u)
        # y relu(c u w) is y c relu(u w) for c > 0, and y |c| (relu(u w) - u w) for c < 0.
        jumps[k] = jumps.get(k, Fraction(0)) + weight * abs(factor)
        if factor < 0:
            linear = tuple(a + weight * factor * b for a, b in zip(linear, u, strict=True))
        sides.setdefault(k, [0.0, 0.0])[factor > 0] += size(point) * abs(value) / n
    kinked = dict.fromkeys(
        k for k, jump in jumps.items() if abs(jump) * size(vectors[k]) > ROUNDING * sum(sides[k])
    )
    always = math.fsum(max(side) for k, side in sides.items() if k not in kinked)
    return Arrangement(
        d,
        tuple(vectors[k] for k in kinked),
        tuple(jumps[k] for k in kinked),
        linear if kinked or size(linear) > ROUNDING * always else (Fraction(0),) * d,
        np.array([sides[k] for k in kinked]).reshape(-1, 2),
        always,
    )


def _lines(points: Floats) -> NDArray[np.int64]:
    """The first point (n,) on the line of each, to rounding."""
    from scipy.spatial import KDTree

    units = points / np.abs(points).max(axis=1, keepdims=True)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    # Copies would be neighbours of one another, n^2 times.
    units, first, line = np.unique(units, axis=0, return_index=True, return_inverse=True)
    tree, line = KDTree(units), line.ravel()
    near = [tree.query_ball_point(sign * units, ROUNDING) for sign in (1, -1)]
    nearest = np.array([first[[*a, *b]].min() for a, b in zip(*near, strict=True)])
    earliest = nearest[line]
    for k in range(len(points)):
        earliest[k] = earliest[earliest[k]]
    return np.asarray(earliest, np.int64)


@dataclass(frozen=True, eq=False)
class Extremal(Hinted):
    """A critical direction w of G_n on the unit sphere."""

    #: w, of length 1.
    direction: Floats
    #: The extremal vector g = G_n(w) w, one of the gradients at w.
    vector: Floats
    #: G_n(w).
    value: float
    #: "max" attracts neurons with a_j > 0, "min" those with a_j < 0, "saddle" none; "flat" is a
    #: cone of directions with g = 0, all of which are critical; "degenerate" has a factor that is
    #: exactly 0 or 1, as special data may.
    kind: str
    #: Dimensions of the sphere along which G_n falls.
    index: int
    #: Lines of data orthogonal to w.
    tied: tuple[int, ...]
    #: Entries of w as balls that contain them; empty where nothing was certified.
    balls: tuple[str, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        direction = ", ".join(f"{entry:.4f}" for entry in self.direction)
        return f"{self.kind} in direction ({direction}), G = {self.value:.4g}"


@dataclass(frozen=True)
class Face:
    """Tied lines, and which of the others are active."""

    tied: tuple[int, ...]
    active: tuple[bool, ...]


def enumerate_critical(arrangement: Arrangement) -> tuple[Extremal, ...]:
    """All critical directions, each with a certificate.

    Every face has a ray of the arrangement in its closure, so the faces around all rays are all
    faces. Floats dismiss a face by a margin of :data:`DOUBT`; what is left is decided exactly.
    """
    if not len(arrangement.lines):
        # G_n is linear, and if it is 0 every direction is critical.
        d = arrangement.dim
        if any(arrangement.linear):
            return tuple(certify_face(arrangement, Face((), ())))
        return (Extremal(np.eye(d)[0], np.zeros(d), 0.0, "flat", 0, ()),)
    rank = int(np.linalg.matrix_rank(arrangement.normals))
    if rank < arrangement.dim:
        rank_text = f"lines of rank {rank}"
        raise InvalidInput("X", rank_text, "must have points with a kink that span the space")
    if arrangement.faces() > MOST_FACES:
        requirement = f"must have at most {MOST_FACES:.0e} faces; method='starts' has no limit"
        raise InvalidInput("X", f"an arrangement of {arrangement.faces():.1e}", requirement)
    certified: dict[Face, list[Extremal]] = {}
    for ties, others in _rays(arrangement):
        for face in _suspects(arrangement, ties, others):
            if face not in certified:
                certified[face] = certify_face(arrangement, face)
    every = [point for group in certified.values() for point in group]
    flat = [point for point in every if point.kind == "flat"][:1]
    points = [point for point in every if point.kind != "flat"]
    return tuple(sorted([*points, *flat], key=lambda point: -point.value))


def _rays(arrangement: Arrangement) -> Iterator[tuple[NDArray[np.int64], Floats]]:
    """Index sets of d - 1 lines (b, d - 1), and the rays orthogonal to them (b, d)."""
    sets = itertools.combinations(range(len(arrangement.normals)), arrangement.dim - 1)
    while chunk := list(itertools.islice(sets, _TOGETHER)):
        ties = np.array(chunk, dtype=np.int64)
        _, sizes, axes = np.linalg.svd(arrangement.normals[ties])
        volume = sizes.prod(axis=1)
        if (volume < 1e-12).any():
            raise _special(ties[int(volume.argmin())])
        yield ties, axes[:, -1]


def _special(ties: Any) -> InvalidInput:
    ties_text = "points on lines " + ", ".join(map(str, ties))
    return InvalidInput("X", ties_text, "must lie in general position, but these are dependent")


def _suspects(arrangement: Arrangement, ties: NDArray[np.int64], rays: Floats) -> Iterator[Face]:
    """Faces around rays that floats cannot dismiss."""
    normals, kinks, t = arrangement.normals, arrangement.kinks, ties.shape[1]
    inside = rays @ normals.T
    np.put_along_axis(inside, ties, np.inf, axis=1)
    if (np.abs(inside) < 1e-12).any():
        worst = int(np.argmin(np.abs(inside).min(axis=1)))
        raise _special([*ties[worst], int(np.abs(inside[worst]).argmin())])
    np.put_along_axis(inside, ties, 0.0, axis=1)
    rows, jumps = normals[ties], kinks[ties]
    doubt = DOUBT * arrangement.size
    for side in (1, -1):
        signs = side * np.sign(inside)
        base = arrangement.gradient(signs > 0)
        for pattern in itertools.product((-1, 0, 1), repeat=t):
            at = np.array(pattern)
            zero, on = np.flatnonzero(at == 0), np.flatnonzero(at == 1)
            D = base + np.einsum("bk,bkd->bd", jumps[:, on], rows[:, on])
            R = rows[:, zero]
            gram = np.einsum("bkd,bld->bkl", R, R)
            c = np.linalg.solve(gram, np.einsum("bkd,bd->bk", R, D)[..., None])[..., 0]
            eta = -c / jumps[:, zero]
            slack = DOUBT * (1 + arrangement.size / np.abs(jumps[:, zero]))
            # Of nearly dependent lines floats say nothing.
            bad = np.linalg.det(gram) < 1e-8
            open_ = ((eta > -slack) & (eta < 1 + slack)).all(axis=1) | bad
            D = D - np.einsum("bk,bkd->bd", c, R)
            on_ties = np.einsum("bkd,bd->bk", rows, D) * at
            for s in (1, -1):
                remaining = open_ & ((s * on_ties > -doubt).all(axis=1) | bad)
                places = np.flatnonzero(remaining)
                if not len(places):
                    continue
                same = s * (D[places] @ normals.T) * signs[places] > -doubt
                for index in places[same.all(axis=1) | bad[places]]:
                    active = signs[index] > 0
                    active[ties[index][on]] = True
                    tied = tuple(sorted(int(k) for k in ties[index][zero]))
                    yield Face(tied, tuple(bool(flag) for flag in active))


def certify_face(arrangement: Arrangement, face: Face) -> list[Extremal]:
    """The critical directions on a face, decided in rational numbers: none, one or a flat cone."""
    d, tied = arrangement.dim, face.tied
    lines, jumps = _exact_lines(arrangement)
    D, eta = _exact_gradient(arrangement, face)
    limit = ROUNDING * _terms(arrangement, face)
    # What leaves [0, 1], or a side of a line, by rounding alone lies on its edge.
    slack = limit / np.maximum(np.abs(arrangement.kinks[list(tied)]), 1e-300)
    shares = np.array([_floats([share, 1 - share]) for share in eta]).reshape(-1, 2)
    special = bool((np.abs(shares) <= slack[:, None]).any())
    if not (shares >= -slack[:, None]).all():
        return []
    if size(D) <= limit:
        return [Extremal(np.zeros(d), np.zeros(d), 0.0, "flat", 0, tied)]
    points = []
    for s in (1, -1):
        w = [s * entry for entry in D]
        if all(
            _floats([_dot(u, w)])[0] * (1 if active else -1) > limit * size(u)
            for k, (u, active) in enumerate(zip(lines, face.active, strict=True))
            if k not in tied
        ):
            points.append(_extremal(w, s, [jumps[k] for k in tied], tied))
    return [replace(point, kind="degenerate") for point in points] if special else points


def _exact_lines(arrangement: Arrangement) -> tuple[list[list[Any]], list[Any]]:
    """Normals and jumps, in the rational numbers of flint."""
    return [list(map(_rational, line)) for line in arrangement.lines], [
        _rational(jump) for jump in arrangement.jumps
    ]


def _rational(number: Fraction) -> Any:
    import flint

    return flint.fmpq(number.numerator, number.denominator)


def _exact_gradient(arrangement: Arrangement, face: Face) -> tuple[list[Any], list[Any]]:
    """The gradient along a face, and the shares of the jumps of its tied lines in it."""
    import flint

    tied, (lines, jumps) = face.tied, _exact_lines(arrangement)
    D = [_rational(entry) for entry in arrangement.linear]
    for u, jump, active in zip(lines, jumps, face.active, strict=True):
        if active:
            D = [a + jump * b for a, b in zip(D, u, strict=True)]
    if not tied:
        return D, []
    gram = flint.fmpq_mat([[_dot(lines[k], lines[m]) for m in tied] for k in tied])
    right = flint.fmpq_mat([[_dot(lines[k], D)] for k in tied])
    solved = gram.solve(right)
    c = [solved[k, 0] for k in range(len(tied))]
    for coefficient, k in zip(c, tied, strict=True):
        D = [a - coefficient * b for a, b in zip(D, lines[k], strict=True)]
    return D, [-coefficient / jumps[k] for coefficient, k in zip(c, tied, strict=True)]


def drift(arrangement: Arrangement, face: Face) -> tuple[Floats, NDArray[np.bool_], bool]:
    """The gradient (d,) of a face, 0 to rounding; the lines (h,) along which it runs; and doubt.

    A gradient is in doubt if it is not 0, but below :data:`DOUBT` of its terms.
    """
    D, _ = _exact_gradient(arrangement, face)
    terms, lines = _terms(arrangement, face), _exact_lines(arrangement)[0]
    along = [size([_dot(line, D)]) <= ROUNDING * terms * size(line) for line in lines]
    if size(D) <= ROUNDING * terms:
        return np.zeros(len(D)), np.array(along, bool), False
    return np.array(_floats(D)), np.array(along, bool), size(D) <= DOUBT * terms


def _terms(arrangement: Arrangement, face: Face) -> float:
    """The sum of |y x| / n over the points that act on a face or are tied on it."""
    acting = np.array(face.active, int)
    sizes = arrangement.sides[np.arange(len(acting)), acting]
    tied = list(face.tied)
    sizes[tied] = arrangement.sides[tied].sum(axis=1)
    return float(arrangement.always + sizes.sum())


def size(vector: Sequence[Any]) -> float:
    """The length of a rational vector."""
    return math.hypot(*_floats(vector))


def _floats(vector: Sequence[Any]) -> list[float]:
    return [int(entry.numerator) / int(entry.denominator) for entry in vector]


def _extremal(w: list[Any], s: int, jumps: list[Any], tied: tuple[int, ...]) -> Extremal:
    """The record of w = s P D, with its entries in balls."""
    import flint

    d = len(w)
    with precision(128):
        length = flint.arb(_dot(w, w)).sqrt()
        balls = [flint.arb(entry) / length for entry in w]
        digits = tuple(ball.str(20) for ball in balls)
    direction = np.array([float(ball.mid()) for ball in balls])
    value = s * float(length.mid())
    # Falling along the face if G > 0, by the cosine; across it at each kink that is concave.
    index = (d - 1 - len(tied) if s > 0 else 0) + sum(jump < 0 for jump in jumps)
    kind = "max" if index == d - 1 else "min" if index == 0 else "saddle"
    return Extremal(direction, value * direction, value, kind, index, tied, digits)


def _dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """The product of two rational vectors."""
    return sum((first * second for first, second in zip(a, b, strict=True)), 0 * a[0])
