"""Theorem 4.1 against a numerical solution of its differential equation."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from swingby.errors import InvalidInput
from swingby.theory.lemmas import one_layer_output
from swingby.theory.task import SIMTask


def test_closed_form_solves_the_flow_of_the_loss():
    task = SIMTask([1, 2], [0.5, 0.1], dim=3)
    generator = np.random.default_rng(0)
    W0, z = generator.standard_normal((3, 3)), generator.standard_normal(3)
    A = np.diag(task.signal)

    def speed(_, flat):
        return (A - flat.reshape(3, 3) @ A).ravel()  # -(C.15)

    times = np.linspace(0, 3, 7)
    solved = solve_ivp(speed, (0, 3), W0.ravel(), t_eval=times, rtol=1e-11, atol=1e-12)
    expected = solved.y.T.reshape(-1, 3, 3) @ z
    assert np.allclose(one_layer_output(task, W0, times, z), expected, atol=1e-9)


def test_default_input_is_the_test_point_and_it_is_learned():
    task = SIMTask([1, 2])
    assert np.allclose(one_layer_output(task, np.zeros((2, 2)), [1e3])[0], task.test_point)


def test_wrong_shapes_are_refused():
    with pytest.raises(InvalidInput, match="W0"):
        one_layer_output(SIMTask([1, 2]), np.zeros((3, 3)), [0])
    with pytest.raises(InvalidInput, match="z"):
        one_layer_output(SIMTask([1, 2]), np.zeros((2, 2)), [0], z=[1])
