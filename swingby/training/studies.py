"""The studies of trained networks: which predictions of the theory come true, as tables.

Everything is drawn from the seed; no figure depends on the machine but for rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from swingby.errors import InvalidInput
from swingby.report import Grid
from swingby.theory import numbers
from swingby.theory.task import SIMTask
from swingby.training.cells import make_cell, standard_cells
from swingby.training.dimension import dimension_grid, transient_by_dimension
from swingby.training.expected import expect
from swingby.training.forecast import Forecast, forecast
from swingby.training.judging import SWING, largest_minor
from swingby.training.law_report import forecast_grid, law_grid, output_grid, percent
from swingby.training.parts import Data, Network, Optimizer
from swingby.training.run import train
from swingby.training.setting import Setting
from swingby.training.single_layer import OutputErrors, output_errors, seeds
from swingby.training.starts import draw_starts
from swingby.training.survival import survival
from swingby.training.symmetric import LawErrors, join_errors, law_errors

#: (d, d'), many runs of small ones.
SHAPES = ((2, 2), (2, 4), (4, 4), (2, 8), (4, 8), (8, 8), (16, 8), (2, 16), (16, 16), (2, 32))
SCALES = (0.3, 0.1, 0.03, 0.01, 1e-3, 1e-5, 1e-8)


def laws(runs: int, seed: int) -> list[Grid]:
    """U U^T by automatic differentiation, against the stage law."""
    rows: list[tuple[str, LawErrors]] = []
    rng = np.random.default_rng(seed)
    for name, omega, gradient in (
        ("1e-8 to 1e-5", (1e-8, 1e-5), "autograd"),
        ("1e-4 to 1e-2", (1e-4, 1e-2), "autograd"),
        ("0.05 to 0.2", (0.05, 0.2), "written"),
    ):
        parts = []
        for d in (2, 3, 4, 5):
            starts = draw_starts(max(1, runs // 4), d, rng, omega=omega, loss="both")
            parts.append(law_errors(starts, gradient=gradient))
            rows.append((f"omega {name}, d = {d}", parts[-1]))
        rows.append((f"omega {name}, all", join_errors(parts)))
    return [law_grid(rows)]


def one_layer(runs: int, seed: int) -> list[Grid]:
    """One layer with and without finite steps, samples and batches, against Theorem 4.1."""
    task = SIMTask([1, 2], ["1/20", "1/20"], dim=8)
    rows: list[tuple[str, OutputErrors]] = []
    for lr in (0.1, 0.01, 0.001):
        for data, kind, words in (
            (Data(None), "gd", "infinite data, gd"),
            (Data(64), "gd", "2 x 64 points, gd"),
            (Data(64), "sgd", "2 x 64 points, sgd 32"),
            (Data(50), "sgd", "2 x 50 points, sgd 32"),
            (Data(1024), "sgd", "2 x 1024 points, sgd 32"),
        ):
            optimizer = Optimizer(kind, lr=lr, loss="paper", batch_size=32)
            base = Setting(
                task,
                data,
                Network(1, bias=False),
                optimizer,
                steps=round(12 / lr),
                seed=seed,
                precision="float64",
            )
            rows.append((f"lr {lr:g}, {words}", output_errors(seeds(base, runs, seed))))
    return [output_grid(rows)]


def scales(runs: int, seed: int) -> list[Grid]:
    """W2 W1 against the law of its growing mode, as a function of the scale of the weights."""
    rows = []
    for scale in SCALES:
        network = Network(2, 5, bias=False, initialization="gaussian", scale=scale)
        steps = 3000 if scale > 1e-4 else 8000
        cell = make_cell("", network, steps=steps, lr=0.03, runs=runs, seed=seed)
        expected = expect(cell.settings, SWING)
        run = train(cell.settings, record=max(1, steps // 800))
        said = np.ceil(expected.half_times)
        known = np.isfinite(said) & (said > 0)
        seen = run.jacobian_half_times
        error = np.where(known, np.abs(said - seen) / np.maximum(seen, 1), np.nan)
        decided = expected.descents >= 0
        same = (expected.descents == run.descents(SWING))[decided].mean()
        size = largest_minor(run)
        J = run.jacobian
        skew = np.abs(J - J.swapaxes(2, 3)).max(axis=(1, 2, 3)) / 2
        rows.append(
            [
                f"{scale:g}",
                str(runs),
                percent(error),
                f"{same:.2f} of {int(decided.sum())}",
                f"{np.median(size):.2g}",
                f"{np.nanmedian(size / expected.transient):.2f}",
                f"{np.median(skew / size):.2f}",
            ]
        )
    columns = (
        ">scale",
        ">runs",
        ">half-times %",
        ">descents as predicted",
        ">largest minor entry",
        ">over the law's",
        ">skew part",
    )
    below = (
        "half-times: median / p99 / max of the error, nothing fitted; skew part: largest entry of"
        " (W - W^T)/2 over the largest minor entry",
    )
    title = "W2 W1 on the law of its growing mode, d = 3, d' = 5"
    return [Grid(title, columns, rows, below=below)]


def survivals(runs: int, seed: int) -> list[Grid]:
    """What holds where: a line a network, and a line a prediction."""
    found = survival(standard_cells(seed=seed, runs=runs))
    return [found.to_overview(), found.to_grid()]


def forecasts(runs: int, seed: int) -> list[Grid]:
    """Later half-times from the first stage of a run, with half as many runs."""
    rows: list[tuple[str, Forecast]] = []
    for cell in standard_cells(seed=seed, runs=max(1, runs // 2)):
        if cell.setting.task.dim < 64:
            run = train(cell.settings, record=max(1, cell.setting.total_steps // 1500))
            rows.append((cell.name, forecast(run)))
    return [forecast_grid(rows)]


def dimensions(runs: int, seed: int) -> list[Grid]:
    """Transients against the dimension and the width, with five times as many runs."""
    few = list(transient_by_dimension(SHAPES, runs=5 * runs, seed=seed))
    few += transient_by_dimension([(32, 32)], runs=runs, seed=seed)
    return [replace(dimension_grid(few), title="Transients against d and d', omega = 1e-3")]


#: What each study asks.
STUDIES: dict[str, Callable[[int, int], list[Grid]]] = {
    "laws": laws,
    "one-layer": one_layer,
    "scales": scales,
    "survival": survivals,
    "forecast": forecasts,
    "dimension": dimensions,
}


def studies(
    names: str | Sequence[str] | None = None,
    *,
    runs: int = 200,
    seed: int = 7,
    tell: Callable[[str], None] | None = None,
) -> list[Grid]:
    """Train networks and compare them with what the theory says of their initial weights.

    Parameters
    ----------
    names : str or several, optional
        ``laws`` (U U^T against the stage law), ``one-layer`` (against Theorem 4.1), ``scales`` (of
        the weights), ``survival`` (which predictions hold in which networks), ``forecast`` (from
        the first stage), ``dimension`` (of transients); all by default, six minutes on two cores.
    runs : int
        Networks a row.
    seed : int
    tell : callable, optional
        Gets the name of each study before it is made.

    Returns
    -------
    list of Grid

    Raises
    ------
    InvalidInput

    Examples
    --------
    >>> [table.title for table in studies("scales", runs=2)]
    ["W2 W1 on the law of its growing mode, d = 3, d' = 5"]

    References
    ----------
    docs/networks.md
    """
    asked = [names] if isinstance(names, str) else list(STUDIES if names is None else names)
    for one in asked:
        if one not in STUDIES:
            raise InvalidInput("names", one, f"must be among {', '.join(STUDIES)}")
    count = numbers.whole(runs, "runs", 1, most=10_000)
    first = numbers.whole(seed, "seed", 0, most=2**32)
    tables: list[Grid] = []
    for one in asked:
        if tell is not None:
            tell(one)
        tables += STUDIES[one](count, first)
    return tables
