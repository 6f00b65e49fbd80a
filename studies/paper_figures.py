"""The paper's figures: half-times of the iterated map in their settings, and their criteria."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from studies.law_errors import LEADING, NEAR
from studies.plan import Plan
from studies.study import Numbers, Study, plain_numbers, plain_rows, recorded_rows
from swingby.lab.figures.catalogue import all_figures, figure_of
from swingby.lab.figures.evidence import EvidenceRow, EvidenceVerdict, Kind
from swingby.lab.figures.make import make_figures
from swingby.report.user_cache import cache_folder
from swingby.theory.initial import Scaled
from swingby.theory.verdict import Verdict, all_hold, within_bar, yes
from swingby.verify.paper_settings import paper_settings
from swingby.verify.predict_batch import predict_batch


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
    leading = _leading(setting)
    near = all_hold(
        _near(time, half_time, float(run.steps[-1]))
        for time, half_time in zip(leading, run.half_times, strict=True)
    )
    observed = ", ".join(map(_step, run.half_times))
    return plain_rows(
        EvidenceRow(
            "map", f"{figure}, {kind}", edition, statement, ", ".join(map(_step, times)),
            observed, "", EvidenceVerdict(verdict), 1, None, row_kind,
        )
        for statement, times, verdict, row_kind in (
            ("half-times within their bars", law.half_times, inside, Kind.NUMERICS),
            (LEADING, leading, near, Kind.LAW),
        )
    )  # fmt: skip


def _leading(setting: Any) -> Any:
    """Half-times of the leading law in a setting of the figures."""
    scaled = isinstance(setting.W0, Scaled)
    matrix, omega = (setting.W0.matrix, setting.W0.omega) if scaled else (setting.W0, None)
    return predict_batch(
        setting.task,
        matrix,
        float(Fraction(setting.eta)),
        setting.dynamics,
        omega=omega,
        accuracy="leading",
    ).half_times


def _near(predicted: float, observed: float, last: float) -> Verdict:
    """Whether a half-time is as near as the leading law has to be; it may come after the end."""
    if np.isnan(predicted):
        return Verdict.UNDECIDED
    if np.isnan(observed):
        return yes(predicted * (1 + NEAR) > last)
    return yes(abs(predicted / observed - 1) <= NEAR)


def _step(value: float) -> str:
    return f"{value:.0f}" if math.isfinite(value) else "never" if math.isinf(value) else "-"


def _map_canary(plan: Plan) -> Numbers:
    setting = _map_cells(plan)[plan["canary"]]
    comparison = setting.compare()
    law, run = comparison.schedule, comparison.run
    return {
        "crossing": plain_numbers(law.crossing),
        "leading": plain_numbers(_leading(setting)),
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


#: Criteria that forecast by the theory, and those that no data could refute; others are sentences
#: of the paper.
_KINDS = {"signal": Kind.LAW, "signal-sigma": Kind.LAW, "irrelevant": Kind.DESCRIPTION}
#: Observations that are rows of another figure already: Fig. 15 draws the runs of Fig. 2 (c), Fig.
#: 16 as captioned truncates none of them, and Fig. 4 counts entries, whatever the edition.
REPEATED = (
    ("15", "caption", "dimension"),
    ("15", "code", "dimension"),
    ("16", "caption", "dimension-truncated"),
    ("4", "code", "irrelevant"),
    ("4", "code", "groups"),
)


def _figure_rows(number: str) -> list[dict[str, Any]]:
    """The criteria of a figure, but for repeated observations."""
    seeds = {
        edition.name: int(edition.parameters.get("seeds", 1))
        for edition in figure_of(number).editions
    }
    return plain_rows(
        EvidenceRow(
            "figures", f"Fig. {number}", edition_.edition, criterion.id, criterion.paper,
            measured.value, "", EvidenceVerdict(measured.verdict), seeds[edition_.edition], None,
            _KINDS.get(criterion.id, Kind.CLAIM),
        )
        for edition_ in _made_figure(number)
        for criterion, measured in edition_.judged
        if (number, edition_.edition, criterion.id) not in REPEATED
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
