"""Agreement of predicted and observed labels, and the points that are not counted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from swingby.hints import Hinted
from swingby.lab.sweeps.label import Label
from swingby.report import Grid
from swingby.theory.share import Share

if TYPE_CHECKING:
    import pandas as pd

#: Columns that say of a point what is counted, in every pixel and over all.
COUNTED = ("done", "failed", "missing", "decided", "agreed", "ended", "told")


def flagged(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with the columns of :data:`COUNTED`, true or false."""
    done = frame["status"] == "done"
    ended = done & (frame["observed"] != Label.UNFINISHED)
    decided = ended & (frame["predicted"] != Label.UNDECIDED)
    return frame.assign(
        done=done,
        failed=frame["status"] == "failed",
        missing=frame["status"] == "missing",
        decided=decided,
        agreed=decided & (frame["predicted"] == frame["observed"]),
        ended=ended & frame["descents"].notna(),
        told=done & frame["predicted_descents"].notna(),
    )


@dataclass(frozen=True)
class Agreement(Hinted):
    """Counts of the pairs of predicted and observed labels, and of points that do not count.

    `decided` points have a prediction and an observation, `agreed` ones are observed as predicted;
    of `undecided` ones the law does not say what happens, and the steps of `unfinished` ones ran
    out. `done` are all that are measured.
    """

    labels: dict[tuple[str, str], int]
    done: int
    decided: int
    agreed: int
    undecided: int
    unfinished: int
    failed: int
    missing: int

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Agreement:
        """The agreement over the rows of a frame."""
        rows = flagged(frame)
        done = rows[rows["done"]]
        pairs = done.groupby(["predicted", "observed"], dropna=False).size()
        ordered: Any = pairs.sort_values(ascending=False, kind="stable").items()
        undecided = int((done["predicted"] == Label.UNDECIDED).sum())
        sums = {name: int(rows[name].sum()) for name in COUNTED[:5]}
        return cls(
            labels={(str(first), str(second)): int(count) for (first, second), count in ordered},
            undecided=undecided,
            unfinished=sums["done"] - sums["decided"] - undecided,
            **sums,
        )

    def __str__(self) -> str:
        return "; ".join(self.lines())

    @property
    def total(self) -> int:
        """All points, also the failed and the missing."""
        return self.done + self.failed + self.missing

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval for the share; (0, 1) if there is nothing to count."""
        return Share(self.agreed, self.decided).interval if self.decided else (0.0, 1.0)

    def lines(self, *, interval: bool = True) -> list[str]:
        """The counts as sentences."""
        text = "no point is decided"
        if self.decided:
            share = f"{100 * self.agreed / self.decided:.4g}%"
            if interval:
                low, high = self.interval
                share += f", 95% interval {100 * low:.4g}% to {100 * high:.4g}%"
            text = (
                f"predicted as observed: {self.agreed} of {self.decided} decided points ({share})"
            )
        names = ("undecided", "unfinished", "failed", "missing")
        beside = {name: getattr(self, name) for name in names}
        uncounted = ", ".join(f"{count} {name}" for name, count in beside.items() if count)
        return [text, f"not counted: {uncounted}"] if uncounted else [text]

    def to_dict(self) -> dict[str, Any]:
        """The counts as plain values."""
        names = ("decided", "agreed", "undecided", "unfinished", "failed", "missing")
        return {name: getattr(self, name) for name in names} | {"interval": [*self.interval]}

    def confusion(self, title: str, above: Sequence[str], below: Sequence[str]) -> Grid:
        """The confusion matrix: predicted labels down, observed labels across."""
        names = [*map(str, Label)]
        names += sorted({name for pair in self.labels for name in pair} - set(names))
        down = [name for name in names if any(name == pair[0] for pair in self.labels)]
        across = [name for name in names if any(name == pair[1] for pair in self.labels)]
        return Grid(
            title=title,
            columns=["predicted \\ observed", *(f">{name}" for name in across)],
            rows=[
                [row, *(str(self.labels.get((row, column), 0)) for column in across)]
                for row in down
            ],
            above=above,
            below=below,
        )


def json_value(value: Any) -> Any:
    """A value as JSON can hold it: inf as text, None for nan."""
    if isinstance(value, tuple):
        return [json_value(entry) for entry in value]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else str(value)
