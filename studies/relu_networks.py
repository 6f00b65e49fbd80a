"""Two-layer ReLU networks: the cells of ``swingby relu --quick``."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from studies.plan import Plan, load_plan
from studies.study import Numbers, Results, Study, plain_numbers
from swingby.lab import relu
from swingby.lab.figures.evidence import EvidenceRow
from swingby.lab.relu.runs import cells, measure


def _relu_cells(plan: Plan) -> Mapping[str, Any]:
    return {cell.name: (cell, plan["seed"]) for cell in cells(plan["quick"])}


def _relu_runs(job: Any) -> list[dict[str, Any]]:
    return measure(*job)


def _relu_rows(results: Results) -> list[EvidenceRow]:
    """Two-layer ReLU networks, as the quick study judges them."""
    plan = load_plan("relu")
    study = relu.Study(plan["seed"], plan["quick"], dict(results))
    return [EvidenceRow(**row) for row in relu.rows(study)]


def _relu_canary(plan: Plan) -> Numbers:
    cell, seed = _relu_cells(plan)[plan["canary"]]
    runs = _relu_runs((dataclasses.replace(cell, runs=plan["canary_runs"]), seed))
    name = "concepts aligned d=3 n=32 runs=15"
    concepts = dataclasses.replace(_relu_cells(plan)[name][0], runs=plan["canary_runs"])
    off = [run["off"] for run in _relu_runs((concepts, seed))]
    return {"extremal vectors": [run["count"] for run in runs], "off": plain_numbers(off)}


STUDY = Study(
    "two-layer ReLU networks, as recorded",
    _relu_cells,
    _relu_runs,
    _relu_canary,
    _relu_rows,
    data_file="relu_study.json",
)
