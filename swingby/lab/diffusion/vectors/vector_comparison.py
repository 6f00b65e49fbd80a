"""Vector diffusion: predicted against observed, with a verdict on every row."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from swingby.lab.diffusion.vectors.vector_prediction import VectorPrediction, predict_vectors
from swingby.lab.diffusion.vectors.vector_setting import VectorSetting
from swingby.lab.diffusion.vectors.vector_training import VectorRun, train_vectors
from swingby.lab.field_checks import members_of
from swingby.lab.networks.training_run import order_text
from swingby.report import Framed, Grid
from swingby.report.files import storable
from swingby.theory.verdict import Verdict, counted, inside, yes


@dataclass(frozen=True)
class VectorRow:
    """A prediction about a run."""

    run: int
    #: "half-time 1", "order", "plain ratio 1/2", "descents".
    quantity: str
    predicted: str
    observed: str
    #: Error bar of the prediction, and observed less predicted; nan where there is none.
    error: float
    off: float
    verdict: Verdict


@dataclass(frozen=True, eq=False, repr=False)
class VectorComparison(Framed):
    """Made by :func:`swingby.lab.diffusion.vectors.compare_vectors`."""

    predictions: tuple[VectorPrediction, ...]
    #: One for all settings of a kind.
    runs: tuple[VectorRun, ...]
    rows: tuple[VectorRow, ...]

    def __len__(self) -> int:
        return len(self.predictions)

    def __repr__(self) -> str:
        return f"<VectorComparison of {len(self)}: {self._summary()}>"

    def of(self, quantity: str) -> tuple[VectorRow, ...]:
        """Rows whose quantity begins with a word."""
        return tuple(row for row in self.rows if row.quantity.startswith(quantity))

    def _summary(self) -> str:
        return counted(row.verdict for row in self.rows)

    def to_grid(self) -> Grid:
        """A row per prediction."""
        rows = []
        for row in self.rows:
            error = "-" if math.isnan(row.error) else f"{row.error:.3g}"
            words = (row.quantity, row.predicted, error, row.observed, row.verdict.value)
            rows.append([str(row.run), *words])
        ranges = sorted({prediction.range for prediction in self.predictions})
        below = [f"{self._summary()}.", *(f"Range: {range_}." for range_ in ranges)]
        columns = (">setting", "quantity", ">predicted", ">error", ">observed", "verdict")
        return Grid("Predicted against observed", columns, rows, below=below)

    def records(self) -> list[dict[str, Any]]:
        """One row per prediction."""
        return [asdict(row) for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        """The rows as JSON can hold them."""
        return {"rows": list(map(storable, self.records()))}


def compare_vectors(settings: VectorSetting | Sequence[VectorSetting]) -> VectorComparison:
    """Predict, train, compare.

    A half-time holds within its error bar; the order where no error bars overlap. Where
    both are read, the ratio of half-times by the plain SIM theory is a row of its own. A
    prediction that a run is too short for, or that lies outside its range, is undecided.

    Parameters
    ----------
    settings : VectorSetting or sequence of them
        Of any kinds; those of one kind are trained together.

    Examples
    --------
    >>> from swingby.theory.task import SIMTask
    >>> print(compare_vectors(VectorSetting(SIMTask([1, 2]), "linear", eta=0.1, steps=80)))
    Predicted against observed
    setting   quantity      predicted   error   observed   verdict
    ──────────────────────────────────────────────────────────────
          0   half-time 1          14    1.83         14   holds
          0   half-time 2           4    1.48          4   holds
          0   order               2 1       -        2 1   holds
          0   descents              1       -          1   holds
    4 hold, 0 fail, 0 undecided.
    Range: inside.
    """
    chosen = members_of(settings, "settings", VectorSetting)
    predictions = [predict_vectors(setting) for setting in chosen]
    kinds: dict[tuple[object, ...], list[int]] = {}
    for index, setting in enumerate(chosen):
        kinds.setdefault(setting.kind, []).append(index)
    runs: list[VectorRun] = []
    rows: list[VectorRow] = []
    for members in kinds.values():
        runs.append(train_vectors([chosen[k] for k in members]))
        for member, k in enumerate(members):
            rows += _rows(k, predictions[k], runs[-1], member)
    rows.sort(key=lambda row: row.run)
    return VectorComparison(tuple(predictions), tuple(runs), tuple(rows))


def _rows(
    index: int, prediction: VectorPrediction, run: VectorRun, member: int
) -> Iterator[VectorRow]:
    half_times = run.half_times[member]
    for p, (time, error, half) in enumerate(
        zip(prediction.half_times, prediction.error, half_times, strict=True), 1
    ):
        # Not yet is no contradiction while the run ends within the error bar.
        span = (run.settings[0].steps, math.inf) if math.isnan(half) else (half, half)
        verdict = inside(span, time - error, time + error)
        predicted = "-" if math.isnan(time) else f"{time:.0f}"
        observed = "never" if math.isnan(half) else f"{half:.0f}"
        off = float(half - time)
        yield VectorRow(index, f"half-time {p}", predicted, observed, float(error), off, verdict)
    order = tuple(run.order()[member].tolist())
    verdict = Verdict.UNDECIDED
    if prediction.order_decided and -1 not in order:
        verdict = yes(order == prediction.order)
    predicted, observed = order_text(prediction.order) or "-", order_text(order)
    yield VectorRow(index, "order", predicted, observed, math.nan, math.nan, verdict)
    if prediction.setting.reads == "both" and len(half_times) > 1:
        yield _plain_ratio(index, prediction, half_times)
    # A run that is too short may have its last descent before it.
    falls = int(run.descents(prediction.turn)[member])
    verdict = Verdict.UNDECIDED
    if prediction.descents >= 0 and falls >= 0 and not np.isnan(half_times).any():
        verdict = yes(falls == prediction.descents)
    predicted = "open" if prediction.descents < 0 else str(prediction.descents)
    observed = str(falls) if falls >= 0 else "diverged"
    yield VectorRow(index, "descents", predicted, observed, math.nan, math.nan, verdict)


def _plain_ratio(index: int, prediction: VectorPrediction, half_times: np.ndarray) -> VectorRow:
    """The ratio of the slowest to the fastest concept as the SIM theory has it."""
    signal = prediction.setting.task.signal
    slow, fast = int(signal.argmin()), int(signal.argmax())
    plain_ratio = float(prediction.plain[slow] / prediction.plain[fast])
    ratio = half_times[slow] / half_times[fast] if half_times[fast] > 0 else math.nan
    # The scatter of the observed ratio is that which M predicts.
    error = (
        prediction.ratio(slow, fast)[1]
        if math.isfinite(ratio - plain_ratio) and prediction.order
        else math.nan
    )
    verdict = inside((ratio, ratio), plain_ratio - error, plain_ratio + error)
    name = f"plain ratio {slow + 1}/{fast + 1}"
    off = float(ratio - plain_ratio)
    predicted, observed = (
        "-" if math.isnan(value) else f"{value:.3g}" for value in (plain_ratio, ratio)
    )
    return VectorRow(index, name, predicted, observed, error, off, verdict)
