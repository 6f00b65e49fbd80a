"""The paper's figures: half-times of the iterated map in their settings, and their criteria."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from studies.plan import Plan
from studies.study import Numbers, Study, plain_numbers, plain_rows, recorded_rows
from swingby.lab.figures.catalogue import all_figures, figure_of
from swingby.lab.figures.evidence import EvidenceRow
from swingby.lab.figures.make import make_figures
from swingby.report.user_cache import cache_folder
from swingby.theory.verdict import all_hold, within_bar
from swingby.verify.paper_settings import paper_settings


def _map_cells(_: Plan) -> Mapping[str, Any]:
    return {setting.title: setting for setting in paper_settings()}


def _map_rows(setting: Any) -> list[dict[str, Any]]:
    """Half-times within their bars in a setting of the figures."""
    comparison = setting.compare()
    law, run = comparison.schedule, comparison.run
    figure, _, rest = setting.title.partition(" (")
    edition, _, kind = rest.partition("), ")
    inside = all_hold(
        within_bar(crossing, error, half_time, float(run.steps[-1]))
        for crossing, error, half_time in zip(law.crossing, law.error, run.half_times, strict=True)
    )
    predicted, observed = (", ".join(map(_step, timed.half_times)) for timed in (law, run))
    about = ("map", f"{figure}, {kind}", edition, "half-times within their bars")
    return plain_rows([EvidenceRow(*about, predicted, observed, "", inside, 1, None)])


def _step(value: float) -> str:
    return f"{value:.0f}" if math.isfinite(value) else "never" if math.isinf(value) else "-"


def _map_canary(plan: Plan) -> Numbers:
    comparison = _map_cells(plan)[plan["canary"]].compare()
    law, run = comparison.schedule, comparison.run
    return {
        "crossing": plain_numbers(law.crossing),
        "error": plain_numbers(law.error),
        "observed": plain_numbers(run.half_times),
    }


MAP = Study(
    "the iterated map, in the settings of the paper's figures",
    _map_cells,
    _map_rows,
    _map_canary,
    recorded_rows,
)


def _figure_cells(_: Plan) -> Mapping[str, Any]:
    return {f"Fig. {figure.number}": figure.number for figure in all_figures()}


def _made_figure(number: str) -> tuple[Any, ...]:
    # What is there is kept: an interrupted study goes on.
    return make_figures(cache_folder("figures"), only=number, progress=False).made


def _figure_rows(number: str) -> list[dict[str, Any]]:
    """The criteria of a figure."""
    seeds = {
        edition.name: int(edition.parameters.get("seeds", 1))
        for edition in figure_of(number).editions
    }
    return plain_rows(
        EvidenceRow(
            "figures", f"Fig. {number}", edition_.edition, criterion.id, criterion.paper,
            measured.value, "", measured.verdict, seeds[edition_.edition], None,
        )
        for edition_ in _made_figure(number)
        for criterion, measured in edition_.judged
    )  # fmt: skip


def _figure_canary(plan: Plan) -> Numbers:
    chosen = figure_of(_figure_cells(plan)[plan["canary"]])
    return {
        f"{edition.name}, {criterion.id}": [measured.value, str(measured.verdict)]
        for edition in chosen.editions
        for criterion, measured in chosen.judge(
            chosen.compute(edition.given(quick=False), lambda share, words: None)
        )
    }


FIGURES = Study("the paper's figures", _figure_cells, _figure_rows, _figure_canary, recorded_rows)
