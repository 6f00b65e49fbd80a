"""Where the time of a point of the atlas goes: shares of one core's processor time.

Run with ``python -m benchmarks.atlas``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from swingby.lab.sweeps import measurement
from swingby.lab.sweeps.grid import as_grid
from swingby.lab.sweeps.point import Point
from swingby.simulate import batch
from swingby.theory.law import driver
from swingby.verify import swing_sizes

#: What is timed: where the function is, its name, and what it does.
PARTS = (
    (driver, "walk_to_end", "walks of the law"),
    (driver, "walk_noted", "walks of the swing"),
    (swing_sizes, "run", "looks and decisive sizes"),
    (driver, "follow_map", "the map where steps are coarse"),
    (batch, "simulate_batch", "the run"),
    (measurement, "initial", "W(0)"),
    (measurement, "_measured", "labels"),
)


def some_points(count: int) -> list[Point]:
    """Points of the atlas, drawn at random and in its order."""
    grid = as_grid("atlas")
    chosen = set(np.random.default_rng(0).choice(len(grid), count, replace=False).tolist())
    return [point for number, point in enumerate(grid.points()) if number in chosen]


def timed(function: Callable[..., Any], seconds: list[float]) -> Callable[..., Any]:
    """A function that adds the time of its calls to a list."""

    def call(*arguments: Any, **named: Any) -> Any:
        started = time.process_time()
        try:
            return function(*arguments, **named)
        finally:
            seconds.append(time.process_time() - started)

    return call


def main() -> None:
    """Measure the points once as they are, and once with a clock in every part."""
    parser = argparse.ArgumentParser()
    parser.add_argument("count", nargs="?", type=int, default=2000)
    points = some_points(parser.parse_args().count)
    measurement.measure(points[:64])
    started = time.process_time()
    measurement.measure(points)
    whole = time.process_time() - started
    print(f"{len(points)} points, {1e3 * whole / len(points):.2f} ms each")
    spent: dict[str, list[float]] = {}
    for module, name, what in PARTS:
        seconds = spent[what] = []
        setattr(module, name, timed(getattr(module, name), seconds))
    started = time.process_time()
    measurement.measure(points)
    whole = time.process_time() - started
    for what, seconds in spent.items():
        print(f"{what}: {sum(seconds) / whole:.0%}")


if __name__ == "__main__":
    main()
