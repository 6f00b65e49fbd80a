"""The commands audit and hunt: the ledger of the proofs, and a search for a counterexample."""

from __future__ import annotations

import functools
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from swingby.cli import options
from swingby.cli.arguments import Arguments, refuse
from swingby.cli.command import command
from swingby.cli.options import PICTURES
from swingby.errors import InvalidInput
from swingby.report.files import write_text
from swingby.report.lines import USUAL, line_width, refilled
from swingby.theory.verdict import Finding

if TYPE_CHECKING:
    from swingby.proofs.audit.ledger import Ledger

_ENDINGS = (".md", ".txt", ".json", ".tex", ".html", ".csv")


@command(
    click.argument("proof", required=False),
    options.text("--item", "ID", "Judge only this item: D.61, 'Lemma D.3'.", multiple=True),
    options.flag("--repaired", "Judge only the repaired theorems, of the flow and of gd."),
    options.flag("--no-trajectories", "Skip the searches over trajectories, which take minutes."),
    options.flag("--corrections", "Print the corrections to the paper."),
    options.text(
        "--assume",
        "TEXT",
        "Print the lines that follow from PSD, 'pivots >= 1/2', 'few steps' or ids; use commas.",
    ),
    options.target("--graph", "Draw which line rests on which", PICTURES),
    options.JSON,
    options.out(*_ENDINGS),
    options.text("--export", "DIR", "Write witnesses and proofs, and a check.py that checks them."),
    options.flag("--lean", "Also write proofs by sums of products to DIR, in Lean 4."),
    options.flag("--no-cache", "Judge everything again, and store nothing."),
)
def audit(arguments: Arguments) -> int:
    """Judge each line of the paper's proofs, or of a file PROOF.

    A line is proved, proved by z3, refuted, tested, read or undecided. PROOF ends in .proof. A
    single --item prints everything known about it. Exit code 0: done, whatever the verdicts, 5: a
    prover stopped with an error.

    \b
    swingby audit --item D.27
    swingby audit my.proof --out ledger.html
    """  # noqa: D301
    corrections, assume, export = arguments.corrections, arguments.assume, arguments.export
    if corrections:
        refuse("together with corrections", "assume")
    endings = _ENDINGS[:3] if assume is not None else _ENDINGS[: 4 if corrections else None]
    if arguments.out is not None:
        options.check_target("out", arguments.out, endings)
    if export is not None and Path(export).exists() and not Path(export).is_dir():
        raise InvalidInput("export", export, "must be a folder")
    from swingby.proofs.audit.audit import audit as run_audit

    items = list(arguments.item)
    if arguments.repaired:
        from swingby.proofs.language.claims import OWN, sections

        if arguments.proof is not None:
            raise InvalidInput("repaired", True, "is of the packaged proofs: leave out PROOF")
        items += [line for line, section in sections().items() if section in OWN]
    ledger = run_audit(
        items or None,
        proof=arguments.proof,
        trajectories=not arguments.no_trajectories,
        cache=not arguments.no_cache,
        assume=assume,
    )
    if export is not None:
        _export(ledger, export)
        if arguments.lean:
            from swingby.proofs.audit.theorem_export import export_theorems

            theorems, _ = export_theorems(ledger, export)
            click.echo(f"theorems of Lean 4, not run here: {len(theorems)}", err=True)
    elif arguments.lean:
        raise InvalidInput("lean", True, "needs --export DIR, the folder to write to")
    if arguments.graph is not None:
        from swingby.proofs.audit.ledger_picture import save_picture

        save_picture(ledger, arguments.graph)
    if arguments.graph is not None and arguments.out is None and not arguments.as_json:
        return _exit_code(ledger)
    if corrections:
        _deliver_corrections(arguments, ledger)
    elif assume is not None:
        _deliver_standing(arguments, ledger)
    else:
        # Of a line alone all that is known about it is printed.
        alone = len(ledger) == 1 and (arguments.out is None or arguments.out.endswith(".txt"))
        writers = {".csv": lambda path: write_text(path, ledger.to_frame().to_csv(index=False))}
        arguments.deliver(ledger[0] if alone else ledger, ledger.to_dict, writers=writers)
    return _exit_code(ledger)


def _exit_code(ledger: Ledger) -> int:
    """0; 5, and a line, where a prover stopped with an error: *undecided* is no verdict then."""
    from swingby.proofs.audit.audit import FAILED
    from swingby.proofs.audit.record import by_name

    failed = (record.id for _, record in by_name(ledger) if record.method == FAILED)
    broken = ", ".join(dict.fromkeys(failed))
    if broken:
        click.echo(f"swingby: something broke: {FAILED} on {broken}", err=True)
    return 5 if broken else 0


def _export(ledger: Ledger, folder: str) -> None:
    """Write witnesses and proofs into a folder, and say how many have a file."""
    from swingby.proofs.audit.record import by_name

    written, unwritten = ledger.export(folder)
    click.echo(f"to judge the files: python {folder}/check.py {folder}", err=True)
    refuted = [line.id for line in ledger if line.verdict == Finding.REFUTED]
    for name, ids in (("written", written), ("without a file", unwritten)):
        witnesses = [identifier for identifier in ids if identifier in refuted]
        listing = f": {', '.join(witnesses)}" if ids is unwritten and witnesses else ""
        counts = f"{len(witnesses)} witnesses{listing}; {len(ids) - len(witnesses)} proofs"
        click.echo(f"{name}: {counts}", err=True)
    methods = Counter(
        record.method.partition(",")[0]
        for name, record in by_name(ledger)
        if record.verdict == Finding.PROVED and name in unwritten
    )
    if methods:
        why = "; ".join(f"{method} ({number})" for method, number in methods.most_common())
        click.echo(f"methods that print nothing for check.py to read: {why}", err=True)


def _deliver_standing(arguments: Arguments, ledger: Ledger) -> None:
    """Deliver which lines stand if others are granted."""
    from swingby.proofs.audit.ledger import standing_text

    def content() -> dict[str, Any]:
        editions = {"printed": False, "corrected": True}
        return {"promised": ledger.promised} | {
            label: [asdict(record) for record in ledger.standing(corrected=corrected)]
            for label, corrected in editions.items()
        }

    texts = SimpleNamespace(
        to_text=functools.partial(standing_text, ledger),
        to_markdown=lambda: f"```text\n{standing_text(ledger, width=USUAL)}\n```",
    )
    arguments.deliver(texts, content)


def _deliver_corrections(arguments: Arguments, ledger: Ledger) -> None:
    """Deliver the corrections of the paper."""
    from swingby.proofs.audit import corrections as report

    def content() -> dict[str, Any]:
        return {
            "text": ledger.audited,
            "corrections": list(map(asdict, report.corrections(ledger))),
        }

    def text(*, width: int | None = None, color: bool = False) -> str:
        return refilled(report.corrections_text(ledger, width=width or line_width() or USUAL))

    texts = SimpleNamespace(
        to_text=text,
        to_markdown=lambda: report.corrections_markdown(ledger, level=1),
        to_latex=lambda: report.corrections_latex(ledger),
    )
    arguments.deliver(texts, content)


@command(
    click.argument("statement", required=False),
    options.EDITION,
    options.choice(
        "--dynamics", "euler gd flow", "flow: repaired theorems only.", shown="the statement's"
    ),
    options.text("--seconds", "X", "Length of the search, in seconds of processor time.", "60"),
    options.seed("the random instances"),
    options.number("--dim", "Number of concepts in an instance.", shown="2 to 4", least=2),
    options.JSON,
    options.out(".json", ".html", ".txt"),
)
def hunt(arguments: Arguments) -> int:
    """Search for a counterexample to STATEMENT.

    STATEMENT is 'Lemma D.3', D.61, 'Theorem R' and the like. Exit code 0: no counterexample was
    found, 1: a counterexample was found and confirmed.

    \b
    swingby hunt 'Lemma D.3' --seconds 30
    """  # noqa: D301
    from swingby.proofs.hunt.hunt import hunt as run_hunt

    search = run_hunt(
        arguments.statement,
        arguments.edition,
        arguments.dynamics,
        arguments.seconds,
        rng=arguments.seed,
        progress=(lambda line: click.echo(line, err=True)) if sys.stderr.isatty() else None,
        dim=arguments.dim,
    )
    arguments.deliver(search)
    return int(search.found)
