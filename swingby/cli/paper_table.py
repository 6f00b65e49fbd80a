"""Tables over all settings of the paper: a summary line each, and Gaussian starts."""

from __future__ import annotations

import importlib.util
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from swingby.report import Grid
from swingby.report.entry_pictures import entry_name
from swingby.report.files import json_text, whole, writable, write_text
from swingby.report.number_text import steps_text
from swingby.simulate.batch import simulate_batch
from swingby.simulate.initialization import gaussian_factor
from swingby.theory.gaussian import share_text
from swingby.theory.task import SIMTask
from swingby.verify.check import check
from swingby.verify.predict import predict_gaussian

if TYPE_CHECKING:
    from swingby.verify.comparing.comparison import Comparison

#: The Gaussian table: mu of Fig. 8's caption, U(0) of 3 x 5 entries of standard deviation 1e-4.
MU, SIGMA, ETA, RUNS = ("1", "1.5", "2.2"), "0.05", "0.01", 300
SCALE, WIDTH = "1e-4", 5


def _grid(title: str, rows: Sequence[dict[str, str]], above: str) -> Grid:
    """A table of rows that name their columns."""
    return Grid(title, list(rows[0]), [list(row.values()) for row in rows], [above])


def summary_grid(comparisons: Sequence[Comparison]) -> Grid:
    """One line per setting: assumptions that fail, stages, errors."""
    rows = []
    for comparison in comparisons:
        run = comparison.run
        report = check(run.task, W0=run.initial, eta=run.eta, dynamics=run.dynamics)
        halves = [row for row in comparison.rows if row.event == "half"]
        learned = sum(math.isfinite(row.observed) for row in halves)
        foreseen = sum(row.predicted <= run.last_step for row in halves)  # false of nan
        rows.append(
            {
                "setting": comparison.title,
                "failing": ", ".join(report.failing) or "none",
                ">stages": f"{foreseen} / {learned}",
                ">median": _percent(comparison.median_error),
                ">largest": _percent(comparison.largest_error),
                "outcome": str(run.outcome),
            }
        )
    above = (
        "Assumptions that fail as printed; stages predicted within the run / observed; median and "
        "largest error of the half-times, predicted before the run, observed to the step."
    )
    return _grid("Summary", rows, above)


def _percent(value: float) -> str:
    return f"{100 * value:.2g} %" if math.isfinite(value) else "-"


def gaussian_grid(seed: int = 0) -> Grid:
    """Half-times over Gaussian U(0): law against simulation."""
    task = SIMTask(MU, SIGMA)
    generator = np.random.default_rng(seed)
    factors = np.stack([gaussian_factor(task, SCALE, WIDTH, generator) for _ in range(RUNS)])
    W0 = factors @ factors.transpose(0, 2, 1)
    rows = []
    for dynamics in ("euler", "gd"):
        predicted = predict_gaussian(task, SCALE, WIDTH, eta=ETA, dynamics=dynamics)
        steps = int((predicted.mean + 12 * predicted.sd).max())
        batch = simulate_batch(task.signal, W0, float(ETA), steps=steps, dynamics=dynamics)
        for k in task.order:
            times = batch.half_times[:, k]
            observed = times[np.isfinite(times)]
            times = np.where(np.isfinite(times), times, np.inf)
            low, high = predicted.quantile([0.05, 0.95])[:, k]
            spread = observed.std(ddof=1)
            mean_error = spread / math.sqrt(len(observed))
            inside = ((times >= low) & (times <= high)).mean()
            rows.append(
                {
                    "dynamics": dynamics,
                    "entry": entry_name(k, k),
                    ">mean predicted": steps_text(float(predicted.mean[k])),
                    ">mean seen": f"{observed.mean():.1f} +- {mean_error:.1f}",
                    ">sd predicted": steps_text(float(predicted.sd[k])),
                    ">sd seen": f"{spread:.1f}",
                    ">5 % to 95 %": f"{low:.0f} to {steps_text(high, 0)}",
                    ">seen inside": f"{100 * inside:.0f} %",
                    ">never": share_text(predicted.never[k], predicted.never_error[k]),
                    ">never seen": share_text(1 - len(observed) / RUNS),
                }
            )
    above = f"U(0) = {SCALE} N(0, 1), 3 x {WIDTH}, eta = {ETA}, {RUNS} runs; half-times in steps."
    above += " Mean and sd are over the runs that learn the concept, ranges over all."
    title = "Gaussian initializations, mu = (1, 1.5, 2.2), sigma = 0.05"
    return _grid(title, rows, above)


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
        "table.json": json_text([comparison.to_dict() for comparison in comparisons]),
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
