"""What a batch is asked to run, checked and broadcast."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swingby.errors import InvalidInput
from swingby.simulate.missing import lasting, missing_concepts
from swingby.simulate.state import Booleans, Floats, Integers, binary
from swingby.theory import numbers
from swingby.theory.initial import LARGEST_ENTRY, Initial

#: Matrices looked at together.
SLICE = 65536


class Batch(NamedTuple):
    """Runs, one after the other, with W(0) = mantissa 2^exponent W0.

    signal (m, d), W0 (m, d, d), eta (m,), mantissa (m,), exponent (m,), point (m, d).
    """

    signal: Floats
    W0: Floats
    eta: Floats
    mantissa: Floats
    exponent: Integers
    point: Floats

    def initial(self, run: int) -> Initial:
        """W(0) of one run.

        Parameters
        ----------
        run : int

        Returns
        -------
        Initial
        """
        W0 = self.W0[run]
        scale = Fraction(float(self.mantissa[run])) * Fraction(2) ** int(self.exponent[run])
        return Initial(W0 / 2 + W0.T / 2, scale)


@dataclass(frozen=True, eq=False)
class Broadcast:
    """Arguments that broadcast to one shape, spread out only a piece at a time.

    Parameters
    ----------
    signal : ndarray of shape (..., d)
    W0 : ndarray of shape (..., d, d)
    eta : ndarray of shape (...)
    mantissa, exponent : ndarray of shape (...)
        W(0) is ``mantissa 2^exponent W0``.
    point : ndarray of shape (..., d)
    shape : tuple of int
        Of the batch.
    """

    signal: Floats
    W0: Floats
    eta: Floats
    mantissa: Floats
    exponent: Integers
    point: Floats
    shape: tuple[int, ...]

    @property
    def total(self) -> int:
        """Number of runs."""
        return math.prod(self.shape)

    def piece(self, first: int, last: int) -> Batch:
        """Runs number `first` to `last` - 1, in the order of a flattened array.

        Parameters
        ----------
        first, last : int

        Returns
        -------
        Batch
        """
        d = self.signal.shape[-1]
        at = np.unravel_index(np.arange(first, last), self.shape) if self.shape else ()
        rows = last - first

        def spread(values: NDArray[Any], *own: int) -> NDArray[Any]:
            leading = values.shape[: values.ndim - len(own)]
            if leading == self.shape and values.flags.c_contiguous:
                return values.reshape(self.total, *own)[first:last]
            taken = np.broadcast_to(values, (*self.shape, *own))[at]
            return np.ascontiguousarray(taken.reshape(rows, *own))

        return Batch(
            spread(self.signal, d),
            spread(self.W0, d, d),
            spread(self.eta),
            spread(self.mantissa),
            spread(self.exponent),
            spread(self.point, d),
        )


def broadcast(
    signal: ArrayLike,
    W0: ArrayLike,
    eta: ArrayLike,
    dynamics: str,
    omega: Any = None,
    test_point: ArrayLike | None = None,
) -> Broadcast:
    """Check and broadcast the arguments of a batch.

    Parameters
    ----------
    signal : array_like of shape (..., d)
    W0 : array_like of shape (..., d, d)
    eta : array_like of shape (...)
    dynamics : {"euler", "gd", "flow"}
    omega : number, text, or array of them of shape (...), optional
    test_point : array_like of shape (..., d), optional

    Returns
    -------
    Broadcast

    Raises
    ------
    InvalidInput
        For shapes that do not broadcast and values out of range.
    """
    signals = _floats(signal, "signal", "Sec. 4")
    matrices = _floats(W0, "W0", "(D.2)")
    rates = _floats(eta, "eta", "(D.2)")
    if signals.ndim < 1:
        raise InvalidInput("signal", signal, "must have shape (..., d)", "Sec. 4")
    d = signals.shape[-1]
    if matrices.ndim < 2 or matrices.shape[-2:] != (d, d):
        raise InvalidInput("W0", f"shape {matrices.shape}", f"must have shape (..., {d}, {d})")
    points = np.zeros(d) if test_point is None else _floats(test_point, "test_point", "Sec. 4")
    if points.shape[-1:] != (d,):
        requirement = f"must have shape (..., {d})"
        raise InvalidInput("test_point", f"shape {points.shape}", requirement)
    if signals.size and signals.min() < 0:
        raise InvalidInput("signal", signals.min(), "must not be negative", "Sec. 4")
    if rates.size and rates.min() <= 0:
        raise InvalidInput("eta", rates.min(), "must be positive", "(D.2)")
    mantissa, exponent = _scales(omega)
    leading = (signals.shape[:-1], matrices.shape[:-2], rates.shape)
    try:
        shape = np.broadcast_shapes(*leading, mantissa.shape, points.shape[:-1])
    except ValueError:
        shapes = ", ".join(map(str, (*leading, mantissa.shape, points.shape[:-1])))
        raise InvalidInput("signal, W0, eta, omega", shapes, "must broadcast") from None
    if math.prod(shape):
        _check_matrices(matrices.reshape(-1, d, d), dynamics)
        _check_size(matrices, mantissa, exponent)
    return Broadcast(signals, matrices, rates, mantissa, exponent, points, shape)


def _floats(values: ArrayLike, argument: str, source: str) -> Floats:
    """Finite floats; contiguous, and not copied where they are that already."""
    ready = isinstance(values, np.ndarray) and values.dtype == np.float64 and values.size > 0
    if ready and np.isfinite(values).all():
        return np.asarray(values, order="C")
    return np.asarray(numbers.real_array(values, argument, source), order="C")


def _scales(omega: Any) -> tuple[Floats, Integers]:
    """Mantissas and binary exponents of the scales."""
    if omega is None:
        return np.ones(()), np.zeros((), dtype=np.int64)
    given = np.asarray(omega) if isinstance(omega, np.ndarray) else np.array(omega, dtype=object)
    if given.dtype == np.float64 and given.size:
        if not (np.isfinite(given).all() and given.min() > 0):
            raise InvalidInput("omega", given.min(), "must be finite and positive", "(D.2)")
        mantissa, exponent = np.frexp(given)
        return mantissa, exponent.astype(np.int64)
    known: dict[Any, tuple[float, int]] = {}
    found = []
    for value in given.reshape(-1).tolist():
        key = (type(value), value)
        if key not in known:
            known[key] = binary(numbers.positive(value, "omega", "Assumption D.1"))
        found.append(known[key])
    parts = np.array(found, dtype=object).reshape(*given.shape, 2)
    return parts[..., 0].astype(np.float64), parts[..., 1].astype(np.int64)


def _check_matrices(matrices: Floats, dynamics: str) -> None:
    # numba takes 0.4 s to import, so only a run pays for it.
    from swingby.simulate.lanes import prepare

    place, reason, doubtful = prepare.check(matrices, dynamics != "euler")
    if reason == prepare.NOT_SYMMETRIC:
        raise InvalidInput(
            f"W0[{place}]", "a matrix", "must be symmetric, as W = U U^T is", "(D.2)"
        )
    if reason == prepare.ZERO_MATRIX:
        raise InvalidInput(f"W0[{place}]", "the zero matrix", "must not be zero", "Assumption D.1")
    if reason == prepare.TOO_LARGE:
        largest = np.abs(matrices[place]).max()
        raise InvalidInput(f"W0[{place}]", f"{largest:.3g}", "must be below 1e300", "(D.2)")
    which = np.flatnonzero(doubtful)
    for first in range(0, len(which), SLICE):
        part = which[first : first + SLICE]
        values = np.linalg.eigvalsh(matrices[part])
        wrong = values[:, 0] < -1e-12 * np.abs(values).max(axis=1)
        if wrong.any():
            raise InvalidInput(
                f"W0[{part[int(np.argmax(wrong))]}]",
                "this matrix",
                f"must be positive semidefinite for dynamics={dynamics!r}",
                "(D.1)",
            )


def _check_size(matrices: Floats, mantissa: Floats, exponent: Integers) -> None:
    if (exponent <= 1).all():
        return
    with np.errstate(over="ignore"):
        scales = np.ldexp(mantissa, np.minimum(exponent, 2000).astype(np.int32))
        sizes = np.abs(matrices).max(axis=(-2, -1)) * scales
    if (sizes > float(LARGEST_ENTRY)).any():
        raise InvalidInput("omega", f"{sizes.max():.3g}", "omega W0 must be below 1e300", "(D.2)")


def missing_of(batch: Batch, unclear: Booleans, dynamics: str) -> Booleans:
    """Concepts that W(0) has no component for and that the dynamics do not create.

    Parameters
    ----------
    batch : Batch
    unclear : ndarray of bool, shape (m,)
        Runs for which floats leave a doubt; exact rationals decide them, one by one.
    dynamics : {"euler", "gd", "flow"}

    Returns
    -------
    ndarray of bool, shape (m, d)
    """
    missing = np.zeros(batch.signal.shape, dtype=np.bool_)
    for run in np.flatnonzero(unclear):
        initial = batch.initial(int(run))
        found = missing_concepts(initial, batch.signal[run])
        missing[run] = lasting(found, initial.matrix, dynamics)
    return missing
