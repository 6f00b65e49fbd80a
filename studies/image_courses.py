"""Diffusion models of images: the courses of the plan, judged by its rules."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from studies.image_judgement import figure_rows, judge
from studies.image_plan import recorded_plan
from studies.image_runs import run_study
from studies.image_study import ImageStudy, recorded_study
from studies.plan import Plan
from studies.study import Numbers, Results, Study, at_stake, plain_numbers, with_family
from swingby.lab.figures.evidence import EvidenceRow, EvidenceVerdict, Kind
from swingby.report.user_cache import cache_folder
from swingby.theory.share import Share


def _image_cells(_: Plan) -> Mapping[str, Any]:
    plan = recorded_plan()
    return {f"{plan.name} {plan.digest}": plan}


def _image_courses(plan: Any) -> dict[str, Any]:
    """All courses of the plan: an hour on two cores; interrupted courses go on."""
    courses = cache_folder("studies") / f"images {plan.digest}"
    return run_study(plan, courses, progress=True).to_dict()


def _image_rows(results: Results) -> list[EvidenceRow]:
    """Diffusion models of images, judged by the rules of their plan; Figs. 6 and 19 beside it."""
    (content,) = results.values()
    return rows_of_images(ImageStudy.from_dict(content))


def rows_of_images(study: ImageStudy) -> list[EvidenceRow]:
    """The rows of a study of images."""
    return with_family(lambda confidence: _rows_at(study, confidence))


def _rows_at(study: ImageStudy, confidence: float) -> list[EvidenceRow]:
    rows: dict[tuple[str, ...], EvidenceRow] = {}
    for row in judge(study, confidence=confidence).rows:
        prediction = row.prediction
        words = filter(
            None, (row.optimizer, prediction.concept, prediction.factor, prediction.signal)
        )
        setting = f"{study.plan.name}, {' '.join(words)}"
        observed = f"{row.observed:.3g}" if math.isfinite(row.observed) else "-"
        interval = f"[{row.low:.3g}, {row.high:.3g}]" if math.isfinite(row.low) else ""
        shared = prediction.kind != "times" and row.runs > 0
        count = round(row.observed * row.runs) if shared else None
        verdict, control = EvidenceVerdict(row.verdict), None
        if shared and prediction.kind != "composed":
            # Of two orders, or two sides, one by chance.
            control = 1 / 2
            share = Share(count or 0, row.runs)
            verdict = at_stake(row.verdict, share, control, study.plan.share)
        made = EvidenceRow(
            "images", setting, "", prediction.kind, row.predicted, observed, interval, verdict,
            row.runs, row.needed, Kind.CLAIM if prediction.kind == "composed" else Kind.LAW,
            control=control, count=count,
        )  # fmt: skip
        # Signals that forecast the same ratio of the same times make one row.
        same = (row.optimizer, prediction.kind, prediction.concept, prediction.factor)
        key = (*same, row.predicted if prediction.kind == "times" else prediction.signal)
        if key in rows:
            made = replace(rows[key], setting=f"{rows[key].setting}, {prediction.signal}")
        rows[key] = made
    figures = (EvidenceRow(**row) for row in figure_rows(study, confidence=confidence))
    return [*rows.values(), *figures]


def _image_canary(_: Plan) -> Numbers:
    """The first two saves of a course, and the rows that the recorded courses give."""
    from swingby.lab.diffusion.course_training import train_course

    plan = recorded_plan()
    cell, seed = plan.jobs[0]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "course.safetensors"
        course = train_course(plan.preset_of(cell), cell, seed, file, until=3)
    return {
        "w": plain_numbers(course.w),
        "loss": plain_numbers(course.loss),
        "rows": [[row.observed, str(row.verdict)] for row in rows_of_images(recorded_study())],
    }


STUDY = Study(
    "diffusion models of images, as recorded",
    _image_cells,
    _image_courses,
    _image_canary,
    _image_rows,
    data_file="diffusion_study.json",
    whole=lambda _, results: next(iter(results.values())),
)
