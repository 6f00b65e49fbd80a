"""Runs of a study: its cells measured and kept, against its record and its canary."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import swingby
from studies.catalogue import STUDIES
from studies.cell_runs import Tell, measure_cells
from studies.plan import RECORDS, Plan, load_plan
from swingby.lab.figures.evidence import EvidenceRow, StudyRecord, read_record

FORMAT = "swingby study 1"


def recorded() -> dict[str, StudyRecord]:
    """The record of all studies."""
    return read_record(RECORDS / "evidence.json")


def inputs(name: str, plan: Plan) -> dict[str, Any]:
    """The inputs of a study: its plan, with the seed, and the names of its cells."""
    return {"plan": plan, "cells": list(STUDIES[name].cells(plan))}


def run_study(
    name: str, plan: Plan, store: Path | None = None, tell: Tell | None = None
) -> dict[str, Any]:
    """Measure all cells of a study, but for cells that `store` holds."""
    study = STUDIES[name]
    return measure_cells(
        study.cells(plan),
        study.measure,
        head={"format": FORMAT, "version": swingby.__version__, "study": name, "plan": plan},
        made_by=f"python -m studies {name}",
        store=store,
        tell=tell,
    )


def record_of(name: str, plan: Plan, results: Mapping[str, Any]) -> StudyRecord:
    """A study as it is recorded once it was run."""
    study = STUDIES[name]
    # Settings or statements that the plan names were committed with their rule before their data.
    planned = set(plan.get("planned", ()))
    rows = tuple(
        dataclasses.replace(row, planned=bool(planned & {row.setting, row.statement}))
        for row in study.rows(results)
    )
    return StudyRecord(study.about, inputs(name, plan), study.canary(plan), rows)


def moved_rows(before: StudyRecord, after: StudyRecord) -> list[str]:
    """A line for each verdict that changed, and for each row that came or went."""
    old, new = ({_key(row): row.verdict for row in study.rows} for study in (before, after))
    return [
        f"{', '.join(filter(None, key))}: {old.get(key, 'no row')} -> {new.get(key, 'no row')}"
        for key in {**old, **new}
        if old.get(key) != new.get(key)
    ]


def _key(row: EvidenceRow) -> tuple[str, str, str]:
    return row.setting, row.edition, row.statement


def stale_reasons(name: str, record: StudyRecord) -> list[str]:
    """Why a record is not current: inputs that changed, and numbers of the canary that moved."""
    plan = load_plan(name)
    if inputs(name, plan) != record.inputs:
        return ["its plan or its cells have changed"]
    tolerance = plan.get("canary_tolerance", 1e-6)
    return list(differences(record.canary, STUDIES[name].canary(plan), tolerance))


def differences(
    recorded: Any, measured: Any, tolerance: float = 1e-6, path: str = ""
) -> Iterator[str]:
    """Where numbers differ by more than a part of themselves, and all else that differs.

    >>> list(differences({"w": [1.0, 2.0]}, {"w": [1.0, 2.1]}))
    ['w 1: 2.0 -> 2.1']
    """
    pairs: Iterator[tuple[object, Any, Any]] | None = None
    if isinstance(recorded, Mapping) and isinstance(measured, Mapping):
        if recorded.keys() == measured.keys():
            pairs = ((key, recorded[key], measured[key]) for key in recorded)
    elif isinstance(recorded, list) and isinstance(measured, list):
        if len(recorded) == len(measured):
            pairs = (
                (index, *both) for index, both in enumerate(zip(recorded, measured, strict=True))
            )
    elif isinstance(recorded, float) and isinstance(measured, float):
        if math.isclose(recorded, measured, rel_tol=tolerance, abs_tol=tolerance):
            return
    elif recorded == measured:
        return
    if pairs is None:
        yield f"{path}: {recorded} -> {measured}"
        return
    for key, before, after in pairs:
        yield from differences(before, after, tolerance, f"{path} {key}".strip())
