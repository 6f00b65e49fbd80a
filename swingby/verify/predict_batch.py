"""predict_batch: the half-times of many W(0) at once.

The stage law (:mod:`swingby.theory.law.stages`), on many instances side by side in compiled lanes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.theory import numbers
from swingby.theory.growth import require_dynamics
from swingby.theory.initial import SYMMETRY_TOLERANCE
from swingby.theory.law.many import stage_laws

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

#: Signals and step sizes lie between these, so that their products stay in the float range.
SMALLEST, LARGEST = 1e-150, 1e150
#: Logarithms of scales lie within this, as those of texts do.
LARGEST_LOG_SCALE = numbers.LARGEST_EXPONENT * math.log(10)


class Instances(numbers.ReadOnly):
    """Results of many instances, in arrays with their axes in front."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Leading axes: those of the instances."""
        raise NotImplementedError

    def __len__(self) -> int:
        """Length of the first leading axis."""
        if not self.shape:
            raise TypeError("one instance has no length")
        return self.shape[0]


@dataclass(frozen=True, eq=False, repr=False)
class BatchSchedule(Instances):
    """Predicted half-times of many instances. Made by :func:`predict_batch`.

    Attributes
    ----------
    dynamics : str
    crossing : ndarray of shape (..., d)
        Real time, in steps, at which w_kk crosses 1/2, 0 if it starts there; else inf where
        a_k = 0, nan where trapped or cut off.
    error : ndarray of shape (..., d)
        Error bar of each half-time in steps; inf where the law is out of its range.
    trapped, undecided : ndarray of bool, shape (..., d)
        As in :class:`swingby.theory.law.stages.Stages`.
    share : ndarray of shape (..., d)
        Pivots of W(0) relative to the terms that they are formed from, signed (under euler after
        the drift): near 0 a concept is learned late, below 0 it runs away.
    blow_up : ndarray of shape (...)
        Step at which a negative pivot has run out of the float range (euler only); inf if none
        does.
    """

    dynamics: str
    crossing: Floats
    error: Floats
    trapped: NDArray[np.bool_]
    undecided: NDArray[np.bool_]
    share: Floats
    blow_up: Floats

    @property
    def half_times(self) -> Floats:
        """First whole step at which each w_kk is at least 1/2, shape (..., d)."""
        return np.asarray(np.ceil(self.crossing))

    @property
    def shape(self) -> tuple[int, ...]:
        """Leading axes: those of the instances."""
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
        columns = {shown: getattr(self, name).ravel() for name, shown in names.items()}
        instance, concept = np.repeat(np.arange(count), d), np.tile(np.arange(1, d + 1), count)
        return pd.DataFrame({"instance": instance, "concept": concept} | columns)


def predict_batch(
    signal: ArrayLike,
    W0: ArrayLike,
    eta: ArrayLike,
    dynamics: str = "euler",
    *,
    omega: Any = None,
    log_scale: ArrayLike | None = None,
    accuracy: str = "full",
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
    accuracy : {"full", "leading"}
        ``"leading"`` is the closed law :math:`t_k = -\log \pi_k / g_{kk}`, far faster: it leaves
        out the overlap of the stages, of which the error bars then do not know.

    Returns
    -------
    BatchSchedule
        ``crossing`` agrees with :func:`swingby.predict` to 1e-3 step, traps and doubts exactly. A
        result does not depend on the other instances, not in a bit.

    Raises
    ------
    InvalidInput
        For what does not broadcast or :func:`swingby.predict` refuses; negative pivots are traps.

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
    if accuracy not in ("full", "leading"):
        raise InvalidInput("accuracy", accuracy, "must be full or leading")
    flat, shape = read_instances(signal, W0, eta, omega, log_scale)
    verdict, share = stage_laws(**flat, dynamics=dynamics, full=accuracy == "full")
    d = share.shape[-1]
    by_concept = ("crossing", "error", "trapped", "undecided")
    found = {name: getattr(verdict, name).reshape(*shape, d) for name in by_concept}
    share, blow_up = share.reshape(*shape, d), verdict.blow_up.reshape(shape)
    return BatchSchedule(dynamics=dynamics, share=share, blow_up=blow_up, **found)


#: How many axes of an argument belong to one instance.
OWN_AXES = {"signal": 1, "W0": 2, "eta": 0, "log_scale": 0, "test_point": 1, "swing": 0}


def read_instances(
    signal: object,
    W0: object,
    eta: object,
    omega: Any,
    log_scale: object,
    more: Mapping[str, Floats] | None = None,
) -> tuple[dict[str, Floats], tuple[int, ...]]:
    """Arrays by name, each checked, with the instances along one axis; and their leading axes."""
    if omega is not None and log_scale is not None:
        raise InvalidInput("omega and log_scale", "both", "must be given one at a time")
    values = {
        "signal": read_array(signal, "signal", "Sec. 4"),
        "W0": read_array(W0, "W0", "(D.2)"),
        "eta": read_array(eta, "eta", "Assumption D.2"),
        "log_scale": np.zeros(()),
    }
    if omega is not None:
        scale = numbers.log_of(numbers.positive(omega, "omega", "Assumption D.4"))
        values["log_scale"] = np.array(scale)
    if log_scale is not None:
        values["log_scale"] = scales = read_array(log_scale, "log_scale")
        if (np.abs(scales) > LARGEST_LOG_SCALE).any():
            requirement = f"must lie within {LARGEST_LOG_SCALE:.0f} of 0"
            raise InvalidInput("log_scale", float(np.abs(scales).max()), requirement)
    _require_range(values["signal"], "signal", zero=True)
    _require_range(values["eta"], "eta", zero=False)
    values |= more or {}
    shape = _common_shape(values)
    count, d, flat = math.prod(shape), values["signal"].shape[-1], {}
    for name, array in values.items():
        own = (d,) * OWN_AXES[name]
        whole = np.broadcast_to(array, shape + own)
        flat[name] = np.ascontiguousarray(whole).reshape(count, *own)
    _check_instances(flat, shape)
    return flat, shape


def read_array(values: object, argument: str, source: str = "") -> Floats:
    """A finite float64 array, which may be empty. Not copied where it is one already."""
    if values is None:
        raise InvalidInput(argument, values, "must be an array of real numbers", source)
    if type(values) is np.ndarray:
        if values.size == 0 and values.dtype.kind in "iuf":
            return np.array(values, dtype=np.float64)
        if values.dtype == np.float64 and np.isfinite(values).all():
            return values
    return numbers.real_array(values, argument, source)


def _common_shape(values: dict[str, Floats]) -> tuple[int, ...]:
    """The leading axes that all arguments broadcast to."""
    signals = values["signal"]
    if signals.ndim < 1 or signals.shape[-1] < 1:
        shown = f"shape {signals.shape}"
        raise InvalidInput("signal", shown, "must have shape (..., d), d at least 1", "Sec. 4")
    d = signals.shape[-1]
    for argument, source in (("W0", "(D.2)"), ("test_point", "Sec. 2.1")):
        own = (d,) * OWN_AXES[argument]
        if argument in values and values[argument].shape[-len(own) :] != own:
            requirement = f"must have shape (..., {', '.join(map(str, own))})"
            shown = f"shape {values[argument].shape}"
            raise InvalidInput(argument, shown, requirement, source)
    leading = [array.shape[: array.ndim - OWN_AXES[name]] for name, array in values.items()]
    try:
        return np.broadcast_shapes(*leading)
    except ValueError:
        shown = ", ".join(str(shape) for shape in leading)
        raise InvalidInput(", ".join(values), shown, "must broadcast") from None


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


def _check_instances(flat: dict[str, Floats], shape: tuple[int, ...]) -> None:
    """Refuse the first instance whose matrix or signal :func:`swingby.predict` refuses."""
    W0, signal = flat["W0"], flat["signal"]
    largest = np.abs(W0).max(axis=(1, 2), initial=0.0)
    apart = np.abs(W0 - W0.swapaxes(1, 2)).max(axis=(1, 2), initial=0.0)
    with np.errstate(divide="ignore"):
        sizes = np.log(largest) + flat["log_scale"]
    crooked, nowhere = apart > SYMMETRY_TOLERANCE * largest, signal.max(axis=1, initial=0.0) == 0
    huge, positive = sizes > 300 * math.log(10), "must have a positive entry"
    refused = (
        (largest == 0, "W0", "the zero matrix", "must not be zero", "Assumption D.1"),
        (crooked, "W0", "this matrix", "must be symmetric, as W = U U^T is", "(D.2)"),
        (nowhere, "signal", "zeros only", positive, "Sec. 4"),
        (huge, "W0", "an entry", "must be below 1e300", "(D.2)"),
    )
    for wrong, argument, shown, requirement, source in refused:
        if wrong.any():
            where = ", ".join(str(int(i)) for i in np.unravel_index(int(wrong.argmax()), shape))
            named = f"{argument}[{where}]" if where else argument
            raise InvalidInput(named, shown, requirement, source)
