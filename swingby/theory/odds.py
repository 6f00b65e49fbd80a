r"""W(t) in one composite closed form: the odds matrix and its factors.

The odds matrix :math:`X = W (I - W)^{-1}` obeys, under the flow, **exactly**

.. math:: \dot X = (A + \mathcal K) X + X (A + \mathcal K)^\top,
          \qquad \mathcal K = \tfrac12 (W A - A W) = -\mathcal K^\top .

For diagonal W or equal signals :math:`\mathcal K = 0` and the equation is linear. In general
write :math:`X = L\, \mathrm{diag}(x)\, L^\top` with L unit lower triangular in descending order
of a; then :math:`(\log x_k)' = 2 a_k + 2 [L^{-1}\mathcal K L]_{kk}`. To leading order

.. math::
   x_k(t) = x_k(0)\, e^{g_{kk} t}, \qquad
   \ell_{jk}(t) = \ell_{jk}(0)\, e^{(g_{jk} - g_{kk}) t}
   \Big(\frac{1 + x_k(t)}{1 + x_k(0)}\Big)^{(1 - r)/4}
   \Big(\frac{1 + x_j(t)}{1 + x_j(0)}\Big)^{(1 - 1/r)/4}, \quad r = g_{jj}/g_{kk},

and always :math:`W = L (\mathrm{diag}(1/x) + L^\top L)^{-1} L^\top`. The entry curves of a single
stage follow from it: :math:`w_{kk}` is logistic, a minor entry grows, peaks at
:math:`w_{kk} = 2(a_k + a_j)/(3a_k + a_j)` and decays at :math:`(a_k - a_j)/2`.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from swingby.theory.pivots import Pivots

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: log x of a concept that W(0) has no component for.
ABSENT = -1e9


def softplus(y: Floats) -> Floats:
    """log(1 + exp(y)), without overflow.

    Parameters
    ----------
    y : ndarray

    Returns
    -------
    ndarray
    """
    return np.logaddexp(0.0, y)


def logistic(y: Floats) -> Floats:
    """1/(1 + exp(-y)), without overflow.

    Parameters
    ----------
    y : ndarray

    Returns
    -------
    ndarray
    """
    return np.asarray(1 / (1 + np.exp(-np.clip(y, -700, 700))))


@dataclass(frozen=True, eq=False)
class Leading:
    """The leading order of the odds factors, concepts in descending order of a.

    Parameters
    ----------
    log_odds : ndarray of shape (d,)
        log x_k(0); :data:`ABSENT` where the pivot is not positive.
    growth : ndarray of shape (d, d)
        g_ij per step.
    column : ndarray of shape (d, d)
        L(0), strictly lower, in units of `unit_log`: between -1 and 1.
    unit_log : ndarray of shape (d, d)
        Logarithm of the size an entry of L(0) has to be compared with: its own, or
        sqrt(x_j/x_k), which an entry that is zero at the start soon reaches a share of.
    power_k, power_j : ndarray of shape (d, d)
        Exponents of 1 + x_k and 1 + x_j in entry (j, k) of L.
    """

    log_odds: Floats
    growth: Floats
    column: Floats
    unit_log: Floats
    power_k: Floats
    power_j: Floats

    @classmethod
    def of(cls, pivots: Pivots, growth: Floats) -> Leading:
        """The leading order that given pivots start.

        Parameters
        ----------
        pivots : Pivots
        growth : ndarray of shape (d, d)

        Returns
        -------
        Leading
        """
        rate = np.diag(growth)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = rate[:, None] / rate[None, :]
            power_k = np.where(rate[None, :] > 0, (1 - ratio) / 4, 0.0)
            power_j = np.where(rate[:, None] > 0, (1 - 1 / ratio) / 4, 0.0)
        log_odds = np.where(pivots.sign > 0, pivots.log, ABSENT)
        generic = np.tril((log_odds[:, None] - log_odds) / 2, -1)
        unit_log = np.maximum(pivots.column_log, np.where(pivots.sign > 0, generic, -np.inf))
        with np.errstate(invalid="ignore"):
            size = np.where(pivots.column_sign != 0, np.exp(pivots.column_log - unit_log), 0.0)
        return cls(log_odds, growth, pivots.column_sign * size, unit_log, power_k, power_j)

    def at(self, t: Floats) -> tuple[Floats, Floats]:
        """Log x and the strictly lower part of L at given steps.

        Parameters
        ----------
        t : ndarray of shape (n,)
            Steps.

        Returns
        -------
        log_odds : ndarray of shape (n, d)
        lower : ndarray of shape (n, d, d)
        """
        log_odds, unit = self.units(t)
        return log_odds, unit * self.column

    def units(self, t: Floats) -> tuple[Floats, Floats]:
        """Log x, and what the columns of L are measured in, at given steps.

        The strictly lower part of L is `unit` times `column`.

        Parameters
        ----------
        t : ndarray of shape (n,)
            Steps.

        Returns
        -------
        log_odds : ndarray of shape (n, d)
        unit : ndarray of shape (n, d, d)
        """
        rate = np.diag(self.growth)
        log_odds = self.log_odds + rate * t[:, None]
        risen = softplus(log_odds) - softplus(self.log_odds)
        size = (
            self.unit_log
            + (self.growth - rate) * t[:, None, None]
            + self.power_k * risen[:, None, :]
            + self.power_j * risen[:, :, None]
        )
        # exp(50) is far past saturation; a larger exponent is a column of an absent concept.
        return log_odds, np.tril(np.exp(np.minimum(size, 50.0)), -1)


def assemble(log_odds: Floats, lower: Floats) -> tuple[Floats, Floats]:
    """W and L from the odds factors.

    Parameters
    ----------
    log_odds : ndarray of shape (n, d)
    lower : ndarray of shape (n, d, d)
        Strictly lower part of L.

    Returns
    -------
    W, L : ndarray of shape (n, d, d)
    """
    d = log_odds.shape[1]
    L = lower + np.eye(d)
    # Columns scaled by sqrt(x/(1 + x)), which keeps the system well conditioned at every x.
    scaled = L * np.exp(-0.5 * softplus(-log_odds))[:, None, :]
    transposed = np.swapaxes(scaled, 1, 2)
    system = transposed @ scaled
    diagonal = np.arange(d)
    system[:, diagonal, diagonal] += np.exp(-softplus(log_odds))
    return scaled @ solve(system, transposed), L


def solve(systems: Floats, right: Floats) -> Floats:
    """Solve a stack of linear systems; nan for one that is singular.

    Singular systems come from numbers far outside the range of the law.

    Parameters
    ----------
    systems, right : ndarray of shape (n, d, d)

    Returns
    -------
    ndarray of shape (n, d, d)
    """
    try:
        return np.asarray(np.linalg.solve(systems, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        found = np.full(right.shape, np.nan)
        for place in range(len(systems)):
            with contextlib.suppress(np.linalg.LinAlgError):
                found[place] = np.linalg.solve(systems[place], right[place])
        return found
