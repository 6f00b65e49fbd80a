r"""Components of the data: how much of each the outputs of a network have.

They are the modes of :mod:`swingby.theory.linear_modes`, :math:`u_k, x_k, \sigma_k`, without those
that explain next to nothing. Outputs F have the share

.. math:: a_k = \frac{(P x_k)^T F u_k}{\sqrt n\, \sigma_k}

of the k-th: 1 for the best linear fit itself, 0 or 1 at every critical point of a linear network.
For a linear network it is :math:`u_k^T W d_k / \sigma_k`, and a function of the outputs alone for
any other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from swingby.errors import InvalidInput
from swingby.theory.linear_modes import LinearModes, modes_and_scores
from swingby.theory.numbers import Floats

#: Components that explain less of the variance of the fit are not followed.
LEAST_EXPLAINED = 1e-3


@dataclass(frozen=True)
class Components:
    """Principal components of the best linear fit, from the largest share of variance down."""

    #: u_k, d_k and sigma_k of those that are followed, with the moments of the data.
    modes: LinearModes
    #: (n, modes): a_k is the sum over rows i of probe[i, k] times u_k . output_i.
    probe: Floats
    #: Share of the variance of the fit that each explains, (modes,).
    explained: Floats
    #: How many are left out, each of which explains less than a thousandth.
    omitted: int
    #: Whether means are taken off X and Y first, as biases learn them.
    centred: bool

    def __len__(self) -> int:
        return len(self.modes.sigma)


def components(X: Floats, Y: Floats, *, centred: bool) -> Components:
    """Components of the targets Y (n, q) on the inputs X (n, p).

    >>> X = np.eye(3)
    >>> np.round(components(X, X * [3, 2, 1], centred=False).explained, 3)
    array([0.643, 0.286, 0.071])
    """
    if centred:
        X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    n = len(X)
    modes, scores = modes_and_scores(X, Y)
    total = float((modes.sigma**2).sum())
    if total <= 1e-20 * float((Y**2).sum()) / n or total == 0:
        requirement = "must depend on X: its best linear fit is constant, so nothing can be timed"
        raise InvalidInput("Y", f"shape {Y.shape}", requirement)
    explained = modes.sigma**2 / total
    count = int((explained >= LEAST_EXPLAINED).sum())
    return Components(
        modes=modes.largest(count),
        probe=scores[:, :count] / (np.sqrt(n) * modes.sigma[:count]),
        explained=explained[:count],
        omitted=len(modes.sigma) - count,
        centred=centred,
    )
