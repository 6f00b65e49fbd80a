"""Rows of a store as columns of a table, one name per number."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

from swingby.sweeping.kept import Kept
from swingby.sweeping.measure import NUMBERS, WORDS
from swingby.theory import numbers

#: Columns that are there once, with their type: text, whole number, or float.
PLAIN: dict[str, type] = {
    "key": str,
    "place": int,
    "omega": str,
    "eta": str,
    "log10_omega": float,
    "log10_eta": float,
    "width": int,
    "seed": int,
    "dynamics": str,
    "status": str,
    "reason": str,
    **dict.fromkeys(WORDS, str),
    "predicted_order": str,
    "order": str,
    **dict.fromkeys(NUMBERS, float),
    "arrays": str,
}
#: Columns with one number per concept, and the results that they hold.
PER_CONCEPT = {
    "a": "signal",
    "predicted_half_time": "predicted_half_times",
    "error": "error",
    "half_time": "half_times",
    "trapped": "trapped",
    "undecided": "undecided",
}
#: Given per concept where the task is made of mu and sigma.
OF_TASK = {"mu": "mu", "sigma": "sigma"}


def column_types(dimension: int) -> dict[str, type]:
    """Names of all columns, in order, with their types.

    Parameters
    ----------
    dimension : int
        The largest d; smaller points leave the columns of the other concepts empty.

    Returns
    -------
    dict from str to type
        Concepts are counted from 1: ``half_time_1``.
    """
    names = (*PER_CONCEPT, *OF_TASK)
    concepts = {f"{name}_{k}": float for k in range(1, dimension + 1) for name in names}
    return {**PLAIN, **concepts}


def record(row: Kept, dimension: int) -> dict[str, Any]:
    """One row under the names of :func:`column_types`.

    Returns
    -------
    dict
        None for what is not there: a half-time that is not reached, or a failed measurement.
    """
    point, results = row.point, row.results or {}
    found: dict[str, Any] = {
        "key": row.key.hex(),
        "place": row.place,
        "omega": point.omega,
        "eta": point.eta,
        "log10_omega": _log10(point.omega),
        "log10_eta": _log10(point.eta),
        "width": point.width,
        "seed": point.seed,
        "dynamics": point.dynamics,
        "status": "failed" if row.results is None else "done",
        "reason": row.reason,
        **{name: results.get(name) for name in WORDS},
        "predicted_order": _joined(results.get("predicted_order")),
        "order": _joined(results.get("order")),
        **{name: _float(results.get(name)) for name in NUMBERS},
        "arrays": row.arrays,
    }
    given = {"mu": point.mu or (), "sigma": point.sigma or ()}
    signal = results.get("signal") or [float(a) for a in point.exact_signal()]
    for k in range(dimension):
        for name, key in PER_CONCEPT.items():
            values = signal if key == "signal" else results.get(key, ())
            found[f"{name}_{k + 1}"] = _float(values[k]) if k < len(values) else None
        for name in OF_TASK:
            values = given[name]
            found[f"{name}_{k + 1}"] = float(Fraction(values[k])) if k < len(values) else None
    return found


@functools.lru_cache(10_000)
def _log10(text: str) -> float:
    # Rounded, so that powers of ten are whole and serve as coordinates of a plot.
    return round(numbers.log_of(Fraction(text)) / math.log(10), 12)


def _float(value: Any) -> float | None:
    return None if value is None else float(value)


def _joined(order: list[int] | None) -> str | None:
    return None if order is None else " ".join(map(str, order))
