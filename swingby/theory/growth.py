r"""How fast a small entry grows: the linear part of the three dynamics.

While W is small, (D.2) is :math:`w_{ij} \mapsto (1 + \eta(a_i + a_j)) w_{ij}`; gradient descent
on U is :math:`w_{ij} \mapsto (1 + \eta a_i)(1 + \eta a_j) w_{ij}`; the flow is exponential.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from swingby.errors import InvalidInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

DYNAMICS = ("euler", "gd", "flow")


def require_dynamics(dynamics: object) -> None:
    """Refuse what is not the name of a dynamics.

    Parameters
    ----------
    dynamics : object

    Raises
    ------
    InvalidInput
        Unless it is one of ``euler``, ``gd`` and ``flow``.
    """
    if dynamics not in DYNAMICS:
        raise InvalidInput("dynamics", dynamics, f"must be one of {', '.join(DYNAMICS)}", "(D.2)")


def growth_rates(
    signal: NDArray[np.float64], eta: float | NDArray[np.float64], dynamics: str
) -> NDArray[np.float64]:
    r"""Growth :math:`g_{ij}` of the logarithm of entry (i, j) per step while W is small.

    ``euler``: :math:`\log(1 + \eta(a_i + a_j))`; ``gd``:
    :math:`\log(1 + \eta a_i) + \log(1 + \eta a_j)`; ``flow``: :math:`\eta(a_i + a_j)`.

    Parameters
    ----------
    signal : ndarray of shape (d, ...)
        a, per unit of eta times steps.
    eta : float or ndarray of shape (...)
        Step size.
    dynamics : {"euler", "gd", "flow"}

    Returns
    -------
    ndarray of shape (d, d, ...)
        Per step.

    Raises
    ------
    InvalidInput
        For another name of a dynamics.

    References
    ----------
    (D.2), (D.4).

    Examples
    --------
    >>> growth_rates(np.array([4.0, 1.0]), 0.5, "flow")
    array([[4. , 2.5],
           [2.5, 1. ]])
    """
    require_dynamics(dynamics)
    if dynamics == "euler":
        return np.log1p(eta * (signal[:, None] + signal[None, :]))
    if dynamics == "gd":
        single = np.log1p(eta * signal)
        return single[:, None] + single[None, :]
    return eta * (signal[:, None] + signal[None, :])
