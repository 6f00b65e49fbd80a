"""How an assumption report looks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import mpmath

from swingby.errors import InvalidInput
from swingby.theory import numbers
from swingby.theory.verdict import Verdict
from swingby.verify.grid import Grid, steps_text

if TYPE_CHECKING:
    from swingby.verify.judgement import Report

_EDITION_LINE = {
    "printed": "Assumptions D.1-D.5 as printed (text audited: the anonymous ICLR submission)",
    "corrected": "Assumptions D.1-D.5 corrected (P^2 in D.4; nothing added)",
    "repaired": "Assumptions of the repaired theorem (ours, not the paper's)",
}


def report_grid(report: Report, *, with_schedule: bool = True) -> Grid:
    """The report as a table with the sentences around it.

    Parameters
    ----------
    report : Report
    with_schedule : bool
        Append the predicted half-times.
    """
    given = [
        f"a = ({', '.join(numbers.scientific(value) for value in report.task.exact_signal)})",
        f"omega = {numbers.scientific(report.omega)}",
        f"beta = {numbers.scientific(report.beta)}",
        f"eta = {numbers.scientific(report.eta)}",
    ]
    if report.initial is not None:
        given.append("omega and beta from W(0)")
    rows = [
        [result.id, result.title, str(result.verdict), margin_text(result.margin), result.reason]
        for result in report.results
    ]
    return Grid(
        title=_EDITION_LINE[report.edition],
        columns=["", "assumption", "verdict", ">margin", "why"],
        rows=rows,
        above=[", ".join(given)],
        below=[*_summary(report), *(_schedule_lines(report) if with_schedule else [])],
    )


def margin_text(margin: float) -> str:
    """A log10 margin with its sign; ``any`` where no number of the user can break it."""
    if math.isinf(margin):
        return "any" if margin > 0 else "none"
    return f"{margin:+.3f}" if abs(margin) < 100 else f"{margin:+.1f}"


def _summary(report: Report) -> list[str]:
    word = {
        Verdict.HOLDS: "All hold.",
        Verdict.FAILS: f"Fails: {', '.join(report.failing)}.",
        Verdict.UNDECIDED: "Undecided: the numbers lie on the boundary to within the precision.",
    }[report.verdict]
    omega = report.largest_omega
    parts = [word, f"Binding: {report.binding}."]
    if omega is not None:
        parts.append(f"Largest omega: {_number(omega)}.")
    elif report.omega_limit is not None:
        parts.append(f"Largest omega once eta is small enough: {_number(report.omega_limit)}.")
    else:
        parts.append("No omega is small enough.")
    if report.largest_eta is not None and mpmath.isfinite(report.largest_eta):
        parts.append(f"Largest eta: {_number(report.largest_eta)}.")
    lines = ["", " ".join(parts), "Margins are log10 of the slack, positive inside."]
    if report.constants is not None and len(report.constants):
        shown = ", ".join(f"{name} = {_number(value)}" for name, value in report.constants.items())
        lines.append(f"Witness: {shown}.")
    return lines + list(report.notes)


def _schedule_lines(report: Report) -> list[str]:
    try:
        schedule = report.schedule
    except InvalidInput as refusal:
        return ["", f"No stages are predicted: {refusal}."]
    head = (
        "Predicted half-times in steps, from W(0)"
        if report.initial is not None
        else "Predicted half-times in steps (median and 5 %-95 % over Gaussian initializations)"
    )
    lines = ["", f"{head}, {report.dynamics}:"]
    for k in report.task.order:
        time = schedule.half_times[k]
        if report.initial is None and math.isfinite(time):
            low, high = schedule.spread[0][k], schedule.spread[1][k]
            lines.append(
                f"  w_{k + 1}{k + 1}: {steps_text(time, 0)}  "
                f"({steps_text(low, 0)} to {steps_text(high, 0)})"
            )
        else:
            undecided = schedule.stages is not None and schedule.stages.undecided[k]
            tail = "  undecided" if undecided else "  trapped" if schedule.trapped[k] else ""
            bar = schedule.error[k]
            error = f"  +- {steps_text(bar)}" if math.isfinite(bar) and math.isfinite(time) else ""
            lines.append(f"  w_{k + 1}{k + 1}: {steps_text(time, 0)}{error}{tail}")
    return lines + [f"  {reason}" for reason in schedule.warnings]


def _number(value: mpmath.mpf) -> str:
    return str(mpmath.nstr(value, 5, min_fixed=-4, max_fixed=7))
