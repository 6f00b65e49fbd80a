"""One course of training: a U-Net on circles, looked at as it learns, stopped and gone on with."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from swingby.diffusion import vdm
from swingby.diffusion.circles import CLASSES, HELD_OUT, Circles, read_circles
from swingby.diffusion.course import LOSSES, Cell, Course, Record, directions, linear_response
from swingby.diffusion.preset import Preset
from swingby.diffusion.unet import UNet
from swingby.errors import InvalidInput, SwingbyError
from swingby.training import checkpoint

#: Seconds between two checkpoints.
EVERY = 30.0
#: Images of the held-out class that are kept of a save; of each other class, one.
KEPT = 4
#: Circles are measured in so many images of each class at most.
MEASURED = 16
#: Independent sources of randomness of a course.
STREAMS = ("images", "weights", "training", "sampling")


def train_course(
    preset: Preset,
    cell: Cell,
    seed: int,
    folder: Path,
    *,
    owner: str = "",
    device: torch.device | str = "cpu",
    every: float = EVERY,
    until: int | None = None,
    told: Callable[[int], Any] | None = None,
) -> Course:
    """Train one network and look at it at every save; go on where an earlier call stopped.

    Parameters
    ----------
    preset : Preset
        With the gains and the optimizer of the cell, see :meth:`swingby.diffusion.Plan.preset_of`.
    cell : Cell
        Of whose circles it is trained.
    seed : int
    folder : Path
        Of this course: a checkpoint, metrics as JSON lines, images of every save.
    owner : str
        Digest of the plan that asks for the course.
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
    SwingbyError
        If training diverges.
    KeyboardInterrupt
        On Ctrl-C, after the checkpoint was written.

    References
    ----------
    App. G.
    """
    if not isinstance(cell, Cell) or not isinstance(preset, Preset):
        raise InvalidInput("preset, cell", (preset, cell), "must be a Preset and a Cell")
    device = torch.device(device)
    circles = cell.circles(preset.pixels)
    record = Record(folder, preset, cell, seed, owner)
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
    images = circles.draw(preset.images_per_class, rng=stream(seed, "images"))
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
                seen, shown = look(preset, circles, called, state.schedule, generator, state.step)
                lines.append(_line(state, seen, time.monotonic() - began))
                record.add(lines[-1], shown)
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


def look(
    preset: Preset,
    circles: Circles,
    network: vdm.Denoiser,
    schedule: vdm.LinearSchedule,
    generator: torch.Generator,
    step: int = 0,
) -> tuple[dict[str, Any], np.ndarray[Any, np.dtype[np.uint8]]]:
    """Generate images of all four classes, at the middle of each, from the same noise.

    What differs between the classes of a save is then due to the condition alone, and what
    differs between saves, due to training. Numbers of the save, and seven images: one of each
    training class, then four of the held-out one.
    """
    n = preset.generated_images
    told = np.concatenate([circles.conditions(kind, n) for kind in range(len(CLASSES))])
    made = vdm.sample(
        network,
        schedule,
        torch.from_numpy(told).to(generator.device),
        (3, preset.pixels, preset.pixels),
        steps=preset.sampling_steps,
        generator=generator,
        noises=n,
    )
    images = made.double().cpu().numpy().reshape(len(CLASSES), n, *made.shape[1:])
    if not np.isfinite(images).all():
        raise _diverged(step)
    w = linear_response(images, directions(circles))
    bright = (1 + images.clip(-2, 2)) / 2
    kinds = [read_circles(one, circles).shares().tolist() for one in bright[:, :MEASURED]]
    some = bright[[0, 1, 2, *[HELD_OUT] * min(KEPT, n)], [0, 0, 0, *range(min(KEPT, n))]]
    shown = np.round(255 * some.clip(0, 1)).astype(np.uint8)
    return {"w": w.tolist(), "kinds": kinds}, shown


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


def update(state: State, preset: Preset, batch: Batch) -> None:
    """Take one step."""
    losses = _loss(state, preset, batch)
    state.optimizer.zero_grad()
    losses[0].backward()
    state.whole = False
    state.optimizer.step()
    state.average()
    state.step += 1
    state.count(losses)
    state.whole = True


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


def _called(network: UNet, preset: Preset, device: torch.device) -> vdm.Denoiser:
    """A network as it is called: in half precision where that was asked for, on a GPU."""
    if device.type != "cuda" or preset.precision != "bfloat16":
        return network

    def half(z: torch.Tensor, gamma: torch.Tensor, condition: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cuda", torch.bfloat16):
            return network(z, gamma, condition).float()

    return half


def _line(state: State, seen: dict[str, Any], seconds: float) -> dict[str, Any]:
    """The numbers of one save."""
    ends = state.schedule(torch.tensor([0.0, 1.0], device=state.sums.device))
    if not bool(torch.isfinite(state.sums).all()):
        raise _diverged(state.step)
    return {
        "step": state.step,
        **dict(zip(LOSSES, (state.sums / state.summed).tolist(), strict=True)),
        "gamma_min": float(ends[0].detach()),
        "gamma_max": float(ends[1].detach()),
        **seen,
        "seconds": round(seconds, 3),
    }


def _diverged(step: int) -> SwingbyError:
    return SwingbyError(
        f"the loss, or an image, is not finite at step {step}: training has diverged"
    )


def stream(seed: int, name: str, step: int = 0) -> np.random.SeedSequence:
    """One source of randomness.

    Nothing is carried from one step to the next, so a course that is gone on with draws what an
    undisturbed one would have drawn.
    """
    return np.random.SeedSequence(seed, spawn_key=(STREAMS.index(name), step))


def torch_seed(source: np.random.SeedSequence) -> int:
    """The seed of a generator of torch, below 2^63."""
    return int(source.generate_state(1, np.uint64)[0] >> np.uint64(1))


def seeded(generator: Any, source: np.random.SeedSequence) -> Any:
    """The generator of torch, set anew."""
    generator.manual_seed(torch_seed(source))
    return generator


class State:
    """All that training changes: network, running mean, schedule, optimizer, losses so far."""

    def __init__(self, preset: Preset, seed: int, device: torch.device) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(torch_seed(stream(seed, "weights")))
            network = UNet(preset.layout, gamma_min=preset.gamma_min, gamma_max=preset.gamma_max)
        layout = torch.channels_last if device.type == "cuda" else torch.contiguous_format
        self.network = network.to(device=device, memory_format=layout)
        self.averaging = preset.averaging
        # Without averaging, the two are one.
        self.mean = copy.deepcopy(self.network) if self.averaging else self.network
        self.schedule = vdm.LinearSchedule(
            preset.gamma_min, preset.gamma_max, learned=preset.learned_schedule
        ).to(device)
        groups: list[dict[str, Any]] = [{"params": list(self.network.parameters())}]
        if preset.learned_schedule:
            # Decay would pull the ends of the schedule to equal parts of signal and noise.
            groups.append({"params": list(self.schedule.parameters()), "weight_decay": 0.0})
        common: dict[str, Any] = {"lr": preset.learning_rate, "weight_decay": preset.weight_decay}
        self.optimizer: torch.optim.Optimizer
        if preset.optimizer == "sgd":
            self.optimizer = torch.optim.SGD(groups, momentum=preset.momentum, **common)
        else:
            self.optimizer = torch.optim.AdamW(groups, **common)
        #: What the optimizer knows of each weight once it has taken a step.
        self.known: tuple[str, ...] = ("step", "exp_avg", "exp_avg_sq")
        if preset.optimizer == "sgd":
            self.known = ("momentum_buffer",) if preset.momentum else ()
        self.step = 0
        self.sums = torch.zeros(len(LOSSES), dtype=torch.float64, device=device)
        self.summed = 0
        #: False while an update is under way; a state in between must not be written.
        self.whole = True

    def tensors(self) -> dict[str, Any]:
        """Everything by name, to be written."""
        kept = {f"network.{name}": value for name, value in self.network.state_dict().items()}
        for name, value in self.schedule.state_dict().items():
            kept[f"schedule.{name}"] = value
        for place, state in self.optimizer.state_dict()["state"].items():
            for name, value in state.items():
                if value is not None:
                    kept[f"optimizer.{place}.{name}"] = value
        if self.averaging:
            for name, value in self.mean.state_dict().items():
                kept[f"mean.{name}"] = value
        kept["sums"] = self.sums
        kept["summed"] = torch.tensor(self.summed)
        return kept

    def take(self, step: int, kept: dict[str, Any]) -> None:
        """Go on from what was written; KeyError and its like if parts are missing or misshapen."""
        here = {name: value for name, value in self.tensors().items() if name[0] != "o"}
        self.network.load_state_dict(_under(kept, "network."))
        self.schedule.load_state_dict(_under(kept, "schedule."))
        if self.averaging:
            self.mean.load_state_dict(_under(kept, "mean."))
        whole = self.optimizer.state_dict()
        state: dict[int, dict[str, Any]] = {}
        for name, value in _under(kept, "optimizer.").items():
            place, _, what = name.partition(".")
            state.setdefault(int(place), {})[what] = value
        weights = [one for group in self.optimizer.param_groups for one in group["params"]]
        missing = set(here) - set(kept)
        if missing or (step and self.known and set(state) != set(range(len(weights)))):
            raise KeyError(f"parts are missing: {sorted(missing)}")
        # load_state_dict takes whatever is there, and the next step would fail.
        for at, one in state.items():
            shapes = {what: tuple(value.shape) for what, value in one.items()}
            shape = tuple(weights[at].shape)
            if shapes != {name: () if name == "step" else shape for name in self.known}:
                raise ValueError(f"the optimizer knows something else of weight {at}")
        if kept["sums"].shape != self.sums.shape or int(kept["summed"]) < 0:
            raise ValueError("the sums of the losses are something else")
        self.optimizer.load_state_dict({**whole, "state": state})
        self.sums = kept["sums"].to(self.sums)
        self.summed = int(kept["summed"])
        self.step = step

    @torch.no_grad()
    def average(self) -> None:
        """Take the weights into their running mean, faster in the first steps."""
        if self.averaging:
            kept = min(self.averaging, (1 + self.step) / (10 + self.step))
            mean, now = list(self.mean.parameters()), list(self.network.parameters())
            torch._foreach_lerp_(mean, now, 1 - kept)

    def count(self, losses: torch.Tensor) -> None:
        """Add the losses of one step to those since the last save."""
        self.sums = self.sums + losses.detach().double()
        self.summed += 1

    def forget_losses(self) -> None:
        """Begin a new mean."""
        self.sums = torch.zeros_like(self.sums)
        self.summed = 0


def _under(kept: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {name[len(prefix) :]: value for name, value in kept.items() if name.startswith(prefix)}
