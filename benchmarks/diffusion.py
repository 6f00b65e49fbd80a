"""How fast image diffusion models train, alone and several at once, and what share of the chip.

One row for each number of courses that share the device; on the CPU each has one thread. Work is
counted by torch, in multiplications and additions of a step forward and backward, and set against
the speed that was measured for large matrix products in the same run and precision, or against
``--peak``, the data sheet's number in TFLOP/s.

Run with ``python -m benchmarks.diffusion`` (``--preset paper --device cuda`` on a GPU).
"""

from __future__ import annotations

import argparse
import multiprocessing
import platform
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from swingby.lab.diffusion.circles import Circles
from swingby.lab.diffusion.course_training import Batch, Model, next_batch
from swingby.lab.diffusion.preset import PRESETS, Preset, preset_of
from swingby.report import Grid

#: Steps before the clock runs.
WARM = 5


def _course(preset: Preset, place: torch.device) -> Callable[[int], Any]:
    """What makes a network take some steps."""
    images = Circles(0.8, preset.pixels).draw(256, rng=0)
    pixels = torch.from_numpy(2 * images.pixels - 1).to(place)
    told = torch.from_numpy(images.conditions).to(place)
    generator = torch.Generator(place)

    def batches(step: int) -> Batch:
        return next_batch(preset, 0, step, pixels, told, generator)

    learner = Model(preset, 0, place).learner(batches)
    return lambda steps: learner.advance(0, steps)


def seconds_per_step(name: str, device: str, steps: int) -> float:
    """Time of one step of one course, in a process of its own."""
    place = torch.device(device)
    if place.type == "cpu":
        torch.set_num_threads(1)
    else:
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    advance = _course(preset_of(name), place)
    advance(WARM)
    _wait(place)
    begun = time.perf_counter()
    advance(steps)
    _wait(place)
    return (time.perf_counter() - begun) / steps


def work_of(preset: Preset, place: torch.device) -> int:
    """Operations of one step: two for each multiplication with its addition."""
    advance = _course(preset, place)
    with FlopCounterMode(display=False) as counter:
        advance(1)
    return int(counter.get_total_flops())


def product_speed(preset: Preset, place: torch.device) -> float:
    """Operations per second of large matrix products, in the precision of the preset."""
    half = place.type == "cuda" and preset.precision == "bfloat16"
    n = 8192 if place.type == "cuda" else 1536
    one = torch.randn(n, n, device=place, dtype=torch.bfloat16 if half else torch.float32)
    best = 0.0
    for _ in range(5):
        _wait(place)
        begun = time.perf_counter()
        for _ in range(5):
            one @ one
        _wait(place)
        best = max(best, 5 * 2 * n**3 / (time.perf_counter() - begun))
    return best


def _wait(place: torch.device) -> None:
    if place.type == "cuda":
        torch.cuda.synchronize(place)


def table(name: str, device: str, steps: int, together: list[int], peak: float | None) -> Grid:
    """A row for each number of courses at once."""
    preset, place = preset_of(name), torch.device(device)
    if place.type == "cpu":
        torch.set_num_threads(1)
    work = work_of(preset, place)
    product = product_speed(preset, place)
    whole = peak * 1e12 if peak is not None else product
    context = multiprocessing.get_context("spawn")
    rows = []
    for count in together:
        with ProcessPoolExecutor(count, mp_context=context) as pool:
            times = [
                one.result()
                for one in [
                    pool.submit(seconds_per_step, name, device, steps) for _ in range(count)
                ]
            ]
        images = sum(preset.batch / one for one in times)
        speed = images / preset.batch * work
        share = speed / (whole * (count if place.type == "cpu" and peak is None else 1))
        rows.append(
            [
                str(count),
                f"{1e3 * max(times):.1f}",
                f"{images:.0f}",
                f"{speed / 1e12:.3g}",
                f"{share:.0%}",
            ]
        )
    where = torch.cuda.get_device_name(place) if place.type == "cuda" else platform.machine()
    against = "data sheet" if peak is not None else "large matrix products"
    return Grid(
        f"Preset {name} on {where}: training",
        [">courses at once", ">ms per step", ">images per second", ">TFLOP/s", ">share of peak"],
        rows,
        [
            f"{work / preset.batch / 1e9:.3f} GFLOP per image, forward and backward; peak "
            f"({against}): {whole / 1e12:.3g} TFLOP/s"
        ],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", choices=list(PRESETS), default="small")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--together", default="1,2")
    parser.add_argument("--peak", type=float, help="TFLOP/s")
    given = parser.parse_args()
    counts = [int(one) for one in given.together.split(",")]
    print(table(given.preset, given.device, given.steps, counts, given.peak).to_text(width=100))


if __name__ == "__main__":
    main()
