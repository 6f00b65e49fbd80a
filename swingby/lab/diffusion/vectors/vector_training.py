"""Training of vector denoisers: gradient descent on the diffusion loss, settings stacked."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from swingby.errors import InvalidInput
from swingby.lab.diffusion import vdm
from swingby.lab.diffusion.signals import TURN, falls
from swingby.lab.diffusion.vdm import Denoiser, alpha, sigma, spread_times
from swingby.lab.diffusion.vectors.vector_setting import SCHEDULE, VectorSetting, initial_weights
from swingby.lab.field_checks import members_of
from swingby.lab.networks.setting import Booleans, Floats, Integers
from swingby.lab.networks.stacked_networks import activated, slope
from swingby.lab.networks.training_run import order_of, order_text
from swingby.report import Drawn, Grid
from swingby.report.number_text import counted
from swingby.report.result_formats import ReadOnly
from swingby.simulate.on_torch import torch_defaults
from swingby.simulate.series import first_reach
from swingby.theory import numbers

#: Weights that are kept of a run, over all steps.
_MOST_NUMBERS = 200_000_000
#: Steps that are drawn at once.
_BLOCK = 64
#: Rows of the table of a run before the rest is summed up.
_MOST_ROWS = 24
#: The fixed schedule; half-times are those of double precision.
_GAMMA = vdm.LinearSchedule(SCHEDULE.low, SCHEDULE.high, learned=False).double()


def train_vectors(settings: VectorSetting | Sequence[VectorSetting]) -> VectorRun:
    r"""Train denoisers of points of SIM tasks.

    Every step has fresh points, noise and times, and takes :math:`-\mathrm{lr}` times the
    gradient of the mean diffusion loss (:func:`swingby.lab.diffusion.vdm.loss`).

    Parameters
    ----------
    settings : VectorSetting or sequence of them
        All with as many concepts, the same denoiser, width, batch and steps, as they are trained
        as one stacked model; task, omega, rate and seed may differ.

    Returns
    -------
    VectorRun
        Up to rounding, a run does not depend on the other settings.

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
    chosen = members_of(settings, "settings", VectorSetting)
    first = chosen[0]
    for setting in chosen:
        if setting.kind != first.kind:
            raise InvalidInput("settings", setting, "must be of one kind to be one model")
    size = sum(weight.size for weight in initial_weights(first)) * len(chosen) * (first.steps + 1)
    if size > _MOST_NUMBERS:
        raise InvalidInput("settings", f"{size:.1e} weights to keep", "must fit into memory")
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # a step is small, and threads would wait for each other
    try:
        with torch_defaults():
            history = _train(chosen)
    finally:
        torch.set_num_threads(before)
    return VectorRun(chosen, tuple(history))


def _train(settings: tuple[VectorSetting, ...]) -> list[Floats]:
    """Weights before the first step and after each, (settings, steps + 1, ...) of every layer."""
    first, source = settings[0], batches(settings)
    weights = stacked(settings)
    rates = torch.tensor([setting.rate for setting in settings], dtype=torch.float64)[:, None, None]
    history = [np.empty((first.steps + 1, *weight.shape)) for weight in weights]
    for step in range(first.steps + 1):
        for record, weight in zip(history, weights, strict=True):
            record[step] = weight.detach().numpy()
        if step < first.steps:
            weights = [weight.detach().requires_grad_() for weight in weights]
            # One sum for all: a setting's loss depends on its own weights alone.
            total = losses(first, weights, *next(source)).sum()
            slopes = torch.autograd.grad(total, weights)
            weights = [weight - rates * by for weight, by in zip(weights, slopes, strict=True)]
    return [np.moveaxis(record, 1, 0) for record in history]


def stacked(settings: Sequence[VectorSetting]) -> list[Tensor]:
    """Initial weights of settings of a kind, stacked."""
    starts = zip(*(initial_weights(setting) for setting in settings), strict=True)
    return [torch.from_numpy(np.stack(layer)) for layer in starts]


def _drawn(setting: VectorSetting) -> Iterator[tuple[Floats, Floats, Tensor]]:
    """Points, noise and times of every step."""
    task = setting.task
    # Clusters take turns, so that the times of each are evenly spread, too.
    centres = np.tile(np.diag(task.test_point), (setting.batch, 1))
    spread = np.array([float(deviation) for deviation in task.sigma])
    _, points, times = setting.streams()
    generator = np.random.default_rng(points)
    clock = torch.Generator().manual_seed(int(times.generate_state(1, np.uint64)[0] >> 1))
    n, s = centres.shape
    while True:
        normal = generator.standard_normal((_BLOCK, 2, n, s))
        for x, noise in normal:
            yield centres + spread * x, noise, spread_times(n, clock)


def batches(settings: Sequence[VectorSetting]) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Points, noise and times of settings of a kind, setting by setting."""
    sources = [_drawn(setting) for setting in settings]
    while True:
        drawn = [next(source) for source in sources]
        x, noise = (torch.from_numpy(np.stack([sample[k] for sample in drawn])) for k in (0, 1))
        t = torch.stack([sample[2] for sample in drawn]).double()
        if settings[0].antithetic:
            x, t = torch.cat([x, x], 1), torch.cat([t, t], 1)
            noise = torch.cat([noise, -noise], 1)
        yield x.flatten(0, 1), noise.flatten(0, 1), t.flatten()


def losses(
    setting: VectorSetting, weights: Sequence[Tensor], x: Tensor, noise: Tensor, t: Tensor
) -> Tensor:
    """Mean diffusion loss of each stacked setting."""
    # The reconstruction does not depend on the denoiser, so its noise does not matter.
    nothing = torch.zeros_like(x)
    terms = vdm.loss(
        denoiser(setting, weights), _GAMMA, x, x, t=t, noise=noise, first_noise=nothing
    )
    return terms.diffusion.unflatten(0, (len(weights[0]), -1)).mean(1)


def network(setting: VectorSetting, weights: Sequence[Tensor], x: Tensor) -> Tensor:
    """The stacked network at points of each setting."""
    if setting.denoiser == "linear":
        return x @ weights[0].mT
    if setting.denoiser == "symmetric":
        return (x @ weights[0]) @ weights[0].mT
    hidden = x @ weights[0].mT
    if setting.denoiser == "mlp":
        hidden = activated(torch, setting.activation, hidden)
    return hidden @ weights[1].mT


def denoiser(setting: VectorSetting, weights: Sequence[Tensor]) -> Denoiser:
    """The denoiser of stacked settings, for data ordered by setting."""
    runs = len(weights[0])

    def estimate(z: Tensor, gamma: Tensor, condition: Tensor) -> Tensor:
        signal, noise = alpha(gamma)[:, None], sigma(gamma)[:, None]
        if setting.reads == "condition":
            output = network(setting, weights, condition.unflatten(0, (runs, -1)))
            return z - signal * output.flatten(0, 1)
        x = torch.cat([-(signal / noise) * condition, ((1 - noise) / noise) * z], dim=1)
        return z + network(setting, weights, x.unflatten(0, (runs, -1))).flatten(0, 1)

    return estimate


@dataclass(frozen=True, eq=False)
class Sampled:
    """Samples of r runs given every test point as condition, shape (r, 2^s, n, s)."""

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


@dataclass(frozen=True, eq=False, repr=False)
class VectorRun(Drawn, ReadOnly):
    """Runs of settings of a kind. Made by :func:`swingby.lab.diffusion.vectors.train_vectors`.

    Parameters
    ----------
    settings : tuple of r VectorSetting
    weights : tuple of ndarray of shape (r, steps + 1, ...)
        Every layer before the first step and after each.
    """

    settings: tuple[VectorSetting, ...]
    weights: tuple[Floats, ...]

    def __len__(self) -> int:
        return len(self.settings)

    def __repr__(self) -> str:
        return f"<VectorRun of {len(self)}, {self.settings[0].steps} steps>"

    @property
    def points(self) -> Floats:
        """The 2^s test points, (r, 2^s, s), the last that of Sec. 2.1."""
        corners = np.array([*itertools.product((0.0, 1.0), repeat=self.settings[0].task.s)])
        return np.stack([corners * setting.task.test_point for setting in self.settings])

    @functools.cached_property
    def product(self) -> Floats:
        """The matrix of a linear denoiser, shape (r, steps + 1, s, inputs)."""
        kind = self.settings[0].denoiser
        if kind == "mlp":
            raise InvalidInput("product", "an MLP", "must be of a linear denoiser")
        if kind == "linear":
            return self.weights[0]
        if kind == "symmetric":
            return self.weights[0] @ self.weights[0].swapaxes(-1, -2)
        return self.weights[1] @ self.weights[0]

    @functools.cached_property
    def jacobian(self) -> Floats:
        """Derivative of the conditional map at the test point, shape (r, steps + 1, s, s).

        W where the condition alone is read; where both are, the mean of samples of
        ``sample_steps`` steps as a matrix on the condition.
        """
        first = self.settings[0]
        with np.errstate(over="ignore", invalid="ignore"):
            if first.denoiser == "mlp":
                _, rise = self._hidden("rnhs,rs->rnh", self.points[:, -1])
                return np.asarray(self.weights[1] @ (rise[..., None] * self.weights[0]))
            if first.reads == "condition":
                return self.product
            s = first.task.s
            W, P = self.product[..., :s], self.product[..., s:]
            return SCHEDULE.sampled_map(W, P, first.sample_steps)

    def _hidden(self, how: str, points: Floats) -> tuple[Floats, Floats]:
        """Activations of the hidden neurons of an MLP at points, and their slopes."""
        kind, inside = self.settings[0].activation, np.einsum(how, self.weights[0], points)
        tensors = (
            function(torch, kind, torch.from_numpy(inside)) for function in (activated, slope)
        )
        value, rise = (tensor.numpy() for tensor in tensors)
        return value, rise

    @functools.cached_property
    def output(self) -> Floats:
        """The conditional map at every test point, shape (r, steps + 1, 2^s, s)."""
        if self.settings[0].denoiser != "mlp":
            with np.errstate(over="ignore", invalid="ignore"):
                return np.einsum("rnij,rpj->rnpi", self.jacobian, self.points)
        hidden, _ = self._hidden("rnhs,rps->rnph", self.points)
        return np.einsum("rnsh,rnph->rnps", self.weights[1], hidden)

    @functools.cached_property
    def test_loss(self) -> Floats:
        """Half the squared distance of output and test point at the last, (r, steps + 1)."""
        rest = self.output[:, :, -1] - self.points[:, None, -1]
        return np.asarray(0.5 * (rest**2).sum(-1))

    @property
    def diverged(self) -> Booleans:
        """Whether the weights of each run away, shape (r,)."""
        large = [np.abs(weight).max(axis=(1, 2, 3)) for weight in self.weights]
        return np.array([not (sizes < 1e6).all() for sizes in np.stack(large, 1)])

    @functools.cached_property
    def half_times(self) -> Floats:
        """First step at which the diagonal of the Jacobian is at least 1/2, nan for never."""
        with np.errstate(invalid="ignore"):
            major = np.diagonal(self.jacobian, axis1=2, axis2=3)
            return np.apply_along_axis(first_reach, 1, major, 0.5)

    def order(self) -> Integers:
        """Concepts as they are learned, from 0, shape (r, s); -1 where never."""
        return order_of(self.half_times)

    def descents(self, least: float = TURN) -> Integers:
        """Number of falls of each test loss by a part of its start; -1 where it diverged."""
        fraction = numbers.within_float(numbers.positive(least, "least"), "least")
        runs = zip(self.test_loss, self.diverged, strict=True)
        return np.array(
            [-1 if ran else falls(loss, fraction) for loss, ran in runs], dtype=np.int64
        )

    @torch_defaults(grad=False)
    def sampled(
        self, step: int, n: int = 1000, *, seed: int = 0, steps: int | None = None
    ) -> Sampled:
        """Samples of every run after some step of training, at every test point as condition."""
        first = self.settings[0]
        index = numbers.whole(step, "step", 0, most=first.steps)
        count = numbers.whole(n, "n", 2, most=1_000_000)
        sampler_steps = first.sample_steps if steps is None else steps
        length = numbers.whole(sampler_steps, "steps", 1, most=1_000_000)
        weights = [torch.from_numpy(weight[:, index].copy()) for weight in self.weights]
        conditions = torch.from_numpy(self.points).repeat_interleave(count, 1)
        samples = vdm.sample(
            denoiser(first, weights),
            _GAMMA,
            conditions.flatten(0, 1),
            (first.task.s,),
            steps=length,
            generator=torch.Generator().manual_seed(numbers.whole(seed, "seed", 0, most=2**63 - 1)),
        )
        return Sampled(samples.numpy().reshape(*self.points.shape[:2], count, -1))

    def to_grid(self) -> Grid:
        """A table of half-times, descents and losses."""
        first, order, descents = self.settings[0], self.order(), self.descents()
        rows = []
        for k in range(min(len(self), _MOST_ROWS)):
            half = ("never" if math.isnan(time) else f"{time:.0f}" for time in self.half_times[k])
            turns = "ran away" if descents[k] < 0 else str(descents[k])
            fields = (k, self.settings[k].seed, order_text(order[k]), " ".join(half), turns)
            rows.append([*map(str, fields), f"{self.test_loss[k, -1]:.3g}"])
        below = [f"{first.steps} steps of {first.points} points."]
        if len(self) > _MOST_ROWS:
            below.insert(0, f"... and {len(self) - _MOST_ROWS} more.")
        names = ("run", "seed", "order", "half-times (steps)", "descents", "test loss")
        title = f"{counted(len(self), 'denoiser')}: {first.denoiser}, reads {first.reads}"
        title += f", s = {first.task.s}"
        return Grid(title, [f">{name}" for name in names], rows, below=below)
