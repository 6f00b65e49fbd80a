"""Training of a course: a U-Net on circles, measured as it learns, that can be interrupted."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from swingby.errors import InvalidInput, SwingbyError
from swingby.lab.diffusion import vdm
from swingby.lab.diffusion.circles import CLASSES, HELD_OUT, KINDS, Circles, read_circles
from swingby.lab.diffusion.course import Course, ImageCell, directions, linear_response
from swingby.lab.diffusion.preset import Preset
from swingby.lab.diffusion.unet import UNet
from swingby.lab.field_checks import instance
from swingby.lab.networks.checkpoint import Checkpoint, identity, read_state
from swingby.lab.networks.loop import Autograd, descend
from swingby.simulate.on_torch import torch_defaults

#: Raised whenever what a course computes, or how it lies on disk, changes.
_COURSE_VERSION = 4
#: Seconds between two checkpoints.
_EVERY = 30.0
#: Images of the held-out class that are kept of a save; of each other class, one.
_KEPT = 4
#: Circles are measured in so many images of each class at most.
_MEASURED = 16
#: Independent sources of randomness of a course.
STREAMS = ("images", "weights", "training", "sampling")


@torch_defaults()
def train_course(
    preset: Preset,
    cell: ImageCell,
    seed: int,
    file: Path,
    *,
    owner: str = "",
    device: torch.device | str = "cpu",
    every: float = _EVERY,
    until: int | None = None,
    told: Callable[[int, Any], Any] | None = None,
) -> Course:
    """Train a network and measure its images at every save; resume where an earlier call stopped.

    `preset` has the gains and the optimizer of the cell, see
    :meth:`swingby.lab.diffusion.Plan.preset_of`, and `owner` is the digest of the plan that asks
    for the course. All of the course lies in a checkpoint, `file` (.safetensors), written `every`
    so many seconds. `until`: stop early, before this step. `told` gets every step that is done, and
    the responses (colour, size) at the last save.

    Raises InvalidInput if the file belongs to something else or is damaged, SwingbyError if
    training diverges, and KeyboardInterrupt on Ctrl-C, after the checkpoint was written.

    References
    ----------
    App. G.
    """
    instance(preset, "preset", Preset)
    instance(cell, "cell", ImageCell)
    device = torch.device(device)
    circles = cell.circles(preset.pixels)
    model, generator = Model(preset, seed, device), torch.Generator(device)
    images = circles.draw(preset.images_per_class, rng=_stream(seed, "images"))
    pixels = torch.from_numpy(2 * images.pixels - 1).to(device)
    conditions = torch.from_numpy(images.conditions).to(device)
    saves = Saves(device)

    def batches(step: int) -> Batch:
        return next_batch(preset, seed, step, pixels, conditions, generator)

    def save(step: int) -> None:
        if saves.has(step):
            return
        if step == 0:
            # Before training: the loss of the first batch.
            with torch.no_grad():
                saves.count(model.losses(batches(0)))
        generator.manual_seed(_torch_seed(_stream(seed, "sampling")))
        called = _called(model.mean, preset, device)
        saves.add(step, *look(preset, circles, called, model.schedule, generator, step))

    def take(step: int, shown: Any) -> None:
        model.average(step)
        saves.count(shown[0][0])

    def progress(step: int) -> None:
        if told is not None:
            told(step, saves.columns["w"][-1][0])

    descend(
        model.learner(batches),
        preset.steps,
        take=take,
        look=save,
        at=preset.save_steps,
        beside=[saves],
        checkpoint=Checkpoint(file, identity_of(preset, cell, seed, owner), every, torch),
        until=until,
        progress=progress,
    )
    steps, w, kinds, loss, _ = map(np.array, saves.columns.values())
    return Course(cell, seed, steps, w, kinds, loss)


def identity_of(preset: Preset, cell: ImageCell, seed: int, owner: str = "") -> str:
    """The name of a course, which its checkpoint has to bear."""
    fields = {name: value for name, value in preset.to_dict().items() if name != "name"}
    return identity([fields, asdict(cell), seed, owner, _COURSE_VERSION])


def saved_images(file: Path, name: str) -> dict[int, np.ndarray[Any, np.dtype[np.uint8]]]:
    """The images of every save of a course by its step: uint8, of shape (7, 3, height, width)."""
    saved = read_state(file, name)
    if saved is None:
        raise InvalidInput("folder", file, "must hold the course")
    steps, images = saved[1]["1 steps"].tolist(), saved[1]["1 images"].numpy()
    return dict(zip(steps, images, strict=True))


def look(
    preset: Preset,
    circles: Circles,
    network: vdm.Denoiser,
    schedule: vdm.LinearSchedule,
    generator: torch.Generator,
    step: int = 0,
) -> tuple[Any, Any, Any]:
    """Generate images of all four classes, at the middle of each, from the same noise.

    What differs between the classes of a save is then due to the condition alone, and what
    differs between saves, due to training. Responses, shares of kinds, and seven images: one of
    each training class, then four of the held-out one.
    """
    n = preset.generated_images
    conditions = np.concatenate([circles.conditions(kind, n) for kind in range(len(CLASSES))])
    samples = vdm.sample(
        network,
        schedule,
        torch.from_numpy(conditions).to(generator.device),
        (3, preset.pixels, preset.pixels),
        steps=preset.sampling_steps,
        generator=generator,
        noises=n,
    )
    images = samples.double().reshape(len(CLASSES), n, *samples.shape[1:])
    if not bool(images.isfinite().all()):
        raise _diverged(step)
    w = linear_response(images, directions(circles))
    # Circles are read where the images are made: 64 at a time, which would keep a GPU waiting.
    bright = (1 + images.clip(-2, 2)) / 2
    reading = read_circles(bright[:, :_MEASURED].flatten(0, 1), circles)
    kinds = (reading.kind.reshape(len(CLASSES), -1, 1) == np.arange(len(KINDS))).mean(1)
    chosen = bright[[0, 1, 2, *[HELD_OUT] * min(_KEPT, n)], [0, 0, 0, *range(min(_KEPT, n))]]
    return w, kinds, (255 * chosen.clip(0, 1)).round().to(torch.uint8).cpu().numpy()


#: Images, conditions, times, noise, and noise of the reconstruction.
Batch = tuple[torch.Tensor, ...]


def next_batch(
    preset: Preset, seed: int, step: int, pixels: Any, conditions: Any, generator: torch.Generator
) -> Batch:
    """Images, conditions, times and both noises of a step."""
    generator.manual_seed(_torch_seed(_stream(seed, "training", step)))
    device = pixels.device
    chosen = torch.randint(len(pixels), (preset.batch,), generator=generator, device=device)
    x = pixels[chosen]
    times = vdm.spread_times(preset.batch, generator)
    noise, first = (torch.randn(x.shape, generator=generator, device=device) for _ in range(2))
    return x, conditions[chosen], times, noise, first


def _called(network: UNet, preset: Preset, device: torch.device) -> vdm.Denoiser:
    """A network as it is called: in half precision where that was asked for, on a GPU."""
    if device.type != "cuda" or preset.precision != "bfloat16":
        return network

    def half(z: torch.Tensor, gamma: torch.Tensor, condition: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cuda", torch.bfloat16):
            return network(z, gamma, condition).float()

    return half


def _diverged(step: int) -> SwingbyError:
    return SwingbyError(
        f"the loss, or an image, is not finite at step {step}: training has diverged"
    )


def _stream(seed: int, name: str, step: int = 0) -> np.random.SeedSequence:
    """One source of randomness.

    Nothing is carried from one step to the next, so a course that is gone on with draws what an
    undisturbed one would have drawn.
    """
    return np.random.SeedSequence(seed, spawn_key=(STREAMS.index(name), step))


def _torch_seed(source: np.random.SeedSequence) -> int:
    """The seed of a generator of torch, below 2^63."""
    return int(source.generate_state(1, np.uint64)[0] >> np.uint64(1))


class Model:
    """A U-Net, the running mean of its weights, its schedule and its optimizer."""

    def __init__(self, preset: Preset, seed: int, device: torch.device) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(_torch_seed(_stream(seed, "weights")))
            network = UNet(preset.layout, gamma_min=preset.gamma_min, gamma_max=preset.gamma_max)
        memory = torch.channels_last if device.type == "cuda" else torch.contiguous_format
        self.preset, self.network = preset, network.to(device=device, memory_format=memory)
        # Without averaging, the two are one.
        self.mean = copy.deepcopy(self.network) if preset.averaging else self.network
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

    def learner(self, batches: Callable[[int], Batch]) -> Autograd:
        """The state that :func:`descend` trains and a checkpoint holds."""
        weights = [weight for group in self.optimizer.param_groups for weight in group["params"]]
        mean = {f"mean{k}": weight for k, weight in enumerate(self.mean.parameters())}
        extra = mean if self.preset.averaging else {}
        return Autograd(torch, weights, batches, self.losses, self.optimizer, extra=extra)

    def losses(self, batch: Batch) -> torch.Tensor:
        """Diffusion, latent and reconstruction, in bits per dimension; the loss is their sum."""
        x, condition, t, noise, first = batch
        called = _called(self.network, self.preset, x.device)
        noises = {"noise": noise, "first_noise": first, "data_noise": self.preset.data_noise}
        terms = vdm.loss(called, self.schedule, x, condition, t=t, **noises)
        bit = x[0].numel() * math.log(2)
        each = (terms.diffusion, terms.latent, terms.reconstruction)
        return torch.stack([term.mean() / bit for term in each])

    @torch.no_grad()
    def average(self, step: int) -> None:
        """Take the weights after a step into their running mean, faster in the first steps."""
        if self.preset.averaging:
            share = min(self.preset.averaging, (1 + step) / (10 + step))
            mean, now = list(self.mean.parameters()), list(self.network.parameters())
            torch._foreach_lerp_(mean, now, 1 - share)


class Saves:
    """The saves of a course so far, and the sum of the losses since the last of them."""

    def __init__(self, device: torch.device) -> None:
        #: Steps, responses, shares of kinds, losses and images, one of each a save.
        self.columns: dict[str, list[Any]] = {
            name: [] for name in ("steps", "w", "kinds", "loss", "images")
        }
        self._sum = torch.zeros((), dtype=torch.float64, device=device)
        self._summed = 0

    def has(self, step: int) -> bool:
        """Whether the save of a step was made, by this call or an earlier one."""
        return self.columns["steps"][-1:] == [step]

    def count(self, parts: torch.Tensor) -> None:
        """Add the losses of a step."""
        self._sum += (parts[0] + parts[1] + parts[2]).double()
        self._summed += 1

    def add(self, step: int, w: Any, kinds: Any, images: Any) -> None:
        """Keep a save, with the mean of the losses since the save before."""
        loss = float(self._sum) / self._summed
        if not math.isfinite(loss):
            raise _diverged(step)
        save = (step, w, kinds, loss, images)
        for column, entry in zip(self.columns.values(), save, strict=True):
            column.append(entry)
        self._sum.zero_()
        self._summed = 0

    def state(self) -> dict[str, Any]:
        """All saves as arrays."""
        arrays = {name: np.array(column) for name, column in self.columns.items()}
        return {**arrays, "sum": self._sum, "summed": torch.tensor(self._summed)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from it."""
        self.columns = {name: list(state[name].numpy()) for name in self.columns}
        self._sum.copy_(state["sum"])
        self._summed = int(state["summed"])
