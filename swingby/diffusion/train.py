"""One course of training: a U-Net on circles of one contrast, looked at as it learns."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from swingby.diffusion import vdm
from swingby.diffusion.classifier import ConceptClassifier
from swingby.diffusion.course import Course
from swingby.diffusion.looking import Look, look
from swingby.diffusion.preset import Preset
from swingby.diffusion.randomness import seeded, stream
from swingby.diffusion.record import LOSSES, Record
from swingby.diffusion.state import State
from swingby.diffusion.unet import UNet
from swingby.errors import SwingbyError
from swingby.training import checkpoint

#: Seconds between two checkpoints.
EVERY = 30.0


def train_course(
    preset: Preset,
    contrast: float,
    seed: int,
    classifier: ConceptClassifier,
    folder: Path,
    *,
    device: torch.device | str = "cpu",
    every: float = EVERY,
    until: int | None = None,
    told: Callable[[int], Any] | None = None,
) -> Course:
    """Train one network and look at it at every save; go on where an earlier call stopped.

    Parameters
    ----------
    preset : Preset
    contrast : float
    seed : int
    classifier : ConceptClassifier
    folder : Path
        Of this course: a checkpoint, metrics as JSON lines, images of every save.
    device : torch.device
    every : float
        Seconds between two checkpoints.
    until : int, optional
        Stop early, before this step; the course is then unfinished.
    told : callable, optional
        Is given the number of every step that is done.

    Returns
    -------
    Course

    Raises
    ------
    InvalidInput
        If what lies in the folder belongs to something else, or is damaged.
    KeyboardInterrupt
        On Ctrl-C, after the checkpoint was written.

    References
    ----------
    App. G.
    """
    device = torch.device(device)
    record = Record(folder, preset, contrast, seed)
    path = folder / "checkpoint.safetensors"
    state = State(preset, seed, device)
    found = checkpoint.read(path, record.identity)
    if found is not None:
        try:
            if not 0 <= found[0] <= preset.steps:
                raise ValueError(f"step {found[0]:.3g} of {preset.steps}")
            state.take(*found)
        except (LookupError, ValueError, RuntimeError) as error:
            raise checkpoint.foreign(path, error) from None
    lines = record.lines_up_to(state.step)
    if lines and lines[-1]["step"] == state.step:
        state.forget_losses()
    images = preset.circles(contrast).draw(preset.images_per_class, rng=stream(seed, "images"))
    pixels = torch.from_numpy(2 * images.pixels - 1).to(device)
    conditions = torch.from_numpy(images.conditions).to(device)
    generator = torch.Generator(device)
    saves = set(preset.save_steps)
    written = time.monotonic()

    def keep() -> None:
        checkpoint.write(path, record.identity, state.step, state.tensors(), torch)

    began = time.monotonic() - (lines[-1]["seconds"] if lines else 0.0)
    try:
        while True:
            if state.step in saves and (not lines or lines[-1]["step"] < state.step):
                if not state.summed:
                    # Before training: the loss of the first batch.
                    batch = next_batch(preset, seed, 0, pixels, conditions, generator)
                    with torch.no_grad():
                        state.count(_loss(state, preset, batch))
                seeded(generator, stream(seed, "sampling"))
                called = _called(state.mean, preset, device)
                seen = look(preset, contrast, called, state.schedule, classifier, generator)
                lines.append(_line(state, seen, time.monotonic() - began))
                record.add(lines[-1], seen.images)
                state.forget_losses()
                keep()
                written = time.monotonic()
            if state.step >= preset.steps or (until is not None and state.step >= until):
                break
            batch = next_batch(preset, seed, state.step, pixels, conditions, generator)
            update(state, preset, batch)
            if told is not None:
                told(state.step)
            if time.monotonic() - written >= every:
                keep()
                written = time.monotonic()
    finally:
        if state.whole:
            keep()
    return record.course(lines)


#: Images, conditions, times, noise, and noise of the reconstruction.
Batch = tuple[torch.Tensor, ...]


def next_batch(
    preset: Preset,
    seed: int,
    step: int,
    pixels: torch.Tensor,
    conditions: torch.Tensor,
    generator: torch.Generator,
) -> Batch:
    """Images, conditions, times and both noises of one step."""
    seeded(generator, stream(seed, "training", step))
    device = pixels.device
    chosen = torch.randint(len(pixels), (preset.batch,), generator=generator, device=device)
    x = pixels[chosen]
    times = vdm.spread_times(preset.batch, generator)
    noise, first = (torch.randn(x.shape, generator=generator, device=device) for _ in range(2))
    return x, conditions[chosen], times, noise, first


def _loss(state: State, preset: Preset, batch: Batch) -> torch.Tensor:
    """The loss in bits per dimension, and its three parts."""
    x, condition, t, noise, first = batch
    network = _called(state.network, preset, x.device)
    parts = vdm.loss(
        network,
        state.schedule,
        x,
        condition,
        t=t,
        noise=noise,
        first_noise=first,
        data_noise=preset.data_noise,
    )
    bit = x[0].numel() * math.log(2)
    each = [one.mean() / bit for one in (parts.diffusion, parts.latent, parts.reconstruction)]
    return torch.stack([sum(each[1:], each[0]), *each])


def update(state: State, preset: Preset, batch: Batch) -> None:
    """Take one step.

    Parameters
    ----------
    state : State
    preset : Preset
    batch : tuple of Tensor
        From :func:`next_batch`.
    """
    losses = _loss(state, preset, batch)
    state.optimizer.zero_grad()
    losses[0].backward()
    state.whole = False
    state.optimizer.step()
    state.average()
    state.step += 1
    state.count(losses)
    state.whole = True


def _called(network: UNet, preset: Preset, device: torch.device) -> vdm.Denoiser:
    """A network as it is called: in half precision where that was asked for, on a GPU."""
    if device.type != "cuda" or preset.precision != "bfloat16":
        return network

    def half(z: torch.Tensor, gamma: torch.Tensor, condition: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cuda", torch.bfloat16):
            return network(z, gamma, condition).float()

    return half


def _line(state: State, seen: Look, seconds: float) -> dict[str, Any]:
    """The numbers of one save."""
    ends = state.schedule(torch.tensor([0.0, 1.0], device=state.sums.device))
    if not (bool(torch.isfinite(state.sums).all()) and np.isfinite(seen.classes).all()):
        raise SwingbyError(
            f"the loss, or an image, is not finite at step {state.step}: training has diverged"
        )
    return {
        "step": state.step,
        **dict(zip(LOSSES, (state.sums / state.summed).tolist(), strict=True)),
        "gamma_min": float(ends[0].detach()),
        "gamma_max": float(ends[1].detach()),
        "classes": seen.classes.tolist(),
        "right": seen.right.tolist(),
        "seconds": round(seconds, 3),
    }
