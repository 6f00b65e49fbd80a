"""The parts of a study: cells, their measurement, the rows of evidence, and the canary.

What a cell gives is kept as JSON. The canary of a study is a cheap cell, or the first runs of one:
its numbers are recorded beside the rows, and a test measures them again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from studies.plan import Plan
from swingby.lab.figures.evidence import EvidenceRow
from swingby.report import Grid
from swingby.theory.share import Share, judged

#: What is predicted for all runs has to come true in so many.
MOST = 0.9
Results = Mapping[str, Any]
Numbers = dict[str, Any]


@dataclass(frozen=True)
class Study:
    """An experiment: its cells by name, and what is made of them."""

    about: str
    #: From the plan, cells by name.
    cells: Callable[[Plan], Mapping[str, Any]]
    #: From a cell, what JSON can hold.
    measure: Callable[[Any], Any]
    #: From the plan, numbers of its canary that the record holds, too.
    canary: Callable[[Plan], Numbers]
    #: From what was measured in all cells, the rows of evidence.
    rows: Callable[[Results], list[EvidenceRow]]
    #: From what was measured in all cells, tables; without them, those of the rows.
    tables: Callable[[Results], list[Grid]] | None = None
    #: A file of the records in which what was measured is kept whole, and from plan and
    #: measurements its content.
    data_file: str = ""
    whole: Callable[[Plan, Results], Any] | None = None


def recorded_rows(results: Results) -> list[EvidenceRow]:
    """Rows that were made cell by cell."""
    return [EvidenceRow(**row) for rows in results.values() for row in rows]


def plain_rows(rows: Iterable[EvidenceRow]) -> list[dict[str, Any]]:
    """Rows as JSON can hold them."""
    return [asdict(row) for row in rows]


def rows_of_shares(source: str, setting: str, shares: Mapping[str, Share]) -> Iterator[EvidenceRow]:
    """Rows about shares of runs, by statement, that have to reach the threshold."""
    for statement, share in shares.items():
        yield EvidenceRow(source, setting, "", statement, **judged(share, MOST))


def plain_numbers(values: Any) -> Any:
    """Nested lists of floats, None where there is no number."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim:
        return [plain_numbers(entry) for entry in array]
    return float(array) if np.isfinite(array) else None
