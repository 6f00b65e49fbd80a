"""The command ``swingby vectors``: diffusion of points of a SIM task, predicted and trained."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from swingby.cli.given import (
    TABLES,
    check_target,
    deliver,
    exit_code,
    refuse,
    task_of,
    whole,
    with_options,
)
from swingby.errors import MISSING, InvalidInput

if TYPE_CHECKING:
    from swingby.diffusion.vectors import VectorSetting

_OPTIONS = (
    click.option("--mu", multiple=True, metavar="X", help="Cluster distances: 1,2 or repeated."),
    click.option("--sigma", multiple=True, metavar="X", help="Cluster spreads. Default 0."),
    click.option("--omega", default="1e-4", metavar="X", help="Scale of the start."),
    click.option("--eta", metavar="X", help="Time of the theory per step."),
    click.option("--lr", metavar="X", help="In its place: learning rate of gradient descent."),
    click.option(
        "--denoiser",
        default="two_layer",
        metavar="NAME",
        help="two_layer, linear, symmetric (U U^T) or mlp.",
    ),
    click.option(
        "--reads",
        default="condition",
        metavar="NAME",
        help="condition, or both: the noisy point as well.",
    ),
    click.option("--width", metavar="N", help="Of the layer inside. Default: concepts."),
    click.option("--activation", default="relu", metavar="NAME", help="Of mlp: relu or gelu."),
    click.option("--batch", default="16", metavar="N", help="Points of each cluster in a step."),
    click.option("--steps", default="500", metavar="N"),
    click.option("--seed", default="0", metavar="N", help="Of the first network."),
    click.option("--seeds", default="1", metavar="N", help="That many networks, trained at once."),
    click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    click.option("--out", metavar="PATH", help="Write to a file; the ending gives the format."),
)
#: A typing error should not make a million settings before memory is looked at.
_MOST_SEEDS = 10_000


@click.command()
@with_options(_OPTIONS)
def vectors(**given: Any) -> int:
    """Train diffusion models of the points of a SIM task; print predicted against observed.

    The condition of a point is the point itself. Half-times are steps at which the diagonal
    entries of the conditional map reach 1/2. Exit code 0: every prediction holds, 1: some fail,
    3: none fails, but some are undecided, 2: wrong input.

    \b
    swingby vectors --mu 1,2 --sigma 0.05,0.05 --eta 0.03
    swingby vectors --mu 1,2 --eta 0.1 --denoiser linear --reads both --seeds 5
    """  # noqa: D301 (click reads the backspace as a sign to keep the lines)
    from swingby.simulate.device import load_torch

    if given["out"] is not None:
        refuse("together with out: the ending gives the format", "as_json")
        check_target("out", given["out"], TABLES)
    if given["denoiser"] != "mlp":
        refuse("but with --denoiser mlp", "activation")
    setting = _setting(given)
    count = whole(given["seeds"], "seeds") or 1
    if count > _MOST_SEEDS:
        raise InvalidInput("seeds", count, f"must be at most {_MOST_SEEDS}")
    load_torch()
    from swingby.diffusion.vectors import compare_vectors

    found = compare_vectors([replace(setting, seed=setting.seed + k) for k in range(count)])
    deliver(found.to_grid(), found.to_dict(), as_json=given["as_json"], out=given["out"])
    return exit_code(row.verdict for row in found.rows)


def _setting(given: dict[str, Any]) -> VectorSetting:
    """What is trained, from options as they were typed."""
    from swingby.diffusion.vectors import VectorSetting

    if given["eta"] is None and given["lr"] is None:
        raise InvalidInput("eta", MISSING, "must be given, or --lr")
    return VectorSetting(
        task_of(given["mu"], given["sigma"], None),
        given["denoiser"],
        given["reads"],
        width=whole(given["width"], "width"),
        omega=given["omega"],
        lr=given["lr"],
        eta=given["eta"],
        batch=whole(given["batch"], "batch") or 1,
        steps=whole(given["steps"], "steps") or 1,
        seed=whole(given["seed"], "seed", 0) or 0,
        activation=given["activation"],
    )
