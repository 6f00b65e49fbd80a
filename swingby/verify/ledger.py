"""What an audit is: one record per line of the text, and which lines stand with all below them.

A verdict is about one step: it follows from its hypotheses. A line *stands* if its step does and
every line that it cites stands; it *falls* with the first refuted lines below it; it is *open*
where something below is undecided. A line that uses of a refuted one only what the corrected form
says as well rests on that form.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from swingby.report import Drawn, Grid, Shown
from swingby.report.files import write_text
from swingby.theory.claim import Claim
from swingby.theory.claim_text import statement_line, to_latex, to_text
from swingby.theory.derivations.ledger import find
from swingby.theory.verdict import Finding
from swingby.verify.audit_cache import plain
from swingby.verify.prover.evidence import Judged, Witness

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from swingby.report.pictures import Size

#: The text that the ledger is about.
AUDITED = "the anonymous ICLR submission of arXiv 2410.08309; later versions may differ"

COLUMNS = (
    *("id", "part", "kind", "about", "verdict", "method", "witness", "breaks", "severity"),
    *("repair", "rests_on", "rests_on_refuted", "reference", "seconds"),
)
#: Of a record, what is no plain value or is said elsewhere.
_NOT_PLAIN = {"statement", "repair", "downstream", "audited", "proof"}


@dataclass(frozen=True)
class Record(Shown):
    """One line of the text and the verdict on it.

    Parameters
    ----------
    id, kind, edition, reference, about, reading : str
        Of the claim: `reading` is how an ambiguity was read.
    statement : Claim
    verdict : Finding
    method : str
    evidence : tuple of str
        Lines that a reader can check.
    witness : Witness or None
        Where the line fails, or for an existence claim holds.
    cases : int
        How many cases, for *tested*.
    tried : tuple of str
        For *undecided*.
    parts : dict from str to Judged
        Verdicts by part, where they differ.
    breaks, severity, explanation : str
        What breaks; empty unless the verdict is *refuted*.
    repair : Record or None
        The repaired line, judged like any other.
    rests_on, rests_on_refuted : tuple of str
        Ids of the lines that the hypotheses come from, and those of them that are refuted.
    downstream : tuple of (str, str)
        Id of a line that uses this one, and what becomes of it once this one is repaired.
    seconds : float
        Time that the verdict took when it was computed.
    part : str
        Part of the text, such as ``"Lemma D.2"``.
    audited : str
        The text: the paper, or a proof file.
    proof : tuple of dict
        What :meth:`Ledger.export` writes of a proved line; empty where its method yields nothing.
    """

    id: str
    kind: str
    edition: str
    reference: str
    about: str
    statement: Claim
    verdict: Finding
    method: str
    evidence: tuple[str, ...]
    witness: Witness | None
    cases: int
    tried: tuple[str, ...]
    parts: dict[str, Judged]
    breaks: str
    severity: str
    explanation: str
    reading: str
    repair: Record | None
    rests_on: tuple[str, ...]
    rests_on_refuted: tuple[str, ...]
    downstream: tuple[tuple[str, str], ...]
    seconds: float
    part: str = ""
    audited: str = AUDITED
    proof: tuple[dict[str, Any], ...] = ()

    def __repr__(self) -> str:
        tail = f", repaired: {self.repair.verdict}" if self.repair is not None else ""
        return f"<Record {self.id}: {self.verdict}{tail}>"

    def to_text(self, *, width: int | None = None, color: bool = False) -> str:
        """Everything that is known about the line, for a terminal."""
        from swingby.verify.ledger_report import record_text

        return record_text(self, width=width, color=color)

    def to_html(self) -> str:
        """The text as HTML."""
        from swingby.verify.ledger_report import record_html

        return record_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        known = {name: plain(part) for name, part in vars(self).items() if name not in _NOT_PLAIN}
        return known | {
            "conclusion": statement_line(self.statement),
            "statement": to_text(self.statement),
            "latex": to_latex(self.statement),
            "repair": None if self.repair is None else self.repair.to_dict(),
            "downstream": [{"id": line, "verdict": text} for line, text in self.downstream],
        }


class Ledger(Drawn, Sequence[Record]):
    """The records of an audit in the order of the text; it does not change.

    Parameters
    ----------
    records : sequence of Record
    promised : sequence of str
        Ids of lines that are taken for granted; see :meth:`standing`.

    Examples
    --------
    >>> import swingby
    >>> ledger = swingby.audit("D.60", cache=False, progress=False)
    >>> ledger["D.60"].verdict.value
    'proved'
    """

    def __init__(self, records: Sequence[Record], promised: Sequence[str] = ()) -> None:
        self._records = tuple(records)
        self.promised = tuple(promised)

    @overload
    def __getitem__(self, place: int | str) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> Ledger: ...
    def __getitem__(self, place: int | str | slice) -> Record | Ledger:
        if isinstance(place, slice):
            return Ledger(self._records[place], self.promised)
        if isinstance(place, int):
            return self._records[place]
        names = [record.id for record in self._records]
        return self._records[names.index(find(place, names))]

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ledger) and self._records == other._records

    def __hash__(self) -> int:
        return hash(tuple(record.id for record in self._records))

    @property
    def audited(self) -> str:
        """The text that the records are about."""
        return self._records[0].audited if self._records else AUDITED

    def counts(self) -> dict[str, int]:
        """How many records have each verdict.

        Returns
        -------
        dict
            Keys proved, refuted, tested, undecided, in this order, also where none has it.
        """
        return {str(one): sum(record.verdict == one for record in self) for one in Finding}

    def __repr__(self) -> str:
        shown = ", ".join(f"{number} {name}" for name, number in self.counts().items() if number)
        return f"<Ledger: {len(self)} lines; {shown or 'none'}>"

    def to_grids(self) -> Sequence[Grid]:
        """Counts by verdict; and one row per line, with the summary."""
        from swingby.verify.ledger_report import ledger_grids

        return ledger_grids(self)

    def to_frame(self) -> Any:
        """One row per record; ``repair`` is the verdict on the repaired line.

        Returns
        -------
        pandas.DataFrame
            Columns :data:`COLUMNS`; ids and constants joined by commas.
        """
        import pandas

        def cell(record: Record, name: str) -> Any:
            value = getattr(record, name)
            if value is None:
                return ""
            if name == "witness":
                return ", ".join(f"{letter}={number}" for letter, number in value.values.items())
            if name == "repair":
                return str(value.verdict)
            return ", ".join(value) if isinstance(value, tuple) else plain(value)

        rows = [[cell(record, name) for name in COLUMNS] for record in self]
        return pandas.DataFrame(rows, columns=list(COLUMNS))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "text": self.audited,
            "counts": self.counts(),
            "records": [record.to_dict() for record in self],
        }

    def to_json(self, path: str | Path | None = None) -> str | None:
        """The ledger as JSON.

        Parameters
        ----------
        path : path, optional
            Where to write; without it the text is returned.

        Raises
        ------
        InvalidInput
            If the path cannot be written.
        """
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        if path is None:
            return text
        write_text(path, text)
        return None

    def export(self, folder: str | Path) -> tuple[list[str], list[str]]:
        """Write a file of every counterexample and of every proof by sums, and what judges them.

        ``python check.py folder`` judges them by what they print, with the standard library alone:
        lines about numbers, matrices written out in entries, and trajectories, which it follows
        from the printed W(0) with ``replay.py`` beside it. A proof between numbers is an identity:
        a sum of products of hypotheses, which it multiplies out.

        Parameters
        ----------
        folder : path
            Made where it is not there.

        Returns
        -------
        written, left : list of str
            Ids of the refuted and proved lines with a file, and of those without: of a line that
            says that something exists, the opposite is proved, and there is no point to print; of
            proofs by words, boxes, cases or examples there is no sum to print. A repair is called
            as ``"D.61 (corrected)"``.

        Raises
        ------
        InvalidInput
            If the folder cannot be made or written to.
        """
        from swingby.verify.prover.witness_files import export

        return export(self, folder)

    def standing(self, *, corrected: bool = False) -> tuple[Standing, ...]:
        """Which lines stand, once all that they rest on is followed to its end.

        Parameters
        ----------
        corrected : bool
            Every refuted line reads as its repair says.

        Returns
        -------
        tuple of Standing
            In the order of the ledger. A cited line that the ledger does not hold is a promise.

        Examples
        --------
        >>> import swingby
        >>> ledger = swingby.audit(["D.61", "D.64"], cache=False, progress=False)
        >>> [(line.id, line.state) for line in ledger.standing()]
        [('D.61', 'falls'), ('D.64', 'stands')]
        """
        return standings(self, self.promised, corrected=corrected)

    def to_markdown(self) -> str:
        """Summary, and every record, as Markdown with mathematics between dollars."""
        from swingby.verify.ledger_report import ledger_markdown

        return ledger_markdown(self)

    def to_latex(self, *, siunitx: bool = False) -> str:
        """The table of records as LaTeX (array, booktabs, longtable, amsmath, amssymb)."""
        from swingby.verify.ledger_report import ledger_latex

        return ledger_latex(self)

    def to_html(self) -> str:
        """The tables as an HTML fragment, with every record folded away below them."""
        from swingby.verify.ledger_report import ledger_html

        return ledger_html(self)

    def plot(self, ax: Axes | None = None, *, size: Size = None) -> Axes:
        """Lines and lemmas by verdict, with arrows to what they rest on.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Default: a new figure of 14 by 9 inches.
        size : str or (float, float), optional
            ``"column"`` or ``"text"`` of a paper, or width and height in inches.

        Raises
        ------
        InvalidInput
            For a size that is none, or that has no room for so many lines.
        """
        from swingby.verify.dependency_graph import plot_ledger

        return plot_ledger(self, ax, size)


STANDS, TESTED, OPEN, FALLS = "stands", "tested", "open", "falls"
#: How a line stands by its own verdict, the worst last.
_OWN = {
    Finding.PROVED: STANDS,
    Finding.TESTED: TESTED,
    Finding.UNDECIDED: OPEN,
    Finding.REFUTED: FALLS,
}


@dataclass(frozen=True)
class Standing:
    """Whether a line stands.

    `state`: *tested*: it stands if what was only tested holds.
    `because`: the lines that decide it: refuted, undecided or only tested; empty where it stands.
    `assumes`: what it rests on in the end and no line proves: assumptions, promises, cases, names
    of lines that were not judged.
    """

    id: str
    state: str
    because: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()


def standings(
    records: Sequence[Record], promised: Sequence[str] = (), *, corrected: bool = False
) -> tuple[Standing, ...]:
    """Of every record, in their order.

    `promised`: ids of lines that are taken for granted as printed. `corrected`: every refuted line
    reads as its repair says, and those that need it as theirs say.
    """
    known = {record.id: record for record in records}
    found: dict[str, Standing] = {}

    def read(record: Record) -> Record:
        """The last of its repairs where it is refuted or uses what a repair takes back."""
        needs = record.verdict == Finding.REFUTED or record.rests_on_refuted
        kept = not corrected or record.id in promised or not needs or record.repair is None
        return record if kept or record.repair is None else read(record.repair)

    def below(record: Record, source: str, users: tuple[str, ...]) -> Standing:
        """How what a record takes from a source stands."""
        cited = known.get(source)
        if cited is None or source in users:
            return Standing(source, STANDS, assumes=(source,))
        if cited.verdict == Finding.REFUTED and cited.repair is not None and source not in promised:
            # A line that needs the printed form goes with it, unless it follows when judged again.
            again = dict(cited.downstream).get(record.id, "") if corrected else "no"
            if source in record.rests_on_refuted and not again.startswith("still"):
                return Standing(source, FALLS if again else OPEN, (source,))
            cited = cited.repair
        return standing(read(cited), users)

    def standing(record: Record, users: tuple[str, ...] = ()) -> Standing:
        """Of one record of any edition; `users` are the lines that lead to it."""
        name = f"{record.id} {record.edition}"
        if name in found:
            return found[name]
        proved = record.verdict == Finding.PROVED
        if record.id in promised or (record.kind == "assumption" and proved):
            return Standing(record.id, STANDS, assumes=(record.id,))
        parts = [] if proved else [Standing(record.id, _OWN[record.verdict], (record.id,))]
        # What is refuted falls by itself, whatever it rests on.
        if record.verdict != Finding.REFUTED:
            sources = dict.fromkeys(given.source for given in record.statement.given)
            parts += [below(record, source, (*users, record.id)) for source in sources]
        order = tuple(_OWN.values())
        worst = max((part.state for part in parts), key=order.index, default=STANDS)
        because = (name for part in parts if part.state == worst for name in part.because)
        assumes = (name for part in parts for name in part.assumes)
        found[name] = Standing(
            record.id, worst, tuple(dict.fromkeys(because)), tuple(dict.fromkeys(assumes))
        )
        return found[name]

    return tuple(standing(read(one)) for one in records)
