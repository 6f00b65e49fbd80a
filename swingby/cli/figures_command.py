"""The command ``swingby figures``: the paper's figures, drawn and judged.

The command ``swingby evidence``: every prediction against what was observed.
"""

from __future__ import annotations

from pathlib import Path

import click

from swingby.cli.given import (
    JSON,
    choice,
    deliver,
    exit_code,
    flag,
    out_option,
    refuse,
    refuse_json,
    say,
    text,
)


@click.command()
@text("--only", "N,N", "Numbers of figures: 5,8.", shown="all")
@choice(
    "--edition",
    "caption code",
    "Parameters as printed, or of the authors' public code.",
    shown="both",
)
@flag("--quick", "Use quicker parameters where a figure has some.")
@text("--out", "FOLDER", "Folder of the pictures.", "figures")
@flag("--no-resume", "Compute again what the folder holds.")
@flag("--list", "List the figures, and draw nothing.", "listed")
@JSON
def figures(
    only: str | None,
    edition: str | None,
    quick: bool,
    out: str,
    no_resume: bool,
    listed: bool,
    as_json: bool,
) -> int:
    """Draw the paper's figures, and judge each by its criteria.

    The same command resumes where it was stopped. Exit code 0: every criterion holds, 1: some fail
    or a figure could not be made, 3: none fails, but some are undecided.

    \b
    swingby figures --only 5,8 --quick
    """  # noqa: D301
    if listed:
        refuse("together with list", "quick", "out", "no_resume")
        from swingby.figures.make import all_figures, chosen
        from swingby.figures.result import list_grid

        shown = all_figures()
        if only is not None or edition is not None:
            numbers = dict.fromkeys(one.number for one, _ in chosen(only, edition))
            shown = tuple(one for one in shown if one.number in numbers)
        table = list_grid(shown)
        say(table, table.to_dict(), as_json=as_json)
        return 0
    from swingby.figures.make import make_figures

    result = make_figures(
        out, only=only, quick=quick, editions=edition, resume=not no_resume, progress=True
    )
    say(result.to_grid(), result.to_dict(), as_json=as_json)
    return exit_code([result.verdict])


@click.command()
@text("--source", "NAME,NAME", "map, autograd, networks, figures, vectors, images.", shown="all")
@choice("--verdict", "holds fails undecided", "Rows of this verdict alone.", shown="all")
@flag("--rows", "Print every row, not only how many there are.")
@text("--record", "FILE", "Your own record.", shown="in the user's cache")
@flag("--update", "Run again what other code recorded.", "again")
@flag("--force", "With --update: run everything again.")
@JSON
@out_option()
def evidence(
    source: str | None,
    verdict: str | None,
    rows: bool,
    record: str | None,
    again: bool,
    force: bool,
    as_json: bool,
    out: str | None,
) -> int:
    """Print every prediction of the theory against its observation.

    The rows are those that the package ships, and those that you ran with --update, which also
    prints the verdicts that changed. Exit code 0: every row holds, 1: some
    fail, 3: none fails, but some are undecided.

    \b
    swingby evidence --source networks --rows
    swingby evidence --source map,autograd --update
    """  # noqa: D301 (click reads the backspace as a sign to keep the lines)
    from swingby.figures.evidence import evidence as collect
    from swingby.figures.evidence import update
    from swingby.report.progress import PartProgress
    from swingby.theory.law.compiled import folder

    if not again:
        refuse("without --update", "force")
    if as_json or (out is not None and out.endswith(".json")):
        refuse("beside JSON, which has every row", "rows")
    refuse_json(out)
    names = None if source is None else [one.strip() for one in source.split(",")]
    own = Path(record) if record is not None else folder() / "evidence.json"
    if again:
        with PartProgress(1, shown=True) as said:
            said.start("evidence")
            moved = update(names, own, force=force, tell=said.tell)
            said.finish("done")
        for line in moved or ("no verdict moved",):
            click.echo(line, err=True)
    found = collect(names, record=own if own.exists() else None, verdict=verdict)
    shown = found.to_grid() if rows or verdict is not None else found.to_overview()
    deliver(shown, found.to_dict(), as_json=as_json, out=out)
    return exit_code(row.verdict for row in found.rows)
