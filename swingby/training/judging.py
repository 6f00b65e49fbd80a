"""Predictions against what some networks did, one verdict for each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.theory.verdict import Verdict
from swingby.training.expected import Expected
from swingby.training.result import TrainingRun
from swingby.training.shares import Share, agrees, reaches

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: A prediction holds where the interval of the share of runs as predicted reaches this.
THRESHOLD = 0.9
#: What is only typical holds where shares differ by no more.
TOLERANCE = 0.15
#: Swings of the test loss count from this part of its start on.
SWING = 0.01
#: A transient is a minor entry that reaches this.
TRANSIENT = 0.1
#: How near a transient or a time has to come.
NEAR = 0.1
PREDICTIONS = ("order", "descents", "transient", "size", "times")


@dataclass(frozen=True)
class Outcome:
    """One prediction in one cell.

    Parameters
    ----------
    cell : str
    prediction : {"order", "descents", "transient", "size", "times"}
    source : str
        What was taken as W(0).
    share : Share
        Of runs as predicted; for what is typical, of runs with two descents or more, or with a
        transient.
    control : float
        The share of runs that match the prediction for another run, or an order by chance; for
        what is typical, the share that the theory gives.
    verdict : Verdict
    note : str
    """

    cell: str
    prediction: str
    source: str
    share: Share
    control: float
    verdict: Verdict
    note: str = ""

    @property
    def risky(self) -> bool:
        """Whether predictions for other runs do worse: else nothing was at stake."""
        typical = self.source == "typical W(0)" and self.prediction in ("descents", "transient")
        return typical or not self.control >= self.share.low

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "cell": self.cell,
            "prediction": self.prediction,
            "source": self.source,
            "count": self.share.count,
            "runs": self.share.total,
            "share": _plain(self.share.value),
            "low": _plain(self.share.low),
            "high": _plain(self.share.high),
            "control": _plain(self.control),
            "verdict": str(self.verdict),
            "risky": self.risky,
            "note": self.note,
        }


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else value


def judge(name: str, expected: Expected, run: TrainingRun) -> list[Outcome]:
    """Compare predictions with what some networks did.

    Parameters
    ----------
    name : str
        Of the cell.
    expected : Expected
    run : TrainingRun

    Returns
    -------
    list of Outcome
        In the order of :data:`PREDICTIONS`; "size" only where single runs are predicted, and
        neither that nor "transient" with directions that have no concept.
    """
    seen = run.jacobian_half_times
    known = np.isfinite(expected.half_times) & (expected.half_times > 0)
    usable = np.asarray(known.all(axis=1))
    outcomes = [_judge_order(name, expected, run, usable)]
    size = largest_minor(run)
    descents = run.descents(SWING)
    if expected.typical:
        outcomes += _judge_typical(name, expected, run)
    else:
        decided = expected.descents >= 0
        said, counted = expected.descents[decided], descents[decided]
        note = "; ".join(_open(decided))
        agreed = _shuffled(said[:, None], counted[:, None])
        outcomes.append(_judged(name, "descents", expected.source, said == counted, agreed, note))
    # The Jacobian is recorded along concepts, and the law's transient is over all d directions.
    if not expected.typical and run.settings[0].task.dim == seen.shape[1]:
        known = np.isfinite(expected.transient)
        said_there, there = expected.transient[known] >= TRANSIENT, size[known] >= TRANSIENT
        agreed = _shuffled(said_there[:, None], there[:, None])
        outcomes.append(_judged(name, "transient", expected.source, said_there == there, agreed))
        ratio = size[known] / expected.transient[known]
        near = np.abs(ratio - 1) <= NEAR
        middle = f"observed / predicted: {_quantile(ratio, 0.5):.2f}"
        crossed = size[known][:, None] / expected.transient[known][None, :]
        agreed = float((np.abs(crossed - 1) <= NEAR).mean()) if near.size else math.nan
        outcomes.append(_judged(name, "size", expected.source, near, agreed, middle))
    outcomes.append(_judge_times(name, expected, seen, usable))
    return outcomes


def _judge_order(
    name: str, expected: Expected, run: TrainingRun, usable: NDArray[np.bool_]
) -> Outcome:
    """The order of runs for which the law gives all half-times, none of them 0."""
    seen = run.jacobian_half_times
    learned = ~np.isnan(seen).any(axis=1)
    order = np.argsort(np.where(np.isnan(seen), np.inf, seen), axis=1, kind="stable")
    same = (expected.order == order).all(axis=1) & learned
    notes = []
    if not expected.typical:
        signal = run.settings[0].task.signal[: seen.shape[1]]
        plain = (order == np.argsort(-signal, kind="stable")).all(axis=1) & learned
        notes.append(f"by signal alone {plain.mean():.2f}")
    if not learned.all():
        notes.append(f"{int((~learned).sum())} runs leave a concept unlearned")
    notes += _open(usable)
    control = 1 / math.factorial(seen.shape[1])
    return _judged(name, "order", expected.source, same[usable], control, "; ".join(notes))


def _open(decided: NDArray[np.bool_]) -> list[str]:
    """How many runs are left open, in words."""
    return [] if decided.all() else [f"{int((~decided).sum())} runs undecided by the law"]


def _judge_typical(name: str, expected: Expected, run: TrainingRun) -> list[Outcome]:
    """Shares of runs against shares of Gaussian W(0) of the same size."""
    descents, size = run.descents(SWING), largest_minor(run)
    decided = expected.descents >= 0
    theory = Share(int((expected.descents[decided] >= 2).sum()), int(decided.sum()))
    seen = Share(int((descents >= 2).sum()), len(descents))
    known = np.isfinite(expected.transient)
    there = Share(int((expected.transient[known] >= TRANSIENT).sum()), int(known.sum()))
    large = Share(int((size >= TRANSIENT).sum()), len(size))
    pairs = [("descents", seen, theory), ("transient", large, there)]
    if run.settings[0].task.dim > run.points.shape[2]:
        pairs = pairs[:1]
    return [
        Outcome(
            name, prediction, expected.source, mine, other.value, agrees(mine, other, TOLERANCE)
        )
        for prediction, mine, other in pairs
    ]


def _judge_times(name: str, expected: Expected, seen: Floats, usable: NDArray[np.bool_]) -> Outcome:
    """Half-times up to one factor."""
    said, seen = expected.half_times[usable], seen[usable]
    scale, residual = fitted(said, seen)
    near = np.asarray((np.abs(residual - 1) <= NEAR).all(axis=1))
    crossed = scale * said[:, None] / np.where(seen > 0, seen, np.nan)[None, :]
    control = math.nan
    if not expected.typical and near.size:
        control = float((np.abs(crossed - 1) <= NEAR).all(axis=2).mean())
    off = np.abs(residual[np.isfinite(residual)] - 1)
    middle, high = _quantile(off, 0.5), _quantile(off, 0.9)
    notes = [
        f"scale {scale:.3f}, residual {100 * middle:.1f} % (median), {100 * high:.1f} % (p90)",
        *_open(usable),
    ]
    return _judged(name, "times", expected.source, near, control, "; ".join(notes))


def fitted(said: Floats, seen: Floats) -> tuple[float, Floats]:
    """One factor for all times, and what is left.

    Parameters
    ----------
    said, seen : ndarray of shape (n, s)
        nan or 0 where unknown.

    Returns
    -------
    scale : float
        exp of the mean log of seen / said.
    residual : ndarray of shape (n, s)
        scale said / seen; nan where unknown.

    Examples
    --------
    >>> scale, residual = fitted(np.array([[1.0, 2.0]]), np.array([[2.0, 4.0]]))
    >>> round(scale, 9), residual.round(9).tolist()
    (2.0, [[1.0, 1.0]])
    """
    known = np.isfinite(said) & np.isfinite(seen) & (said > 0) & (seen > 0)
    if not known.any():
        return math.nan, np.full(said.shape, np.nan)
    logs = np.log(np.where(known, seen, 1.0)) - np.log(np.where(known, said, 1.0))
    scale = float(np.exp(logs[known].mean()))
    return scale, np.where(known, scale / np.exp(logs), np.nan)


def largest_minor(run: TrainingRun) -> Floats:
    """Largest minor entry of the Jacobian of each network, over all recorded steps."""
    minor = np.abs(run.jacobian) * (1 - np.eye(run.jacobian.shape[2]))
    return np.asarray(minor.max(axis=(1, 2, 3)))


def _judged(
    name: str, prediction: str, source: str, good: NDArray[Any], control: float, note: str = ""
) -> Outcome:
    share = Share(int(good.sum()), len(good))
    return Outcome(name, prediction, source, share, control, reaches(share, THRESHOLD), note)


def _shuffled(said: NDArray[Any], seen: NDArray[Any]) -> float:
    """The share of all pairs of runs in which one is as the other was predicted."""
    if not len(said):
        return math.nan
    return float((said[:, None] == seen[None, :]).all(axis=2).mean())


def _quantile(values: Floats, level: float) -> float:
    return float(np.quantile(values, level)) if values.size else math.nan
