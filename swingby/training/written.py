r"""Gradient descent of linear networks by the gradient as it is written down.

With the second moment S of a batch, the loss of :math:`f(x) = P x` is
:math:`\tfrac12 \operatorname{tr} (P - T) S (P - T)^\top` for the target T, so one product with S
replaces the points. Biases are columns of augmented weights. Sums are taken in another order than
by automatic differentiation; :mod:`swingby.training.differentiated` is the other way.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from swingby.training.coordinates import Coordinates
from swingby.training.setting import Setting


class Written(NamedTuple):
    """Some linear networks under way.

    Parameters
    ----------
    torch : module
    weights : list of Tensor
        Of shape (r, rows, columns), changed in place. With biases the last column is the bias
        and a last row of zeros and a 1 is appended. One layer is held as P - T, the symmetric
        network as U.
    target : Tensor of shape (d, m) or (d + 1, m + 1)
    bias, symmetric : bool
    """

    torch: Any
    weights: list[Any]
    target: Any
    bias: bool
    symmetric: bool


def start_written(
    torch: Any,
    settings: tuple[Setting, ...],
    weights: list[Any],
    coordinates: Coordinates,
) -> Written:
    """Linear networks at their step 0.

    Parameters
    ----------
    torch : module
    settings : tuple of Setting
    weights : list of Tensor
        Of shape (r, ...), in the order of :func:`swingby.training.weights.shapes`.
    coordinates : Coordinates

    Returns
    -------
    Written
    """
    network = settings[0].network
    like = weights[0]
    target = torch.tensor(coordinates.target, dtype=like.dtype, device=like.device)
    if network.bias:
        weights = [
            _augmented(torch, W, b) for W, b in zip(weights[::2], weights[1::2], strict=True)
        ]
        target = torch.block_diag(target, target.new_ones(1, 1))
    if network.depth == 1:
        weights = [weights[0] - target]
    own = [one.clone() for one in weights]
    return Written(torch, own, target, network.bias, network.symmetric)


def _augmented(torch: Any, W: Any, b: Any) -> Any:
    last = W.new_zeros(W.shape[0], 1, W.shape[2] + 1)
    last[:, :, -1] = 1.0
    return torch.cat([torch.cat([W, b[:, :, None]], 2), last], 1)


def plain_weights(written: Written) -> list[Any]:
    """The parameters, in the order of :func:`swingby.training.weights.shapes`.

    Parameters
    ----------
    written : Written
    bias : bool

    Returns
    -------
    list of Tensor
    """
    found: list[Any] = []
    for one in written.weights:
        whole = one + written.target if len(written.weights) == 1 and not written.symmetric else one
        found += [whole[:, :-1, :-1], whole[:, :-1, -1]] if written.bias else [whole]
    return found


def forward(written: Written) -> tuple[Any, list[Any]]:
    """P - T, what the networks do to their inputs less what they should do.

    Parameters
    ----------
    written : Written

    Returns
    -------
    errors : Tensor of shape (r, d, m), or (r, d + 1, m + 1) with biases
    below : list of Tensor
        The products of the first one, two, ... weights; without the last.
    """
    torch, weights = written.torch, written.weights
    if written.symmetric:
        return torch.baddbmm(-written.target, weights[0], weights[0].mT), []
    if len(weights) == 1:
        return weights[0], []
    below = [weights[0]]
    for one in weights[1:-1]:
        below.append(torch.bmm(one, below[-1]))
    return torch.baddbmm(-written.target, weights[-1], below[-1]), below


def descend(written: Written, moment: Any, errors: Any, below: list[Any]) -> None:
    """One step of gradient descent, in place.

    Parameters
    ----------
    written : Written
    moment : Tensor of shape (r, m, m)
        Second moment of the batch, times the rate of each run.
    errors, below : Tensor, list of Tensor
        From :func:`forward`.
    """
    torch, weights = written.torch, written.weights
    E = torch.bmm(errors, moment)
    if written.symmetric:
        weights[0].sub_(torch.bmm(E + E.mT, weights[0]))
        return
    for place in range(len(weights) - 1, 0, -1):
        further = torch.bmm(weights[place].mT, E)
        if written.bias:
            # The row that carries the 1 on is no parameter.
            further[:, -1] = 0.0
        weights[place].baddbmm_(E, below[place - 1].mT, alpha=-1.0)
        E = further
    weights[0].sub_(E)
