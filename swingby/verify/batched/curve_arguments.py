"""What a batch of predicted swings is asked for: checked, broadcast, spread out in pieces."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.simulate.state import SMALLEST_SWING
from swingby.theory import numbers
from swingby.verify.predict_batch import LARGEST, LARGEST_LOG_SCALE, SMALLEST

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Instances that are spread out and followed at a time: about 3 MB at d = 3.
PIECE = 4096
#: How many axes of an argument belong to one instance.
OWN_AXES = {"signal": 1, "W0": 2, "eta": 0, "log_scale": 0, "test_point": 1, "swing": 0}


@dataclass(frozen=True, eq=False)
class Given:
    """Checked arguments that broadcast to one shape.

    Parameters
    ----------
    values : dict from str to ndarray
        By name, as given; names and own axes are those of :data:`OWN_AXES`.
    shape : tuple of int
        Of the batch.
    """

    values: dict[str, Floats]
    shape: tuple[int, ...]

    def pieces(self) -> Iterator[dict[str, Floats]]:
        """Instances in C order, a piece at a time, at least one piece.

        Yields
        ------
        dict from str to ndarray
            The first axis is that of the instances.

        Raises
        ------
        InvalidInput
            For a W0 that is zero, not symmetric or too large, and a signal of zeros.
        """
        d, total = self.values["signal"].shape[-1], math.prod(self.shape)
        for first in range(0, max(total, 1), PIECE):
            count = min(PIECE, total - first)
            at = np.unravel_index(np.arange(first, first + count), self.shape) if self.shape else ()
            piece = {}
            for name, values in self.values.items():
                own = (d,) * OWN_AXES[name]
                taken = np.broadcast_to(values, self.shape + own)[at]
                piece[name] = np.ascontiguousarray(taken).reshape(count, *own)
            self._check(piece, first)
            yield piece

    def _check(self, piece: dict[str, Floats], first: int) -> None:
        from swingby.verify.batched import transfer

        place, reason = transfer.check(piece["signal"], piece["W0"], piece["log_scale"])
        if place < 0:
            return
        where = ", ".join(str(int(one)) for one in np.unravel_index(first + place, self.shape))
        argument, shown, requirement, source = {
            transfer.ZERO_MATRIX: ("W0", "the zero matrix", "must not be zero", "Assumption D.1"),
            transfer.NOT_SYMMETRIC: (
                "W0",
                "this matrix",
                "must be symmetric, as W = U U^T is",
                "(D.2)",
            ),
            transfer.TOO_LARGE: ("W0", "an entry", "must be below 1e300", "(D.2)"),
            transfer.NO_SIGNAL: ("signal", "zeros only", "must have a positive entry", "Sec. 4"),
        }[reason]
        raise InvalidInput(
            f"{argument}[{where}]" if where else argument, shown, requirement, source
        )


def read_arguments(
    signal: Any, W0: Any, eta: Any, test_point: Any, omega: Any, log_scale: Any, swing: Any
) -> Given:
    """Check what does not need a look at every matrix; see `predict_swing_batch` for arguments.

    Returns
    -------
    Given

    Raises
    ------
    InvalidInput
        For shapes that do not broadcast, and for values out of range.
    """
    if omega is not None and log_scale is not None:
        raise InvalidInput("omega and log_scale", "both", "must be given one at a time")
    values = {
        "signal": _array(signal, "signal", "Sec. 4"),
        "W0": _array(W0, "W0", "(D.2)"),
        "eta": _array(eta, "eta", "Assumption D.2"),
        "swing": _array(swing, "swing"),
        "log_scale": np.zeros(()),
    }
    if omega is not None:
        scale = numbers.log_of(numbers.positive(omega, "omega", "Assumption D.4"))
        values["log_scale"] = np.array(scale)
    if log_scale is not None:
        values["log_scale"] = _array(log_scale, "log_scale")
    _require_range(values)
    # The length of a test point changes no ratio of losses, so sqrt(s) is left out.
    point = np.sqrt(values["signal"])
    if test_point is not None:
        point = _array(test_point, "test_point", "Sec. 2.1")
    values["test_point"] = point
    shape = _common_shape(values)
    length = np.abs(point).max(axis=-1, keepdims=True, initial=0.0)
    if test_point is not None and not (length > 0).all():
        raise InvalidInput("test_point", "the zero vector", "must not be zero", "Sec. 2.1")
    values["test_point"] = point / np.where(length > 0, length, 1.0)
    return Given(values, shape)


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


def _require_range(values: dict[str, Floats]) -> None:
    """Refuse what is negative, and what is so large or small that products of two overflow."""
    for argument, source in (("signal", "Sec. 4"), ("eta", "Assumption D.2")):
        here = values[argument]
        wrong = ~((here >= SMALLEST) & (here <= LARGEST))
        if argument == "signal":
            wrong &= here != 0
        if wrong.any():
            value = float(here[wrong].flat[0])
            requirement = f"must lie between {SMALLEST} and {LARGEST}"
            raise InvalidInput(argument, value, requirement, source)
    if not (values["swing"] >= SMALLEST_SWING).all():
        value = float(values["swing"].min())
        raise InvalidInput("swing", value, f"must be at least {SMALLEST_SWING}")
    if (np.abs(values["log_scale"]) > LARGEST_LOG_SCALE).any():
        value = float(np.abs(values["log_scale"]).max())
        raise InvalidInput("log_scale", value, f"must lie within {LARGEST_LOG_SCALE:.0f} of 0")


def _common_shape(values: dict[str, Floats]) -> tuple[int, ...]:
    signals = values["signal"]
    if signals.ndim < 1 or signals.shape[-1] < 1:
        shown = f"shape {signals.shape}"
        raise InvalidInput("signal", shown, "must have shape (..., d), d at least 1", "Sec. 4")
    d = signals.shape[-1]
    for argument, source in (("W0", "(D.2)"), ("test_point", "Sec. 2.1")):
        shape, own = values[argument].shape, (d,) * OWN_AXES[argument]
        if shape[max(len(shape) - len(own), 0) :] != own:
            requirement = f"must have shape (..., {', '.join(map(str, own))})"
            raise InvalidInput(argument, f"shape {shape}", requirement, source)
    leading = [array.shape[: array.ndim - OWN_AXES[name]] for name, array in values.items()]
    try:
        return np.broadcast_shapes(*leading)
    except ValueError:
        shown = ", ".join(str(shape) for shape in leading)
        raise InvalidInput(", ".join(values), shown, "must broadcast") from None
