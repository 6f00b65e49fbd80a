"""Denoisers of several settings as one function of stacked data."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from swingby.diffusion.vdm import Denoiser, alpha, sigma
from swingby.diffusion.vectors.setting import VectorSetting


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
    """The denoiser of some settings, for data with the settings one after the other.

    Parameters
    ----------
    setting : VectorSetting
        Any of them.
    weights : sequence of Tensor of shape (r, ...)

    Returns
    -------
    callable
        Of z of shape (r n, s), gamma of shape (r n,) and conditions of shape (r n, s).
    """
    runs = len(weights[0])

    def estimate(z: Tensor, gamma: Tensor, condition: Tensor) -> Tensor:
        signal, noise = alpha(gamma)[:, None], sigma(gamma)[:, None]
        if setting.reads == "condition":
            made = network(setting, weights, condition.unflatten(0, (runs, -1)))
            return z - signal * made.flatten(0, 1)
        x = torch.cat([-(signal / noise) * condition, ((1 - noise) / noise) * z], dim=1)
        return z + network(setting, weights, x.unflatten(0, (runs, -1))).flatten(0, 1)

    return estimate
