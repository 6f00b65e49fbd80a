"""The commands train, vectors and relu: networks, trained and compared with the theory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swingby.checkout import studies_module
from swingby.cli import options
from swingby.cli.arguments import Arguments, Tables, exit_code, print_result, refuse
from swingby.cli.command import command
from swingby.cli.options import PICTURES
from swingby.errors import MISSING, InvalidInput
from swingby.report.progress import PartProgress
from swingby.theory.budget import expect

if TYPE_CHECKING:
    from swingby.lab.diffusion.vectors import VectorSetting
    from swingby.lab.networks import Setting

#: Seconds of a step of training, without and with a layer that is not linear, and of a
#: multiplication in it.
STEP_SECONDS, PRODUCT_SECONDS = (1e-4, 2e-3), 2e-10
#: Seconds of the study of ReLU networks on one core, quick and in full.
RELU_SECONDS = (600, 7200)


@command(
    options.MU,
    options.SIGMA,
    options.DIM,
    options.text("--data", "FILE", "Points of your own: .npz (X, Y, labels) or .csv."),
    options.text("--points-per-class", "N", "Points per cluster; inf: infinite data.", "5000"),
    options.text("--order", "FILE", "Points of each step, (steps, batch): .npy, .npz."),
    options.flag("--center-cluster", "Add a cluster at the origin."),
    options.flag("--rotation", "Rotate the data at random."),
    options.text("--truncation", "X", "Remove points within X min(mu) of the test point."),
    options.text("--free-sigma", "X", "Spread along directions without a concept.", "0"),
    options.text("--depth", "L", "Number of layers.", shown="1; 2 if symmetric"),
    options.text("--width", "N", "Width of hidden layers.", shown="d"),
    options.choice("--activation", "linear relu gelu", "Activation between layers."),
    options.flag("--no-bias", "Train without biases."),
    options.flag("--symmetric", "Train f(x) = U U^T x of Sec. 4.2."),
    options.choice(
        "--initialization", "torch gaussian uniform", "Distribution of the initial weights."
    ),
    options.text("--scale", "X", "Factor on all initial weights.", "1"),
    options.choice("--optimizer", "sgd gd adam adamw", "Optimizer."),
    options.text("--lr", "X", "Learning rate.", "0.1"),
    options.text("--batch-size", "N", "Points per step.", "128"),
    options.choice("--loss", "torch paper", "torch: mean squared error; paper: (2.1)."),
    options.choice("--shuffle", "once epoch", "Shuffle the points once, or in every epoch."),
    options.text("--weight-decay", "X", "Weight decay, as torch has it.", "0"),
    options.text("--momentum", "X", "Momentum of sgd and gd.", "0"),
    options.flag("--nesterov", "Use Nesterov momentum."),
    options.text("--epochs", "N", "Number of epochs.", shown="40"),
    options.text("--steps", "N", "Number of steps, in place of epochs."),
    options.seed("the first network"),
    options.number("--seeds", "Number of networks, trained at once.", 1),
    options.text("--start", "FILE", "Initial weights and biases, in order of layers: .npz."),
    options.text(
        "--record",
        "every|log|N",
        "Steps to record; N: every N-th step.",
        shown="every; log past 10,000 steps",
    ),
    options.choice("--precision", "float32 float64", "Float type of the training."),
    options.choice("--device", "cpu cuda", "Device of the training."),
    options.text("--checkpoint", "FOLDER", "Save to FOLDER every minute, and resume from it."),
    options.target("--out", "Write everything recorded", (".npz",)),
    options.target("--plot", "Draw trajectories and losses", PICTURES),
    options.JSON,
)
def train(given: Arguments) -> int:
    """Train networks on a SIM task, and time each concept.

    With --data and without --mu, the task is estimated from the points and their labels. Exit code
    0: every network learned every concept (its output at the test point reached half), 1: some did
    not, or diverged.

    \b
    swingby train --mu 1,2 --sigma 0.05,0.05 --dim 64 --seeds 16
    swingby train --mu 1,2 --depth 4 --lr 1 --epochs 100 --plot four.png
    swingby train --data mine.npz --start weights.npz --no-bias
    """  # noqa: D301 (click reads the backspace as a sign to keep the lines)
    from swingby.lab.networks import train as run_training
    from swingby.theory import numbers

    record = given.record
    if record is not None and record not in ("every", "log"):
        record = numbers.whole(record, "record", 1)
    setting = _training_setting(given)
    settings = given.seeds_of(setting, 100_000)
    products = len(settings) * setting.batch * setting.network.depth * setting.width**2
    seconds = STEP_SECONDS[not setting.network.linear] + PRODUCT_SECONDS * products
    resumable = given.checkpoint is not None
    expect("the training", seconds * setting.total_steps, partial=resumable)
    start = None if given.start is None else Path(given.start)
    where = given.named("device", "checkpoint", "out")
    run = run_training(settings, start=start, record=record, progress=True, **where)
    if given.plot is not None:
        run.save_picture(given.plot)
    print_result(run.to_grid(), run.to_dict, as_json=given.as_json)
    return 0 if set(run.outcomes) == {"learned"} else 1


def _training_setting(given: Arguments) -> Setting:
    """The setting of a training run, from options as they were typed."""
    from swingby.lab.networks import Data, Network, Optimizer, Setting, read_samples
    from swingby.lab.networks.samples import samples_task
    from swingby.theory import numbers

    if given.data is None:
        refuse("but with points: --data mine.npz", "order")
    order = None if given.order is None else _array(given.order, "order")
    samples = None if given.data is None else read_samples(Path(given.data), order=order)
    if samples is not None and not given.mu:
        refuse("without mu beside data", "sigma", "dim")
        task = samples_task(samples)
    else:
        given.dim = given.dim or (samples and samples.dim) or None
        task = given.task()
    if task.dim == task.s:
        refuse("if every direction has a concept", "free_sigma")
    if given.depth == "1" and not given.symmetric:
        refuse("without a hidden layer: add --depth 2", "width")
    points = given.points_per_class
    data = Data(
        n_per_class=None if points == "inf" else numbers.whole(points, "points_per_class", 1),
        samples=samples,
        **given.named("center_cluster", "rotation", "truncation", "free_sigma"),
    )
    network = Network(
        depth=given.depth or (2 if given.symmetric else 1),
        bias=not (given.no_bias or given.symmetric),
        **given.named("width", "activation", "symmetric", "initialization", "scale"),
    )
    rule = given.named("lr", "batch_size", "loss", "shuffle", "weight_decay")
    optimizer = Optimizer(kind=given.optimizer, **rule, **given.named("momentum", "nesterov"))
    length = given.named("epochs", "steps", "seed", "precision")
    return Setting(task, data, network, optimizer, **length)


def _array(path: str, name: str) -> Any:
    """The one array of a .npy or .npz file."""
    from swingby.theory.input_files import read_arrays

    arrays = read_arrays(path, name)
    if len(arrays) != 1:
        raise InvalidInput(name, f"{path} ({', '.join(arrays)})", "must hold one array")
    return next(iter(arrays.values()))


@command(
    options.MU,
    options.SIGMA,
    options.text("--omega", "X", "Scale of the initial weights.", "1e-4"),
    options.text("--eta", "X", "Required, or --lr. Time of the theory per step."),
    options.text("--lr", "X", "Learning rate of gradient descent, in place of --eta."),
    options.choice(
        "--denoiser", "two_layer linear symmetric mlp", "Form of the network; symmetric: U U^T."
    ),
    options.choice(
        "--reads", "condition both", "Input of the network; both: also the noisy point."
    ),
    options.number("--width", "Width of a hidden layer.", shown="concepts"),
    options.choice("--activation", "relu gelu", "Activation of mlp."),
    options.number("--batch", "Points of each cluster per step.", 16),
    options.number("--steps", "Number of training steps.", 500),
    options.seed("the first network"),
    options.number("--seeds", "Number of networks, trained at once.", 1),
    options.JSON,
    options.out(),
)
def vectors(given: Arguments) -> int:
    """Train diffusion models on points of a SIM task.

    The condition of a point is the point itself. A half-time is the step at which a diagonal entry
    of the conditional map reaches 1/2. Exit code 0: every prediction holds, 1: some fail, 3: none
    fails, but some are undecided.

    \b
    swingby vectors --mu 1,2 --sigma 0.05,0.05 --eta 0.03
    swingby vectors --mu 1,2 --eta 0.1 --denoiser linear --reads both --seeds 5
    """  # noqa: D301 (click reads the backspace as a sign to keep the lines)
    from swingby.simulate.on_torch import load_torch

    if given.denoiser != "mlp":
        refuse("without --denoiser mlp", "activation")
    settings = given.seeds_of(_vector_setting(given), 10_000)
    load_torch()
    from swingby.lab.diffusion.vectors import compare_vectors

    comparison = compare_vectors(settings)
    given.deliver(comparison)
    return exit_code(row.verdict for row in comparison.rows)


def _vector_setting(given: Arguments) -> VectorSetting:
    """The setting that is trained, from options as they were typed."""
    from swingby.lab.diffusion.vectors import VectorSetting

    if given.eta is None and given.lr is None:
        raise InvalidInput("eta", MISSING, "must be given: --eta 0.03, or --lr 0.01")
    passed = given.named("width", "omega", "lr", "eta", "batch", "steps", "seed", "activation")
    return VectorSetting(given.task(), given.denoiser, given.reads, **passed)


@command(
    options.text("--data", "FILE", "Data to judge: CSV, y in the last column."),
    options.flag("--quick", "Run a shorter study: minutes, not an hour."),
    options.seed("all data and networks", 7),
    options.target("--store", "Save the study to a file, and resume it", (".json",)),
    options.number("--workers", "Number of processes.", shown="cores, two at most"),
    options.JSON,
    options.out(),
)
def relu(given: Arguments) -> int:
    """Study alignment and threshold of two-layer ReLU networks.

    The study measures when the networks align early, and from how many samples on they fit no
    noise. It needs a checkout; --data does not. Exit code 0: every verdict holds, 1: some fail, 3:
    none fails, but some are undecided.

    \b
    swingby relu --quick
    swingby relu --store relu.json --out relu.md
    swingby relu --data points.csv
    """  # noqa: D301 (click reads the backspace as a sign to keep the lines)
    if given.data is not None:
        refuse("together with data", "quick", "store", "workers")
        return _look(given)
    threshold = studies_module("studies.relu_threshold", "the study of swingby relu")
    workers = given.workers or min(2, os.cpu_count() or 1)
    seconds = RELU_SECONDS[not given.quick] / workers
    expect("the study", seconds, partial=given.store is not None)
    with PartProgress(1, "relu", shown=True) as progress:
        progress.start("relu")
        passed = given.named("quick", "seed", "store")
        measured = threshold.study(workers=workers, tell=progress.tell, **passed)
    given.deliver(Tables(threshold.tables(measured)), measured.to_dict)
    return exit_code(row["verdict"] for row in threshold.rows(measured))


def _look(given: Arguments) -> int:
    """The extremal vectors of data in a file, and what is asked of them."""
    from swingby.lab.relu import check, extremal_vectors
    from swingby.theory.input_files import text_of
    from swingby.theory.number_lines import number_lines

    path = given.data
    text = text_of(path, "data", "file of numbers")
    table = number_lines(text, "data", path, "file of numbers").floats()
    if table.shape[1] < 3:
        raise InvalidInput("data", path, "must have two or more columns of x, and y last")
    extremal = extremal_vectors(table[:, :-1], table[:, -1], seed=given.seed)
    report = check(table[:, :-1], table[:, -1], seed=given.seed)
    content = report.to_dict() | {"extremal_vectors": extremal.to_dict()}
    given.deliver(Tables((report.to_grid(), extremal.to_grid())), lambda: content)
    return exit_code(statement.verdict for statement in report.statements)
