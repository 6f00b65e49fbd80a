r"""How far the order of minibatches moves half-times of a linear network.

In stage j the modes that are not learned grow along singular pairs (p, v) of their residual
:math:`R_j = \sum \sigma_i u_i d_i^\top`, at rates s, singular values of it. A sample adds the
growth :math:`g_i = (p^\top (y_i - \hat y_i))(v^\top x_i)`, with :math:`\hat y` the part of the
best linear fit that is learned. With :math:`V_j = \operatorname{var}_i g_i / B`, batches of B
drawn with replacement, and stages of T_j steps,

.. math::
   \operatorname{var} t_k = \sum_{j \le k} \frac{T_j V_j}{s_k^2}
   + \sum_{j < k} \Bigl(\bigl(1 - \frac{s_j}{s_{j+1}}\bigr) \operatorname{sd} t_j\Bigr)^2, \qquad
   \text{later on average by } \mathrm{lr}\, g \sum_j \frac{T_j V_j}{2 s_k},

s_j the rate of mode k in stage j. Where each epoch of M steps is reshuffled, whole epochs cancel to
first order, and what is left is :math:`r (1 - r/M) V_k/s_k^2` with r = t_k mod M: a lower bound.
"""

from __future__ import annotations

import numpy as np

from swingby.theory.linear_modes import LinearModes
from swingby.theory.numbers import Floats


def batch_spread(
    X: Floats,
    Y: Floats,
    modes: LinearModes,
    crossing: Floats,
    *,
    batch: int,
    replacement: bool,
    step: float,
    decay: float = 0.0,
) -> tuple[Floats, Floats]:
    """Mean delay and standard deviation of each half-time, in steps; nan where it is not finite.

    `crossing`: half-times of full batches. `step`: lr g/(1 - m). `decay`: weight decay over g.
    """
    n, sigma = len(X), modes.sigma
    delay, deviation = np.full(len(sigma), np.nan), np.full(len(sigma), np.nan)
    order = [int(k) for k in np.argsort(crossing, kind="stable") if np.isfinite(crossing[k])]
    outputs = X @ np.linalg.lstsq(X, Y, rcond=None)[0]
    epoch = n / batch
    pairs = [_stage(X, Y, modes, outputs, order[:j]) for j in range(len(order))]
    for rank, k in enumerate(order):
        wandering, rates, begin = 0.0, [], 0.0
        for j in range(rank + 1):
            left, values, right, rest = pairs[j]
            i = min(rank - j, len(values) - 1)
            growth = (rest @ left[:, i]) * (X @ right[i])
            variance = float(growth.var()) / batch
            rates.append(max(float(values[i]) - decay, 1e-300))
            end = crossing[order[j]]
            if replacement:
                wandering += max(end - begin, 0.0) * variance
            elif j == rank:
                into = end % epoch
                variance *= (n - batch) / max(n - 1, 1)
                wandering = into * (1 - into / epoch) * variance
            begin = end
        earlier = [(1 - rates[j] / rates[j + 1]) * deviation[order[j]] for j in range(rank)]
        deviation[k] = np.sqrt(wandering / rates[-1] ** 2 + np.square(earlier).sum())
        delay[k] = step * wandering / (2 * rates[-1]) if replacement else 0.0
    return delay, deviation


def _stage(
    X: Floats, Y: Floats, modes: LinearModes, outputs: Floats, learned: list[int]
) -> tuple[Floats, Floats, Floats, Floats]:
    """Singular triples of the residual once some modes are learned, and what is left of Y."""
    waiting = [k for k in range(len(modes.sigma)) if k not in learned]
    residual = (modes.outputs[waiting].T * modes.sigma[waiting]) @ modes.inputs[waiting]
    left, values, right = np.linalg.svd(residual, full_matrices=False)
    directions = modes.outputs[learned]
    rest = Y - outputs @ directions.T @ directions if learned else Y
    return left, values, right, rest
