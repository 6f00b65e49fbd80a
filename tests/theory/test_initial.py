"""W(0) at any scale: what is taken, what is refused, which concepts hang together."""

from fractions import Fraction

import numpy as np
import pytest

from swingby.errors import InvalidInput
from swingby.theory.initial import Initial, Scaled, connected_blocks, initial_matrix


@pytest.mark.parametrize(
    ("matrix", "scale", "fits"),
    [
        (np.eye(2), "1e300", True),
        (2 * np.eye(2), "1e300", False),
        (1e200 * np.eye(2), "1e101", False),
        (1e-200 * np.eye(2), "1e502", False),
        (1e299 * np.eye(2), "1e-5000", True),
    ],
)
def test_the_largest_entry_is_that_of_matrix_times_scale(matrix, scale, fits):
    if fits:
        assert initial_matrix(Scaled(matrix, scale), 2).scale == Fraction(scale)
    else:
        with pytest.raises(InvalidInput, match="must be below 1e300"):
            initial_matrix(Scaled(matrix, scale), 2)


@pytest.mark.parametrize(
    ("W0", "message"),
    [
        (np.ones((2, 3)), "must be a square matrix"),
        (np.eye(3), r"must have shape \(2, 2\)"),
        (Initial(np.eye(3), Fraction(1)), r"must have shape \(2, 2\)"),
        (np.zeros((2, 2)), "must not be zero"),
        ([[1, 2], [2.001, 1]], "must be symmetric"),
        ([["one", 0], [0, 1]], "W0"),
    ],
)
def test_what_is_no_initial_matrix_is_refused(W0, message):
    with pytest.raises(InvalidInput, match=message):
        initial_matrix(W0, 2)


def test_rounding_of_symmetry_is_taken_out():
    off = np.nextafter(0.25, 1)
    found = initial_matrix([[1.0, 0.25], [off, 1.0]], 2)
    assert np.array_equal(found.matrix, found.matrix.T)


def test_blocks_are_connected_components_in_the_users_order():
    W0 = np.zeros((5, 5))
    W0[0, 3] = W0[3, 0] = W0[3, 1] = W0[1, 3] = 1
    assert connected_blocks(W0.tolist()) == ((0, 1, 3), (2,), (4,))
