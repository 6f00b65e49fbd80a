"""Studies of image diffusion models: the courses that were trained for a plan, and their file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from studies.image_plan import Plan, recorded_plan
from studies.plan import RECORDS
from swingby.errors import InvalidInput
from swingby.lab.diffusion.course import Course, ImageCell
from swingby.lab.diffusion.preset import with_fields
from swingby.lab.field_checks import instance, members_of, set_field
from swingby.report.files import write_text
from swingby.report.seals import sealed, unsealed
from swingby.theory.input_files import json_of

#: Raised whenever a file of a study means something else.
_STUDY_VERSION = 3
#: Decimals of responses, shares and losses in a file; one with more bytes is not ours.
DIGITS, MOST_BYTES = 5, 200_000_000
_FIELDS = ("swingby_study", "plan", "digest", "made_with", "courses", "sha256")
_ROUNDED = ("w", "kinds", "loss")


@dataclass(frozen=True)
class ImageStudy:
    """Courses of training that were made for a plan, in the order of its jobs.

    InvalidInput for courses that the plan does not ask for, or one given twice.
    """

    plan: Plan
    courses: tuple[Course, ...]
    #: Versions and device.
    made_with: dict[str, str]

    def __post_init__(self) -> None:
        instance(self.plan, "plan", Plan)
        if self.courses != ():
            set_field(self, "courses", members_of(self.courses, "courses", Course))
        jobs = [(course.cell, course.seed) for course in self.courses]
        if len(set(jobs)) < len(jobs) or not set(jobs) <= set(self.plan.jobs):
            raise InvalidInput("courses", "others", "must be runs of the plan, each once")
        if len({(course.w.tobytes(), course.loss.tobytes()) for course in self.courses}) < len(
            jobs
        ):
            raise InvalidInput("courses", "a run under two names", "must be different runs")

    def at(self, cell: ImageCell) -> tuple[Course, ...]:
        """The courses of a cell."""
        return tuple(course for course in self.courses if course.cell == cell)

    def to_dict(self) -> dict[str, Any]:
        """The study as plain values, with digests of its plan and of its content."""
        return sealed(
            {
                "swingby_study": _STUDY_VERSION,
                "plan": self.plan.to_dict(),
                "digest": self.plan.digest,
                "made_with": self.made_with,
                "courses": [
                    {
                        name: np.round(value, DIGITS).tolist() if name in _ROUNDED else value
                        for name, value in course.to_dict().items()
                    }
                    for course in self.courses
                ],
            }
        )

    def save(self, path: str | Path) -> None:
        """Write a JSON file; InvalidInput if it cannot be written."""
        write_text(path, json.dumps(self.to_dict()), "path")

    @classmethod
    def load(cls, path: str | Path) -> ImageStudy:
        """Read a file that :meth:`save` wrote; InvalidInput if it is anything else."""
        return json_of(path, "path", "study", cls.from_dict, MOST_BYTES)

    @classmethod
    def from_dict(cls, plain: object) -> ImageStudy:
        """The study that :meth:`to_dict` wrote; InvalidInput for anything else."""
        if not isinstance(plain, dict) or plain.get("swingby_study") != _STUDY_VERSION:
            raise InvalidInput("study", plain, f"must be a study of version {_STUDY_VERSION}")
        with_fields(_FIELDS, "study", plain)
        plan = Plan.from_dict(plain["plan"])
        if plain["digest"] != plan.digest:
            raise edited(plan.digest, plain["digest"])
        try:
            unsealed(plain)
            courses = tuple(Course.from_dict(course) for course in plain["courses"])
            made_with = {str(name): str(value) for name, value in plain["made_with"].items()}
        except InvalidInput:
            raise
        except (TypeError, ValueError, AttributeError) as error:
            raise InvalidInput("study", "a file", f"cannot be read ({error})") from None
        return cls(plan, courses, made_with)


def recorded_study(path: str | Path | None = None) -> ImageStudy:
    """The study that the documentation shows.

    `path`: its file, by default the one in the folder ``studies``. InvalidInput where the plan in
    that folder was edited after the study was run.
    """
    study = ImageStudy.load(RECORDS / "diffusion_study.json" if path is None else path)
    if path is None and study.plan.digest != recorded_plan().digest:
        raise edited(recorded_plan().digest, study.plan.digest)
    return study


#: The public name.
Study = ImageStudy


def edited(mine: str, found: object) -> InvalidInput:
    """The error for a plan that was edited after data of it had been made."""
    requirement = f"must be the plan the data were made for, {found}: it was edited since"
    return InvalidInput("plan", mine, f"{requirement}. Undo the edit, or use another folder")


def course_file(root: Path, cell: ImageCell, seed: int) -> Path:
    """The checkpoint of a course of a study."""
    # All digits: two cells of a plan must not share a file.
    numbers_ = f"separation_{cell.separation!r}_contrast_{cell.contrast!r}_gain_{cell.gain!r}"
    return root / f"{numbers_}_{cell.optimizer}_seed_{seed}.safetensors"
