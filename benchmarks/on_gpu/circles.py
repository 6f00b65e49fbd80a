"""Circles measured on a device, against one core."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch

from benchmarks.on_gpu.parts import Record
from benchmarks.on_gpu.precision import synchronize
from swingby.lab.diffusion.circles import Circles, Reading, read_circles


def pictures(circles: Circles, count: int) -> np.ndarray:
    """Images as samplers make them: circles in more or less noise, and noise alone."""
    rng = np.random.default_rng(0)
    images = circles.draw(-(-count // 4), rng=rng, classes=(0, 1, 2, 3)).pixels[:count]
    levels = rng.choice([0.0, 0.03, 0.3], (count, 1, 1, 1), p=[0.5, 0.3, 0.2])
    return images + levels * rng.standard_normal(images.shape)


def best(read: Callable[[], Reading], device: str, repeats: int) -> tuple[float, Reading]:
    """The shortest of several times, and the reading."""
    reading, times = read(), []
    for _ in range(repeats):
        synchronize(device)
        begun = time.perf_counter()
        reading = read()
        times.append(time.perf_counter() - begun)
    return min(times), reading


def measure(record: Record) -> None:
    """Rows by the number of images; 64 are read at every save of a course."""
    torch.set_num_threads(1)
    circles = Circles(0.3, 16 if record.tiny else 32)
    for count in (4, 8) if record.tiny else (64, 16, 256, 1024):
        if record.is_spent():
            break
        images = pictures(circles, count)
        # A core takes the same for every image.
        few = images[: 8 if record.tiny else 64]
        core, expected = best(lambda few=few: read_circles(few, circles), "cpu", 1)
        tensor = torch.from_numpy(images).to(record.device)
        seconds, reading = best(
            lambda tensor=tensor: read_circles(tensor, circles), record.device, 3
        )
        off = np.abs(reading.radius[: len(few)] - expected.radius)
        record.add(
            images=count,
            pixels=circles.pixels,
            seconds=seconds,
            ms_per_image=1e3 * seconds / count,
            ms_per_image_on_a_core=1e3 * core / len(few),
            ratio=core / len(few) / (seconds / count),
            kinds_that_differ=int((reading.kind[: len(few)] != expected.kind).sum()),
            largest_difference_of_radius=float(off.max()),
        )
