"""The command ``swingby hunt``: a search for a counterexample to one statement."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from swingby.cli.given import EDITION, JSON, choice, number, out_option, seed_option, text
from swingby.errors import InvalidInput
from swingby.report.files import json_text, sealed, write_text
from swingby.report.text import USUAL, has_color, line_width

if TYPE_CHECKING:
    from collections.abc import Callable

    from swingby.verify.hunt import Hunt


@click.command()
@click.argument("statement", required=False)
@EDITION
@choice(
    "--dynamics", "euler gd flow", "flow is for the repaired theorems.", shown="the statement's"
)
@text("--seconds", "X", "Length of the search, in seconds.", "60")
@seed_option("the random instances")
@number("--dim", "Dimension of the instances.", shown="2 to 4", least=2)
@JSON
@out_option((".json", ".html", ".txt"))
def hunt(
    statement: str | None,
    edition: str,
    dynamics: str | None,
    seconds: str,
    seed: int,
    dim: int | None,
    as_json: bool,
    out: str | None,
) -> int:
    """Look for a counterexample to STATEMENT.

    STATEMENT is 'Lemma D.3', D.61, 'Theorem R'. Exit code 0 where no counterexample was found, 1
    where one was found and confirmed.

    \b
    swingby hunt 'Lemma D.3' --seconds 30
    """  # noqa: D301
    if out is not None and as_json:
        raise InvalidInput("json", "out", "must not be given together with out")
    from swingby.verify.hunt import hunt as run_hunt

    found = run_hunt(
        statement,
        edition,
        dynamics,
        seconds,
        rng=seed,
        progress=_say if sys.stderr.isatty() else None,
        dim=dim,
    )
    makers = _makers(found)
    if out is not None:
        text = makers[Path(out).suffix]()
        write_text(out, json_text(sealed(json.loads(text))) if out.endswith(".json") else text)
    else:
        click.echo(makers[".json" if as_json else ""]())
    return int(found.found)


def _say(line: str) -> None:
    click.echo(line, err=True)


def _makers(found: Hunt) -> dict[str, Callable[[], str]]:
    return {
        "": lambda: found.to_text(width=line_width() or USUAL, color=has_color()),
        ".txt": found.to_text,
        ".json": lambda: json_text(found.to_dict()),
        ".html": found.to_html,
    }
