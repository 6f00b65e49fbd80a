r"""The modes of linear regression: principal components of the best linear fit of Y to X.

With :math:`S = X^\top X/n`, :math:`K = Y^\top X/n` and X = P Sigma Q^T, the best linear fit has the
outputs :math:`P P^\top Y`, and :math:`G = Y^\top P/\sqrt n = K S^{-1/2}` up to a rotation; S is
never inverted, so n < p is no special case. From :math:`G = \sum_k \sigma_k u_k x_k^\top`, with
:math:`d_k = Q \Sigma x_k/\sqrt n`,

.. math:: a_k = u_k^\top W d_k / \sigma_k

is the share of the k-th component that the outputs W x have. At every critical point of a deep
linear network :math:`W S^{1/2}` is a sum of some :math:`\sigma_k u_k x_k^\top`
(Baldi and Hornik, Neural Networks 2, 1989), so there a_k is 0 or 1. On white inputs these are the
modes of Saxe, McClelland and Ganguli (ICLR 2014); on the SIM task a_k is w_kk.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from swingby.report.result_formats import ReadOnly
from swingby.theory.numbers import Floats

#: Directions of the inputs, and modes, that are smaller than the largest by this are rounding.
_INPUT_ROUNDING, _MODE_ROUNDING = 1e-9, 1e-10


@dataclass(frozen=True)
class LinearModes(ReadOnly):
    """Moments of data, and the modes of its best linear fit, in the order of their variance.

    Of the SIM task they are its concepts with a_k > 0, in the order of the task.
    """

    #: K = Y'X/n (q, p) and S = X'X/n (p, p).
    K: Floats
    S: Floats
    #: D with D D' = S (p, r), and G = K D^(-T) (q, r): the loss is |G - W D|^2/2 and a constant.
    root: Floats
    fit: Floats
    #: u_k in the outputs (m, q), d_k in the inputs (m, p), and sigma_k (m,).
    outputs: Floats
    inputs: Floats
    sigma: Floats

    def __repr__(self) -> str:
        sizes = ", ".join(f"{value:.4g}" for value in self.sigma)
        return f"<LinearModes sigma=({sizes})>"

    @property
    def explained(self) -> Floats:
        """Share of the variance of the best linear fit that each mode explains, shape (m,)."""
        return np.asarray(self.sigma**2 / (self.sigma**2).sum())

    @property
    def directions(self) -> Floats:
        """Principal directions of the inputs, those without variance left out, shape (p, r)."""
        spread = np.linalg.norm(self.root, axis=0)
        return np.asarray(self.root[:, spread > 0] / spread[spread > 0])

    def largest(self, count: int) -> LinearModes:
        """The same data with their first modes alone."""
        parts = self.outputs[:count], self.inputs[:count], self.sigma[:count]
        return LinearModes(self.K, self.S, self.root, self.fit, *parts)

    def in_principal_inputs(self) -> LinearModes:
        """The same, with inputs in their principal directions: S is diagonal."""
        spread = np.linalg.norm(self.root, axis=0)
        fit, spread = self.fit[:, spread > 0], spread[spread > 0]
        return LinearModes(
            K=fit * spread,
            S=np.diag(spread**2),
            root=np.diag(spread),
            fit=fit,
            outputs=self.outputs,
            inputs=self.inputs @ self.directions,
            sigma=self.sigma,
        )

    def levels(self, W: Floats) -> Floats:
        """a_k of matrices W (..., q, p): shape (..., m)."""
        return np.asarray(((self.outputs @ W) * self.inputs).sum(axis=-1) / self.sigma)


def data_modes(X: Floats, Y: Floats) -> LinearModes:
    """Modes of data X (n, p), Y (n, q).

    >>> X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> modes = data_modes(X, X @ np.diag([1.0, 3.0]))
    >>> modes.explained.round(3).tolist()
    [0.9, 0.1]
    """
    return modes_and_scores(X, Y)[0]


def modes_and_scores(X: Floats, Y: Floats) -> tuple[LinearModes, Floats]:
    """Modes of data, and P x_k of each in its columns (n, m): the fit is sqrt(n) sigma_k of it."""
    n = len(X)
    P, spread, Qt = np.linalg.svd(X, full_matrices=False)
    rank = int((spread > spread[0] * _INPUT_ROUNDING).sum())
    P, root = P[:, :rank], Qt[:rank].T * spread[:rank] / np.sqrt(n)
    fit = Y.T @ P / np.sqrt(n)
    u, sigma, xt = np.linalg.svd(fit, full_matrices=False)
    count = int((sigma > _MODE_ROUNDING * sigma.max(initial=0.0)).sum())
    modes = LinearModes(
        K=Y.T @ X / n,
        S=X.T @ X / n,
        root=root,
        fit=fit,
        outputs=u[:, :count].T,
        inputs=(root @ xt[:count].T).T,
        sigma=sigma[:count],
    )
    return modes, P @ xt[:count].T


def task_modes(signal: Floats) -> LinearModes:
    """Modes of the SIM task, K = S = A: its concepts, a_k the entry w_kk."""
    A, root = np.diag(signal), np.diag(np.sqrt(signal))
    present = signal > 0
    units, sigma = np.eye(len(signal))[present], np.sqrt(signal[present])
    return LinearModes(A, A, root, root, units, units * sigma[:, None], sigma)
