"""The command ``swingby vectors``: diffusion of points of a SIM task, predicted and trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from swingby.cli.given import (
    JSON,
    MU,
    SIGMA,
    Sections,
    choice,
    deliver,
    exit_code,
    number,
    out_option,
    refuse,
    refuse_json,
    seed_option,
    setting_seeds,
    task_of,
    text,
    with_options,
)
from swingby.errors import MISSING, InvalidInput

if TYPE_CHECKING:
    from swingby.diffusion.vectors import VectorSetting

_OPTIONS = (
    MU,
    SIGMA,
    text("--omega", "X", "Scale of the start.", "1e-4"),
    text("--eta", "X", "Required, or --lr. Time of the theory per step."),
    text("--lr", "X", "Learning rate of gradient descent, for --eta."),
    choice("--denoiser", "two_layer linear symmetric mlp", "symmetric is U U^T."),
    choice("--reads", "condition both", "Input of the network; both: the noisy point as well."),
    number("--width", "Width of a hidden layer.", shown="concepts"),
    choice("--activation", "relu gelu", "Of mlp alone."),
    number("--batch", "Points of each cluster in a step.", 16),
    number("--steps", "Steps of training.", 500),
    seed_option("the first network"),
    number("--seeds", "Number of networks, trained at once.", 1),
    JSON,
    out_option(),
)
#: Options that are parameters of the same name.
_PASSED = ("width", "omega", "lr", "eta", "batch", "steps", "seed", "activation")


@click.command(cls=Sections)
@with_options(_OPTIONS)
def vectors(**given: Any) -> int:
    """Train diffusion models on points of a SIM task.

    The condition of a point is the point itself. Half-times are steps at which the diagonal
    entries of the conditional map reach 1/2. Exit code 0: every prediction holds, 1: some fail,
    3: none fails, but some are undecided.

    \b
    swingby vectors --mu 1,2 --sigma 0.05,0.05 --eta 0.03
    swingby vectors --mu 1,2 --eta 0.1 --denoiser linear --reads both --seeds 5
    """  # noqa: D301 (click reads the backspace as a sign to keep the lines)
    from swingby.simulate.device import load_torch

    refuse_json(given["out"])
    if given["denoiser"] != "mlp":
        refuse("but with --denoiser mlp", "activation")
    settings = setting_seeds(_setting(given), given["seeds"], 10_000)
    load_torch()
    from swingby.diffusion.vectors import compare_vectors

    found = compare_vectors(settings)
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
        **{name: given[name] for name in _PASSED},
    )
