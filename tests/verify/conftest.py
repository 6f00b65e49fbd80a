"""Starts that several tests draw."""

import numpy as np
import pytest


@pytest.fixture(name="starts", scope="session")
def _starts():
    return starts


def starts(count, d, seed, low=1e-6, high=1e-2, farthest=3.0):
    """Gaussian starts; every other one has entries of one sign, which makes swings likely."""
    rng = np.random.default_rng(seed)
    steps = rng.uniform(1.2, farthest, (count, d - 1))
    signal = np.cumprod(np.concatenate([np.ones((count, 1)), steps], axis=1), axis=1)
    signal = rng.permuted(signal / signal[:, -1:], axis=1)
    omega = np.exp(rng.uniform(np.log(low), np.log(high), count))
    U = rng.standard_normal((count, d, d + 1))
    U[::2] = np.abs(U[::2])
    W0 = (U @ U.swapaxes(1, 2)) * (omega / (d + 1))[:, None, None]
    return signal, (W0 + W0.swapaxes(1, 2)) / 2, rng.uniform(0.005, 0.03, count)
