r"""Laws of half-times: of the SIM theory where the condition alone is read, by the form M else.

**What batches add.** A point of cluster k has :math:`c_p = \mu_p [k = p] + \sigma_p \xi_p`. Points
take turns through the clusters and times are one grid with a random offset u, so a mean over a
batch of n = s m points varies in two ways: by the points, as :math:`1/m`, and by the offset, as
:math:`1/m^2`. Noise comes in pairs of opposite sign throughout.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from swingby.diffusion.vectors.setting import SCHEDULE, VectorSetting, initial_weights
from swingby.simulate.outcome import descents, turning_points
from swingby.training.laws import gram
from swingby.training.setting import Floats
from swingby.verify.predict_batch import predict_batch
from swingby.verify.predict_swing import predict_swing_batch

#: Smallest turn of the test loss that counts, as a part of its start.
TURN = 0.01
#: Standard deviations of an error bar.
DEVIATIONS = 4.0
#: Larger starts, steps or scatter, and signals in a smaller ratio, lie outside the range.
LARGEST_OMEGA, LARGEST_STEP, SMALLEST_RATIO, LARGEST_SCATTER = 0.05, 0.25, 1.1, 0.25
#: Of two layers, what decays of W_1^T - W_2 moves a small pivot of W(0). Chosen after a setting
#: with 8e-5 of w_kk(0) had been found that was off by three error bars.
SMALLEST_PIVOT = 1e-3
#: Turns of so many deviations of the noise count, if that is not more than the last.
NOISE_TURN, LARGEST_TURN = 8.0, 0.2
#: Two layers take less of the law than U U^T: sizes of turns may be off by such a factor.
LOOSE_TURN = 3.0


def falls(loss: Floats, part: float = TURN) -> int:
    """How often a curve fell by a part of its start."""
    swing = part * float(loss[0])
    return descents(turning_points(loss, swing), swing)


#: Offsets of the times of a batch, and midpoints of integrals over time.
OFFSETS, TIMES = 64, 4096


def cluster_moments(setting: VectorSetting) -> tuple[Floats, Floats]:
    """Mean and variance of the squared coordinates by cluster and concept, (s, s) each."""
    mu = np.diag(setting.task.test_point) ** 2
    spread = np.array([float(one) for one in setting.task.sigma]) ** 2
    return mu + spread, 4 * mu * spread + 2 * spread**2


def _grid_times(setting: VectorSetting) -> Floats:
    """Times of each cluster for every offset, shape (offsets, s, m)."""
    offset = (np.arange(OFFSETS) + 0.5) / (OFFSETS * setting.batch)
    places = np.arange(setting.points) / setting.points
    times = (offset[:, None] + places) % 1.0
    return times.reshape(OFFSETS, setting.batch, setting.task.s).swapaxes(1, 2)


def signal_variances(setting: VectorSetting) -> tuple[Floats, Floats]:
    r"""How the weighted moment of a batch varies where only the condition is read.

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
    """What c^2 and epsilon^2 are multiplied with in M_WW, M_WP, M_PP; last axis 3."""
    signal, noise = SCHEDULE.alpha_sigma(t)
    of_c, of_z = signal / noise, (1 - noise) / noise
    none = np.zeros_like(noise)
    return (
        SCHEDULE.range * np.stack([of_c**2, -of_c * of_z * signal, (of_z * signal) ** 2], -1),
        SCHEDULE.range * np.stack([none, none, (of_z * noise) ** 2], -1),
    )


def form_covariances(setting: VectorSetting) -> Floats:
    """Covariance of M_WW, M_WP and M_PP of a batch, for each concept."""
    s, m = setting.task.s, setting.batch
    mean, variance = cluster_moments(setting)
    data, noise = _entries((np.arange(TIMES) + 0.5) / TIMES)
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
    \alpha c`; along the growing direction of concept j, row j of `direction` (s, 2), it is
    :math:`N_{ij}`, of mean 0. An upper bound of the variance of :math:`(N_{ij} + N_{ji})/2`,
    shape (s, s).
    """
    s, m = setting.task.s, setting.batch
    mean, _ = cluster_moments(setting)
    signal, noise = SCHEDULE.alpha_sigma((np.arange(TIMES) + 0.5) / TIMES)
    of_c, of_z = signal / noise, (1 - noise) / noise
    of_data = direction[:, 1:] * (of_z * signal) - direction[:, :1] * of_c
    of_noise = direction[:, 1:] * (of_z * noise)
    data = SCHEDULE.range**2 * (signal**2 * of_data**2).mean(1)
    rest = SCHEDULE.range**2 * ((1 - noise) ** 2 * of_noise**2).mean(1)
    products = np.einsum("kp,kq->pq", mean, mean) / s
    each = (products * data[None, :] + rest[None, :]) / (s * m)
    found = (each + each.T) / 2
    np.fill_diagonal(found, 0.0)
    return np.asarray(found)


def factorized(W0: Floats) -> tuple[Floats, Floats]:
    """L, unit lower triangular, and pivots of L D L^T; 0 from the first that is not positive."""
    s = len(W0)
    rest, L, pivots = W0.copy(), np.eye(s), np.zeros(s)
    for k in range(s):
        if not rest[k, k] > 1e-9 * W0[k, k]:
            break
        pivots[k] = rest[k, k]
        L[k + 1 :, k] = rest[k + 1 :, k] / rest[k, k]
        rest = rest - np.outer(rest[:, k], rest[k]) / rest[k, k]
    return L, pivots


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
    found = np.empty(s)
    for k in range(s):
        until = max(1, int(np.ceil(times[k])))
        gain = inverse[:until, k, :, None] * lower[:until, None, :, k]  # of dS_ij, step by step
        own = np.diagonal(gain, axis1=1, axis2=2)
        both = np.triu(gain + gain.swapaxes(1, 2), 1) ** 2
        found[k] = np.einsum("ti,ij,tj->", own, diagonal, own) + (both * beside).sum()
    return 4 * found


def decay_scatter(
    rest: Floats, decay: Floats, times: Floats, diagonal: Floats, beside: Floats
) -> Floats:
    r"""Variance of :math:`\log(1 - w_{pp})` after some steps of one layer.

    A row e of :math:`I - W` goes to :math:`e (I - \bar S - \delta S)`: its own entry scatters by
    :math:`\delta S_{pp}`, and takes :math:`e_q \delta S_{qp}` from the others.
    """
    s = len(decay)
    found = np.empty(s)
    for p in range(s):
        t = np.arange(max(1, int(np.ceil(times[p]))))
        share = (rest[p] / rest[p, p]) ** 2 * (decay / decay[p]) ** (2 * t[:, None])
        share[:, p] = 0.0
        found[p] = (len(t) * diagonal[p, p] + (share * beside[p]).sum()) / decay[p] ** 2
    return found


@dataclass(frozen=True, eq=False)
class Law:
    """Half-times by one law (s,), in steps; `doubt` says why they must not be told, if so."""

    name: str
    #: Real time, its error bar and standard deviation; rates per step.
    crossing: Floats
    error: Floats
    deviation: Floats
    rates: Floats
    descents: int = -1
    turn: float = TURN
    doubt: str = ""


def _doubt_of(setting: VectorSetting, deviation: Floats, crossing: Floats) -> str:
    """Why no law may be trusted, or nothing."""
    signal = np.sort(setting.task.signal)
    if not setting.antithetic:
        return "without pairs of noise, noise adds to the weights"
    if setting.denoiser != "linear":
        if setting.omega > LARGEST_OMEGA:
            return f"omega is above {LARGEST_OMEGA:g}"
        if len(signal) > 1 and (signal[1:] / signal[:-1]).min() < SMALLEST_RATIO:
            return f"two signals are in a ratio below {SMALLEST_RATIO:g}"
    # What takes a few steps may be off by one.
    scatter = DEVIATIONS * deviation / np.maximum(crossing, 4.0)
    if not (np.nan_to_num(scatter, nan=np.inf) <= LARGEST_SCATTER).all():
        return f"the scatter of a half-time is above {LARGEST_SCATTER:g} of it"
    return ""


def _no_law(name: str, setting: VectorSetting, doubt: str = "") -> Law:
    nothing = np.full(setting.task.s, np.nan)
    return Law(name, nothing, nothing, nothing, nothing, doubt=doubt)


def sim_law(setting: VectorSetting) -> Law:
    """Half-times as if the condition alone were read."""
    if setting.denoiser == "mlp":
        return _no_law("none", setting)
    if setting.step * setting.task.signal.max() > LARGEST_STEP:
        name = "Theorem 4.1" if setting.denoiser == "linear" else "stage law"
        return _no_law(name, setting, f"a step is above {LARGEST_STEP:g} in units of 1/a")
    return _one_layer(setting) if setting.denoiser == "linear" else _stages(setting)


def _one_layer(setting: VectorSetting) -> Law:
    """Theorem 4.1 with its own finite step."""
    s, signal = setting.task.s, setting.task.signal
    W0 = initial_weights(setting)[0][:, :s]
    rest, decay = np.eye(s) - W0, 1 - setting.step * signal
    own = np.diag(rest)
    doubt = "" if (own > 0.5).all() else "a concept starts beyond its half-time"
    with np.errstate(invalid="ignore"):
        crossing = np.maximum(np.log(2 * np.abs(own)) / -np.log(decay), 0.0)
    diagonal, beside = signal_variances(setting)
    unit = (setting.step / SCHEDULE.signal) ** 2
    logs = decay_scatter(rest, decay, crossing, unit * diagonal, unit * beside)
    rates = -np.log(decay)
    deviation = np.sqrt(logs) / rates
    # The mean of the logarithm lies below the logarithm of the mean.
    second = crossing * unit * (np.diag(diagonal) / 2 + 3 * beside.sum(1)) / decay**2 / rates
    doubt = _doubt_of(setting, deviation, crossing) or doubt
    error = DEVIATIONS * deviation + 1.0 + second
    point = setting.task.test_point
    times = np.arange(math.ceil(8 / rates.min()) + 1)
    left = (decay ** times[:, None] * point) @ rest.T
    loss = 0.5 * (left**2).sum(1)
    turn = _turn(setting, unit * beside)
    counts = {falls(loss, turn * factor) for factor in (0.5, 1.0, 2.0)}
    descents = counts.pop() if len(counts) == 1 else -1
    return Law("Theorem 4.1", crossing, error, deviation, rates, descents, turn, doubt)


def _stages(setting: VectorSetting) -> Law:
    """The stage law; where both are read, with the weights that read the condition."""
    s, signal, eta = setting.task.s, setting.task.signal, setting.step
    order = np.argsort(-signal, kind="stable")
    pick, back = np.ix_(order, order), np.argsort(order)
    weights = initial_weights(setting)
    U = weights[0] if setting.denoiser == "symmetric" else (weights[0][:, :s].T + weights[1]) / 2
    W0 = gram(U)
    law = predict_batch(signal, W0, eta, "gd")
    crossing = law.crossing
    rates = 2 * np.log1p(eta * signal)
    L, pivots = factorized(W0[pick])
    doubt = ""
    if (pivots <= 0).any() or law.trapped.any() or law.undecided.any():
        doubt = "a concept is trapped, or may be"
    elif not np.isfinite(law.error).all():
        doubt = "the stage law is out of its range"
    elif setting.denoiser == "two_layer" and (pivots < SMALLEST_PIVOT * np.diag(W0)[order]).any():
        doubt = f"a pivot of W(0) is below {SMALLEST_PIVOT:g} of its diagonal entry"
    diagonal, beside = signal_variances(setting)
    unit = (eta / SCHEDULE.signal) ** 2
    waits = np.where(np.isfinite(crossing), crossing, 0.0)
    growth = 1 + eta * signal[order]
    scatter = unit / growth.min() ** 2
    found = pivot_scatter(L, growth, waits[order], scatter * diagonal[pick], scatter * beside[pick])
    deviation = np.sqrt(found)[back] / rates
    stronger = np.tril(beside[pick], -1).sum(1)[back]
    second = waits * (unit * (np.diag(diagonal) + 2 * stronger)) / rates
    error = law.error + DEVIATIONS * deviation + 1.0 + second
    turn = _turn(setting, unit * beside)
    descents = _descents(setting, W0, deviation * rates, turn)
    if setting.denoiser == "two_layer":
        # The overlap of stages is that of U U^T only to leading order.
        leading = predict_batch(signal, W0, eta, "gd", accuracy="leading").crossing
        with np.errstate(invalid="ignore"):
            error = error + np.abs(crossing - leading)
    doubt = doubt or _doubt_of(setting, deviation, crossing)
    return Law("stage law", crossing, error, deviation, rates, descents, turn, doubt)


def _turn(setting: VectorSetting, beside: Floats) -> float:
    r"""The smallest turn of the test loss that counts: one that noise alone does not make.

    While concept p is waiting, every batch moves its output by concept q that is there, and
    training takes that back at a rate r: :math:`w_{pq}` has the variance :math:`V/2r`, the loss
    moves by :math:`\mu_p \mu_q w_{pq}`.
    """
    signal, mu = setting.task.signal, setting.task.test_point
    gap = np.tile(setting.step * signal, (len(mu), 1))
    if setting.denoiser == "symmetric":
        gap, beside = setting.step * (signal[None, :] - signal[:, None]), beside / 4
    weaker = signal[:, None] < signal[None, :]
    variance = np.where(weaker, beside / (2 * np.where(weaker, gap, 1.0)), 0.0)
    moved = math.sqrt(float((np.outer(mu**2, mu**2) * variance).sum()))
    return max(TURN, NOISE_TURN * moved / (0.5 * float(mu @ mu)))


def _descents(setting: VectorSetting, W0: Floats, logs: Floats, turn: float) -> int:
    """Descents of the test loss; -1 where the noise of batches may change their number."""
    task = setting.task
    found = predict_swing_batch(
        task.signal, W0, setting.step, "gd", test_point=task.test_point, swing=turn
    )
    if found.undecided or turn > LARGEST_TURN:
        return -1
    needed = float(found.needed_margin) * math.exp(min(DEVIATIONS * float(logs.max()), 50.0))
    if setting.denoiser == "two_layer":
        needed *= LOOSE_TURN
    return int(found.descents) if float(found.swing_margin) >= needed else -1


#: Steps after which a concept counts as never learned, and between looks at whether all is.
MOST_STEPS, _PIECE = 30_000, 256


@dataclass(frozen=True, eq=False)
class _Course:
    """The sampled map F of each concept after each step, (n, s), and its deviation."""

    F: Floats
    deviation: Floats

    def crossing(self, shift: float = 0.0) -> Floats:
        """Real time at which each F, shifted by so many deviations, first reaches 1/2."""
        values = self.F + shift * self.deviation - 0.5
        found = np.full(values.shape[1], np.nan)
        for p, column in enumerate(values.T):
            places = np.flatnonzero(column >= 0)
            if len(places):
                k = int(places[0])
                before = column[k - 1] if k else 0.0
                found[p] = k - column[k] / (column[k] - before) if k else 0.0
        return found


def follow(
    form: Floats, covariance: Floats, rate: float, start: Floats, sample_steps: int
) -> _Course:
    """Follow each concept until all F are beyond 1/2 with their error bars.

    A concept has the state (W, P) in one layer, and in two (u, v) with (W, P) = u v.
    """
    size = start.shape[1]
    state, spread = start, np.zeros((len(start), size, size))
    parts: list[tuple[Floats, Floats]] = []
    for _ in range(0, MOST_STEPS, _PIECE):
        states, spreads = [], []
        for _ in range(_PIECE):
            states.append(state)
            spreads.append(spread)
            state, turn, noise = _advance(form, covariance, rate, state)
            spread = turn @ spread @ turn.swapaxes(1, 2) + noise
        F, deviation = _sampled(np.stack(states), np.stack(spreads), sample_steps)
        parts.append((F, deviation))
        if not np.isfinite(state).all() or (F[-1] - DEVIATIONS * deviation[-1] > 0.5).all():
            break
    return _Course(*(np.concatenate(same) for same in zip(*parts, strict=True)))


def _of_state(state: Floats) -> tuple[Floats, Floats]:
    """(W, P), shape (..., 2), and its derivative by the state, (..., 2, k)."""
    if state.shape[-1] == 2:
        return state, np.broadcast_to(np.eye(2), (*state.shape, 2))
    u, v = state[..., :1], state[..., 1:]
    return u * v, np.concatenate([v[..., None], u[..., None] * np.eye(2)], -1)


def _advance(
    form: Floats, covariance: Floats, rate: float, state: Floats
) -> tuple[Floats, Floats, Floats]:
    """The state after a step, its derivative by that before, and the covariance of the noise."""
    value, inner = _of_state(state)
    rest, outer = 1 - value, inner.swapaxes(1, 2)
    pull = np.einsum("pij,pj->pi", form, rest)
    rows = np.zeros((len(rest), 2, 3))
    rows[:, 0, :2] = rows[:, 1, 1:] = rest
    of_batch = rows @ covariance @ rows.swapaxes(1, 2)  # covariance of dM e
    noise = rate**2 * outer @ of_batch @ inner
    turn = np.eye(state.shape[1]) - rate * outer @ form @ inner
    if state.shape[1] == 2:
        return state + rate * pull, turn, noise
    turn[:, 0, 1:] += rate * pull
    turn[:, 1:, 0] += rate * pull
    u, v = state[:, :1], state[:, 1:]
    moved = np.concatenate([u + rate * (v * pull).sum(1, keepdims=True), v + rate * u * pull], 1)
    return moved, turn, noise


def _sampled(states: Floats, spreads: Floats, sample_steps: int) -> tuple[Floats, Floats]:
    """F and its deviation."""
    value, inner = _of_state(states)
    W, P = value[..., 0], value[..., 1]

    def F(W: Floats, P: Floats) -> Floats:
        return SCHEDULE.sampled_map(W[..., None, None], P[..., None, None], sample_steps)[..., 0, 0]

    width = 1e-5
    by_W, by_P = F(W + width, P) - F(W - width, P), F(W, P + width) - F(W, P - width)
    slope = np.stack([by_W, by_P], -1) / (2 * width)
    inside = inner @ spreads @ inner.swapaxes(-1, -2)
    variance = np.einsum("npi,npij,npj->np", slope, inside, slope)
    return F(W, P), np.sqrt(np.maximum(variance, 0.0))


#: With two layers that read both, what concepts do to each other is left out: relative to a
#: half-time, of the order of the first weights and of the entries beside the diagonal when a
#: concept is there. The factor of the first was adjusted on random settings.
NEXT_ORDER, LARGEST_OMEGA_OF_BOTH = 2.0, 1e-3


def both_law(setting: VectorSetting) -> Law:
    """Two exponentials for one layer, growth along M (1, 1) for two."""
    s, rate = setting.task.s, setting.rate
    form = SCHEDULE.form(setting.task.signal)
    covariance = form_covariances(setting)
    name = "two exponentials" if setting.denoiser == "linear" else "growth under M"
    largest = rate * np.linalg.eigvalsh(form).max()
    if largest > 2 * LARGEST_STEP:
        doubt = f"a step is above {2 * LARGEST_STEP:g} in units of the largest eigenvalue"
        return _no_law(name, setting, doubt)
    cross, overlap, doubt = np.zeros(s), 0.0, ""
    if setting.denoiser == "linear":
        (V,) = initial_weights(setting)
        if setting.omega > LARGEST_OMEGA:
            doubt = f"omega is above {LARGEST_OMEGA:g}"
        start = np.stack([np.diag(V[:, :s]), np.diag(V[:, s:])], 1)
        rates = np.asarray(rate * np.linalg.eigvalsh(form)[:, 0], dtype=np.float64)
    else:
        start, rates, cross, overlap, doubt = _growth(setting, form)
    course = follow(form, covariance, rate, start, setting.sample_steps)
    crossing = course.crossing()
    ends = [course.crossing(sign * DEVIATIONS) for sign in (1.0, -1.0)]
    bar = np.fmax(crossing - ends[0], ends[1] - crossing)
    bar = np.where(np.isnan(ends[1]), np.inf, bar)
    deviation = np.hypot(bar / DEVIATIONS, cross)
    doubt = doubt or _doubt_of(setting, deviation, crossing)
    # What the noise of batches changes to second order: its size beside the mean.
    spread = covariance[:, 0, 0] + 2 * covariance[:, 1, 1] + covariance[:, 2, 2]
    second = crossing * (rate * spread / np.trace(form, axis1=1, axis2=2))
    error = DEVIATIONS * deviation + 1.0 + second
    if setting.denoiser == "two_layer":
        error = error + (NEXT_ORDER * math.sqrt(setting.omega) + overlap) * crossing
        if setting.omega > LARGEST_OMEGA_OF_BOTH:
            doubt = doubt or f"omega is above {LARGEST_OMEGA_OF_BOTH:g}"
    return Law(name, crossing, error, deviation, rates, doubt=doubt)


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
    pick, back = np.ix_(order, order), np.argsort(order)
    L, pivots = factorized(W0[pick])
    size = np.sqrt(pivots)[back]
    # Across the growing direction the first layer stays as it is, seen along the row of U that
    # is left when those of stronger concepts are taken away.
    row = np.linalg.solve(L, U[order])[back] / np.where(size > 0, size, 1.0)[:, None]
    across = np.stack([-direction[:, 1], direction[:, 0]], 1)
    seen = first @ np.concatenate([np.diag(across[:, 0]), np.diag(across[:, 1])], 1).T
    v = size[:, None] * direction + np.einsum("ph,hp->p", row, seen)[:, None] * across
    rates = 2 * np.log1p(rate * speed)
    doubt = "" if (pivots > 0).all() else "a concept is trapped"
    with np.errstate(divide="ignore"):
        waits = np.maximum(np.where(size > 0, -2 * np.log(size) / rates, 0.0), 0.0)[order]
    factor = 1 + rate * speed[order]
    # Entries (j, k) when the stronger k is there.
    fallen = np.tril(np.abs(L) * (factor[:, None] / factor) ** waits, -1)
    beside = rate**2 * beside_variances(setting, direction)
    found = pivot_scatter(L, factor, waits, np.zeros((s, s)), beside[pick])
    cross = np.sqrt(found)[back] / rates
    start = np.concatenate([size[:, None], v], 1)
    return start, np.asarray(rates), cross, float(fallen.max(initial=0.0)), doubt
