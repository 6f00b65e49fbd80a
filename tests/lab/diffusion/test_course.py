"""Responses linear in pixels against closed forms, and what a course says of itself."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swingby.lab.diffusion.circles import CLASSES, HELD_OUT, Circles
from swingby.lab.diffusion.course import (
    PAIRS,
    Cell,
    Course,
    bend,
    directions,
    learning_times,
    linear_response,
    responses,
)
from swingby.lab.diffusion.signals import Noise

CELL = Cell(0.4, 0.5, 1.0, "sgd")


def course(w=None, steps=None, kinds=None, **named):
    w = np.zeros((2, 2, 2)) if w is None else np.asarray(w, dtype=float)
    steps = np.arange(len(w)) * 10 if steps is None else steps
    if kinds is None:
        kinds = np.zeros((len(w), 4, 7))
        kinds[:, :, 5] = 1
    return Course(**{"cell": CELL, "seed": 0, "steps": steps, "w": w, "kinds": kinds,
                     "loss": np.zeros(len(w)), **named})  # fmt: skip


# --- the response of a linear denoiser


@pytest.mark.torch
@pytest.mark.parametrize("sampling_steps", [5, 40])
def test_the_response_is_w_of_a_linear_denoiser(sampling_steps):
    """Gradient descent on the diffusion loss of images that are linear in their condition.

    Everything is known: V_k = V (1 - (1 - rate S)^k) with S the moment of the condition as the
    loss weighs it, so w_pp of concept p is 1 - (1 - rate s_p)^k, less what the sampler leaves out.
    """
    torch = pytest.importorskip("torch")
    from swingby.lab.diffusion import vdm

    rng, pixels = np.random.default_rng(0), (3, 4, 4)
    # Two concepts, each along its own direction of the images; conditions (+-c_1, +-c_2).
    ways = np.linalg.qr(rng.standard_normal((48, 2)))[0].T * [[3.0], [0.7]]
    read = np.array([1.0, 0.6])
    corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    conditions = torch.tensor((2 * corners - 1) * read)
    images = torch.tensor(((2 * corners - 1) @ ways).reshape(4, *pixels))
    schedule = vdm.LinearSchedule(-5.0, 10.0, learned=False).double()
    V = torch.zeros(48, 2, dtype=torch.float64, requires_grad=True)

    def denoiser(z, gamma, condition):
        made = (condition @ V.T).reshape(z.shape)
        return z - vdm.alpha(gamma)[:, None, None, None] * made

    # All conditions at all times, with noise of either sign: nothing is left to chance.
    times = torch.arange(8, dtype=torch.float64) / 8
    x, c = images.repeat(16, 1, 1, 1), conditions.repeat(16, 1)
    t = times.repeat_interleave(4).repeat(2)
    noise = torch.tensor(rng.standard_normal((32, *pixels)))
    noise = torch.cat([noise, -noise])
    rate, steps = 0.02, 30
    weight = (schedule.slope * (1 - torch.sigmoid(schedule(times)))).mean().item()
    moment = weight * read**2
    # A step takes the mean of samples to (1 - sigma kappa) of it and sigma kappa of the map.
    deviation, kappa = Noise().sampler(sampling_steps)
    reached = 1 - np.prod(1 - deviation * kappa)
    for k in range(steps + 1):
        if k % 10 == 0:
            with torch.no_grad():
                apart, shared = (
                    vdm.sample(
                        denoiser, schedule, conditions, pixels, steps=sampling_steps, noises=noises,
                        generator=torch.Generator().manual_seed(k),
                    ).numpy()[:, None]
                    for noises in (None, 1)
                )  # fmt: skip
            along = [[2 * way.reshape(pixels) for way in ways]] * 2
            found = linear_response(shared, along)
            expected = (1 - (1 - rate * moment) ** k) * reached
            assert found == pytest.approx(np.array([expected, expected]), abs=1e-9)
            # With noise of its own for every class the response is off: it has to be shared.
            assert np.abs(linear_response(apart, along) - found).max() > 1e-3
        loss = vdm.loss(denoiser, schedule, x, c, t=t, noise=noise, first_noise=torch.zeros_like(x))
        (slope,) = torch.autograd.grad(loss.diffusion.mean(), V)
        with torch.no_grad():
            V -= rate * slope


def test_real_images_respond_by_one_and_blank_ones_by_nothing():
    circles = Circles(0.6, 16, separation=0.3)
    ways = directions(circles)
    images = circles.draw(2000, rng=1, classes=(0, 1, 2, 3)).pixels
    of_class = 2 * images.reshape(4, 2000, 3, 16, 16) - 1
    assert linear_response(of_class, ways) == pytest.approx(np.ones((2, 2)), abs=0.06)
    # Whatever they show: without an answer to the condition there is no response.
    for same in (np.zeros((4, 5, 3, 16, 16)), np.tile(of_class[:1, :5], (4, 1, 1, 1, 1))):
        assert np.abs(linear_response(same, ways)).max() == 0
    # Half the way is half the response, where a classifier would long be sure.
    half = (of_class + of_class[:1]) / 2
    assert linear_response(half, ways)[0] == pytest.approx([0.5, 0.5], abs=0.03)


def test_directions_are_those_of_the_pairs():
    circles = Circles(0.6, 8)
    means = circles.draw(20_000, rng=2, classes=(0, 1, 2, 3)).pixels.reshape(4, 20_000, -1).mean(1)
    for corner, pairs in enumerate(PAIRS.values()):
        for p, (asked, other) in enumerate(pairs):
            way = directions(circles)[corner, p].ravel()
            expected = 2 * (means[asked] - means[other])
            assert np.linalg.norm(way - expected) < 0.06 * np.linalg.norm(expected)
            # Of the corner whose name they bear: no trained pair knows of the held-out class.
            held_out = [kind == HELD_OUT for kind in (asked, other)]
            assert held_out == [corner == 1, False]
            assert sum(a != b for a, b in zip(CLASSES[asked], CLASSES[other], strict=True)) == 1


# --- courses


def test_times_by_hand():
    w = np.zeros((4, 2, 2))
    w[:, 0, 0] = [0, 0.8, 0.2, 1]
    w[:, 0, 1] = [0, 0.2, 0.45, 0.49]
    w[:, 1] = [[0.6, 0], [0.6, 0], [0.7, 0.5], [1, 0.5]]
    found = course(w, steps=[0, 10, 30, 70])
    # What is lost again is not learned: from the last save below a half on.
    assert learning_times(found) == pytest.approx((30 + 40 * 0.3 / 0.8, math.inf))
    assert learning_times(found, "held out") == (0.0, 30.0)
    assert responses(found, "held out").tolist() == w[:, 1].tolist()


def test_a_right_image_is_one_of_the_class_asked_for():
    kinds = np.zeros((1, 4, 7))
    for asked, share in enumerate((0.1, 0.2, 0.3, 0.4)):
        kinds[0, asked, asked], kinds[0, asked, 5] = share, 1 - share
    found = course(np.zeros((1, 2, 2)), kinds=kinds)
    assert found.right.tolist() == [[0.1, 0.2, 0.3, 0.4]]
    assert found.held_out == 0.4


coordinate = st.floats(-2, 2)


@given(coordinate, coordinate, st.floats(0.5, 3), st.floats(0.5, 3), st.integers(1, 20))
def test_corner_paths_bend_by_one(x0, y0, width, height, n):
    x, y = x0 + np.linspace(0, width, n + 1), y0 + np.linspace(0, height, n + 1)
    right_then_up = [*([a, y0] for a in x), *([x[-1], b] for b in y[1:])]
    up_then_right = [*([x0, b] for b in y), *([a, y[-1]] for a in x[1:])]
    if min(x[-1] - x0, y[-1] - y0) >= 0.5:
        assert bend(right_then_up) == pytest.approx(1, abs=1e-6)
        assert bend(up_then_right) == pytest.approx(-1, abs=1e-6)
        assert bend([[x0, y0], [x[-1], y[-1]]]) == pytest.approx(0, abs=1e-12)


def test_the_bend_of_a_power():
    """Between the chord and y = x^3: 2 (1/2 - 1/4)."""
    x = np.linspace(0, 1, 2001)
    assert bend(np.stack([x, x**3], 1)) == pytest.approx(0.5, abs=1e-5)
    assert math.isnan(bend([[0, 0], [1, 0.4]]))


def test_a_course_through_json():
    rng = np.random.default_rng(3)
    kinds = rng.dirichlet(np.ones(7), (2, 4))
    found = course(rng.normal(size=(2, 2, 2)), kinds=kinds)
    again = Course.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again == found
    assert again != course(found.w + 1, kinds=kinds)
    with pytest.raises(ValueError, match="read-only"):
        found.w[0] = 1
