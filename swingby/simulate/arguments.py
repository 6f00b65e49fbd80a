"""Arguments of many instances at once: read, checked, and spread out a piece at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.report.number_text import scientific_log10
from swingby.theory import numbers
from swingby.theory.initial import LARGEST_ENTRY, asymmetry_text, clear_pivots, symmetry_tolerance
from swingby.theory.numbers import Booleans, Floats
from swingby.theory.task import SIMTask

#: Matrices looked at together.
SLICE = 65536


@dataclass(frozen=True, eq=False)
class BatchArguments:
    """Arrays by name whose leading axes broadcast to a common shape."""

    arrays: dict[str, Floats]
    shape: tuple[int, ...]
    #: Asymmetry that rounding explains in W0, as it was given.
    symmetry: float

    @classmethod
    def of(cls, signal: object, W0: object, eta: object, **more: Floats) -> BatchArguments:
        """Read signal (..., d), or a task, W0 (..., d, d), eta (...); `more` are read already."""
        arrays = {
            "signal": _read_signal(signal),
            "W0": read_array(W0, "W0", "(D.2)"),
            "eta": read_array(eta, "eta", "(D.2)"),
            **more,
        }
        signals, rates = arrays["signal"], arrays["eta"]
        if signals.ndim < 1 or signals.shape[-1] < 1:
            got = f"shape {signals.shape}"
            raise InvalidInput("signal", got, "must have shape (..., d), d at least 1", "Sec. 4")
        own_axes = _own_axes(signals.shape[-1])
        for name, source in (("W0", "(D.2)"), ("test_point", "Sec. 2.1")):
            if name in arrays and arrays[name].shape[-len(own_axes[name]) :] != own_axes[name]:
                requirement = f"must have shape (..., {', '.join(map(str, own_axes[name]))})"
                raise InvalidInput(name, f"shape {arrays[name].shape}", requirement, source)
        if (signals < 0).any():
            raise InvalidInput("signal", float(signals.min()), "must not be negative", "Sec. 4")
        if (rates <= 0).any():
            raise InvalidInput("eta", float(rates.min()), "must be positive", "(D.2)")
        leading = {
            name: array.shape[: array.ndim - len(own_axes.get(name, ()))]
            for name, array in arrays.items()
        }
        try:
            shape = np.broadcast_shapes(*leading.values())
            return cls(arrays, shape, symmetry_tolerance(W0))
        except ValueError:
            varying = {name: str(shape) for name, shape in leading.items() if shape}
            got = ", ".join(varying.values())
            raise InvalidInput(", ".join(varying), got, "must broadcast") from None

    @property
    def total(self) -> int:
        """Number of instances."""
        return math.prod(self.shape)

    def piece(self, first: int, last: int) -> dict[str, Floats]:
        """Instances number `first` to `last` - 1, in the order of a flattened array."""
        own_axes, pieces = _own_axes(self.arrays["signal"].shape[-1]), {}
        chosen: Any = ...
        if last - first < self.total:
            chosen = np.unravel_index(np.arange(first, last), self.shape)
        for name, values in self.arrays.items():
            axes = own_axes.get(name, ())
            if values.shape == (*self.shape, *axes) and values.flags.c_contiguous:
                pieces[name] = values.reshape(self.total, *axes)[first:last]
            else:
                spread = np.broadcast_to(values, (*self.shape, *axes))[chosen]
                pieces[name] = np.ascontiguousarray(spread).reshape(last - first, *axes)
        return pieces

    def check_matrices(self, log_scale: Floats, scale: str) -> None:
        """Refuse the first W0 that is no W(0), and a `scale` that makes it too large."""
        W0 = self.arrays["W0"]
        flat = W0.reshape(-1, *W0.shape[-2:])
        sizes = np.empty(len(flat))
        for first in range(0, len(flat), SLICE):
            matrices = flat[first : first + SLICE]
            sizes[first : first + SLICE] = largest = np.abs(matrices).max(axis=(1, 2))
            apart = np.abs(matrices - matrices.swapaxes(1, 2)).max(axis=(1, 2))
            zero = ("the zero matrix", "must not be zero", "Assumption D.1")
            refuse_first(largest == 0, "W0", W0.shape[:-2], *zero, first=first)
            unlike = apart > self.symmetry * largest
            if unlike.any():
                worst = int(unlike.argmax())
                words = asymmetry_text(float(apart[worst] / largest[worst]))
                refuse_first(unlike, "W0", W0.shape[:-2], *words, first=first)
        total = np.log(sizes).reshape(W0.shape[:-2]) + log_scale
        if (total > math.log(LARGEST_ENTRY)).any():
            if log_scale.any():
                size = scientific_log10(float(total.max()) / math.log(10), 3)
                got = f"an entry of {size}"
                raise InvalidInput(scale, got, "must leave W(0) below 1e300", "(D.2)")
            raise InvalidInput("W0", f"{sizes.max():.3g}", "must be below 1e300", "(D.2)")

    def check_psd(self, dynamics: str) -> None:
        """Refuse the first W0 that is no U U^T, a slice of them at a time."""
        W0 = self.arrays["W0"]
        matrices = W0.reshape(-1, *W0.shape[-2:])
        for first in range(0, len(matrices), SLICE):
            piece = matrices[first : first + SLICE]
            doubtful = np.flatnonzero(~clear_pivots(piece))
            values = np.linalg.eigvalsh(piece[doubtful])
            wrong = np.zeros(len(piece), dtype=np.bool_)
            wrong[doubtful] = values[:, 0] < -1e-12 * np.abs(values).max(axis=1, initial=0.0)
            requirement = f"must be positive semidefinite for dynamics={dynamics!r}"
            words = ("this matrix", requirement, "(D.1)")
            refuse_first(wrong, "W0", W0.shape[:-2], *words, first=first)


def _own_axes(d: int) -> dict[str, tuple[int, ...]]:
    """Axes of each argument that belong to an instance; other arguments have none."""
    return {"signal": (d,), "W0": (d, d), "test_point": (d,), "omega": (2,)}


def _read_signal(signal: object) -> Floats:
    """Signals (..., d), or that of a task."""
    return signal.signal if isinstance(signal, SIMTask) else read_array(signal, "signal", "Sec. 4")


def read_test_point(test_point: object, signal: object, source: str) -> dict[str, Floats]:
    """The argument ``test_point`` (..., d), by default that of a task, or nothing."""
    if test_point is None:
        return {"test_point": signal.test_point} if isinstance(signal, SIMTask) else {}
    return {"test_point": read_array(test_point, "test_point", source)}


def read_array(values: object, argument: str, source: str = "") -> Floats:
    """A finite float64 array, which may be empty; not copied where it is of that type already."""
    if values is None:
        raise InvalidInput(argument, values, "must be an array of real numbers", source)
    if type(values) is np.ndarray:
        if values.size == 0 and values.dtype.kind in "iuf":
            return np.array(values, dtype=np.float64)
        if values.dtype == np.float64 and np.isfinite(values).all():
            return values
    return numbers.real_array(values, argument, source)


def refuse_first(
    wrong: Booleans, argument: str, shape: tuple[int, ...], *words: str, first: int = 0
) -> None:
    """Refuse the first instance that is wrong, by its place; they begin with number `first`."""
    if wrong.any():
        position = np.unravel_index(first + int(wrong.argmax()), shape)
        index = ", ".join(str(int(coordinate)) for coordinate in position)
        raise InvalidInput(f"{argument}[{index}]" if index else argument, *words)
