"""Which predictions of the theory survive in trained networks, as tables.

Run with ``python -m benchmarks.networks``; ``--out`` writes Markdown. Everything is drawn from the
seed, and no figure depends on the machine but for rounding. Takes about six minutes on two cores.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from swingby.theory.task import SIMTask
from swingby.training import Data, Network, Optimizer, Setting, train
from swingby.training.cells import Cell, make_cell, standard_cells
from swingby.training.dimension import dimension_grid, transient_by_dimension
from swingby.training.expected import expect
from swingby.training.forecast import Forecast, forecast
from swingby.training.judging import SWING, largest_minor
from swingby.training.law_report import forecast_grid, law_grid, output_grid, percent
from swingby.training.single_layer import OutputErrors, output_errors, seeds
from swingby.training.starts import draw_starts
from swingby.training.survival import survival
from swingby.training.symmetric import LawErrors, join_errors, law_errors
from swingby.verify.grid import Grid

#: (d, d'), many runs of small ones.
SHAPES = ((2, 2), (2, 4), (4, 4), (2, 8), (4, 8), (8, 8), (16, 8), (2, 16), (16, 16), (2, 32))
SCALES = (0.3, 0.1, 0.03, 0.01, 1e-3, 1e-5, 1e-8)


def law_table(runs: int, seed: int) -> Grid:
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
            starts = draw_starts(runs // 4, d, rng, omega=omega, loss="both")
            parts.append(law_errors(starts, gradient=gradient))
            rows.append((f"omega {name}, d = {d}", parts[-1]))
        rows.append((f"omega {name}, all", join_errors(parts)))
    return law_grid(rows)


def one_layer_table(runs: int, seed: int) -> Grid:
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
    return output_grid(rows)


def scale_table(runs: int, seed: int) -> Grid:
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
    return Grid("W2 W1 on the law of its growing mode, d = 3, d' = 5", columns, rows, below=below)


def forecast_table(cells: list[Cell]) -> Grid:
    """Forecasts from the first stage."""
    rows: list[tuple[str, Forecast]] = []
    for cell in cells:
        run = train(cell.settings, record=max(1, cell.setting.total_steps // 1500))
        rows.append((cell.name, forecast(run)))
    return forecast_grid(rows)


def tables(runs: int, seed: int) -> Iterator[Grid]:
    """All tables."""
    yield law_table(runs, seed)
    yield one_layer_table(runs, seed)
    yield scale_table(runs, seed)
    cells = standard_cells(seed=seed, runs=runs)
    found = survival(cells)
    yield found.to_overview()
    yield found.to_grid()
    fewer = standard_cells(seed=seed, runs=runs // 2)
    yield forecast_table([cell for cell in fewer if cell.setting.task.dim < 64])
    few = list(transient_by_dimension(SHAPES, runs=5 * runs, seed=seed))
    few += transient_by_dimension([(32, 32)], runs=runs, seed=seed)
    yield replace(dimension_grid(few), title="Transients against d and d', omega = 1e-3")


def main() -> None:
    """Print the tables, and write them as Markdown where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200, help="per table row")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--pictures", type=Path, help="folder to draw the pictures into")
    arguments = parser.parse_args()
    began = time.monotonic()
    if arguments.pictures is not None:
        from benchmarks.network_pictures import draw

        draw(arguments.pictures, arguments.seed)
        return
    parts = []
    print(f"seed {arguments.seed}, {arguments.runs} runs\n")
    for grid in tables(arguments.runs, arguments.seed):
        print(grid.to_text(width=170), "\n", flush=True)
        parts.append(grid.to_markdown())
        print(f"{time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    if arguments.out is not None:
        arguments.out.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
