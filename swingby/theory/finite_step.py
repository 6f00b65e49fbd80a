r"""What a finite step size does to the stage times: corrections in powers of eta a.

**Scalar map.** One concept alone follows :math:`w' = w + 2hw(1-w)` (euler) or
:math:`w' = w(1 + h(1-w))^2` (gd), :math:`h = \eta a`. There is a function u with
:math:`\operatorname{logit} w + u(w)` advancing by exactly :math:`g = \log(1 + 2h)` or
:math:`2\log(1 + h)` per step (Koenigs' linearization at w = 0). :func:`linearizing_shift` is u
up to :math:`O(h^4)`; the expansion is checked symbolically in the tests.

**Columns.** While concept k passes w, the ratio of a minor entry to its major entry picks up a
factor :math:`\exp(h\,c(w))`; :func:`column_shift` is its first order.

**Euler drift.** Under euler the squared correlation :math:`w_{kj}^2/(w_{kk} w_{jj})` grows by
:math:`(1+\eta(a_k+a_j))^2/((1+2\eta a_k)(1+2\eta a_j))` per step until concept k saturates.
That end is smooth; seen from :math:`t_k` it comes :func:`drift_end` steps late. The second
order of the drift is fitted, not derived: :func:`fitted_drift`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_EULER_GAMMA = 0.5772156649015328606

#: 1 - w is kept above this inside logarithms; u diverges at w = 1, where no time is asked for.
_CLOSEST_TO_ONE = 1e-6


def linearizing_shift(
    w: Floats | float, h: Floats, dynamics: str, log_rest: Floats | float | None = None
) -> Floats:
    """u(w): logit(w) + u(w) advances by g per step of the scalar map, up to h^4.

    Parameters
    ----------
    w : ndarray or float
        Between 0 and 1.
    h : ndarray
        eta times the signal.
    dynamics : {"euler", "gd", "flow"}
    log_rest : ndarray, optional
        log(1 - w), where w is too close to 1 for it to be computed from w.

    Returns
    -------
    ndarray
        Zero for the flow.
    """
    if log_rest is None:
        log_rest = np.log1p(-np.minimum(w, 1 - _CLOSEST_TO_ONE))
    if dynamics == "euler":
        third = 8 * w * w / 3 - 14 * w / 3 + 10 * log_rest / 3
        return np.asarray(h * (2 * log_rest + h * (2 * w - 2 * log_rest + h * third)))
    if dynamics == "gd":
        third = 21 * w * w / 16 - 9 * w / 8 + 0.75 * log_rest
        return np.asarray(h * (1.5 * log_rest + h * (1.25 * w - 0.5 * log_rest + h * third)))
    return np.zeros(np.broadcast_shapes(np.shape(w), np.shape(h)))


def column_shift(
    w: Floats, ratio: Floats, h: Floats, dynamics: str, log_rest: Floats | None = None
) -> Floats:
    """First order in h of the logarithm of w_jk / w_kk while concept k passes w.

    It completes :class:`swingby.theory.odds.Leading`, whose exponents are ratios of growth per
    step.

    Parameters
    ----------
    w : ndarray
        w_kk.
    ratio : ndarray
        a_j / a_k.
    h : ndarray
        eta a_k.
    dynamics : {"euler", "gd", "flow"}
    log_rest : ndarray, optional
        log(1 - w), where w is too close to 1 for it to be computed from w.

    Returns
    -------
    ndarray
        Zero for the flow.
    """
    if log_rest is None:
        log_rest = np.log1p(-np.minimum(w, 1 - _CLOSEST_TO_ONE))
    if dynamics == "euler":
        inner = (17 - ratio) * log_rest - (ratio + 3) * w
    elif dynamics == "gd":
        inner = (9 + ratio) * log_rest - (ratio + 1) * w
    else:
        return np.zeros(np.broadcast_shapes(w.shape, ratio.shape, h.shape))
    return np.asarray(h * (1 - ratio) / 16 * inner)


def digamma(x: Floats) -> Floats:
    """The digamma function for positive arguments, to 1e-13.

    Written out because importing scipy.special costs more than a whole prediction.

    Parameters
    ----------
    x : ndarray
        Positive.

    Returns
    -------
    ndarray
    """
    shifted = np.array(x, dtype=float)
    result = np.zeros_like(shifted)
    for _ in range(6):
        result -= 1.0 / shifted
        shifted = shifted + 1.0
    square = 1.0 / (shifted * shifted)
    tail = 1 / 132 - square * 691 / 32760
    for coefficient in (1 / 240, 1 / 252, 1 / 120, 1 / 12):
        tail = coefficient - square * tail
    tail = square * tail
    return np.asarray(result + np.log(shifted) - 0.5 / shifted - tail)


def drift_end(ratio_i: Floats, ratio_j: Floats, growth: Floats) -> Floats:
    """Steps after t_k at which the euler drift of entry (i, j) through concept k ends.

    The drift acts as long as k is small, weighted by the composite entry curves; the integral
    of that weight is a sum of digamma functions.

    Parameters
    ----------
    ratio_i, ratio_j : ndarray
        a_i / a_k and a_j / a_k, below 1.
    growth : ndarray
        g_kk per step.

    Returns
    -------
    ndarray
        Steps.
    """
    u = (2 - ratio_i - ratio_j) / 4
    # (psi(1 - u) + 2 psi(2 - u) + psi(3 - u))/4, by the recurrence of psi.
    weight = digamma(1 - u) + 0.75 / (1 - u) + 0.25 / (2 - u)
    return np.asarray(-(_EULER_GAMMA + weight) / growth)


def fitted_drift(ratio_i: Floats, ratio_j: Floats, h: Floats) -> Floats:
    """Second order of the euler drift; fitted to simulations to 5e-4 of its size, not derived.

    Parameters
    ----------
    ratio_i, ratio_j : ndarray
        a_i / a_k and a_j / a_k.
    h : ndarray
        eta a_k.

    Returns
    -------
    ndarray
        Added to the logarithm of w_ki w_kj / w_kk.
    """
    total, product = ratio_i + ratio_j, ratio_i * ratio_j
    size = 0.7689 + 0.1554 * product + 0.178 * total - 0.0035 * product * total + 0.0147 * total**2
    return np.asarray(h * h * (1 - ratio_i) * (1 - ratio_j) * size / (1 + h * (1.75 + 1.2 * total)))
