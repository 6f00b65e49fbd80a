"""Derivatives of half-times: against finite differences of the law, and of a closed form."""

import math

import numpy as np
import pytest

import swingby
from swingby import InvalidInput, Scaled, SIMTask, crossing_function, predict
from tests.forked import sample

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

DYNAMICS = ("euler", "gd", "flow")
FULL = pytest.mark.full


def tensors(*values):
    return [torch.tensor(value, dtype=torch.float64) for value in values]


def crossing(a, W0, eta, dynamics):
    return predict(SIMTask.from_signal(a), W0, eta=eta, dynamics=dynamics).crossing


def sloped(function, step):
    """A central difference to fourth order."""
    narrow, wide = (function(s) - function(-s) for s in (step, 2 * step))
    return (8 * narrow - wide) / (12 * step)


def a_start(d, seed, size=1e-2):
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((d, d + 2)) * size
    return rng.permutation(np.linspace(0.5, 1.6, d)), U @ U.T, rng


@pytest.mark.parametrize("dynamics", sample(DYNAMICS))
@pytest.mark.parametrize(
    ("d", "seed"), [pytest.param(2, 1, marks=FULL), (3, 2), pytest.param(4, 3, marks=FULL)]
)
def test_derivatives_are_finite_differences_of_the_law(dynamics, d, seed):
    a, W0, rng = a_start(d, seed)
    eta = 0.03
    times = crossing_function(predict(SIMTask.from_signal(a), W0, eta=eta, dynamics=dynamics))
    point = tensors(a, W0, eta)
    assert np.allclose(times(*point).numpy(), crossing(a, W0, eta, dynamics), rtol=1e-14)
    by_a, by_W0, by_eta = (x.numpy() for x in torch.func.jacrev(times, argnums=(0, 1, 2))(*point))
    # Along a direction of each; the law is good to about 1e-5 of a step.
    direction = rng.standard_normal(d)
    expected = sloped(lambda s: crossing(a + s * direction, W0, eta, dynamics), 2e-3)
    assert by_a @ direction == pytest.approx(expected, rel=1e-4, abs=0.05)
    M = rng.standard_normal((d, d))
    M = (M + M.T) * np.sqrt(np.outer(np.diag(W0), np.diag(W0))) / 20
    expected = sloped(lambda s: crossing(a, W0 + s * M, eta, dynamics), 2e-2)
    assert (by_W0 * M).sum((1, 2)) == pytest.approx(expected, rel=1e-4, abs=0.01)
    expected = sloped(lambda s: crossing(a, W0, eta + s, dynamics), 1e-4)
    assert by_eta == pytest.approx(expected, rel=1e-5, abs=1)


def test_backward_is_jacrev():
    a, W0, _ = a_start(2, 5)
    times = crossing_function(predict(SIMTask.from_signal(a), W0, eta=0.02, dynamics="gd"))
    point = [x.requires_grad_() for x in tensors(a, W0, 0.02)]
    times(*point).sum().backward()
    for argument, tensor in enumerate(point):
        expected = torch.func.jacrev(times, argnums=argument)(*tensors(a, W0, 0.02)).sum(0)
        assert torch.allclose(tensor.grad, expected, rtol=1e-12)


def test_one_concept_under_the_flow_in_closed_form():
    # t = log((1 - w)/w) / (2 eta a): derivatives -t/a, -1/(2 eta a w (1 - w)), -t/eta.
    times = crossing_function(
        predict(SIMTask.from_signal([2]), [[1e-3]], eta=0.01, dynamics="flow")
    )
    by_a, by_w, by_eta = torch.func.jacrev(times, argnums=(0, 1, 2))(
        *tensors([2.0], [[1e-3]], 0.01)
    )
    t = math.log(999) / 0.04
    assert by_a.item() == pytest.approx(-t / 2, rel=1e-6)
    assert by_w.item() == pytest.approx(-1 / (0.04 * 1e-3 * 0.999), rel=1e-6)
    assert by_eta.item() == pytest.approx(-t / 0.01, rel=1e-6)


def test_a_scale_below_the_float_range():
    a, W0, _ = a_start(2, 7, 1.0)
    task = SIMTask.from_signal(a)
    times = crossing_function(predict(task, Scaled(W0, "1e-400"), eta=0.01, dynamics="flow"))
    by_W0 = torch.func.jacrev(times, argnums=1)(*tensors(a, W0, 0.01)).numpy()
    # Scaling W(0) by 1 + s is as omega (1 + s): t_k moves by -s / (2 eta a_k), by nothing else.
    assert (by_W0 * W0).sum((1, 2)) == pytest.approx(-1 / (0.02 * a), rel=1e-3)


def test_euler_pivots_that_change_their_order_on_the_way():
    # The drift takes the second pivot away, so the walk eliminates it last.
    a, eta = np.array([1.0, 0.5, 0.25]), 0.05
    W0 = 1e-4 * np.array([[1, 0.97, 0.1], [0.97, 1, 0.1], [0.1, 0.1, 1]])
    schedule = predict(SIMTask.from_signal(a), W0, eta=eta, dynamics="euler")
    assert (np.diff(schedule.stages.curves[0].concept, axis=1) != 0).any()
    times = crossing_function(schedule)
    by_W0 = torch.func.jacrev(times, argnums=1)(*tensors(a, W0, eta)).numpy()
    M = 1e-7 * np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0]])
    expected = sloped(lambda s: crossing(a, W0 + s * M, eta, "euler"), 1.0)
    # At the brink the expansion in the step size is good to two digits.
    assert (by_W0 * M).sum((1, 2)) == pytest.approx(expected, rel=3e-2, abs=1e-4)


def test_what_is_not_learned_has_no_time():
    times = crossing_function(
        predict(SIMTask.from_signal([1, 0]), [[1e-3, 1e-4], [1e-4, 1e-3]], eta=0.05)
    )
    crossing = times(*tensors([1.0, 0.0], [[1e-3, 1e-4], [1e-4, 1e-3]], 0.05))
    assert math.isfinite(crossing[0])
    assert crossing[1] == math.inf


@pytest.mark.parametrize("W0", [np.full((2, 2), 1e-3), np.diag([1e-3, 0.0])])
def test_a_pivot_that_is_not_positive_is_refused(W0):
    schedule = predict(SIMTask.from_signal([2, 1]), W0, eta=0.01, dynamics="gd")
    with pytest.raises(InvalidInput, match="schedule must have positive pivots of W"):
        crossing_function(schedule)


def test_a_distribution_is_refused():
    schedule = swingby.predict(SIMTask.from_signal([2, 1]), omega=1e-6, eta=0.01)
    with pytest.raises(InvalidInput, match="must come from a W"):
        crossing_function(schedule)
