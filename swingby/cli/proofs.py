"""The commands audit and hunt: the ledger of the proofs, and a search for a counterexample."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from swingby.cli import options
from swingby.cli.options import Given, command
from swingby.errors import InvalidInput
from swingby.report.files import json_text, sealed, write_text
from swingby.report.pictures import ENDINGS as PICTURES
from swingby.report.text import USUAL, has_color, line_width, refilled
from swingby.theory.verdict import Finding

if TYPE_CHECKING:
    from swingby.verify.ledger import Ledger

_ENDINGS = (".md", ".txt", ".json", ".tex", ".html", ".csv")
#: By the ending of a file, and "" for the terminal, what writes a result.
Makers = dict[str, Callable[[], str]]


def _write(given: Given, makers: Makers) -> None:
    if given.out is not None:
        text = makers[Path(given.out).suffix]()
        in_json = given.out.endswith(".json")
        write_text(given.out, json_text(sealed(json.loads(text))) if in_json else text)
    else:
        click.echo(makers[".json" if given.as_json else ""]())


def _refuse_json(given: Given) -> None:
    if given.out is not None and given.as_json:
        raise InvalidInput("json", "out", "must not be given together with out")


@command(
    click.argument("proof", required=False),
    options.text("--item", "ID", "Judge this item alone: D.61, 'Lemma D.3'.", multiple=True),
    options.flag("--no-trajectories", "Leave out the searches of minutes."),
    options.flag("--corrections", "Print what a corrected paper would say."),
    options.text(
        "--assume",
        "TEXT",
        "Print what follows from PSD, 'pivots >= 1/2', 'few steps' or ids, separated by commas.",
    ),
    options.target("--graph", "Draw which line rests on which", PICTURES),
    options.JSON,
    options.out(*_ENDINGS),
    options.text("--export", "DIR", "Write witnesses and proofs, and a check.py for them."),
    options.flag("--no-cache", "Judge everything anew, and store nothing."),
)
def audit(given: Given) -> int:
    """Judge each line of the paper's proofs, or of a file PROOF.

    A line is proved, refuted, tested or undecided. PROOF ends in .proof. A single --item prints all
    that is known about it. Exit code 0 whatever the verdicts.

    \b
    swingby audit --item D.27
    swingby audit my.proof --out ledger.html
    """  # noqa: D301
    corrections, assume, export = given.corrections, given.assume, given.export
    if corrections and assume is not None:
        raise InvalidInput("assume", assume, "must not be given together with corrections")
    endings = _ENDINGS[:3] if assume is not None else _ENDINGS[: 4 if corrections else None]
    if given.out is not None:
        options.check_target("out", given.out, endings)
    _refuse_json(given)
    if export is not None and Path(export).exists() and not Path(export).is_dir():
        raise InvalidInput("export", export, "must be a folder")
    from swingby.verify.audit import audit as run_audit

    ledger = run_audit(
        list(given.item) or None,
        proof=given.proof,
        trajectories=not given.no_trajectories,
        cache=not given.no_cache,
        assume=assume,
    )
    if export is not None:
        _export(ledger, export)
    if given.graph is not None:
        from swingby.verify.ledger import save_ledger_picture

        save_ledger_picture(ledger, given.graph)
    makers = _ledger_makers(ledger)
    if corrections:
        makers = _correction_makers(ledger)
    elif assume is not None:
        makers = _standing_makers(ledger)
    if given.graph is None or given.out is not None or given.as_json:
        _write(given, makers)
    return 0


def _export(ledger: Ledger, folder: str) -> None:
    """Write witnesses and proofs into a folder, and say how many have a file."""
    written, left = ledger.export(folder)
    click.echo(f"to judge the files: python {folder}/check.py {folder}", err=True)
    refuted = [one.id for one in ledger if one.verdict == Finding.REFUTED]
    for name, ids in (("written", written), ("without a file", left)):
        witnesses = [one for one in ids if one in refuted]
        shown = f": {', '.join(witnesses)}" if ids is left and witnesses else ""
        counts = f"{len(witnesses)} witnesses{shown}; {len(ids) - len(witnesses)} proofs"
        click.echo(f"{name}: {counts}", err=True)
    methods = Counter(
        one.method.partition(",")[0]
        for record in ledger
        for one in (record, record.repair)
        if one is not None
        and one.verdict == Finding.PROVED
        and (one.id if one is record else f"{one.id} ({one.edition})") in left
    )
    if methods:
        why = "; ".join(f"{method} ({number})" for method, number in methods.most_common())
        click.echo(f"methods that print nothing for check.py to read: {why}", err=True)


def _ledger_makers(ledger: Ledger) -> Makers:
    shown = ledger[0] if len(ledger) == 1 else ledger
    return {
        "": lambda: shown.to_text(color=has_color()),
        ".txt": lambda: shown.to_text(width=USUAL),
        ".json": lambda: json_text(ledger.to_dict()),
        ".md": ledger.to_markdown,
        ".tex": ledger.to_latex,
        ".html": ledger.to_html,
        ".csv": lambda: str(ledger.to_frame().to_csv(index=False)),
    }


def _standing_makers(ledger: Ledger) -> Makers:
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


def _correction_makers(ledger: Ledger) -> Makers:
    from swingby.verify import ledger_report as corrections

    def content() -> dict[str, Any]:
        listed = [asdict(one) for one in corrections.corrections(ledger)]
        return {"text": ledger.audited, "corrections": listed}

    return {
        "": lambda: refilled(corrections.corrections_text(ledger, width=line_width() or USUAL)),
        ".txt": lambda: corrections.corrections_text(ledger),
        ".json": lambda: json_text(content()),
        ".md": lambda: corrections.corrections_markdown(ledger, level=1),
        ".tex": lambda: corrections.corrections_latex(ledger),
    }


@command(
    click.argument("statement", required=False),
    options.EDITION,
    options.choice(
        "--dynamics", "euler gd flow", "flow is for the repaired theorems.", shown="the statement's"
    ),
    options.text("--seconds", "X", "Length of the search, in seconds.", "60"),
    options.seed("the random instances"),
    options.number("--dim", "Dimension of the instances.", shown="2 to 4", least=2),
    options.JSON,
    options.out(".json", ".html", ".txt"),
)
def hunt(given: Given) -> int:
    """Look for a counterexample to STATEMENT.

    STATEMENT is 'Lemma D.3', D.61, 'Theorem R'. Exit code 0 where no counterexample was found, 1
    where one was found and confirmed.

    \b
    swingby hunt 'Lemma D.3' --seconds 30
    """  # noqa: D301
    _refuse_json(given)
    from swingby.verify.hunt import hunt as run_hunt

    found = run_hunt(
        given.statement,
        given.edition,
        given.dynamics,
        given.seconds,
        rng=given.seed,
        progress=(lambda line: click.echo(line, err=True)) if sys.stderr.isatty() else None,
        dim=given.dim,
    )
    makers: Makers = {
        "": lambda: found.to_text(width=line_width() or USUAL, color=has_color()),
        ".txt": found.to_text,
        ".json": lambda: json_text(found.to_dict()),
        ".html": found.to_html,
    }
    _write(given, makers)
    return int(found.found)
