"""Random instances on which accuracy is measured, the same for every table and all dynamics."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.observe import observe

Floats = NDArray[np.float64]

DYNAMICS = ("euler", "gd", "flow")
#: A stage is close to the runaway if at most this many e-folds of its concept lie between.
E_FOLDS = 5.0


@dataclass(frozen=True)
class Cell:
    """One row of the accuracy table.

    Parameters
    ----------
    label : str
    omega : tuple of two float
        Range of the mean w_ii(0), uniform in its logarithm.
    ratios : tuple of two float
        Range of successive ratios of a.
    sizes : tuple of two int
        Range of d.
    steps : tuple of two float
        Range of eta a_max.
    start : {"gaussian", "uniform", "parallel", "brink", "deficient", "rank one"}
        U(0): square Gaussian; square and uniform on [0, x]; Gaussian rows that nearly are
        multiples of one vector, so that later pivots are small; the same where the drift of
        euler takes up nearly all of a pivot, or a little more; Gaussian with fewer columns.
    tied : float
        Probability that two successive signals are exactly equal; at least two are.
    runaway : bool
        Keep only instances in which euler runs away within a few e-folds of a stage.
    dynamics : tuple of str
    """

    label: str
    omega: tuple[float, float]
    ratios: tuple[float, float] = (1.3, 4.0)
    sizes: tuple[int, int] = (2, 6)
    steps: tuple[float, float] = (0.002, 0.05)
    start: str = "gaussian"
    tied: float = 0.0
    runaway: bool = False
    dynamics: tuple[str, ...] = DYNAMICS


CELLS = (
    Cell("omega 1e-2 to 1e-1", (1e-2, 1e-1)),
    Cell("omega 1e-3 to 1e-2", (1e-3, 1e-2)),
    Cell("omega 1e-8 to 1e-4", (1e-8, 1e-4)),
    Cell("omega 1e-40 to 1e-8", (1e-40, 1e-8)),
    Cell("equal signals", (1e-8, 1e-1), tied=0.6),
    Cell("ratios 1 to 1.2", (1e-8, 1e-1), (1.0, 1.2)),
    Cell("uniform U(0)", (1e-6, 1e-1), start="uniform"),
    Cell("drift", (1e-8, 1e-3), (2.0, 6.0), (2, 4), (0.03, 0.05), start="brink"),
    Cell(
        "near a runaway",
        (1e-6, 1e-1),
        (1.1, 2.0),
        (3, 4),
        (0.02, 0.05),
        start="parallel",
        runaway=True,
        dynamics=("euler",),
    ),
    Cell("rank one", (1e-8, 1e-2), start="rank one"),
    Cell("deficient rank", (1e-8, 1e-2), sizes=(3, 6), start="deficient"),
    Cell("d = 8", (1e-8, 1e-2), (1.05, 2.0), (8, 8)),
    Cell("d = 16", (1e-8, 1e-2), (1.05, 1.4), (16, 16)),
    Cell("coarse, eta a_max .2 to .5", (1e-8, 1e-2), steps=(0.2, 0.5)),
)


@dataclass(frozen=True, eq=False)
class Instance:
    """A signal, a step size and an initial matrix.

    Parameters
    ----------
    signal : ndarray of shape (d,)
        In random order; the largest is 1.
    eta : float
    U0 : ndarray of shape (d, d')
    W0 : ndarray of shape (d, d)
        U0 U0^T in floats.
    """

    signal: Floats
    eta: float
    U0: Floats
    W0: Floats


def instances(cell: Cell, count: int, seed: int = 7) -> Iterator[Instance]:
    """The first instances of a row; more of them do not change those before."""
    rng = np.random.default_rng([seed, zlib.crc32(cell.label.encode())])
    found = 0
    while found < count:
        instance = draw(cell, rng)
        if not cell.runaway or _near_runaway(instance):
            found += 1
            yield instance


def draw(cell: Cell, rng: np.random.Generator) -> Instance:
    d = int(rng.integers(cell.sizes[0], cell.sizes[1] + 1))
    ratios = rng.uniform(*cell.ratios, d - 1)
    if cell.tied:
        equal = rng.random(d - 1) < cell.tied
        equal[rng.integers(d - 1)] = True
        ratios[equal] = 1.0
    signal = rng.permutation(1.0 / np.cumprod(np.concatenate([[1.0], ratios])))
    eta = float(rng.uniform(*cell.steps))
    omega = float(np.exp(rng.uniform(*np.log(cell.omega))))
    if cell.start == "brink":
        return _brink(signal, eta, omega, rng)
    return _instance(signal, eta, omega, _start(cell.start, d, rng))


def _instance(signal: Floats, eta: float, omega: float, U0: Floats) -> Instance:
    U0 = U0 * np.sqrt(omega * len(signal) / np.sum(U0**2))
    W0 = U0 @ U0.T
    return Instance(signal, eta, U0, (W0 + W0.T) / 2)


def _brink(signal: Floats, eta: float, omega: float, rng: np.random.Generator) -> Instance:
    """Rows just far enough apart for euler to learn all of them, or relatively 1e-3 to 1 off."""
    d = len(signal)
    rows, common = rng.standard_normal((d, d)), np.outer(*rng.standard_normal((2, d)))

    def at(log_apart: float) -> Instance:
        return _instance(signal, eta, omega, np.exp(log_apart) * rows + common)

    def runs_away(log_apart: float) -> bool:
        start = at(log_apart)
        run = observe(signal, eta, start.U0, start.W0, "euler")
        return bool(np.isfinite(run.runaway))

    low, high = -7.0, 3.0
    if runs_away(high):
        return _brink(signal, eta, omega, rng)
    for _ in range(25):
        middle = (low + high) / 2
        low, high = (middle, high) if runs_away(middle) else (low, middle)
    beyond = float(np.exp(rng.uniform(np.log(1e-3), 0.0)))
    # Three of four on the side where everything is learned.
    return at(high + (beyond if rng.random() < 0.75 else -beyond))


def _start(kind: str, d: int, rng: np.random.Generator) -> Floats:
    if kind == "uniform":
        return rng.random((d, d))
    if kind == "rank one":
        return rng.standard_normal((d, 1))
    if kind == "deficient":
        return rng.standard_normal((d, int(rng.integers(2, d))))
    U0 = rng.standard_normal((d, d))
    if kind == "parallel":
        apart = np.exp(rng.uniform(np.log(0.03), 0.0))
        U0 = apart * U0 + np.outer(rng.standard_normal(d), rng.standard_normal(d))
    return U0


def _near_runaway(instance: Instance) -> bool:
    signal, eta = instance.signal, instance.eta
    run = observe(signal, eta, instance.U0, instance.W0, "euler")
    folds = 2 * eta * signal * (run.runaway - run.crossing)
    return bool((folds < E_FOLDS).any())
