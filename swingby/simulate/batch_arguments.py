"""What a batch is asked to run, checked and broadcast."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from swingby.errors import InvalidInput
from swingby.simulate.missing import CLEARLY_POSITIVE, lasting, missing_concepts
from swingby.simulate.state import Booleans, Floats
from swingby.theory import numbers
from swingby.theory.initial import LARGEST_ENTRY, SYMMETRY_TOLERANCE, Initial

#: Matrices looked at together.
SLICE = 65536


class Batch(NamedTuple):
    """Runs, one after the other: signal (m, d), W0 (m, d, d), eta (m,)."""

    signal: Floats
    W0: Floats
    eta: Floats


@dataclass(frozen=True, eq=False)
class Broadcast:
    """Arguments that broadcast to one shape, spread out only a piece at a time.

    Parameters
    ----------
    signal : ndarray of shape (..., d)
    W0 : ndarray of shape (..., d, d)
    eta : ndarray of shape (...)
    shape : tuple of int
        Of the batch.
    """

    signal: Floats
    W0: Floats
    eta: Floats
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

        def spread(values: Floats, *own: int) -> Floats:
            taken = np.broadcast_to(values, (*self.shape, *own))[at]
            return np.ascontiguousarray(taken.reshape(rows, *own))

        W0 = spread(self.W0, d, d)
        return Batch(spread(self.signal, d), W0 / 2 + W0.swapaxes(1, 2) / 2, spread(self.eta))


def broadcast(signal: ArrayLike, W0: ArrayLike, eta: ArrayLike, dynamics: str) -> Broadcast:
    """Check and broadcast the arguments of a batch.

    Parameters
    ----------
    signal : array_like of shape (..., d)
    W0 : array_like of shape (..., d, d)
    eta : array_like of shape (...)
    dynamics : {"euler", "gd", "flow"}

    Returns
    -------
    Broadcast

    Raises
    ------
    InvalidInput
        For shapes that do not broadcast and values out of range.
    """
    signals = numbers.real_array(signal, "signal", "Sec. 4")
    matrices = numbers.real_array(W0, "W0", "(D.2)")
    rates = numbers.real_array(eta, "eta", "(D.2)")
    if signals.ndim < 1:
        raise InvalidInput("signal", signal, "must have shape (..., d)", "Sec. 4")
    d = signals.shape[-1]
    if matrices.ndim < 2 or matrices.shape[-2:] != (d, d):
        raise InvalidInput("W0", f"shape {matrices.shape}", f"must have shape (..., {d}, {d})")
    if (signals < 0).any():
        raise InvalidInput("signal", signals.min(), "must not be negative", "Sec. 4")
    if (rates <= 0).any():
        raise InvalidInput("eta", rates.min(), "must be positive", "(D.2)")
    try:
        shape = np.broadcast_shapes(signals.shape[:-1], matrices.shape[:-2], rates.shape)
    except ValueError:
        shapes = f"{signals.shape}, {matrices.shape}, {rates.shape}"
        raise InvalidInput("signal, W0, eta", shapes, "must broadcast") from None
    mirrored = matrices.swapaxes(-1, -2)
    sizes = np.abs(matrices).max(axis=(-2, -1), keepdims=True)
    if (np.abs(matrices - mirrored) > SYMMETRY_TOLERANCE * sizes).any():
        raise InvalidInput("W0", "a matrix", "must be symmetric, as W = U U^T is", "(D.2)")
    if (sizes == 0).any():
        raise InvalidInput("W0", "the zero matrix", "must not be zero", "Assumption D.1")
    if (sizes > float(LARGEST_ENTRY)).any():
        raise InvalidInput("W0", f"{sizes.max():.3g}", "must be below 1e300", "(D.2)")
    if dynamics != "euler":
        _require_psd(matrices.reshape(-1, d, d), dynamics)
    return Broadcast(signals, matrices, rates, shape)


def _require_psd(matrices: Floats, dynamics: str) -> None:
    for first in range(0, len(matrices), SLICE):
        values = np.linalg.eigvalsh(matrices[first : first + SLICE])
        wrong = values[:, 0] < -1e-12 * np.abs(values).max(axis=1)
        if wrong.any():
            raise InvalidInput(
                f"W0[{first + int(np.argmax(wrong))}]",
                "this matrix",
                f"must be positive semidefinite for dynamics={dynamics!r}",
                "(D.1)",
            )


def missing_of(batch: Batch, dynamics: str) -> Booleans:
    """Concepts that W(0) has no component for and that the dynamics do not create.

    Floats decide where they can, all runs together; exact rationals the rest, one by one.

    Parameters
    ----------
    batch : Batch
    dynamics : {"euler", "gd", "flow"}

    Returns
    -------
    ndarray of bool, shape (m, d)
    """
    missing = np.zeros(batch.signal.shape, dtype=np.bool_)
    for run in np.flatnonzero(~_clearly_positive(batch)):
        initial = Initial(batch.W0[run], Fraction(1))
        found = missing_concepts(initial, batch.signal[run])
        missing[run] = lasting(found, initial.matrix, dynamics)
    return missing


def _clearly_positive(batch: Batch) -> Booleans:
    order = np.argsort(-batch.signal, axis=1, kind="stable")
    rest = np.take_along_axis(batch.W0, order[:, :, None], axis=1)
    rest = np.take_along_axis(rest, order[:, None, :], axis=2)
    # Relative to the diagonal, so that nothing underflows.
    diagonal = np.diagonal(rest, axis1=1, axis2=2)
    clear = (diagonal > 0).all(axis=1)
    root = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    rest = rest / root[:, :, None] / root[:, None, :]
    with np.errstate(all="ignore"):
        for k in range(rest.shape[1]):
            clear &= rest[:, k, k] > CLEARLY_POSITIVE
            factor = rest[:, k + 1 :, k] / rest[:, k, k, None]
            rest[:, k + 1 :, k + 1 :] -= factor[:, :, None] * rest[:, None, k, k + 1 :]
    return np.asarray(clear)
