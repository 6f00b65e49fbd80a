"""The command network: the modes of a linear network on data of one's own, and recorded weights."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from swingby.cli import options
from swingby.cli.arguments import Arguments, exit_code, refuse
from swingby.cli.command import command
from swingby.cli.options import PICTURES
from swingby.errors import MISSING, InvalidInput
from swingby.report.files import write_csv
from swingby.report.picture_style import styled
from swingby.report.pictures import new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from swingby.verify.comparing.network_comparison import NetworkComparison
    from swingby.verify.network_schedule import NetworkSchedule


@command(
    click.argument("weights", nargs=-1, required=True),
    options.text("--data", "FILE", "Required. Samples X and Y: .npz or .safetensors."),
    options.text("--lr", "X", "Required. Learning rate of the run."),
    options.text("--momentum", "X", "Momentum, as of torch's SGD.", "0"),
    options.flag("--nesterov", "Use Nesterov's momentum, as of torch's SGD."),
    options.text("--weight-decay", "X", "Weight decay, as of torch's SGD.", "0"),
    options.choice(
        "--loss", "half mse sum", "half: half the summed square; mse, sum: those of MSELoss."
    ),
    options.number("--batch", "Size of minibatches.", shown="all samples"),
    options.flag("--replacement", "Batches are drawn with replacement, not by epochs."),
    options.number("--every", "Steps between two records.", shown="1, or steps in the file"),
    options.text("--steps", "N,N", "Steps of the records, in place of --every."),
    options.text(
        "--observed", "FILE", "Recorded products W, (n, outputs, inputs); WEIGHTS is step 0."
    ),
    options.number("--gradients", "Largest number of gradients to compute.", 150_000),
    options.JSON,
    options.out(*options.TABLES, ".csv", *PICTURES),
)
def network(arguments: Arguments) -> int:
    """Predict when a linear network learns each mode of your data.

    WEIGHTS is a file of named layers (.safetensors, .npz) or one .npy file per layer, without
    biases. Several files of named layers, or layers of shape (n, outputs, inputs), are recorded
    steps. The prediction from the first step is then compared with the others. Exit code 0: it
    holds, 1: a record is outside its error bar, 3: undecided.

    \b
    swingby network weights.safetensors --data points.npz --lr 0.01
    swingby network run_*.npz --every 100 --data points.npz --lr 0.01 --loss mse
    """  # noqa: D301
    from swingby.theory.budget import spent
    from swingby.verify.layer_order import read_tables

    for name, typed in (("data", "--data points.npz"), ("lr", "--lr 0.01")):
        if getattr(arguments, name) is None:
            raise InvalidInput(name, MISSING, f"must be given: {typed}")
    samples = read_tables(arguments.data, "data")
    if not {"X", "Y"} <= {*samples}:
        got = f"{arguments.data} ({', '.join(samples)})"
        raise InvalidInput("data", got, "must hold X and Y, one sample per row: numpy.savez")
    training = arguments.named(
        *("lr", "momentum", "nesterov", "weight_decay", "loss", "batch", "replacement")
    )
    training |= {"X": samples["X"], "Y": samples["Y"], "budget": arguments.gradients}
    result = _result(arguments, training)
    writers = {".csv": lambda path: write_csv(result.to_frame(), path)}
    writers |= dict.fromkeys(PICTURES, lambda path: _save_picture(result, path))
    arguments.deliver(result, writers=writers)
    code = exit_code([result.verdict])
    return 4 if code == 3 and spent() else code


def _result(arguments: Arguments, training: dict[str, Any]) -> NetworkSchedule | NetworkComparison:
    """The prediction of one record, or the comparison of several."""
    from swingby.verify.compare_network import compare_network
    from swingby.verify.layer_order import axes_of, read_file
    from swingby.verify.predict_network import predict_network

    weights: Any = list(arguments.weights)
    arrays = all(Path(path).suffix == ".npy" for path in weights)
    if arrays or len(weights) == 1:
        contents = [read_file(path) for path in weights]
        weights = contents if arrays else contents[0]
        layers = contents if arrays else [v for name, v in weights.items() if name != "steps"]
        unnamed = arrays or "arr_0" in weights
        if unnamed and len(layers) == 1 and axes_of(layers[0]) == 3:
            shape = " x ".join(map(str, layers[0].shape))
            words = "must be layers by name: of products W_L ... W_1 at steps give the layers of "
            words += f"step 0, and --observed {arguments.weights[0]}; of one layer name it: "
            words += "numpy.savez('run.npz', W1=...)"
            raise InvalidInput("weights", f"{arguments.weights[0]} ({shape})", words)
        if not any(axes_of(layer) == 3 for layer in layers):
            if arguments.observed is not None:
                return _of_products(arguments, weights, training)
            refuse("with one record", "every", "steps")
            return predict_network(weights, **training)
    if arguments.observed is not None:
        raise InvalidInput(
            "observed", arguments.observed, "must be given with only the layers of step 0"
        )
    return compare_network(weights, **_marks(arguments), **training)


def _marks(arguments: Arguments) -> dict[str, Any]:
    """The steps of the records."""
    return {"steps": arguments.steps and arguments.steps.split(","), "every": arguments.every}


def _of_products(arguments: Arguments, weights: Any, training: dict[str, Any]) -> NetworkComparison:
    """The comparison of recorded products with layers at step 0."""
    from swingby.verify.compare_network import compare_network
    from swingby.verify.layer_order import read_file

    observed = read_file(arguments.observed)
    if isinstance(observed, dict):
        if len(observed) != 1:
            got = f"{arguments.observed} ({', '.join(observed)})"
            raise InvalidInput("observed", got, "must hold one array of shape (n, outputs, inputs)")
        (observed,) = observed.values()
    return compare_network(weights, observed=observed, **_marks(arguments), **training)


def _save_picture(result: NetworkSchedule | NetworkComparison, path: str) -> None:
    """The result over steps, in a figure of its own."""

    def figure() -> Figure:
        with styled():
            picture = new_figure(7.2, 3.6)
            result.draw(picture.add_subplot())
        return picture

    save_figure(figure, path)
