"""The command ``swingby train``: networks on a SIM task, many seeds at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from swingby.cli.given import (
    check_target,
    refuse,
    say,
    task_of,
    whole,
    with_options,
)
from swingby.errors import InvalidInput
from swingby.report.pictures import ENDINGS as PICTURES

if TYPE_CHECKING:
    from swingby.training import Setting, TrainingRun

_OPTIONS = (
    click.option("--mu", multiple=True, metavar="X", help="Cluster distances: 1,2 or repeated."),
    click.option("--sigma", multiple=True, metavar="X", help="Cluster spreads. Default 0."),
    click.option("--dim", metavar="D", help="Dimension d. Default: number of concepts."),
    click.option("--data", metavar="FILE", help="Points to train on: .npz (X, Y, labels) or .csv."),
    click.option("--points-per-class", metavar="N", help="Default 5000; inf: infinite data."),
    click.option("--center-cluster", is_flag=True, help="A cluster at the origin as well."),
    click.option("--rotation", is_flag=True, help="Turn the data by a random rotation."),
    click.option("--truncation", metavar="X", help="No point within X min(mu) of the test point."),
    click.option("--free-sigma", metavar="X", help="Spread along directions without a concept."),
    click.option("--depth", default="1", metavar="L", help="Number of weights."),
    click.option("--width", metavar="N", help="Of hidden layers. Default d."),
    click.option("--activation", default="linear", metavar="NAME", help="linear, relu or gelu."),
    click.option("--no-bias", is_flag=True, help="Weights alone."),
    click.option("--symmetric", is_flag=True, help="f(x) = U U^T x, of Sec. 4.2."),
    click.option(
        "--initialization", default="torch", metavar="NAME", help="torch, gaussian or uniform."
    ),
    click.option("--scale", default="1", metavar="X", help="Of all initial weights."),
    click.option("--optimizer", default="sgd", metavar="NAME", help="sgd, gd or adamw."),
    click.option("--lr", default="0.1", metavar="X", help="Learning rate."),
    click.option("--batch-size", default="128", metavar="N", help="Points per step."),
    click.option("--loss", default="torch", metavar="NAME", help="torch (mse) or paper (2.1)."),
    click.option("--shuffle", default="once", metavar="NAME", help="once, or every epoch: epoch."),
    click.option("--weight-decay", default="0", metavar="X", help="Of adamw."),
    click.option("--epochs", metavar="N", help="Default 40."),
    click.option("--steps", metavar="N", help="Instead of epochs."),
    click.option("--seed", default="0", metavar="N", help="Of the first network."),
    click.option("--seeds", default="1", metavar="N", help="That many networks, trained at once."),
    click.option("--start", metavar="FILE.npz", help="Initial weights and biases, in order."),
    click.option("--record", metavar="WHAT", help="Steps kept: every, log, or every N-th."),
    click.option("--precision", default="float32", metavar="NAME", help="Or float64."),
    click.option("--device", default="cpu", metavar="NAME", help="Or cuda."),
    click.option("--checkpoint", metavar="FOLDER", help="Kept there once a minute; gone on with."),
    click.option("--out", metavar="FILE.npz", help="Write everything that was recorded."),
    click.option("--plot", metavar="PICTURE", help="Trajectories and losses: .png, .pdf or .svg."),
    click.option("--json", "as_json", is_flag=True, help="Print JSON."),
)


@click.command()
@with_options(_OPTIONS)
def train(**given: Any) -> int:
    """Train networks on the SIM task and see when they learn which concept.

    Exit code 0: every network learned every concept (its output at the test point reached half),
    1: some did not, or diverged, 2: wrong input. With --data and without --mu, the task is the one
    that the points and their labels look like.

    \b
    swingby train --mu 1,2 --sigma 0.05,0.05 --dim 64 --seeds 16
    swingby train --mu 1,2 --depth 4 --lr 1 --epochs 100 --plot four.png
    swingby train --data mine.npz --start weights.npz --no-bias
    """  # noqa: D301 (click reads the backspace as a sign to keep the lines)
    from swingby.training import train as run_training

    for name, endings in (("out", (".npz",)), ("plot", PICTURES)):
        if given[name] is not None:
            check_target(name, given[name], endings)
    setting = _setting(given)
    count = whole(given["seeds"], "seeds") or 1
    if count > _MOST_SEEDS:
        raise InvalidInput("seeds", count, f"must be at most {_MOST_SEEDS}")
    record = given["record"]
    if record is not None and record not in ("every", "log"):
        record = whole(record, "record")
    run = run_training(
        [replace(setting, seed=setting.seed + k) for k in range(count)],
        start=None if given["start"] is None else Path(given["start"]),
        record=record,
        device=given["device"],
        checkpoint=given["checkpoint"],
        progress=True,
    )
    if given["out"] is not None:
        run.save(given["out"])
    if given["plot"] is not None:
        run.save_picture(given["plot"])
    return _tell(run, as_json=given["as_json"])


#: A typing error should not make a million settings before memory is looked at.
_MOST_SEEDS = 100_000


def _setting(given: dict[str, Any]) -> Setting:
    """What is trained, from options as they were typed."""
    from swingby.training import Data, Network, Optimizer, Setting, read_samples
    from swingby.training.data import samples_task

    points, dim = given["points_per_class"], given["dim"]
    samples = None if given["data"] is None else read_samples(Path(given["data"]))
    if samples is not None and not given["mu"]:
        for name in ("sigma", "dim"):
            if given[name]:
                raise InvalidInput(name, given[name], "must not be given without mu beside data")
        task = samples_task(samples)
    else:
        task = task_of(given["mu"], given["sigma"], dim or (samples and str(samples.dim)) or None)
    if task.dim == task.s:
        refuse("where every direction has a concept", "free_sigma")
    if given["depth"] == "1" and not given["symmetric"]:
        refuse("but with a hidden layer: --depth 2", "width")
    data = Data(
        n_per_class=None if points == "inf" else 5000 if points is None else points,
        center_cluster=given["center_cluster"],
        rotation=given["rotation"],
        truncation=given["truncation"],
        free_sigma=given["free_sigma"] or 0,
        samples=samples,
    )
    symmetric = given["symmetric"]
    depth: Any = "2" if symmetric and given["depth"] == "1" else given["depth"]
    network = Network(
        depth=depth,
        width=given["width"],
        activation=given["activation"],
        bias=not (given["no_bias"] or symmetric),
        symmetric=symmetric,
        initialization=given["initialization"],
        scale=given["scale"],
    )
    optimizer = Optimizer(
        kind=given["optimizer"],
        lr=given["lr"],
        batch_size=given["batch_size"],
        loss=given["loss"],
        shuffle=given["shuffle"],
        weight_decay=given["weight_decay"],
    )
    return Setting(
        task,
        data,
        network,
        optimizer,
        epochs=given["epochs"],
        steps=given["steps"],
        seed=whole(given["seed"], "seed", 0) or 0,
        precision=given["precision"],
    )


def _tell(run: TrainingRun, *, as_json: bool) -> int:
    say(run.to_grid(), run.to_dict() if as_json else None, as_json=as_json)
    return 0 if set(run.outcomes) == {"learned"} else 1
