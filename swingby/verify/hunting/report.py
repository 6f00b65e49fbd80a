"""How a hunt looks on a terminal and in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swingby.report.markup import html_text
from swingby.report.numbers import counted
from swingby.report.text import USUAL, line_width, lines_text, wrapped
from swingby.theory.claim_text import source_text
from swingby.theory.formula import greek
from swingby.theory.verdict import Finding
from swingby.verify.ledger_report import header, witness_lines

if TYPE_CHECKING:
    from swingby.verify.hunting.result import Hunt

_MAPS = {
    "euler": "the map (D.2)",
    "gd": "gradient descent on U",
    "flow": "the flow",
}


def hunt_text(hunt: Hunt, *, width: int | None = None, color: bool = False) -> str:
    """A hunt for a terminal."""
    width = width or line_width() or USUAL
    lines = [*([] if hunt.edition == "repaired" else [header()]), *_body(hunt, width)]
    return lines_text(f"{title(hunt)}: {hunt.verdict}", lines, width, color=color)


def title(hunt: Hunt) -> str:
    """What was hunted, in one line."""
    edition = "" if hunt.edition == "printed" else f", {hunt.edition}"
    under = f", under {_MAPS.get(hunt.dynamics, hunt.dynamics)}" if hunt.dynamics else ""
    return f"Hunt: {source_text(hunt.statement)}{edition}{under}"


def _body(hunt: Hunt, width: int) -> list[str]:
    lines: list[str] = []
    if hunt.text:
        lines.append("")
        for line in hunt.text.splitlines():
            lines += wrapped(line.lstrip(), width, " " * (len(line) - len(line.lstrip()) + 2))
    lines.append("")
    lines += _outcome(hunt, width)
    if hunt.note:
        lines += ["", *wrapped(hunt.note, width)]
    for part in hunt.parts:
        lines += ["", f"{title(part).removeprefix('Hunt: ')}: {part.verdict}"]
        lines += [f"  {line}" for line in _outcome(part, width - 2)]
    return lines


def _outcome(hunt: Hunt, width: int) -> list[str]:
    if hunt.violation is not None:
        return [*wrapped(_found_words(hunt), width), *witness_lines(hunt.violation, width)]
    lines = wrapped(_none_words(hunt), width)
    if hunt.unconfirmed:
        doubt = (
            f"{counted(hunt.unconfirmed, 'violation')} in floats not confirmed in balls: "
            "no counterexample, and no evidence for the statement there either."
        )
        lines += wrapped(doubt, width)
    if hunt.closest is not None:
        near = (
            "Closest call: both sides equal"
            if not hunt.closest.slack
            else (f"Closest call: slack {hunt.closest.slack:.3g}")
        )
        what = "" if hunt.edition == "repaired" else ", the logarithm of one side over the other"
        lines += wrapped(f"{near}{what}.", width)
        for line in (hunt.closest.where, hunt.closest.instance):
            lines += wrapped(greek(line.replace("**", "^").replace("*", " ")), width, "  ")
    return lines


def _found_words(hunt: Hunt) -> str:
    simpler = f", made simpler by {counted(hunt.shrinks, 'change')}" if hunt.shrinks else ""
    return f"Counterexample, found {_among(hunt)}{simpler}:"


def _none_words(hunt: Hunt) -> str:
    if hunt.verdict == Finding.PROVED:
        return f"No counterexample: {hunt.checked[0] if hunt.checked else 'proved'}."
    if not hunt.instances:
        return f"Nothing was looked at in {hunt.seconds:.1f} s."
    return f"No counterexample {_among(hunt)}. That proves nothing."


def _among(hunt: Hunt) -> str:
    steps = f", {hunt.steps} steps" if hunt.steps else ""
    return f"in {counted(hunt.instances, 'instance')}{steps}, {hunt.seconds:.1f} s"


def hunt_html(hunt: Hunt) -> str:
    """A hunt for a notebook."""
    return html_text(hunt_text(hunt, width=USUAL))
