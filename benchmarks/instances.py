"""Random instances on which accuracy is measured, the same for every table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Cell:
    """One cell of an accuracy table.

    Parameters
    ----------
    low, high : float
        Range of omega, uniform in the logarithm.
    closest, farthest : float
        Range of successive ratios of a.
    """

    low: float
    high: float
    closest: float = 1.3
    farthest: float = 4.0

    @property
    def label(self) -> str:
        """``1e-08 to 1e-04, ratios 1.3 to 4``."""
        omega = f"{self.low:.0e}" if self.low == self.high else f"{self.low:.0e} to {self.high:.0e}"
        return f"{omega}, ratios {self.closest:g} to {self.farthest:g}"


CELLS = (
    Cell(1e-2, 1e-1),
    Cell(1e-3, 1e-2),
    Cell(1e-3, 1e-3),
    Cell(1e-8, 1e-4),
    Cell(1e-40, 1e-8),
    Cell(1e-2, 1e-1, 1.05, 1.3),
    Cell(1e-8, 1e-4, 1.05, 1.3),
)


@dataclass(frozen=True, eq=False)
class Instance:
    """A signal, a step size and an initial matrix.

    Parameters
    ----------
    signal : ndarray of shape (d,)
        In random order.
    eta : float
    W0 : ndarray of shape (d, d)
        U U^T for a square Gaussian U, scaled so that the mean of w_ii(0) is omega.
    omega : float
    """

    signal: np.ndarray
    eta: float
    W0: np.ndarray
    omega: float


def draw(cell: Cell, rng: np.random.Generator, largest_d: int = 6) -> Instance:
    """Draw one instance: d = 2 to 6, eta a_max in [0.002, 0.05], full-rank Gaussian U(0).

    Parameters
    ----------
    cell : Cell
    rng : numpy Generator
    largest_d : int

    Returns
    -------
    Instance
    """
    d = int(rng.integers(2, largest_d + 1))
    signal = np.cumprod(np.concatenate([[1.0], rng.uniform(cell.closest, cell.farthest, d - 1)]))
    signal = rng.permutation(signal / signal[-1])
    eta = float(rng.uniform(0.002, 0.05))
    omega = float(np.exp(rng.uniform(np.log(cell.low), np.log(cell.high))))
    U = rng.standard_normal((d, d))
    W0 = U @ U.T
    return Instance(signal, eta, W0 * (omega / np.trace(W0) * d), omega)
