"""The points of a sweep that are not observed as predicted, the worst first."""

from __future__ import annotations

import heapq
import importlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swingby.errors import InvalidInput, MissingExtra
from swingby.sweeping.grid_numbers import optional_whole
from swingby.sweeping.kept import from_columns
from swingby.sweeping.labels import Label
from swingby.sweeping.phases.agreement import Agreement
from swingby.sweeping.phases.disagreement import Disagreement
from swingby.sweeping.phases.quantity import Quantity, Value, asked_value, quantity
from swingby.sweeping.phases.table import PARTS, batches
from swingby.sweeping.point import Point
from swingby.sweeping.store import Store, reading

if TYPE_CHECKING:
    from swingby.report import Grid
    from swingby.sweeping.kept import Kept
    from swingby.sweeping.result import SweepResult

#: Status, labels, and the columns of :data:`swingby.sweeping.kept.COLUMNS`, with the results of
#: decided points that differ alone.
_STATE = (
    "status, predicted, observed, key, place, parameters, CASE WHEN status = 'done'"
    f" AND predicted != observed AND predicted != '{Label.UNDECIDED}'"
    f" AND observed != '{Label.UNFINISHED}' THEN results END, reason, arrays"
)


@dataclass(frozen=True)
class Disagreements:
    """Decided points that are not observed as predicted. Made by ``SweepResult.disagreements``.

    Parameters
    ----------
    store : Path
    rows : tuple of Disagreement
        By margin, the largest first: where the law is surest and wrong. A margin that is no
        number comes last.
    agreement : Agreement
        Over all points.
    """

    store: Path
    rows: tuple[Disagreement, ...]
    agreement: Agreement

    @property
    def total(self) -> int:
        """How many there are, also beyond `rows`."""
        return self.agreement.decided - self.agreement.agreed

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Disagreement]:
        return iter(self.rows)

    def to_grid(self) -> Grid:
        """The rows as a table, with the agreement below.

        Returns
        -------
        swingby.report.Grid
        """
        from swingby.sweeping.phases.disagreement_report import disagreement_grid

        return disagreement_grid(self)

    def to_text(self, width: int = 140) -> str:
        """The rows for a terminal.

        Parameters
        ----------
        width : int
            Characters per line.

        Returns
        -------
        str
        """
        return self.to_grid().to_text(width=width)

    def to_latex(self) -> str:
        """The rows as LaTeX (booktabs).

        Returns
        -------
        str
        """
        return self.to_grid().to_latex()

    def to_markdown(self) -> str:
        """The rows as Markdown.

        Returns
        -------
        str
        """
        return self.to_grid().to_markdown()

    def to_frame(self) -> Any:
        """The rows as a table of plain values; vectors as tuples.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        MissingExtra
            If pandas is not installed.
        """
        try:
            pandas = importlib.import_module("pandas")
        except ImportError:
            raise MissingExtra("pandas", "tables") from None
        from swingby.sweeping.phases.disagreement_report import FIELDS

        return pandas.DataFrame([row.to_dict() for row in self.rows], columns=list(FIELDS))

    def to_dict(self) -> dict[str, Any]:
        """The rows and the agreement as plain values, ready for JSON.

        Returns
        -------
        dict
        """
        low, high = self.agreement.interval
        return {
            "total": self.total,
            "decided": self.agreement.decided,
            "agreed": self.agreement.agreed,
            "interval": [low, high],
            "undecided": self.agreement.undecided,
            "unfinished": self.agreement.unfinished,
            "failed": self.agreement.failed,
            "missing": self.agreement.missing,
            "rows": [row.to_dict() for row in self.rows],
        }

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return self.to_grid().to_html()


def disagreements(
    result: SweepResult, limit: int | None = 20, where: Mapping[str, Any] | None = None
) -> Disagreements:
    """The decided points that are not observed as predicted.

    Parameters
    ----------
    result, limit, where
        See :meth:`swingby.sweeping.result.SweepResult.disagreements`.

    Raises
    ------
    InvalidInput
    """
    most = optional_whole(limit, "limit", 1)
    asked = _asked(where)
    counts: Counter[tuple[str, str]] = Counter()
    others: Counter[str] = Counter()

    def differing(store: Store) -> Iterator[Disagreement]:
        for status, said, seen, row in _states(result, store, asked):
            if status == "done":
                counts[said, seen] += 1
            else:
                others[status] += 1
            if row is not None:
                yield Disagreement.of(row)

    with reading(result.store) as store:
        found = (
            sorted(differing(store), key=Disagreement.rank, reverse=True)
            if most is None
            else heapq.nlargest(most, differing(store), key=Disagreement.rank)
        )
    agreement = Agreement(dict(counts), others["failed"], others["missing"])
    if asked and not agreement.points:
        shown = ", ".join(f"{name} = {value}" for name, value in (where or {}).items())
        raise InvalidInput("where", shown, "must leave points of the sweep")
    return Disagreements(result.store, tuple(found), agreement)


def _asked(where: Mapping[str, Any] | None) -> list[tuple[Quantity, Value]]:
    if where is not None and not isinstance(where, Mapping):
        raise InvalidInput("where", where, 'must be a dict such as {"eta": "0.01"}')
    found = []
    for name, value in (where or {}).items():
        one = quantity(name) if isinstance(name, str) else None
        if one is None:
            raise InvalidInput("where", name, "must name a quantity of the sweep")
        found.append((one, asked_value(name, value)))
    return found


def _matches(point: Point, asked: list[tuple[Quantity, Value]]) -> bool:
    return all(one.read(PARTS[one.part](point)) == value for one, value in asked)


def _states(
    result: SweepResult, store: Store, asked: list[tuple[Quantity, Value]]
) -> Iterator[tuple[str, str, str, Kept | None]]:
    """Status and labels of every point asked for, with the rows that differ.

    Only these are parsed: a disagreement is rare.
    """
    if result.grid is None:
        for found in store.stream(f"SELECT {_STATE} FROM points"):  # noqa: S608
            if not asked or _matches(Point.from_plain(json.loads(found[5])), asked):
                yield _state(store, found)
        return
    for points, keys in batches(result, store):
        marks = ",".join("?" * len(keys))
        query = f"SELECT {_STATE} FROM points WHERE key IN ({marks})"  # noqa: S608
        kept = {found[3]: found for found in store.stream(query, keys)}
        for point, key in zip(points, keys, strict=True):
            if not asked or _matches(point, asked):
                yield _state(store, kept[key]) if key in kept else ("missing", "", "", None)


def _state(store: Store, found: tuple[Any, ...]) -> tuple[str, str, str, Kept | None]:
    status, said, seen, *values = found
    row = None if values[3] is None else from_columns(store.path, tuple(values))
    return status, str(said), str(seen), row
