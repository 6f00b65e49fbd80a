"""What shorter floats cost the U-Net at the low end of the schedule, where noise is a thousandth.

Four ways to compute: float32; TF32 in convolutions and products; bfloat16 as it is used, in which
the first layer reads the image in float32 (TF32 on a GPU); and bfloat16 throughout.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from benchmarks.on_gpu.parts import Record
from swingby.lab.diffusion import vdm
from swingby.lab.diffusion.circles import Circles
from swingby.lab.diffusion.course_training import Model, next_batch
from swingby.lab.diffusion.preset import PAPER, TINY, Preset
from swingby.lab.diffusion.unet import UNet

#: 2 log(data_noise): where a learned schedule ends.
LOW = -13.8
#: Seed of everything here.
SEED = 0


@dataclass(frozen=True)
class Way:
    """A way to compute."""

    name: str
    precision: str = "float32"
    tf32: bool = False
    #: The first layer as well.
    throughout: bool = False

    def digits(self, device: str) -> int:
        """Binary digits with which the first layer reads the image."""
        if self.throughout:
            return 8
        return 11 if self.tf32 and device != "cpu" else 24


WAYS = (
    Way("float32"),
    Way("tf32", "tf32", tf32=True),
    Way("bfloat16", "bfloat16", tf32=True),
    Way("bfloat16 throughout", "bfloat16", tf32=True, throughout=True),
)


@contextlib.contextmanager
def computing(way: Way, network: UNet) -> Iterator[None]:
    """A block in which torch and the network's first layer compute in this way."""
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before = matmul.allow_tf32, cudnn.allow_tf32
    matmul.allow_tf32 = cudnn.allow_tf32 = way.tf32
    if way.throughout:
        network._entered = lambda z: network.enter(
            functional.pixel_unshuffle(z, network.layout.patch)
        )
    try:
        yield
    finally:
        matmul.allow_tf32, cudnn.allow_tf32 = before
        network.__dict__.pop("_entered", None)


def autocast(way: Way, device: str) -> Any:
    """Half precision where the way asks for it."""
    return torch.autocast(device, torch.bfloat16, enabled=way.precision == "bfloat16")


def noise_left(digits: int, gamma: float = LOW) -> float:
    """What rounding leaves of the noise of pixels spread between 1/2 and 1."""
    variance = 1 / (1 + math.exp(-gamma))
    return variance / (variance + 4.0**-digits / 12)


def first_layer(way: Way, device: str) -> float:
    """The same as measured: squared correlation of the noise with what the first layer reads."""
    rng = np.random.default_rng(SEED)
    x = rng.uniform(0.51, 0.98, (16, 3, 64, 64))
    noise = rng.standard_normal(x.shape)
    variance = 1 / (1 + math.exp(-LOW))
    z = math.sqrt(1 - variance) * x + math.sqrt(variance) * noise
    network = UNet(TINY.layout, gamma_min=LOW).to(device)
    network.layout = replace(TINY.layout, patch=1)
    network.enter = torch.nn.Conv2d(3, 16, 3, padding=1, device=device)
    with torch.no_grad():
        for parameter in network.enter.parameters():
            parameter.zero_()
        for channel in range(3):
            network.enter.weight[channel, channel, 1, 1] = 1.0
        with computing(way, network), autocast(way, device):
            values = network._entered(torch.from_numpy(z).float().to(device))[:, :3]
    away = values.double().cpu().numpy() - math.sqrt(1 - variance) * x
    return float(np.corrcoef(away.ravel(), noise.ravel())[0, 1] ** 2)


def pictures(preset: Preset, count: int, device: str) -> tuple[Any, Any]:
    """Images from -1 to 1 and their conditions."""
    images = Circles(0.3, preset.pixels).draw(count, rng=SEED)
    pixels = torch.from_numpy(2 * images.pixels - 1).to(device)
    return pixels, torch.from_numpy(images.conditions).to(device)


def output_errors(preset: Preset, device: str) -> list[dict[str, Any]]:
    """Of a network with random weights: the error of its output, relative to what it adds."""
    torch.manual_seed(SEED)
    network = UNet(preset.layout, gamma_min=LOW, gamma_max=preset.gamma_max)
    with torch.no_grad():
        for weight in network.parameters():
            # Layers that begin as zero would hide the others.
            if not weight.any() and weight.ndim > 1:
                weight.normal_(0, 1 / math.sqrt(weight[0].numel()))
    network.to(device)
    exact = UNet(preset.layout, gamma_min=LOW, gamma_max=preset.gamma_max).double().to(device)
    exact.load_state_dict({key: value.double() for key, value in network.state_dict().items()})
    x, condition = pictures(preset, 8, device)
    noise = torch.randn(x.shape, generator=torch.Generator().manual_seed(SEED)).to(device)
    rows = []
    for number in (LOW, LOW / 2, 0.0, preset.gamma_max):
        gamma = torch.full((len(x),), number, device=device)
        z = (
            vdm.alpha(gamma)[:, None, None, None] * x
            + vdm.sigma(gamma)[:, None, None, None] * noise
        )
        with torch.no_grad():
            truth = exact(z.double(), gamma.double(), condition.double())
            size = (truth - z.double()).square().mean().sqrt()
            for way in WAYS:
                with computing(way, network), autocast(way, device):
                    output = network(z, gamma, condition)
                error = (output.double() - truth).square().mean().sqrt() / size
                rows.append({"gamma": number, "way": way.name, "relative_error": float(error)})
    return rows


def learner(preset: Preset, way: Way, device: str) -> tuple[Model, Callable[[int], Any]]:
    """A model that trains between gamma = LOW and LOW + 2 alone, and its step."""
    low = replace(
        preset, gamma_min=LOW, gamma_max=LOW + 2, learned_schedule=False, precision=way.precision
    )
    place = torch.device(device)
    model, generator = Model(low, SEED, place), torch.Generator(place)
    pixels, conditions = pictures(low, 256 if device == "cpu" else 2048, device)
    steps = model.learner(lambda step: next_batch(low, SEED, step, pixels, conditions, generator))
    return model, lambda step: steps.advance(step, 1)


def losses(preset: Preset, way: Way, device: str, steps: int) -> dict[str, float]:
    """Train, and give the mean squared error of the noise over the last third of the steps."""
    model, advance = learner(preset, way, device)
    bits = []
    begun = time.perf_counter()
    with computing(way, model.network):
        for step in range(steps):
            # Compiling and choosing of kernels is not what a step costs.
            if step == min(5, steps - 1):
                synchronize(device)
                begun = time.perf_counter()
            bits.append(advance(step)[0][0, 0])
    synchronize(device)
    seconds = (time.perf_counter() - begun) / (steps - min(5, steps - 1))
    # Diffusion in bits per dimension is half the slope of gamma, 2, times the squared error.
    values = torch.stack(bits).double().cpu().numpy() * math.log(2)
    return {"squared_error": float(values[2 * steps // 3 :].mean()), "step_seconds": seconds}


def synchronize(device: str) -> None:
    """Wait for the device."""
    if device != "cpu":
        torch.cuda.synchronize()


def measure(record: Record) -> None:
    """The first layer, the whole network, and training at the low end alone."""
    device, preset = record.device, TINY if record.tiny else PAPER
    for way in WAYS:
        expected = noise_left(way.digits(device))
        measured = first_layer(way, device)
        record.add(what="first layer", way=way.name, noise_left=measured, expected=expected)
    for row in output_errors(preset, device):
        record.add(what="output", **row)
    steps = 6
    if not record.tiny:
        trial = losses(preset, WAYS[0], device, 15)["step_seconds"]
        steps = int(min(600, max(30, 0.85 * record.remaining() / len(WAYS) / trial)))
    for way in WAYS:
        if record.is_spent():
            break
        record.add(what="training", way=way.name, steps=steps, **losses(preset, way, device, steps))
    record.facts |= {"gamma": LOW, "preset": preset.name, "pixels": preset.pixels}
