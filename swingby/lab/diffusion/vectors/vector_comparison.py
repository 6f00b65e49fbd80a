"""Predicted against observed, with a verdict on every row."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from swingby.lab.diffusion.vectors.vector_prediction import VectorPrediction, predict_vectors
from swingby.lab.diffusion.vectors.vector_setting import SCHEDULE, VectorSetting
from swingby.lab.diffusion.vectors.vector_training import VectorRun, train_vectors
from swingby.lab.field_checks import members_of
from swingby.lab.networks.training_run import order_text
from swingby.report import Framed, Grid
from swingby.report.files import storable
from swingby.theory.task import SIMTask
from swingby.theory.verdict import Verdict, counted, inside, yes


@dataclass(frozen=True)
class Row:
    """One prediction about one run."""

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
    rows: tuple[Row, ...]

    def __len__(self) -> int:
        return len(self.predictions)

    def __repr__(self) -> str:
        return f"<VectorComparison of {len(self)}: {self._summary()}>"

    def of(self, quantity: str) -> tuple[Row, ...]:
        """Rows whose quantity begins with a word."""
        return tuple(row for row in self.rows if row.quantity.startswith(quantity))

    def _summary(self) -> str:
        return counted(row.verdict for row in self.rows)

    def to_grid(self) -> Grid:
        """A row per prediction."""
        rows = []
        for row in self.rows:
            error = "-" if math.isnan(row.error) else f"{row.error:.3g}"
            told = (row.quantity, row.predicted, error, row.observed, row.verdict.value)
            rows.append([str(row.run), *told])
        ranges = sorted({one.range for one in self.predictions})
        below = [f"{self._summary()}.", *(f"Range: {one}." for one in ranges)]
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
    given = members_of(settings, "settings", VectorSetting)
    predictions = [predict_vectors(one) for one in given]
    kinds: dict[tuple[object, ...], list[int]] = {}
    for place, one in enumerate(given):
        kinds.setdefault(one.kind, []).append(place)
    runs: list[VectorRun] = []
    rows: list[Row] = []
    for members in kinds.values():
        runs.append(train_vectors([given[k] for k in members]))
        for place, k in enumerate(members):
            rows += _rows(k, predictions[k], runs[-1], place)
    rows.sort(key=lambda row: row.run)
    return VectorComparison(tuple(predictions), tuple(runs), tuple(rows))


def _rows(k: int, said: VectorPrediction, run: VectorRun, place: int) -> Iterator[Row]:
    seen = run.half_times[place]
    for p, (time, error, half) in enumerate(zip(said.half_times, said.error, seen, strict=True), 1):
        # Not yet is no contradiction while the run ends within the error bar.
        span = (run.settings[0].steps, math.inf) if math.isnan(half) else (half, half)
        verdict = inside(span, time - error, time + error)
        told = "-" if math.isnan(time) else f"{time:.0f}"
        found = "never" if math.isnan(half) else f"{half:.0f}"
        off = float(half - time)
        yield Row(k, f"half-time {p}", told, found, float(error), off, verdict)
    order = tuple(run.order()[place].tolist())
    verdict = Verdict.UNDECIDED
    if said.order_decided and -1 not in order:
        verdict = yes(order == said.order)
    told, found = order_text(said.order) or "-", order_text(order)
    yield Row(k, "order", told, found, math.nan, math.nan, verdict)
    if said.setting.reads == "both" and len(seen) > 1:
        yield _plain_ratio(k, said, seen)
    # A run that is too short may have its last descent before it.
    falls = int(run.descents(said.turn)[place])
    verdict = Verdict.UNDECIDED
    if said.descents >= 0 and falls >= 0 and not np.isnan(seen).any():
        verdict = yes(falls == said.descents)
    told = "open" if said.descents < 0 else str(said.descents)
    found = str(falls) if falls >= 0 else "diverged"
    yield Row(k, "descents", told, found, math.nan, math.nan, verdict)


def _plain_ratio(k: int, said: VectorPrediction, seen: np.ndarray) -> Row:
    """The ratio of the slowest to the fastest concept as the SIM theory has it."""
    signal = said.setting.task.signal
    slow, fast = int(signal.argmin()), int(signal.argmax())
    plain = float(said.plain[slow] / said.plain[fast])
    known = seen[slow] / seen[fast] if seen[fast] > 0 else math.nan
    # The scatter of the observed ratio is that which M predicts.
    error = said.ratio(slow, fast)[1] if math.isfinite(known - plain) and said.order else math.nan
    verdict = inside((known, known), plain - error, plain + error)
    name = f"plain ratio {slow + 1}/{fast + 1}"
    off = float(known - plain)
    predicted, observed = ("-" if math.isnan(one) else f"{one:.3g}" for one in (plain, known))
    return Row(k, name, predicted, observed, error, off, verdict)


@dataclass(frozen=True)
class Cell:
    """A kind of denoiser, what is read of it, the range of omega, and steps."""

    name: str
    denoiser: str
    reads: str
    low: float
    high: float
    steps: int


CELLS = (
    Cell("one layer", "linear", "condition", 1e-6, 0.3, 700),
    Cell("U U^T", "symmetric", "condition", 1e-6, 1e-2, 700),
    Cell("W2 W1", "two_layer", "condition", 1e-6, 1e-2, 700),
    Cell("one layer, both", "linear", "both", 1e-6, 1e-2, 900),
    Cell("W2 W1, both", "two_layer", "both", 1e-6, 1e-3, 3000),
)
#: Settings that are trained as one model.
TOGETHER = 50


def draw(cell: Cell, count: int, rng: np.random.Generator) -> list[VectorSetting]:
    """Settings of two concepts, their signals and rates at random."""
    found = []
    for _ in range(count):
        mu = rng.permutation([1.0, rng.uniform(1.15, 2.0)]) * rng.uniform(0.5, 2)
        task = SIMTask(mu.tolist(), float(rng.uniform(0.01, 0.3) * mu.min()))
        top = float(task.signal.max())
        pace: dict[str, Any]
        if cell.reads == "condition":
            pace = {"eta": float(rng.uniform(0.05, 0.12)) / top}
        else:
            largest = float(np.linalg.eigvalsh(SCHEDULE.form(np.array([top]))).max())
            pace = {"lr": float(rng.uniform(0.05, 0.15)) / largest}
        width = None if cell.denoiser == "linear" else 6
        omega = math.exp(rng.uniform(math.log(cell.low), math.log(cell.high)))
        found.append(
            VectorSetting(
                task, cell.denoiser, cell.reads, width=width, omega=omega, batch=24,
                steps=cell.steps, seed=int(rng.integers(2**31)), **pace,
            )
        )  # fmt: skip
    return found


def compare_cell(cell: Cell, count: int, seed: int) -> list[VectorComparison]:
    """Train that many settings of a cell, and compare."""
    chosen = draw(cell, count, np.random.default_rng(seed))
    return [compare_vectors(chosen[k : k + TOGETHER]) for k in range(0, count, TOGETHER)]
