"""What certify accepts, and what it refuses."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from swingby.errors import InvalidInput
from swingby.theory.initial import Initial, Scaled
from swingby.theory.task import SIMTask
from swingby.verify.certify import certify


def task_of(*signal):
    return SIMTask.from_signal(signal)


def test_floats_are_binary_numbers_and_symmetrised():
    third = 1 / 3
    found = certify(task_of(2, 1), [[0.5, third], [np.nextafter(third, 1), 0.5]], 0.1, steps=0)
    exact = Initial(np.array([[0.5, third], [np.nextafter(third, 1), 0.5]]), Fraction(1))
    mean = (exact.matrix[0, 1] + exact.matrix[1, 0]) / 2
    assert found.W0[0][1] == Fraction(mean)
    assert found.eta == Fraction(0.1)
    assert certify(task_of(2, 1), [[1, 0], [0, 1]], "1/10", steps=0).W0[0][0] == 1
    big = 2**53 + 1
    assert certify(task_of(2, 1), [[big, 0], [0, 1]], "1/10", steps=0).W0[0][0] == big
    assert certify(task_of(1), [[mpmath.mpf(0.25)]], "1/10", steps=0).W0[0][0] == Fraction(1, 4)


GOOD = [["1/4", "1/8"], ["1/8", "1/4"]]
BAD = {
    "task": ["task"],
    "W0": [
        *([["1/4", "1/8"], ["1/9", "1/4"]], [[0.25, 0.1], [0.2, 0.25]]),
        *([[0.25, float("nan")], [float("nan"), 0.25]], [["1/4", "x"], ["x", "1/4"]]),
        *([[True, "0"], ["0", True]], [["1/4"]], [["1/4", 0.1], ["1/8"]], [[0.25, 0.1], [0.1]]),
        *([[0, 0], [0, 0]], [["0", "0"], ["0", "0"]], [["1e301", "0"], ["0", "1"]], [], [[], []]),
        *(None, 3, "text", [1, 2], ["ab", "ab"], {1: 2}, np.zeros((2, 2, 2))),
        *(np.array([[1j, 0], [0, 1]]), Scaled(np.eye(3), 1), Initial(np.eye(3), Fraction(1))),
    ],
    "eta": [0, -1, float("inf"), "text", None, True],
    "dynamics": ["flow", "adam", None, ["gd"]],
    "steps": [-1, 1.5, True, "many"],
    "progress": [3],
}


@pytest.mark.parametrize("name", BAD)
def test_bad_calls_name_the_argument(name):
    good = {"task": task_of(2, 1), "W0": GOOD, "eta": "1/10", "steps": 3}
    for wrong in BAD[name]:
        with pytest.raises(InvalidInput, match=name):
            certify(**{**good, name: wrong})
    with pytest.raises(InvalidInput, match="W0"):
        certify(**{**good, "W0": [["1/4", "1/2"], ["1/2", "1/4"]]}, dynamics="gd")
    with pytest.raises(InvalidInput, match="task"):
        certify(SIMTask.from_signal([1] * 7), np.eye(7), "1/10")
