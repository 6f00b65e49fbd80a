"""How often the predicted descents of the test loss are the observed ones, and how many a second.

Run with ``python -m benchmarks.descents``. Instances are Gaussian starts W(0) = omega/d' U U^T with
d' = d, d + 1, 2 d or 64, every other one with the sizes of a Gaussian U, as all entries of the
public code are positive; either mu is uniform in [0.5, 3] and sigma in [0, 0.2], or successive
ratios of a are uniform in the logarithm between the limits of the cell; eta a_max lies between
0.005 and 0.05. A descent counts from 1e-3 of the initial loss on. The baseline is the scalar
``curve_events`` on the same instances, a millisecond or more for each. Times are processor times
of one thread, the best of several repeats on a batch of its own.
"""

from __future__ import annotations

import argparse
import platform
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from swingby.errors import SwingbyWarning
from swingby.report import Grid
from swingby.simulate.run import simulate
from swingby.theory.initial import Initial
from swingby.theory.law.stages import stage_law
from swingby.theory.task import SIMTask
from swingby.verify.predict_swing import BatchSwing, predict_swing_batch
from swingby.verify.predicted_events import curve_events

DYNAMICS = ("euler", "gd", "flow")
#: Largest successive ratio of a by d, so that runs stay short.
_FARTHEST = {2: 10.0, 3: 5.0, 4: 3.0, 5: 2.5, 6: 2.0}


@dataclass(frozen=True)
class Cell:
    """One cell of the table: range of omega; limits of successive ratios, or random mu as well."""

    low: float
    high: float
    ratios: tuple[float, float] | None = None

    @property
    def label(self) -> str:
        """``1e-08 to 1e-03``."""
        text = f"{self.low:.0e} to {self.high:.0e}"
        return (
            text if self.ratios is None else f"{text}, ratios {self.ratios[0]} to {self.ratios[1]}"
        )


CELLS = (
    Cell(1e-2, 1e-1),
    Cell(1e-3, 1e-2),
    Cell(1e-8, 1e-3),
    Cell(1e-3, 1e-2, (1.01, 1.2)),
)


@dataclass(frozen=True, eq=False)
class Instances:
    """Arguments of `predict_swing_batch`."""

    signal: np.ndarray
    W0: np.ndarray
    eta: np.ndarray
    point: np.ndarray

    def predict(self, dynamics: str) -> BatchSwing:
        """The batch."""
        return predict_swing_batch(self.signal, self.W0, self.eta, dynamics, test_point=self.point)


def draw(count: int, d: int, cell: Cell, rng: np.random.Generator) -> Instances:
    """Random instances of a cell."""
    low, high = cell.ratios or (1.2, _FARTHEST[d])
    steps = np.exp(rng.uniform(np.log(low), np.log(high), (count, d - 1)))
    ratios = np.concatenate([np.ones((count, 1)), steps], axis=1)
    signal = rng.permuted(np.cumprod(ratios, axis=1), axis=1)
    signal /= signal.max(axis=1, keepdims=True)
    point = np.sqrt(d * signal)
    if cell.ratios is None:
        by_mu = rng.random(count) < 0.5
        point[by_mu] = rng.uniform(0.5, 3.0, (by_mu.sum(), d))
        spread = rng.uniform(0.0, 0.2, (count, d))
        signal[by_mu] = (point**2 / d + spread**2)[by_mu]
    omega = np.exp(rng.uniform(np.log(cell.low), np.log(cell.high), count))
    W0 = np.empty((count, d, d))
    for place, width in enumerate(rng.choice([d, d + 1, 2 * d, 64], count)):
        U = rng.standard_normal((d, width))
        U = np.abs(U) if place % 2 else U
        W0[place] = omega[place] / width * (U @ U.T)
    W0 = (W0 + W0.swapaxes(1, 2)) / 2
    return Instances(signal, W0, rng.uniform(0.005, 0.05, count) / signal.max(axis=1), point)


def observe(given: Instances, dynamics: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Descents, transient and whether W ran away, of every run."""
    descents, transient, lost = [], [], []
    for a, W, eta, point in zip(given.signal, given.W0, given.eta, given.point, strict=True):
        task = SIMTask(point.tolist()).with_signal(a.tolist(), "as drawn")
        run = simulate(task, W, eta, dynamics=dynamics, record="none")
        descents.append(run.descents())
        transient.append(max(abs(peak.value) for peak in run.peaks))
        lost.append(str(run.outcome) not in ("converged", "trapped"))
    return np.array(descents), np.array(transient), np.array(lost)


def one_by_one(given: Instances, dynamics: str) -> tuple[np.ndarray, float]:
    """Descents by the scalar composite, and its processor time per instance."""
    counts = []
    started = time.process_time()
    for a, W, eta, point in zip(given.signal, given.W0, given.eta, given.point, strict=True):
        task = SIMTask(point.tolist()).with_signal(a.tolist(), "as drawn")
        stages = stage_law(task, Initial(W, Fraction(1)), Fraction(float(eta)), dynamics)
        turns = [one.event for one in curve_events(stages) if one.event.startswith("loss")]
        counts.append(turns.count("loss max") + (turns[:1] != ["loss max"]))
    return np.array(counts), (time.process_time() - started) / len(counts)


def rate(d: int, cell: Cell, dynamics: str, count: int, repeats: int = 3) -> float:
    """Instances a second."""
    given = draw(count, d, cell, np.random.default_rng(4))
    given.predict(dynamics)
    best = np.inf
    for _ in range(repeats):
        started = time.process_time()
        given.predict(dynamics)
        best = min(best, time.process_time() - started)
    return count / best


def tables(count: int, batch: int, dimensions: tuple[int, ...]) -> tuple[Grid, Grid]:
    """Measure everything.

    Parameters
    ----------
    count : int
        Instances of a cell that are run.
    batch : int
        Instances of a batch whose time is taken.
    dimensions : tuple of int

    Returns
    -------
    agreement, confusion : Grid
    """
    rows = []
    pairs: dict[str, Counter[tuple[int, int]]] = {name: Counter() for name in DYNAMICS}
    for dynamics in DYNAMICS:
        for d in dimensions:
            for cell in CELLS:
                given = draw(count, d, cell, np.random.default_rng([d, CELLS.index(cell)]))
                found = given.predict(dynamics)
                descents, transient, lost = observe(given, dynamics)
                scalar, seconds = one_by_one(given, dynamics)
                decided = ~found.undecided
                right = found.descents == descents
                pairs[dynamics].update(zip(found.descents.tolist(), descents.tolist(), strict=True))
                ended = decided & ~found.diverges & ~lost
                off = np.abs(found.transient - transient)[ended]
                inside = (found.least_descents <= descents) & (descents <= found.most_descents)
                missed = scalar != descents
                rows.append(
                    [
                        dynamics,
                        str(d),
                        cell.label,
                        f"{100 * found.undecided.mean():.1f} %",
                        f"{(decided & ~right).sum()} of {decided.sum()}",
                        f"{missed.sum()}, {missed[decided].sum()}",
                        f"{(~inside & (found.least_descents >= 0)).sum()}",
                        f"{100 * (descents >= 2).mean():.0f} %",
                        f"{(decided & (found.diverges != lost)).sum()} of {lost.sum()}",
                        f"{np.median(off):.0e} / {np.quantile(off, 0.99):.0e} / {off.max():.0e}",
                        f"{rate(d, cell, dynamics, batch):,.0f}",
                        f"{1 / seconds:,.0f}",
                    ]
                )
    agreement = Grid(
        title="Predicted and observed descents",
        columns=[
            "dynamics",
            "d",
            "omega",
            "undecided",
            "wrong",
            "scalar wrong: all, where decided",
            "outside least to most",
            "two or more observed",
            "divergence wrong",
            "transient off: median / 99 % / max",
            "a second",
            "scalar",
        ],
        rows=rows,
        below=[
            f"{count} runs a cell. One core, processor time; {batch:,} instances a batch. "
            f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}."
        ],
    )
    most = max(observed for counter in pairs.values() for _, observed in counter)
    confusion = Grid(
        title="Confusion of descents, all cells",
        columns=["dynamics", "predicted", *(f"observed {n}" for n in range(most + 1))],
        rows=[
            [name, "undecided" if n < 0 else str(n), *(str(counter[n, m]) for m in range(most + 1))]
            for name, counter in pairs.items()
            for n in range(-1, most + 1)
            if any(predicted == n for predicted, _ in counter)
        ],
    )
    return agreement, confusion


def main() -> None:
    """Print the tables, and write them as Markdown where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--batch", type=int, default=4000)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[2, 3, 4, 6])
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", SwingbyWarning)
    grids = tables(arguments.count, arguments.batch, tuple(arguments.dimensions))
    for grid in grids:
        print(grid.to_text(width=160))
    if arguments.out is not None:
        text = "\n\n".join(grid.to_markdown() for grid in grids)
        arguments.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
