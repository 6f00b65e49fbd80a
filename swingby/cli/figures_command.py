"""The command ``swingby figures``: the paper's figures, drawn and judged."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from swingby.cli.given import exit_code, json_text, terminal_width

if TYPE_CHECKING:
    from swingby.report import Grid


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
        click.echo(json_text(table.to_dict()) if as_json else _text(table))
        return 0
    from swingby.figures.make import make_figures

    result = make_figures(
        out, only=only, quick=quick, editions=edition, resume=not no_resume, progress=True
    )
    click.echo(json_text(result.to_dict()) if as_json else _text(result.to_grid()))
    return exit_code([result.verdict])


def _text(table: Grid) -> str:
    color = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return table.to_text(width=terminal_width(100), color=color)
