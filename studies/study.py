"""The parts of a study: cells, their measurement, the rows of evidence, and the canary.

What a cell gives is kept as JSON. The canary of a study is a cheap cell, or the first runs of one:
its numbers are recorded beside the rows, and a test measures them again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from studies.plan import Plan
from swingby.lab.figures.evidence import EvidenceRow, EvidenceVerdict, Kind
from swingby.report import Grid
from swingby.theory.share import Share, judged
from swingby.theory.verdict import Verdict

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
    """Rows that were made cell by cell, with the intervals of the family of all."""
    return with_family(shares_at(EvidenceRow(**row) for rows in results.values() for row in rows))


def plain_rows(rows: Iterable[EvidenceRow]) -> list[dict[str, Any]]:
    """Rows as JSON can hold them."""
    return [asdict(row) for row in rows]


def at_stake(
    verdict: Verdict, share: Share, control: float | None, threshold: float = MOST
) -> EvidenceVerdict:
    """A verdict, or that nothing was at stake: the control would not fail, nor does the share.

    That is where it reaches the threshold, and the lower end of the interval.

    >>> [str(at_stake(Verdict.HOLDS, Share(98, 100), control)) for control in (0.5, 0.98, None)]
    ['holds', 'nothing at stake', 'holds']
    >>> str(at_stake(Verdict.FAILS, Share(1, 100), 0.95))
    'fails'
    """
    idle = control is not None and control >= max(share.low, threshold)
    return EvidenceVerdict(
        EvidenceVerdict.NOTHING_AT_STAKE if idle and verdict != Verdict.FAILS else verdict
    )


def rows_of_shares(
    source: str,
    setting: str,
    kind: Kind,
    shares: Mapping[str, Share],
    controls: Mapping[str, float] | None = None,
) -> Iterator[EvidenceRow]:
    """Rows about shares of runs, by statement, that have to reach the threshold."""
    for statement, share in shares.items():
        control = (controls or {}).get(statement)
        control = None if control is None or math.isnan(control) else control
        row = EvidenceRow(
            source, setting, "", statement, **judged(share, MOST), kind=kind, control=control
        )
        yield replace(row, verdict=at_stake(Verdict(row.verdict), share, control))


def crossed(good: Any) -> float:
    """The share of pairs of different runs (i, j) in which i is as j was predicted; nan of one.

    >>> crossed(np.eye(3)), crossed([[True, True], [False, True]])
    (0.0, 0.5)
    """
    pairs = np.asarray(good, dtype=bool)
    others = ~np.eye(len(pairs), dtype=bool)
    return float(pairs[others].mean()) if len(pairs) > 1 else float("nan")


def family_confidence(rows: Iterable[EvidenceRow]) -> float:
    """The confidence at which the intervals of all rows cover together with 95 % (Bonferroni)."""
    return 1 - 0.05 / max(1, sum(bool(row.interval) for row in rows))


def with_family(rows_at: Callable[[float], list[EvidenceRow]]) -> list[EvidenceRow]:
    """Rows from what makes them at a confidence, with their family-wise intervals beside."""
    single = rows_at(0.95)
    family = rows_at(family_confidence(single))
    return [
        replace(row, family_interval=wide.interval)
        for row, wide in zip(single, family, strict=True)
    ]


def shares_at(rows: Iterable[EvidenceRow]) -> Callable[[float], list[EvidenceRow]]:
    """Rows whose intervals are those of shares, at any confidence."""
    listed = list(rows)
    return lambda confidence: [
        row
        if row.count is None
        else replace(row, interval=Share(row.count, row.seeds).interval_text(confidence))
        for row in listed
    ]


def plain_numbers(values: Any) -> Any:
    """Nested lists of floats, None where there is no number."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim:
        return [plain_numbers(entry) for entry in array]
    return float(array) if np.isfinite(array) else None
