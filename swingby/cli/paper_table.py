"""The tables over all settings of the paper: one summary line each, and Gaussian starts."""

from __future__ import annotations

import importlib.util
import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from swingby.report import Grid
from swingby.report.files import whole, writable, write_text
from swingby.report.numbers import steps_text
from swingby.simulate.batch import simulate_batch
from swingby.simulate.initialization import gaussian_factor
from swingby.theory.task import SIMTask
from swingby.verify.check import check
from swingby.verify.predict import predict_gaussian

if TYPE_CHECKING:
    from swingby.verify.comparing.comparison import Comparison

#: The Gaussian table: mu of Fig. 8's caption, U(0) of 3 x 5 entries of standard deviation 1e-4.
GAUSSIAN_MU = ("1", "1.5", "2.2")
GAUSSIAN_SIGMA = ("0.05",) * 3
GAUSSIAN_SCALE = "1e-4"
GAUSSIAN_WIDTH = 5
GAUSSIAN_ETA = "0.01"
GAUSSIAN_RUNS = 300


def summary_grid(comparisons: Sequence[Comparison]) -> Grid:
    """One line per setting: assumptions that fail, stages, errors."""
    rows = []
    for comparison in comparisons:
        run = comparison.run
        report = check(run.task, W0=run.initial, eta=run.eta, dynamics=run.dynamics)
        halves = [row for row in comparison.rows if row.event == "half"]
        learned = sum(math.isfinite(row.observed) for row in halves)
        foreseen = sum(
            math.isfinite(row.predicted) and row.predicted <= run.last_step for row in halves
        )
        rows.append(
            [
                comparison.title,
                ", ".join(report.failing) or "none",
                f"{foreseen} / {learned}",
                _percent(comparison.median_error),
                _percent(comparison.largest_error),
                str(run.outcome),
            ]
        )
    columns = ["setting", "failing", ">stages", ">median", ">largest", "outcome"]
    above = (
        "Assumptions that fail as printed; stages predicted within the run / observed; median and "
        "largest error of the half-times, predicted before the run, observed to the step."
    )
    return Grid("Summary", columns, rows, [above])


def _percent(value: float) -> str:
    return f"{100 * value:.2g} %" if math.isfinite(value) else "-"


def gaussian_grid(runs: int = GAUSSIAN_RUNS, seed: int = 0) -> Grid:
    """Half-times over Gaussian U(0): closed form against simulation."""
    task = SIMTask(GAUSSIAN_MU, GAUSSIAN_SIGMA)
    generator = np.random.default_rng(seed)
    factors = np.stack(
        [gaussian_factor(task, GAUSSIAN_SCALE, GAUSSIAN_WIDTH, generator) for _ in range(runs)]
    )
    W0 = factors @ factors.transpose(0, 2, 1)
    rows = []
    for dynamics in ("euler", "gd"):
        predicted = predict_gaussian(
            task, GAUSSIAN_SCALE, GAUSSIAN_WIDTH, eta=GAUSSIAN_ETA, dynamics=dynamics
        )
        steps = int(predicted.quantile(1 - 1e-9).max() * 2)
        batch = simulate_batch(task.signal, W0, float(GAUSSIAN_ETA), steps=steps, dynamics=dynamics)
        for k in task.order:
            seen = batch.half_times[:, k]
            seen = seen[np.isfinite(seen)]
            low, high = predicted.quantile([0.05, 0.95])[:, k]
            share = float(((seen >= low) & (seen <= high)).mean())
            error = seen.std(ddof=1) / math.sqrt(len(seen))
            row = [dynamics, f"w_{k + 1}{k + 1}", steps_text(float(predicted.mean[k]))]
            row += [f"{seen.mean():.1f} +- {error:.1f}", steps_text(float(predicted.sd[k]))]
            row += [f"{seen.std(ddof=1):.1f}", f"{low:.0f} to {high:.0f}", f"{100 * share:.0f} %"]
            rows.append([*row, f"{runs - len(seen)}"])
    columns = ["dynamics", "entry", ">mean predicted", ">mean seen", ">sd predicted", ">sd seen"]
    columns += [">5 % to 95 %", ">seen inside", ">not learned"]
    above = (
        f"U(0) = {GAUSSIAN_SCALE} N(0, 1), 3 x {GAUSSIAN_WIDTH}, eta = {GAUSSIAN_ETA}, "
        f"{runs} runs; half-times in steps."
    )
    title = "Gaussian initializations, mu = (1, 1.5, 2.2), sigma = 0.05"
    return Grid(title, columns, rows, [above])


def write_folder(
    folder: str | Path, comparisons: Sequence[Comparison], grids: Sequence[Grid]
) -> int:
    """Write everything in every format: text, Markdown, LaTeX, CSV, Parquet, JSON, pictures."""
    import pandas

    all_grids = [comparison.to_grid() for comparison in comparisons] + list(grids)
    frame = pandas.concat(
        [comparison.to_frame().assign(setting=comparison.title) for comparison in comparisons]
    )
    texts = {
        "table.txt": "\n\n".join(grid.to_text(width=130) for grid in all_grids),
        "table.md": "\n\n".join(grid.to_markdown() for grid in all_grids),
        "table.tex": "\n\n".join(f"% {grid.title}\n{grid.to_latex()}" for grid in all_grids),
        "table.csv": frame.to_csv(index=False),
        "table.json": json.dumps(
            [comparison.to_dict() for comparison in comparisons], indent=1, allow_nan=False
        ),
    }
    with writable(folder) as target:
        target.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_text(target / name, text)
    written = len(texts)
    if importlib.util.find_spec("pyarrow") is not None:
        with whole(target / "table.parquet") as parquet:
            frame.to_parquet(parquet, index=False)
        written += 1
    for comparison in comparisons:
        name = re.sub(r"[^a-z0-9]+", "-", comparison.title.lower().replace("^2", "2")).strip("-")
        comparison.save_picture(Path(folder) / f"{name}.png")
    return written + len(comparisons)
