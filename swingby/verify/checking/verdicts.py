"""Verdicts on all assumptions together: iteration, ids that fail, truth value and frame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, Protocol, TypeVar

from swingby.report import Drawn
from swingby.theory.verdict import Verdict, all_hold


class _AssumptionRecord(Protocol):
    """A record that says which assumption it judges, and how."""

    @property
    def id(self) -> str:
        """``"D.4"``."""

    @property
    def verdict(self) -> Verdict:
        """Whether the assumption holds."""


Row = TypeVar("Row", bound=_AssumptionRecord)


class AssumptionVerdicts(Drawn, Generic[Row]):
    """Records of all assumptions, by id and in the order of the paper, with their verdict."""

    _has_ids = True
    edition: str

    @property
    def _all(self) -> tuple[Row, ...]:
        raise NotImplementedError

    @property
    def verdict(self) -> Verdict:
        """The verdict on all assumptions together."""
        return all_hold(row.verdict for row in self._all)

    @property
    def holds(self) -> bool:
        """True or False; raises :class:`swingby.errors.Undecided` when the verdict is undecided."""
        return self.verdict.decided()

    def __bool__(self) -> bool:
        return self.holds

    @property
    def failing(self) -> tuple[str, ...]:
        """Ids of the assumptions that fail."""
        return tuple(row.id for row in self._all if row.verdict == Verdict.FAILS)

    def _verdict_sentence(self, doubt: str) -> str:
        """The verdict as a sentence; `doubt` says why nothing is decided."""
        if self.verdict == Verdict.UNDECIDED:
            return f"Undecided: {doubt}."
        return f"Fails: {', '.join(self.failing)}." if self.failing else "All hold."

    def __getitem__(self, id: str) -> Row:
        for row in self._all:
            if row.id == id:
                return row
        ids = ", ".join(row.id for row in self._all)
        raise KeyError(f"{id!r} is not an assumption of the {self.edition} edition ({ids})")

    def __iter__(self) -> Iterator[Row]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def _frame(self, columns: list[str]) -> Any:
        import pandas

        rows = [[getattr(row, name) for name in columns] for row in self._all]
        frame = pandas.DataFrame(rows, columns=columns)
        frame["verdict"] = frame["verdict"].map(str)
        return frame
