"""Extremal vectors against brute force on the circle, against ascent, and against known answers."""

import itertools
import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swingby.errors import InvalidInput
from swingby.lab.relu import align, check, extremal_vectors
from swingby.lab.relu.geometry import Face, arrange, certify_face


def cross(a, b):
    return a[0] * b[1] - a[1] * b[0]


def half(v):
    return (0, v) if (v[1], v[0]) > (0, 0) else (1, v)


def around(directions):
    """Directions of the plane in the order of their angles, in whole numbers alone."""
    import functools

    def compare(a, b):
        if half(a)[0] != half(b)[0]:
            return half(a)[0] - half(b)[0]
        turn = cross(a, b)
        return -1 if turn > 0 else int(turn < 0)

    ordered = sorted(directions, key=functools.cmp_to_key(compare))
    return [v for k, v in enumerate(ordered) if k == 0 or compare(ordered[k - 1], v)]


def circle(points, values):
    """All critical directions for d = 2: arc by arc and ray by ray, in rational numbers.

    An arc has the gradient of any direction inside; its critical directions are plus and minus it.
    A ray between two arcs is critical where the two slopes along the circle differ in sign.
    """
    n = len(points)
    rays = around([v for x, y in points for v in ((-y, x), (y, -x))])
    inside = []
    for a, b in pairwise([*rays, rays[0]]):
        # Between two rays less than half a turn apart lies their sum; opposite ones need a turn.
        inside.append((a[0] + b[0], a[1] + b[1]) if cross(a, b) else (-a[1], a[0]))

    def gradient(v):
        on = [k for k in range(n) if points[k][0] * v[0] + points[k][1] * v[1] > 0]
        return tuple(sum(Fraction(values[k] * points[k][c], n) for k in on) for c in (0, 1))

    slopes = [gradient(v) for v in inside]
    found = []
    for k, ray in enumerate(rays):
        before, after = (cross(ray, slopes[k - 1]), cross(ray, slopes[k]))
        if before * after <= 0:
            kind = "max" if before > 0 else "min"
            found.append((kind if before * after else "degenerate", ray))
        following = rays[(k + 1) % len(rays)]
        for sign in (1, -1):
            w = (sign * slopes[k][0], sign * slopes[k][1])
            if any(w) and cross(ray, w) > 0 and cross(w, following) > 0:
                found.append(("max" if sign > 0 else "min", w))
    return found, any(not any(one) for one in slopes)


numbers = st.integers(-9, 9)
data = st.lists(
    st.tuples(numbers, numbers, st.integers(1, 9), st.booleans()), min_size=3, max_size=8
)


@given(data)
def test_the_circle_by_brute_force(rows):
    seen, kept = [], []
    for a, b, y, sign in rows:
        # Points of two lines or more, no two on one line: what the brute force can do.
        if (a or b) and all(cross((a, b), other) for other in seen):
            seen.append((a, b))
            kept.append(y if sign else -y)
    if len(seen) < 3:
        return
    expected, flat = circle(seen, kept)
    found = extremal_vectors(np.array(seen), kept, method="enumerate")
    plain = [one for one in found.points if one.kind != "flat"]
    assert len(found.of("flat")) == flat
    if flat:  # the edges of a flat cone are part of it
        return
    mine = sorted((one.kind, *one.direction.round(9)) for one in plain)
    wanted = sorted(
        (kind, *(np.array(w, float) / np.hypot(*map(float, w))).round(9)) for kind, w in expected
    )
    assert [one[0] for one in mine] == [one[0] for one in wanted]
    assert np.allclose([one[1:] for one in mine], [one[1:] for one in wanted], atol=1e-8)
    assert found.euler is (None if found.of("degenerate") else True)


def noisy(n, d, seed, noise=0.7):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X[:, 0] + noise * rng.standard_normal(n)


def objective(X, y, w):
    return np.maximum(X @ w, 0) @ y / len(y)


@pytest.mark.parametrize(("n", "d"), [(20, 2), (14, 3), (9, 4)])
def test_what_is_critical_is_so_by_its_neighbours(n, d):
    X, y = noisy(n, d, n)
    found = extremal_vectors(X, y, method="enumerate")
    rng = np.random.default_rng(1)
    assert found.euler
    for one in found.points:
        assert np.isclose(objective(X, y, one.direction), one.value, atol=1e-14)
        assert np.allclose(one.vector, one.value * one.direction)
        near = one.direction + 1e-7 * rng.standard_normal((400, d))
        near /= np.linalg.norm(near, axis=1)[:, None]
        change = np.array([objective(X, y, w) for w in near]) - one.value
        if one.kind == "max":
            assert change.max() < 1e-13
        if one.kind == "min":
            assert change.min() > -1e-13
        if one.tied:
            assert len(one.tied) == np.sum(np.abs(X @ one.direction) < 1e-12)


@pytest.mark.parametrize("d", [2, 3, 4])
def test_every_start_ends_where_enumeration_says(d):
    X, y = noisy(24, d, d)
    every = extremal_vectors(X, y, method="enumerate")
    some = extremal_vectors(X, y, method="starts", starts=60)
    assert every.complete
    assert not some.complete

    def shown(found):
        return {(one.kind, *one.direction.round(9)) for one in found.points if one.kind != "saddle"}

    assert shown(some) <= shown(every)
    assert len(shown(some)) >= len(shown(every)) - 1


def test_symmetric_points_leave_two():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 3))
    y = rng.standard_normal(12)
    found = extremal_vectors(np.vstack([X, -X]), np.concatenate([y, -y]))
    direction = X.T @ y / np.linalg.norm(X.T @ y)
    assert [one.kind for one in found.points] == ["max", "min"]
    assert np.allclose(found.points[0].direction, direction, atol=1e-14)
    assert np.allclose(found.points[1].vector, X.T @ y / 24, atol=1e-14)


def test_balls_hold_the_direction():
    import flint

    X, y = [[3, 4], [-3, -4]], [1, -1]
    one = extremal_vectors(X, y).points[0]
    with flint.ctx.workprec(200):
        for ball, k in zip(one.balls, (3, 4), strict=True):
            difference = flint.arb(ball) - flint.arb(k) / 5
            assert difference.contains(0)
            assert abs(difference) < 1e-20


@pytest.mark.parametrize(
    ("X", "y", "named"),
    [
        ([[1, 2], [0, 0]], [1, 1], "X"),
        ([1, 2], [1, 1], "X"),
        ([[1, 2]], [1, 1], "y"),
        ([[1, 0, 0], [0, 1, 0], [1, 1, 0]], [1, 1, 1], "X"),
        ([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]], [1, 1, 1, 1], "X"),
    ],
)
def test_wrong_data_are_refused_by_name(X, y, named):
    with pytest.raises(InvalidInput) as caught:
        extremal_vectors(X, y)
    assert caught.value.argument == named


def test_what_a_sample_refutes():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    y = X[:, 0] + rng.standard_normal(200)
    assert str(check(X, y)["symmetric"].verdict) == "undecided"
    skewed = X + np.array([1.0, 0])
    assert str(check(skewed, y)["symmetric"].verdict) == "fails"
    loud = X[:, 0] + np.abs(X[:, 1]) * rng.standard_normal(200)
    assert str(check(X, loud)["noise"].verdict) == "fails"
    assert str(check(X[:4], y[:4])["n"].verdict) == "fails"
    for points, values, name in ((X * 1e200, y, "X"), (X * 1e-200, y, "X"), (X, y * 1e200, "y")):
        for verb in (check, extremal_vectors):
            with pytest.raises(InvalidInput, match=f"^{name} must lie within 1e"):
                verb(points, values)


def test_alignment_needs_dominated_weights():
    X, y = noisy(10, 2, 0)
    with pytest.raises(InvalidInput, match=r"a must be at least \|w_j\|"):
        align(X, y, [[1.0, 0.0]], [0.5])


def every_face(X):
    """All faces of an arrangement in general position, from its rays, without any gradient."""
    n, d = X.shape
    found = set()
    for tied in itertools.combinations(range(n), d - 1):
        ray = np.linalg.svd(X[list(tied)])[2][-1]
        for side in (1, -1):
            base = side * (X @ ray) > 0
            for pattern in itertools.product((False, None, True), repeat=d - 1):
                active = base.copy()
                active[list(tied)] = [bool(one) for one in pattern]
                zero = tuple(k for k, one in zip(tied, pattern, strict=True) if one is None)
                found.add(Face(zero, tuple(bool(one) for one in active)))
    return found


@pytest.mark.parametrize(("n", "d"), [(8, 2), (7, 3), (6, 4)])
def test_rational_numbers_alone_find_the_same(n, d):
    X, y = noisy(n, d, 10 * d)
    arrangement = arrange(X, y)
    faces = every_face(X)
    # Faces of dimensions 1 to d of n hyperplanes in general position (Zaslavsky).
    regions = 2 * sum(math.comb(n - 1, k) for k in range(d))
    assert sum(not face.tied for face in faces) == regions
    alone = [one for face in faces for one in certify_face(arrangement, face)]
    found = extremal_vectors(X, y, method="enumerate").points
    flat = [one for one in alone if one.kind == "flat"]
    assert len(alone) - len(flat) == sum(one.kind != "flat" for one in found)
    for one in alone:
        inside = X @ one.direction
        assert one.kind == "flat" or np.abs(inside[list(one.tied)]).max(initial=0) < 1e-12


def test_rounded_data_have_the_extremal_vectors_of_the_integers_they_stand_for():
    """Small integers are often special: a factor is 0 or 1, or a direction lies on a line."""
    special = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(-3, 4, (6, 2)), rng.integers(-2, 3, 6)
        X = np.where(X.any(axis=1, keepdims=True), X, 1)
        if np.linalg.matrix_rank(arrange(X, y).normals) < 2:
            continue
        exact = extremal_vectors(X, y).points
        found = extremal_vectors(X / 10, y * 0.1).points
        assert sorted(one.kind for one in found) == sorted(one.kind for one in exact)
        values = [one.value * 100 for one in found]
        assert np.allclose(values, [one.value for one in exact], rtol=1e-12, atol=1e-12)
        special += any(one.kind == "degenerate" for one in exact)
    assert special >= 5
