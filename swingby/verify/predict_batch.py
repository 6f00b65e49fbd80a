"""Half-times of many W(0) at once.

The stage law (:mod:`swingby.theory.law.stages`), on many instances side by side in compiled lanes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from swingby.errors import named
from swingby.theory.growth import require_accuracy, require_dynamics
from swingby.theory.law.stages import stage_laws
from swingby.theory.numbers import Booleans, Floats
from swingby.theory.task import SIMTask
from swingby.verify.instances import Instances, read_instances

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class BatchSchedule(Instances):
    """Predicted half-times of many instances. Made by :func:`predict_batch`.

    Attributes
    ----------
    dynamics : str
    crossing : ndarray of shape (..., d)
        Real time, in steps, at which w_kk crosses 1/2; 0 if it starts above, inf if a_k = 0, nan
        if the concept is trapped or cut off.
    error : ndarray of shape (..., d)
        Error bar of each half-time in steps; inf if the law is out of its range.
    trapped, undecided : ndarray of bool, shape (..., d)
        As in :class:`swingby.theory.law.stages.Stages`.
    share : ndarray of shape (..., d)
        Pivots of W(0) relative to the terms that they are computed from, with their signs (under
        euler after the drift). Near 0 the concept is learned late; below 0 it is a runaway.
    blow_up : ndarray of shape (...)
        Step at which a runaway has left the float range (euler only); inf if there is none.
    """

    dynamics: str
    crossing: Floats
    error: Floats
    trapped: Booleans
    undecided: Booleans
    share: Floats
    blow_up: Floats

    @property
    def half_times(self) -> Floats:
        """First whole step at which each w_kk is at least 1/2, shape (..., d)."""
        return np.asarray(np.ceil(self.crossing))

    @property
    def shape(self) -> tuple[int, ...]:
        """Leading axes, those of the instances."""
        return self.crossing.shape[:-1]

    def __repr__(self) -> str:
        concepts = self.crossing.shape[-1]
        finite = int(np.isfinite(self.crossing).sum())
        return (
            f"<BatchSchedule {self.dynamics}: shape {self.shape}, {concepts} concepts; "
            f"{finite} half-times, {int(self.trapped.sum())} trapped, "
            f"{int(self.undecided.sum())} undecided>"
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per instance and concept, as a pandas DataFrame.

        Columns ``instance`` (number in C order), ``concept`` (from 1), ``half_time``, ``crossing``,
        ``error``, ``trapped``, ``undecided``.
        """
        import pandas as pd

        count, d = math.prod(self.shape), self.crossing.shape[-1]
        names = {"half_times": "half_time"} | {
            name: name for name in ("crossing", "error", "trapped", "undecided")
        }
        columns = {column: getattr(self, name).ravel() for name, column in names.items()}
        instance, concept = np.repeat(np.arange(count), d), np.tile(np.arange(1, d + 1), count)
        return pd.DataFrame({"instance": instance, "concept": concept} | columns)


@named
def predict_batch(
    signal: SIMTask | ArrayLike,
    W0: ArrayLike,
    eta: ArrayLike,
    dynamics: str = "gd",
    *,
    omega: Any = None,
    log_scale: ArrayLike | None = None,
    accuracy: str = "full",
) -> BatchSchedule:
    r"""Predict the half-times of many instances; none depends on the others.

    Parameters
    ----------
    signal : SIMTask or array_like of shape (..., d)
        The task, or the signal a of each instance; at least 0, one entry positive. Leading axes
        broadcast.
    W0 : array_like of shape (..., d, d)
        Symmetric initial matrices, positive semidefinite for gd and flow; to be multiplied by
        `omega` or `log_scale` if given.
    eta : array_like of shape (...)
        Step sizes in the clock of (D.2); positive.
    dynamics : {"gd", "euler", "flow"}
    omega : number or text, optional
        W(0) is ``omega * W0`` for all instances; may lie below the float range (``"1e-400"``).
    log_scale : array_like of shape (...), optional
        W(0) is ``exp(log_scale) * W0``, with one scale per instance.
    accuracy : {"full", "leading"}
        ``"leading"`` is the closed law :math:`t_k = -\log \pi_k / g_{kk}`. It is far faster, but
        ignores that stages overlap, and has no error bars (nan).

    Returns
    -------
    BatchSchedule
        ``crossing`` agrees with :func:`swingby.predict` to 1e-3 step, ``trapped`` and
        ``undecided`` exactly. The bits of a result do not depend on the other instances.

    Raises
    ------
    InvalidInput
        For shapes that do not broadcast, and for values that :func:`swingby.predict` refuses, such
        as a W0 that is not positive semidefinite under gd and flow.

    References
    ----------
    The stage law is ours (:mod:`swingby.theory.law.stages`).

    Examples
    --------
    >>> W0 = [[[2e-6, 1e-6], [1e-6, 2e-6]], [[1e-9, 0], [0, 1e-9]]]
    >>> batch = predict_batch([4.0, 1.0], W0, 0.01, "gd")
    >>> batch.half_times.tolist()
    [[167.0, 674.0], [264.0, 1041.0]]
    """
    require_dynamics(dynamics)
    require_accuracy(accuracy)
    flat, shape = read_instances(signal, W0, eta, omega, log_scale, dynamics)
    verdict = stage_laws(**flat, dynamics=dynamics, full=accuracy == "full", bars=True)
    names = ("crossing", "error", "trapped", "undecided", "share", "blow_up")
    arrays = {name: getattr(verdict, name) for name in names}
    fields = {name: array.reshape(shape + array.shape[1:]) for name, array in arrays.items()}
    return BatchSchedule(dynamics=dynamics, **fields)
