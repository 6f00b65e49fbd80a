"""How fast networks are trained: against a straightforward loop in PyTorch, and by seeds.

Run with ``python -m benchmarks.training [--out file]``. The setting is experiment 2 of the authors'
public code: three clusters of 5000 points, the one at the origin included, mu = (1, 2), variance
0.05, d = 64, batches of 128 in one order, learning rate 0.1, 40 epochs. The loop is what one would
write: nn.Linear, torch.optim.SGD, mse_loss, and at every step the loss on 5000 points around the
test point, as the authors do, or the output at the test point alone. swingby records output,
Jacobian and loss at all four test points at every step. Times are medians of runs that take
turns; slow runs are ended after a few epochs, and scaled.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from swingby.lab.networks import Data, Network, Optimizer, Setting, train
from swingby.lab.networks.training_points import batch_order, directions, training_points
from swingby.lab.networks.weights import initial_weights
from swingby.report import Grid
from swingby.theory.task import SIMTask

EXPERIMENT = Setting(
    SIMTask([1, 2], [0.05**0.5] * 2, dim=64),
    Data(5000, center_cluster=True, rotation=True),
    optimizer=Optimizer(lr=0.1, batch_size=128),
    epochs=40,
)
NETWORKS = {
    "1 layer": Network(),
    "2 layers": Network(2),
    "4 layers": Network(4),
    "2 layers, ReLU": Network(2, activation="relu"),
}
REPEATS = 3


def loop(setting: Setting, around: int) -> np.ndarray:
    """Outputs of the straightforward loop at every step.

    Parameters
    ----------
    setting : Setting
    around : int
        Points around the test point at which the loss is taken at every step; 0 for the output
        at the test point itself.

    Returns
    -------
    ndarray
    """
    frame, task = directions(setting), setting.task
    points = torch.tensor(training_points(setting)[0] @ frame.T, dtype=torch.float32)
    seen = task.test_point[None]
    if around:
        spread = np.array([float(one) for one in task.sigma])
        noise = np.random.default_rng(0).standard_normal((around, task.s)) * spread
        seen = np.repeat(seen, around, axis=0)
        seen[:, : task.s] += noise
    test_points = torch.tensor(seen @ frame.T, dtype=torch.float32)
    layers: list[torch.nn.Module] = []
    weights = [torch.tensor(one, dtype=torch.float32) for one in initial_weights(setting)]
    for W, b in zip(weights[::2], weights[1::2], strict=True):
        if layers and setting.network.activation == "relu":
            layers.append(torch.nn.ReLU())
        layer = torch.nn.Linear(W.shape[1], W.shape[0])
        with torch.no_grad():
            layer.weight.copy_(W)
            layer.bias.copy_(b)
        layers.append(layer)
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=setting.optimizer.lr)
    order = torch.tensor(batch_order(setting, 0))
    found = []
    for step in range(setting.total_steps):
        with torch.no_grad():
            output = model(test_points)
            if around:
                found.append([torch.nn.functional.mse_loss(output, test_points).item()])
            else:
                found.append(output[0].tolist())
        place = step % setting.steps_per_epoch * setting.batch
        batch = points[order[place : place + setting.batch]]
        loss = torch.nn.functional.mse_loss(model(batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return np.array(found) if around else np.array(found) @ frame[:, : task.s]


def seconds(call: Callable[[], object]) -> float:
    """Of one call: processor time on one thread, which others do not disturb, else by the wall."""
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    started = clock()
    call()
    return clock() - started


def medians(*calls: Callable[[], object]) -> list[float]:
    """Median seconds of calls that take turns."""
    for call in calls[:2]:
        call()
    times = [[seconds(call) for call in calls] for _ in range(REPEATS)]
    return [statistics.median(column) for column in zip(*times, strict=True)]


def same(setting: Setting) -> None:
    """End the benchmark when the loop does something else."""
    short = replace(setting, epochs=2)
    expected = loop(short, 0)
    found = train(short).output[0, : len(expected), -1]
    if np.abs(found - expected).max() > 1e-4:
        raise SystemExit("the outputs of the loop are others")


def row(name: str, network: Network, threads: int, epochs: int) -> list[str]:
    """One network: single runs against both loops, and 64 seeds against one."""
    torch.set_num_threads(threads)
    setting = replace(EXPERIMENT, network=network)
    short = replace(setting, epochs=epochs)
    same(setting)
    scale = setting.total_steps / short.total_steps
    many = [replace(setting if network.linear else short, seed=k) for k in range(64)]
    crowd = scale if not network.linear else 1.0
    one, around, point, all64 = medians(
        lambda: train(setting),
        lambda: loop(short, 5000),
        lambda: loop(short, 0),
        lambda: train(many),
    )
    around, point, all64 = around * scale, point * scale, all64 * crowd
    return [
        name,
        str(threads),
        f"{one:.2f}",
        f"{around:.1f}",
        f"{around / one:.0f}",
        f"{point:.1f}",
        f"{point / one:.1f}",
        f"{all64:.2f}",
        f"{all64 / one:.1f}",
    ]


def table(threads: tuple[int, ...]) -> Grid:
    """Measure everything.

    Parameters
    ----------
    threads : tuple of int
        Numbers of threads of torch.

    Returns
    -------
    Grid
    """
    rows = [
        row(name, network, count, 4 if network.linear else 2)
        for name, network in NETWORKS.items()
        for count in threads
    ]
    return Grid(
        title="Training, experiment 2 of the public code: seconds",
        columns=[
            "network",
            ">threads",
            ">swingby",
            ">loop, 5000 points seen",
            ">ratio",
            ">loop, test point seen",
            ">ratio",
            ">64 seeds",
            ">in units of one",
        ],
        rows=rows,
        below=[
            f"Medians of {REPEATS}; processor time for one thread, else time by the wall;"
            f" {EXPERIMENT.total_steps} steps. The loops ran for 4 epochs (ReLU: 2, the 64 seeds as"
            " well) and are scaled. A small step takes one thread in swingby, whatever torch may"
            " use.",
            f"Python {platform.python_version()}, torch {torch.__version__}, {platform.machine()}.",
        ],
    )


def main() -> None:
    """Print the table, and write it as Markdown where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    grid = table(tuple(arguments.threads))
    print(grid.to_text(width=150))
    if arguments.out is not None:
        arguments.out.write_text(grid.to_markdown() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
