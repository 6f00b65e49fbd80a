"""Any network, by automatic differentiation of stacked parameters."""

from __future__ import annotations

from typing import Any, NamedTuple

from swingby.training.coordinates import Coordinates
from swingby.training.setting import Setting


class Differentiated(NamedTuple):
    """Some networks under way.

    Parameters
    ----------
    torch : module
    parameters : list of Tensor
        Leaves, of shape (r, ...), in the order of :func:`swingby.training.weights.shapes`.
    optimizer : torch.optim.Optimizer
    target : Tensor of shape (d, m)
    activation : {"linear", "relu", "gelu"}
    bias, symmetric, linear : bool
    """

    torch: Any
    parameters: list[Any]
    optimizer: Any
    target: Any
    activation: str
    bias: bool
    symmetric: bool
    linear: bool


def start_differentiated(
    torch: Any, settings: tuple[Setting, ...], weights: list[Any], coordinates: Coordinates
) -> Differentiated:
    """Networks at their step 0."""
    first = settings[0]
    parameters = [one.clone().requires_grad_() for one in weights]
    if first.optimizer.kind == "adamw":
        chosen = first.optimizer
        optimizer = torch.optim.AdamW(
            parameters, lr=chosen.lr, weight_decay=chosen.weight_decay, foreach=True
        )
    else:
        # Learning rates differ from run to run, so they are in the loss.
        optimizer = torch.optim.SGD(parameters, lr=1.0)
    like = weights[0]
    target = torch.tensor(coordinates.target, dtype=like.dtype, device=like.device)
    network = first.network
    return Differentiated(
        torch,
        parameters,
        optimizer,
        target,
        network.activation,
        network.bias,
        network.symmetric,
        network.linear,
    )


def evaluate(networks: Differentiated, x: Any) -> Any:
    """Output at some points."""
    return _layers(networks, x, None)[0]


def tangents(networks: Differentiated, x: Any, along: Any) -> tuple[Any, Any]:
    """Output at some points of each run, and its derivative at the last along some directions."""
    return _layers(networks, x, along)


def _layers(networks: Differentiated, x: Any, along: Any) -> tuple[Any, Any]:
    torch, parameters = networks.torch, networks.parameters
    if networks.symmetric:
        U = parameters[0]
        moved = None if along is None else torch.bmm(torch.bmm(along, U), U.mT)
        return torch.bmm(torch.bmm(x, U), U.mT), moved
    stride = 2 if networks.bias else 1
    for place in range(0, len(parameters), stride):
        W = parameters[place].mT
        if networks.bias:
            x = torch.baddbmm(parameters[place + 1][:, None], x, W)
        else:
            x = torch.bmm(x, W)
        along = None if along is None else torch.bmm(along, W)
        if place + stride < len(parameters):
            if along is not None:
                along = along * _slope(torch, networks.activation, x[:, -1:])
            x = _activated(torch, networks.activation, x)
    return x, along


def _activated(torch: Any, activation: str, z: Any) -> Any:
    if activation == "relu":
        return torch.relu(z)
    return torch.nn.functional.gelu(z) if activation == "gelu" else z


def _slope(torch: Any, activation: str, z: Any) -> Any:
    if activation == "relu":
        return (z > 0).to(z.dtype)
    if activation == "gelu":
        # z Phi(z), so Phi(z) + z phi(z).
        normal = torch.exp(-0.5 * z * z) * (2.0 * torch.pi) ** -0.5
        return 0.5 * (1.0 + torch.erf(z * 0.5**0.5)) + z * normal
    return torch.ones_like(z)


def loss_at(networks: Differentiated, x: Any) -> Any:
    """The paper's loss on some points."""
    d, m = networks.target.shape
    away = evaluate(networks, x) - networks.torch.nn.functional.pad(x, (0, d - m))
    return 0.5 * away.square().sum(2).mean(1)


def loss_of_moment(networks: Differentiated, moment: Any) -> Any:
    """The paper's loss of linear networks, from the second moment of the points."""
    P = linear_map(networks)
    target = networks.target
    away = P - networks.torch.nn.functional.pad(target, (0, P.shape[2] - target.shape[1]))
    return 0.5 * (networks.torch.bmm(away, moment) * away).sum((1, 2))


def linear_map(networks: Differentiated) -> Any:
    """Weight, and bias as a last column, of the affine function that linear networks are."""
    torch, parameters = networks.torch, networks.parameters
    if networks.symmetric:
        return torch.bmm(parameters[0], parameters[0].mT)
    if not networks.bias:
        P = parameters[0]
        for one in parameters[1:]:
            P = torch.bmm(one, P)
        return P
    P = torch.cat([parameters[0], parameters[1][:, :, None]], 2)
    for W, b in zip(parameters[2::2], parameters[3::2], strict=True):
        P = torch.bmm(W, P)
        P = torch.cat([P[:, :, :-1], P[:, :, -1:] + b[:, :, None]], 2)
    return P


def descend(networks: Differentiated, losses: Any, rates: Any) -> None:
    """One step of the optimizer, in place.

    Parameters
    ----------
    networks : Differentiated
    losses : Tensor of shape (r,)
        The paper's loss of each run on its batch.
    rates : Tensor of shape (r,)
        What each is multiplied by: the factor of the loss, and the learning rate unless the
        optimizer has it.
    """
    networks.optimizer.zero_grad(set_to_none=True)
    (losses * rates).sum().backward()
    networks.optimizer.step()
