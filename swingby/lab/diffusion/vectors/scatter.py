r"""Scatter of half-times by the noise of batches: variances, and their growth.

A point of cluster k has :math:`c_p = \mu_p [k = p] + \sigma_p \xi_p`. Points take turns through the
clusters and times are one grid with a random offset u, so a mean over a batch of n = s m points
varies in two ways: by the points, as :math:`1/m`, and by the offset, as :math:`1/m^2`. Noise comes
in pairs of opposite sign throughout.
"""

from __future__ import annotations

import numpy as np

from swingby.lab.diffusion.vectors.vector_setting import SCHEDULE, VectorSetting
from swingby.lab.networks.setting import Floats

#: Offsets of the times of a batch, and midpoints of integrals over time.
OFFSETS, TIMES = 64, 4096
_MIDDLES = (np.arange(TIMES) + 0.5) / TIMES


def cluster_moments(setting: VectorSetting) -> tuple[Floats, Floats]:
    """Mean and variance of the squared coordinates by cluster and concept, (s, s) each."""
    mu = np.diag(setting.task.test_point) ** 2
    spread = np.array([float(deviation) for deviation in setting.task.sigma]) ** 2
    return mu + spread, 4 * mu * spread + 2 * spread**2


def _grid_times(setting: VectorSetting) -> Floats:
    """Times of each cluster for every offset, shape (offsets, s, m)."""
    offset = (np.arange(OFFSETS) + 0.5) / (OFFSETS * setting.batch)
    places = np.arange(setting.points) / setting.points
    times = (offset[:, None] + places) % 1.0
    return times.reshape(OFFSETS, setting.batch, setting.task.s).swapaxes(1, 2)


def signal_variances(setting: VectorSetting) -> tuple[Floats, Floats]:
    r"""Variances of the weighted moment of a batch where only the condition is read.

    With pairs of noise, a step multiplies :math:`I - W` with :math:`I - \mathrm{lr}\,S`,
    :math:`S = \frac{15}{n} \sum_i \alpha_i^2 c_i c_i^\top`, of mean
    :math:`\int \alpha^2 d\gamma\; A`. Covariance of the diagonal entries and variance of the
    others (0 on the diagonal), (s, s) each.
    """
    s, m = setting.task.s, setting.batch
    mean, variance = cluster_moments(setting)
    squares = SCHEDULE.range * SCHEDULE.signal_squared
    signal, _ = SCHEDULE.alpha_sigma(_grid_times(setting))
    weight = SCHEDULE.range * (signal**2).mean(2)  # of each cluster, by offset
    by_offset = weight @ mean / s
    diagonal = np.diag(squares * variance.sum(0) / (s * s * m)) + _covariance(by_offset)
    products = np.einsum("kp,kq->pq", mean, mean)  # E (c_p c_q)^2, summed over clusters
    beside = squares * products / (s * s * m)
    np.fill_diagonal(beside, 0.0)
    return diagonal, beside


def _covariance(values: Floats) -> Floats:
    """Covariance of rows that are equally likely."""
    rest = values - values.mean(0)
    return np.asarray(rest.T @ rest / len(rest))


def _entries(t: Floats) -> tuple[Floats, Floats]:
    """Factors of c^2 and epsilon^2 in M_WW, M_WP, M_PP; last axis 3."""
    (signal, noise), (of_c, of_z) = SCHEDULE.alpha_sigma(t), SCHEDULE.gains(t)
    none = np.zeros_like(noise)
    return (
        SCHEDULE.range * np.stack([of_c**2, -of_c * of_z * signal, (of_z * signal) ** 2], -1),
        SCHEDULE.range * np.stack([none, none, (of_z * noise) ** 2], -1),
    )


def form_covariances(setting: VectorSetting) -> Floats:
    """Covariance of M_WW, M_WP and M_PP of a batch, for each concept."""
    s, m = setting.task.s, setting.batch
    mean, variance = cluster_moments(setting)
    data, noise = _entries(_MIDDLES)
    within = np.einsum("ta,tb->ab", data, data) / TIMES
    added = 2 * np.einsum("ta,tb->ab", noise, noise) / TIMES  # epsilon^2 has variance 2
    covariances = (variance.sum(0)[:, None, None] * within + s * added) / (s * s * m)
    data, noise = (entry.mean(2) for entry in _entries(_grid_times(setting)))
    for p in range(s):
        by_offset = (data * mean[None, :, p, None] + noise).mean(1)
        covariances[p] += _covariance(by_offset)
    return np.asarray(covariances)


def beside_variances(setting: VectorSetting, direction: Floats) -> Floats:
    r"""Variance of the growth of one concept out of another where both are read.

    At zero weights the gradient of row i is :math:`r_i x` with :math:`r = (1 - \sigma) \epsilon -
    \alpha c`; along the growing direction of concept j, row j of `direction` (s, 2), it is
    :math:`N_{ij}`, of mean 0. An upper bound of the variance of :math:`(N_{ij} + N_{ji})/2`,
    shape (s, s).
    """
    s, m = setting.task.s, setting.batch
    mean, _ = cluster_moments(setting)
    (signal, noise), (of_c, of_z) = SCHEDULE.alpha_sigma(_MIDDLES), SCHEDULE.gains(_MIDDLES)
    of_data = direction[:, 1:] * (of_z * signal) - direction[:, :1] * of_c
    of_noise = direction[:, 1:] * (of_z * noise)
    data = SCHEDULE.range**2 * (signal**2 * of_data**2).mean(1)
    rest = SCHEDULE.range**2 * ((1 - noise) ** 2 * of_noise**2).mean(1)
    products = np.einsum("kp,kq->pq", mean, mean) / s
    each = (products * data[None, :] + rest[None, :]) / (s * m)
    variances = (each + each.T) / 2
    np.fill_diagonal(variances, 0.0)
    return np.asarray(variances)


def pivot_scatter(
    L: Floats, growth: Floats, times: Floats, diagonal: Floats, beside: Floats
) -> Floats:
    r"""Variance of the logarithm of each pivot that has grown for some steps.

    U grows as :math:`U \to (I + \bar S + \delta S) U`. A change :math:`\delta S` at step t changes
    the logarithm of pivot k by :math:`2 (L^{-1} \delta S L)_{kk}`, with the L of that step:
    :math:`L_{jk}` shrinks by the ratio of growth factors, as the weaker concept falls behind.
    Concepts go by descending growth; `diagonal` and `beside` are those of :func:`signal_variances`.
    """
    s = len(L)
    steps = max(1, int(np.ceil(times.max())))
    t = np.arange(steps)
    with np.errstate(under="ignore"):
        decay = (growth[:, None] / growth[None, :]) ** t[:, None, None]
    lower = np.where(np.tri(s, k=-1, dtype=bool), L * np.minimum(decay, 1.0), 0.0) + np.eye(s)
    inverse = np.linalg.inv(lower)
    variances = np.empty(s)
    for k in range(s):
        until = max(1, int(np.ceil(times[k])))
        gain = inverse[:until, k, :, None] * lower[:until, None, :, k]  # of dS_ij, step by step
        along = np.diagonal(gain, axis1=1, axis2=2)
        both = np.triu(gain + gain.swapaxes(1, 2), 1) ** 2
        variances[k] = np.einsum("ti,ij,tj->", along, diagonal, along) + (both * beside).sum()
    return 4 * variances


def decay_scatter(
    rest: Floats, decay: Floats, times: Floats, diagonal: Floats, beside: Floats
) -> Floats:
    r"""Variance of :math:`\log(1 - w_{pp})` after some steps of one layer.

    A row e of :math:`I - W` goes to :math:`e (I - \bar S - \delta S)`: its own entry scatters by
    :math:`\delta S_{pp}`, and takes :math:`e_q \delta S_{qp}` from the others.
    """
    s = len(decay)
    scatter = np.empty(s)
    for p in range(s):
        t = np.arange(max(1, int(np.ceil(times[p]))))
        share = (rest[p] / rest[p, p]) ** 2 * (decay / decay[p]) ** (2 * t[:, None])
        share[:, p] = 0.0
        scatter[p] = (len(t) * diagonal[p, p] + (share * beside[p]).sum()) / decay[p] ** 2
    return scatter
