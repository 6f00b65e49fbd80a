"""Theorem 4.1: the one-layer model in closed form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput, named
from swingby.theory import numbers
from swingby.theory.task import SIMTask, as_task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray


@named
def one_layer_output(
    task: SIMTask | Sequence[Any], W0: ArrayLike, time: ArrayLike, z: ArrayLike | None = None
) -> NDArray[np.float64]:
    r"""Output of the one-layer model f(W; z) = W z under gradient flow.

    .. math:: f(W(t), z)_k = (1 - e^{-a_k t}) z_k + \sum_i e^{-a_i t} w_{ki}(0) z_i .

    The sum runs over all d directions. (C.21) prints n as its upper end, (4.2) s; stopping at s
    would drop what an input along a free direction contributes.

    Parameters
    ----------
    task : SIMTask or sequence of numbers
        The task, or its signal a.
    W0 : array of shape (d, d)
        Need not be symmetric.
    time : array of shape (n,)
        In eta times steps.
    z : array of shape (d,), optional
        Input; the test point by default.

    Returns
    -------
    ndarray of shape (n, d)

    Raises
    ------
    InvalidInput
        For shapes that do not match or numbers that are not finite.

    References
    ----------
    Theorem 4.1, (C.21).

    Examples
    --------
    >>> from swingby.theory.task import SIMTask
    >>> task = SIMTask.from_signal([4, 1])
    >>> one_layer_output(task, np.zeros((2, 2)), [0.0], z=[1, 1])
    array([[0., 0.]])
    """
    task = as_task(task)
    start = numbers.real_array(W0, "W0")
    if start.shape != (task.dim, task.dim):
        raise InvalidInput(
            "W0", f"shape {start.shape}", f"must have shape ({task.dim}, {task.dim})"
        )
    point = task.test_point if z is None else numbers.real_array(z, "z")
    if point.shape != (task.dim,):
        raise InvalidInput("z", f"shape {point.shape}", f"must have shape ({task.dim},)")
    moments = np.atleast_1d(numbers.real_array(time, "time"))
    decay = np.exp(-np.multiply.outer(moments, task.signal))
    grown = (1 - decay) * point
    return np.asarray(grown + (decay * point) @ start.T)
