"""Responses and learning times, by hand."""

import math

import numpy as np
import pytest

from swingby.diffusion.course import Course
from swingby.diffusion.learning import learning_times, responses
from swingby.errors import InvalidInput


def course(classes, steps=None):
    n = len(classes)
    steps = range(n) if steps is None else steps
    return Course(0.5, 0, list(steps), classes, np.zeros((n, 4)), np.zeros(n))


def test_responses_by_hand():
    """Probabilities of blue and of small for (red, big), (red, small), (blue, big), (blue, small):
    trained, colour goes from 0.1 to 0.7 and size from 0.2 to 0.5; held out, from 0.3 to 0.8 and
    from 0.4 to 0.95."""
    one = course([[[0.1, 0.2], [0.3, 0.5], [0.7, 0.4], [0.8, 0.95]]])
    assert responses(one)[0] == pytest.approx([0.6, 0.3], abs=1e-12)
    assert responses(one, "held out")[0] == pytest.approx([0.5, 0.55], abs=1e-12)


def followed(colour, size):
    classes = np.full((len(colour), 4, 2), 0.0)
    classes[:, 2, 0], classes[:, 1, 1] = colour, size
    classes[:, 3] = 1.0
    return classes


def test_a_guess_of_the_classifier_is_no_response():
    """All classes alike, whatever they are: nothing is learned; the path itself would say so."""
    classes = np.full((5, 4, 2), 0.9)
    assert (responses(course(classes)) == 0).all()
    assert learning_times(course(classes)).times == (math.inf, math.inf)
    assert math.isnan(learning_times(course(classes)).log_ratio)


def test_what_is_lost_again_is_not_learned():
    """Colour crosses 1/2 at step 5, falls below it after 20 and is back half-way from 30 to 60."""
    one = course(followed([0, 1, 1, 0, 1], [0, 0, 0, 0.25, 0.75]), [0, 10, 20, 30, 60])
    found = learning_times(one)
    assert found.times == (45.0, 45.0)
    assert found.within == (30.0, 30.0)
    assert found.log_ratio == 0
    lost = course(followed([0, 1, 1, 0, 0.4], [0, 0, 0, 0.25, 0.75]), [0, 10, 20, 30, 60])
    assert learning_times(lost).times == (math.inf, 45.0)
    assert learning_times(lost).log_ratio == -math.inf


def test_orders_by_sign():
    """t of colour 2, t of size 8: the logarithm of 4."""
    one = course(followed([0, 1, 1, 1], [0, 0, 0.25, 0.75]), [0, 4, 6, 10])
    assert learning_times(one).times == (2.0, 8.0)
    assert learning_times(one).log_ratio == pytest.approx(math.log(4))


def test_what_is_known_from_the_first_save_on():
    one = course(followed([0.9, 1], [0.0, 1]))
    assert learning_times(one).times == (0.0, 0.5)
    assert learning_times(one).log_ratio == math.inf


@pytest.mark.parametrize("corner", ["all", None, 3])
def test_corners(corner):
    with pytest.raises(InvalidInput, match="corner"):
        responses(course(followed([0], [0])), corner)
