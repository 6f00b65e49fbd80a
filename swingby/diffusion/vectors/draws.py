"""The random numbers of training: points, noise and times of one setting, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from swingby.diffusion.vdm import spread_times
from swingby.diffusion.vectors.setting import VectorSetting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

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
    """Batches of some settings of one kind, one setting after the other.

    Yields
    ------
    x, noise : Tensor of shape (r n, s)
    t : Tensor of shape (r n,)
        With ``antithetic`` twice as many, the noise of the second half of each setting being
        minus that of the first.
    """
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
