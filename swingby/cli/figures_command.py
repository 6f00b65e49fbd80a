"""The command ``swingby figures``: the paper's figures, drawn and judged.

The command ``swingby evidence``: every prediction against what was observed.
"""

from __future__ import annotations

from pathlib import Path

import click

from swingby.cli.given import TABLES, check_target, deliver, exit_code, refuse, say


@click.command()
@click.option("--only", metavar="N,N", help="These figures alone: 5,8. Default: all.")
@click.option("--edition", metavar="NAME", help="caption or code. Default: both.")
@click.option("--quick", is_flag=True, help="Quicker parameters where a figure has some.")
@click.option("--out", default="figures", metavar="FOLDER", help="Default: figures.")
@click.option("--no-resume", is_flag=True, help="Compute again what the folder holds.")
@click.option("--list", "listed", is_flag=True, help="Only say which figures there are.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def figures(
    only: str | None,
    edition: str | None,
    quick: bool,
    out: str,
    no_resume: bool,
    listed: bool,
    as_json: bool,
) -> int:
    """Draw the paper's figures into a folder, and judge each by its criteria.

    The caption edition takes the parameters as printed, the code edition what the authors' public
    code runs. The same command goes on where it was stopped. Exit code 0: every criterion holds,
    1: some fail or a figure could not be made, 3: none fails, but some are undecided.
    """
    if listed:
        refuse("together with list", "quick", "out", "no_resume")
        from swingby.figures.make import all_figures, chosen
        from swingby.figures.report import list_grid

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
@click.option(
    "--source", metavar="NAME,NAME", help="map, autograd, networks, figures, vectors, images."
)
@click.option("--verdict", metavar="NAME", help="holds, fails or undecided.")
@click.option("--rows", is_flag=True, help="Every row, not only how many.")
@click.option("--record", metavar="FILE", help="Your own record. Default: in the user's cache.")
@click.option("--update", "again", is_flag=True, help="Run again what other code recorded.")
@click.option("--force", is_flag=True, help="With --update: whatever recorded it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--out", metavar="PATH", help="Write to a file; the ending gives the format.")
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
    """Print every prediction of the theory against what was observed.

    From the iterated map to networks and diffusion models: what the package ships, and what you ran
    with --update, which also prints which verdicts moved. Exit code 0: every row holds, 1: some
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
    if out is not None:
        refuse("together with out: the ending gives the format", "as_json")
    check_target("out", out, TABLES)
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
