"""How near predictions of deep linear networks are to training, against what else one could do.

Run with ``python -m benchmarks.deep``. Errors are relative, of half-times, over random networks of
the cells of :mod:`swingby.lab.networks.deep_networks`; times are processor times of one thread.
*Greedy* eliminates concepts from W(0), each growing as L a w^(2-2/L) (1 - w) on its own; *alone*
does so without elimination. Both are undefined where an entry or a pivot is not positive.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np
from scipy.integrate import quad

from swingby.lab.networks.deep_networks import CELLS, STEP, DeepCell, Trained, draw, trained
from swingby.report import Grid
from swingby.theory.law.deep_law import followed, leading
from swingby.theory.law.layer_flow import product
from swingby.verify.predict_network import predict_network


def alone(start: float, depth: int, rate: float) -> float:
    """Steps from a w(0) to 1/2 at L a w^(2-2/L) (1 - w); nan where w(0) is not positive."""
    if start <= 0 or start >= 0.5:
        return math.nan if start <= 0 else 0.0
    power = 1 - 2 / depth
    wait = quad(
        lambda x: math.exp(-power * x) / -math.expm1(x), math.log(start), math.log(0.5), limit=400
    )[0]
    return wait / (depth * rate)


def baselines(one: Trained) -> dict[str, np.ndarray]:
    """Half-times in steps by elimination, and by each entry alone."""
    W, depth = product(one.layers), len(one.layers)
    rates = STEP / depth * np.asarray(one.task.signal)
    found = {"alone": np.array([alone(W[k, k], depth, rates[k]) for k in range(len(rates))])}
    found["greedy"] = greedy(W, depth, rates)
    return found


def from_balance(runs: int, seed: int, scale: float = 1e-3) -> Grid:
    """Greedy elimination against the flow where it should do best: balanced symmetric layers."""
    signal, d = np.array([4.0, 2.0, 1.0]), 3
    rows = []
    for depth in (2, 3, 4, 5):
        rng = np.random.default_rng(seed)
        errors: dict[str, list[np.ndarray]] = {"greedy": [], "leading": []}
        for _ in range(runs):
            turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
            layers = [scale * (turn * rng.uniform(0.5, 1.5, d)) @ turn.T] * depth
            truth, _ = followed(layers, signal, 0.0, 0, 1e-7, 1e14)
            errors["greedy"].append(greedy(product(layers), depth, signal) / truth - 1)
            errors["leading"].append(leading(layers, signal, 0.0, 1e-7, 1e14)[0] / truth - 1)
        rows.append([str(depth), *map(percent, errors.values())])
    columns = ["depth", ">greedy %", ">leading %"]
    return Grid(f"Balanced layers of size {scale:g}, a = (4, 2, 1)", columns, rows)


def greedy(W: np.ndarray, depth: int, rates: np.ndarray) -> np.ndarray:
    """Half-times by elimination from W(0)."""
    times = []
    for rate in rates:
        times.append(alone(W[0, 0], depth, rate))
        W = (W - np.outer(W[:, 0], W[0]) / W[0, 0])[1:, 1:]
    return np.array(times)


def percent(errors: list[np.ndarray]) -> str:
    """Median and 90 % quantile of relative errors."""
    sizes = np.abs(np.concatenate(errors))
    missing = np.isnan(sizes).mean()
    middle, high = (100 * np.nanquantile(sizes, level) for level in (0.5, 0.9))
    return f"{middle:.2g} / {high:.2g}" + (f" ({missing:.0%} none)" if missing else "")


def accuracy(runs: int, seed: int) -> Grid:
    """A row for each cell."""
    rows = []
    for cell in CELLS:
        found = list(trained(cell, runs, seed))
        other: dict[str, list[np.ndarray]] = {"greedy": [], "alone": []}
        for one in found:
            seen = np.maximum(one.half_times - 0.5, 0.5)
            for name, times in baselines(one).items():
                other[name].append(times / seen - 1)
        last = np.nanmedian([np.max(one.half_times) for one in found])
        barred = [one for one in found if np.isfinite(one.leading.error).all()]
        inside = [sum(one.inside("full") for one in found) / runs]
        inside.append(sum(one.inside("leading") for one in barred) / max(len(barred), 1))
        rows.append(
            [
                cell.name,
                f"{last:.0f}",
                percent([one.errors("full") for one in found]),
                f"{np.nanmax(np.abs([one.off for one in found])):.0f}",
                f"{inside[0]:.1%}",
                f"{np.median([one.full.error for one in found]):.2f}",
                percent([one.errors("leading") for one in found]),
                f"{inside[1]:.1%} of {len(barred)}",
                *map(percent, other.values()),
            ]
        )
    columns = ["network", ">steps", ">full %", ">worst, steps", ">in bars", ">bar, steps"]
    columns += [">leading %", ">in bars", ">greedy %", ">alone %"]
    below = ["error of half-times, median / p90; steps: median length of a run"]
    return Grid(f"Deep networks, {runs} runs a row", columns, rows, below=below)


def speed(repeats: int, seed: int) -> Grid:
    """Milliseconds a prediction, the median over networks, the best of two each."""
    rows = []
    for cell in (*CELLS, DeepCell(3, 1e-3), DeepCell(3, 1e-6), DeepCell(4, 1e-4)):
        times: dict[str, list[float]] = {"full": [], "leading": []}
        rng = np.random.default_rng(seed)
        for _ in range(repeats):
            layers, task, lr = draw(cell, rng)
            for accuracy, taken in times.items():
                best = math.inf
                for _ in range(2):
                    started = time.process_time()
                    predict_network(layers, task, lr=lr, accuracy=accuracy)
                    best = min(best, time.process_time() - started)
                taken.append(1e3 * best)
        cells = [f"{np.median(one):.0f} / {np.quantile(one, 0.9):.0f}" for one in times.values()]
        rows.append([cell.name, *cells])
    columns = ["network", ">full ms", ">leading ms"]
    return Grid("Milliseconds a prediction", columns, rows, below=["median / p90"])


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--runs", type=int, default=200)
    asked.add_argument("--seed", type=int, default=7)
    asked.add_argument("--speed", action="store_true", help="times alone")
    given = asked.parse_args()
    if not given.speed:
        print(accuracy(given.runs, given.seed).to_text(width=200))
        print(from_balance(50, given.seed).to_text())
    print(speed(8, given.seed).to_text())
