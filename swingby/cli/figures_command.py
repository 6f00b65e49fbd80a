"""The command ``swingby figures``: the paper's figures, drawn and judged."""

from __future__ import annotations

import click

from swingby.cli.given import exit_code, say


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
        from swingby.figures.catalogue import all_figures, chosen
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
