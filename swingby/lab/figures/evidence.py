"""Every prediction against what was observed, from every recorded study, as rows of one table.

The studies lie beside the package, in the folder ``studies`` of a checkout, which has their record;
``python -m studies`` runs them again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from swingby.checkout import studies_folder
from swingby.errors import MISSING, InvalidInput
from swingby.lab.field_checks import some_of
from swingby.report import Framed, Grid
from swingby.report.files import write_json
from swingby.report.seals import unsealed
from swingby.theory.input_files import json_of
from swingby.theory.verdict import Verdict, counted

FORMAT = "swingby evidence 2"
_TITLE = "Predicted against observed"
_WORDS = ("source", "setting", "edition", "statement", "predicted", "observed")


@dataclass(frozen=True)
class EvidenceRow:
    """One prediction, and what was observed."""

    #: The study, what was run, whose reading of the paper (empty for our own), what is stated.
    source: str
    setting: str
    edition: str
    statement: str
    #: In words or digits; the interval of 95 %, empty where nothing is random.
    predicted: str
    observed: str
    interval: str
    verdict: Verdict
    #: Independent runs.
    seeds: int
    #: Runs at which the same observation decides the row; None where nothing is random, or where
    #: no number does.
    needed: int | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "verdict", Verdict(self.verdict))


@dataclass(frozen=True)
class StudyRecord:
    """A study as it is recorded: what it is about, its inputs, its canary and its rows."""

    about: str
    #: The plan and the names of the cells.
    inputs: Mapping[str, Any]
    #: Numbers of its cheapest cell, which are measured again to see whether they are the same.
    canary: Mapping[str, Any]
    rows: tuple[EvidenceRow, ...]


@dataclass(frozen=True)
class Evidence(Framed):
    """Rows of recorded studies. Made by :func:`evidence`."""

    rows: tuple[EvidenceRow, ...]
    #: Of each study, in words.
    about: Mapping[str, str]

    def __len__(self) -> int:
        return len(self.rows)

    def _repr_html_(self) -> str:
        return self.to_overview().to_html()

    @property
    def _count(self) -> str:
        return f"{len(self.rows)} rows: {counted(row.verdict for row in self.rows)}."

    def to_overview(self) -> Grid:
        """Numbers of rows that hold, fail and are open, by study and statement."""
        groups: dict[tuple[str, str], list[Verdict]] = {}
        for row in self.rows:
            groups.setdefault((row.source, row.statement), []).append(row.verdict)
        lines = [
            [*group, *(str(verdicts.count(verdict)) for verdict in Verdict)]
            for group, verdicts in groups.items()
        ]
        below = [self._count, *(f"{name}: {about}." for name, about in self.about.items())]
        columns = ("source", "statement", ">hold", ">fail", ">undecided")
        return Grid(_TITLE, columns, lines, below=below)

    def to_grid(self) -> Grid:
        """A line a row."""
        lines = []
        for row in self.rows:
            needed = "-" if row.needed is None else str(row.needed)
            words = [*(getattr(row, name) for name in _WORDS), row.interval, str(row.seeds)]
            lines.append([*words, needed, str(row.verdict)])
        columns = (*_WORDS, "95 %", ">seeds", ">needed", "verdict")
        below = "needed: seeds at which what was observed, if it stays as it is, decides the row"
        return Grid(_TITLE, columns, lines, below=(below, self._count))

    def records(self) -> list[dict[str, Any]]:
        """One row per prediction."""
        return [asdict(row) for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        """The rows as JSON can hold them."""
        return {"rows": self.records()}

    def to_text(self, *, width: int | None = None, color: bool = False) -> str:
        """Numbers of rows that hold, fail and are open, by study and statement."""
        return self.to_overview().to_text(width=width, color=color)


def evidence(
    source: str | Sequence[str] | None = None,
    *,
    record: str | Path | None = None,
    verdict: str | None = None,
) -> Evidence:
    """Every prediction against what was observed, as it is recorded.

    Parameters
    ----------
    source : str or several, optional
        Studies: ``map``, ``autograd``, ``networks``, ``deep``, ``figures``, ``vectors``,
        ``images``, ``relu``; all by default.
    record : path, optional
        A record that ``python -m studies`` wrote; by default the one of the checkout.
    verdict : {"holds", "fails", "undecided"}, optional
        These rows alone.

    Returns
    -------
    Evidence

    Raises
    ------
    InvalidInput
        For a source or a verdict that does not exist, a file that is no record, and where there is
        neither a file nor a checkout.

    Examples
    --------
    >>> table = evidence("images")
    >>> table.rows[0].source, table.rows[0].statement
    ('images', 'sooner')
    """
    if verdict is not None and verdict not in list(Verdict):
        raise InvalidInput("verdict", verdict, f"must be among {', '.join(Verdict)}")
    recorded = read_record(_record_of_checkout() if record is None else record)
    studies = {name: study for name, study in recorded.items() if study.rows}
    names = some_of(source, "source", studies)
    rows = tuple(
        row
        for name in names
        for row in studies[name].rows
        if verdict is None or row.verdict == verdict
    )
    return Evidence(rows, {name: studies[name].about for name in names})


def _record_of_checkout() -> Path:
    folder = studies_folder()
    if folder is None:
        required = "must be given: the file studies/records/evidence.json of a checkout of swingby"
        raise InvalidInput("record", MISSING, required)
    return folder / "records" / "evidence.json"


def read_record(path: str | Path) -> dict[str, StudyRecord]:
    """The recorded studies in a file, by name; InvalidInput if it holds something else."""

    def studies(plain: Any) -> dict[str, StudyRecord]:
        content = unsealed(plain)
        if content["format"] != FORMAT:
            raise ValueError(content["format"])
        return {str(name): _study(study) for name, study in content["studies"].items()}

    return json_of(path, "record", "file of python -m studies", studies)


def _study(plain: Mapping[str, Any]) -> StudyRecord:
    rows = tuple(EvidenceRow(**row) for row in plain["rows"])
    return StudyRecord(str(plain["about"]), dict(plain["inputs"]), dict(plain["canary"]), rows)


def write_record(path: str | Path, studies: Mapping[str, StudyRecord]) -> None:
    """Write recorded studies to a file that :func:`read_record` reads."""
    content = {name: asdict(study) for name, study in studies.items()}
    write_json(path, {"format": FORMAT, "studies": content}, "record")
