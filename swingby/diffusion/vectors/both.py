r"""Half-times where the condition and the noisy data are read, by the form M of each concept."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from swingby.diffusion.vectors import moments, reduced
from swingby.diffusion.vectors.laws import (
    DEVIATIONS,
    LARGEST_OMEGA,
    LARGEST_STEP,
    Law,
    doubt_of,
    relative,
)
from swingby.diffusion.vectors.scatter import factorized, pivot_scatter
from swingby.diffusion.vectors.setting import VectorSetting, initial_weights
from swingby.training.laws import gram

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: With two layers that read both, what concepts do to each other is left out: relative to a
#: half-time, of the order of the first weights and of the entries beside the diagonal when a
#: concept is there. The factor of the first was adjusted on random settings.
NEXT_ORDER, LARGEST_OMEGA_OF_BOTH = 2.0, 1e-3


def both_law(setting: VectorSetting) -> Law:
    """Two exponentials for one layer, growth along M (1, 1) for two."""
    s, rate = setting.task.s, setting.rate
    form = moments.quadratic_form(setting.task.signal)
    covariance = moments.form_covariances(setting)
    name = "two exponentials" if setting.denoiser == "linear" else "growth under M"
    largest = rate * np.linalg.eigvalsh(form).max()
    if largest > 2 * LARGEST_STEP:
        nothing = np.full(s, np.nan)
        doubt = f"a step is above {2 * LARGEST_STEP:g} in units of the largest eigenvalue"
        return Law(name, nothing, nothing, nothing, nothing, doubt=doubt)
    cross, overlap, doubt = np.zeros(s), 0.0, ""
    if setting.denoiser == "linear":
        (V,) = initial_weights(setting)
        if setting.omega > LARGEST_OMEGA:
            doubt = f"omega is above {LARGEST_OMEGA:g}"
        start = np.stack([np.diag(V[:, :s]), np.diag(V[:, s:])], 1)
        rates = np.asarray(rate * np.linalg.eigvalsh(form)[:, 0], dtype=np.float64)
    else:
        start, rates, cross, overlap, doubt = _growth(setting, form)
    course = reduced.follow(form, covariance, rate, start, setting.sample_steps)
    crossing = course.crossing()
    ends = [course.crossing(sign * DEVIATIONS) for sign in (1.0, -1.0)]
    bar = np.fmax(crossing - ends[0], ends[1] - crossing)
    bar = np.where(np.isnan(ends[1]), np.inf, bar)
    own = bar / DEVIATIONS
    deviation = np.hypot(own, cross)
    doubt = doubt or doubt_of(setting, relative(deviation, crossing))
    error = DEVIATIONS * deviation + 1.0 + _second(setting, covariance, crossing)
    if setting.denoiser == "two_layer":
        error = error + (NEXT_ORDER * math.sqrt(setting.omega) + overlap) * crossing
        if setting.omega > LARGEST_OMEGA_OF_BOTH:
            doubt = doubt or f"omega is above {LARGEST_OMEGA_OF_BOTH:g}"
    return Law(name, crossing, error, deviation, rates, doubt=doubt)


def _second(setting: VectorSetting, covariance: Floats, crossing: Floats) -> Floats:
    """What the noise of batches changes to second order: its size beside the mean."""
    form = moments.quadratic_form(setting.task.signal)
    spread = covariance[:, 0, 0] + 2 * covariance[:, 1, 1] + covariance[:, 2, 2]
    share = setting.rate * spread / np.trace(form, axis1=1, axis2=2)
    return np.asarray(crossing * share)


def _growth(setting: VectorSetting, form: Floats) -> tuple[Floats, Floats, Floats, float, str]:
    """Start of each concept's own course, rates, scatter from others, overlap, and a doubt."""
    s, rate = setting.task.s, setting.rate
    pull = form.sum(2)
    speed = np.linalg.norm(pull, axis=1)
    direction = pull / speed[:, None]
    first, second = initial_weights(setting)
    told = np.concatenate([np.diag(direction[:, 0]), np.diag(direction[:, 1])], 1)
    U = (second + told @ first.T) / 2
    W0 = gram(U)
    order = np.argsort(-speed, kind="stable")
    L, pivots = factorized(W0[np.ix_(order, order)])
    start = np.zeros((s, 3))
    size = np.empty(s)
    size[order] = np.sqrt(pivots)
    start[:, 0] = size
    # Across the growing direction the first layer stays as it is, seen along the row of U that
    # is left when those of stronger concepts are taken away.
    row = np.empty_like(U)
    row[order] = np.linalg.solve(L, U[order])
    row /= np.where(size > 0, size, 1.0)[:, None]
    across = np.stack([-direction[:, 1], direction[:, 0]], 1)
    seen = first @ np.concatenate([np.diag(across[:, 0]), np.diag(across[:, 1])], 1).T
    start[:, 1:] = size[:, None] * direction + np.einsum("ph,hp->p", row, seen)[:, None] * across
    rates = 2 * np.log1p(rate * speed)
    doubt = "" if (pivots > 0).all() else "a concept is trapped"
    with np.errstate(divide="ignore"):
        lasting = np.where(size > 0, -2 * np.log(size) / rates, 0.0)
    factor = 1 + rate * speed[order]
    # Entries (j, k) when the stronger k is there.
    fallen = np.tril(np.abs(L) * (factor[:, None] / factor) ** np.maximum(lasting[order], 0.0), -1)
    beside = rate**2 * moments.beside_variances(setting, direction)
    pick = np.ix_(order, order)
    found = pivot_scatter(
        L, factor, np.maximum(lasting[order], 0.0), np.zeros((s, s)), beside[pick]
    )
    cross = np.empty(s)
    cross[order] = np.sqrt(found) / rates[order]
    return start, np.asarray(rates), cross, float(fallen.max(initial=0.0)), doubt
