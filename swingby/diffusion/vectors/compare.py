"""Train settings and compare with what was said beforehand."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from swingby.diffusion.vectors.comparison import Row, VectorComparison
from swingby.diffusion.vectors.predict import predict_vectors
from swingby.diffusion.vectors.prediction import VectorPrediction
from swingby.diffusion.vectors.result import VectorRun
from swingby.diffusion.vectors.setting import VectorSetting, require_settings
from swingby.diffusion.vectors.train import train_vectors
from swingby.theory.verdict import Verdict

NAN = math.nan


def compare_vectors(settings: VectorSetting | Sequence[VectorSetting]) -> VectorComparison:
    """Predict, train, compare.

    A half-time holds within its error bar; the order where no error bars overlap. Where
    both are read, the ratio of half-times by the plain SIM theory is a row of its own. A
    prediction that a run is too short for, or that lies outside its range, is undecided.

    Parameters
    ----------
    settings : VectorSetting or sequence of them
        Of any kinds; those of one kind are trained together.

    Returns
    -------
    VectorComparison

    Raises
    ------
    InvalidInput

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
    given = require_settings(settings)
    predictions = [predict_vectors(one) for one in given]
    kinds: dict[tuple[object, ...], list[int]] = {}
    for place, one in enumerate(given):
        kinds.setdefault(one.kind, []).append(place)
    runs = tuple(train_vectors([given[k] for k in members]) for members in kinds.values())
    places: list[tuple[int, int]] = [(0, 0)] * len(given)
    for number, members in enumerate(kinds.values()):
        for place, k in enumerate(members):
            places[k] = (number, place)
    rows = [
        row
        for k, said in enumerate(predictions)
        for row in _rows(k, said, runs[places[k][0]], places[k][1])
    ]
    return VectorComparison(tuple(predictions), runs, tuple(places), tuple(rows))


def _rows(k: int, said: VectorPrediction, run: VectorRun, place: int) -> Iterator[Row]:
    seen = run.half_times[place]
    for p in range(len(seen)):
        off = float(seen[p] - said.half_times[p])
        error = float(said.error[p])
        yield Row(
            k,
            f"half-time {p + 1}",
            _number(said.half_times[p]),
            _number(seen[p], "never"),
            error,
            off,
            _of_time(float(said.half_times[p]), error, float(seen[p]), run.settings[0].steps),
        )
    order = tuple(run.order()[place].tolist())
    verdict = Verdict.UNDECIDED
    if said.order_decided and -1 not in order:
        verdict = Verdict.HOLDS if order == said.order else Verdict.FAILS
    yield Row(k, "order", _places(said.order), _places(order), NAN, NAN, verdict)
    if said.setting.reads == "both" and len(seen) > 1:
        yield _plain_ratio(k, said, seen)
    # A run that is too short may have its last descent before it.
    falls = int(run.descents(said.turn)[place])
    settled = not np.isnan(seen).any() and falls >= 0
    verdict = Verdict.UNDECIDED
    if said.descents >= 0 and settled:
        verdict = Verdict.HOLDS if falls == said.descents else Verdict.FAILS
    open_ = "open" if said.descents < 0 else str(said.descents)
    seen_falls = str(falls) if falls >= 0 else "diverged"
    yield Row(k, "descents", open_, seen_falls, NAN, NAN, verdict)


def _of_time(said: float, error: float, seen: float, steps: int) -> Verdict:
    if not math.isfinite(said) or not math.isfinite(error):
        return Verdict.UNDECIDED
    if math.isnan(seen):
        # Not yet is no contradiction while the run ends within the error bar.
        return Verdict.FAILS if steps > said + error else Verdict.UNDECIDED
    return Verdict.HOLDS if abs(seen - said) <= error else Verdict.FAILS


def _plain_ratio(k: int, said: VectorPrediction, seen: np.ndarray) -> Row:
    """The ratio of the slowest to the fastest concept as the SIM theory has it."""
    signal = said.setting.task.signal
    slow, fast = int(signal.argmin()), int(signal.argmax())
    plain = float(said.plain[slow] / said.plain[fast])
    known = seen[slow] / seen[fast] if seen[fast] > 0 else NAN
    verdict, error = Verdict.UNDECIDED, NAN
    if math.isfinite(known) and math.isfinite(plain) and said.order:
        # The scatter of the observed ratio is that which M predicts.
        _, error = said.ratio(slow, fast)
        verdict = Verdict.HOLDS if abs(known - plain) <= error else Verdict.FAILS
    name = f"plain ratio {slow + 1}/{fast + 1}"
    off = float(known - plain)
    predicted, observed = ("-" if math.isnan(one) else f"{one:.3g}" for one in (plain, known))
    return Row(k, name, predicted, observed, error, off, verdict)


def _number(value: float, missing: str = "-") -> str:
    return missing if math.isnan(value) else f"{value:.0f}"


def _places(order: tuple[int, ...]) -> str:
    return " ".join("-" if one < 0 else str(one + 1) for one in order) or "-"
