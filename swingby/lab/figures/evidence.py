"""Every prediction against what was observed, from every recorded study, as rows of one table.

The studies lie beside the package, in the folder ``studies`` of a checkout, which has their record;
``python -m studies`` runs them again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from swingby.checkout import studies_folder
from swingby.errors import MISSING, InvalidInput
from swingby.lab.field_checks import some_of
from swingby.report import Framed, Grid
from swingby.report.files import write_json
from swingby.report.seals import unsealed
from swingby.theory.input_files import json_of

FORMAT = "swingby evidence 3"
_TITLE = "Predicted against observed"
_WORDS = ("setting", "edition", "statement", "predicted", "observed")
#: Columns that a narrow terminal may go without.
_MINOR = ("rule", "needed", "edition", "family-wise", "seeds", "control")


class Kind(StrEnum):
    """What a row can be evidence for."""

    #: Two integrations of one recursion: they test the program, never the theory.
    NUMERICS = "numerics"
    #: The leading law, or a forecast of something that was not integrated.
    LAW = "law"
    #: A sentence of a paper.
    CLAIM = "claim"
    #: What could not have come out otherwise, or is measured without a prediction.
    DESCRIPTION = "description"


class EvidenceVerdict(StrEnum):
    """What a row came to."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"
    #: The control came true as often, so that the row says nothing. What fails still fails.
    NOTHING_AT_STAKE = "nothing at stake"


_COUNTED = dict(
    zip(EvidenceVerdict, ("hold", "fail", "undecided", "nothing at stake"), strict=True)
)


_NOT_COUNTED = (
    "numerics test the program and are no evidence for the theory; no stake: nothing was at stake,"
    " as the control came true as often; of rows without a control that was not asked"
)
_LEGEND = (
    "family-wise: intervals of one study that cover together with 95 % (Bonferroni); control:"
    " share in which the prediction for another run, or a random one, comes true",
    "needed: seeds at which what was observed, if it stays as it is, decides the row",
    "rule: planned where it was committed before the data",
)


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
    verdict: EvidenceVerdict
    #: Independent runs.
    seeds: int
    #: Runs at which the same observation decides the row; None where nothing is random, or where
    #: no number does.
    needed: int | None
    kind: Kind
    #: Whether the statement and its rule were committed before the data that judge it.
    planned: bool = False
    #: Share of runs in which the prediction for another run, or a random one, comes true; None
    #: where there is no control.
    control: float | None = None
    #: Runs as predicted, of all the seeds; None where no share is judged.
    count: int | None = None
    #: The interval at which all intervals of the study cover together with 95 % (Bonferroni).
    family_interval: str = ""
    #: What else is recorded, in words.
    note: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "verdict", EvidenceVerdict(self.verdict))
        object.__setattr__(self, "kind", Kind(self.kind))


@dataclass(frozen=True)
class StudyRecord:
    """A study as it is recorded: what it is about, its inputs, its canary and its rows."""

    about: str
    #: The plan and the names of the cells.
    inputs: Mapping[str, Any]
    #: Numbers of its cheapest cell, which are computed again to see whether they are the same.
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
    def counts(self) -> dict[str, dict[str, int]]:
        """Numbers of rows by kind and verdict."""
        return {
            str(kind): {
                str(verdict): sum((row.kind, row.verdict) == (kind, verdict) for row in self.rows)
                for verdict in EvidenceVerdict
            }
            for kind in Kind
        }

    @property
    def _count_lines(self) -> list[str]:
        lines = []
        for kind, counts in self.counts.items():
            rows = [row for row in self.rows if row.kind == kind]
            if rows:
                words = ", ".join(
                    f"{n} {word}"
                    for n, word in zip(counts.values(), _COUNTED.values(), strict=True)
                )
                planned = f"; {sum(row.planned for row in rows)} planned"
                controls = sum(row.control is not None for row in rows)
                planned += f"; {controls} with a control" if controls else "; no control"
                noun = "row" if len(rows) == 1 else "rows"
                lines.append(f"{kind}: {len(rows)} {noun}: {words}{planned}.")
        return lines

    @property
    def _by_kind(self) -> list[EvidenceRow]:
        return sorted(self.rows, key=lambda row: list(Kind).index(row.kind))

    def to_overview(self) -> Grid:
        """Numbers of rows by kind, and by study and statement: how many hold, fail and are open."""
        groups: dict[tuple[str, str, str], list[EvidenceVerdict]] = {}
        for row in self._by_kind:
            key = (str(row.kind), row.source, row.statement)
            groups.setdefault(key, []).append(row.verdict)
        lines = [
            [*group, *(str(verdicts.count(verdict)) for verdict in EvidenceVerdict)]
            for group, verdicts in groups.items()
        ]
        below = [_NOT_COUNTED, *(f"{name}: {about}." for name, about in self.about.items())]
        columns = ("kind", "source", "statement", ">hold", ">fail", ">undecided", ">no stake")
        return Grid(_TITLE, columns, lines, above=self._count_lines, below=below)

    def to_grid(self) -> Grid:
        """A line a row, below its kind and source."""
        lines: list[list[str]] = []
        heading = ""
        for row in self._by_kind:
            if heading != (heading := f"{row.kind}: {row.source}"):
                lines.append([heading])
            needed = "-" if row.needed is None else str(row.needed)
            control = "-" if row.control is None else f"{row.control:.2f}"
            planned = "planned" if row.planned else "after the data"
            words = [*(getattr(row, name) for name in _WORDS), row.interval]
            words += [row.family_interval, control, str(row.seeds), needed, planned]
            lines.append([*words, str(row.verdict)])
        columns = (*_WORDS, "95 %", "family-wise", ">control", ">seeds", ">needed")
        below = (*_LEGEND, *self._count_lines)
        return Grid(_TITLE, (*columns, "rule", "verdict"), lines, below=below, minor=_MINOR)

    def records(self) -> list[dict[str, Any]]:
        """One row per prediction."""
        return [asdict(row) for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        """The rows and their counts as JSON can hold them."""
        return {"rows": self.records(), "counts": self.counts}

    def to_text(self, *, width: int | None = None, color: bool = False) -> str:
        """Numbers of rows that hold, fail and are open, by study and statement."""
        return self.to_overview().to_text(width=width, color=color)


def evidence(
    source: str | Sequence[str] | None = None,
    *,
    record: str | Path | None = None,
    verdict: str | None = None,
    kind: str | None = None,
) -> Evidence:
    """Every prediction against what was observed, as it is recorded.

    Parameters
    ----------
    source : str or several, optional
        Studies: ``map``, ``autograd``, ``networks``, ``deep``, ``chains``, ``figures``,
        ``vectors``, ``images``, ``relu``; all by default.
    record : path, optional
        A record that ``python -m studies`` wrote; by default the one of the checkout.
    verdict : {"holds", "fails", "undecided", "nothing at stake"}, optional
    kind : {"numerics", "law", "claim", "description"}, optional
        These rows alone.

    Returns
    -------
    Evidence

    Raises
    ------
    InvalidInput
        For a source, verdict or kind that does not exist, a file that is no record, and where there
        is neither a file nor a checkout.

    Examples
    --------
    >>> table = evidence("images")
    >>> table.rows[0].source, table.rows[0].statement
    ('images', 'sooner')
    """
    for name, value, words in (("verdict", verdict, EvidenceVerdict), ("kind", kind, Kind)):
        if value is not None and value not in list(words):
            raise InvalidInput(name, value, f"must be among {', '.join(words)}")
    recorded = read_record(_record_of_checkout() if record is None else record)
    studies = {name: study for name, study in recorded.items() if study.rows}
    names = some_of(source, "source", studies)
    rows = tuple(
        row
        for name in names
        for row in studies[name].rows
        if verdict in (None, row.verdict) and kind in (None, row.kind)
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
