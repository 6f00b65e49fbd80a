"""Recorded runs of the authors' public code, and what swingby trains in their settings.

The numbers were recorded from ``main.py`` of FFTYYY/ConceptDynamics-code (commit d26bebc) on a CPU
with seed 2333: the epochs at which the output at the test point crosses half of mu (interpolated
between the states after whole epochs) and its loss after 39 epochs. Command 1 trains four
clusters, the others two and a third at the origin; sigma is a variance.

Of the commands with one layer and two concepts the output and the Jacobian at the start were
recorded too, and training starts from them; only the batches differ from seed to seed. The other
runs are compared with what random starts do.

Run with ``python -m benchmarks.recorded_runs``.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace

import numpy as np

from swingby import SIMTask
from swingby.lab.networks import Data, Network, Setting, TrainingRun, train
from swingby.lab.networks.training_points import directions
from swingby.lab.networks.weights import initial_weights
from swingby.report import Grid

#: Of commands 2 and 6, before the first step.
OUTPUT = np.array([-0.23723, -0.07642])
JACOBIAN = np.array([[-0.07999, -0.04368], [0.00025, -0.03054]])


@dataclass(frozen=True)
class Recorded:
    """One run of the public code.

    Parameters
    ----------
    command : str
        Number in its ``run.sh``.
    setting : Setting
    crossings : tuple of float
        Epochs, by concept.
    loss : float
        After 39 epochs.
    order : tuple of int
        Concepts as they are learned, from 0.
    start_known : bool
    """

    command: str
    setting: Setting
    crossings: tuple[float, ...]
    loss: float
    order: tuple[int, ...]
    start_known: bool


def _setting(
    mu: tuple[int, ...], variances: tuple[float, ...], depth: int = 1, *, center_cluster: bool
) -> Setting:
    task = SIMTask(mu, np.sqrt(variances).tolist(), dim=64)
    data = Data(center_cluster=center_cluster, rotation=True)
    return Setting(task, data, Network(depth), epochs=40)


RUNS = (
    Recorded(
        "1",
        _setting((1, 2, 3, 4), (0.5,) * 4, center_cluster=False),
        (3.2507, 1.1736, 0.6972, 0.6420),
        1.563e-4,
        (3, 2, 1, 0),
        False,
    ),
    Recorded(
        "2",
        _setting((1, 2), (0.05, 0.05), center_cluster=True),
        (6.1011, 1.2678),
        4.3506e-3,
        (1, 0),
        True,
    ),
    Recorded(
        "6",
        _setting((1, 2), (2.0, 0.05), center_cluster=True),
        (0.9586, 1.2577),
        1.7e-7,
        (0, 1),
        True,
    ),
    Recorded(
        "28",
        _setting((2, 4), (0.05, 0.05), 4, center_cluster=True),
        (5.0500, 0.6365),
        5.2e-6,
        (1, 0),
        False,
    ),
)


def half_crossings(run: TrainingRun) -> np.ndarray:
    """In epochs, from the outputs after whole epochs, as they were recorded.

    Of the runs that start below one half, as the recorded ones do.
    """
    per_epoch = run.settings[0].steps_per_epoch
    whole = np.flatnonzero(run.steps % per_epoch == 0)
    share = run.output[:, whole, -1] / run.points[:, None, -1]
    share = share[(share[:, 0] < 0.5).all(axis=1)]
    after = (share >= 0.5).argmax(axis=1)
    above, below = (np.take_along_axis(share, (after - k)[:, None], axis=1)[:, 0] for k in (0, 1))
    return after - 1 + (0.5 - below) / (above - below)


def as_recorded(one: Setting) -> list[np.ndarray]:
    """Initial weights with the recorded output and Jacobian at the test point."""
    s, R = one.task.s, directions(one)
    W, b = initial_weights(one)
    R, mu = R[:, :s], one.task.test_point[:s]
    W = W + R @ (JACOBIAN - R.T @ W @ R) @ R.T
    return [W, b + R @ (OUTPUT - JACOBIAN @ mu - R.T @ b)]


def trained(one: Recorded, seeds: int) -> TrainingRun:
    """The setting of a recorded run with some seeds, kept after every epoch."""
    settings = [replace(one.setting, seed=seed) for seed in range(seeds)]
    start = [as_recorded(each) for each in settings] if one.start_known else None
    return train(settings, start=start, record=one.setting.steps_per_epoch)


def final_loss(run: TrainingRun) -> float:
    """Loss at the test point after 39 epochs, the geometric mean over the runs."""
    return float(np.exp(np.log(run.test_loss[:, 39]).mean()))


def table(seeds: int) -> Grid:
    """Recorded beside trained."""
    rows = []
    for one in RUNS:
        run = trained(one, seeds)
        found = half_crossings(run)
        as_asked = (run.order() == one.order).all(axis=1).mean()
        rows.append(
            [
                one.command,
                ", ".join(f"{value:.2f}" for value in one.crossings),
                ", ".join(f"{value:.2f}" for value in found.mean(axis=0)),
                ", ".join(f"{value:.2f}" for value in found.std(axis=0)),
                f"{one.loss:.1e}",
                f"{final_loss(run):.1e}",
                f"{as_asked:.0%}",
                "recorded" if one.start_known else "random",
            ]
        )
    header = ["command", "half-crossings", "trained", "spread", "loss", "trained", "order", "start"]
    return Grid(
        f"Recorded runs, and {seeds} seeds of each",
        header,
        rows,
        ["Half-crossings in epochs, by concept; loss at the test point after 39 epochs."],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=64)
    print(table(parser.parse_args().seeds).to_text(width=120))


if __name__ == "__main__":
    main()
