"""Predictions of a setting before it is trained: half-times, their error bars and their range."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np

from swingby.lab.diffusion.signals import TURN, falls
from swingby.lab.diffusion.vectors.scatter import (
    beside_variances,
    decay_scatter,
    form_covariances,
    pivot_scatter,
    signal_variances,
)
from swingby.lab.diffusion.vectors.vector_setting import SCHEDULE, VectorSetting, initial_weights
from swingby.lab.field_checks import members_of
from swingby.lab.networks.setting import Floats
from swingby.lab.networks.weights import gram
from swingby.report import Drawn, Grid
from swingby.report.result_formats import ReadOnly
from swingby.verify.predict_batch import predict_batch
from swingby.verify.predict_swing import predict_swing_batch

_INSIDE = "inside"
#: Standard deviations of an error bar.
_DEVIATIONS = 4.0
#: Larger steps or scatter, and signals in a smaller ratio, lie outside the range, and so do larger
#: starts: of any setting but one layer that reads the condition, and of two layers that read both.
LARGEST_STEP, SMALLEST_RATIO, LARGEST_SCATTER = 0.25, 1.1, 0.25
LARGEST_OMEGA, LARGEST_OMEGA_OF_BOTH = 0.05, 1e-3
#: Of two layers, what decays of W_1^T - W_2 moves a small pivot of W(0). Chosen after a setting
#: with 8e-5 of w_kk(0) had been found that was off by three error bars.
_SMALLEST_PIVOT = 1e-3
#: Turns of so many deviations of the noise count, if that is not more than the last.
NOISE_TURN, LARGEST_TURN = 8.0, 0.2
#: Two layers take less of the law than U U^T: sizes of turns may be off by such a factor.
_LOOSE_TURN = 3.0
#: With two layers that read both, what concepts do to each other is left out: relative to a
#: half-time, of the order of the first weights and of the entries beside the diagonal when a
#: concept is there. The factor of the first was adjusted on random settings.
_NEXT_ORDER = 2.0


@dataclass(frozen=True, eq=False, repr=False)
class VectorPrediction(Drawn, ReadOnly):
    """Made by :func:`swingby.lab.diffusion.vectors.predict_vectors`."""

    setting: VectorSetting
    #: What half-times follow from: "Theorem 4.1", "stage law", "two exponentials", "growth under
    #: M" (the last two where both are read, where the SIM theory does not speak), or "none".
    law: str
    #: "inside", or why the SIM theory does not cover the setting.
    range: str
    #: First step at which the diagonal of the conditional map is at least 1/2, (s,); nan where
    #: there is no law or the setting lies outside its range.
    half_times: Floats
    #: Error bars in steps: four standard deviations, one step for rounding up, the error bar of
    #: the law, and what batches change to second order.
    error: Floats
    #: Standard deviation that comes from the noise of batches, in steps.
    deviation: Floats
    #: Rates of growth or decay per step to leading order: their inverses are as the half-times of
    #: small starts.
    rates: Floats
    #: What the SIM theory would say if the condition alone were read; nan where there is no law.
    plain: Floats
    #: How often the test loss falls by `turn`; -1 where that is open.
    descents: int
    #: A hundredth of the loss at the start, or more where the noise of batches makes turns of that
    #: size by itself.
    turn: float

    def __repr__(self) -> str:
        times = ", ".join(f"{time:.0f}" for time in self.half_times)
        return f"<VectorPrediction: half-times {times}; {self.range}>"

    @property
    def inside(self) -> bool:
        """Whether the SIM theory covers the setting."""
        return self.range == _INSIDE

    @property
    def order(self) -> tuple[int, ...]:
        """Concepts by predicted half-time, from 0; empty where a half-time is not known."""
        if np.isnan(self.half_times).any():
            return ()
        return tuple(np.argsort(self.half_times, kind="stable").tolist())

    @property
    def order_decided(self) -> bool:
        """Whether no two error bars overlap."""
        if not self.order:
            return False
        places = list(self.order)
        times, bars = self.half_times[places], self.error[places]
        return bool((np.diff(times) > bars[1:] + bars[:-1]).all())

    @property
    def swings(self) -> bool | None:
        """Whether the test loss is expected to rise and fall again; None where that is open."""
        return None if self.descents < 0 else self.descents > 1

    def ratio(self, slow: int, fast: int) -> tuple[float, float]:
        """Ratio of two half-times and its error bar."""
        times, bars = self.half_times, self.error
        low = (times[slow] - bars[slow]) / (times[fast] + bars[fast])
        earliest = times[fast] - bars[fast]
        high = (times[slow] + bars[slow]) / earliest if earliest > 0 else np.inf
        ratio = float(times[slow] / times[fast])
        return ratio, float(max(high - ratio, ratio - low))

    def to_grid(self) -> Grid:
        """The prediction, with its range."""
        setting = self.setting
        columns = (setting.task.signal, self.half_times, self.error, self.deviation, self.plain)
        rows = [
            [
                str(p),
                f"{a:.4g}",
                f"{half:.0f}",
                f"{error:.1f}",
                f"{deviation:.1f}",
                f"{sim_time:.0f}",
            ]
            for p, (a, half, error, deviation, sim_time) in enumerate(zip(*columns, strict=True), 1)
        ]
        swings = {None: "open", True: "swing-by", False: "no swing-by"}[self.swings]
        return Grid(
            title=f"{setting.denoiser}, reads {setting.reads}: {self.law}",
            columns=[">concept", ">a", ">half-time", ">error", ">deviation", ">plain SIM"],
            rows=rows,
            below=[
                f"Range of the SIM theory: {self.range}.",
                f"Test loss: {swings} of {self.turn:.2g} of its start.",
            ],
        )

    def to_dict(self) -> dict[str, Any]:
        """The prediction as plain values, None where it is nan."""
        names = ("half_times", "error", "deviation", "rates", "plain")
        arrays = {
            name: [float(entry) if np.isfinite(entry) else None for entry in getattr(self, name)]
            for name in names
        }
        words = {"law": self.law, "range": self.range, "descents": self.descents, "turn": self.turn}
        return {**words, "order": list(self.order), **arrays}


@overload
def predict_vectors(settings: VectorSetting) -> VectorPrediction: ...


@overload
def predict_vectors(settings: Sequence[VectorSetting]) -> list[VectorPrediction]: ...


def predict_vectors(
    settings: VectorSetting | Sequence[VectorSetting],
) -> VectorPrediction | list[VectorPrediction]:
    r"""Predict training by the SIM theory, or by the form M outside its range.

    Where only the condition is read, the diffusion loss is :math:`\int \alpha^2 d\gamma` times
    the SIM loss (2.1) of f and a constant. One matrix then follows Theorem 4.1, :math:`U U^\top`
    the stage law, and :math:`W_2 W_1` that of :math:`U = (W_1^\top + W_2)/2`.

    If both are read, the noisy data also carry the datum. The loss of a concept is then the
    form M of :func:`swingby.lab.diffusion.signals.Noise.form` in
    :math:`(1 - W_{pp}, 1 - P_{pp})`, and half-times are those of the sampled map.

    Parameters
    ----------
    settings : VectorSetting or sequence of them

    Examples
    --------
    >>> from swingby.theory.task import SIMTask
    >>> print(predict_vectors(VectorSetting(SIMTask([1, 2], "1/20"), "linear", eta=0.1)))
    linear, reads condition: Theorem 4.1
    concept        a   half-time   error   deviation   plain SIM
    ────────────────────────────────────────────────────────────
          1   0.5025          14     2.0         0.3          14
          2    2.002           4     1.5         0.1           4
    Range of the SIM theory: inside.
    Test loss: no swing-by of 0.022 of its start.
    """
    if isinstance(settings, VectorSetting):
        return _predict(settings)
    return [_predict(setting) for setting in members_of(settings, "settings", VectorSetting)]


def _predict(setting: VectorSetting) -> VectorPrediction:
    sim_law = _sim_law(setting)
    if setting.reads == "condition":
        return sim_law
    both_law = _both_law(setting)
    return replace(both_law, plain=np.where(np.isnan(both_law.error), np.nan, sim_law.half_times))


def _rounded_prediction(
    setting: VectorSetting, law: str, crossing: Floats, rates: Floats, deviation: Floats,
    second: Floats, *, law_error: Floats | float = 0.0, next_order: Floats | float = 0.0,
    doubt: str = "", descents: int = -1, turn: float = TURN,
) -> VectorPrediction:  # fmt: skip
    """Half-times by one law from real times, their deviations and what batches add to second order.

    `doubt` says why they must not be told, if so; the error bars of the law and of what it leaves
    out are added to those of batches.
    """
    doubt = doubt or _doubt_of(setting, deviation, crossing)
    both = "noisy data tell what the condition tells" if setting.reads == "both" else ""
    outside = "; ".join(filter(None, (both, doubt)))
    error = law_error + _DEVIATIONS * deviation + 1.0 + second + next_order
    half_times = np.ceil(crossing)
    if doubt:
        half_times, error, deviation = np.full((3, setting.task.s), np.nan)
    return VectorPrediction(
        setting, law, f"outside: {outside}" if outside else _INSIDE, half_times, error, deviation,
        rates, half_times, -1 if doubt else descents, turn,
    )  # fmt: skip


def _doubt_of(setting: VectorSetting, deviation: Floats, crossing: Floats) -> str:
    """Why no law may be trusted, or nothing."""
    signal = np.sort(setting.task.signal)
    one_layer, both = setting.denoiser == "linear", setting.reads == "both"
    if not setting.antithetic:
        return "without pairs of noise, noise adds to the weights"
    limits = {(True, False): math.inf, (False, True): LARGEST_OMEGA_OF_BOTH}
    largest = limits.get((one_layer, both), LARGEST_OMEGA)
    if setting.omega > largest:
        return f"omega is above {largest:g}"
    if not one_layer and (signal[1:] / signal[:-1]).min(initial=np.inf) < SMALLEST_RATIO:
        return f"two signals are in a ratio below {SMALLEST_RATIO:g}"
    # What takes a few steps may be off by one.
    scatter = _DEVIATIONS * deviation / np.maximum(crossing, 4.0)
    if not (np.nan_to_num(scatter, nan=np.inf) <= LARGEST_SCATTER).all():
        return f"the scatter of a half-time is above {LARGEST_SCATTER:g} of it"
    return ""


def _no_law(setting: VectorSetting, name: str, doubt: str) -> VectorPrediction:
    nothing = np.full(setting.task.s, np.nan)
    return _rounded_prediction(setting, name, nothing, nothing, nothing, nothing, doubt=doubt)


def _sim_law(setting: VectorSetting) -> VectorPrediction:
    """Half-times as if the condition alone were read."""
    if setting.denoiser == "mlp":
        return _no_law(setting, "none", "the law is that of linear denoisers")
    law = _one_layer if setting.denoiser == "linear" else _stages
    if setting.step * setting.task.signal.max() > LARGEST_STEP:
        name = "Theorem 4.1" if law is _one_layer else "stage law"
        return _no_law(setting, name, f"a step is above {LARGEST_STEP:g} in units of 1/a")
    return law(setting)


def _one_layer(setting: VectorSetting) -> VectorPrediction:
    """Theorem 4.1 with its own finite step."""
    s, signal = setting.task.s, setting.task.signal
    W0 = initial_weights(setting)[0][:, :s]
    rest, decay = np.eye(s) - W0, 1 - setting.step * signal
    gap = np.diag(rest)
    doubt = "" if (gap > 0.5).all() else "a concept starts beyond its half-time"
    with np.errstate(invalid="ignore"):
        crossing = np.maximum(np.log(2 * np.abs(gap)) / -np.log(decay), 0.0)
    diagonal, beside = signal_variances(setting)
    unit = (setting.step / SCHEDULE.signal) ** 2
    logs = decay_scatter(rest, decay, crossing, unit * diagonal, unit * beside)
    rates = -np.log(decay)
    deviation = np.sqrt(logs) / rates
    # The mean of the logarithm lies below the logarithm of the mean.
    second = crossing * unit * (np.diag(diagonal) / 2 + 3 * beside.sum(1)) / decay**2 / rates
    point = setting.task.test_point
    times = np.arange(math.ceil(8 / rates.min()) + 1)
    distance = (decay ** times[:, None] * point) @ rest.T
    loss = 0.5 * (distance**2).sum(1)
    turn = _turn(setting, unit * beside)
    counts = {falls(loss, turn * factor) for factor in (0.5, 1.0, 2.0)}
    descents = counts.pop() if len(counts) == 1 else -1
    return _rounded_prediction(
        setting, "Theorem 4.1", crossing, rates, deviation, second,
        doubt=doubt, descents=descents, turn=turn,
    )  # fmt: skip


def _stages(setting: VectorSetting) -> VectorPrediction:
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
    L, pivots = _factorized(W0[pick])
    doubt = ""
    if (pivots <= 0).any() or law.trapped.any() or law.undecided.any():
        doubt = "a concept is trapped, or may be"
    elif not np.isfinite(law.error).all():
        doubt = "the stage law is out of its range"
    elif setting.denoiser == "two_layer" and (pivots < _SMALLEST_PIVOT * np.diag(W0)[order]).any():
        doubt = f"a pivot of W(0) is below {_SMALLEST_PIVOT:g} of its diagonal entry"
    diagonal, beside = signal_variances(setting)
    unit = (eta / SCHEDULE.signal) ** 2
    waits = np.where(np.isfinite(crossing), crossing, 0.0)
    growth = 1 + eta * signal[order]
    scatter = unit / growth.min() ** 2
    variance = pivot_scatter(
        L, growth, waits[order], scatter * diagonal[pick], scatter * beside[pick]
    )
    deviation = np.sqrt(variance)[back] / rates
    stronger = np.tril(beside[pick], -1).sum(1)[back]
    second = waits * (unit * (np.diag(diagonal) + 2 * stronger)) / rates
    turn = _turn(setting, unit * beside)
    descents = _descents(setting, W0, deviation * rates, turn)
    next_order = np.zeros(s)
    if setting.denoiser == "two_layer":
        # The overlap of stages is that of U U^T only to leading order.
        leading = predict_batch(signal, W0, eta, "gd", accuracy="leading").crossing
        with np.errstate(invalid="ignore"):
            next_order = np.abs(crossing - leading)
    return _rounded_prediction(
        setting, "stage law", crossing, rates, deviation, second,
        law_error=law.error, next_order=next_order, doubt=doubt, descents=descents, turn=turn,
    )  # fmt: skip


def _factorized(W0: Floats) -> tuple[Floats, Floats]:
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


def _turn(setting: VectorSetting, beside: Floats) -> float:
    r"""The smallest turn of the test loss that counts: larger than noise alone makes.

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
    swing = predict_swing_batch(
        task.signal, W0, setting.step, "gd", test_point=task.test_point, swing=turn
    )
    if swing.undecided or turn > LARGEST_TURN:
        return -1
    needed = float(swing.needed_margin) * math.exp(min(_DEVIATIONS * float(logs.max()), 50.0))
    if setting.denoiser == "two_layer":
        needed *= _LOOSE_TURN
    return int(swing.descents) if float(swing.swing_margin) >= needed else -1


#: Steps after which a concept counts as never learned, and between looks at whether all is.
MOST_STEPS, _PIECE = 30_000, 256


def _crossing(F: Floats) -> Floats:
    """Real step at which each column first reaches 1/2; nan for never."""
    above, p = F - 0.5, np.arange(F.shape[1])
    k = (above >= 0).argmax(0)
    now, before = above[k, p], above[np.maximum(k - 1, 0), p]
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = np.where(k > 0, k - now / (now - before), 0.0)
    return np.where((above >= 0).any(0), crossing, np.nan)


def _follow(
    form: Floats, covariance: Floats, rate: float, start: Floats, sample_steps: int
) -> tuple[Floats, Floats]:
    """The sampled map F of each concept after each step, (n, s), and its deviation.

    It ends when all F are beyond 1/2 with their error bars. A concept has the state (W, P) in one
    layer, and in two (u, v) with (W, P) = u v.
    """
    state, spread = start, np.zeros((*start.shape, start.shape[1]))
    pieces: list[tuple[Floats, Floats]] = []
    for _ in range(0, MOST_STEPS, _PIECE):
        passed = []
        for _ in range(_PIECE):
            passed.append((state, spread))
            state, turn, noise = _advance(form, covariance, rate, state)
            spread = turn @ spread @ turn.swapaxes(1, 2) + noise
        states, spreads = map(np.stack, zip(*passed, strict=True))
        F, deviation = _sampled(states, spreads, sample_steps)
        pieces.append((F, deviation))
        if not np.isfinite(state).all() or (F[-1] - _DEVIATIONS * deviation[-1] > 0.5).all():
            break
    F, deviation = map(np.concatenate, zip(*pieces, strict=True))
    return F, deviation


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
    turn[:, 0, 1:] += rate * pull  # u v has a second derivative
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


def _both_law(setting: VectorSetting) -> VectorPrediction:
    """Two exponentials for one layer, growth along M (1, 1) for two."""
    s, rate = setting.task.s, setting.rate
    form = SCHEDULE.form(setting.task.signal)
    covariance = form_covariances(setting)
    name = "two exponentials" if setting.denoiser == "linear" else "growth under M"
    largest = rate * np.linalg.eigvalsh(form).max()
    if largest > 2 * LARGEST_STEP:
        doubt = f"a step is above {2 * LARGEST_STEP:g} in units of the largest eigenvalue"
        return _no_law(setting, name, doubt)
    cross, overlap, doubt = np.zeros(s), 0.0, ""
    if setting.denoiser == "linear":
        (V,) = initial_weights(setting)
        start = np.stack([np.diag(V[:, :s]), np.diag(V[:, s:])], 1)
        rates = np.asarray(rate * np.linalg.eigvalsh(form)[:, 0], dtype=np.float64)
    else:
        start, rates, cross, overlap, doubt = _growth(setting, form)
    F, scatter = _follow(form, covariance, rate, start, setting.sample_steps)
    crossing = _crossing(F)
    early, late = (_crossing(F + sign * _DEVIATIONS * scatter) for sign in (1.0, -1.0))
    bar = np.where(np.isnan(late), np.inf, np.fmax(crossing - early, late - crossing))
    deviation = np.hypot(bar / _DEVIATIONS, cross)
    # What the noise of batches changes to second order: its size beside the mean.
    spread = covariance[:, 0, 0] + 2 * covariance[:, 1, 1] + covariance[:, 2, 2]
    second = crossing * (rate * spread / np.trace(form, axis1=1, axis2=2))
    next_order = np.zeros(s)
    if setting.denoiser == "two_layer":
        next_order = (_NEXT_ORDER * math.sqrt(setting.omega) + overlap) * crossing
    return _rounded_prediction(
        setting, name, crossing, rates, deviation, second, next_order=next_order, doubt=doubt
    )


def _growth(setting: VectorSetting, form: Floats) -> tuple[Floats, Floats, Floats, float, str]:
    """Start of each concept's own course, rates, scatter from others, overlap, and a doubt."""
    s, rate = setting.task.s, setting.rate
    pull = form.sum(2)
    speed = np.linalg.norm(pull, axis=1)
    direction = pull / speed[:, None]
    first, second = initial_weights(setting)
    readings = np.concatenate([np.diag(direction[:, 0]), np.diag(direction[:, 1])], 1)
    U = (second + readings @ first.T) / 2
    W0 = gram(U)
    order = np.argsort(-speed, kind="stable")
    pick, back = np.ix_(order, order), np.argsort(order)
    L, pivots = _factorized(W0[pick])
    size = np.sqrt(pivots)[back]
    # Across the growing direction the first layer stays as it is, seen along the row of U that
    # is left when those of stronger concepts are taken away.
    row = np.linalg.solve(L, U[order])[back] / np.where(size > 0, size, 1.0)[:, None]
    across = np.stack([-direction[:, 1], direction[:, 0]], 1)
    stays = first @ np.concatenate([np.diag(across[:, 0]), np.diag(across[:, 1])], 1).T
    v = size[:, None] * direction + np.einsum("ph,hp->p", row, stays)[:, None] * across
    rates = 2 * np.log1p(rate * speed)
    doubt = "" if (pivots > 0).all() else "a concept is trapped"
    with np.errstate(divide="ignore"):
        waits = np.maximum(np.where(size > 0, -2 * np.log(size) / rates, 0.0), 0.0)[order]
    factor = 1 + rate * speed[order]
    # Entries (j, k) when the stronger k is there.
    fallen = np.tril(np.abs(L) * (factor[:, None] / factor) ** waits, -1)
    beside = rate**2 * beside_variances(setting, direction)
    variance = pivot_scatter(L, factor, waits, np.zeros((s, s)), beside[pick])
    cross = np.sqrt(variance)[back] / rates
    start = np.concatenate([size[:, None], v], 1)
    return start, np.asarray(rates), cross, float(fallen.max(initial=0.0)), doubt
