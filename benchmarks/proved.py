"""Theorems for gradient descent against runs: intervals proved before the run, promises, climbs.

Run with ``python -m benchmarks.proved``; ``--part intervals`` in under two minutes, ``--part
promises`` with 100,000 instances in about ten. Promises are held against the plain map
U+ = (I + eta B) U in floats, many runs at once, written here once more; intervals down to
omega = 1e-300 against the compiled runs of :func:`swingby.simulate`, which hold W(0) with its
exponents, and where that is short against :func:`swingby.certify`.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

import swingby
from swingby.report import Grid
from swingby.theory.initial import exact_pivots
from swingby.theory.repaired import theorem_g_gd, theorem_s_gd, theorem_two_gd
from swingby.theory.repaired.edition_gd import DescentRange

#: Relative allowance for the floats of the plain map.
ROUNDING = 1e-9
#: Starts whose run is certified in balls, if it takes at most so many steps.
CERTIFIED_STEPS = 12_000


def plain_runs(
    y: np.ndarray, W: np.ndarray, steps: int, levels: tuple[float, ...] = (0.5, 0.8)
) -> tuple[dict[float, np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
    """Gradient descent on U from W (n, d, d), y = eta a (n, d), for so many steps.

    Returns, by level, the first steps (n, d) at which w_ii has reached it, -1 for never; the
    largest |w_ij| (n, d, d); the smallest w_ii after its passage of the last level (n, d), and the
    last W.
    """
    U, n, d = np.linalg.cholesky(W), *y.shape
    passages = {level: np.full((n, d), -1) for level in levels}
    peaks, kept = np.abs(W), np.full((n, d), np.inf)
    for step in range(steps + 1):
        w = np.einsum("nii->ni", W)
        for level, times in passages.items():
            times[(times < 0) & (w >= level)] = step
        after = passages[levels[-1]] >= 0
        kept[after] = np.minimum(kept, w)[after]
        np.maximum(peaks, np.abs(W), out=peaks)
        pulled = (y[:, :, None] + y[:, None, :]) / 2 * W
        U = U + y[:, :, None] * U - pulled @ U
        W = U @ U.transpose(0, 2, 1)
    return passages, peaks, kept, W


def drawn_signal(rng: np.random.Generator, d: int, ratios: tuple[float, float]) -> np.ndarray:
    """A signal (d,) from 1 down, with successive ratios even between two ends."""
    return np.cumprod([1.0, *(1 / rng.uniform(*ratios, d - 1))])


def gaussian_start(rng: np.random.Generator, d: int, width: int) -> np.ndarray:
    """U U^T (d, d) of a Gaussian U, exactly symmetric."""
    U = rng.standard_normal((d, width))
    W = U @ U.T
    return np.asarray((W + W.T) / 2)


def exact(values: np.ndarray) -> list[Fraction]:
    """The binary numbers that floats are."""
    return [Fraction(float(value)) for value in values]


@dataclass
class Intervals:
    """What proved intervals of many starts came to."""

    starts: int = 0
    covered_starts: int = 0
    half_times: int = 0
    covered: int = 0
    single: int = 0
    outside: int = 0
    certified: int = 0
    disagree: int = 0
    seconds: list[float] = field(default_factory=list)

    def note(self, proved: np.ndarray | str, d: int, observed: np.ndarray) -> None:
        """Count a start."""
        self.starts += 1
        self.half_times += d
        if isinstance(proved, str):
            return
        self.covered_starts += 1
        self.covered += d
        self.single += int((proved[:, 0] == proved[:, 1]).sum())
        inside = (proved[:, 0] <= observed) & (observed <= proved[:, 1])
        self.outside += int((~inside).sum())


def intervals(
    starts: int, rng: np.random.Generator, ratios: tuple[float, float], certify: bool = True
) -> Intervals:
    """Random full-rank starts: d 2 to 4, omega even in its logarithm from 1e-300 to 1e-8."""
    tally = Intervals()
    for _ in range(starts):
        d = int(rng.integers(2, 5))
        a = drawn_signal(rng, d, ratios).tolist()
        eta = float(np.exp(rng.uniform(math.log(0.005), math.log(0.05))))
        matrix = gaussian_start(rng, d, d + int(rng.integers(0, 2)))
        W0 = swingby.Scaled(matrix, f"{10 ** rng.uniform(0, 1):.6f}e{rng.integers(-300, -8)}")
        begin = time.perf_counter()
        proved = swingby.predict(a, W0, eta=eta, accuracy="leading", proved=True).proved
        tally.seconds.append(time.perf_counter() - begin)
        run = swingby.simulate(a, W0, eta=eta)
        tally.note(proved, d, run.half_times)
        if certify and not isinstance(proved, str) and proved.max() < CERTIFIED_STEPS:
            times = swingby.certify(a, W0, eta).half_times
            tally.certified += d
            tally.disagree += sum(
                not low <= step <= high for (low, high), step in zip(proved, times, strict=True)
            )
    return tally


#: Instances of the plain map in a batch.
BATCH = 1000


@dataclass
class Promises:
    """Instances of a theorem, and the promises that they break."""

    instances: int = 0
    broken: Counter[str] = field(default_factory=Counter)
    #: The smallest slack of each promise: logs for peaks, steps for times.
    slack: dict[str, float] = field(default_factory=dict)

    def note(self, name: str, slack: np.ndarray) -> None:
        """Count the slacks of a promise, negative where it is broken."""
        values = np.asarray(slack, dtype=np.float64)
        values = values[~np.isnan(values)]
        if values.size:
            self.broken[name] += int((values < 0).sum())
            self.slack[name] = min(self.slack.get(name, math.inf), float(values.min()))


def _class_starts(
    rng: np.random.Generator, n: int, d: int, log_omega: float, beta: float, rho: float
) -> np.ndarray:
    """W(0) (n, d, d) with w_ii <= beta omega and pivots >= rho omega, half at the ends."""
    diagonal = np.where(
        rng.random((n, d)) < 0.5, beta, np.exp(rng.uniform(math.log(rho), math.log(beta), (n, d)))
    )
    U = np.zeros((n, d, d))
    for i in range(d):
        low, high = rho, diagonal[:, i]
        low = np.minimum(low, high)
        pivot = np.where(rng.random(n) < 0.5, low, np.exp(rng.uniform(np.log(low), np.log(high))))
        direction = rng.standard_normal((n, i))
        norms = np.linalg.norm(direction, axis=1)
        rest = np.sqrt(np.maximum(high - pivot, 0.0) * (1 - 1e-12))
        if i:
            U[:, i, :i] = direction * (rest / norms)[:, None]
        U[:, i, i] = np.sqrt(pivot * (1 + 1e-12))
    return np.exp(log_omega) * (U @ U.transpose(0, 2, 1))


def promises_r(instances: int, rng: np.random.Generator, per_setting: int = 100) -> Promises:
    """R-gd and two-gd at and below omega_0: peaks, the step of 0.8, and that it is kept."""
    tally = Promises()
    while tally.instances < instances:
        d = int(rng.integers(2, 5))
        a = drawn_signal(rng, d, (1.5, 5.0))
        y = float(np.exp(rng.uniform(math.log(0.02), math.log(1 / 3))))
        rho = Fraction(1, int(rng.integers(2, 30)))
        numbers = DescentRange(tuple(exact(a)), Fraction(y), Fraction(2), rho)
        largest = numbers.largest
        if largest is None or largest[1] < -120:
            continue
        log_omega = float(largest[1]) - (0 if rng.random() < 0.4 else rng.uniform(0, 20))
        promise = numbers.promise(Fraction(math.exp(log_omega) * (1 - 1e-12)))
        if promise is None:
            continue
        n = min(per_setting, instances - tally.instances)
        W = _class_starts(rng, n, d, log_omega - 1e-9, 2.0, float(rho))
        last = max(promise.reach_by)
        rates = np.tile(y * a, (n, 1))
        times, peaks, kept, _end = plain_runs(rates, W, last + 200)
        tally.instances += n
        for (i, j), size in promise.log_peaks.items():
            with np.errstate(divide="ignore"):
                tally.note("peak", size - np.log(peaks[:, i, j]) + ROUNDING)
        reached = times[0.8]
        tally.note("reach", np.where(reached < 0, -1, np.array(promise.reach_by) - reached))
        tally.note("keep", np.where(np.isfinite(kept), kept - 0.8 + ROUNDING, np.nan))
    return tally


def promises_s(
    instances: int, rng: np.random.Generator, *, log_omega: tuple[float, float] = (-30.0, -3.0)
) -> Promises:
    """S-gd and two-gd of this W(0): half-times inside, against the plain map."""
    tally = Promises()
    while tally.instances < instances:
        d = int(rng.integers(2, 5))
        n = min(BATCH, instances - tally.instances)
        rates, starts, proved = np.empty((n, d)), np.empty((n, d, d)), []
        for m in range(n):
            a = drawn_signal(rng, d, (1.3, 5.0))
            rates[m] = a * float(np.exp(rng.uniform(math.log(0.03), math.log(0.3))))
            omega = 10 ** rng.uniform(*log_omega)
            starts[m] = omega * gaussian_start(rng, d, d + int(rng.integers(0, 3)))
            proved.append(_intervals_of(rates[m], starts[m]))
        last = max((interval[1] for row in proved for interval in row if interval), default=0)
        times, *_ = plain_runs(rates, starts, min(last + 3, 20_000))
        for m, row in enumerate(proved):
            for k, interval in enumerate(row):
                if interval is not None and interval[1] < 20_000:
                    tally.note(
                        "inside",
                        np.array(
                            min(times[0.5][m, k] - interval[0], interval[1] - times[0.5][m, k])
                        ),
                    )
        tally.instances += n
    return tally


def _intervals_of(y: np.ndarray, W: np.ndarray) -> list[tuple[int, int] | None]:
    """Intervals of S-gd and, for two concepts, of two-gd, intersected."""
    d = len(y)
    matrix = np.array([exact(row) for row in W])
    pivots, diagonal = exact_pivots(matrix), [matrix[k, k] for k in range(d)]
    if min(pivots) <= 0 or max(diagonal) >= Fraction(1, 2):
        return [None] * d
    answers = [theorem_s_gd.half_times(exact(y), diagonal, pivots)]
    if d == 2:
        pair = [tuple(values) for values in (exact(y), diagonal, pivots)]
        answers.append(theorem_two_gd.half_times(*pair))  # type: ignore[arg-type]
    rows: list[tuple[int, int] | None] = [None] * d
    for answer in answers:
        if isinstance(answer, str):
            continue
        for k, interval in enumerate(answer):
            if interval is not None:
                low, high = rows[k] or interval
                rows[k] = (max(low, interval[0]), min(high, interval[1]))
    return rows


def promises_g(instances: int, rng: np.random.Generator) -> Promises:
    """G-gd, ties included: bound of |W|, loss that never rises, times to 1/2 and 4/5."""
    tally = Promises()
    while tally.instances < instances:
        d, n = int(rng.integers(1, 5)), min(BATCH, instances - tally.instances)
        a = np.ones((n, d))
        a[:, 1:] = np.where(rng.random((n, d - 1)) < 0.3, 1.0, rng.uniform(0.2, 1.0, (n, d - 1)))
        W = np.stack([gaussian_start(rng, d, d + 1) for _ in range(n)])
        W *= np.exp(rng.uniform(-14, 0.5, n))[:, None, None] / d
        norm = np.linalg.eigvalsh(W)[:, -1]
        y = np.minimum(0.43, 0.5 / norm) * np.where(
            rng.random(n) < 0.3, 1 - 1e-9, rng.uniform(0.1, 1, n)
        )
        rates, bound = a * y[:, None], np.maximum(norm, 1 + y / 3)
        U, losses = np.linalg.cholesky(W), np.full(n, np.inf)
        state = W
        for _ in range(300):
            rest = np.eye(d) - state
            loss = np.einsum("ni,nij,nji->n", rates, rest, rest)
            tally.note("loss", losses - loss + ROUNDING)
            losses = loss
            tally.note("norm", bound - np.linalg.eigvalsh(state)[:, -1] + ROUNDING)
            U = U + rates[:, :, None] * U - (rates[:, :, None] + rates[:, None, :]) / 2 * state @ U
            state = U @ U.transpose(0, 2, 1)
        small = np.flatnonzero(np.einsum("nii->ni", W).max(axis=1) < 0.8)
        times, *_ = plain_runs(rates[small], W[small], 3000)
        for row, m in enumerate(small[:50]):
            matrix = np.array([exact(x) for x in W[m]])
            pivots = exact_pivots(matrix)
            if min(pivots) <= 0:
                continue
            top = Fraction(float(norm[m] * (1 + 1e-12)))
            arguments = exact(rates[m]), [matrix[k, k] for k in range(d)], pivots, top
            for level, fraction in ((0.5, Fraction(1, 2)), (0.8, Fraction(4, 5))):
                by = np.array(theorem_g_gd.steps_to(*arguments, fraction), dtype=float)
                seen = times[level][row]
                tally.note("reach", np.where(seen < 0, np.where(by < 3000, -1, np.nan), by - seen))
        tally.instances += n
    return tally


def climb(rounds: int, rng: np.random.Generator) -> tuple[float, int]:
    """Hill climbing over W(0) for the promise of S-gd: the smallest share of the interval left.

    What is climbed is how close the half-time of a run in real steps comes to an end of its
    interval, in steps. Returns the closest, and how often a half-time was outside.
    """
    closest, outside = math.inf, 0
    for _ in range(rounds):
        d = int(rng.integers(2, 5))
        y = drawn_signal(rng, d, (1.3, 4.0)) * rng.uniform(0.05, 0.3)
        U = rng.standard_normal((d, d)) * 10 ** rng.uniform(-7, -2)
        best = math.inf
        for trial in range(40):
            moved = U * (1 + (0.3 * rng.standard_normal((d, d)) if trial else 0.0))
            W = moved @ moved.T
            W = (W + W.T) / 2
            row = _intervals_of(y, W)
            known = [k for k in range(d) if row[k] is not None]
            if not known:
                continue
            last = max(row[k][1] for k in known)  # type: ignore[index]
            times, *_ = plain_runs(y[None], W[None], last + 2)
            gaps = [
                min(times[0.5][0, k] - row[k][0], row[k][1] - times[0.5][0, k])  # type: ignore[index]
                for k in known
            ]
            outside += sum(gap < 0 for gap in gaps)
            widths = [row[k][1] - row[k][0] for k in known]  # type: ignore[index]
            shares = [gap / width for gap, width in zip(gaps, widths, strict=True) if width > 3]
            if shares and min(shares) < best:
                best, U = min(shares), moved
        closest = min(closest, best)
    return closest, outside


def _intervals_grid(tally: Intervals) -> Grid:
    seconds = np.array(tally.seconds)
    rows = [
        ["starts covered", f"{tally.covered_starts} of {tally.starts}"],
        ["half-times covered", f"{tally.covered} of {tally.half_times}"],
        ["of these a single step", f"{tally.single}"],
        ["outside their interval", f"{tally.outside}"],
        ["certified in balls, disagreeing", f"{tally.certified}, {tally.disagree}"],
        [
            "ms per start, median and largest",
            f"{1e3 * np.median(seconds):.1f}, {1e3 * seconds.max():.0f}",
        ],
    ]
    return Grid(title="Proved half-times before the run", columns=["", ">"], rows=rows)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=("intervals", "promises", "climb"), default="intervals")
    parser.add_argument("--starts", type=int, default=500)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the 100,000 instances")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    if arguments.part == "intervals":
        print(_intervals_grid(intervals(arguments.starts, rng, (1.3, 4.0))).to_text(width=130))
    elif arguments.part == "climb":
        closest, outside = climb(max(1, int(50 * arguments.scale)), rng)
        print(f"closest to an end of an interval: {closest:.3f} of it; outside: {outside}")
    else:
        parts: dict[str, tuple[int, Callable[[int, np.random.Generator], Promises]]] = {
            "R-gd, two-gd": (50_000, promises_r),
            "S-gd, two-gd": (20_000, promises_s),
            "G-gd": (30_000, promises_g),
        }
        rows = []
        for name, (count, measure) in parts.items():
            tally = measure(max(1, int(count * arguments.scale)), rng)
            slacks = ", ".join(f"{key} {value:.2g}" for key, value in tally.slack.items())
            rows.append([name, f"{tally.instances:,}", str(tally.broken.total()), slacks])
            print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
        columns = ["theorem", ">instances", ">broken", "smallest slack"]
        print(Grid("Promises against the plain map", columns, rows).to_text(width=130))


if __name__ == "__main__":
    main()
