"""What an audit is: one record per line of the text, with its verdict and what it rests on.

One line of the text with the verdict on it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from swingby.report.files import whole
from swingby.theory.claim import Claim
from swingby.theory.verdict import Finding
from swingby.verify.prover.evidence import Judged, Witness

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from swingby.report.pictures import Size
    from swingby.verify.standing import Standing

#: The text that the ledger is about.
AUDITED = "the anonymous ICLR submission of arXiv 2410.08309; later versions may differ"


@dataclass(frozen=True)
class Record:
    """One line of the text and the verdict on it.

    Parameters
    ----------
    id, kind, edition, reference, about : str
        Of the claim.
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
    reading : str
        How an ambiguity was read.
    repair : Record or None
        The repaired line, judged like any other.
    rests_on : tuple of str
        Ids of the lines that the hypotheses come from.
    rests_on_refuted : tuple of str
        Those of them that are refuted.
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

    def __str__(self) -> str:
        from swingby.verify.ledger_report import record_text

        return record_text(self)

    def _repr_html_(self) -> str:
        from swingby.verify.ledger_report import record_html

        return record_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON.

        Returns
        -------
        dict
        """
        from swingby.theory.claim_text import statement_line, to_latex, to_text
        from swingby.verify.audit_cache import to_plain

        judged = Judged(
            self.verdict,
            self.method,
            self.evidence,
            self.witness,
            self.cases,
            self.tried,
            self.parts,
        )
        return {
            "id": self.id,
            "part": self.part,
            "kind": self.kind,
            "edition": self.edition,
            "reference": self.reference,
            "about": self.about,
            "conclusion": statement_line(self.statement),
            "statement": to_text(self.statement),
            "latex": to_latex(self.statement),
            **to_plain(judged),
            "breaks": self.breaks,
            "severity": self.severity,
            "explanation": self.explanation,
            "reading": self.reading,
            "repair": None if self.repair is None else self.repair.to_dict(),
            "rests_on": list(self.rests_on),
            "rests_on_refuted": list(self.rests_on_refuted),
            "downstream": [{"id": line, "verdict": text} for line, text in self.downstream],
            "seconds": self.seconds,
        }


__all__ = ["AUDITED", "COLUMNS", "Ledger", "Record"]

COLUMNS = (
    "id",
    "part",
    "kind",
    "about",
    "verdict",
    "method",
    "witness",
    "breaks",
    "severity",
    "repair",
    "rests_on",
    "rests_on_refuted",
    "reference",
    "seconds",
)


class Ledger(Sequence[Record]):
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
        from swingby.theory.derivations.ledger import find

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

    def __str__(self) -> str:
        from swingby.verify.ledger_report import ledger_text

        return ledger_text(self)

    def _repr_html_(self) -> str:
        return self.to_html()

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
            if name == "witness":
                return (
                    "" if value is None else ", ".join(f"{k}={v}" for k, v in value.values.items())
                )
            if name == "repair":
                return "" if value is None else str(value.verdict)
            if isinstance(value, tuple):
                return ", ".join(value)
            return str(value) if name == "verdict" else value

        rows = [[cell(record, name) for name in COLUMNS] for record in self]
        return pandas.DataFrame(rows, columns=list(COLUMNS))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON.

        Returns
        -------
        dict
        """
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

        Returns
        -------
        str or None

        Raises
        ------
        InvalidInput
            If the path cannot be written.
        """
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        if path is None:
            return text
        with whole(path) as target:
            target.write_text(text + "\n", encoding="utf-8")
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
        from swingby.verify.standing import standings

        return standings(self, self.promised, corrected=corrected)

    def to_markdown(self) -> str:
        """Summary, and every record, as Markdown with mathematics between dollars.

        Returns
        -------
        str
        """
        from swingby.verify.ledger_report import ledger_markdown

        return ledger_markdown(self)

    def to_latex(self) -> str:
        """The table of records as LaTeX (booktabs, longtable, amsmath, amssymb).

        Returns
        -------
        str
        """
        from swingby.verify.ledger_report import ledger_latex

        return ledger_latex(self)

    def to_html(self) -> str:
        """The ledger as an HTML fragment.

        Returns
        -------
        str
        """
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

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        InvalidInput
            For a size that is none, or that has no room for so many lines.
        """
        from swingby.verify.dependency_graph import plot_ledger

        return plot_ledger(self, ax, size)
