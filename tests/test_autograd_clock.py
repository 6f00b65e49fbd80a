"""The clock against real gradients: torch differentiates the loss, swingby runs the map."""

import numpy as np
import pytest

from swingby.simulate.run import simulate
from swingby.theory.task import SIMTask

torch = pytest.importorskip("torch")


@pytest.mark.torch
def test_gradient_descent_on_the_loss_is_gd_at_twice_the_rate():
    # (4.1) with W = U U^T, plain gradient descent with rate lr: our clock at eta = 2 lr.
    task = SIMTask([1.0, 1.7, 2.4], [0.3, 0.1, 0.2])
    rate, steps = 0.003, 300
    generator = torch.Generator().manual_seed(0)
    U = 0.05 * torch.randn(3, 4, generator=generator, dtype=torch.float64)
    start = (U @ U.T).numpy().copy()
    U.requires_grad_()
    root = torch.diag(torch.tensor(np.sqrt(task.signal)))
    identity = torch.eye(3, dtype=torch.float64)
    for _ in range(steps):
        loss = 0.5 * ((U @ U.T - identity) @ root).square().sum()
        (gradient,) = torch.autograd.grad(loss, U)
        with torch.no_grad():
            U -= rate * gradient
    W = (U @ U.T).detach()
    final = float(0.5 * ((W - identity) @ root).square().sum())
    run = simulate(task, start, eta=2 * rate, steps=steps, dynamics="gd")
    assert np.abs(run.W[-1] - W.numpy()).max() < 1e-12
    assert run.train_loss[-1] == pytest.approx(final, rel=1e-10)
