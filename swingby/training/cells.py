"""The networks on which the predictions of the theory are tried."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from swingby.theory import numbers
from swingby.theory.task import SIMTask
from swingby.training.fields import one_of
from swingby.training.parts import Data, Network, Optimizer
from swingby.training.setting import Setting

#: Fig. 8: three concepts whose signals differ by factors of 2.15 and 2.25.
FIG8 = SIMTask(["1", "3/2", "11/5"], ["1/20"] * 3)


@dataclass(frozen=True)
class Cell:
    """Networks that differ in their seed alone."""

    name: str
    setting: Setting
    runs: int = 200

    def __post_init__(self) -> None:
        numbers.whole(self.runs, "runs", 1)

    @property
    def settings(self) -> tuple[Setting, ...]:
        """One for each seed."""
        first = self.setting.seed
        return tuple(replace(self.setting, seed=first + k) for k in range(self.runs))


def make_cell(
    name: str,
    network: Network,
    *,
    steps: int,
    lr: float,
    dim: int | None = None,
    task: SIMTask = FIG8,
    n_per_class: int | None = None,
    runs: int = 200,
    seed: int = 0,
) -> Cell:
    """Networks under gradient descent on the paper's loss.

    Parameters
    ----------
    name : str
    network : Network
    steps : int
    lr : float
    dim : int, optional
        d; as many as there are concepts by default.
    task : SIMTask
    n_per_class : int, optional
        Points; infinite data by default, which activations do not allow.
    runs, seed : int
    """
    wide = task if dim is None else SIMTask(task.mu, task.sigma, dim)
    precision = "float64" if network.linear else "float32"
    setting = Setting(
        wide,
        Data(n_per_class),
        network,
        Optimizer("gd", lr=lr, loss="paper"),
        steps=steps,
        seed=seed,
        precision=precision,
    )
    return Cell(name, setting, runs)


def standard_cells(which: str = "all", seed: int = 0, runs: int = 200) -> list[Cell]:
    """The cells of the documentation.

    Linear networks have infinite data; activations have 20 points per cluster and 32 neurons a
    layer. "small" is Gaussian, "torch" the default of ``torch.nn.Linear``.

    Raises
    ------
    InvalidInput

    Examples
    --------
    >>> [cell.name for cell in standard_cells("linear")][:2]
    ['U U^T, small', 'W2 W1, small']
    """
    one_of(which, "which", ("linear", "activated", "all"))
    found = []
    if which != "activated":
        found += [_cell(one, None, runs, seed) for one in _linear()]
    if which != "linear":
        found += [_cell(one, 20, runs, seed) for one in _activated()]
    return found


def _cell(given: Any, n_per_class: int | None, runs: int, seed: int) -> Cell:
    name, network, options = given
    most = options.pop("most", runs)
    return make_cell(
        name, network, n_per_class=n_per_class, runs=min(runs, most), seed=seed, **options
    )


def _linear() -> list[tuple[str, Network, dict[str, Any]]]:
    def small(depth: int, scale: float, width: int = 5) -> Network:
        return Network(depth, width, bias=False, initialization="gaussian", scale=scale)

    own = replace(small(2, 0.03), symmetric=True)
    fast: dict[str, Any] = {"steps": 3000, "lr": 0.02}
    return [
        ("U U^T, small", own, {"steps": 3000, "lr": 0.01}),
        ("W2 W1, small", small(2, 0.03), fast),
        ("W2 W1, small, d = 8", small(2, 0.03, 8), {**fast, "dim": 8}),
        ("W2 W1, larger", small(2, 0.2), fast),
        ("W2 W1, torch", Network(2, 3, bias=False), fast),
        ("W2 W1, torch, bias", Network(2, 3), fast),
        # The law of a 64 x 64 matrix takes half a second.
        (
            "W2 W1, torch, d = 64",
            Network(2, 64, bias=False),
            {**fast, "steps": 1000, "dim": 64, "most": 100},
        ),
        ("depth 3, small", small(3, 0.1), {"steps": 8000, "lr": 0.05}),
        ("depth 3, torch", Network(3, 3, bias=False), {"steps": 6000, "lr": 0.02}),
        ("depth 3, torch, d = 8", Network(3, 8, bias=False), {"steps": 6000, "lr": 0.02, "dim": 8}),
        ("depth 4, small", small(4, 0.2), {"steps": 8000, "lr": 0.02}),
        ("depth 4, torch", Network(4, 3, bias=False), {"steps": 8000, "lr": 0.02}),
    ]


def _activated() -> list[tuple[str, Network, dict[str, Any]]]:
    def small(depth: int, activation: str, scale: float) -> Network:
        return Network(depth, 32, activation, bias=False, initialization="gaussian", scale=scale)

    def default(depth: int, activation: str) -> Network:
        return Network(depth, 32, activation, bias=False)

    given: dict[str, Any] = {"steps": 1200, "lr": 0.05}
    slow: dict[str, Any] = {"steps": 1500, "lr": 0.02}
    return [
        ("ReLU 2, small", small(2, "relu", 0.01), given),
        ("ReLU 2, small, d = 8", small(2, "relu", 0.01), {**given, "dim": 8}),
        ("ReLU 2, torch", default(2, "relu"), slow),
        ("ReLU 3, small", small(3, "relu", 0.1), given),
        ("ReLU 3, torch", default(3, "relu"), slow),
        ("GELU 2, small", small(2, "gelu", 0.01), given),
        ("GELU 2, torch", default(2, "gelu"), slow),
    ]
