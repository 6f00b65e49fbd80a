"""Cells of the threshold study: data sets, each a pure function of its names and the seed."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from studies.relu_descent import VARIANTS, halves_fit, start, train
from studies.relu_inputs import FAMILIES, draw, draw_start, is_aligned
from swingby.lab.relu.concepts import growing_modes, rectified_half_times
from swingby.lab.relu.geometry import Floats, arrange, enumerate_critical
from swingby.lab.relu.paths import attractors, follow

#: "Within 2 %", said before anything was run.
CLOSE = 0.02
#: Noise of the study, relative to |beta| = 1, and neurons of its networks.
SIGMA, NEURONS = 1.0, 200
#: Start, and the angle at which a neuron counts as aligned: 5 degrees.
SCALE, ANGLE = 1e-6, math.radians(5)
#: Looked at a second time only where few starts found two.
_FIRST, _THEN = 12, 60


@dataclass(frozen=True)
class ThresholdCell:
    """Data sets of a kind, measured in the same way."""

    kind: str
    family: str
    d: int
    n: int
    runs: int
    variant: str = "relu"

    @property
    def name(self) -> str:
        """The name of the cell in a file."""
        suffix = f" {self.variant}" if self.variant != "relu" else ""
        return f"{self.kind} {self.family} d={self.d} n={self.n} runs={self.runs}{suffix}"


def cells(quick: bool) -> list[ThresholdCell]:
    """The cells of the full study, or of the quick study of five minutes."""
    every = []
    for d in (2, 3, 4) if quick else (2, 3, 4, 5, 6):
        for n in (8, 16, 32, 64) if quick else (8, 16, 32, 64, 128):
            every.append(ThresholdCell("two", "gap", d, n, 60 if quick else 120))
        for n in (16, 64) if quick else (16, 64, 256):
            every.append(ThresholdCell("two", "gaussian", d, n, 60 if quick else 120))
    for d, n in ((3, 16), (3, 48)) if quick else ((3, 16), (3, 48), (3, 128), (4, 16), (4, 32)):
        every.append(ThresholdCell("complete", "gaussian", d, n, 20 if quick else 40))
    for family in FAMILIES:
        for d in (2, 3) if quick else (2, 3, 4, 5):
            for times in (5, 16, 50) if quick else (5, 10, 16, 30, 50):
                every.append(ThresholdCell("link", family, d, times * d, 10 if quick else 30))
            every.append(ThresholdCell("align", family, d, 16 * d, 5 if quick else 20))
    for variant in VARIANTS:
        for d in (2,) if quick else (2, 3):
            every.append(ThresholdCell("end", "gap", d, 100 * d, 5 if quick else 20, variant))
    for kind in ("aligned", "gaussian"):
        every.append(ThresholdCell("concepts", kind, 3, 32, 15 if quick else 60))
    return every


def measure(cell: ThresholdCell, seed: int) -> list[dict[str, Any]]:
    """The runs of a cell."""
    if cell.kind == "concepts":
        return [_concepts(cell, np.random.default_rng([seed, run])) for run in range(cell.runs)]
    makers = {"two": _two, "complete": _complete, "link": _link, "align": _align, "end": _end}
    runs = []
    for run in range(cell.runs):
        rng = np.random.default_rng([seed, run, cell.d, cell.n, FAMILIES.index(cell.family)])
        X, y = draw(cell.n, cell.d, SIGMA, cell.family, rng)
        runs.append({"run": run} | makers[cell.kind](cell, X, y, rng))
    return runs


def extremal_count(X: Floats, y: Floats, rng: np.random.Generator) -> int:
    """The number of extremal vectors: of all for d = 2, 3, else of the attracting."""
    arrangement = arrange(X, y)
    if arrangement.dim <= 3 and arrangement.faces() < 10**6:
        return len(enumerate_critical(arrangement))
    points = attractors(arrangement, _FIRST, rng)[0]
    return len(attractors(arrangement, _THEN, rng)[0]) if len(points) == 2 else len(points)


def _two(_: ThresholdCell, X: Floats, y: Floats, rng: np.random.Generator) -> dict[str, Any]:
    """The number of extremal vectors."""
    return {"count": extremal_count(X, y, rng)}


def _complete(_: ThresholdCell, X: Floats, y: Floats, rng: np.random.Generator) -> dict[str, Any]:
    """The extremal vectors that random starts reach, among all."""
    arrangement = arrange(X, y)
    every = enumerate_critical(arrangement)
    started, lost = attractors(arrangement, _THEN, rng)
    attract, reached = (
        {(point.kind, point.tied, tuple(point.direction.round(9))) for point in points}
        for points in (every, started)
    )
    attract = {point for point in attract if point[0] in ("max", "min")}
    return {
        "all": len(every),
        "attract": len(attract),
        "found": len(attract & reached),
        "wrong": len([point for point in reached - attract if point[0] != "flat"]),
        "lost": lost,
        "same": (len(started) == 2) == (len(every) == 2),
    }


def _link(cell: ThresholdCell, X: Floats, y: Floats, rng: np.random.Generator) -> dict[str, Any]:
    """The number of extremal vectors, and the loss at which training ends."""
    count = extremal_count(X, y, rng)
    halves, split = halves_fit(X, y)
    w, a = start(NEURONS, cell.d, rng, SCALE)
    # Which attractors these neurons go to, by their exact paths.
    reached = {face for face in follow(arrange(X, y), w, a).faces if any(face.active)}
    done = train(X, y, w, a, floor=(1 - CLOSE) * halves)
    ended = {"halves": halves, "loss": done.loss, "settled": done.settled}
    return {"count": count, "reached": len(reached), "split": split, **ended}


def _align(cell: ThresholdCell, X: Floats, y: Floats, rng: np.random.Generator) -> dict[str, Any]:
    """Neurons of a network against their exact paths, when nine in ten should be aligned."""
    w, a = start(NEURONS, cell.d, rng, SCALE**2)
    paths = follow(arrange(X, y), w, a)
    times = paths.aligned_after(ANGLE)
    aligned = np.isfinite(times)
    when = float(np.quantile(times[aligned], 0.9))
    directions = train(X, y, w, a, step=0.01, most=when).w
    directions = directions / np.maximum(np.linalg.norm(directions, axis=1), 1e-300)[:, None]
    to_limit = np.arccos(np.clip(np.sum(directions * paths.limit, axis=1), -1, 1))
    off = np.arccos(np.clip(np.sum(directions * paths.at(when), axis=1), -1, 1))
    return {
        "time": when,
        "aligned": int((to_limit[aligned] <= ANGLE).sum()),
        "neurons": int(aligned.sum()),
        "near": int((off[aligned] <= math.radians(1)).sum()),
        "histogram": np.histogram(np.degrees(to_limit[aligned]), BINS)[0].tolist(),
        "attractors": len({face for face in paths.faces if any(face.active)}),
    }


#: Entries of the weights at the start of networks that learn concepts, as in `studies`.
START = 0.01
#: Degrees, of a histogram.
BINS = np.array([0, 1, 2, 5, 10, 30, 90, 180])


def _end(cell: ThresholdCell, X: Floats, y: Floats, rng: np.random.Generator) -> dict[str, Any]:
    """The end of training for a network that the paper's theorem may not cover."""
    points = np.column_stack([X, np.ones(len(X))]) if cell.variant == "bias" else X
    w, a = start(NEURONS, points.shape[1], rng, SCALE)
    # The plain halves: with biases too, the claim is that they do not help.
    halves = halves_fit(X, y)[0]
    done = train(X, y, w, a, variant=cell.variant, most=500.0, floor=(1 - CLOSE) * halves)
    size = np.abs(done.a)[:, None] * done.w
    strong = np.linalg.norm(size, axis=1)
    beta = np.linalg.lstsq(points, y, rcond=None)[0]
    cosine = done.w @ beta / np.maximum(np.linalg.norm(done.w, axis=1), 1e-300)
    cosine = np.abs(cosine) / np.linalg.norm(beta)
    return {
        "halves": halves,
        "loss": done.loss,
        "settled": done.settled,
        "cosine": float((cosine * strong).sum() / strong.sum()),
    }


def _concepts(cell: ThresholdCell, rng: np.random.Generator) -> dict[str, Any]:
    """Half-times of n neurons on d concepts: predicted, of linear layers, and observed."""
    aligned = cell.family == "aligned"
    W1, W2, signal = draw_start(cell.n, cell.d, START, aligned, rng)
    predicted = rectified_half_times(W1, W2, signal)
    observed = observed_half_times(W1, W2, signal, 3 * float(predicted.max()))
    modes = growing_modes(W1, W2)
    # The pivots of the Gram matrix of the modes, in the order of the signal.
    pivots = np.diagonal(np.linalg.cholesky(modes @ modes.T)) ** 2
    linear = np.log((1 - pivots) / pivots) / (2 * signal)
    off = {
        name: [None if math.isnan(entry) else entry for entry in (times / observed - 1).tolist()]
        for name, times in (("off", predicted), ("linear", linear))
    }
    return {"aligned": is_aligned(W1, W2), **off}


def observed_half_times(first: Floats, second: Floats, signal: Floats, most: float) -> Floats:
    """Half-times of the flow itself, by an ODE solver; nan for times after `most`."""
    from scipy.integrate import solve_ivp

    m, d = first.shape

    def field(_: float, state: Floats) -> Floats:
        w, v = state[: m * d].reshape(m, d), state[m * d :].reshape(d, m)
        on = w > 0
        passed = np.where(on, w, 0.0)
        rest = (np.eye(d) - v @ passed) * signal
        return np.concatenate([((v.T @ rest) * on).ravel(), (rest @ passed.T).ravel()])

    def half(_: float, state: Floats, p: int) -> float:
        w, v = state[: m * d].reshape(m, d), state[m * d :].reshape(d, m)
        return float(v[p] @ np.maximum(w[:, p], 0)) - 0.5

    start = np.concatenate([first.ravel(), second.ravel()])
    events = [functools.partial(half, p=p) for p in range(d)]
    done = solve_ivp(field, (0, most), start, events=events, rtol=1e-7, atol=1e-12)
    return np.array([float(at[0]) if len(at) else math.nan for at in done.t_events or ()])


def close(run: dict[str, Any]) -> bool | None:
    """Whether a run ended at the loss of the two halves; None where it had not ended."""
    ratio = run["loss"] / run["halves"]
    if ratio < 1 - CLOSE:
        return False
    return abs(ratio - 1) <= CLOSE if run["settled"] else None
