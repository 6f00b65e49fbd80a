"""The report of a hunt: its verdict, counterexample, closest call and numbers, as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from swingby.errors import InvalidInput
from swingby.proofs.audit.record import header, witness_lines
from swingby.proofs.hunt.search_log import ClosestCall
from swingby.proofs.language.claim_text import source_text
from swingby.proofs.language.formula_printer import as_read
from swingby.proofs.prover.evidence import Witness
from swingby.report import Shown
from swingby.report.files import plain_values
from swingby.report.lines import USUAL, line_width, lines_text, wrapped
from swingby.report.markup import html_text
from swingby.report.number_text import counted
from swingby.theory.verdict import Finding

#: The dynamics, as a title names them.
_DYNAMICS = {"euler": "the map (D.2)", "gd": "gradient descent on U", "flow": "the flow"}


@dataclass(frozen=True)
class Hunt(Shown):
    """A hunt for a counterexample, and its outcome.

    Parameters
    ----------
    statement, edition, dynamics, text : str
        Id of the statement; {"printed", "corrected", "repaired"}; {"gd", "euler", "flow"}, or empty
        for a statement about numbers alone; the statement as a reader sees it.
    verdict : Finding
        *refuted* with a confirmed counterexample; *tested* if none was found; *undecided* if no
        instance was drawn, or if floats show a violation that balls do not confirm; *proved* for a
        line about numbers that the prover proves during the hunt.
    violation : Witness or None
        The confirmed counterexample.
    instances, steps : int
        Numbers of instances, and of steps at which the statement was evaluated.
    seconds : float
        Processor time used.
    closest : ClosestCall or None
        The instance that came closest to a violation.
    shrinks : int
        Changes that made the counterexample simpler.
    unconfirmed : int
        Violations in floats that balls did not confirm. They are not reported.
    checked : tuple of str
        How the counterexample was confirmed.
    note : str
        A further remark for the reader.
    parts : tuple of Hunt
        One per theorem, for a hunt over several.
    seed : int or None
        Seed of the hunt, if it was a whole number.
    """

    statement: str
    edition: str
    dynamics: str
    verdict: Finding
    violation: Witness | None = None
    instances: int = 0
    steps: int = 0
    seconds: float = 0.0
    closest: ClosestCall | None = None
    shrinks: int = 0
    unconfirmed: int = 0
    checked: tuple[str, ...] = ()
    text: str = ""
    note: str = ""
    parts: tuple[Hunt, ...] = ()
    seed: int | None = None
    again: Callable[[], bool] | None = field(default=None, repr=False, compare=False)

    @property
    def found(self) -> bool:
        """Whether a confirmed counterexample was found."""
        return self.violation is not None

    def rerun(self) -> bool:
        """Whether the counterexample still breaks the statement, in balls of a third precision.

        Raises InvalidInput if the hunt found none.
        """
        if self.again is None:
            raise InvalidInput("hunt", self.statement, "must have found a counterexample")
        return self.again()

    def __repr__(self) -> str:
        where = f", {self.dynamics}" if self.dynamics else ""
        head = f"{self.statement}, {self.edition}{where}"
        return f"<Hunt {head}: {self.verdict}, {self.instances} instances>"

    def to_text(self, *, width: int | None = None, color: bool = False) -> str:
        """The hunt for a terminal."""
        width = width or line_width() or USUAL
        lines = [] if self.edition == "repaired" else [header()]
        lines += [""] if self.text else []
        for line in self.text.splitlines():
            lines += wrapped(line.lstrip(), width, " " * (len(line) - len(line.lstrip()) + 2))
        lines += ["", *_outcome(self, width)]
        lines += ["", *wrapped(self.note, width)] if self.note else []
        for hunt in self.parts:
            lines += ["", f"{_title(hunt)}: {hunt.verdict}"]
            lines += [f"  {line}" for line in _outcome(hunt, width - 2)]
        return lines_text(f"Hunt: {_title(self)}: {self.verdict}", lines, width, color=color)

    def to_html(self) -> str:
        """The text as HTML."""
        return html_text(self.to_text(width=USUAL))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        fields = {
            name: value for name, value in vars(self).items() if name not in ("again", "parts")
        }
        hunts = [hunt.to_dict() for hunt in self.parts]
        seconds = round(self.seconds, 3)
        return {**plain_values(fields), "found": self.found, "seconds": seconds, "parts": hunts}


def _title(hunt: Hunt) -> str:
    """The title of a hunt: statement, edition and dynamics."""
    edition = "" if hunt.edition == "printed" else f", {hunt.edition}"
    under = f", under {_DYNAMICS[hunt.dynamics]}" if hunt.dynamics else ""
    return f"{source_text(hunt.statement)}{edition}{under}"


def _outcome(hunt: Hunt, width: int) -> list[str]:
    steps = f", {hunt.steps} steps" if hunt.steps else ""
    among = f"in {counted(hunt.instances, 'instance')}{steps}, {hunt.seconds:.1f} s"
    if hunt.violation is not None:
        simpler = f", made simpler by {counted(hunt.shrinks, 'change')}" if hunt.shrinks else ""
        lines = wrapped(f"Counterexample, found {among}{simpler}:", width)
        return lines + witness_lines(hunt.violation, width)
    words = f"No counterexample {among}. That proves nothing."
    if hunt.verdict == Finding.PROVED:
        words = f"No counterexample: {hunt.checked[0] if hunt.checked else 'proved'}."
    elif not hunt.instances:
        words = f"Nothing was looked at in {hunt.seconds:.1f} s."
    lines = wrapped(words, width)
    if hunt.unconfirmed:
        doubt = (
            f"{counted(hunt.unconfirmed, 'violation')} in floats not confirmed in balls: "
            "no counterexample, and no evidence for the statement there either."
        )
        lines += wrapped(doubt, width)
    if hunt.closest is not None:
        slack = hunt.closest.slack
        distance = f"slack {slack:.3g}" if slack else "both sides equal"
        what = "" if hunt.edition == "repaired" else ", the logarithm of one side over the other"
        lines += wrapped(f"ClosestCall call: {distance}{what}.", width)
        for line in (hunt.closest.where, hunt.closest.instance):
            lines += wrapped(as_read(line), width, "  ")
    return lines
