"""Two-layer ReLU networks: the cells of ``swingby relu --quick``."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from studies.plan import Plan, load_plan
from studies.relu_cells import cells
from studies.relu_threshold import ThresholdStudy, record_content, rows, runs_of
from studies.study import Numbers, Results, Study, plain_numbers, shares_at, with_family
from swingby.lab.figures.evidence import EvidenceRow


def _relu_cells(plan: Plan) -> Mapping[str, Any]:
    return {cell.name: (cell, plan["seed"]) for cell in cells(plan["quick"])}


def _relu_rows(results: Results) -> list[EvidenceRow]:
    """Two-layer ReLU networks, as the quick study judges them."""
    plan = load_plan("relu")
    study = ThresholdStudy(plan["seed"], plan["quick"], dict(results))
    return with_family(
        lambda confidence: shares_at(EvidenceRow(**row) for row in rows(study, confidence))(
            confidence
        )
    )


def _relu_canary(plan: Plan) -> Numbers:
    cell, seed = _relu_cells(plan)[plan["canary"]]
    runs = runs_of((dataclasses.replace(cell, runs=plan["canary_runs"]), seed))
    name = "concepts aligned d=3 n=32 runs=15"
    concepts = dataclasses.replace(_relu_cells(plan)[name][0], runs=plan["canary_runs"])
    off = [run["off"] for run in runs_of((concepts, seed))]
    return {"extremal vectors": [run["count"] for run in runs], "off": plain_numbers(off)}


STUDY = Study(
    "two-layer ReLU networks, as recorded",
    _relu_cells,
    runs_of,
    _relu_canary,
    _relu_rows,
    data_file="relu_study.json",
    whole=lambda plan, results: record_content(plan["seed"], plan["quick"], results),
)
