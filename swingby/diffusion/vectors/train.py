"""Training: plain gradient descent on the diffusion loss, several settings as one model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from swingby.diffusion import vdm
from swingby.diffusion.vdm import Denoiser, alpha, sigma, spread_times
from swingby.diffusion.vectors.result import VectorRun
from swingby.diffusion.vectors.setting import (
    SCHEDULE,
    VectorSetting,
    initial_weights,
    require_settings,
)
from swingby.errors import InvalidInput
from swingby.theory import numbers
from swingby.training.loop import Autograd, descend

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


#: Weights that are kept of a run, over all steps.
MOST_NUMBERS = 200_000_000


def schedule_of(setting: VectorSetting) -> vdm.LinearSchedule:
    """The fixed schedule in the precision of a setting."""
    fixed = vdm.LinearSchedule(SCHEDULE.low, SCHEDULE.high, learned=False)
    return fixed.to(getattr(torch, setting.precision))


def stacked(settings: Sequence[VectorSetting]) -> list[Tensor]:
    """Initial weights of settings of one kind."""
    dtype = getattr(torch, settings[0].precision)
    starts = zip(*(initial_weights(one) for one in settings), strict=True)
    return [torch.from_numpy(np.stack(layer)).to(dtype) for layer in starts]


def losses(
    setting: VectorSetting,
    weights: Sequence[Tensor],
    schedule: vdm.LinearSchedule,
    x: Tensor,
    noise: Tensor,
    t: Tensor,
) -> Tensor:
    """Mean diffusion loss of each of some stacked settings."""
    # The reconstruction does not depend on the denoiser, so its noise does not matter.
    found = vdm.loss(
        denoiser(setting, weights),
        schedule,
        x,
        x,
        t=t,
        noise=noise,
        first_noise=torch.zeros_like(x),
    )
    return found.diffusion.unflatten(0, (len(weights[0]), -1)).mean(1)


def train_vectors(settings: VectorSetting | Sequence[VectorSetting]) -> VectorRun:
    r"""Train denoisers of points of SIM tasks.

    Every step has fresh points, noise and times, and takes :math:`-\mathrm{lr}` times the
    gradient of the mean diffusion loss (:func:`swingby.diffusion.vdm.loss`).

    Parameters
    ----------
    settings : VectorSetting or sequence of them
        All with as many concepts, the same denoiser, width, batch, steps and precision, as they
        are trained as one stacked model; task, omega, rate and seed may differ.

    Returns
    -------
    VectorRun
        A setting gives the same run alone and in company, to rounding.

    Raises
    ------
    InvalidInput
        For settings of different kinds, and for more weights and steps than can be kept.

    Examples
    --------
    >>> from swingby.theory.task import SIMTask
    >>> run = train_vectors(VectorSetting(SIMTask([1, 2], "1/20"), "linear", eta=0.1, steps=60))
    >>> run.half_times.tolist()
    [[14.0, 4.0]]
    """
    given = require_settings(settings)
    first = given[0]
    for one in given:
        if one.kind != first.kind:
            raise InvalidInput("settings", one, "must be of one kind to be one model")
    size = sum(one.size for one in initial_weights(first)) * len(given) * (first.steps + 1)
    if size > MOST_NUMBERS:
        raise InvalidInput("settings", f"{size:.1e} weights to keep", "must fit into memory")
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # a step is small, and threads would wait for each other
    try:
        history, diffusion = _train(given)
    finally:
        torch.set_num_threads(before)
    return VectorRun(given, tuple(history), diffusion)


def _train(settings: tuple[VectorSetting, ...]) -> tuple[list[np.ndarray], np.ndarray]:
    first = settings[0]
    schedule = schedule_of(first)
    weights = [one.requires_grad_() for one in stacked(settings)]
    rates = torch.tensor([one.rate for one in settings], dtype=weights[0].dtype)[:, None, None]
    source = batches(settings)
    diffusion: list[Tensor] = []
    learner = Autograd(
        torch,
        weights,
        lambda step: next(source),
        # One sum for all: a setting's loss depends on its own weights alone.
        lambda batch: losses(first, weights, schedule, *batch),
        Descent(weights, rates),
        look=lambda: [one.clone() for one in weights],
        after=diffusion.append,
    )
    history = [np.empty((first.steps + 1, *one.shape)) for one in weights]

    def take(step: int, shown: tuple[Tensor, ...]) -> None:
        for kept, one in zip(history, shown, strict=True):
            kept[step : step + len(one)] = one.numpy()

    descend(learner, first.steps, take=take, chunk=BLOCK)
    for kept, one in zip(history, weights, strict=True):
        kept[-1] = one.detach().numpy()
    each = torch.stack(diffusion).double().numpy()
    return [np.moveaxis(kept, 1, 0) for kept in history], each.T.copy()


class Descent:
    """Gradient descent with a rate for each network; loading those of torch takes 3 seconds."""

    def __init__(self, weights: Sequence[Tensor], rates: Tensor) -> None:
        self._weights, self._rates = weights, rates
        self.state: dict[Tensor, dict[str, Tensor]] = {}

    def zero_grad(self, **named: bool) -> None:
        """Forget the gradients."""
        del named
        for one in self._weights:
            one.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Go down."""
        for one in self._weights:
            one -= self._rates * one.grad


#: Steps that are drawn at once.
BLOCK = 64


def clusters(setting: VectorSetting) -> tuple[Floats, Floats]:
    """Centre of each point of a step, shape (n, s), and the deviations, shape (s,).

    Clusters take turns, so that the times of each are evenly spread, too.
    """
    task = setting.task
    centres = np.tile(np.diag(task.test_point), (setting.batch, 1))
    return centres, np.array([float(one) for one in task.sigma])


def _one(setting: VectorSetting) -> Iterator[tuple[Floats, Floats, Tensor]]:
    """Points, noise and times of every step."""
    centres, spread = clusters(setting)
    _, points, times = setting.streams()
    generator = np.random.default_rng(points)
    clock = torch.Generator().manual_seed(int(times.generate_state(1, np.uint64)[0] >> 1))
    n, s = centres.shape
    while True:
        normal = generator.standard_normal((BLOCK, 2, n, s))
        for x, noise in normal:
            yield centres + spread * x, noise, spread_times(n, clock)


def batches(settings: Sequence[VectorSetting]) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Batches of some settings of one kind, one setting after the other."""
    first = settings[0]
    dtype = getattr(torch, first.precision)
    sources = [_one(one) for one in settings]
    while True:
        drawn = [next(source) for source in sources]
        x = torch.from_numpy(np.stack([one[0] for one in drawn])).to(dtype)
        noise = torch.from_numpy(np.stack([one[1] for one in drawn])).to(dtype)
        t = torch.stack([one[2] for one in drawn]).to(dtype)
        if first.antithetic:
            x, t = torch.cat([x, x], 1), torch.cat([t, t], 1)
            noise = torch.cat([noise, -noise], 1)
        yield x.flatten(0, 1), noise.flatten(0, 1), t.flatten()


def network(setting: VectorSetting, weights: Sequence[Tensor], x: Tensor) -> Tensor:
    """The network of some settings at points of each."""
    if setting.denoiser == "linear":
        return x @ weights[0].mT
    if setting.denoiser == "symmetric":
        return (x @ weights[0]) @ weights[0].mT
    hidden = x @ weights[0].mT
    if setting.denoiser == "mlp":
        hidden = bent(setting.activation, hidden)
    return hidden @ weights[1].mT


def bent(activation: str, x: Tensor) -> Tensor:
    """The activation of "mlp"."""
    return torch.relu(x) if activation == "relu" else torch.nn.functional.gelu(x)


def denoiser(setting: VectorSetting, weights: Sequence[Tensor]) -> Denoiser:
    """The denoiser of some settings, for data with the settings one after the other."""
    runs = len(weights[0])

    def estimate(z: Tensor, gamma: Tensor, condition: Tensor) -> Tensor:
        signal, noise = alpha(gamma)[:, None], sigma(gamma)[:, None]
        if setting.reads == "condition":
            made = network(setting, weights, condition.unflatten(0, (runs, -1)))
            return z - signal * made.flatten(0, 1)
        x = torch.cat([-(signal / noise) * condition, ((1 - noise) / noise) * z], dim=1)
        return z + network(setting, weights, x.unflatten(0, (runs, -1))).flatten(0, 1)

    return estimate


@dataclass(frozen=True, eq=False)
class Sampled:
    """Samples given every test point as condition."""

    samples: Floats

    @property
    def mean(self) -> Floats:
        """Mean of the samples of each condition, shape (r, 2^s, s)."""
        return np.asarray(self.samples.mean(2))

    @property
    def covariance(self) -> Floats:
        """Their covariance, shape (r, 2^s, s, s)."""
        rest = self.samples - self.mean[:, :, None]
        return np.einsum("rpni,rpnj->rpij", rest, rest) / (rest.shape[2] - 1)


def sampled(run: VectorRun, step: int, n: int, seed: int, steps: int | None) -> Sampled:
    """Draw samples; see :meth:`VectorRun.sampled`."""
    first = run.settings[0]
    place = numbers.whole(step, "step", 0, most=first.steps)
    count = numbers.whole(n, "n", 2, most=1_000_000)
    length = first.sample_steps if steps is None else numbers.whole(steps, "steps", 1, most=100_000)
    dtype = getattr(torch, first.precision)
    weights = [torch.from_numpy(one[:, place].copy()).to(dtype) for one in run.weights]
    conditions = torch.from_numpy(run.points).to(dtype).repeat_interleave(count, 1)
    generator = torch.Generator().manual_seed(numbers.whole(seed, "seed", 0, most=2**63 - 1))
    found = vdm.sample(
        denoiser(first, weights),
        schedule_of(first),
        conditions.flatten(0, 1),
        (first.task.s,),
        steps=length,
        generator=generator,
    )
    return Sampled(found.numpy().reshape(*run.points.shape[:2], count, -1).astype(np.float64))
