"""The result of a study: courses of training at several contrasts, as one file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from swingby.diffusion.course import Course
from swingby.diffusion.preset import STUDY_VERSION, Preset
from swingby.errors import InvalidInput
from swingby.theory import numbers
from swingby.training.setting import one_of

#: Presets whose studies are part of the package.
RECORDED = ("small", "quiet")
#: Decimals of probabilities and losses in a file.
DIGITS = 5
#: A file with more is not one of ours.
MOST_BYTES = 200_000_000
_FIELDS = {"swingby_study", "preset", "made_with", "classifier", "courses"}


@dataclass(frozen=True)
class Study:
    """Courses of training with the classifier that looked at them.

    Parameters
    ----------
    preset : Preset
    courses : tuple of Course
        In the order of the preset's contrasts, and of its seeds within each.
    accuracy : dict of float to float
        Of the classifier on held-out images, by contrast.
    made_with : dict of str to str
        Versions and device.
    """

    preset: Preset
    courses: tuple[Course, ...]
    accuracy: dict[float, float]
    made_with: dict[str, str]

    def at(self, contrast: float) -> tuple[Course, ...]:
        """The courses of one contrast.

        Parameters
        ----------
        contrast : float

        Returns
        -------
        tuple of Course
        """
        return tuple(one for one in self.courses if one.contrast == contrast)

    @property
    def held_out_accuracy(self) -> dict[float, float]:
        """Share of images of the held-out class with both concepts right at the last save."""
        found = {}
        for contrast in self.preset.contrasts:
            courses = self.at(contrast)
            if courses:
                found[contrast] = float(np.mean([one.right[-1, 3] for one in courses]))
        return found

    def to_dict(self) -> dict[str, Any]:
        """The study as plain values.

        Returns
        -------
        dict
        """
        return {
            "swingby_study": STUDY_VERSION,
            "preset": self.preset.to_dict(),
            "made_with": self.made_with,
            "classifier": [
                {"contrast": contrast, "accuracy": value}
                for contrast, value in self.accuracy.items()
            ],
            "courses": [_rounded(one.to_dict()) for one in self.courses],
        }

    def save(self, path: str | Path) -> None:
        """Write a JSON file.

        Parameters
        ----------
        path : path

        Raises
        ------
        InvalidInput
            If it cannot be written.
        """
        plain = self.to_dict()
        head = ",\n".join(
            f"{json.dumps(name)}: {json.dumps(value)}"
            for name, value in plain.items()
            if name != "courses"
        )
        courses = ",\n".join(json.dumps(one, separators=(",", ":")) for one in plain["courses"])
        try:
            Path(path).write_text(f'{{{head},\n"courses": [\n{courses}\n]}}\n', encoding="utf-8")
        except OSError as error:
            raise InvalidInput("path", path, f"must be writable ({error.strerror})") from None

    @classmethod
    def load(cls, path: str | Path) -> Study:
        """Read a file that :meth:`save` wrote.

        Parameters
        ----------
        path : path

        Returns
        -------
        Study

        Raises
        ------
        InvalidInput
            If it is anything else.
        """
        if not isinstance(path, (str, Path)):
            raise InvalidInput("path", path, "must be the path of a file")
        try:
            large = Path(path).stat().st_size > MOST_BYTES
            plain = None if large else json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput("path", path, f"must be readable ({error})") from None
        except (ValueError, RecursionError):
            raise InvalidInput("path", path, "must be a study in JSON") from None
        if large:
            raise InvalidInput("path", path, "must be a study (it is far too large)")
        try:
            return cls.from_dict(plain)
        except InvalidInput as error:
            raise InvalidInput("path", path, f"must be a study: {error}") from None
        except RecursionError:
            # What json could just read is nested too deep to be shown.
            raise InvalidInput("path", path, "must be a study (it is nested too deep)") from None

    @classmethod
    def from_dict(cls, plain: object) -> Study:
        """The study that :meth:`to_dict` wrote.

        Parameters
        ----------
        plain : dict

        Returns
        -------
        Study

        Raises
        ------
        InvalidInput
            For anything else.
        """
        if not isinstance(plain, dict) or plain.get("swingby_study") != STUDY_VERSION:
            raise InvalidInput("study", plain, f"must be a study of version {STUDY_VERSION}")
        if set(plain) != _FIELDS:
            raise InvalidInput("study", plain, "must have the fields of a study")
        try:
            preset = Preset.from_dict(plain["preset"])
            courses = tuple(Course.from_dict(one) for one in plain["courses"])
            accuracy = dict(_judged(one) for one in plain["classifier"])
            made_with = {str(name): str(value) for name, value in plain["made_with"].items()}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, InvalidInput):
                raise
            raise InvalidInput("study", "a file", f"cannot be read ({error})") from None
        jobs = {(contrast, seed) for contrast in preset.contrasts for seed in preset.seeds}
        if not {(one.contrast, one.seed) for one in courses} <= jobs:
            raise InvalidInput("courses", "others", "must have contrasts and seeds of the preset")
        if not {one.contrast for one in courses} <= set(accuracy):
            raise InvalidInput("classifier", accuracy, "must have an accuracy for every contrast")
        return cls(preset, courses, accuracy, made_with)


def recorded_study(name: str = "small") -> Study:
    """A study that the documentation shows.

    Parameters
    ----------
    name : {"small", "quiet"}
        Its preset.

    Returns
    -------
    Study

    Raises
    ------
    InvalidInput

    Examples
    --------
    >>> study = recorded_study()
    >>> study.preset.name, len(study.courses)
    ('small', 25)
    """
    one_of(name, "name", RECORDED)
    source = resources.files("swingby") / "data" / f"diffusion_{name}.json"
    return Study.from_dict(json.loads(source.read_text(encoding="utf-8")))


def _judged(plain: dict[str, Any]) -> tuple[float, float]:
    """A contrast with the classifier's accuracy there."""
    if set(plain) != {"contrast", "accuracy"}:
        raise InvalidInput("classifier", plain, "must have a contrast and an accuracy each")
    found = numbers.exact(plain["accuracy"], "accuracy")
    if not 0 <= found <= 1:
        raise InvalidInput("accuracy", plain["accuracy"], "must lie from 0 to 1")
    contrast = numbers.positive(plain["contrast"], "contrast")
    return numbers.within_float(contrast, "contrast"), float(found)


def _rounded(plain: dict[str, Any]) -> dict[str, Any]:
    return {
        name: np.round(value, DIGITS).tolist() if name in ("classes", "right", "loss") else value
        for name, value in plain.items()
    }
