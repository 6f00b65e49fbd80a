"""How a ledger looks on a terminal."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from swingby.theory.claim import SEVERITIES
from swingby.theory.verdict import Finding
from swingby.verify.ledger import AUDITED, Ledger, Record
from swingby.verify.prover.evidence import TAUTOLOGY

if TYPE_CHECKING:
    from rich.table import Table

#: Colours of verdicts on a terminal; words carry the meaning without them.
STYLES = {"proved": "green", "refuted": "red", "tested": "cyan", "undecided": "yellow"}


def header(audited: str = AUDITED) -> str:
    """The sentence at the head of every output: which text is audited."""
    return f"Text audited: {audited}."


def summary_lines(ledger: Ledger) -> list[str]:
    """What the ledger says, in a few lines."""
    lines = []
    for of, part in halves(ledger):
        # what says nothing is proved, and counts for nothing
        empty = sum(record.method == TAUTOLOGY for record in part)
        tally = part.counts() | {"tautological": empty}
        tally["proved"] -= empty
        shown = ", ".join(f"{number} {name}" for name, number in tally.items() if number)
        lines.append(f"{len(part)} {'line' if len(part) == 1 else 'lines'} {of}: {shown}.")
    refuted = [record for record in ledger if record.verdict == Finding.REFUTED]
    if refuted:
        classes = [f"{n} {name}" for name in SEVERITIES if (n := _of(refuted, name))]
        repaired = [one.repair for one in refuted if one.repair is not None]
        verdicts = [
            f"{n} {name}" for name in Finding if (n := sum(r.verdict == name for r in repaired))
        ]
        tail = f"; repairs: {', '.join(verdicts)}" if verdicts else "; none has a repair"
        lines.append(f"Refuted: {', '.join(classes) or 'not classed'}{tail}.")
    resting = sum(bool(record.rests_on_refuted) for record in ledger)
    if resting:
        lines.append(f"{resting} lines cite a refuted one.")
    if {f"Assumption D.{number}" for number in range(1, 6)} <= {record.id for record in ledger}:
        from swingby.verify.check import editions_lines

        lines.extend(editions_lines())
    lines.append(
        "A verdict is about one line: it follows from its hypotheses, whether or not those hold."
    )
    return lines


def halves(ledger: Ledger) -> list[tuple[str, Ledger]]:
    """The lines of the paper, and those of the repaired edition, which are not the paper's.

    Returns
    -------
    list of (str, Ledger)
        Only what is not empty.
    """
    own = [record for record in ledger if record.edition == "repaired"]
    paper = [record for record in ledger if record.edition != "repaired"]
    of = "of the paper" if ledger.audited == AUDITED else "of the proof"
    both = ((of, Ledger(paper)), ("of the repaired edition (ours)", Ledger(own)))
    return [(name, part) for name, part in both if len(part)]


def _of(records: list[Record], severity: str) -> int:
    return sum(record.severity == severity for record in records)


def repair_word(record: Record) -> str:
    """Verdict on the repaired line, or nothing."""
    return "" if record.repair is None else str(record.repair.verdict)


def ledger_text(ledger: Ledger, *, width: int = 100, color: bool = False) -> str:
    """The ledger for a terminal: counts, one row per line, summary.

    Parameters
    ----------
    ledger : Ledger
    width : int
        Characters per line.
    color : bool
        Colour verdicts with terminal codes.
    """
    from rich.text import Text

    parts = halves(ledger)
    counts = _table("verdict", *(f">lines {name}" for name, _ in parts))
    for name in ledger.counts():
        numbers = (str(part.counts()[name]) for _, part in parts)
        counts.add_row(Text(name, style=STYLES[name]), *numbers)
    rows = _table("line", "verdict", "what it says", "what breaks", "repair")
    rows.columns[0].max_width = max(18, width // 6)
    rows.columns[3].max_width = max(18, width // 5)
    part = ""
    for record in ledger:
        if record.part != part:
            part = record.part
            if rows.row_count:
                rows.add_row()
            rows.add_row(Text(part, style="bold"))
        breaks = f"{record.breaks} ({record.severity})" if record.breaks else ""
        repair = repair_word(record)
        rows.add_row(
            Text(f" {record.id}"),
            Text(str(record.verdict), style=STYLES[str(record.verdict)]),
            Text(record.about),
            Text(breaks),
            Text(repair, style=STYLES.get(repair, "")),
        )
    return printed(
        [
            Text("Ledger of the proofs", style="bold"),
            Text(header(ledger.audited)),
            Text(""),
            counts,
            Text(""),
            rows,
        ]
        + [Text("")]
        + [Text(line) for line in summary_lines(ledger)],
        width,
        color,
    )


def _table(*heads: str) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    for head in heads:
        right = head.startswith(">")
        made.add_column(
            Text(head.lstrip(">")), justify="right" if right else "left", overflow="fold"
        )
    return made


def standing_text(ledger: Ledger, *, width: int = 100, color: bool = False) -> str:
    """Which lines stand with all that they rest on, as printed and as corrected, and why not."""
    from rich.text import Text

    rows = _table("line", "as printed", "as corrected", "because of", "in the end rests on")
    both = [ledger.standing(corrected=corrected) for corrected in (False, True)]
    for line, corrected in zip(*both, strict=True):
        because = dict.fromkeys([*line.because, *corrected.because])
        cells = (", ".join(names) for names in (because, corrected.assumes))
        rows.add_row(line.id, line.state, corrected.state, *cells)
    given = f"Taken for granted: {', '.join(ledger.promised) or 'nothing'}."
    counts = [
        f"{word}: {_counted([one.state for one in lines])}."
        for word, lines in zip(("As printed", "As corrected"), both, strict=True)
    ]
    heads = [
        Text("What stands with all that it rests on", style="bold"),
        Text(header(ledger.audited)),
        Text(""),
    ]
    return printed([*heads, rows, *(Text(line) for line in ("", given, *counts))], width, color)


def _counted(states: list[str]) -> str:
    return ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))


def printed(parts: list[Any], width: int, color: bool) -> str:
    """Parts that rich can print, as text."""
    from rich.console import Console

    buffer = io.StringIO()
    console = Console(
        file=buffer,
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        legacy_windows=False,
    )
    for part in parts:
        console.print(part)
    return "\n".join(line.rstrip() for line in buffer.getvalue().rstrip().splitlines())
