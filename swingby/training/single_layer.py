r"""Theorem 4.1 against one layer under SGD: how far the output trajectory is from it.

The theorem is for infinite data and infinitely small steps. Three things come between it and
SGD, and each is measured by leaving out the others:

* the step: gradient descent on the second moment S is :math:`(I - c\,\mathrm{lr}\,S)^t` where the
  theorem has :math:`e^{-c\,\mathrm{lr}\,S t}`;
* the sample: its S is not diag(a);
* the noise: each batch has an S of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from swingby.errors import InvalidInput
from swingby.theory.lemmas import one_layer_output
from swingby.training.clock import clock
from swingby.training.points import training_points
from swingby.training.result import TrainingRun
from swingby.training.run import train
from swingby.training.setting import Setting
from swingby.training.weights import initial_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class OutputErrors:
    """Output at the test point less Theorem 4.1. Made by :func:`output_errors`.

    Parameters
    ----------
    population : ndarray of shape (r,)
        Largest error over all recorded steps and concepts, in units of mu, with the signal of
        the task.
    own : ndarray of shape (r,)
        The same with the second moment of the run's own sample in place of diag(a).
    half_times, own_half_times : ndarray of shape (r, s)
        Observed less predicted step at which the output passes half of mu, in steps.
    times : ndarray of shape (r, s)
        The observed ones.
    """

    population: Floats
    own: Floats
    half_times: Floats
    own_half_times: Floats
    times: Floats


def output_errors(settings: Sequence[Setting]) -> OutputErrors:
    """Train one layer without bias and compare its output with Theorem 4.1.

    Parameters
    ----------
    settings : sequence of Setting
        All of one shape, as for :func:`swingby.training.run.train`, without bias and with
        unturned data.

    Raises
    ------
    InvalidInput
        For other networks.

    References
    ----------
    Theorem 4.1.

    Examples
    --------
    >>> from swingby.theory.task import SIMTask
    >>> from swingby.training import Data, Network, Optimizer
    >>> one = Setting(
    ...     SIMTask([1, 2]),
    ...     Data(None),
    ...     Network(bias=False),
    ...     Optimizer("gd", lr=0.001, loss="paper"),
    ...     steps=3000,
    ... )
    >>> bool(output_errors([one]).population[0] < 0.001)
    True
    """
    given = tuple(settings)
    for one in given:
        if not isinstance(one, Setting):
            raise InvalidInput("settings", one, "must be Settings")
        plain = not one.network.bias and not one.data.rotation
        if one.network.depth != 1 or not plain or one.task.rotation is not None:
            raise InvalidInput(
                "settings", one, "must be one layer without bias on unturned data", "Theorem 4.1"
            )
    run = train(given)
    found = [_one(run, place) for place in range(len(run))]
    return OutputErrors(
        population=np.array([one[0] for one in found]),
        own=np.array([one[1] for one in found]),
        half_times=np.stack([one[2] for one in found]),
        own_half_times=np.stack([one[3] for one in found]),
        times=run.half_times,
    )


def _one(run: TrainingRun, place: int) -> tuple[float, float, Floats, Floats]:
    setting = run.settings[place]
    task, s = setting.task, setting.task.s
    W0, rate = initial_weights(setting)[0], clock(setting)
    # In float32 the network starts from the rounded weights.
    W0 = W0.astype(setting.precision).astype(np.float64)
    steps = np.arange(setting.total_steps + 1)
    law = one_layer_output(task, W0, steps * rate)[:, :s]
    own = law if setting.data.n_per_class is None else own_output(setting, W0, steps)[:, :s]
    mu = task.test_point[:s]
    seen = run.output[place, :, -1]
    off = [float(np.abs((seen - one[run.steps]) / mu).max()) for one in (law, own)]
    halves = [run.half_times[place] - first_half(steps, one / mu) for one in (law, own)]
    return off[0], off[1], halves[0], halves[1]


def own_moment(setting: Setting) -> Floats:
    """Second moment of the sample of a setting, in the coordinates of the concepts.

    Parameters
    ----------
    setting : Setting
        With finite data.
    """
    points, _ = training_points(setting)
    return np.asarray(points.T @ points / len(points))


def own_output(setting: Setting, W0: Floats, steps: NDArray[np.int64]) -> Floats:
    r"""Output at the test point by gradient flow on the second moment of the sample.

    Theorem 4.1 in the eigenbasis of the moment: :math:`\hat x + (W(0) - I) e^{-S t} \hat x`.
    """
    values, basis = np.linalg.eigh(own_moment(setting))
    point = setting.task.test_point
    decay = np.exp(-np.outer(steps * clock(setting), values))
    left = (decay * (basis.T @ point)) @ basis.T
    return np.asarray(point + left @ (W0 - np.eye(len(point))).T)


def first_half(steps: NDArray[np.int64], share: Floats) -> Floats:
    """First step at which each column is at least 1/2; nan where it never is."""
    reached = share >= 0.5
    return np.where(reached.any(axis=0), steps[reached.argmax(axis=0)], np.nan)


def seeds(setting: Setting, count: int, first: int = 0) -> list[Setting]:
    """One setting with consecutive seeds."""
    return [replace(setting, seed=first + k) for k in range(count)]
