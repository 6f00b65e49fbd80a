"""A course on disk: metrics as JSON lines, and the images of every save."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from swingby.diffusion.course import ROUNDING, Course
from swingby.diffusion.preset import Preset
from swingby.errors import InvalidInput

#: Names of the numbers of a save.
LOSSES = ("loss", "diffusion", "latent", "reconstruction")
_NUMBERS = (*LOSSES, "gamma_min", "gamma_max", "seconds")
_FIELDS = {"step", *_NUMBERS, "classes", "right"}
_LARGEST = sys.float_info.max


def course_folder(root: Path, contrast: float, seed: int) -> Path:
    """Where one course of a study lies."""
    # All digits: two contrasts of a preset must not share a folder.
    return root / f"contrast_{contrast!r}_seed_{seed}"


class Record:
    """The folder of a course.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    preset : Preset
    contrast : float
    seed : int

    Raises
    ------
    InvalidInput
        If the folder cannot be made or written to.
    """

    def __init__(self, folder: Path, preset: Preset, contrast: float, seed: int) -> None:
        self.folder, self.contrast, self.seed = folder, contrast, seed
        text = json.dumps([preset.identity, contrast, seed])
        self.identity = hashlib.sha256(text.encode()).hexdigest()[:16]
        self._path = folder / "metrics.jsonl"
        self._saves = preset.save_steps
        try:
            (folder / "images").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unusable(folder, str(error.strerror)) from None

    def add(self, line: dict[str, Any], images: np.ndarray[Any, Any]) -> None:
        """Write the numbers and the images of one save.

        Parameters
        ----------
        line : dict
            With "step".
        images : ndarray
            uint8.
        """
        try:
            np.savez_compressed(self._images(line["step"]), images=images)
            fresh = not self._path.exists()
            with self._path.open("a", encoding="utf-8") as file:
                if fresh:
                    file.write(json.dumps({"identity": self.identity}) + "\n")
                file.write(json.dumps(line) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise _unusable(self.folder, str(error.strerror)) from None

    def lines_up_to(self, step: int) -> list[dict[str, Any]]:
        """The numbers of the saves that a checkpoint at this step has behind it.

        Later ones, written before a kill, are dropped from the file: they are made again.

        Raises
        ------
        InvalidInput
            If the file is damaged, belongs to something else, or lacks saves.
        """
        lines = [line for line in self.lines() if line["step"] <= step]
        expected = [one for one in self._saves if one <= step]
        found = [line["step"] for line in lines]
        # The save at the step of the checkpoint itself may be still to come.
        if found not in (expected, expected[:-1] if expected[-1:] == [step] else expected):
            raise InvalidInput(
                "folder", self._path, f"must hold the saves up to step {step} ({found} are there)"
            )
        header = json.dumps({"identity": self.identity})
        text = "\n".join([header, *(json.dumps(line) for line in lines)]) + "\n"
        other = self._path.with_suffix(f".{os.getpid()}")
        try:
            other.write_text(text, encoding="utf-8")
            other.replace(self._path)
        except OSError as error:
            raise _unusable(self.folder, str(error.strerror)) from None
        return lines

    def lines(self) -> list[dict[str, Any]]:
        """All saves in the file; none where there is no file.

        Raises
        ------
        InvalidInput
            If the file is damaged or belongs to something else.
        """
        if not self._path.exists():
            return []
        try:
            text = self._path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput("folder", self._path, f"must be readable ({error})") from None
        # What follows the last end of line was cut off by a kill.
        rows = text.split("\n")[:-1]
        if not rows:
            # Killed before the first line was written.
            return []
        try:
            header, *lines = [json.loads(row) for row in rows]
        except (ValueError, RecursionError):
            raise InvalidInput("folder", self._path, "must hold metrics as JSON lines") from None
        if header != {"identity": self.identity}:
            raise InvalidInput(
                "folder", self._path, "must belong to this preset, contrast and seed"
            )
        for line in lines:
            _check_line(line, self._path)
        return lines

    def images(self, step: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The images of one save.

        Returns
        -------
        ndarray of shape (7, 3, height, width)

        Raises
        ------
        InvalidInput
            If they are not there, or the file is something else.
        """
        path = self._images(step)
        try:
            with np.load(path, allow_pickle=False) as file:
                images = np.asarray(file["images"])
        except Exception as error:
            # zipfile and numpy raise many kinds of errors for what is not their format.
            raise InvalidInput("folder", path, f"must hold images ({error})") from None
        if images.dtype != np.uint8 or images.ndim != 4 or images.shape[1] != 3:
            raise InvalidInput("folder", path, "must hold images")
        return images

    def course(self, lines: list[dict[str, Any]]) -> Course:
        """What the saves say together."""
        return Course(
            self.contrast,
            self.seed,
            np.array([line["step"] for line in lines]),
            np.array([line["classes"] for line in lines]),
            np.array([line["right"] for line in lines]),
            np.array([line["loss"] for line in lines]),
        )

    def _images(self, step: int) -> Path:
        return self.folder / "images" / f"{step:07d}.npz"


def _check_line(line: object, path: Path) -> None:
    if not isinstance(line, dict) or set(line) != _FIELDS:
        raise InvalidInput("folder", path, "must hold a save in every line")
    if type(line["step"]) is not int or line["step"] < 0:
        raise InvalidInput("folder", path, "must hold a whole number as step in every line")
    for name in _NUMBERS:
        # json makes these two of numbers, and larger whole ones than a float can hold.
        if type(line[name]) not in (int, float) or not abs(line[name]) <= _LARGEST:
            raise InvalidInput("folder", path, f"must hold a number as {name} in every line")
    for name, shape in (("classes", (4, 2)), ("right", (4,))):
        try:
            found = np.array(line[name])
        except ValueError:
            found = np.empty(0)
        shares = found.dtype.kind in "if" and found.shape == shape
        if not shares or not ((found >= -ROUNDING) & (found <= 1 + ROUNDING)).all():
            raise InvalidInput("folder", path, f"must hold {name} from 0 to 1 in every line")


def _unusable(folder: Path, reason: str) -> InvalidInput:
    return InvalidInput("folder", folder, f"must be a folder to write to ({reason})")
