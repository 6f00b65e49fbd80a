r"""Gradient descent of linear networks by the gradient as it is written down.

With the second moment S of a batch, the loss of :math:`f(x) = P x` is
:math:`\tfrac12 \operatorname{tr} (P - T) S (P - T)^\top` for the target T, so one product with S
replaces the points. Biases are rows of augmented weights. Everything is held transposed, inputs in
the rows: a SIM task has few of them, and few long rows are multiplied faster than many short ones.
Sums are taken in another order than by automatic differentiation;
:mod:`swingby.training.differentiated` is the other way.
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
        Of shape (r, columns, rows), transposed, changed in place. With biases the last row is
        the bias, and all but the last weight have a last column of zeros and a 1. One layer is
        held as P - T, the symmetric network as U.
    target : Tensor of shape (m, d) or (m + 1, d)
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
    """
    network = settings[0].network
    like = weights[0]
    target = torch.tensor(coordinates.target.T, dtype=like.dtype, device=like.device)
    if network.bias:
        target = torch.cat([target, target.new_zeros(1, target.shape[1])])
        layers = list(zip(weights[::2], weights[1::2], strict=True))
        own = [
            _augmented(torch, *one, last=place == len(layers))
            for place, one in enumerate(layers, 1)
        ]
    else:
        own = [one if network.symmetric else one.mT for one in weights]
    if network.depth == 1:
        own = [own[0] - target]
    own = [one.clone(memory_format=torch.contiguous_format) for one in own]
    return Written(torch, own, target, network.bias, network.symmetric)


def _augmented(torch: Any, W: Any, b: Any, *, last: bool) -> Any:
    whole = torch.cat([W.mT, b[:, None]], 1)
    if last:
        return whole
    column = whole.new_zeros(*whole.shape[:2], 1)
    column[:, -1] = 1.0
    return torch.cat([whole, column], 2)


def plain_weights(written: Written) -> list[Any]:
    """The parameters, in the order of :func:`swingby.training.weights.shapes`."""
    if written.symmetric:
        return list(written.weights)
    last = len(written.weights) - 1
    found: list[Any] = []
    for place, one in enumerate(written.weights):
        whole = one + written.target if not last else one
        if not written.bias:
            found.append(whole.mT)
            continue
        kept = whole if place == last else whole[:, :, :-1]
        found += [kept[:, :-1].mT, kept[:, -1]]
    return found


def forward(written: Written) -> tuple[Any, list[Any]]:
    """P - T transposed, what the networks do to their inputs less what they should do.

    Returns
    -------
    errors : Tensor of shape (r, m, d), or (r, m + 1, d) with biases
    below : list of Tensor
        The products of the first one, two, ... weights; without the last.
    """
    torch, weights = written.torch, written.weights
    if written.symmetric:
        return torch.baddbmm(written.target, weights[0], weights[0].mT, beta=-1.0), []
    if len(weights) == 1:
        return weights[0], []
    below = [weights[0]]
    for one in weights[1:-1]:
        below.append(torch.bmm(below[-1], one))
    return torch.baddbmm(written.target, below[-1], weights[-1], beta=-1.0), below


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
    E = torch.bmm(moment, errors)
    if written.symmetric:
        weights[0].sub_(torch.bmm(E + E.mT, weights[0]))
        return
    for place in range(len(weights) - 1, 0, -1):
        further = torch.bmm(E, weights[place].mT)
        if written.bias:
            # The column that carries the 1 on is no parameter.
            further[:, :, -1] = 0.0
        weights[place].baddbmm_(below[place - 1].mT, E, alpha=-1.0)
        E = further
    weights[0].sub_(E)
