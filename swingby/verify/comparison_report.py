"""How predicted against observed looks as a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from swingby.theory import numbers
from swingby.verify.grid import Grid, percent_text, steps_text
from swingby.verify.predict import predict

if TYPE_CHECKING:
    from swingby.verify.compare import Comparison, Row


def comparison_grid(comparison: Comparison) -> Grid:
    """The comparison as a table with its inputs above and its summary below."""
    run, schedule = comparison.run, comparison.schedule
    windows = any(not math.isnan(row.lower) for row in comparison.rows)
    columns = ["entry", "event", ">predicted", ">+-", ">observed", ">error"]
    if windows:
        columns += [">lower", ">upper", "inside"]
    given = ", ".join(
        [
            f"a = ({', '.join(numbers.scientific(value) for value in run.task.exact_signal)})",
            f"eta = {numbers.scientific(schedule.eta)}",
            f"{run.dynamics}",
            f"{run.last_step} steps",
        ]
    )
    note = f"Signal: {run.task.note}" if run.task.note else ""
    return Grid(
        title=comparison.title or "Predicted against observed",
        columns=columns,
        rows=[_cells(row, windows=windows) for row in comparison.rows],
        above=[line for line in (given, note) if line],
        below=["", *summary_lines(comparison)],
    )


def _cells(row: Row, *, windows: bool) -> list[str]:
    def number(value: float) -> str:
        return (
            f"{value:.4g}"
            if row.event == "peak height" and math.isfinite(value)
            else (steps_text(value, 0))
        )

    bar = "out of range" if math.isinf(row.error_bar) else steps_text(row.error_bar, 1)
    cells = [
        row.entry,
        row.event,
        number(row.predicted),
        bar if math.isfinite(row.predicted) else "-",
        number(row.observed),
        percent_text(row.relative_error),
    ]
    if windows:
        inside = {True: "yes", False: "NO", None: "-"}[row.inside]
        cells += [number(row.lower), number(row.upper), inside]
    return cells


def summary_lines(comparison: Comparison) -> list[str]:
    """What the table says, in a few lines."""
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
