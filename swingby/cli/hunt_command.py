"""The command ``swingby hunt``: a search for a counterexample to one statement."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from swingby.cli.given import check_target, whole
from swingby.errors import InvalidInput
from swingby.report.files import json_text, sealed, write_text
from swingby.report.text import USUAL, has_color, line_width

if TYPE_CHECKING:
    from collections.abc import Callable

    from swingby.verify.hunting.result import Hunt

_ENDINGS = (".json", ".html", ".txt")


@click.command()
@click.argument("statement", required=False)
@click.option("--edition", default="printed", metavar="NAME", help="printed, corrected, repaired.")
@click.option("--dynamics", metavar="NAME", help="euler, gd; flow for the repaired theorems.")
@click.option("--seconds", default="60", metavar="X", help="How long the search may take.")
@click.option("--seed", default="0", metavar="N", help="Of the random instances.")
@click.option("--dim", metavar="D", help="Dimension of the instances. Default: 2 to 4.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--out", metavar="FILE", help="Write to .json, .html or .txt.")
def hunt(
    statement: str | None,
    edition: str,
    dynamics: str | None,
    seconds: str,
    seed: str,
    dim: str | None,
    as_json: bool,
    out: str | None,
) -> int:
    """Look for a counterexample to STATEMENT: 'Lemma D.3', D.61, 'Theorem R'.

    Exit code 0 where none was found, 1 where one was found and confirmed.
    """
    check_target("out", out, _ENDINGS)
    if out is not None and as_json:
        raise InvalidInput("json", "out", "must not be given together with out")
    from swingby.verify.hunt import hunt as run_hunt

    found = run_hunt(
        statement,
        edition,
        dynamics,
        seconds,
        rng=whole(seed, "seed", 0),
        progress=_say if sys.stderr.isatty() else None,
        dim=whole(dim, "dim", 2),
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
    from swingby.verify.hunting.report import hunt_html, hunt_text

    return {
        "": lambda: hunt_text(found, width=line_width() or USUAL, color=has_color()),
        ".txt": lambda: hunt_text(found),
        ".json": lambda: json_text(found.to_dict()),
        ".html": lambda: hunt_html(found),
    }
