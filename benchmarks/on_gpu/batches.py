"""Batches of runs on a device, against the compiled batch on two cores and on sixteen."""

from __future__ import annotations

import multiprocessing
import os
import time
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any

import numpy as np

from benchmarks.engine import starts
from benchmarks.engine_single import load_steps
from benchmarks.on_gpu.parts import Record
from swingby.simulate.batch import BatchRun, simulate_batch
from swingby.simulate.lanes.tiles import LANES
from swingby.simulate.on_torch import size_on, usable_device
from swingby.simulate.step_text import WRITTEN_OUT

#: d and dynamics, in order of value.
CASES = [
    *((d, "gd") for d in (3, 64, 16, 256, 8, 32, 2, 128, 4)),
    *((d, "euler") for d in (3, 64)),
]
TINY_CASES = [(2, "gd"), (12, "gd")]
#: Steps of a run, in which most concepts are learned.
WHOLE = 1024
#: By d up to which: steps on the processor, and runs and steps in which both have to agree. Above
#: 64 a run takes a core seconds, and its last steps, in which W rests, are left out.
STEPS = {32: (WHOLE, 64, 512), 64: (WHOLE, 8, 512), 128: (512, 2, 256), 256: (128, 2, 128)}
ETA = 0.02
#: Seconds of a timed run.
TARGET = 1.0
#: A device is worth its code where it is so many times as fast.
WORTH = 5.0


def call(d: int, dynamics: str, count: int, steps: int, **options: Any) -> BatchRun:
    """A batch in which every step is taken: most concepts are learned in the first 500."""
    signal, W0 = starts(d, count)
    return simulate_batch(signal, W0, ETA, steps, dynamics, skip=False, **options)


def seconds_of(d: int, dynamics: str, count: int, steps: int, **options: Any) -> float:
    """Of one batch, without the drawing of its starts."""
    signal, W0 = starts(d, count)
    begun = time.perf_counter()
    simulate_batch(signal, W0, ETA, steps, dynamics, skip=False, **options)
    return time.perf_counter() - begun


def pin(cores: int) -> None:
    """Leave a process so many cores."""
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:cores]))


def processor_rate(d: int, dynamics: str, cores: int, target: float) -> dict[str, float]:
    """Steps a second of all runs together, of the compiled batch with as many threads as cores."""
    steps, *_ = sizes(d)
    count = cores
    if d > WRITTEN_OUT:
        load_steps(d, dynamics)
    else:
        count *= 2 * LANES
        seconds_of(d, dynamics, count, 2, workers=cores)
    seconds = seconds_of(d, dynamics, count, steps, workers=cores)
    if seconds < target / 2:
        count *= max(2, min(round(target / seconds), 2**20 // count))
        seconds = seconds_of(d, dynamics, count, steps, workers=cores)
    return {"cores": cores, "runs": count, "steps": steps, "rate": count * steps / seconds}


def device_rate(d: int, dynamics: str, device: str, target: float) -> dict[str, float]:
    """The same on a device, with as many runs as are taken together there."""
    count = size_on(usable_device(device)[1], d)
    if device == "cpu":
        count = min(count, 256)
    seconds_of(d, dynamics, count, 2, device=device)
    seconds = seconds_of(d, dynamics, count, 64, device=device)
    # Blocks of 256 steps, after each of which is seen to what is due.
    steps = min(WHOLE, 256 * max(1, round(64 / 256 * 6 * target / seconds)))
    seconds = min(seconds_of(d, dynamics, count, steps, device=device) for _ in range(2))
    return {"runs": count, "steps": steps, "rate": count * steps / seconds}


def ends(d: int, dynamics: str, count: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Half-times and W of the compiled batch."""
    batch = call(d, dynamics, count, steps)
    return batch.half_times, batch.W


def agreement(d: int, dynamics: str, device: str, expected: Any) -> dict[str, Any]:
    """The same runs on the device: half-times that differ, and W to its largest entry."""
    _, count, steps = sizes(d)
    batch = call(d, dynamics, count, steps, device=device)
    half_times, W = expected
    away = np.abs(batch.W - W).max() / np.abs(W).max()
    differ = ~(
        (batch.half_times == half_times) | (np.isnan(batch.half_times) & np.isnan(half_times))
    )
    return {
        "runs": count,
        "steps": steps,
        "half_times": int(np.isfinite(half_times).sum()),
        "half_times_that_differ": int(differ.sum()),
        "largest_error_of_W": float(away),
    }


def sizes(d: int) -> tuple[int, int, int]:
    """Steps on the processor; runs and steps of the comparison."""
    return next(row for largest, row in STEPS.items() if d <= largest)


def measure(record: Record) -> None:
    """Rows by d; the device first, while the processor compiles its loops."""
    cases, target = (TINY_CASES, 0.05) if record.tiny else (CASES, TARGET)
    available = len(os.sched_getaffinity(0))
    counts = sorted({min(2, available), min(16, available)})
    context = multiprocessing.get_context("spawn")
    pools = {n: ProcessPoolExecutor(1, context, pin, (n,)) for n in counts}
    lanes = [case for case in cases if case[0] <= WRITTEN_OUT]
    # Each process compiles one and keeps it on disk, where the pools find it.
    compilers = max(1, min(len(lanes), available - 1))
    with ProcessPoolExecutor(compilers, context) as pool:
        waiting = [pool.submit(seconds_of, d, dynamics, LANES, 2) for d, dynamics in lanes]
        on_device: dict[tuple[int, str], Any] = {}
        for d, dynamics in sorted(cases, key=lambda case: case[0] <= WRITTEN_OUT):
            if record.is_spent():
                break
            on_device[d, dynamics] = device_rate(d, dynamics, record.device, target)
        for compiled in waiting:
            compiled.result()
    for d, dynamics in cases:
        if (d, dynamics) not in on_device or record.is_spent():
            continue
        answer: Future[Any] = pools[counts[0]].submit(ends, d, dynamics, *sizes(d)[1:])
        expected = answer.result(max(1.0, record.remaining()))
        baselines = []
        for cores, pool in pools.items():
            answer = pool.submit(processor_rate, d, dynamics, cores, target)
            baseline = answer.result(max(1.0, record.remaining()))
            ratio = on_device[d, dynamics]["rate"] / baseline["rate"]
            baselines.append({**baseline, "ratio": ratio})
        row = {"d": d, "dynamics": dynamics, "on_device": on_device[d, dynamics]}
        same = agreement(d, dynamics, record.device, expected)
        record.add(**row, baselines=baselines, agreement=same)
        # After every row: what is stopped has said as much as it can.
        record.facts |= verdict(record.rows)
        record.write()
    for pool in pools.values():
        pool.shutdown(wait=False, cancel_futures=True)


def verdict(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Where the device is worth its code, against each number of cores."""
    worth: dict[str, list[int]] = {}
    for row in rows:
        for baseline in row["baselines"]:
            text = f"{WORTH:g} times as fast as {baseline['cores']} cores"
            dimensions = worth.setdefault(text, [])
            if baseline["ratio"] >= WORTH:
                dimensions.append(row["d"])
    dimensions_of = {text: sorted(set(values)) for text, values in worth.items()}
    keep = any(dimensions_of.values())
    advice = "keep device=" if keep else "remove swingby.simulate.on_torch"
    return {"worth": dimensions_of, "verdict": advice}
