"""Samples of trained denoisers, and the conditional map that they show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from swingby.diffusion import vdm
from swingby.diffusion.vectors.model import denoiser
from swingby.diffusion.vectors.train import schedule_of
from swingby.theory import numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from swingby.diffusion.vectors.result import VectorRun

    Floats = NDArray[np.float64]


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
