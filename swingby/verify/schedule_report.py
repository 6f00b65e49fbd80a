"""How a schedule looks as a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from swingby.theory import numbers
from swingby.verify.grid import Grid, steps_text

if TYPE_CHECKING:
    from swingby.verify.schedule import Event, Schedule


def schedule_grid(schedule: Schedule) -> Grid:
    """The predicted events as a table."""
    from_scale = schedule.gaussian is not None
    given = [
        f"a = ({', '.join(numbers.scientific(value) for value in schedule.task.exact_signal)})",
        f"eta = {numbers.scientific(schedule.eta)}",
        schedule.dynamics,
    ]
    columns = ["entry", "event", ">step", ">+-", ">lemma from", ">lemma to"]
    if from_scale:
        given.append(f"median over Gaussian U(0) of width {schedule.gaussian.width}")  # type: ignore[union-attr]
        columns[3] = ">5 % to 95 %"
    below = [*schedule.warnings, schedule.window_reason]
    return Grid(
        title="Predicted stages",
        columns=columns,
        rows=[_cells(schedule, event, from_scale) for event in schedule.events],
        above=[", ".join(given)],
        below=["", *(line for line in below if line)],
    )


def _cells(schedule: Schedule, event: Event, from_scale: bool) -> list[str]:
    def number(value: float) -> str:
        if event.event == "peak height" and math.isfinite(value):
            return f"{value:.4g}"
        return steps_text(value, 0)

    time = number(event.time)
    bar = "out of range" if math.isinf(event.error) else steps_text(event.error)
    if from_scale:
        low, high = event.spread
        bar = "-" if math.isnan(low) else f"{number(low)} to {number(high)}"
    elif event.event == "half" and schedule.stages is not None and math.isnan(event.time):
        concept = event.entry[0]
        undecided = schedule.stages.undecided[concept]
        time = "undecided" if undecided else "trapped" if schedule.trapped[concept] else "cut off"
        bar = "-"
    elif not math.isfinite(event.time):
        bar = "-"
    return [event.label, event.event, time, bar, number(event.lower), number(event.upper)]
