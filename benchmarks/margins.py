"""Whether bars cover and labels are right where a prediction is hardest: five families.

Run with ``make margins``, or ``python -m benchmarks.margins``. A family is drawn from one seed;
every member is run by the loops below, which share nothing with the package, at so many digits
that rounding decides nothing. A stage counts as covered where its crossing lies in its bar or it is
undecided; a label is wrong where a concept that is predicted without a doubt is never learned, or
one that is trapped without a doubt is.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray

import swingby
from benchmarks.observe import _root, observe
from swingby.report import Grid

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Member:
    """A signal (d,), a step size, W(0) (d, d), its dynamics, and digits that its run needs."""

    signal: Floats
    eta: float
    W0: Floats
    dynamics: str
    digits: int = 19


@dataclass
class Count:
    """What a family counts; `bars` has one number a stage."""

    members: int = 0
    stages: int = 0
    covered: int = 0
    wrong: int = 0
    silent: int = 0
    undecided: int = 0
    differ: int = 0
    bars: list[float] = field(default_factory=list)
    misses: list[str] = field(default_factory=list)


def trajectory(member: Member, turning: int = -1, most: int = 400_000) -> Floats:
    """The diagonal of W at steps 0, 1, ..., until everything is learned or something runs away.

    Or until the diagonal entry `turning` falls.
    """
    signal, eta, start = member.signal, member.eta, member.W0
    if member.digits > 19:
        mpmath.mp.dps = member.digits
        number: Any = np.vectorize(mpmath.mpf, otypes=[object])
    else:
        number = np.longdouble
    a, h, W = number(signal), number(np.array(eta))[()], number(start)
    pair, unit = a[:, None] + a[None, :], number(np.eye(len(a)))

    def slope(W: Any) -> Any:
        pull = (pair * W) @ W
        return pair * W - (pull + pull.T) / 2

    levels = []
    for _ in range(most):
        levels.append(W.diagonal().astype(float))
        if (levels[-1] > 0.9).all() or not (np.abs(levels[-1]) < 10).all():
            return np.array(levels)
        if turning >= 0 and len(levels) > 1 and levels[-1][turning] < levels[-2][turning]:
            return np.array(levels)
        if member.dynamics == "euler":
            W = W + h * slope(W)
        elif member.dynamics == "gd":
            M = unit + h * (np.diag(a) - pair * W / 2)
            W = M @ W @ M.T
        else:
            parts = max(1, math.ceil(float(h * a.max()) / (0.04 if turning >= 0 else 0.01)))
            for _ in range(parts):
                W = _runge_kutta(slope, W, h / parts)
    return np.array(levels)


def _runge_kutta(slope: Any, W: Any, h: Any) -> Any:
    first = slope(W)
    second = slope(W + h / 2 * first)
    third = slope(W + h / 2 * second)
    return W + h / 6 * (first + 2 * second + 2 * third + slope(W + h * third))


def crossings(levels: Floats) -> Floats:
    """Real steps at which each w_kk first is at least 1/2 at a whole one; nan where it never is."""
    times = np.full(levels.shape[1], np.nan)
    for k, w in enumerate(levels.T):
        if (w >= 0.5).any():
            whole = int((w >= 0.5).argmax())
            first = max(whole - 2, 0)
            four = np.append(w[first : first + 4], np.full(4, 2.0))[:4]
            times[k] = _root(float(whole), four)
    return times


def cancelled(rng: np.random.Generator) -> Member:
    """The drift of euler takes a pivot away, but for a share of 1e-16 to 0.1, or a little more."""
    d = int(rng.integers(2, 4))
    signal = np.cumprod(np.append(rng.uniform(0.3, 0.7, d - 1), 1.0)[::-1])
    eta, omega = float(rng.uniform(0.04, 0.1)), 10.0 ** rng.uniform(-5, -2)
    U = rng.standard_normal((d, d))
    common = np.outer(rng.standard_normal(d), rng.standard_normal(d))

    def at(apart: float) -> Member:
        W0 = np.longdouble(apart) * (U @ U.T) + common @ common.T
        return Member(signal, eta, (omega * W0 / np.abs(W0).max()).astype(float), "euler", 34)

    def runs_away(apart: float, roundings: float) -> bool:
        member = at(apart)
        if roundings > 1e5:
            run = observe(signal, eta, np.eye(d), member.W0, "euler")
            return bool(np.isfinite(run.runaway))
        return bool((trajectory(member)[-1] < 0.9).any())

    low, high = 1e-6, 10.0
    if runs_away(high, math.inf) or not runs_away(low, math.inf):
        return cancelled(rng)
    share = 10.0 ** rng.uniform(-16, -1)
    while high - low > share * high / 8 and low < (middle := (low + high) / 2) < high:
        away = runs_away(middle, (high - low) / high * 2**53)
        low, high = (middle, high) if away else (low, middle)
    return at(high * (1 + share) if rng.random() < 0.5 else low * (1 - share))


def near_miss(rng: np.random.Generator) -> Member:
    """The first bump of a w_kk comes to 1/2 within a share of 1e-7 to 0.1, from either side."""
    d, dynamics = int(rng.integers(2, 4)), ("euler", "gd", "flow")[int(rng.integers(3))]
    signal = np.append([1.0, rng.uniform(0.4, 0.9)], rng.uniform(0.2, 0.3, d - 2))
    eta, omega = float(rng.uniform(0.02, 0.1)), 10.0 ** rng.uniform(-5, -2)
    rest = rng.standard_normal((d, d)) * 10.0 ** rng.uniform(-2, -0.5)

    def at(log_size: float) -> Member:
        direction = np.append([1.0, math.exp(log_size)], 0.1 * np.ones(d - 2))
        W0 = np.outer(direction, direction) + rest @ rest.T
        return Member(signal, eta, omega * (W0 + W0.T) / 2 / W0[1, 1], dynamics)

    def bump(log_size: float) -> float:
        return float(trajectory(at(log_size), turning=1)[:, 1].max())

    low, high = -1.0, 8.0
    if bump(low) >= 0.5 or bump(high) < 0.5:
        return near_miss(rng)
    share = 10.0 ** rng.uniform(-7, -1)
    while high - low > share / 4:
        middle = (low + high) / 2
        low, high = (low, middle) if bump(middle) >= 0.5 else (middle, high)
    return at(high + share if rng.random() < 0.5 else low - share)


def _gaussian(rng: np.random.Generator, low: float, high: float, sizes: tuple[int, int]) -> Any:
    d = int(rng.integers(*sizes))
    signal = np.cumprod(np.append(1.0, 1 / rng.uniform(1.0, 2.5, d - 1)))
    U = rng.standard_normal((d, d))
    if rng.random() < 0.5:
        U = np.abs(U) + rng.uniform(0, 2)
    W0 = U @ U.T
    return rng.permutation(signal), 10.0 ** rng.uniform(low, high) * (W0 + W0.T) / 2 / d


def coarse(rng: np.random.Generator) -> Member:
    """Step sizes with eta a_max between 0.1 and 0.5."""
    signal, W0 = _gaussian(rng, -6, -1, (2, 6))
    dynamics = ("euler", "gd")[int(rng.integers(2))]
    return Member(signal, float(rng.uniform(0.1, 0.5)), W0, dynamics, 34)


def tiny(rng: np.random.Generator) -> Member:
    """W(0) of size 1e-150 to 1e-30, under any dynamics, up to six concepts."""
    signal, W0 = _gaussian(rng, -150, -30, (2, 7))
    dynamics = ("euler", "euler", "gd", "flow")[int(rng.integers(4))]
    return Member(signal, float(rng.uniform(0.05, 0.4)), W0, dynamics, 34)


def scaled(rng: np.random.Generator) -> Member:
    """Signals of size 1e-140 to 1e140, and step sizes to match."""
    signal, W0 = _gaussian(rng, -6, -1, (2, 6))
    dynamics = ("euler", "gd", "flow")[int(rng.integers(3))]
    size = 10.0 ** rng.uniform(-140, 140)
    return Member(signal * size, float(rng.uniform(0.01, 0.3)) / size, W0, dynamics, 34)


FAMILIES = {
    "pivots cancelled": cancelled,
    "near 1/2": near_miss,
    "coarse": coarse,
    "tiny W(0)": tiny,
    "scaled signals": scaled,
}


def members(name: str, count: int, seed: int = 11) -> Iterator[Member]:
    """The first members of a family; more of them do not change those before."""
    for number in range(count):
        yield FAMILIES[name](np.random.default_rng([seed, number]))


def add(count: Count, member: Member) -> None:
    """Predict a member, alone and in a batch, run it, and count."""
    task = swingby.SIMTask.from_signal(member.signal.tolist())
    arguments: dict[str, Any] = {"eta": member.eta, "dynamics": member.dynamics}
    stages: Any = swingby.predict(task, member.W0, **arguments).stages
    batch = swingby.predict_batch(member.signal, member.W0, **arguments)
    if member.dynamics == "flow":
        # On U: in W, errors of an integrator count more where pivots are small.
        U0: Any = np.linalg.cholesky(member.W0)
        observed = observe(member.signal, member.eta, U0, member.W0, "flow").crossing
    else:
        observed = crossings(trajectory(member))
    same = np.array_equal(batch.trapped, stages.trapped)
    same &= np.array_equal(batch.undecided, stages.undecided)
    same &= np.array_equal(np.isfinite(batch.error), np.isfinite(stages.error))
    # Apart from each other by less than the bars of both.
    sure = np.isfinite(stages.error) & np.isfinite(stages.crossing) & same
    apart = np.abs(batch.crossing - stages.crossing)[sure]
    same &= bool((apart <= 1e-3 + (batch.error + stages.error)[sure]).all())
    count.members += 1
    count.differ += not same
    for k in range(len(observed)):
        crossing, error = stages.crossing[k], stages.error[k]
        learned, open_ = math.isfinite(observed[k]), stages.undecided[k] or math.isinf(error)
        count.stages += 1
        count.undecided += bool(open_)
        named = any(f"concept {k + 1} " in text for text in stages.warnings)
        count.silent += bool(math.isnan(crossing) or math.isinf(error)) and not (
            named or any("a_max" in text for text in stages.warnings)
        )
        if open_:
            count.covered += 1
            continue
        count.bars += [float(error)] if error > 0 else []
        label = bool(stages.trapped[k] and learned) or (math.isfinite(crossing) and not learned)
        covered = abs(crossing - observed[k]) <= error if learned else not label
        count.wrong += label
        count.covered += bool(covered)
        if label or not covered:
            count.misses.append(
                f"member {count.members - 1}, {member.dynamics}, concept {k + 1}: "
                f"{crossing:.6g} +- {error:.2g}, run {observed[k]:.6g}"
            )


def measure(name: str, runs: int) -> Count:
    """Count the first members of a family."""
    count = Count()
    for member in members(name, runs):
        add(count, member)
    return count


def table(runs: int, names: list[str], *, tell: bool = False) -> Grid:
    """The counts of several families."""
    rows = []
    for name in names:
        count = measure(name, runs)
        rows.append(
            [
                name,
                f"{count.members}",
                f"{count.stages}",
                f"{100 * count.covered / count.stages:.2f}",
                f"{100 * count.undecided / count.stages:.1f}",
                f"{np.median(count.bars):.2g}" if count.bars else "-",
                *(str(number) for number in (count.wrong, count.silent, count.differ)),
            ]
        )
        if tell:
            print("\n".join([name, *count.misses]), flush=True)
    return Grid(
        title=f"Bars and labels where predictions are hardest, {runs} members each",
        columns=[
            "family",
            ">members",
            ">stages",
            ">covered, %",
            ">undecided, %",
            ">median bar, steps",
            ">wrong labels",
            ">without a reason",
            ">batch unlike single",
        ],
        rows=rows,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200, help="members of a family")
    parser.add_argument("--family", action="append", choices=list(FAMILIES))
    arguments = parser.parse_args()
    grid = table(arguments.runs, arguments.family or list(FAMILIES), tell=True)
    print(grid.to_text(width=150))


if __name__ == "__main__":
    main()
