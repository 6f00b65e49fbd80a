"""One point that is not observed as predicted, and why, as far as its numbers say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from swingby.simulate.outcome import Outcome
from swingby.sweeping.labels import Label
from swingby.sweeping.point import Point

if TYPE_CHECKING:
    from swingby.sweeping.kept import Kept

#: A pivot below this share of its terms is cancellation.
SMALL_PIVOT = 1e-6
_ORDERS = (Label.IN_ORDER, Label.OUT_OF_ORDER)

Numbers = tuple[float, ...]


@dataclass(frozen=True)
class Disagreement:
    """A point, what the law says of it, and what its run did.

    Parameters
    ----------
    key : bytes
        Of the row in its store.
    place : int
        Of the point in its grid.
    point : Point
        Its exact numbers.
    predicted, observed : str
        Labels.
    margin : float
        See :func:`swingby.sweeping.labels.margin`; nan where there is none.
    smallest_pivot : float
        See :func:`swingby.sweeping.labels.smallest_pivot`.
    predicted_half_times, error, half_times : tuple of float
        Per concept, in steps; inf for never, nan for no statement.
    descents : int or None
    predicted_descents : int or None
        None where the row has none, or the law cannot tell.
    why : str
        A few words; empty where the numbers do not say.
    """

    key: bytes
    place: int
    point: Point
    predicted: str
    observed: str
    margin: float
    smallest_pivot: float
    predicted_half_times: Numbers
    error: Numbers
    half_times: Numbers
    descents: int | None
    predicted_descents: int | None
    why: str

    @classmethod
    def of(cls, row: Kept) -> Disagreement:
        """The disagreement of a row.

        Parameters
        ----------
        row : Kept
            Measured.
        """
        results = row.results or {}
        times = {
            name: tuple(map(_float, results.get(name, ())))
            for name in ("predicted_half_times", "error", "half_times")
        }
        return cls(
            key=row.key,
            place=row.place,
            point=row.point,
            predicted=results["predicted"],
            observed=results["observed"],
            margin=_float(results.get("margin")),
            smallest_pivot=_float(results.get("smallest_pivot")),
            descents=results.get("descents"),
            predicted_descents=results.get("predicted_descents"),
            why=why(results),
            **times,
        )

    def rank(self) -> tuple[float, int]:
        """What rows are sorted by, descending: the margin, then the place in the grid."""
        return (-math.inf if math.isnan(self.margin) else self.margin, -self.place)

    def to_dict(self) -> dict[str, Any]:
        """The row as plain values, ready for JSON.

        Returns
        -------
        dict
            inf as text, None for nan.
        """
        return {
            "key": self.key.hex(),
            "place": self.place,
            "point": self.point.to_plain(),
            "predicted": self.predicted,
            "observed": self.observed,
            "margin": _plain(self.margin),
            "smallest_pivot": _plain(self.smallest_pivot),
            "predicted_half_times": [_plain(one) for one in self.predicted_half_times],
            "error": [_plain(one) for one in self.error],
            "half_times": [_plain(one) for one in self.half_times],
            "descents": self.descents,
            "predicted_descents": self.predicted_descents,
            "why": self.why,
        }


def why(results: dict[str, Any]) -> str:
    """Why a prediction failed, as far as the numbers of its row say.

    Parameters
    ----------
    results : dict
        See :class:`swingby.sweeping.measure.Row`.

    Returns
    -------
    str
        Empty where they do not say.

    Examples
    --------
    >>> why({"predicted": "in_order", "observed": "out_of_order", "margin": 0.5})
    'margin below 1: the order is within the error of the law'
    """
    said, seen = results["predicted"], results["observed"]
    pivot, distance = _float(results.get("smallest_pivot")), _float(results.get("margin"))
    if said in _ORDERS and seen in _ORDERS:
        if distance < 1:
            return "margin below 1: the order is within the error of the law"
        return _late(results)
    if seen == Label.DIVERGED:
        found = {
            str(Outcome.DIVERGED): "W left the float range",
            str(Outcome.LOST_PSD): "W lost positive semidefiniteness",
        }.get(results.get("outcome", ""), "")
        return "; ".join(filter(None, (found, _pivot(pivot))))
    if said == Label.DIVERGED and pivot < 0:
        return f"predicted from a negative pivot, {pivot:.2g} of its terms"
    return _pivot(pivot)


def _pivot(share: float) -> str:
    if share == 0:
        return "only rounding is left of the smallest pivot"
    if abs(share) < SMALL_PIVOT:
        return f"the smallest pivot is {share:.1g} of its terms"
    return ""


def _late(results: dict[str, Any]) -> str:
    """What is wrong with the half-times where their order should be clear."""
    columns: list[Sequence[Any]] = [
        results.get(name, ()) for name in ("predicted_half_times", "error", "half_times")
    ]
    rows = [tuple(map(_float, values)) for values in zip(*columns, strict=False)]
    seen = [observed for _, _, observed in rows if math.isfinite(observed)]
    if len(set(seen)) < len(seen):
        return "observed at the same step, which counts as in order"
    # Half-times are whole steps, so that a step of their distance says nothing of the crossings.
    beyond = [abs(observed - said) - 1 for said, _, observed in rows]
    if all(one <= 0 for one in beyond if math.isfinite(one)):
        return "no half-time is more than a step off"
    found = [
        (one / bar, concept)
        for concept, (one, (_, bar, _)) in enumerate(zip(beyond, rows, strict=True), 1)
        if math.isfinite(one) and bar > 0
    ]
    distance, concept = max(found, default=(0.0, 0))
    return f"half-time {concept} is {distance:.2g} error bars off" if distance > 1 else ""


def _float(value: Any) -> float:
    return math.nan if value is None else float(value)


def _plain(value: float) -> float | str | None:
    return None if math.isnan(value) else value if math.isfinite(value) else str(value)
