"""The command ``swingby studies``: what the theory says of networks it was not made for."""

from __future__ import annotations

import click

from swingby.cli.given import TABLES, check_target, deliver, refuse, whole


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--runs", default="200", metavar="N", help="Networks a row.", show_default=True)
@click.option("--seed", default="7", metavar="N", help="Of everything drawn.", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--out", metavar="PATH", help="Write to a file; the ending gives the format.")
def studies(names: tuple[str, ...], runs: str, seed: str, as_json: bool, out: str | None) -> int:
    """Train networks and compare them with what the theory says of their initial weights.

    NAME is laws, one-layer, scales, survival, forecast or dimension; all take six minutes on two
    cores. Exit code 0 whatever comes out; the verdicts are those of swingby evidence.

    \b
    swingby studies survival --runs 50
    swingby studies forecast dimension --out networks.md
    """  # noqa: D301 (click reads the backspace as a sign to keep the lines)
    if out is not None:
        refuse("together with out: the ending gives the format", "as_json")
    check_target("out", out, TABLES)
    from swingby.training.studies import studies as make

    tables = make(
        list(names) or None,
        runs=whole(runs, "runs") or 0,
        seed=whole(seed, "seed") or 0,
        tell=lambda name: click.echo(f"swingby: {name} ...", err=True),
    )
    deliver(tables, {"tables": [one.to_dict() for one in tables]}, as_json=as_json, out=out)
    return 0
