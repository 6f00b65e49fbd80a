"""Inputs of the ReLU study: noisy linear data, and weights that learn concepts."""

from __future__ import annotations

import numpy as np

from swingby.errors import InvalidInput
from swingby.lab.relu.concepts import growing_modes
from swingby.lab.relu.geometry import Floats

FAMILIES = ("gaussian", "gap")
#: Directions of x this near to beta's hyperplane are left out of "gap": chosen, not fitted.
_GAP = 0.3


def draw(
    n: int, d: int, sigma: float, family: str, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    r"""Noisy linear data: :math:`y = x_1 + \sigma \eta`, x and eta standard normal.

    Of the family "gap" only points with :math:`|x_1| \ge 0.3\, |x|` are kept.
    """
    if family not in FAMILIES:
        raise InvalidInput("family", family, f"must be among {', '.join(FAMILIES)}")
    X = rng.standard_normal((n, d))
    while family == "gap":
        outside = np.abs(X[:, 0]) < _GAP * np.linalg.norm(X, axis=1)
        if not outside.any():
            break
        X[outside] = rng.standard_normal((int(outside.sum()), d))
    return X, X[:, 0] + sigma * rng.standard_normal(n)


def draw_start(
    m: int, d: int, scale: float, aligned: bool, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Gaussian weights, aligned by their signs or as they fall, and a signal in ratios 1.5 to 4."""
    signal = 4 * np.cumprod(np.concatenate([[1.0], 1 / rng.uniform(1.5, 4, d - 1)]))
    W1, W2 = scale * rng.standard_normal((m, d)), scale * rng.standard_normal((d, m))
    if aligned:
        assigned = np.arange(m)[:, None] % d == np.arange(d)
        W1 = np.where(assigned, np.abs(W1), -np.abs(W1))
        W2 = np.where(assigned.T, np.abs(W2), W2)
    return W1, W2, signal


def is_aligned(first: Floats, second: Floats) -> bool:
    """Whether each neuron grows on one concept at most."""
    return bool(((growing_modes(first, second) > 0).sum(axis=0) <= 1).all())
