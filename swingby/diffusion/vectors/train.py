"""Training: plain gradient descent on the diffusion loss, several settings as one model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from swingby.diffusion import vdm
from swingby.diffusion.vectors import integrals
from swingby.diffusion.vectors.draws import batches
from swingby.diffusion.vectors.model import denoiser
from swingby.diffusion.vectors.result import VectorRun
from swingby.diffusion.vectors.setting import VectorSetting, initial_weights, require_settings
from swingby.errors import InvalidInput

#: Weights that are kept of a run, over all steps.
MOST_NUMBERS = 200_000_000


def schedule_of(setting: VectorSetting) -> vdm.LinearSchedule:
    """The fixed schedule in the precision of a setting."""
    fixed = vdm.LinearSchedule(integrals.GAMMA_MIN, integrals.GAMMA_MAX, learned=False)
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
    history = [np.empty((first.steps + 1, *one.shape)) for one in weights]
    diffusion = np.empty((first.steps, len(settings)))
    source = batches(settings)
    for kept, one in zip(history, weights, strict=True):
        kept[0] = one.detach().numpy()
    for step in range(first.steps):
        each = losses(first, weights, schedule, *next(source))
        # One sum for all: a setting's loss depends on its own weights alone.
        gradients = torch.autograd.grad(each.sum(), weights)
        diffusion[step] = each.detach().numpy()
        with torch.no_grad():
            for kept, one, gradient in zip(history, weights, gradients, strict=True):
                one -= rates * gradient
                kept[step + 1] = one.numpy()
    return [np.moveaxis(kept, 1, 0) for kept in history], diffusion.T.copy()
