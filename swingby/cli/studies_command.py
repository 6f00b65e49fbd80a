"""The command ``swingby studies``: what the theory says of networks it was not made for."""

from __future__ import annotations

import click

from swingby.cli.given import JSON, deliver, number, out_option, refuse_json, seed_option


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@number("--runs", "Networks in a row of a table.", 200)
@seed_option("all data and networks", 7)
@JSON
@out_option()
def studies(names: tuple[str, ...], runs: int, seed: int, as_json: bool, out: str | None) -> int:
    """Train networks and compare with predictions from their weights.

    NAME is laws, one-layer, scales, survival, forecast or dimension; all take six minutes on two
    cores. Exit code 0 whatever comes out; the verdicts are those of swingby evidence.

    \b
    swingby studies survival --runs 50
    swingby studies forecast dimension --out networks.md
    """  # noqa: D301 (click reads the backspace as a sign to keep the lines)
    refuse_json(out)
    from swingby.training.studies import studies as make

    tables = make(
        list(names) or None,
        runs=runs,
        seed=seed,
        tell=lambda name: click.echo(f"swingby: {name} ...", err=True),
    )
    deliver(tables, {"tables": [one.to_dict() for one in tables]}, as_json=as_json, out=out)
    return 0
