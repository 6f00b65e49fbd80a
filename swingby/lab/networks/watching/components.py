r"""Components of the data: how much of each the outputs of a network have.

With :math:`X = P \Sigma Q^T` of n rows and :math:`Y^T P / \sqrt n = \sum_k \sigma_k u_k x_k^T`, the
best linear fit of Y has the principal components :math:`\sqrt n\, \sigma_k\, (P x_k)\, u_k^T`.
Outputs F have the share

.. math:: a_k = \frac{(P x_k)^T F u_k}{\sqrt n\, \sigma_k}

of the k-th: 1 for the fit itself, 0 or 1 at every critical point of a linear network. For a linear
network it is :math:`u_k^T W d_k / \sigma_k`, and a function of the outputs alone for any other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from swingby.errors import InvalidInput
from swingby.theory.numbers import Floats

#: Singular values of the inputs below this, relative to the largest, are rounding.
_LEAST_SPREAD = 1e-9
#: Components that explain less of the variance of the fit are not followed.
LEAST_EXPLAINED = 1e-3


@dataclass(frozen=True)
class Components:
    """Principal components of the best linear fit, from the largest share of variance down."""

    #: u_k, (modes, q); d_k, (modes, p); sigma_k, (modes,).
    outputs: Floats
    inputs: Floats
    size: Floats
    #: (n, modes): a_k is the sum over rows i of probe[i, k] times u_k . output_i.
    probe: Floats
    #: Share of the variance of the fit that each explains, (modes,).
    explained: Floats
    #: How many are left out, each of which explains less than a thousandth.
    omitted: int
    #: Whether means are taken off X and Y first, as biases learn them.
    centred: bool

    def __len__(self) -> int:
        return len(self.size)


def components(X: Floats, Y: Floats, *, centred: bool) -> Components:
    """Components of the targets Y (n, q) on the inputs X (n, p).

    >>> X = np.eye(3)
    >>> np.round(components(X, X * [3, 2, 1], centred=False).explained, 3)
    array([0.643, 0.286, 0.071])
    """
    if centred:
        X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    n = len(X)
    P, spread, Q = np.linalg.svd(X, full_matrices=False)
    rank = int((spread > _LEAST_SPREAD * spread[0]).sum()) if spread[0] > 0 else 0
    P, spread, Q = P[:, :rank], spread[:rank], Q[:rank]
    u, size, x = np.linalg.svd(Y.T @ P / np.sqrt(n), full_matrices=False)
    total = float((size**2).sum())
    if total <= 1e-20 * float((Y**2).sum()) / n or total == 0:
        requirement = "must depend on X: its best linear fit is constant, so nothing can be timed"
        raise InvalidInput("Y", f"shape {Y.shape}", requirement)
    explained = size**2 / total
    count = int((explained >= LEAST_EXPLAINED).sum())
    directions = x[:count].T
    return Components(
        outputs=u[:, :count].T,
        inputs=((Q.T * spread / np.sqrt(n)) @ directions).T,
        size=size[:count],
        probe=P @ directions / (np.sqrt(n) * size[:count]),
        explained=explained[:count],
        omitted=int((size > _LEAST_SPREAD * size[0]).sum()) - count,
        centred=centred,
    )
