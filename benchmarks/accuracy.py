"""How accurate the stage law is: predicted against simulated over random instances.

Run with ``make accuracy``, or ``python -m benchmarks.accuracy --runs 1000 --out docs/accuracy.md``.
Every number compares the whole step predicted with the whole step counted by a run. The
baseline beside it is the plain law of pivots alone, t_k = -log(pi_k)/g_kk, rounded up.
"""

from __future__ import annotations

import argparse
import math
import platform
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks.instances import CELLS, Cell, draw
from swingby.simulate.run import simulate
from swingby.theory.growth import growth_rates
from swingby.theory.initial import Initial
from swingby.theory.law.stages import stage_law
from swingby.theory.task import SIMTask
from swingby.verify.curves import curve_events
from swingby.verify.grid import Grid

DYNAMICS = ("euler", "gd", "flow")


def plain_law(task: SIMTask, W0: np.ndarray, eta: float, dynamics: str) -> np.ndarray:
    """Half-times from pivots alone: every entry grows at g_ij, then a Schur complement.

    The baseline: no odds, no overlap of stages, no finite-step shift. Written out here, so that
    a change of the law does not change what it is compared with.
    """
    order = np.array(task.order)
    growth = growth_rates(task.signal[order], eta, dynamics)
    M, time = W0[np.ix_(order, order)].copy(), 0.0
    times = np.full(len(order), np.nan)
    for k in range(len(order)):
        if not M[k, k] > 0:
            continue
        wait = -np.log(M[k, k]) / growth[k, k]
        time += wait
        times[order[k]] = np.ceil(max(time, 0.0))
        with np.errstate(all="ignore"):  # a trapped concept runs away
            M *= np.exp(growth * wait)
            M -= np.outer(M[:, k], M[k]) / M[k, k]
    return times


def measure(cell: Cell, dynamics: str, runs: int, seed: int = 7) -> dict[str, float]:
    """One row of the table.

    Parameters
    ----------
    cell : Cell
    dynamics : str
    runs : int
        Instances.
    seed : int

    Returns
    -------
    dict
        Errors in percent, shares in percent.
    """
    rng = np.random.default_rng(seed)
    law, plain, covered, exact, out = [], [], [], [], []
    heights, trap_agree, missed, false, undecided, blind = [], [], 0, 0, 0, 0
    for _ in range(runs):
        instance = draw(cell, rng)
        task = SIMTask.from_signal(instance.signal.tolist())
        initial = Initial(instance.W0, Fraction(1))
        stages = stage_law(task, initial, Fraction(instance.eta), dynamics)
        run = simulate(task, initial, Fraction(instance.eta), dynamics=dynamics, record="none")
        # Observed as trapped: a concept runs to minus infinity, even when its w_kk was carried
        # past 1/2 by the others before.
        lost = run.outcome in ("lost_psd", "diverged")
        trapped = bool(stages.trapped.any())
        trap_agree.append(lost == trapped)
        missed += lost and not trapped
        false += trapped and not lost
        undecided += bool(stages.undecided.any())
        blind += lost != trapped and not stages.undecided.any()
        if lost or trapped:
            continue
        seen = run.half_times
        law += list(np.abs(stages.half_times / seen - 1))
        plain += list(np.abs(plain_law(task, instance.W0, instance.eta, dynamics) / seen - 1))
        exact += list(stages.half_times == seen)
        inside = (np.ceil(stages.crossing - stages.error) <= seen) & (
            seen <= np.ceil(stages.crossing + stages.error)
        )
        covered += list(inside)
        out += list(np.isinf(stages.error))
        observed = {(peak.i, peak.j): abs(peak.value) for peak in run.peaks}
        for peak in curve_events(stages).peaks:
            if observed[peak.entry] > 1e-300:
                heights.append(abs(peak.height / observed[peak.entry] - 1))
    return {
        "median": 100 * _quantile(law, 0.5),
        "p99": 100 * _quantile(law, 0.99),
        "plain median": 100 * _quantile(plain, 0.5),
        "plain p99": 100 * _quantile(plain, 0.99),
        "exact": 100 * float(np.mean(exact)),
        "covered": 100 * float(np.mean(covered)),
        "out of range": 100 * float(np.mean(out)),
        "height median": 100 * _quantile(heights, 0.5),
        "height p90": 100 * _quantile(heights, 0.9),
        "traps agree": 100 * float(np.mean(trap_agree)),
        "missed": missed,
        "false": false,
        "undecided": undecided,
        "blind": blind,
        "times": len(law),
    }


def _quantile(values: Sequence[float], level: float) -> float:
    finite = [value for value in values if math.isfinite(value)]
    return float(np.quantile(finite, level)) if finite else math.nan


def table(runs: int, cells: Sequence[Cell] = CELLS) -> Grid:
    """The accuracy table.

    Parameters
    ----------
    runs : int
    cells : sequence of Cell

    Returns
    -------
    Grid
    """
    rows = []
    for cell in cells:
        for dynamics in DYNAMICS:
            found = measure(cell, dynamics, runs)
            rows.append(
                [
                    cell.label,
                    dynamics,
                    f"{found['times']:.0f}",
                    f"{found['plain median']:.3f} / {found['plain p99']:.2f}",
                    f"{found['median']:.4f} / {found['p99']:.3f}",
                    f"{found['exact']:.1f}",
                    f"{found['covered']:.1f}",
                    f"{found['out of range']:.1f}",
                    f"{found['height median']:.3f} / {found['height p90']:.2f}",
                    f"{found['traps agree']:.1f} ({found['missed']:.0f}, {found['false']:.0f})",
                    f"{found['undecided']:.0f}, {found['blind']:.0f}",
                ]
            )
    return Grid(
        title=f"Accuracy over {runs} random instances per row",
        columns=[
            "omega",
            "dynamics",
            ">half-times",
            ">plain law, median / p99 %",
            ">law, median / p99 %",
            ">exact step, %",
            ">inside its bar, %",
            ">out of range, %",
            ">peak height, median / p90 %",
            ">traps agree, % (missed, false)",
            ">undecided, wrong but not said so",
        ],
        rows=rows,
        above=[
            "d = 2 to 6, eta a_max in [0.002, 0.05], full-rank Gaussian U(0); predicted before "
            "the run, observed to the step."
        ],
        below=[f"Python {platform.python_version()}, numpy {np.__version__}, seed 7."],
    )


def main() -> None:
    """Print the table, and write it where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    started = time.perf_counter()
    grid = table(arguments.runs)
    print(grid.to_text(width=190))
    print(f"{time.perf_counter() - started:.0f} s")
    if arguments.out is not None:
        arguments.out.write_text(grid.to_markdown() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
