r"""Transient memorization against the dimension d and the width d' (App. E.2).

The law says that the dimension itself does not matter: for Gaussian U(0) the block of W(0) on the
s concepts is that of s rows of d' numbers, whatever d is, and directions without a concept hardly
act on it while W(0) is small. What matters is d': minor entries are smaller than major ones by
:math:`1/\sqrt{d'}` at the start. In high dimension transients are weaker because a network there
is usually wide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.theory import numbers
from swingby.theory.task import SIMTask
from swingby.training.judging import SWING, largest_minor
from swingby.training.parts import Data, Network, Optimizer
from swingby.training.run import train
from swingby.training.setting import Setting
from swingby.training.shares import Share
from swingby.training.starts import gram
from swingby.verify.predict_swing import predict_swing_batch

if TYPE_CHECKING:
    from swingby.report import Grid

#: Fig. 2 (c).
FIG2 = SIMTask([1, 2], ["1/20", "1/20"])
#: Largest eta a_max.
STEP = 0.05


@dataclass(frozen=True)
class Dimension:
    """Networks of one dimension and one width.

    Parameters
    ----------
    dim, width : int
        d and d'.
    trained : Share
        Of networks with two descents of the test loss or more.
    theory, theory_most : Share
        Of Gaussian W(0) with that, without and with those that the law leaves undecided because
        a swing is near the threshold.
    sizes, theory_sizes : tuple of three float
        Median and quartiles (25 %, 50 %, 75 %) of the largest minor entry over time.
    """

    dim: int
    width: int
    trained: Share
    theory: Share
    theory_most: Share
    sizes: tuple[float, float, float]
    theory_sizes: tuple[float, float, float]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "dim": self.dim,
            "width": self.width,
            "share": self.trained.value,
            "low": self.trained.low,
            "high": self.trained.high,
            "theory_share": self.theory.value,
            "theory_most": self.theory_most.value,
            "sizes": list(self.sizes),
            "theory_sizes": list(self.theory_sizes),
        }


def transient_by_dimension(
    shapes: Sequence[tuple[int, int]],
    *,
    task: SIMTask = FIG2,
    omega: Any = 1e-3,
    runs: int = 200,
    theory_runs: int = 4000,
    seed: int = 0,
) -> tuple[Dimension, ...]:
    r"""Train U U^T in several dimensions and compare its transients with those of the law.

    Parameters
    ----------
    shapes : sequence of (d, d')
    task : SIMTask
        Its dimension is replaced.
    omega : number
        :math:`\mathbb E\,w_{ii}(0)`, so that entries of U(0) have the variance omega / d'.
    runs : int
        Networks per shape.
    theory_runs : int
        Draws of W(0) on the concepts alone, of other numbers than those that are trained.
    seed : int

    Raises
    ------
    InvalidInput

    References
    ----------
    App. E.2.

    Examples
    --------
    >>> (found,) = transient_by_dimension([(2, 2)], runs=100, theory_runs=1000)
    >>> found.trained.low < found.theory_most.value and found.theory.value < found.trained.high
    True
    """
    size = numbers.within_float(numbers.positive(omega, "omega"), "omega")
    draws = numbers.whole(theory_runs, "theory_runs", 1, most=10_000_000)
    count = numbers.whole(runs, "runs", 1, most=1_000_000)
    found = []
    for place, shape in enumerate(shapes):
        if len(shape) != 2:
            raise InvalidInput("shapes", shape, "must be pairs of d and width", "App. E.2")
        d = numbers.whole(shape[0], "shapes", task.s, "App. E.2")
        width = numbers.whole(shape[1], "shapes", task.s, "App. E.2")
        wide = SIMTask(task.mu, task.sigma, d)
        found.append(_one(wide, width, size, count, draws, (seed, place)))
    return tuple(found)


def _one(
    task: SIMTask, width: int, omega: float, runs: int, theory_runs: int, key: tuple[int, int]
) -> Dimension:
    tau = math.sqrt(omega / width)
    signal = task.signal[: task.s]
    eta = STEP / float(signal.max())
    weakest = float(signal[signal > 0].min())
    # Late enough for a pivot that is a hundred times smaller than omega.
    steps = math.ceil((math.log(100 / omega) + 8) / (2 * math.log1p(eta * weakest)))
    network = Network(2, width, bias=False, symmetric=True, initialization="gaussian", scale=tau)
    setting = Setting(
        task,
        Data(None),
        network,
        Optimizer("gd", lr=eta / 2, loss="paper"),
        steps=steps,
        precision="float64",
    )
    # Seeds of their own for every shape.
    first = 1_000_000 * key[0] + max(1000, runs) * key[1]
    run = train(
        [replace(setting, seed=first + k) for k in range(runs)], record=max(1, steps // 500)
    )
    rng = np.random.default_rng([*key, theory_runs])
    W0 = gram(tau * rng.standard_normal((theory_runs, task.s, width)))
    law = predict_swing_batch(
        signal, W0, eta, "gd", test_point=task.test_point[: task.s], swing=SWING
    )
    inside = law.least_descents >= 0
    least, most = (int((one[inside] >= 2).sum()) for one in (law.least_descents, law.most_descents))
    known = law.transient[np.isfinite(law.transient)]
    return Dimension(
        dim=task.dim,
        width=width,
        trained=Share(int((run.descents(SWING) >= 2).sum()), runs),
        theory=Share(least, int(inside.sum())),
        theory_most=Share(most, int(inside.sum())),
        sizes=_quartiles(largest_minor(run)),
        theory_sizes=_quartiles(known),
    )


def _quartiles(values: Any) -> tuple[float, float, float]:
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75]).tolist()
    return low, middle, high


def dimension_grid(found: Sequence[Dimension]) -> Grid:
    """A row per shape."""
    from swingby.report import Grid

    def quartiles(values: tuple[float, float, float]) -> str:
        return f"{values[1]:.3f} ({values[0]:.3f} to {values[2]:.3f})"

    rows = [
        [
            str(one.dim),
            str(one.width),
            str(one.trained),
            f"{one.theory.value:.3f} to {one.theory_most.value:.3f}",
            quartiles(one.sizes),
            quartiles(one.theory_sizes),
        ]
        for one in found
    ]
    columns = (">d", ">d'", ">two descents [95 %]", ">law", ">largest minor entry", ">law")
    return Grid(
        "Transients against dimension and width",
        columns,
        rows,
        below=("largest minor entry: median (and quartiles) of the largest |w_ij| over time",),
    )
