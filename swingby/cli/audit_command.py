"""The command ``swingby audit``: the ledger of the proofs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from swingby.cli.given import JSON, check_target, flag, out_option, target_option, text
from swingby.errors import InvalidInput
from swingby.report.files import json_text, sealed, write_text
from swingby.report.pictures import ENDINGS as PICTURES
from swingby.report.text import USUAL, has_color, line_width, refilled
from swingby.theory.verdict import Finding

if TYPE_CHECKING:
    from collections.abc import Callable

    from swingby.verify.ledger import Ledger

_ENDINGS = (".md", ".txt", ".json", ".tex", ".html", ".csv")


@click.command()
@click.argument("proof", required=False)
@click.option(
    "--item", "items", multiple=True, metavar="ID", help="Judge this item alone: D.61, 'Lemma D.3'."
)
@flag("--no-trajectories", "Leave out the searches of minutes.")
@flag("--corrections", "Print what a corrected paper would say.")
@text(
    "--assume",
    "TEXT",
    "Print what follows from PSD, 'pivots >= 1/2', 'few steps' or ids, separated by commas.",
)
@target_option("--graph", "Draw which line rests on which", PICTURES)
@JSON
@out_option(_ENDINGS)
@text("--export", "DIR", "Write witnesses and proofs, and a check.py for them.")
@flag("--no-cache", "Judge everything anew, and store nothing.")
def audit(
    proof: str | None,
    items: tuple[str, ...],
    no_trajectories: bool,
    corrections: bool,
    assume: str | None,
    graph: str | None,
    as_json: bool,
    out: str | None,
    no_cache: bool,
    export: str | None,
) -> int:
    """Judge each line of the paper's proofs, or of a file PROOF.

    A line is proved, refuted, tested or undecided. PROOF ends in .proof. A single --item prints all
    that is known about it. Exit code 0 whatever the verdicts.

    \b
    swingby audit --item D.27
    swingby audit my.proof --out ledger.html
    """  # noqa: D301
    if corrections and assume is not None:
        raise InvalidInput("assume", assume, "must not be given together with corrections")
    endings = _ENDINGS[:3] if assume is not None else _ENDINGS[: 4 if corrections else None]
    if out is not None:
        check_target("out", out, endings)
    if out is not None and as_json:
        raise InvalidInput("json", "out", "must not be given together with out")
    if export is not None and Path(export).exists() and not Path(export).is_dir():
        raise InvalidInput("export", export, "must be a folder")
    from swingby.verify.audit import audit as run_audit

    ledger = run_audit(
        list(items) or None,
        proof=proof,
        trajectories=not no_trajectories,
        cache=not no_cache,
        assume=assume,
    )
    if export is not None:
        written, left = ledger.export(export)
        click.echo(f"to judge the files: python {export}/check.py {export}", err=True)
        refuted = [one.id for one in ledger if one.verdict == Finding.REFUTED]
        for name, ids in (("written", written), ("without a file", left)):
            witnesses = [one for one in ids if one in refuted]
            shown = f": {', '.join(witnesses)}" if ids is left and witnesses else ""
            counts = f"{len(witnesses)} witnesses{shown}; {len(ids) - len(witnesses)} proofs"
            click.echo(f"{name}: {counts}", err=True)
    if graph is not None:
        from swingby.verify.dependency_graph import save_ledger_picture

        save_ledger_picture(ledger, graph)
    makers = _correction_makers(ledger) if corrections else _makers(ledger)
    if assume is not None:
        makers = _standing_makers(ledger)
    if out is not None:
        text = makers[Path(out).suffix]()
        write_text(out, json_text(sealed(json.loads(text))) if out.endswith(".json") else text)
    elif as_json:
        click.echo(makers[".json"]())
    elif graph is None:
        click.echo(makers[""]())
    return 0


def _makers(ledger: Ledger) -> dict[str, Callable[[], str]]:
    from swingby.verify.ledger_report import ledger_text, record_text

    def text(width: int | None = None, *, color: bool = False) -> str:
        if len(ledger) == 1:
            return record_text(ledger[0], width=width, color=color)
        return ledger_text(ledger, width=width, color=color)

    return {
        "": lambda: text(color=has_color()),
        ".txt": lambda: text(USUAL),
        ".json": lambda: json_text(ledger.to_dict()),
        ".md": ledger.to_markdown,
        ".tex": ledger.to_latex,
        ".html": ledger.to_html,
        ".csv": lambda: str(ledger.to_frame().to_csv(index=False)),
    }


def _standing_makers(ledger: Ledger) -> dict[str, Callable[[], str]]:
    from dataclasses import asdict

    from swingby.verify.ledger_report import standing_text

    def content() -> dict[str, Any]:
        words = {"printed": False, "corrected": True}
        return {"promised": ledger.promised} | {
            word: [asdict(one) for one in ledger.standing(corrected=corrected)]
            for word, corrected in words.items()
        }

    return {
        "": lambda: standing_text(ledger, color=has_color()),
        ".txt": lambda: standing_text(ledger, width=USUAL),
        ".md": lambda: f"```text\n{standing_text(ledger, width=USUAL)}\n```",
        ".json": lambda: json_text(content()),
    }


def _correction_makers(ledger: Ledger) -> dict[str, Callable[[], str]]:
    from swingby.verify import ledger_report as corrections

    def content() -> dict[str, Any]:
        from dataclasses import asdict

        listed = [asdict(one) for one in corrections.corrections(ledger)]
        return {"text": ledger.audited, "corrections": listed}

    return {
        "": lambda: refilled(corrections.corrections_text(ledger, width=line_width() or USUAL)),
        ".txt": lambda: corrections.corrections_text(ledger),
        ".json": lambda: json_text(content()),
        ".md": lambda: corrections.corrections_markdown(ledger, level=1),
        ".tex": lambda: corrections.corrections_latex(ledger),
    }
