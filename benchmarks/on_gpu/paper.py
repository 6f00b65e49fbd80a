"""Images per second of the preset of the paper, one course alone and four at once."""

from __future__ import annotations

import multiprocessing
import signal
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import torch

from benchmarks.diffusion import WARM, product_speed, work_of
from benchmarks.on_gpu.parts import Record
from benchmarks.on_gpu.precision import SEED, pictures, synchronize
from swingby.lab.diffusion import vdm
from swingby.lab.diffusion.circles import CLASSES, Circles
from swingby.lab.diffusion.course_training import Model, _called, look, next_batch
from swingby.lab.diffusion.preset import preset_of

#: Courses at once.
TOGETHER = 4

#: Set in a worker: where the courses wait for each other.
_barrier: Any


def begin(barrier: Any = None) -> None:
    """Set up a worker: as a study does, and stopped by Ctrl-C whoever began it."""
    global _barrier
    _barrier = barrier
    signal.signal(signal.SIGINT, signal.default_int_handler)
    torch.set_num_threads(1)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True


def train_for(name: str, device: str, seconds: float, *, together: bool) -> dict[str, float]:
    """Train a course for some time, once all have begun; steps and seconds."""
    preset, place = preset_of(name), torch.device(device)
    model, generator = Model(preset, SEED, place), torch.Generator(place)
    pixels, conditions = pictures(preset, 256, device)
    course = model.learner(
        lambda step: next_batch(preset, SEED, step, pixels, conditions, generator)
    )
    course.advance(0, WARM)
    synchronize(device)
    if together:
        _barrier.wait(120)
    steps, begun = 0, time.perf_counter()
    while (passed := time.perf_counter() - begun) < seconds:
        course.advance(WARM + steps, 2)
        synchronize(device)
        steps += 2
    memory = torch.cuda.max_memory_allocated() / 1e9 if place.type == "cuda" else 0.0
    return {"steps": steps, "seconds": passed, "memory_gb": memory}


def save_seconds(name: str, device: str) -> dict[str, float]:
    """What one look at a network costs: images of four classes, and their reading."""
    preset, place = preset_of(name), torch.device(device)
    model, generator = Model(preset, SEED, place), torch.Generator(place)
    circles, called = Circles(0.3, preset.pixels), _called(model.mean, preset, place)

    def sample() -> None:
        n = preset.generated_images
        condition = torch.zeros(len(CLASSES) * n, 4, device=place)
        shape = (3, preset.pixels, preset.pixels)
        vdm.sample(
            called, model.schedule, condition, shape,
            steps=preset.sampling_steps, generator=generator, noises=n,
        )  # fmt: skip

    def see() -> None:
        look(preset, circles, called, model.schedule, generator)

    seconds = {}
    for key, action in {"sampling_seconds": sample, "save_seconds": see}.items():
        action()
        synchronize(device)
        begun = time.perf_counter()
        action()
        synchronize(device)
        seconds[key] = time.perf_counter() - begun
    return seconds


def measure(record: Record) -> None:
    """One course, then four; what a save costs; and the work of an image."""
    name, together = ("tiny", 2) if record.tiny else ("paper", TOGETHER)
    preset, device = preset_of(name), record.device
    window = 0.3 if record.tiny else max(2.0, min(8.0, record.remaining() / 6))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(together, context, begin, (context.Barrier(together),)) as pool:
        for count in (1, together):
            calls = [
                pool.submit(train_for, name, device, window, together=count > 1)
                for _ in range(count)
            ]
            courses = [course.result(max(1.0, record.remaining())) for course in calls]
            rate = sum(course["steps"] / course["seconds"] for course in courses)
            record.add(
                what="training",
                courses=count,
                images_per_second=preset.batch * rate,
                steps_per_second=rate,
                memory_gb=max(course["memory_gb"] for course in courses),
            )
        saves = pool.submit(save_seconds, name, device).result(max(1.0, record.remaining()))
        record.add(what="save", images=len(CLASSES) * preset.generated_images, **saves)
    if not record.is_spent(3.0):
        place = torch.device(device)
        work = work_of(preset, place)
        product = product_speed(preset, place) if device != "cpu" else None
        rate = record.rows[1]["steps_per_second"]
        record.facts |= {
            "gflop_per_image": work / preset.batch / 1e9,
            "tflop_per_second": work * rate / 1e12,
            "of_large_products": work * rate / product if product else None,
        }
    record.facts |= {"preset": name, "batch": preset.batch, "precision": preset.precision}
