"""Reports, schedules and comparisons as tables with their inputs above and a summary below."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import mpmath

from swingby.errors import InvalidInput
from swingby.report import Grid
from swingby.report.numbers import percent_text, rounded, steps_text
from swingby.theory import numbers
from swingby.theory.claims.verdict import Verdict
from swingby.verify.predict import predict

if TYPE_CHECKING:
    from swingby.verify.checking.report import Report
    from swingby.verify.compare import Comparison, Row
    from swingby.verify.schedule import Event, Schedule

_EDITION_LINE = {
    "printed": "Assumptions D.1-D.5 as printed (text audited: the anonymous ICLR submission)",
    "corrected": "Assumptions D.1-D.5 corrected (P^2 in D.4; nothing added)",
    "repaired": "Assumptions of the repaired theorem (ours, not the paper's)",
}


def _given(signal: Iterable[Any], *more: str) -> str:
    return ", ".join([f"a = ({', '.join(map(numbers.scientific, signal))})", *more])


def report_grid(report: Report, *, with_schedule: bool = True) -> Grid:
    """Every assumption with its margin; the predicted half-times below if asked for."""
    given = [
        f"omega = {numbers.scientific(report.omega)}",
        f"beta = {numbers.scientific(report.beta)}",
        f"eta = {numbers.scientific(report.eta)}",
    ]
    if report.initial is not None:
        given.append("omega and beta from W(0)")
    return Grid(
        title=_EDITION_LINE[report.edition],
        columns=["", "assumption", "verdict", ">margin", "why"],
        rows=[
            [one.id, one.title, str(one.verdict), margin_text(one.margin), one.reason]
            for one in report.results
        ],
        above=[_given(report.task.exact_signal, *given)],
        below=[*_report_summary(report), *(_schedule_lines(report) if with_schedule else [])],
    )


def margin_text(margin: float) -> str:
    """A log10 margin with its sign; ``any`` where no number of the user can break it."""
    if math.isinf(margin):
        return "any" if margin > 0 else "none"
    return f"{margin:+.3f}" if abs(margin) < 100 else f"{margin:+.1f}"


def _report_summary(report: Report) -> list[str]:
    word = {
        Verdict.HOLDS: "All hold.",
        Verdict.FAILS: f"Fails: {', '.join(report.failing)}.",
        Verdict.UNDECIDED: "Undecided: the numbers lie on the boundary to within the precision.",
    }[report.verdict]
    omega = report.largest_omega
    parts = [word, f"Binding: {report.binding}."]
    if omega is not None:
        parts.append(f"Largest omega: {rounded(omega)}.")
    elif report.omega_limit is not None:
        parts.append(f"Largest omega once eta is small enough: {rounded(report.omega_limit)}.")
    else:
        parts.append("No omega is small enough.")
    if report.largest_eta is not None and mpmath.isfinite(report.largest_eta):
        parts.append(f"Largest eta: {rounded(report.largest_eta)}.")
    lines = ["", " ".join(parts), "Margins are log10 of the slack, positive inside."]
    if report.constants is not None and len(report.constants):
        shown = ", ".join(f"{name} = {rounded(value)}" for name, value in report.constants.items())
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
        time, bar = schedule.half_times[k], schedule.error[k]
        tail = ""
        if report.initial is None and math.isfinite(time):
            low, high = (steps_text(side[k], 0) for side in schedule.spread)
            tail = f"  ({low} to {high})"
        elif math.isfinite(time) and math.isfinite(bar):
            tail = f"  +- {steps_text(bar)}"
        if report.initial is not None or not math.isfinite(time):
            undecided = schedule.stages is not None and schedule.stages.undecided[k]
            tail += "  undecided" if undecided else "  trapped" if schedule.trapped[k] else ""
        lines.append(f"  w_{k + 1}{k + 1}: {steps_text(time, 0)}{tail}")
    return lines + [f"  {reason}" for reason in schedule.warnings]


def schedule_grid(schedule: Schedule, unit: str = "step") -> Grid:
    """The predicted events, with their bars and the lemma windows."""
    number = _writer(unit, schedule)
    given = [f"eta = {numbers.scientific(schedule.eta)}", schedule.dynamics]
    columns = ["entry", "event", f">{unit}", ">+-", ">lemma from", ">lemma to"]
    if schedule.gaussian is not None:
        given.append(f"median over Gaussian U(0) of width {schedule.gaussian.width}")
        columns[3] = ">5 % to 95 %"
    below = [*schedule.warnings, schedule.window_reason]
    return Grid(
        title="Predicted stages",
        columns=columns,
        rows=[_event_cells(schedule, event, number) for event in schedule.events],
        above=[_given(schedule.task.exact_signal, *given)],
        below=["", *(line for line in below if line)],
        minor=["lemma from", "lemma to"],
    )


#: How a number of an event is written: its event, the number, digits after the point of steps.
Writer = Callable[..., str]


def _writer(unit: str, schedule: Schedule) -> Writer:
    length = numbers.per_step(unit, schedule.eta)

    def number(event: str, value: float, digits: int = 0) -> str:
        plain = event == "peak height" or unit != "step"
        if plain and math.isfinite(value):
            return f"{value * (1.0 if event == 'peak height' else length):.4g}"
        return steps_text(value, digits)

    return number


def _bar(event: str, value: float, error: float, number: Writer) -> str:
    if not math.isfinite(value):
        return "-"
    return "out of range" if math.isinf(error) else number(event, error, 1)


def _event_cells(schedule: Schedule, event: Event, number: Writer) -> list[str]:
    time, *window = (number(event.event, one) for one in (event.time, event.lower, event.upper))
    bar = _bar(event.event, event.time, event.error, number)
    if schedule.gaussian is not None:
        low, high = event.spread
        ends = (number(event.event, low), number(event.event, high))
        bar = "-" if math.isnan(low) else " to ".join(ends)
    elif event.event == "half" and schedule.stages is not None and math.isnan(event.time):
        concept = event.entry[0]
        undecided = schedule.stages.undecided[concept]
        time = "undecided" if undecided else "trapped" if schedule.trapped[concept] else "cut off"
    return [event.label, event.event, time, bar, *window]


def comparison_grid(comparison: Comparison, unit: str = "step") -> Grid:
    """Predicted against observed, with the lemma windows where there are some."""
    number = _writer(unit, comparison.schedule)
    run, schedule = comparison.run, comparison.schedule
    windows = any(not math.isnan(row.lower) for row in comparison.rows)
    columns = ["entry", "event", ">predicted", ">+-", ">observed", ">error"]
    given = f"eta = {numbers.scientific(schedule.eta)}", run.dynamics, f"{run.last_step} steps"
    notes = [f"Signal: {run.task.note}"] if run.task.note else []
    notes += [] if unit == "step" else [f"Times in {unit}."]
    return Grid(
        title=comparison.title or "Predicted against observed",
        columns=columns + ([">lower", ">upper", "inside"] if windows else []),
        rows=[_row_cells(row, number, windows=windows) for row in comparison.rows],
        above=[_given(run.task.exact_signal, *given), *notes],
        below=["", *summary_lines(comparison)],
        minor=["lower", "upper", "inside"],
    )


def _row_cells(row: Row, number: Writer, *, windows: bool) -> list[str]:
    values = (row.predicted, row.observed, row.lower, row.upper)
    predicted, observed, *window = (number(row.event, value) for value in values)
    bar = _bar(row.event, row.predicted, row.error_bar, number)
    cells = [row.entry, row.event, predicted, bar, observed, percent_text(row.relative_error)]
    inside = {True: "yes", False: "NO", None: "-"}[row.inside]
    return [*cells, *window, inside] if windows else cells


def summary_lines(comparison: Comparison) -> list[str]:
    """What a comparison says, in a few lines."""
    run = comparison.run
    rows = [row for row in comparison.rows if row.event == "half"]
    learned = sum(math.isfinite(row.observed) for row in rows)
    predicted = sum(row.predicted <= run.last_step for row in rows)
    error = (
        f"half-times off by {100 * comparison.median_error:.2g} % (median), "
        f"{100 * comparison.largest_error:.2g} % (largest)"
        if math.isfinite(comparison.median_error)
        else "no half-time to compare"
    )
    lines = [
        f"Stages predicted within the run: {predicted}, observed: {learned}; {error}.",
        f"Outcome: {run.outcome}. {_sentence(run.reason)}",
    ]
    lines += list(comparison.schedule.warnings)
    if comparison.schedule.window_reason:
        lines.append(_sentence(comparison.schedule.window_reason))
    return lines + _outside_lines(comparison)


def _outside_lines(comparison: Comparison) -> list[str]:
    """Observations outside a lemma window, and whether the corrected window has them."""
    outside = {(row.entry, row.event): row for row in comparison.rows if row.inside is False}
    if not outside:
        return []
    names = ", ".join(f"{entry} {event}" for entry, event in outside)
    lines = [f"Outside the window: {names}."]
    if "printed" in comparison.schedule.window_reason:
        run = comparison.run
        corrected = predict(
            run.task, run.initial, eta=run.eta, dynamics=run.dynamics, edition="corrected"
        )
        windows = [
            f"{event.lower:.0f} to {event.upper:.0f} "
            f"({'inside' if event.lower <= row.observed <= event.upper else 'outside too'})"
            for event in corrected.events
            if (row := outside.get((event.label, event.event))) is not None
        ]
        lines.append(
            "Lemma D.3's printed T_1 has kappa in the denominator, where its own growth bound "
            f"(D.35) puts it in the numerator; corrected windows: {', '.join(windows)}."
        )
    return lines


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
