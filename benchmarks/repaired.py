"""The repaired theorems on random instances, and how far omega_0 is from what runs show.

Run with ``python -m benchmarks.repaired``. The first table counts instances that break a promise
of a theorem: under the flow, of which the theorems speak; under gd with the same bounds, which do
not carry over as they stand; and under gd in the form that does, as far as runs show: times for the
signal log(1 + eta a)/eta, peaks up to a factor 1 + eta a_1. The second table
raises omega beyond omega_0 and says where the same conclusions first fail for one of many random
W(0), so the true threshold lies at or below what is shown.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np

from swingby.proofs.prover.repaired import trial_runs
from swingby.proofs.prover.repaired.random_trials import DRAWS, LEVEL, Trials, initial_matrices
from swingby.report import Grid
from swingby.theory.repaired import theorem_r, theorem_two
from swingby.theory.repaired.repaired_setting import RepairedSetting

SHARES = {"Theorem two": 0.4, "Theorem R": 0.3, "Theorem G": 0.3}
PASSES = (("flow", False, "flow"), ("gd", False, "gd"), ("gd", True, "gd, own form"))
SIGNALS = ((4, 1), (16, 4, 1), (64, 16, 4, 1))
BETA, RHO = Fraction(2), Fraction(1, 10)
BOUNDS = ("peak", "reach", "keep")
#: Initial matrices per drawn setting.
PER_SETTING = 100


@dataclass
class Tally:
    """What was found over many instances.

    ``violations`` counts instances that break at least one promise, ``broken`` those by bound;
    ``slack`` is the smallest slack of each bound, ``relative`` the smallest divided by eta a_1, the
    size of what gd changes.
    """

    instances: int = 0
    violations: int = 0
    slack: dict[str, float] = field(default_factory=dict)
    relative: dict[str, float] = field(default_factory=dict)
    broken: dict[str, int] = field(default_factory=dict)


def measure(
    name: str, dynamics: str, instances: int, rng: np.random.Generator, *, effective: bool = False
) -> Tally:
    """Count violations of a theorem and record the smallest slacks.

    ``effective`` is the form tested for gd: the promises at the signal log(1 + eta a)/eta, at which
    an entry grows while everything is small, in place of a, and peaks up to a factor 1 + eta a_1.
    """
    tally = Tally()
    while tally.instances < instances:
        count = min(PER_SETTING, instances - tally.instances)
        trials = DRAWS[name](count, rng, dynamics, effective)
        found = trial_runs.slacks(trials, dynamics)
        for bound, values in found.items():
            wrong = int((~(values >= 0)).sum())
            tally.broken[bound] = tally.broken.get(bound, 0) + wrong
            smallest = float(values.min()) - trial_runs.ROUNDING
            tally.slack[bound] = min(tally.slack.get(bound, math.inf), smallest)
            share = smallest / (trials.eta * trials.signal[0])
            tally.relative[bound] = min(tally.relative.get(bound, math.inf), share)
        tally.violations += int((~(np.min(list(found.values()), axis=0) >= 0)).sum())
        tally.instances += count
    return tally


def violations(instances: int, seed: int) -> Grid:
    """Count violations over random instances.

    Parameters
    ----------
    instances : int
        Per row of dynamics, shared among the theorems.
    seed : int

    Returns
    -------
    Grid
    """
    rows: list[list[str]] = []
    for dynamics, effective, label in PASSES:
        for name, share in SHARES.items():
            started = time.perf_counter()
            rng = np.random.default_rng([seed, len(rows)])
            tally = measure(name, dynamics, round(instances * share), rng, effective=effective)
            broken = [f"{bound} {count}" for bound, count in tally.broken.items() if count]
            cells = [f"{bound} {value:.2g}" for bound, value in tally.slack.items()]
            scaled = [
                f"{bound} {value:.2g}"
                for bound, value in tally.relative.items()
                if dynamics == "gd" and value < -1e-6
            ]
            rows.append(
                [
                    name,
                    label,
                    f"{tally.instances:,}",
                    f"{tally.violations:,}" + (f" ({', '.join(broken)})" if broken else ""),
                    ", ".join(cells),
                    ", ".join(scaled) or "-",
                ]
            )
            seconds = time.perf_counter() - started
            print(*rows[-1], f"{seconds:.0f} s", sep=" | ", file=sys.stderr, flush=True)
    return Grid(
        title="Random instances inside the hypotheses",
        columns=[
            "theorem",
            "dynamics",
            ">instances",
            ">violations",
            "smallest slack",
            "worst, over eta a_1",
        ],
        rows=rows,
        below=[
            "peak: log of bound over largest |w_ij|. reach: what is left of the time allowed for "
            "0.8, in units of 1/(2 a_i). keep: smallest w_ii - 0.8 after the passage. end: 1e-3 "
            "less the distance from I at the end. det: smallest change of log det C.",
            "Under the flow, eta a_1 is 0.1 (the spacing at which the solution is recorded). Under "
            "gd it is 0.005 to 0.05.",
        ],
    )


@dataclass(frozen=True)
class Beyond:
    """A theorem's conclusions carried beyond its omega_0 with the constants it has there.

    Parameters
    ----------
    theorem : str
    setting : Setting
    log_omega_0 : float
    """

    theorem: str
    setting: RepairedSetting
    log_omega_0: float

    def promises(self, log_omega: float) -> tuple[np.ndarray, np.ndarray]:
        """Log peaks (d, d) and times (d,), at any omega with beta omega below 0.8.

        Theorem two: (a) as it is, and (c) with the extra time e of omega_0. R: the entries of the
        witness at omega_0 times (omega/omega_0)^((1-q)/2), and its times with its N and M.
        """
        setting = self.setting
        if self.theorem == "Theorem two":
            start = Fraction(self.log_omega_0)
            a_1, a_2 = setting.signal
            extra = float(theorem_two.constants(setting, start).extra)
            _, second = theorem_two.time_bounds(setting, Fraction(log_omega))
            base = second * 2 * float(a_2)
            peaks = np.full((2, 2), theorem_two.log_peak(setting, Fraction(log_omega)))
            return peaks, np.array([(base + extra) / (2 * float(a_1)), second])
        certified = theorem_r.search(setting)
        witness = theorem_r.scaled(setting, Fraction(log_omega), certified)
        times = theorem_r.time_bounds(setting, Fraction(log_omega), certified.witness)
        return np.array([[float(value) for value in row] for row in witness.log_peaks]), np.array(
            times
        )

    def failing(self, log_omega: float, shapes: np.ndarray) -> dict[str, float]:
        """The share of the initial matrices omega * shape for which each bound fails."""
        d = self.setting.d
        largest = float(self.setting.signal[0])
        peaks, times = self.promises(log_omega)
        bounds = np.full((d, d), np.inf)
        for i, j in combinations(range(d), 2):
            bounds[i, j] = peaks[i, j]
        found: dict[str, list[np.ndarray]] = {bound: [] for bound in BOUNDS}
        for part in np.array_split(shapes, max(1, len(shapes) // 25)):
            trials = Trials(
                np.array([float(value) / largest for value in self.setting.signal]),
                0.1,
                math.exp(log_omega) * part,
                np.broadcast_to(bounds, part.shape),
                np.broadcast_to(times * largest, part.shape[:2]),
                True,
                "",
            )
            slack = trial_runs.slacks(trials, "flow")
            for bound in BOUNDS:
                found[bound].append(~(slack[bound] >= 0))
        return {bound: float(np.concatenate(parts).mean()) for bound, parts in found.items()}


def beyond(signal: tuple[int, ...]) -> Beyond:
    """The theorem with the larger omega_0 for a signal, beta = 2, rho = 1/10."""
    setting = RepairedSetting(tuple(map(Fraction, signal)), BETA, RHO)
    if len(signal) == 2:
        return Beyond("Theorem two", setting, float(theorem_two.log_omega_0(setting)))
    return Beyond("Theorem R", setting, float(theorem_r.search(setting).log_omega_0))


def thresholds(matrices: int, seed: int) -> Grid:
    """Find the omega at which each conclusion first fails for one of many random W(0).

    Parameters
    ----------
    matrices : int
        Per omega.
    seed : int

    Returns
    -------
    Grid
    """
    rows: list[list[str]] = []
    for signal in SIGNALS:
        subject = beyond(signal)
        d = len(signal)
        count = max(50, matrices // (1, 1, 4, 20)[d - 1])
        rng = np.random.default_rng([seed, d])
        shapes = initial_matrices(d, float(BETA), float(RHO), count, rng)
        start, end = subject.log_omega_0, math.log(LEVEL / float(BETA)) - 1e-6
        grid = np.linspace(start, end, 9)
        shares = [subject.failing(L, shapes) for L in grid]
        for bound in BOUNDS:
            failed = [place for place, share in enumerate(shares) if share[bound] > 0]
            shown, factor = "none up to beta omega = 0.8", "-"
            if failed:
                low, high = grid[max(failed[0] - 1, 0)], grid[failed[0]]
                for _ in range(5 if failed[0] else 0):
                    middle = (low + high) / 2
                    broken = subject.failing(middle, shapes)[bound] > 0
                    low, high = (low, middle) if broken else (middle, high)
                shown = f"{math.exp(high):.2g}"
                factor = f"{math.exp(high - start):.2g}"
            by_omega = ", ".join(
                f"{math.exp(L):.1g}: {100 * share[bound]:.3g}%"
                for L, share in zip(grid, shares, strict=True)
                if share[bound] > 0
            )
            rows.append(
                [
                    " : ".join(map(str, signal)),
                    subject.theorem,
                    f"{math.exp(start):.3g}",
                    bound,
                    shown,
                    factor,
                    by_omega or "-",
                ]
            )
            print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    return Grid(
        title="Above omega_0, at beta = 2, rho = 1/10 (flow)",
        columns=[
            "signal",
            "theorem",
            ">omega_0",
            "conclusion",
            ">first fails at",
            ">over omega_0",
            "share of W(0) that fail, by omega",
        ],
        rows=rows,
        below=[
            "Theorem two: the bound on the peak holds for every omega with beta omega < 1; the "
            "times have the extra time of omega_0. Theorem R: bounds and times of omega_0, scaled "
            "by their power of omega.",
        ],
    )


def main() -> None:
    """Print both tables, and write them as Markdown where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=100_000)
    parser.add_argument("--matrices", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    grids = (
        violations(arguments.instances, arguments.seed),
        thresholds(arguments.matrices, arguments.seed),
    )
    for grid in grids:
        print(grid.to_text(width=170))
    if arguments.out is not None:
        text = "\n\n".join(grid.to_markdown() for grid in grids)
        arguments.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
