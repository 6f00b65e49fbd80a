r"""Variational diffusion: noise schedule, loss and sampler, for data of any shape.

The noisy :math:`z_t = \alpha_t x + \sigma_t \epsilon` has :math:`\alpha_t^2 =
\operatorname{sigmoid}(-\gamma_t)`, :math:`\sigma_t^2 = \operatorname{sigmoid}(\gamma_t)`, and
gamma, minus the logarithm of the signal-to-noise ratio, rises linearly with t from 0 to 1.
A denoiser estimates epsilon.

References
----------
Kingma, Salimans, Poole, Ho: Variational diffusion models (2021); App. G.2 of the paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from swingby.errors import InvalidInput
from swingby.lab.diffusion.preset import as_float

#: A denoiser: noisy data, gamma of each datum, and its condition, to the noise in it.
Denoiser = Callable[[Tensor, Tensor, Tensor], Tensor]


class LinearSchedule(nn.Module):
    r"""A line, :math:`\gamma(t) = \gamma_{min} + |w| t`; gradients reach both ends if `learned`.

    >>> schedule = LinearSchedule(-5.0, 10.0)
    >>> schedule(torch.tensor([0.0, 0.5, 1.0])).tolist()
    [-5.0, 2.5, 10.0]
    """

    def __init__(
        self, gamma_min: float = -5.0, gamma_max: float = 10.0, *, learned: bool = True
    ) -> None:
        super().__init__()
        low, high = as_float(gamma_min, "gamma_min"), as_float(gamma_max, "gamma_max")
        if not low < high:
            raise InvalidInput("gamma_max", gamma_max, "must be larger than gamma_min")
        self.start = nn.Parameter(torch.tensor(low), requires_grad=learned)
        self.rise = nn.Parameter(torch.tensor(high - low), requires_grad=learned)

    def forward(self, t: Tensor) -> Tensor:
        """Gamma at some times."""
        return self.start + self.rise.abs() * t

    @property
    def slope(self) -> Tensor:
        """The derivative of gamma by t."""
        return self.rise.abs()


def alpha(gamma: Tensor) -> Tensor:
    """The factor of the data in the noisy data."""
    return torch.sigmoid(-gamma).sqrt()


def sigma(gamma: Tensor) -> Tensor:
    """The standard deviation of the noise in the noisy data."""
    return torch.sigmoid(gamma).sqrt()


def spread_times(n: int, generator: torch.Generator) -> Tensor:
    """Random times, evenly spread over [0, 1): uniform each, and one in every n-th part."""
    device = generator.device
    first = torch.rand((), generator=generator, device=device)
    return (first + torch.arange(n, device=device) / n) % 1.0


@dataclass(frozen=True)
class Loss:
    """The three parts of the bound on the negative log likelihood, in nats, of shape (n,) each."""

    diffusion: Tensor
    latent: Tensor
    reconstruction: Tensor

    @property
    def total(self) -> Tensor:
        """Their sum."""
        return self.diffusion + self.latent + self.reconstruction


def loss(
    denoiser: Denoiser,
    schedule: LinearSchedule,
    x: Tensor,
    condition: Tensor,
    *,
    t: Tensor,
    noise: Tensor,
    first_noise: Tensor,
    data_noise: float = 1e-3,
) -> Loss:
    r"""The continuous-time bound on :math:`-\log p(x)`.

    - diffusion: :math:`\frac12 \gamma'(t)\,|\epsilon - \hat\epsilon(z_t)|^2` at one time per datum;
    - latent: the divergence of :math:`q(z_1 | x)` from a standard Gaussian;
    - reconstruction: :math:`-\log N(x; z_0 / \alpha_0, s^2)` with the data noise s.

    Parameters
    ----------
    denoiser : callable
    schedule : LinearSchedule
    x : Tensor of shape (n, ...)
    condition : Tensor of shape (n, c)
    t : Tensor of shape (n,)
        Times, from 0 to 1.
    noise, first_noise : Tensor of shape (n, ...)
        Standard Gaussian; of :math:`z_t` and of :math:`z_0`.
    data_noise : float
        s.

    Returns
    -------
    Loss
        As in Kingma et al. (2021), eqs. 11 to 18; App. G.2.
    """
    gamma = schedule(t)
    each = (-1, *[1] * (x.dim() - 1))
    z = alpha(gamma).reshape(each) * x + sigma(gamma).reshape(each) * noise
    estimate = denoiser(z, gamma, condition)
    diffusion = 0.5 * schedule.slope * ((noise - estimate) ** 2).flatten(1).sum(1)
    ends = schedule(torch.tensor([0.0, 1.0], device=x.device, dtype=x.dtype))
    last = ends[1]
    variance = torch.sigmoid(last)
    # log sigma^2 = -softplus(-gamma)
    spread = variance + nn.functional.softplus(-last) - 1.0
    latent = 0.5 * (torch.sigmoid(-last) * x**2 + spread).flatten(1).sum(1)
    # z_0 / alpha_0 = x + (sigma_0 / alpha_0) epsilon, and the ratio is exp(gamma_0 / 2)
    off = torch.exp(0.5 * ends[0]) * first_noise / data_noise
    constant = math.log(data_noise) + 0.5 * math.log(2 * math.pi)
    reconstruction = (0.5 * off**2 + constant).flatten(1).sum(1)
    return Loss(diffusion, latent, reconstruction)


@torch.no_grad()
def sample(
    denoiser: Denoiser,
    schedule: LinearSchedule,
    condition: Tensor,
    shape: tuple[int, ...],
    *,
    steps: int,
    generator: torch.Generator,
    noises: int | None = None,
) -> Tensor:
    r"""Ancestral sampling: from pure noise to data in equal steps of time.

    A step from t to the earlier s is :math:`z_s = (\alpha_s/\alpha_t)(z_t - \sigma_t \kappa
    \hat\epsilon) + \sigma_s \sqrt\kappa\, n`, with :math:`\kappa = 1 - e^{\gamma_s - \gamma_t}`.

    Parameters
    ----------
    denoiser : callable
    schedule : LinearSchedule
    condition : Tensor of shape (n, c)
    shape : tuple of int
        Of one datum.
    steps : int
        T.
    generator : torch.Generator
        Of the device of the condition.
    noises : int, optional
        Different noises, a divisor of n: data k and k + noises have the same in every step, and
        differ by their condition alone. All differ if not given.

    Returns
    -------
    Tensor of shape (n, *shape)
        The mean of the data given :math:`z_0` (Kingma et al., 2021, eqs. 32 to 34).
    """
    n, device = len(condition), condition.device
    different = n if noises is None else noises
    if not 0 < different <= n or n % different:
        raise InvalidInput("noises", noises, f"must divide the {n} data")

    def gaussian() -> Tensor:
        drawn = torch.randn(
            (different, *shape), generator=generator, device=device, dtype=condition.dtype
        )
        return drawn.repeat(n // different, *[1] * len(shape))

    times = torch.linspace(1.0, 0.0, steps + 1, device=device, dtype=condition.dtype)
    gammas = schedule(times)
    z = gaussian()
    for k in range(steps):
        now, later = gammas[k], gammas[k + 1]
        kappa = -torch.expm1(later - now)
        estimate = denoiser(z, now.expand(n), condition)
        z = alpha(later) / alpha(now) * (z - sigma(now) * kappa * estimate)
        z = z + sigma(later) * kappa.sqrt() * gaussian()
    return z / alpha(gammas[-1])
