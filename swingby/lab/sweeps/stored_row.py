"""StoredRow: the row of a point in a store, and the line of JSON that it is kept as.

A store may come from anywhere, and a digest is no signature: a line is read here and nowhere
else, and refused unless swingby can have written it and every reader can show it.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from swingby.lab.sweeps.label import Label
from swingby.lab.sweeps.point import Point
from swingby.simulate.outcome import Outcome
from swingby.theory import numbers
from swingby.theory.task import LARGEST_DIMENSION

#: Results that are numbers, in the order of their columns.
RESULT_NUMBERS = (
    *("margin", "smallest_pivot", "predicted_descents", "swing_margin", "predicted_transient"),
    *("descents", "transient", "last_step"),
)
#: Results with a number per concept.
RESULT_VECTORS = ("predicted_half_times", "error", "half_times", "trapped", "undecided")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_LABEL_WORDS, _OUTCOME_WORDS = tuple(map(str, Label)), tuple(map(str, Outcome))
#: The largest whole number that a column of a table holds.
_LARGEST_WHOLE = 2**63 - 1


@dataclass(frozen=True)
class StoredRow:
    """One row of a store: a point with its results, or the reason why it failed.

    `place` is that of the point in the grid that it was measured for, `arrays` the digest of the
    npz file that W was recorded in, `results` as in
    :class:`swingby.lab.sweeps.measurement.Measurement`.
    """

    key: bytes
    place: int
    point: Point
    results: dict[str, Any] | None
    reason: str | None = None
    arrays: str | None = None

    def to_line(self) -> str:
        """The row as a line of JSON; an infinite number is ``Infinity``."""
        content = {**vars(self), "key": self.key.hex(), "point": self.point.to_plain()}
        return json.dumps(content, separators=(",", ":"))

    @classmethod
    def from_line(cls, line: str | bytes) -> StoredRow:
        """The row that :meth:`to_line` wrote; ValueError for another line."""
        return cls.from_plain(plain_row(line))

    @classmethod
    def from_plain(
        cls, row: Mapping[str, Any], point_of: Callable[[dict[str, Any]], Any] = Point.from_plain
    ) -> StoredRow:
        """The row of plain values that :func:`plain_row` read."""
        point = point_of(row["point"])
        return cls(**{**row, "key": bytes.fromhex(row["key"]), "point": point})


def plain_row(line: str | bytes) -> dict[str, Any]:
    """The row of a line as plain values; ValueError unless :meth:`StoredRow.to_line` can write it.

    >>> plain_row('{"key": 3}')
    Traceback (most recent call last):
        ...
    ValueError: a row has key, place, point, results, reason, arrays
    """
    row = checked_row(line)
    if row["results"] is not None:
        dimension = len(row["point"].get("signal") or row["point"]["mu"])
        vectors = [row["results"].get(name) for name in RESULT_VECTORS]
        if row["reason"] is not None or any(
            vector is not None and len(vector) != dimension for vector in vectors
        ):
            raise ValueError("results are a number per concept, and without a reason of failure")
    return row


def checked_row(line: str | bytes, **own: Callable[[Any], bool]) -> dict[str, Any]:
    """The row of a line, each field of which is of its kind; `own` are kinds of other rows."""
    try:
        row = json.loads(line)
    except RecursionError:
        raise ValueError("brackets within brackets") from None
    if not isinstance(row, dict) or row.keys() != _ROW.keys():
        raise ValueError(f"a row has {', '.join(_ROW)}")
    for name, holds in {**_ROW, **own}.items():
        if not holds(row[name]):
            raise ValueError(f"no row of a sweep has this {name}")
    return row


def _is_whole(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST_WHOLE


def _is_positive(value: Any) -> bool:
    return _is_whole(value) and value > 0


def is_number(value: Any) -> bool:
    """True for a number of a column, or nothing."""
    inside = type(value) is int and abs(value) <= _LARGEST_WHOLE
    return value is None or type(value) is float or inside


def is_text(value: Any) -> bool:
    """True for text that can be written to a file: UTF-8 has no half of a pair."""
    return isinstance(value, str) and (value.isascii() or not re.search("[\ud800-\udfff]", value))


def is_digest(value: Any) -> bool:
    """True for a SHA-256 digest in hexadecimal digits."""
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


@functools.lru_cache(100_000)
def _sign(text: str) -> int:
    """The sign of an exact number, read within the bounds of a grid; -1 for other text."""
    try:
        exact = numbers.exact(text, "a number")
    except ValueError:
        return -1
    return (exact > 0) - (exact < 0)


def _is_size(value: Any) -> bool:
    return isinstance(value, str) and _sign(value) > 0


def _is_vector(value: Any) -> bool:
    inside = isinstance(value, list) and 0 < len(value) <= LARGEST_DIMENSION
    return inside and all(isinstance(entry, str) and _sign(entry) >= 0 for entry in value)


def _is_record(value: Any) -> bool:
    return value == "log" or _is_positive(value)


def _is_point(point: Any) -> bool:
    if not isinstance(point, dict) or not _NEEDED <= point.keys() <= _POINT.keys():
        return False
    if not all(_POINT[name](value) for name, value in point.items()):
        return False
    if "signal" in point:
        return "mu" not in point and "sigma" not in point
    return "mu" in point and "sigma" in point and len(point["mu"]) == len(point["sigma"])


def _is_results(results: Any) -> bool:
    if results is None:
        return True
    if not isinstance(results, dict) or not _LABELS <= results.keys() <= _RESULTS.keys():
        return False
    return all(_RESULTS[name](value) for name, value in results.items())


def _is_numbers(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(map(is_number, value)))


#: What each field of a row, of its point, and of its results holds.
_ROW: dict[str, Callable[[Any], bool]] = {
    "key": is_digest,
    "place": _is_whole,
    "point": _is_point,
    "results": _is_results,
    "reason": lambda reason: reason is None or is_text(reason),
    "arrays": lambda digest: digest is None or is_digest(digest),
}
_POINT: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("signal", "mu", "sigma"), _is_vector),
    **dict.fromkeys(("omega", "eta"), _is_size),
    "width": _is_positive,
    "seed": _is_whole,
    "dynamics": is_text,
    "steps": _is_positive,
    "record": _is_record,
}
_NEEDED = {"omega", "width", "seed", "eta", "dynamics"}
_RESULTS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("predicted", "observed"), lambda label: label in _LABEL_WORDS),
    "outcome": lambda outcome: outcome in (None, *_OUTCOME_WORDS),
    **dict.fromkeys(RESULT_NUMBERS, is_number),
    **dict.fromkeys(RESULT_VECTORS, _is_numbers),
}
_LABELS = {"predicted", "observed"}
