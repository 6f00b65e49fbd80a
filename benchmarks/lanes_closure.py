"""The steps of lanes as a plain numba closure with d constant, against the text that is generated.

Lanes are innermost and contiguous, d and the width are constants of the closure, contraction is
allowed. Prints the rate of the text and the share of it that the closure reaches::

    OMP_NUM_THREADS=1 python -m benchmarks.lanes_closure
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from swingby.simulate.lanes.fleet import rows
from swingby.simulate.lanes.tiles import LANES, tile_module
from swingby.simulate.state import pairs
from swingby.theory.compiled_text import aligned


def closure(d: int, *, gd: bool) -> Callable[..., None]:
    """``steps(W, rates, below, waited, count)`` for W (d, d, LANES), in place."""

    @njit(error_model="numpy", fastmath={"contract", "nsz", "arcp"})
    def steps(W: Any, rates: Any, below: Any, waited: Any, count: int) -> None:
        G, C = np.empty((d, d, LANES)), np.empty((d, d, LANES))
        for _ in range(count):
            for i in range(d):
                for j in range(i, d):
                    for lane in range(LANES):
                        entry = (rates[i, lane] + rates[j, lane]) * W[i, j, lane]
                        G[i, j, lane] = entry
                        G[j, i, lane] = entry
            for i in range(d):
                for j in range(d):
                    for lane in range(LANES):
                        total = G[i, 0, lane] * W[0, j, lane]
                        for k in range(1, d):
                            total += G[i, k, lane] * W[k, j, lane]
                        if gd:
                            C[i, j, lane] = rates[i, lane] * W[i, j, lane] - 0.5 * total
                        else:
                            C[i, j, lane] = 0.5 * total
            for i in range(d):
                for j in range(i, d):
                    for lane in range(LANES):
                        if gd:
                            total = C[i, 0, lane] * G[0, j, lane]
                            for k in range(1, d):
                                total += C[i, k, lane] * G[k, j, lane]
                            second = rates[j, lane] * C[i, j, lane] - 0.5 * total
                            change = (C[i, j, lane] + C[j, i, lane]) + second
                        else:
                            change = G[i, j, lane] - (C[i, j, lane] + C[j, i, lane])
                        entry = W[i, j, lane] + change
                        W[i, j, lane] = entry
                        W[j, i, lane] = entry
            for k in range(d):
                for lane in range(LANES):
                    still = 0.0 if W[k, k, lane] >= 0.5 else below[k, lane]
                    below[k, lane] = still
                    waited[k, lane] += still

    return steps


def fastest(call: Callable[[], object], repeats: int = 9) -> float:
    """Seconds of the fastest call."""
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def compared(d: int, dynamics: str) -> str:
    """The rate of the text, the share of it that the closure reaches, and how long it compiles."""
    U = 1e-3 * np.random.default_rng(0).standard_normal((LANES, d, d))
    W0 = np.ascontiguousarray((U @ U.swapaxes(1, 2)).transpose(1, 2, 0))
    rates = np.repeat(0.04 * 0.5 ** np.arange(d)[:, None], LANES, axis=1)
    count, at = max(1000, 60_000 // d**3), rows(d)
    start = np.zeros((at.end, LANES))
    start[: at.below], start[at.spans["rates"]] = W0[pairs(d)], rates
    start[at.spans["below"]] = start[at.spans["square"]] = 1.0
    start[at.spans["bar"]] = 0.5
    module = tile_module(d, dynamics, scaled=False, watched=False)
    tile, W = aligned(1, start.size)[0], W0.copy()
    below, waited = np.ones((d, LANES)), np.zeros((d, LANES))

    def by_text() -> None:
        tile[:] = start.ravel()
        module.one(tile, count)

    started = time.perf_counter()
    steps = closure(d, gd=dynamics == "gd")
    steps(W, rates, below, waited, 1)
    compiling = time.perf_counter() - started

    def by_closure() -> None:
        W[:], below[:], waited[:] = W0, 1.0, 0.0
        steps(W, rates, below, waited, count)

    text, plain = fastest(by_text), fastest(by_closure)
    assert np.array_equal(waited, tile.reshape(start.shape)[at.spans["waited"]])
    return (
        f"{d} {dynamics:5}  {LANES * count / text:13.3g}  {text / plain:12.2f}  {compiling:13.1f} s"
    )


def main() -> None:
    """A row for each d and map."""
    print("d map    text, steps/s  closure/text  compile closure")
    for d in (2, 3, 4, 8):
        for dynamics in ("euler", "gd"):
            print(compared(d, dynamics))


if __name__ == "__main__":
    main()
