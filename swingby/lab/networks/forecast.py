r"""Later half-times of a network, forecast from the first stage of its run.

A forecast cuts a run once its first concept is learned: its logit rises by :math:`g_{kk}` a step, a
clock on which the stage law goes on from W(T). Beside it stand each concept alone, by the logistic
curve through its own :math:`w_{kk}(T)`, and times in the ratio of the signals,
:math:`t_k = t_1 a_1 / a_k`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.lab.networks.setting import Booleans, Floats, Integers
from swingby.lab.networks.training_clock import why_no_law
from swingby.lab.networks.training_run import TrainingRun
from swingby.theory.law.stages import stage_laws

if TYPE_CHECKING:
    import pandas as pd

#: Level of the first concept at which a run is cut, and between which its growth is measured.
_CUT, _LEVELS = 0.6, (0.05, 0.5)
#: Most that W(T) may differ from its transpose, as a part of its largest minor entry.
_LARGEST_SKEW = 0.5
_FORECASTS = ("law", "alone", "ratio")


@dataclass(frozen=True, eq=False)
class Forecast:
    """Half-times of the concepts that come after the first. Made by :func:`forecast`."""

    #: Recorded step up to which the run was looked at, (r,); nan where there was nothing to see.
    cut: Floats
    #: The concept that was learned by then, (r,); -1 where there is none.
    first: Integers
    #: Time of the theory per step, from the growth of that concept, (r,).
    eta: Floats
    #: Forecasts in steps, (r, s); nan for the first concept and where there is none.
    law: Floats
    alone: Floats
    ratio: Floats
    #: The half-times, nan for the first concept and where a concept is never learned.
    observed: Floats
    #: Whether the law is made for the network, U U^T without noise, (r,). Two linear layers obey
    #: it as long as W is nearly diagonal; for everything else `law` is an extrapolation.
    within: Booleans
    #: Why there is no forecast, "" where there is one for every concept.
    reason: tuple[str, ...]

    def errors(self, name: str) -> Floats:
        """abs(forecast - observed) / (observed - cut), (r, s), of "law", "alone" or "ratio".

        Only of concepts of which all three exist: the three are compared on the same.
        """
        if name not in _FORECASTS:
            raise InvalidInput("name", name, "must be law, alone or ratio")
        remaining = self.observed - self.cut[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            errors = np.abs(getattr(self, name) - self.observed) / remaining
        comparable = np.isfinite(self.law) & np.isfinite(self.alone) & np.isfinite(self.ratio)
        return np.asarray(np.where(comparable & (remaining > 0), errors, np.nan))

    def worst(self, name: str) -> Floats:
        """The largest error over the concepts of a run, (r,); nan where there is none."""
        errors = self.errors(name)
        largest = np.where(np.isnan(errors), -np.inf, errors).max(axis=1)
        return np.where(np.isnan(errors).all(axis=1), np.nan, largest)

    @property
    def best(self) -> Booleans:
        """Where the largest error of a run is smaller for the law than for both others, (r,)."""
        law, alone, ratio = map(self.worst, _FORECASTS)
        return (law < alone) & (law < ratio)

    @property
    def judged(self) -> Booleans:
        """Runs with a forecast that can be compared with what happened, shape (r,)."""
        return np.asarray(np.isfinite(self.worst("law")))

    def to_frame(self) -> pd.DataFrame:
        """One row per network and later concept."""
        import pandas as pd

        run, concept = np.nonzero(np.arange(self.law.shape[1]) != self.first[:, None])
        columns: dict[str, Any] = {"network": run, "concept": concept + 1, "cut": self.cut[run]}
        columns |= {name: getattr(self, name)[run, concept] for name in (*_FORECASTS, "observed")}
        reason = [self.reason[k] for k in run]
        return pd.DataFrame({**columns, "within": self.within[run], "reason": reason})


def forecast(run: TrainingRun) -> Forecast:
    """Forecast the later half-times of every network from its run up to the cut, and no further.

    Steps have to be recorded densely enough to see the first concept rise to 0.6.

    >>> from swingby.training import Data, Network, Optimizer, Setting, train
    >>> from swingby.theory.task import SIMTask
    >>> U = Network(2, bias=False, symmetric=True, initialization="gaussian", scale=0.01)
    >>> optimizer = Optimizer("gd", lr=0.01, loss="paper")
    >>> task, steps = SIMTask([1, 2]), 1500
    >>> run = train(Setting(task, Data(None), U, optimizer, steps=steps, precision="float64"))
    >>> bool(abs(forecast(run).errors("law")[0, 0]) < 0.01)
    True
    """
    if not isinstance(run, TrainingRun):
        raise InvalidInput("run", run, "must be a TrainingRun")
    *fields, reasons = zip(
        *(_forecast_one(run, network) for network in range(len(run))), strict=True
    )
    cut, first, eta, law, alone, ratio, observed = map(np.array, fields)
    within = [
        setting.network.symmetric
        and setting.data.infinite
        and setting.optimizer.kind == "gd"
        and setting.optimizer.plain
        for setting in run.settings
    ]
    return Forecast(cut, first, eta, law, alone, ratio, observed, np.array(within), reasons)


def _forecast_one(run: TrainingRun, network: int) -> tuple[Any, ...]:
    """The fields of the forecast for a network, but for `within`."""
    observed = run.jacobian_half_times[network]
    rule = run.settings[network].optimizer
    # The slope of the first rise holds what momentum does, but not what Adam or decay do later.
    lawful = not (rule.adaptive or rule.weight_decay)
    stage = _first_stage(run, network) if lawful else why_no_law(run.settings[network])
    if isinstance(stage, str):
        nothing = np.full(len(observed), np.nan)
        return math.nan, -1, math.nan, nothing, nothing, nothing, nothing, stage
    at, which, eta = stage
    W, cut = run.jacobian[network, at], float(run.steps[at])
    signal = run.settings[network].task.signal[: len(observed)]
    later, reason = _continued(W, signal, eta, which)
    growth = np.where(signal > 0, 2 * np.log1p(eta * signal), np.nan)
    now = np.diagonal(W)
    with np.errstate(divide="ignore", invalid="ignore"):
        alone = cut - np.log(now / (1 - now)) / growth
        ratio = observed[which] * signal[which] / signal
    others = np.arange(len(observed)) != which
    times = (np.where(others, times_, np.nan) for times_ in (cut + later, alone, ratio, observed))
    return cut, which, eta, *times, reason


def _first_stage(run: TrainingRun, network: int) -> tuple[int, int, float] | str:
    """Place of the cut in the recorded steps, the first concept and the clock; or why not."""
    major = np.diagonal(run.jacobian[network], axis1=1, axis2=2)
    reached = (major >= _CUT).any(axis=1)
    if not reached.any():
        return "no concept is learned"
    at = int(reached.argmax())
    which = int(major[at].argmax())
    if at == 0:
        return "a concept is learned before the first step"
    if (np.delete(major[at], which) >= 0.5).any():
        return "undecided: another concept is learned by the cut, stages overlap"
    rise = major[: at + 1, which]
    below = np.flatnonzero(rise < _LEVELS[0])
    begin = int(below[-1]) + 1 if below.size else 0
    rising = np.arange(begin, at + 1)
    rising = (
        rising[rise[rising] <= _LEVELS[1]] if (rise[rising] <= _LEVELS[1]).sum() > 2 else rising
    )
    values = rise[rising]
    if len(rising) < 3 or not (np.diff(values) > 0).all():
        return "undecided: too few recorded steps while the first concept rises"
    signal = float(run.settings[network].task.signal[which])
    return at, which, _clock(run.steps[rising].astype(np.float64), values, signal)


def _clock(steps: Floats, values: Floats, signal: float) -> float:
    """Time of the theory per step, from the rise of one major entry."""
    logit = np.log(values / (1 - values))
    h = 0.0
    # The logit itself rises along a straight line for small steps only; h is eta a.
    for _ in range(4):
        line = logit + _koenigs(values, h)
        h = min(math.expm1(float(np.polyfit(steps, line, 1)[0]) / 2), 0.5)
    return h / signal


def _koenigs(w: Floats, h: float) -> Floats:
    """u(w) with logit(w) + u(w) advancing by 2 log(1 + h) a step of w (1 + h (1 - w))^2, to h^4."""
    log_rest = np.log1p(-np.minimum(w, 1 - 1e-6))
    third = 21 * w * w / 16 - 9 * w / 8 + 0.75 * log_rest
    return np.asarray(h * (1.5 * log_rest + h * (1.25 * w - 0.5 * log_rest + h * third)))


def _continued(W: Floats, signal: Floats, eta: float, which: int) -> tuple[Floats, str]:
    """The stage law from W(T) on: steps after the cut, and why it does not apply, or ""."""
    nothing = np.full(len(signal), np.nan)
    minor = np.abs(W - np.diag(np.diagonal(W))).max()
    skew = np.abs(W - W.T).max() / 2
    if minor > 0 and skew > _LARGEST_SKEW * minor:
        return nothing, "undecided: W is not symmetric"
    symmetric = (W + W.T) / 2
    if float(np.linalg.eigvalsh(symmetric)[-1]) >= 0.95:
        return nothing, "undecided: an eigenvalue of W is already near 1"
    if not 0 < eta * float(signal.max()) < 0.5:
        return nothing, "undecided: steps are too large for the law"
    # Not by predict_batch: noise may have made W indefinite, which only its own concept minds.
    law = stage_laws(signal[None], symmetric[None], np.array([eta]), np.zeros(1), "gd")
    crossing = np.where(law.undecided | law.trapped, np.nan, law.crossing)[0]
    open_ = np.isnan(crossing)
    open_[which] = False
    if open_.any():
        concepts = ", ".join(str(k + 1) for k in np.flatnonzero(open_))
        return crossing, f"undecided for concept {concepts}: W has no positive pivot left for it"
    return crossing, ""
