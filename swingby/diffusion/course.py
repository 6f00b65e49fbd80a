"""The record of one training run, as a classifier sees the images that the model makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.diffusion.circles import CLASSES, CONCEPTS, HELD_OUT
from swingby.errors import InvalidInput
from swingby.theory import numbers
from swingby.training.setting import put

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

#: Rounding in single precision may carry a probability this far out of [0, 1].
ROUNDING = 1e-5


@dataclass(frozen=True, eq=False)
class Course:
    """What one model was seen to make while it was trained.

    Parameters
    ----------
    contrast : float
        Of the colours, from 0 (excluded) to 1.
    seed : int
    steps : array_like of shape (n,)
        Whole numbers, rising: training steps done when images were made.
    classes : array_like of shape (n, 4, 2)
        Mean over the images asked for of each class of the classifier's probability of digit 1,
        for colour and size.
    right : array_like of shape (n, 4)
        Share of those images that have both digits right.
    loss : array_like of shape (n,)
        Bits per dimension.

    Raises
    ------
    InvalidInput
        For shapes that do not fit, NaN, infinity, steps that do not rise, or shares outside
        [0, 1].

    Examples
    --------
    >>> course = Course(0.5, 0, [0, 10], np.full((2, 4, 2), 0.5), np.zeros((2, 4)), [3.0, 2.0])
    >>> len(course), course.held_out.tolist()
    (2, [[0.5, 0.5], [0.5, 0.5]])
    """

    contrast: float
    seed: int
    steps: Integers
    classes: Floats
    right: Floats
    loss: Floats

    def __post_init__(self) -> None:
        contrast = numbers.exact(self.contrast, "contrast")
        if not 0 < contrast <= 1:
            raise InvalidInput(
                "contrast", self.contrast, "must lie above 0 and up to 1", "App. G.1"
            )
        put(self, "contrast", numbers.within_float(contrast, "contrast"))
        put(self, "seed", numbers.whole(self.seed, "seed"))
        put(self, "steps", rising_steps(self.steps))
        n = len(self.steps)
        for name, shape in (
            ("classes", (n, len(CLASSES), len(CONCEPTS))), ("right", (n, len(CLASSES))),
            ("loss", (n,)),
        ):  # fmt: skip
            values = numbers.real_array(getattr(self, name), name)
            if values.shape != shape:
                raise InvalidInput(name, f"shape {values.shape}", f"must have shape {shape}")
            if name != "loss":
                if values.min() < -ROUNDING or values.max() > 1 + ROUNDING:
                    raise InvalidInput(name, "an array", "must lie from 0 to 1")
                np.clip(values, 0, 1, out=values)
            values.setflags(write=False)
            put(self, name, values)

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        last = int(self.steps[-1])
        return f"<Course: contrast {self.contrast:g}, seed {self.seed}, {last} steps>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Course):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.contrast, self.seed, self.classes.tobytes()))

    @property
    def held_out(self) -> Floats:
        """C(t): the held-out class in concept space, shape (n, 2), with target (1, 1)."""
        return self.classes[:, HELD_OUT, :]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, as JSON can hold them.

        Returns
        -------
        dict
        """
        return {
            "contrast": self.contrast,
            "seed": self.seed,
            "steps": self.steps.tolist(),
            "classes": self.classes.tolist(),
            "right": self.right.tolist(),
            "loss": self.loss.tolist(),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Course:
        """The course that :meth:`to_dict` wrote.

        Parameters
        ----------
        values : mapping

        Returns
        -------
        Course

        Raises
        ------
        InvalidInput
            If fields are missing or unknown, or do not fit.
        """
        names = tuple(cls.__dataclass_fields__)
        if not isinstance(values, Mapping) or set(values) != set(names):
            raise InvalidInput("values", values, f"must have the keys {', '.join(names)}")
        return cls(**values)


def rising_steps(steps: object) -> Integers:
    """Whole numbers that rise, at least one of them, none negative.

    Returns
    -------
    ndarray of shape (n,)
        int64, read-only.

    Raises
    ------
    InvalidInput
    """
    values = numbers.real_array(steps, "steps")
    if values.ndim != 1:
        raise InvalidInput("steps", f"shape {values.shape}", "must have one axis")
    if (values != np.floor(values)).any() or values[0] < 0 or values.max() > 2**53:
        raise InvalidInput("steps", steps, "must be whole numbers, not negative")
    if (np.diff(values) <= 0).any():
        raise InvalidInput("steps", steps, "must rise")
    whole = values.astype(np.int64)
    whole.setflags(write=False)
    return whole
