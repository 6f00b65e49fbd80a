"""How fast an entry grows or decays while the dynamics are linear, per step.

Near the fixed point in which the concepts of a set S are learned and the others, R, are not
(W = 1 on S, 0 on R), the maps of INTERFACE.md are linear in the distance from it, and every
entry moves on its own:

========================  ================================  ===========================
entry                     one step of euler or gd           one step of flow
========================  ================================  ===========================
i, j both in R, euler     ``1 + eta (a_i + a_j)``           ``exp(eta (a_i + a_j))``
i, j both in R, gd        ``(1 + eta a_i)(1 + eta a_j)``    the same
i in S, j in R            ``1 - eta (a_i - a_j)/2``         ``exp(-eta (a_i - a_j)/2)``
i, j both in S            ``1 - eta (a_i + a_j)``           ``exp(-eta (a_i + a_j))``
========================  ================================  ===========================

The logarithms are kept as the unevaluated sum of two floats: a jump over n steps multiplies
them by n, and n times the rounding of a single float would be visible in W.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Rows of the table: which of the two concepts of an entry are learned.
NEITHER, FIRST, BOTH = 0, 1, 2
#: The row whose first number says which map the table is for, and what it says.
KIND = 3
EULER, GD, FLOW = 0, 1, 2
#: Stands for "decays at once": the logarithm of a factor that is zero or negative.
AT_ONCE = -1e6


def growth_table(signal: Array, eta: float | Array, dynamics: str) -> Array:
    """Binary logarithm of the factor by which each entry is multiplied in one linear step.

    Parameters
    ----------
    signal : ndarray of shape (..., d)
        The signal a.
    eta : float or ndarray of shape (...)
        Step size.
    dynamics : {"euler", "gd", "flow"}

    Returns
    -------
    ndarray of shape (..., 2, 4, d, d)
        The sum over the first new axis is the logarithm; the second is :data:`NEITHER`,
        :data:`FIRST` (row concept learned, column concept not) or :data:`BOTH`. A factor of zero
        or less is entered as :data:`AT_ONCE`. Row :data:`KIND` begins with the map, :data:`EULER`,
        :data:`GD` or :data:`FLOW`, and is zero otherwise.

    References
    ----------
    (D.3), linearised.

    Examples
    --------
    >>> table = growth_table(np.array([3.0, 1.0]), 1.0, "euler")
    >>> table.sum(axis=0)[NEITHER, 0].round(3).tolist()
    [2.807, 2.322]
    """
    # Compiled: a table costs as much as some hundred steps, and most runs need one.
    from swingby.simulate.growth_kernels import fill_tables

    given = np.ascontiguousarray(signal, dtype=np.float64)
    shape, d = given.shape[:-1], given.shape[-1]
    signals = given.reshape(-1, d)
    steps = np.empty(shape)
    steps[...] = eta
    tables = np.empty((len(signals), 2, 4, d, d))
    kind = {"euler": EULER, "gd": GD, "flow": FLOW}[dynamics]
    fill_tables(signals, steps.reshape(-1), kind, tables)
    return tables.reshape(*shape, 2, 4, d, d)
