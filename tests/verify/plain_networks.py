"""Linear networks trained on samples by a plain loop over NumPy. Nothing here imports the package.

Many networks of one shape are trained side by side, each on its own data: the gradient is that of
the loss as it is written, the step that of torch's SGD. What is learned is read off the outputs:
a_k is the share that they have of the k-th principal component of the best linear fit of Y to X.
"""

import itertools

import numpy as np


def draw(
    rng,
    widths=(5, 8, 3),
    *,
    condition=4.0,
    n=100,
    scale=1e-2,
    noise=0.1,
    gap=None,
):
    """X, Y and layers of a network: correlated inputs, a random teacher and noise.

    `gap`: the teacher's singular values fall by this factor, where it is given.
    """
    p, q = widths[0], widths[-1]
    turn = np.linalg.qr(rng.standard_normal((p, p)))[0]
    root = (turn * np.sqrt(np.geomspace(1, 1 / condition, p))) @ turn.T
    X = rng.standard_normal((n, p)) @ root
    teacher = rng.standard_normal((q, p))
    if gap is not None:
        u, s, v = np.linalg.svd(teacher, full_matrices=False)
        teacher = (u * s[0] * gap ** np.arange(len(s))) @ v
    Y = X @ teacher.T + noise * rng.standard_normal((n, q))
    layers = [scale * rng.standard_normal((b, a)) for a, b in itertools.pairwise(widths)]
    return X, Y, layers


def components(X, Y):
    """phi (n, m), u (m, q), sigma (m,): the best linear fit is sqrt(n) sum sigma_k phi_k u_k'."""
    fit = X @ np.linalg.lstsq(X, Y, rcond=None)[0]
    phi, sigma, u = np.linalg.svd(fit / np.sqrt(len(X)), full_matrices=False)
    count = min(np.linalg.matrix_rank(X), Y.shape[1])
    return phi[:, :count], u[:count], sigma[:count]


def largest_rate(X, Y):
    """The largest singular value of K = Y'X/n."""
    return np.linalg.norm(Y.T @ X / len(X), 2)


def levels(X, layers, parts):
    """a_k of a network, from its outputs."""
    outputs = X
    for layer in layers:
        outputs = outputs @ layer.T
    phi, u, sigma = parts
    return np.einsum("nk,nq,kq->k", phi, outputs, u) / (np.sqrt(len(X)) * sigma)


def multiple_of(loss, n, q):
    """The gradient of the loss in the outputs is this times (outputs - Y)/n."""
    return {"half": 1.0, "mse": 2.0 / q, "sum": 2.0 * n}[loss]


def trained(
    networks,
    lrs,
    steps,
    *,
    loss="half",
    momentum=0.0,
    nesterov=False,
    decays=None,
    batches=None,
    dtype=np.float64,
    reached=True,
):
    """First steps with a_k >= 1/2, and the levels at the end; shapes (networks, m), nan for never.

    `networks`: X, Y, layers of each, of one shape. `batches`: rows of a minibatch at each step, by
    a function of the step. `reached`: whether it ends when all are learned.
    """
    X, Y = (np.stack([network[i] for network in networks]) for i in (0, 1))
    count, n, q = Y.shape
    layers = [np.stack(same).astype(dtype) for same in zip(*(w for *_, w in networks), strict=True)]
    parts = [components(x, y) for x, y, _ in networks]
    phi, u, sigma = (np.stack(same) for same in zip(*parts, strict=True))
    # a_k = sum_ij u_ki W_ij d_kj: d_k is X' phi_k / (sqrt(n) sigma_k).
    d = np.swapaxes(phi, 1, 2) @ X / (np.sqrt(n) * sigma[:, :, None])
    rate = np.asarray(lrs, dtype=dtype).reshape(-1, 1, 1)
    decay = np.zeros(count) if decays is None else np.asarray(decays)
    decay = decay.astype(dtype).reshape(-1, 1, 1)
    X, Y = X.astype(dtype), Y.astype(dtype)
    velocity = [np.zeros_like(layer) for layer in layers]
    half_times = np.full(sigma.shape, np.nan)
    for step in range(steps + 1):
        hidden = [np.broadcast_to(np.eye(X.shape[2], dtype=dtype), (count, *[X.shape[2]] * 2))]
        for layer in layers:
            hidden.append(layer @ hidden[-1])
        a = ((u @ hidden[-1]) * d).sum(axis=2)
        half_times[np.isnan(half_times) & (a >= 0.5)] = step
        if reached and not np.isnan(half_times).any():
            break
        rows = slice(None) if batches is None else batches(step)
        x, y = X[:, rows], Y[:, rows]
        size = x.shape[1]
        back = multiple_of(loss, size, q) * (x @ np.swapaxes(hidden[-1], 1, 2) - y) / size
        back = (np.swapaxes(back, 1, 2) @ x).astype(dtype)
        slopes = [None] * len(layers)
        for i in reversed(range(len(layers))):
            slopes[i] = back @ np.swapaxes(hidden[i], 1, 2) + decay * layers[i]
            back = np.swapaxes(layers[i], 1, 2) @ back
        for i, slope in enumerate(slopes):
            velocity[i] = momentum * velocity[i] + slope
            moved = slope + momentum * velocity[i] if nesterov else velocity[i]
            layers[i] = (layers[i] - rate * moved).astype(dtype)
    return half_times, a
