r"""What a step of training multiplies with, and how much that varies from batch to batch.

A point of cluster k has :math:`c_p = \mu_p [k = p] + \sigma_p \xi_p`. Points take turns through
the clusters and times are one grid with a random offset u, so a mean over a batch of n = s m
points varies in two ways: by the points, as :math:`1/m`, and by the offset, as :math:`1/m^2`.
Noise comes in pairs of opposite sign throughout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from swingby.diffusion.vectors import integrals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from swingby.diffusion.vectors.setting import VectorSetting

    Floats = NDArray[np.float64]

#: Offsets, and points of an integral over time.
OFFSETS, TIMES = 64, 4096


def cluster_moments(setting: VectorSetting) -> tuple[Floats, Floats]:
    """Mean and variance of the squared coordinates in each cluster.

    Returns
    -------
    mean, variance : ndarray of shape (s, s)
        Cluster, then concept.
    """
    mu = np.diag(setting.task.test_point) ** 2
    spread = np.array([float(one) for one in setting.task.sigma]) ** 2
    return mu + spread, 4 * mu * spread + 2 * spread**2


def schedule_at(t: Floats) -> tuple[Floats, Floats]:
    """Alpha and sigma at times from 0 to 1."""
    noise = 1 / (1 + np.exp(-integrals.gamma_of(t)))
    return np.sqrt(1 - noise), np.sqrt(noise)


def _grid_times(setting: VectorSetting) -> Floats:
    """Times of each cluster for every offset, shape (offsets, s, m)."""
    offset = (np.arange(OFFSETS) + 0.5) / (OFFSETS * setting.batch)
    places = np.arange(setting.points) / setting.points
    times = (offset[:, None] + places) % 1.0
    return times.reshape(OFFSETS, setting.batch, setting.task.s).swapaxes(1, 2)


def _middles() -> Floats:
    """Midpoints, for integrals over time."""
    return np.asarray((np.arange(TIMES) + 0.5) / TIMES)


def signal_variances(setting: VectorSetting) -> tuple[Floats, Floats]:
    r"""How the weighted moment of a batch varies where only the condition is read.

    With pairs of noise, a step multiplies :math:`I - W` with :math:`I - \mathrm{lr}\,S`,
    :math:`S = \frac{15}{n} \sum_i \alpha_i^2 c_i c_i^\top`, of mean
    :math:`\int \alpha^2 d\gamma\; A`.

    Returns
    -------
    diagonal : ndarray of shape (s, s)
        Covariance of the diagonal entries.
    beside : ndarray of shape (s, s)
        Variance of the other entries; 0 on the diagonal.
    """
    s, m = setting.task.s, setting.batch
    mean, variance = cluster_moments(setting)
    squares = integrals.RANGE * integrals.SIGNAL_SQUARED
    signal, _ = schedule_at(_grid_times(setting))
    weight = integrals.RANGE * (signal**2).mean(2)  # of each cluster, by offset
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


def quadratic_form(signal: Floats) -> Floats:
    r"""The expected loss of each concept where both are read, as a form in (1 - W, 1 - P).

    The residual of concept p is :math:`g_z z e_P - g_c c e_W`, so the loss is :math:`\frac12
    e^\top M e` with

    .. math:: M = \int \begin{pmatrix} g_c^2 a & -g_c g_z \alpha a \\ \cdot & g_z^2 (\alpha^2 a +
        \sigma^2) \end{pmatrix} d\gamma .

    Examples
    --------
    >>> quadratic_form(np.array([1.0])).round(2).tolist()
    [[[148.41, -125.97], [-125.97, 111.07]]]
    """
    ratio, mixed = integrals.RATIO, integrals.RATIO - integrals.RATIO_DEVIATION
    copied = integrals.RATIO - 2 * integrals.RATIO_DEVIATION + integrals.SIGNAL
    found = np.empty((len(signal), 2, 2))
    found[:, 0, 0] = ratio * signal
    found[:, 0, 1] = found[:, 1, 0] = -mixed * signal
    found[:, 1, 1] = copied * signal + integrals.NOISE
    return found


def _entries(t: Floats) -> tuple[Floats, Floats]:
    """What c^2 and epsilon^2 are multiplied with in M_WW, M_WP, M_PP; last axis 3."""
    signal, noise = schedule_at(t)
    of_c, of_z = signal / noise, (1 - noise) / noise
    none = np.zeros_like(noise)
    return (
        integrals.RANGE * np.stack([of_c**2, -of_c * of_z * signal, (of_z * signal) ** 2], -1),
        integrals.RANGE * np.stack([none, none, (of_z * noise) ** 2], -1),
    )


def form_covariances(setting: VectorSetting) -> Floats:
    """Covariance of M_WW, M_WP and M_PP of a batch, for each concept."""
    s, m = setting.task.s, setting.batch
    mean, variance = cluster_moments(setting)
    data, noise = _entries(_middles())
    within = np.einsum("ta,tb->ab", data, data) / TIMES
    added = 2 * np.einsum("ta,tb->ab", noise, noise) / TIMES  # epsilon^2 has variance 2
    found = (variance.sum(0)[:, None, None] * within + s * added) / (s * s * m)
    data, noise = (one.mean(2) for one in _entries(_grid_times(setting)))
    for p in range(s):
        by_offset = (data * mean[None, :, p, None] + noise).mean(1)
        found[p] += _covariance(by_offset)
    return np.asarray(found)


def beside_variances(setting: VectorSetting, direction: Floats) -> Floats:
    r"""Variance of the growth of one concept out of another where both are read.

    At zero weights the gradient of row i is :math:`r_i x` with :math:`r = (1 - \sigma) \epsilon -
    \alpha c`; along the growing direction of concept j it is :math:`N_{ij}`, of mean 0.

    Parameters
    ----------
    setting : VectorSetting
    direction : ndarray of shape (s, 2)
        Unit vectors: how W and P of each concept grow.

    Returns
    -------
    ndarray of shape (s, s)
        Upper bound of the variance of :math:`(N_{ij} + N_{ji})/2`; 0 on the diagonal.
    """
    s, m = setting.task.s, setting.batch
    mean, _ = cluster_moments(setting)
    signal, noise = schedule_at(_middles())
    of_c, of_z = signal / noise, (1 - noise) / noise
    of_data = direction[:, 1:] * (of_z * signal) - direction[:, :1] * of_c
    of_noise = direction[:, 1:] * (of_z * noise)
    data = integrals.RANGE**2 * (signal**2 * of_data**2).mean(1)
    rest = integrals.RANGE**2 * ((1 - noise) ** 2 * of_noise**2).mean(1)
    products = np.einsum("kp,kq->pq", mean, mean) / s
    each = (products * data[None, :] + rest[None, :]) / (s * m)
    found = (each + each.T) / 2
    np.fill_diagonal(found, 0.0)
    return np.asarray(found)
