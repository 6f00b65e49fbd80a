"""The ledger that an audit returns: one record per line of the text, in every format."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swingby.report import Drawn, Grid, Shown
from swingby.report.files import write_text
from swingby.theory.claim_text import statement_line, to_latex, to_text
from swingby.verify import ledger_report
from swingby.verify.audit_cache import plain
from swingby.verify.lines import Line, Lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from swingby.report.pictures import Size

COLUMNS = (
    *("id", "part", "kind", "about", "verdict", "method", "witness", "breaks", "severity"),
    *("repair", "rests_on", "rests_on_refuted", "reference", "seconds"),
)
#: Of a record, what is no plain value or is said elsewhere.
_NOT_PLAIN = {"statement", "repair", "downstream", "audited", "proof"}


@dataclass(frozen=True)
class Record(Line, Shown):
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

    repair: Record | None

    def __repr__(self) -> str:
        tail = f", repaired: {self.repair.verdict}" if self.repair is not None else ""
        return f"<Record {self.id}: {self.verdict}{tail}>"

    def to_text(self, *, width: int | None = None, color: bool = False) -> str:
        """Everything that is known about the line, for a terminal."""
        return ledger_report.record_text(self, width=width, color=color)

    def to_html(self) -> str:
        """The text as HTML."""
        return ledger_report.record_html(self)

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


class Ledger(Lines[Record], Drawn):
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

    def __repr__(self) -> str:
        shown = ", ".join(f"{number} {name}" for name, number in self.counts().items() if number)
        return f"<Ledger: {len(self)} lines; {shown or 'none'}>"

    def to_grids(self) -> Sequence[Grid]:
        """Counts by verdict; and one row per line, with the summary."""
        return ledger_report.ledger_grids(self)

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

    def to_markdown(self) -> str:
        """Summary, and every record, as Markdown with mathematics between dollars."""
        return ledger_report.ledger_markdown(self)

    def to_latex(self, *, siunitx: bool = False) -> str:
        """The table of records as LaTeX (array, booktabs, longtable, amsmath, amssymb)."""
        return ledger_report.ledger_latex(self)

    def to_html(self) -> str:
        """The tables as an HTML fragment, with every record folded away below them."""
        return ledger_report.ledger_html(self)

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
