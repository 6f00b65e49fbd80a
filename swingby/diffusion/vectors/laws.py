"""The laws of the SIM theory for a denoiser that reads the condition alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from swingby.diffusion.vectors import moments, reduced
from swingby.diffusion.vectors.integrals import SIGNAL
from swingby.diffusion.vectors.result import TURN, falls
from swingby.diffusion.vectors.scatter import decay_scatter, factorized, pivot_scatter
from swingby.diffusion.vectors.setting import VectorSetting, initial_weights
from swingby.training.laws import gram
from swingby.verify.predict_batch import predict_batch
from swingby.verify.predict_swing import predict_swing_batch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Standard deviations of an error bar.
DEVIATIONS = reduced.DEVIATIONS
#: Larger starts, steps or scatter, and signals in a smaller ratio, lie outside the range.
LARGEST_OMEGA, LARGEST_STEP, SMALLEST_RATIO, LARGEST_SCATTER = 0.05, 0.25, 1.1, 0.25
#: Of two layers, what decays of W_1^T - W_2 moves a small pivot of W(0). Chosen after a setting
#: with 8e-5 of w_kk(0) had been found that was off by three error bars.
SMALLEST_PIVOT = 1e-3
#: Turns of so many deviations of the noise count, if that is not more than the last.
NOISE_TURN, LARGEST_TURN = 8.0, 0.2
#: Two layers take less of the law than U U^T: sizes of turns may be off by such a factor.
LOOSE_TURN = 3.0


@dataclass(frozen=True, eq=False)
class Law:
    """Half-times by one law, with what is needed for the rest.

    Parameters
    ----------
    name : str
    crossing, error, deviation, rates : ndarray of shape (s,)
        Real time of each half-time, its error bar and standard deviation, in steps; rates per
        step.
    descents : int
    turn : float
    doubt : str
        Why the numbers must not be told; empty where they may.
    """

    name: str
    crossing: Floats
    error: Floats
    deviation: Floats
    rates: Floats
    descents: int = -1
    turn: float = TURN
    doubt: str = ""


def doubt_of(setting: VectorSetting, scatter: Floats) -> str:
    """Why no law may be trusted, or nothing.

    Parameters
    ----------
    setting : VectorSetting
    scatter : ndarray of shape (s,)
        Four deviations of each half-time, as a part of it.
    """
    signal = np.sort(setting.task.signal)
    if not setting.antithetic:
        return "without pairs of noise, noise adds to the weights"
    if setting.denoiser != "linear":
        if setting.omega > LARGEST_OMEGA:
            return f"omega is above {LARGEST_OMEGA:g}"
        if len(signal) > 1 and (signal[1:] / signal[:-1]).min() < SMALLEST_RATIO:
            return f"two signals are in a ratio below {SMALLEST_RATIO:g}"
    if not (np.nan_to_num(scatter, nan=np.inf) <= LARGEST_SCATTER).all():
        return f"the scatter of a half-time is above {LARGEST_SCATTER:g} of it"
    return ""


def sim_law(setting: VectorSetting) -> Law:
    """Half-times as if the condition alone were read."""
    if setting.denoiser == "mlp":
        nothing = np.full(setting.task.s, np.nan)
        return Law("none", nothing, nothing, nothing, nothing)
    if setting.step * setting.task.signal.max() > LARGEST_STEP:
        nothing = np.full(setting.task.s, np.nan)
        name = "Theorem 4.1" if setting.denoiser == "linear" else "stage law"
        doubt = f"a step is above {LARGEST_STEP:g} in units of 1/a"
        return Law(name, nothing, nothing, nothing, nothing, doubt=doubt)
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
    diagonal, beside = moments.signal_variances(setting)
    unit = (setting.step / SIGNAL) ** 2
    logs = decay_scatter(rest, decay, crossing, unit * diagonal, unit * beside)
    rates = -np.log(decay)
    deviation = np.sqrt(logs) / rates
    # The mean of the logarithm lies below the logarithm of the mean.
    second = crossing * unit * (np.diag(diagonal) / 2 + 3 * beside.sum(1)) / decay**2 / rates
    doubt = doubt_of(setting, relative(deviation, crossing)) or doubt
    error = DEVIATIONS * deviation + 1.0 + second
    point = setting.task.test_point
    times = np.arange(math.ceil(8 / rates.min()) + 1)
    left = (decay ** times[:, None] * point) @ rest.T
    loss = 0.5 * (left**2).sum(1)
    turn = _turn(setting, unit * beside)
    counts = {falls(loss, turn * factor) for factor in (0.5, 1.0, 2.0)}
    descents = counts.pop() if len(counts) == 1 else -1
    return Law("Theorem 4.1", crossing, error, deviation, rates, descents, turn, doubt)


def relative(deviation: Floats, crossing: Floats) -> Floats:
    """Four deviations in units of the half-time; what takes a few steps may be off by one."""
    return np.asarray(DEVIATIONS * deviation / np.maximum(crossing, 4.0))


def _stages(setting: VectorSetting) -> Law:
    """The stage law; where both are read, with the weights that read the condition."""
    s, signal, eta = setting.task.s, setting.task.signal, setting.step
    weights = initial_weights(setting)
    U = weights[0] if setting.denoiser == "symmetric" else (weights[0][:, :s].T + weights[1]) / 2
    W0 = gram(U)
    law = predict_batch(signal, W0, eta, "gd")
    crossing = law.crossing
    order = np.argsort(-signal, kind="stable")
    rates = 2 * np.log1p(eta * signal)
    L, pivots = factorized(W0[np.ix_(order, order)])
    doubt = ""
    if (pivots <= 0).any() or law.trapped.any() or law.undecided.any():
        doubt = "a concept is trapped, or may be"
    elif not np.isfinite(law.error).all():
        doubt = "the stage law is out of its range"
    elif setting.denoiser == "two_layer" and (pivots < SMALLEST_PIVOT * np.diag(W0)[order]).any():
        doubt = f"a pivot of W(0) is below {SMALLEST_PIVOT:g} of its diagonal entry"
    diagonal, beside = moments.signal_variances(setting)
    unit = (eta / SIGNAL) ** 2
    lasting = np.where(np.isfinite(crossing), crossing, 0.0)
    deviation = np.empty(s)
    second = np.empty(s)
    pick = np.ix_(order, order)
    growth = 1 + eta * signal[order]
    scatter = unit / growth.min() ** 2
    found = pivot_scatter(
        L, growth, lasting[order], scatter * diagonal[pick], scatter * beside[pick]
    )
    deviation[order] = np.sqrt(found) / rates[order]
    stronger = np.tril(beside[pick], -1).sum(1)
    drift = unit * (np.diag(diagonal)[order] + 2 * stronger)
    second[order] = lasting[order] * drift / rates[order]
    error = law.error + DEVIATIONS * deviation + 1.0 + second
    turn = _turn(setting, unit * beside)
    descents = _descents(setting, W0, deviation * rates, turn)
    if setting.denoiser == "two_layer":
        # The overlap of stages is that of U U^T only to leading order.
        leading = predict_batch(signal, W0, eta, "gd", accuracy="leading").crossing
        with np.errstate(invalid="ignore"):
            error = error + np.abs(crossing - leading)
    doubt = doubt or doubt_of(setting, relative(deviation, crossing))
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
    found = predict_swing_batch(
        setting.task.signal,
        W0,
        setting.step,
        "gd",
        test_point=setting.task.test_point,
        swing=turn,
    )
    if found.undecided or turn > LARGEST_TURN:
        return -1
    needed = float(found.needed_margin) * math.exp(min(DEVIATIONS * float(logs.max()), 50.0))
    if setting.denoiser == "two_layer":
        needed *= LOOSE_TURN
    return int(found.descents) if float(found.swing_margin) >= needed else -1
