"""predict_batch: the half-times of many W(0) at once.

The sharp stage-time law of :mod:`swingby.theory.law.stages`, on many instances side by side in
compiled code, a few hundred times as fast as one by one. Instances that are special in some way
(pivots of pure rounding, entries near one half, coarse steps, scales far apart) are given to the
scalar law, which takes about a millisecond for each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.theory import numbers
from swingby.theory.growth import require_dynamics

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

#: Signals and step sizes lie between these, so that their products stay in the float range.
SMALLEST, LARGEST = 1e-150, 1e150
#: Logarithms of scales lie within this, as those of texts do.
LARGEST_LOG_SCALE = numbers.LARGEST_EXPONENT * math.log(10)


@dataclass(frozen=True, eq=False, repr=False)
class BatchSchedule:
    """Predicted half-times of many instances. Made by :func:`predict_batch`.

    Attributes
    ----------
    dynamics : str
    crossing : ndarray of shape (..., d)
        Real time, in steps, at which w_kk crosses 1/2; inf where a_k = 0, nan where trapped or
        cut off.
    error : ndarray of shape (..., d)
        Error bar of each half-time in steps; inf where the law is out of its range.
    trapped, undecided : ndarray of bool, shape (..., d)
        As in :class:`swingby.theory.law.stages.Stages`.
    share : ndarray of shape (..., d)
        Pivots of W(0) relative to the terms that they are formed from, signed (under euler after
        the drift): near 0 a concept is learned late, below 0 it runs away.
    scalar : ndarray of bool, shape (...)
        Which instances were given to the scalar law.
    """

    dynamics: str
    crossing: Floats
    error: Floats
    trapped: NDArray[np.bool_]
    undecided: NDArray[np.bool_]
    share: Floats
    scalar: NDArray[np.bool_]

    @property
    def half_times(self) -> Floats:
        """First whole step at which each w_kk is at least 1/2, shape (..., d)."""
        return np.asarray(np.ceil(self.crossing))

    @property
    def shape(self) -> tuple[int, ...]:
        """Leading axes: those of the instances."""
        return self.scalar.shape

    def __len__(self) -> int:
        """Length of the first leading axis."""
        if not self.shape:
            raise TypeError("one instance has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        concepts = self.crossing.shape[-1]
        finite = int(np.isfinite(self.crossing).sum())
        return (
            f"<BatchSchedule {self.dynamics}: shape {self.shape}, {concepts} concepts; "
            f"{finite} half-times, {int(self.trapped.sum())} trapped, "
            f"{int(self.undecided.sum())} undecided>"
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per instance and concept.

        Returns
        -------
        pandas.DataFrame
            Columns ``instance`` (number in C order), ``concept`` (from 1), ``half_time``,
            ``crossing``, ``error``, ``trapped``, ``undecided``.
        """
        import pandas as pd

        count, d = self.scalar.size, self.crossing.shape[-1]
        return pd.DataFrame(
            {
                "instance": np.repeat(np.arange(count), d),
                "concept": np.tile(np.arange(1, d + 1), count),
                "half_time": self.half_times.ravel(),
                "crossing": self.crossing.ravel(),
                "error": self.error.ravel(),
                "trapped": self.trapped.ravel(),
                "undecided": self.undecided.ravel(),
            }
        )


def predict_batch(
    signal: ArrayLike,
    W0: ArrayLike,
    eta: ArrayLike,
    dynamics: str = "euler",
    *,
    omega: Any = None,
    log_scale: ArrayLike | None = None,
    correction: str = "quadrature",
) -> BatchSchedule:
    r"""Half-times of many instances; each is what the law gives for it alone.

    Parameters
    ----------
    signal : array_like of shape (..., d)
        The signal a of each instance; at least 0, one entry positive. Leading axes broadcast.
    W0 : array_like of shape (..., d, d)
        Symmetric initial matrices, or what `omega` or `log_scale` multiplies.
    eta : array_like of shape (...)
        Step sizes in the clock of (D.2); positive.
    dynamics : {"euler", "gd", "flow"}
    omega : number or text, optional
        W(0) is ``omega * W0`` for all instances; may lie below the float range (``"1e-400"``).
    log_scale : array_like of shape (...), optional
        W(0) is ``exp(log_scale) * W0``, for every instance its own.
    correction : {"quadrature", "leading"}
        ``"leading"`` leaves out the overlap of stages, ten times as fast. Error bars then do not
        know of it.

    Returns
    -------
    BatchSchedule
        ``crossing`` agrees with the scalar law to a relative 1e-9, error bars to 1e-6, and all
        else exactly. A result does not depend on the other instances, not in a bit.

    Raises
    ------
    InvalidInput
        For shapes that do not broadcast, and for values that :func:`swingby.predict` refuses.

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
    if correction not in ("quadrature", "leading"):
        raise InvalidInput("correction", correction, "must be quadrature or leading")
    if omega is not None and log_scale is not None:
        raise InvalidInput("omega and log_scale", "both", "must be given one at a time")
    signals = _array(signal, "signal", "Sec. 4")
    matrices = _array(W0, "W0", "(D.2)")
    steps = _array(eta, "eta", "Assumption D.2")
    scales = np.zeros(())
    if omega is not None:
        scales = np.array(numbers.log_of(numbers.positive(omega, "omega", "Assumption D.4")))
    if log_scale is not None:
        scales = _array(log_scale, "log_scale")
        if (np.abs(scales) > LARGEST_LOG_SCALE).any():
            requirement = f"must lie within {LARGEST_LOG_SCALE:.0f} of 0"
            raise InvalidInput("log_scale", float(np.abs(scales).max()), requirement)
    shape, d = _common_shape(signals, matrices, steps, scales)
    _require_range(signals, "signal", zero=True)
    _require_range(steps, "eta", zero=False)
    count = math.prod(shape)
    flat = (
        np.ascontiguousarray(np.broadcast_to(signals, (*shape, d))).reshape(count, d),
        np.ascontiguousarray(np.broadcast_to(matrices, (*shape, d, d))).reshape(count, d, d),
        np.ascontiguousarray(np.broadcast_to(steps, shape)).reshape(count),
        np.ascontiguousarray(np.broadcast_to(scales, shape)).reshape(count),
    )
    # numba takes 0.4 s to import, so only a call pays for it.
    from swingby.verify.batched import transfer
    from swingby.verify.batched.law import batched_law

    place, reason = transfer.check(flat[0], flat[1], flat[3])
    if place >= 0:
        _refuse(reason, np.unravel_index(place, shape))
    found = batched_law(*flat, dynamics, leading=correction == "leading")
    return BatchSchedule(
        dynamics=dynamics,
        crossing=found.crossing.reshape(*shape, d),
        error=found.error.reshape(*shape, d),
        trapped=found.trapped.reshape(*shape, d),
        undecided=found.undecided.reshape(*shape, d),
        share=found.share.reshape(*shape, d),
        scalar=found.scalar.reshape(shape),
    )


def _array(values: object, argument: str, source: str = "") -> Floats:
    """A finite float64 array, which may be empty. Not copied where it is one already."""
    if values is None:
        raise InvalidInput(argument, values, "must be an array of real numbers", source)
    if isinstance(values, np.ndarray):
        if values.size == 0 and values.dtype.kind in "iuf":
            return np.array(values, dtype=np.float64)
        if values.dtype == np.float64 and np.isfinite(values).all():
            return values
    return numbers.real_array(values, argument, source)


def _common_shape(
    signals: Floats, matrices: Floats, steps: Floats, scales: Floats
) -> tuple[tuple[int, ...], int]:
    if signals.ndim < 1 or signals.shape[-1] < 1:
        shown = f"shape {signals.shape}"
        raise InvalidInput("signal", shown, "must have shape (..., d), d at least 1", "Sec. 4")
    d = signals.shape[-1]
    if matrices.ndim < 2 or matrices.shape[-2:] != (d, d):
        requirement = f"must have shape (..., {d}, {d})"
        raise InvalidInput("W0", f"shape {matrices.shape}", requirement, "(D.2)")
    leading = (signals.shape[:-1], matrices.shape[:-2], steps.shape, scales.shape)
    try:
        return np.broadcast_shapes(*leading), d
    except ValueError:
        shown = ", ".join(str(shape) for shape in leading)
        raise InvalidInput("signal, W0, eta, log_scale", shown, "must broadcast") from None


def _require_range(values: Floats, argument: str, *, zero: bool) -> None:
    """Refuse what is negative, and what is so large or small that products of two overflow."""
    wrong = ~((values >= SMALLEST) & (values <= LARGEST))
    if zero:
        wrong &= values != 0
    if wrong.any():
        value = float(values[wrong].flat[0])
        sign = "must not be negative" if zero else "must be positive"
        requirement = f"must lie between {SMALLEST} and {LARGEST}" if value > 0 else sign
        raise InvalidInput(argument, value, requirement, "Sec. 4" if zero else "Assumption D.2")


def _refuse(reason: int, place: tuple[Any, ...]) -> None:
    from swingby.verify.batched import transfer

    where = ", ".join(str(int(index)) for index in place)
    argument = f"W0[{where}]" if where else "W0"
    if reason == transfer.ZERO_MATRIX:
        raise InvalidInput(argument, "the zero matrix", "must not be zero", "Assumption D.1")
    if reason == transfer.NOT_SYMMETRIC:
        raise InvalidInput(argument, "this matrix", "must be symmetric, as W = U U^T is", "(D.2)")
    if reason == transfer.TOO_LARGE:
        raise InvalidInput(argument, "an entry", "must be below 1e300", "(D.2)")
    argument = f"signal[{where}]" if where else "signal"
    raise InvalidInput(argument, "zeros only", "must have a positive entry", "Sec. 4")
