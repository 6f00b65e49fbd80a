"""The command ``swingby train``: networks on a SIM task, many seeds at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from swingby.cli.given import (
    DIM,
    JSON,
    MU,
    SIGMA,
    Sections,
    choice,
    flag,
    number,
    refuse,
    say,
    seed_option,
    setting_seeds,
    target_option,
    task_of,
    text,
    with_options,
)
from swingby.errors import InvalidInput
from swingby.report.pictures import ENDINGS as PICTURES

if TYPE_CHECKING:
    from swingby.training import Setting, TrainingRun

_OPTIONS = (
    MU,
    SIGMA,
    DIM,
    text("--data", "FILE", "Own points: .npz (X, Y, labels) or .csv."),
    text("--points-per-class", "N", "Points; inf: infinite data.", "5000"),
    flag("--center-cluster", "Add a cluster at the origin."),
    flag("--rotation", "Turn the data by a random rotation."),
    text("--truncation", "X", "No point within X min(mu) of the test point."),
    text("--free-sigma", "X", "Spread along directions without a concept.", "0"),
    text("--depth", "L", "Number of weights.", shown="1; 2 if symmetric"),
    text("--width", "N", "Width of hidden layers.", shown="d"),
    choice("--activation", "linear relu gelu", "Between layers."),
    flag("--no-bias", "Train weights alone."),
    flag("--symmetric", "Train f(x) = U U^T x, of Sec. 4.2."),
    choice("--initialization", "torch gaussian uniform", "Law of the initial weights."),
    text("--scale", "X", "Factor of all initial weights.", "1"),
    choice("--optimizer", "sgd gd adamw", "Optimizer."),
    text("--lr", "X", "Learning rate.", "0.1"),
    text("--batch-size", "N", "Points per step.", "128"),
    choice("--loss", "torch paper", "Mean square of torch, or (2.1)."),
    choice("--shuffle", "once epoch", "Order of points."),
    text("--weight-decay", "X", "Weight decay of adamw.", "0"),
    text("--epochs", "N", "Length of the training.", shown="40"),
    text("--steps", "N", "Length in steps, in place of epochs."),
    seed_option("the first network"),
    number("--seeds", "Number of networks, trained at once.", 1),
    text("--start", "FILE", "Initial weights and biases in order: .npz."),
    text(
        "--record",
        "every|log|N",
        "Recorded steps; N: every N-th.",
        shown="every; log past 10,000 steps",
    ),
    choice("--precision", "float32 float64", "Floats of the training."),
    choice("--device", "cpu cuda", "Where to train."),
    text("--checkpoint", "FOLDER", "Save there every minute, and resume from there."),
    target_option("--out", "Write all that was recorded", (".npz",)),
    target_option("--plot", "Draw trajectories and losses", PICTURES),
    JSON,
)


@click.command(cls=Sections)
@with_options(_OPTIONS)
def train(**given: Any) -> int:
    """Train networks on a SIM task, and time their concepts.

    Exit code 0: every network learned every concept (its output at the test point reached half),
    1: some did not, or diverged. With --data and without --mu, the task is the one
    that the points and their labels look like.

    \b
    swingby train --mu 1,2 --sigma 0.05,0.05 --dim 64 --seeds 16
    swingby train --mu 1,2 --depth 4 --lr 1 --epochs 100 --plot four.png
    swingby train --data mine.npz --start weights.npz --no-bias
    """  # noqa: D301 (click reads the backspace as a sign to keep the lines)
    from swingby.theory import numbers
    from swingby.training import train as run_training

    record = given["record"]
    if record is not None and record not in ("every", "log"):
        record = numbers.whole(record, "record", 1)
    run = run_training(
        setting_seeds(_setting(given), given["seeds"], 100_000),
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


def _setting(given: dict[str, Any]) -> Setting:
    """What is trained, from options as they were typed."""
    from swingby.training import Data, Network, Optimizer, Setting, read_samples
    from swingby.training.data import samples_task

    points, dim = given["points_per_class"], given["dim"]
    samples = None if given["data"] is None else read_samples(Path(given["data"]))
    if samples is not None and not given["mu"]:
        for name, default in (("sigma", ("0",)), ("dim", None)):
            if given[name] != default:
                raise InvalidInput(name, given[name], "must not be given without mu beside data")
        task = samples_task(samples)
    else:
        task = task_of(given["mu"], given["sigma"], dim or (samples and samples.dim) or None)
    if task.dim == task.s:
        refuse("where every direction has a concept", "free_sigma")
    if given["depth"] == "1" and not given["symmetric"]:
        refuse("but with a hidden layer: --depth 2", "width")
    data = Data(
        n_per_class=None if points == "inf" else points,
        center_cluster=given["center_cluster"],
        rotation=given["rotation"],
        truncation=given["truncation"],
        free_sigma=given["free_sigma"],
        samples=samples,
    )
    symmetric = given["symmetric"]
    network = Network(
        depth=given["depth"] or (2 if symmetric else 1),
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
        seed=given["seed"],
        precision=given["precision"],
    )


def _tell(run: TrainingRun, *, as_json: bool) -> int:
    say(run.to_grid(), run.to_dict() if as_json else None, as_json=as_json)
    return 0 if set(run.outcomes) == {"learned"} else 1
