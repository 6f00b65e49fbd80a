"""How many sets of half-times a core predicts in a second, and how near they are to the law.

Run with ``python -m benchmarks.prediction``. The baseline is the scalar law on the same instances,
one by one, with task and matrix made beforehand. Times are processor times of one thread, the best
of several repeats; both sides of a ratio are measured in the same process. Instances are Gaussian
starts with omega between 1e-8 and 1e-3, signals with successive ratios of 1.3 to 4, and eta a_max
between 0.002 and 0.05.
"""

from __future__ import annotations

import argparse
import platform
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

from swingby.report import Grid
from swingby.theory.initial import Initial
from swingby.theory.law.stages import Stages, stage_law
from swingby.theory.task import SIMTask
from swingby.verify.predict_batch import BatchSchedule, predict_batch

DYNAMICS = ("euler", "gd", "flow")


def instances(
    count: int, d: int, rng: np.random.Generator, low: float = 1e-8, high: float = 1e-3
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Signals of shape (count, d), W(0) of shape (count, d, d) and step sizes."""
    ratios = np.concatenate([np.ones((count, 1)), rng.uniform(1.3, 4.0, (count, d - 1))], axis=1)
    signal = np.cumprod(ratios, axis=1)
    signal = rng.permuted(signal / signal[:, -1:], axis=1)
    omega = np.exp(rng.uniform(np.log(low), np.log(high), count))
    U = rng.standard_normal((count, d, d))
    W0 = U @ U.swapaxes(1, 2)
    W0 *= (omega * d / np.trace(W0, axis1=1, axis2=2))[:, None, None]
    # A product in floats is not symmetric to the last bit; the scalar law below is given this one.
    W0 = (W0 + W0.swapaxes(1, 2)) / 2
    return signal, W0, rng.uniform(0.002, 0.05, count)


def one_by_one(
    signal: np.ndarray, W0: np.ndarray, eta: np.ndarray, dynamics: str, repeats: int = 3
) -> tuple[list[Stages], float]:
    """The scalar law, and its processor time per instance."""
    given = []
    for a, W, step in zip(signal, W0, eta, strict=True):
        order = np.argsort(-a)
        task = SIMTask.from_signal(a[order].tolist())
        given.append((task, Initial(W[np.ix_(order, order)], Fraction(1)), Fraction(step)))
    best = np.inf
    for _ in range(repeats):
        started = time.process_time()
        found = [stage_law(task, start, step, dynamics) for task, start, step in given]
        best = min(best, (time.process_time() - started) / len(given))
    return found, best


def batched(
    signal: np.ndarray,
    W0: np.ndarray,
    eta: np.ndarray,
    dynamics: str,
    accuracy: str = "full",
    repeats: int = 5,
) -> tuple[BatchSchedule, float]:
    """``predict_batch``, and its processor time per instance."""
    predict_batch(signal[:1], W0[:1], eta[:1], dynamics, accuracy=accuracy)  # compiles
    best = np.inf
    for _ in range(repeats):
        started = time.process_time()
        found = predict_batch(signal, W0, eta, dynamics, accuracy=accuracy)
        best = min(best, (time.process_time() - started) / len(eta))
    return found, best


def differences(
    batch: BatchSchedule, signal: np.ndarray, stages: list[Stages]
) -> tuple[float, float, int]:
    """Largest difference of crossings in steps, ratio of error bars; instances otherwise unlike."""
    crossing, error, other = 0.0, 0.0, 0
    for place, one in enumerate(stages):
        order = np.argsort(-signal[place])
        pairs = (
            (batch.crossing[place][order], one.crossing),
            (batch.error[place][order], one.error),
        )
        same = np.array_equal(batch.trapped[place][order], one.trapped)
        same &= np.array_equal(batch.undecided[place][order], one.undecided)
        found = []
        for mine, its in pairs:
            finite = np.isfinite(its)
            same &= np.array_equal(np.isnan(mine), np.isnan(its))
            same &= np.array_equal(np.isinf(mine), np.isinf(its))
            both = finite & np.isfinite(mine) & (its > 0)
            found.append((mine[both], its[both]))
        found = [
            float(np.max(np.abs(found[0][0] - found[0][1]), initial=0.0)),
            float(np.max(found[1][0] / found[1][1], initial=0.0)),
        ]
        crossing, error, other = max(crossing, found[0]), max(error, found[1]), other + (not same)
    return crossing, error, other


def table(count: int, compared: int) -> Grid:
    """Measure everything.

    Parameters
    ----------
    count : int
        Instances of a batch.
    compared : int
        Of these, how many are compared with the scalar law.

    Returns
    -------
    Grid
    """
    rows = []
    for d in (2, 3, 4, 8):
        for dynamics in DYNAMICS:
            # At d = 8 one takes a hundred times as long.
            given = instances(count if d < 8 else -(-count // 20), d, np.random.default_rng(3))
            batch, seconds = batched(*given, dynamics)
            _, leading = batched(*given, dynamics, "leading")
            some = tuple(part[:compared] for part in given)
            stages, scalar = one_by_one(*some, dynamics)
            crossing, error, other = differences(batch, some[0], stages)
            rows.append(
                [
                    str(d),
                    dynamics,
                    f"{1 / seconds:,.0f}",
                    f"{1 / leading:,.0f}",
                    f"{1e6 * scalar:.0f} us",
                    f"{scalar / seconds:.0f}",
                    f"{crossing:.0e}",
                    f"{error:.1f}",
                    str(other),
                ]
            )
    return Grid(
        title="Predictions a second",
        columns=[
            "d",
            "dynamics",
            "a second",
            "leading order alone",
            "scalar law",
            "times as fast",
            "largest difference of a crossing, steps",
            "largest ratio of error bars",
            "otherwise different",
        ],
        rows=rows,
        below=[
            f"One core, processor time; {count:,} instances a batch, a twentieth at d = 8; at most"
            f" {compared} compared singly. "
            f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}."
        ],
    )


def main() -> None:
    """Print the table, and write it as Markdown where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=8_000)
    parser.add_argument("--compared", type=int, default=200)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    grid = table(arguments.count, arguments.compared)
    print(grid.to_text(width=150))
    if arguments.out is not None:
        arguments.out.write_text(grid.to_markdown() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
