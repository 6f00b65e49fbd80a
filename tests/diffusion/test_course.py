"""Records of runs: what goes in comes out, and what makes no sense is refused by name."""

import json

import numpy as np
import pytest

from swingby.diffusion.course import Course
from swingby.errors import InvalidInput


def fields(**changed):
    n = 3
    rng = np.random.default_rng(0)
    known = {
        "contrast": 0.4, "seed": 1, "steps": [0, 5, 20], "classes": rng.uniform(size=(n, 4, 2)),
        "right": rng.uniform(size=(n, 4)), "loss": [9.0, 4.0, 3.5],
    }  # fmt: skip
    return known | changed


def test_a_course_survives_json():
    course = Course(**fields())
    again = Course.from_dict(json.loads(json.dumps(course.to_dict(), allow_nan=False)))
    assert again == course
    assert hash(again) == hash(course)
    assert again != Course(**fields(seed=2))
    np.testing.assert_array_equal(course.held_out, course.classes[:, 3])


def test_a_course_keeps_copies_that_cannot_be_written_to():
    given = np.full((3, 4, 2), 0.5)
    course = Course(**fields(classes=given))
    given[:] = 0
    assert (course.classes == 0.5).all()
    for values in (course.steps, course.classes, course.right, course.loss):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 0


def test_rounding_out_of_the_unit_interval_is_taken_back():
    course = Course(**fields(classes=np.full((3, 4, 2), 1 + 1e-7)))
    assert course.classes.max() == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("contrast", 0), ("contrast", 1.5), ("contrast", float("nan")), ("seed", 0.5),
        ("seed", True), ("steps", [0, 5]), ("steps", [0, 5, 5]), ("steps", [-1, 5, 6]),
        ("steps", [0, 5, 6.5]), ("steps", [[0, 5, 6]]), ("steps", []), ("steps", "abc"),
        ("classes", np.zeros((3, 4))), ("classes", np.full((3, 4, 2), np.nan)),
        ("classes", np.full((3, 4, 2), 1.1)), ("right", np.full((3, 4), -0.1)),
        ("right", np.zeros((3, 3))), ("loss", [1.0, np.inf, 2.0]), ("loss", [1.0]),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(name, value):
    with pytest.raises(InvalidInput, match=name if name != "steps" else "steps|classes"):
        Course(**fields(**{name: value}))


@pytest.mark.parametrize("values", [{}, {"contrast": 1}, None, fields() | {"more": 1}])
def test_dictionaries_with_other_keys_are_refused(values):
    with pytest.raises(InvalidInput, match="keys"):
        Course.from_dict(values)
