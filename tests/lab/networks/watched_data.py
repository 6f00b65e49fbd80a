"""Small data and plain loops for the tests of ``swingby.watch``, which share no code with it."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")
mse = torch.nn.functional.mse_loss


def points(seed=0, dtype=torch.float64, n=60, noise=0.1):
    """Correlated inputs (n, 4) and targets (n, 3) of a linear teacher."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) @ (np.eye(4) + 0.3 * rng.normal(size=(4, 4)))
    teacher = np.linalg.qr(rng.normal(size=(4, 3)))[0].T * np.array([[2.0], [1.2], [0.7]])
    Y = X @ teacher.T + noise * rng.normal(size=(n, 3))
    return torch.tensor(X, dtype=dtype), torch.tensor(Y, dtype=dtype)


def chain(*widths, seed=0, scale=0.1, dtype=torch.float64):
    """Linear layers without biases."""
    generator = torch.Generator().manual_seed(seed)
    layers = [torch.nn.Linear(i, j, bias=False) for i, j in itertools.pairwise(widths)]
    for layer in layers:
        with torch.no_grad():
            layer.weight.normal_(0, scale, generator=generator)
    return torch.nn.Sequential(*layers).to(dtype)


def shares(outputs, X, Y, centred=False):
    """Share of each component that outputs have, by the principal components of the fit alone."""
    X, Y, F = (np.asarray(entry.detach(), dtype=np.float64) for entry in (X, Y, outputs))
    if centred:
        X, Y = X - X.mean(0), Y - Y.mean(0)
    fit = X @ np.linalg.lstsq(X, Y, rcond=None)[0]
    left, size, right = np.linalg.svd(fit, full_matrices=False)
    return np.einsum("ik,ij,kj->k", left, F, right) / size


def first_steps(model, optimizer, X, Y, steps, *, centred=False, before=None, loss=mse):
    """First step at which each share is 1/2, looked at after every step; nan for none."""
    learned = np.where(shares(model(X), X, Y, centred) >= 0.5, 0.0, np.nan)
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        loss(model(X), Y).backward()
        if before is not None:
            before(step)
        optimizer.step()
        crossed = np.isnan(learned) & (shares(model(X), X, Y, centred) >= 0.5)
        learned[crossed] = step
    return learned
