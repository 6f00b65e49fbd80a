"""Courses of the preset of the paper: as many as fit, of two contrasts and two separations."""

from __future__ import annotations

import concurrent.futures as futures
import multiprocessing
import signal
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.on_gpu.paper import begin
from benchmarks.on_gpu.parts import Record, read
from swingby.lab.diffusion.course import Course, ImageCell, learning_times
from swingby.lab.diffusion.course_training import identity_of, train_course
from swingby.lab.diffusion.preset import PAPER, TINY, Preset
from swingby.lab.networks.checkpoint import read_state

#: Steps of a course, and its saves.
COURSE = replace(PAPER, steps=5000, saves=31)
TINY_COURSE = replace(TINY, steps=8, saves=3)
#: Separation and contrast, the contrasts of the first separation first.
CELLS = [(0.4, 0.3), (0.4, 0.75), (0.2, 0.3), (0.2, 0.75)]
#: Seconds for writing a checkpoint and its results once time is up.
CLOSING = 8.0


def train(
    preset: Preset, cell: ImageCell, seed: int, folder: str, device: str, until: float
) -> dict[str, Any]:
    """One course; one that is not at its end in time is stopped, and its saves are returned."""
    path = Path(folder) / f"{cell.separation:g}-{cell.contrast:g}-{seed}.safetensors"
    begun = time.time()

    def watch(step: int, _: Any) -> None:
        if time.time() > until and step < preset.steps:
            # As by Ctrl-C: it waits until the step is done and the state is written.
            signal.raise_signal(signal.SIGINT)

    try:
        course = train_course(
            preset, cell, seed, path, device=device, every=1e9, told=watch
        )  # fmt: skip
    except KeyboardInterrupt:
        course = saved_course(path, preset, cell, seed)
    colour, size = learning_times(course)
    reached = read_state(path, identity_of(preset, cell, seed))
    return {
        "cell": {"separation": cell.separation, "contrast": cell.contrast},
        "seed": seed,
        "step": preset.steps if reached is None else reached[0],
        "finished": int(course.steps[-1]) == preset.steps,
        "seconds": time.time() - begun,
        "colour_learned": colour,
        "size_learned": size,
        "right": course.right[-1].tolist(),
        "held_out": course.held_out,
        "course": course.to_dict(),
    }


def saved_course(path: Path, preset: Preset, cell: ImageCell, seed: int) -> Course:
    """The saves of a checkpoint."""
    state = read_state(path, identity_of(preset, cell, seed))
    if state is None:
        raise RuntimeError(f"no state in {path}")
    columns = [state[1][f"1 {name}"].numpy() for name in ("steps", "w", "kinds", "loss")]
    return Course(cell, seed, *columns)


def workers_that_fit(record: Record, preset: Preset) -> int:
    """How many courses at once end in time, by what the part `paper` measured; else four."""
    speeds = read(record.folder / "paper.json") or {"rows": []}
    rates = [row for row in speeds["rows"] if row["what"] == "training"]
    saves = [row["save_seconds"] for row in speeds["rows"] if row["what"] == "save"]
    if len(rates) < 2 or not saves:
        return len(CELLS)
    single, several = (row["steps_per_second"] for row in rates[:2])
    for count in (4, 2, 1):
        share = (count - 1) / (rates[1]["courses"] - 1)
        rate = single + share * (several - single)
        seconds = count * (preset.steps / rate + preset.saves * saves[0])
        if seconds < record.remaining() - CLOSING:
            return count
    return len(CELLS)


def measure(record: Record) -> None:
    """Courses in waves; another begins where the last one says that it can end."""
    preset = TINY_COURSE if record.tiny else COURSE
    workers = 1 if record.tiny else workers_that_fit(record, preset)
    folder = record.folder / "checkpoints"
    folder.mkdir(parents=True, exist_ok=True)
    until, device = record.until - CLOSING, record.device
    jobs = [
        (ImageCell(separation, contrast, 1.0, "adamw"), seed)
        for seed in range(1 if record.tiny else 8)
        for separation, contrast in CELLS[: 2 if record.tiny else None]
    ]
    record.facts |= {"workers": workers, "preset": preset.to_dict()}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, begin) as pool:

        def submit() -> futures.Future[Any]:
            cell, seed = jobs.pop(0)
            return pool.submit(train, preset, cell, seed, str(folder), device, until)

        running = {submit() for _ in range(workers)}
        while running:
            done, running = futures.wait(running, return_when=futures.FIRST_COMPLETED)
            for course in done:
                row = course.result()
                record.add(**row)
                if jobs and time.time() + 1.05 * row["seconds"] < until:
                    running.add(submit())
    if not all(row["finished"] for row in record.rows):
        record.status = "cut"
    record.facts["finished"] = sum(row["finished"] for row in record.rows)
